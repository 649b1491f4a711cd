use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a comma too many",
    written: "A comma is between literals where the template writes nothing, or follows the last argument or the last call of a list.",
    read: "Syntax.",
    diagnostic: None,
    case: "python_calls: a comma after the last argument",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    // A comma alone announces another call.
    let ends = [",]", ",\n]", ", ]"].map(|core| part(MarkerKey::CallPunctuation, core));
    turn.also(&[PlanPart::ListEnd], ends.into());
    if spec.tools.format == ToolFormat::CallExpression {
        let comma = || part(MarkerKey::ArgumentSeparator, ",").optional();
        turn.change(&[PlanPart::Arguments], &mut |list| match list {
            Expr::Repeat(argument) => {
                let next = Expr::sequence([comma(), (*argument).clone()]).repeated();
                Expr::sequence([*argument, next]).optional()
            }
            list => list,
        });
    }
    let keys = [MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose];
    let key = keys.into_iter().find(|key| !spec.marker(*key).trim().is_empty()).filter(|_| spec.is_expression());
    if let Some(key) = key {
        turn.also(&[PlanPart::NextArgument], vec![ahead(key, spec.marker(key).trim())]);
    }
}

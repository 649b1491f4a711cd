use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "an object in place of arguments",
    written: "One object is in place of arguments with tags, or of those of a call expression.",
    read: "It is the arguments.",
    diagnostic: None,
    case: "xml_parameters: an object in place of arguments in tags",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let object = |arguments| Expr::sequence([marked(opening_brace()), hole(arguments)]);
    let object = match spec.tools.format {
        ToolFormat::TagWithTagged if MarkerText::new(&spec.tools.arguments.name_prefix).core.starts_with('<') => {
            Expr::sequence([fence(spec), object(Hole::Json), after_json(spec, true)])
        }
        // A brace may close a call expression.
        _ if spec.is_expression() => object(Hole::Python),
        _ => return,
    };
    turn.also(&[PlanPart::Arguments], vec![object]);
}

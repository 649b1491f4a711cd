use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another separator of calls",
    written: "Between call expressions is a comma or a semicolon that the template does not write.",
    read: "Syntax.",
    diagnostic: None,
    case: "lines_of_calls: a comma between calls",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let openers = [MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let is_marked = openers.iter().any(|key| !spec.marker(*key).trim().is_empty());
    if spec.tools.format != ToolFormat::CallExpression || is_marked {
        return;
    }
    let own = spec.marker(MarkerKey::CallSeparator).trim();
    let others = || [",", ";"].into_iter().filter(|other| *other != own).map(|core| part(MarkerKey::CallPunctuation, core));
    turn.change(&[PlanPart::Call], &mut |call| {
        let Some(next) = call.find(PlanPart::Next).cloned() else { return call };
        call.or([Expr::sequence([Expr::Action(Action::Speculate), Expr::Choice(others().collect()), next])])
    });
}

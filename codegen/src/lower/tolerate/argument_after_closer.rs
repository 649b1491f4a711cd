use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "an argument after the closer",
    written: "Arguments follow the tag that closes a function.",
    read: "They are arguments of the same call.",
    diagnostic: None,
    case: "xml_parameters: an argument after the closer of the function",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let is_tag = |key| begins_tag(core(spec, key));
    if ![MarkerKey::FunctionClose, MarkerKey::ArgumentNamePrefix, MarkerKey::CallEnd].into_iter().all(is_tag) {
        return;
    }
    let Some(argument) = turn.find(PlanPart::Argument).cloned() else { return };
    turn.change(&[PlanPart::FunctionEnd], &mut |end| {
        let more = Expr::sequence([argument.clone(), argument.clone().repeated(), end.clone()]).tolerated();
        Expr::sequence([end, more.repeated()])
    });
}

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing opener of a key",
    written: "The opener of the first argument's name is missing, so that it is one word with the function's name, or white space is between them.",
    read: "Both names are read, if the function was offered and has that argument.",
    diagnostic: None,
    case: "arg_key_value: the opener of the first key is missing",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format != ToolFormat::TagWithTagged || !spec.tools.arguments.name_suffix.trim().starts_with("</") {
        return;
    }
    turn.change(&[PlanPart::AfterName], &mut |call| {
        let [key, rest] = [PlanPart::AfterKey, PlanPart::Rest].map(|part| call.find(part).cloned());
        let (Some(key), Some(rest)) = (key, rest) else { return call };
        let key = key.named(PlanPart::AfterKey);
        call.or([Expr::sequence([Expr::Action(Action::StartSplit).tolerated(), key, rest.named(PlanPart::Rest)])])
    });
}

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the token before the arguments twice",
    written: "The token between a function's name and its arguments comes twice: a brace is what comes after it.",
    read: "Syntax.",
    diagnostic: None,
    case: "args_marker: the marker before the arguments comes twice",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| {
        let core = MarkerText::new(text).core;
        let is_token = spec.tools.format == ToolFormat::TagWithJson && is_special(core) && is_one_tag(core);
        let is_doubled = is_token && key == MarkerKey::FunctionNameSuffix;
        is_doubled.then(|| [core, core].concat()).into_iter().collect()
    });
}

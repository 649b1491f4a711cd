use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing bracket",
    written: "The bracket of a call expression that a special token announces is missing: it ends at the closer of the call or of all calls.",
    read: "The call ends at the closer of all calls.",
    diagnostic: Some("missing_marker"),
    case: "python_calls: both brackets that are missing",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if !spec.is_announced() || !is_bracketed(spec) {
        return;
    }
    let own = core(spec, MarkerKey::FunctionClose);
    let mut cores: Vec<(MarkerKey, &str)> = Vec::new();
    for key in [MarkerKey::CallEnd, MarkerKey::SectionEnd] {
        let text = spec.marker(key);
        let first = MarkerText::pieces(text).into_iter().flat_map(MarkerText::at_tags).next().map(|piece| piece.core);
        for core in first.into_iter().chain(parts(text)) {
            if !core.is_empty() && core != own && cores.iter().all(|(_, other)| *other != core) {
                cores.push((key, core));
            }
        }
    }
    let call_end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let end = |(key, core): &(MarkerKey, &str)| {
        Expr::sequence([ahead(*key, core), missing(own), end_of_call(call_end.clone())])
    };
    turn.also(&[PlanPart::Closers], cores.iter().map(end).collect());
}

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "bars of ASCII",
    written: "The bars and low lines of a marker are those of ASCII, if no marker is written so.",
    read: "The same marker.",
    diagnostic: None,
    case: "section_tags: bars and lines of ASCII",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|_, text| {
        let core = MarkerText::new(text).core;
        let folded = core.replace('｜', "|").replace('▁', "_");
        let is_new = folded != core && spec.markers().all(|(_, text)| !text.contains(&folded));
        is_new.then_some(folded).into_iter().collect()
    });
}

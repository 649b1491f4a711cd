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
        let lines = core.replace('▁', "_");
        let mut forms: Vec<String> = Vec::new();
        for form in [lines.replace('｜', "|"), lines, core.replace('｜', "|")] {
            let is_new = form != core && !forms.contains(&form);
            if is_new && spec.markers().all(|(_, text)| !text.contains(&form)) {
                forms.push(form);
            }
        }
        forms
    });
}

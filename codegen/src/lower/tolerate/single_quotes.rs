use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "single quotes in a tag",
    written: "The attributes of a tag are in single quotes.",
    read: "The same tag.",
    diagnostic: None,
    case: "typed_parameters: attributes in single quotes",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|_, text| {
        let core = MarkerText::new(text).core;
        let begins = core.starts_with('<') && core.ends_with("=\"");
        let ends = core.starts_with('"') && core.ends_with('>');
        (begins || ends).then(|| core.replace('"', "'")).into_iter().collect()
    });
}

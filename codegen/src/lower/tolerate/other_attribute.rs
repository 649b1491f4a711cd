use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another attribute",
    written: "A tag has a name in another way: `<f=NAME>`, `<f=\"NAME\">`, `<f name=\"NAME\">`, or lacks its bracket at the end of its line.",
    read: "The same tag.",
    diagnostic: None,
    case: "xml_parameters: names in other attributes",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| match key {
        MarkerKey::FunctionNamePrefix => attributes(text, spec.marker(MarkerKey::FunctionNameSuffix)),
        MarkerKey::ArgumentNamePrefix => attributes(text, spec.marker(MarkerKey::ArgumentNameSuffix)),
        MarkerKey::FunctionNameSuffix => ends_of_tag(spec.marker(MarkerKey::FunctionNamePrefix), text),
        MarkerKey::ArgumentNameSuffix => ends_of_tag(spec.marker(MarkerKey::ArgumentNamePrefix), text),
        _ => Vec::new(),
    });
}

/// The other ways in which a tag may have a name.
fn attributes(prefix: &str, suffix: &str) -> Vec<String> {
    let Some((tag, own)) = tag_of_name(prefix, suffix) else { return Vec::new() };
    ATTRIBUTES.into_iter().filter(|other| *other != own).map(|other| [tag, other].concat()).collect()
}

/// The end of such a tag, with a quote or without. The end of the line replaces a missing bracket.
fn ends_of_tag(prefix: &str, suffix: &str) -> Vec<String> {
    let own = MarkerText::new(suffix).core;
    let ends = ["\">", "'>", ">", "\"\n", "\n"].into_iter();
    ends.filter(|end| tag_of_name(prefix, suffix).is_some() && *end != own).map(str::to_owned).collect()
}

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a second bar",
    written: "A token that has a bar on one side only (`<|name>`) has one on both.",
    read: "The same token.",
    diagnostic: None,
    case: "quote_tokens: the token that opens a call has a second bar",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| match key {
        MarkerKey::CallStart | MarkerKey::SectionStart | MarkerKey::ReasoningStart => form(spec, text).into_iter().collect(),
        _ => Vec::new(),
    });
}

/// The token with the second bar, if no marker and no other token is written so.
fn form(spec: &Source<'_>, text: &str) -> Option<String> {
    let core = MarkerText::new(text).core;
    let token = MarkerText::new(text).tags().first().copied().filter(|token| core.starts_with(token))?;
    let bar = BARS.into_iter().find(|bar| token.strip_prefix('<').is_some_and(|rest| rest.starts_with(*bar)))?;
    let inner = token.strip_suffix('>').filter(|inner| !inner.ends_with(bar) && is_special(token))?;
    let other = format!("{inner}{bar}>");
    let is_known = spec.markers().any(|(_, text)| text.contains(&other)) || spec.tokens.other.contains(&other);
    (!is_known).then(|| other + &core[token.len()..])
}

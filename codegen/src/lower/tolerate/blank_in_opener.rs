use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a blank in an opener",
    written: "White space is between the token and the bracket of an opener.",
    read: "The same marker.",
    diagnostic: None,
    case: "python_calls: a blank between the token and the bracket of an opener",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| {
        let core = MarkerText::new(text).core;
        let token = tags_in(core).first().copied().filter(|token| is_special(token));
        let bracket = token.and_then(|token| core.strip_prefix(token));
        let opens = matches!(key, MarkerKey::SectionStart | MarkerKey::CallStart);
        match (token, bracket) {
            (Some(token), Some(bracket @ ("[" | "(" | "{"))) if opens => {
                [" ", "\n"].map(|blank| [token, blank, bracket].concat()).into()
            }
            _ => Vec::new(),
        }
    });
}

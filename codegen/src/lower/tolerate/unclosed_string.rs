use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a string without its closing token",
    written: "A string has no closing quote token, and the output or the turn ends after the call: the string ends where the call does.",
    read: "The string ends where the call does.",
    diagnostic: Some("missing_marker"),
    case: "quote_tokens: a string without its closing quote token ends with its call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let (quote, closer) = (core(spec, MarkerKey::ArgumentQuote), core(spec, MarkerKey::CallEnd));
    let end = [MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose].map(|key| core(spec, key)).concat();
    if quote.is_empty() || end.is_empty() || !is_special(closer) {
        return;
    }
    let turn_ends = ends_of_turn(spec);
    let turn_ends = turn_ends.iter().filter_map(|end| match end {
        Expr::Literal(end) => Some(end.core.as_str()),
        _ => None,
    });
    let ends = std::iter::once("").chain(turn_ends).map(|turn_end| {
        let end = tolerated(MarkerKey::ArgumentQuote, &[end.as_str(), closer, turn_end].concat(), Role::Unclosed);
        Expr::sequence([Expr::from(Literal { peek: true, ..end }), missing(quote)])
    });
    let ends: Vec<Expr> = ends.collect();
    turn.also(&[PlanPart::LiteralEnd], ends);
}

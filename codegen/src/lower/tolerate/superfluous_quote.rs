use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a quote token too many",
    written: "A quote token follows a value that is between other quotes.",
    read: "Syntax.",
    diagnostic: Some("malformed_arguments"),
    case: "quote_tokens: other quotes",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let quote = spec.tools.arguments.quote.trim();
    if quote.is_empty() {
        return;
    }
    let again = || part(MarkerKey::ArgumentQuote, quote).optional();
    turn.change(&[PlanPart::ValueEnd, PlanPart::LiteralEnd], &mut |closers| Expr::sequence([again(), closers]));
}

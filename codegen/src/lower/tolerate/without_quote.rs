use super::other_sign::before_literal;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a value without its quotes",
    written: "Values are without the quote that the template writes around every value: other literals, also after the other sign.",
    read: "The same arguments.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let Some((sign, quote)) = spec.quoted_by().filter(|_| spec.is_untyped()) else { return };
    let literal = |sign: Expr| {
        Expr::sequence([
            Expr::Action(Action::Argument(ArgumentKind::Literal)),
            sign,
            // Python's own quotes need no word.
            hole(Hole::Literal(quote.trim_matches(['"', '\'']).to_owned().into())),
            Expr::Action(Action::EndArgument),
        ])
    };
    let mut literals = vec![literal(part(MarkerKey::ArgumentNameSuffix, sign))];
    if spec.is_expression() {
        literals.push(literal(before_literal(if sign == "=" { ":" } else { "=" }, quote)));
    }
    turn.also(&[PlanPart::AfterKey], literals);
}

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing closer of a value",
    written: "A raw value has no closer, but its call has: the value ends with the call.",
    read: "The value ends with the call.",
    diagnostic: Some("missing_marker"),
    case: "xml_parameters: a value whose closer is missing ends with its call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let end = without_closer(spec);
    if !is_empty(&end) {
        turn.also(&[PlanPart::ValueEnd], vec![end]);
    }
}

/// The end of the call: the tags that close it, with what may follow them.
pub(super) fn without_closer(spec: &Source<'_>) -> Expr {
    let own = MarkerText::new(&spec.tools.arguments.value_suffix);
    let is_closer = |key: &MarkerKey| begins_tag(core(spec, *key)) && !own.core.is_empty() && core(spec, *key) != own.core;
    let closers: Vec<MarkerKey> =
        [MarkerKey::FunctionClose, MarkerKey::CallEnd].into_iter().filter(is_closer).collect();
    if closers.is_empty() || !begins_tag(own.core) {
        return Expr::empty();
    }
    let tolerate = |expr| match expr {
        // The white space before it is that of the closer that is missing.
        Expr::Literal(literal) => Expr::from(mark(Literal { before: own.before.to_owned(), ..*literal })),
        other => other,
    };
    let ahead = match seen_ahead(spec, &closers) {
        Expr::Choice(choices) => Expr::Choice(choices.into_iter().map(tolerate).collect()),
        other => tolerate(other),
    };
    Expr::sequence([ahead, missing(own.core)])
}

use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing closer of a value",
    written: "A raw value has no closer, but its call has, or another call opens.",
    read: "The value ends there.",
    diagnostic: Some("missing_marker"),
    case: "xml_parameters: a value whose closer is missing ends with its call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let end = without_closer(spec, MarkerText::new(&spec.tools.arguments.value_suffix).before);
    if !is_empty(&end) {
        // The white space is that of the closer that is missing.
        turn.also(&[PlanPart::ValueEnd], vec![end]);
    }
}

/// The end of the call: the tags that close it, or the opener of another call, in all their forms, after this white space.
pub(super) fn without_closer(spec: &Source<'_>, before: &str) -> Expr {
    let own = MarkerText::new(&spec.tools.arguments.value_suffix);
    if !begins_tag(own.core) {
        return Expr::empty();
    }
    let keys = [MarkerKey::FunctionClose, MarkerKey::CallEnd, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let mut ends: Vec<Expr> = Vec::new();
    for key in keys.into_iter().filter(|key| begins_tag(core(spec, *key)) && core(spec, *key) != own.core) {
        let opens = is_opener(spec, key);
        for literal in first_literals(&marker(spec, key, Role::Inner)) {
            if opens && literal.rule.is_some() {
                continue;
            }
            let line = opens && own.before.contains('\n');
            let ahead = Literal { confirm: true, named_next: true, peek: true, line, ..literal };
            let ahead = Literal { before: before.to_owned(), after: String::new(), followed_by: Vec::new(), ..ahead };
            ends.push(Expr::from(mark(ahead)));
        }
    }
    if ends.is_empty() { Expr::empty() } else { Expr::sequence([Expr::Choice(ends), missing(own.core)]) }
}

/// The tags with which the forms of a marker begin.
fn first_literals(expr: &Expr) -> Vec<Literal> {
    match expr {
        Expr::Choice(forms) => forms.iter().flat_map(first_literals).collect(),
        Expr::Part(_, inner) | Expr::Option(inner) | Expr::Tolerated(_, inner) => first_literals(inner),
        other => first_literal(other).filter(|literal| begins_tag(&literal.core)).cloned().into_iter().collect(),
    }
}

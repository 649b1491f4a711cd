use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the closer of all calls first",
    written: "The closer of all calls comes before that of the last call.",
    read: "Syntax.",
    diagnostic: Some("missing_marker"),
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let closer = core(spec, MarkerKey::CallEnd);
    if is_one_tag(closer) && begins_tag(closer) {
        let inner = part(MarkerKey::CallEnd, closer).optional();
        turn.change(&[PlanPart::Marker(MarkerKey::SectionEnd)], &mut |end| with_inner(end, &inner));
    }
}

/// The closer of all calls with that of a call after its first tag: what ends the turn may come after both.
fn with_inner(end: Expr, inner: &Expr) -> Expr {
    match end {
        Expr::Choice(forms) => Expr::Choice(forms.into_iter().map(|form| with_inner(form, inner)).collect()),
        Expr::Sequence(mut items) if items.len() > 1 => {
            items.insert(1, inner.clone());
            Expr::Sequence(items)
        }
        end => Expr::sequence([end, inner.clone()]),
    }
}

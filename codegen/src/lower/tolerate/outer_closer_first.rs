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
    let part = part(MarkerKey::CallEnd, closer);
    if tags_in(closer) == [closer] && begins_tag(closer) {
        let inner = || part.clone().optional();
        turn.change(&[PlanPart::Marker(MarkerKey::SectionEnd)], &mut |end| match end {
            // What ends the turn may come after it.
            Expr::Sequence(mut items) if items.len() > 1 => {
                items.insert(1, inner());
                Expr::Sequence(items)
            }
            end => Expr::sequence([end, inner()]),
        });
    }
}

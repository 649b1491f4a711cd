use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a form of the opener of a name",
    written: "A form of the marker before a name that only models write may be prose: only an offered name makes a call, if any was offered.",
    read: "A call if the name was offered, or none was.",
    diagnostic: None,
    case: "typed_parameters: a tag with doubled bars calls only what was offered, within all calls too",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let _ = spec;
    turn.change(&[PlanPart::Named], &mut |named| {
        let Expr::Sequence(items) = &named else { return named };
        let has_others = items.first().is_some_and(|prefix| !is_empty(&own_and_others(prefix).1));
        if !has_others {
            return named;
        }
        let other = by_name(&named, Some(Action::StartKnown), &|prefix| own_and_others(&prefix).1);
        by_name(&named, None, &|prefix| own_and_others(&prefix).0).or([other])
    });
}

use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "missing closers of a call",
    written: "The closers of a call are missing: another call opens, or something else follows.",
    read: "The call is complete if another one opens; if not, it is incomplete.",
    diagnostic: Some("missing_marker"),
    case: "xml_parameters: the closers of a call are missing before the next one",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if is_bracketed(spec) {
        return;
    }
    let end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let outer = (!is_empty(&end) && !core(spec, MarkerKey::FunctionClose).is_empty())
        .then(|| Expr::sequence([end, Expr::Action(Action::EndCall)]).tolerated());
    let others: Vec<Expr> = outer.into_iter().chain(closed_by_next(spec)).chain(unknown_closer(spec)).collect();
    turn.change(&[PlanPart::Closers], &mut |closers| {
        let nothing_closes = closers == Expr::choice([Expr::Action(Action::EndCall)]);
        let incomplete = (!nothing_closes).then_some(Expr::Action(Action::EndCallIncomplete).tolerated());
        closers.or(others.iter().cloned().chain(incomplete))
    });
}

/// The opener of the next call and the closer of all calls, where this one has a closer.
fn closed_by_next(spec: &Source<'_>) -> Vec<Expr> {
    let first = |keys: [MarkerKey; 2]| keys.map(|key| (key, core(spec, key))).into_iter().find(|(_, core)| !core.is_empty());
    let Some((_, closer)) = first([MarkerKey::CallEnd, MarkerKey::FunctionClose]) else { return Vec::new() };
    let section = MarkerText::new(spec.marker(MarkerKey::SectionEnd)).tags().first().copied().unwrap_or_default();
    let next = first([MarkerKey::CallStart, MarkerKey::FunctionNamePrefix]);
    let tags = next.into_iter().chain([(MarkerKey::SectionEnd, section)]).map(|(key, core)| ahead(key, core));
    let end = |tag| Expr::sequence([tag, missing(closer), Expr::Action(Action::EndCall)]);
    tags.filter(is_tag).map(end).collect()
}

/// The beginning of a closer where no argument is open. A closing tag other than those of the call cannot begin an argument; it is
/// left for what follows.
fn unknown_closer(spec: &Source<'_>) -> Option<Expr> {
    let text = MarkerText::new(&spec.tools.arguments.close_prefix);
    let closer = literal(MarkerKey::ArgumentClosePrefix, text, Role::Inner);
    let closer = Expr::from(mark(Literal { peek: true, ..closer }));
    (!is_empty(&closer)).then(|| Expr::sequence([closer, Expr::Action(Action::EndCallIncomplete).tolerated()]))
}

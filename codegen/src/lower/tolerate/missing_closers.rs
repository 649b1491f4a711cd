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
    turn.change(&[PlanPart::Closers], &mut |closers| {
        let nothing_closes = closers == Expr::choice([Expr::Action(Action::EndCall)]);
        let incomplete = (!nothing_closes).then_some(Expr::Action(Action::EndCallIncomplete).tolerated());
        closers.or(outer.clone().into_iter().chain(next_call(spec)).chain(all_closed(spec)).chain(unknown_closer(spec)).chain(incomplete))
    });
}

/// The opener of the next call.
fn next_call(spec: &Source<'_>) -> Option<Expr> {
    let core = |key: &MarkerKey| core(spec, *key);
    let closer = [MarkerKey::CallEnd, MarkerKey::FunctionClose].iter().map(core).find(|core| !core.is_empty())?;
    let openers = [MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let (key, opener) = openers.iter().map(|key| (*key, core(key))).find(|(_, core)| !core.is_empty())?;
    let opener = ahead(key, opener);
    is_tag(&opener).then(|| Expr::sequence([opener, missing(closer), Expr::Action(Action::EndCall)]))
}

/// The closer of all calls.
fn all_closed(spec: &Source<'_>) -> Option<Expr> {
    let closer = [MarkerKey::CallEnd, MarkerKey::FunctionClose].map(|key| core(spec, key)).into_iter().find(|core| !core.is_empty())?;
    let section = MarkerText::new(spec.marker(MarkerKey::SectionEnd)).tags().first().copied()?;
    let end = ahead(MarkerKey::SectionEnd, section);
    is_tag(&end).then(|| Expr::sequence([end, missing(closer), Expr::Action(Action::EndCall)]))
}

/// The beginning of a closer where no argument is open. A closing tag other than those of the call cannot begin an argument; it is
/// left for what follows.
fn unknown_closer(spec: &Source<'_>) -> Option<Expr> {
    let text = MarkerText::new(&spec.tools.arguments.close_prefix);
    let closer = literal(MarkerKey::ArgumentClosePrefix, text, Role::Inner);
    let closer = Expr::from(mark(Literal { peek: true, ..closer }));
    (!is_empty(&closer)).then(|| Expr::sequence([closer, Expr::Action(Action::EndCallIncomplete).tolerated()]))
}

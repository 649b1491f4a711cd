//! Calls whose name is outside JSON.

use unjinja_runtime::abi::{Action, Hole, Label};
use unjinja_spec::{CallIdPosition, MarkerKey, MarkerText, ToolFormat};

use super::arguments::{argument, begins_with_name};
use super::build::{confirmed, hole, is_empty, line_break, marker, opening_brace};
use super::source::Source;
use crate::plan::{Expr, PlanPart, Role};

/// Calls whose name is outside JSON.
pub(super) fn calls(spec: &Source<'_>) -> Expr {
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    // The id may be the first that a call has.
    let opens = is_empty(&section) && is_empty(&start);
    let id = id_at(spec, CallIdPosition::PreFuncName, if opens { Role::CallOpen } else { Role::Inner });
    let call = Expr::sequence([id, named(spec).named(PlanPart::Named)]);
    let (first, call) = if is_empty(&start) {
        (opened(section, call.clone()), call)
    } else {
        let call = opened(start, call);
        let after = call.clone().named(PlanPart::AfterSection);
        (Expr::sequence([section, after]).named(PlanPart::Section), call)
    };
    all_calls(spec, first.named(PlanPart::First), call.named(PlanPart::Next))
}

/// The calls of a turn: the first one, more of them, and the marker after all of them.
pub(super) fn all_calls(spec: &Source<'_>, first: Expr, next: Expr) -> Expr {
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);
    let call = |items| Expr::Sequence([vec![Expr::Action(Action::Speculate)], items].concat()).named(PlanPart::Call);
    let more = call(vec![separator, next]).repeated();
    Expr::sequence([call(vec![first]), more, closer(marker(spec, MarkerKey::SectionEnd, Role::Inner))])
}

/// A call after the marker that opens it.
fn opened(opener: Expr, call: Expr) -> Expr {
    if is_empty(&opener) {
        return call;
    }
    Expr::sequence([opener, call.named(PlanPart::AfterOpener)]).named(PlanPart::Opened)
}

/// The id of a call, if it is here.
fn id_at(spec: &Source<'_>, position: CallIdPosition, role: Role) -> Expr {
    let id = &spec.tools.call_id;
    if id.position != position {
        return Expr::empty();
    }
    let value = vec![marker(spec, MarkerKey::CallIdPrefix, role), hole(Hole::Id), Expr::Action(Action::Id)];
    let suffix = marker(spec, MarkerKey::CallIdSuffix, Role::Inner);
    match position {
        // The suffix of the id ends the name too.
        CallIdPosition::BetweenFuncAndArgs => Expr::sequence([Expr::Sequence(value).optional(), suffix]),
        _ => Expr::Sequence([value, vec![suffix]].concat()),
    }
}

/// The name of a function, and what follows.
fn named(spec: &Source<'_>) -> Expr {
    let tools = &spec.tools;
    let json = tools.format == ToolFormat::TagWithJson;
    // A name between symbols that prose has too is a call only if something follows that tells it.
    let needs_more = goes_on(spec) || (between_symbols(spec) && json);
    let suffix = name_end(spec);
    let suffix = if needs_more { confirmed(suffix) } else { suffix };
    let rest = if json { json_rest(spec) } else { tagged_rest(spec) };
    let start = marker(spec, MarkerKey::ArgumentsStart, Role::Inner);
    let start = if json { vec![start] } else { vec![closer(start)] };
    let brace = (json && needs_brace(spec)).then(opening_brace);
    let after = [Expr::Action(start_action(spec)), suffix.named(PlanPart::NameEnd)]
        .into_iter()
        .chain([id_at(spec, CallIdPosition::BetweenFuncAndArgs, Role::Inner)])
        .chain(start)
        .chain(brace)
        .chain([rest.named(PlanPart::Rest)]);
    let prefix = marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen);
    Expr::sequence([prefix, hole(Hole::Name), Expr::Sequence(after.collect()).named(PlanPart::AfterName)])
}

/// How a call begins, once its name is known.
fn start_action(spec: &Source<'_>) -> Action {
    let id = &spec.tools.call_id;
    match id.position {
        CallIdPosition::InName => Action::StartLabelled(
            Label { prefix: id.prefix.clone().into(), separator: id.suffix.clone().into() }.into(),
        ),
        _ if by_name_alone(spec) => Action::StartOffered,
        _ => Action::StartCall,
    }
}

/// The marker after a name, or the line break at which the name ends.
fn name_end(spec: &Source<'_>) -> Expr {
    let next = begins_with_name(spec) && spec.tools.arguments.start.trim().is_empty();
    match line_break(spec, MarkerKey::FunctionNameSuffix).filter(|_| next) {
        Some(line) => Expr::from(line).optional(),
        None => marker(spec, MarkerKey::FunctionNameSuffix, Role::Inner),
    }
}

/// Whether only a name tells a call from prose: prose may have a tool's name between the same symbols.
fn by_name_alone(spec: &Source<'_>) -> bool {
    let tools = &spec.tools;
    [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix].into_iter().all(|text| is_symbol(text))
}

fn between_symbols(spec: &Source<'_>) -> bool {
    by_name_alone(spec) && is_symbol(&spec.tools.function.name_suffix)
}

/// Whether the bracket that closes a call is required. Closing tags are not: models forget them.
pub(in crate::lower) fn is_bracketed(spec: &Source<'_>) -> bool {
    let close = &spec.tools.function.close;
    spec.tools.format == ToolFormat::CallExpression || (is_symbol(close) && !MarkerText::new(close).is_layout())
}

/// Whether a name between symbols is a call only if an argument or the closer follows.
fn goes_on(spec: &Source<'_>) -> bool {
    let (tools, close) = (&spec.tools, &spec.tools.function.close);
    let is_open = is_bracketed(spec) || close.trim().is_empty() || tools.arguments.name_prefix.trim().is_empty();
    between_symbols(spec) && tools.format == ToolFormat::TagWithTagged && !is_open
}

/// Whether nothing but the brace tells that arguments in JSON follow.
pub(in crate::lower) fn needs_brace(spec: &Source<'_>) -> bool {
    let (tools, id) = (&spec.tools, &spec.tools.call_id);
    tools.arguments.start.trim().is_empty()
        && (between_symbols(spec) || tools.function.name_suffix.trim().is_empty())
        && (id.position != CallIdPosition::BetweenFuncAndArgs || id.suffix.trim().is_empty())
}

/// Arguments as one value, and the closers.
fn json_rest(spec: &Source<'_>) -> Expr {
    let inner = |key| marker(spec, key, Role::Inner);
    let arguments = if spec.tools.uses_python_dicts { Hole::Python } else { Hole::Json };
    Expr::sequence([
        hole(arguments).named(PlanPart::Json),
        closer(inner(MarkerKey::ArgumentsEnd)),
        closer(inner(MarkerKey::FunctionClose)),
        id_at(spec, CallIdPosition::PostArgs, Role::Inner).optional(),
        end_of_call(inner(MarkerKey::CallEnd)),
    ])
}

/// Arguments that are written one by one, and the closers.
fn tagged_rest(spec: &Source<'_>) -> Expr {
    let inner = |key| marker(spec, key, Role::Inner);
    let argument = argument(spec).named(PlanPart::Argument);
    let separator = inner(MarkerKey::ArgumentSeparator);
    let is_tight = is_empty(&separator);
    let next = Expr::sequence([separator, argument.clone().named(PlanPart::NextArgument)]).repeated();
    let list = match (goes_on(spec), is_tight) {
        (true, _) => Expr::sequence([argument, next]),
        (false, true) => argument.repeated(),
        (false, false) => Expr::sequence([argument, next]).optional(),
    };
    let (close, call_end) = (inner(MarkerKey::FunctionClose), inner(MarkerKey::CallEnd));
    let closers = if !is_empty(&close) {
        Expr::sequence([close.named(PlanPart::FunctionEnd), end_of_call(call_end)])
    } else if is_bracketed(spec) {
        Expr::Choice(Vec::new())
    } else if !is_empty(&call_end) {
        Expr::sequence([call_end, Expr::Action(Action::EndCall)])
    } else {
        Expr::Action(Action::EndCall)
    };
    let end = closer(inner(MarkerKey::ArgumentsEnd));
    let closed = Expr::choice([closers.clone()]).named(PlanPart::Closers);
    let rest = Expr::sequence([list.named(PlanPart::Arguments), end.clone(), closed]);
    if goes_on(spec) { Expr::choice([rest, Expr::sequence([end, closers])]) } else { rest }
}

/// The end of a call after its arguments.
pub(in crate::lower) fn end_of_call(end: Expr) -> Expr {
    Expr::sequence([closer(end), Expr::Action(Action::EndCall)]).named(PlanPart::CallEnd)
}

/// A closer. White space alone closes nothing.
pub(super) fn closer(marker: Expr) -> Expr {
    if is_empty(&marker) { Expr::empty() } else { marker.named(PlanPart::Closer) }
}

/// Whether a marker is at most two punctuation characters. Such a marker does not announce a call.
fn is_symbol(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace()) && text.trim().len() <= 2
}

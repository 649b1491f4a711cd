//! Broken markup: markers that close nothing where they are, calls that break off, text where only markers may come. Models
//! write it; no template does.

use unjinja_runtime::abi::{Action, Channel, Hole, InText, is_special_token};
use unjinja_spec::{CallIdPosition, MarkerKey, MarkerText, ToolFormat};

use super::build::{is_empty, is_tag, marker, parts, sequence, tolerated};
use super::source::{OPENERS, Source};
use super::{fence, turn_end};
use crate::plan::{Expr, HoleRole, Literal, Openers, PlanHole, Role};

/// The markers that close a part of a call, the innermost first, and the one that closes reasoning.
const CLOSERS: [MarkerKey; 6] = [
    MarkerKey::ArgumentValueSuffix,
    MarkerKey::ArgumentsEnd,
    MarkerKey::FunctionClose,
    MarkerKey::CallEnd,
    MarkerKey::SectionEnd,
    MarkerKey::ReasoningEnd,
];

/// Whether a call may open with this marker. One that has its id before its name may open with that of the id.
pub(super) fn is_opener(spec: &Source<'_>, key: MarkerKey) -> bool {
    let id_first = spec.tools.call_id.position == CallIdPosition::PreFuncName;
    OPENERS.contains(&key) || (key == MarkerKey::CallIdPrefix && id_first)
}

/// Markers of what is over already: a closer that is written twice, an outer closer that the template does not write, and the
/// end of reasoning that a call has ended.
pub(super) fn leftovers(spec: &Source<'_>) -> Expr {
    let inner = |tag: Literal| {
        let closes = (tag.key == MarkerKey::ReasoningEnd).then_some(Expr::Action(Action::CloseReasoning));
        let tag = Expr::Literal(Literal { role: Role::Inner, ..tag });
        sequence([tag].into_iter().chain(closes).collect())
    };
    Expr::Choice(tags(spec, &CLOSERS).into_iter().map(inner).collect()).repeated()
}

/// All special tokens among the markers, where they close nothing: broken markup. A tag that is not a special token may be
/// prose. What ends the turn makes all that follows broken markup too.
pub(super) fn markers(spec: &Source<'_>) -> Vec<Expr> {
    let ends = turn_end::before_more(spec);
    let is_end = |tag: &Literal| ends.iter().any(|end| end.core == tag.core);
    // The parts of a header are not markers by themselves.
    let is_marker = |key: &MarkerKey| *key != MarkerKey::UserStart && !key.as_str().starts_with("content.header.");
    let keys: Vec<MarkerKey> = MarkerKey::ALL.iter().copied().filter(is_marker).collect();
    let strays = tags(spec, &keys).into_iter().filter(is_special).map(|tag| (tag, Action::Unparsed));
    let others = other_tokens(spec).map(|token| (token, Action::OtherToken));
    let broken = |(tag, action)| Expr::Sequence(vec![Expr::Literal(tag), Expr::Action(action)]);
    let strays = strays.chain(others).filter(|(tag, _)| !is_end(tag)).map(broken);
    let rest = PlanHole::text(Channel::Unparsed, Vec::new(), Openers::Any);
    let ends: Vec<Expr> = ends.iter().cloned().map(Expr::Literal).collect();
    let has_ends = !ends.is_empty();
    let end = sequence(vec![Expr::Choice(ends), Expr::Action(Action::AfterEnd), Expr::Hole(rest)]);
    strays.chain(has_ends.then_some(end)).collect()
}

/// The tokens that the template writes elsewhere, and that are in none of the markers.
fn other_tokens(spec: &Source<'_>) -> impl Iterator<Item = Literal> {
    let in_marker = |token: &String| spec.markers().any(|(_, text)| text.contains(token.as_str()));
    let has_calls = spec.tools.format != ToolFormat::None;
    let others = spec.tokens.other.iter().filter(move |token| has_calls && !in_marker(token));
    others.map(|token| tolerated(MarkerKey::OtherToken, token, Role::Stray))
}

/// Calls that no marker announces. A model may write one of the other special tokens before them, and after them.
pub(super) fn after_other_token(spec: &Source<'_>, calls: Expr) -> Expr {
    let tokens: Vec<Literal> = other_tokens(spec).filter(is_special).collect();
    if tokens.is_empty() {
        return calls;
    }
    let part = |role, confirm| {
        let part = |token: &Literal| Expr::Literal(Literal { role, confirm, ..token.clone() });
        Expr::Choice(tokens.iter().map(part).collect())
    };
    let opened = sequence(vec![Expr::Action(Action::Speculate), part(Role::CallOpen, true), calls.clone()]);
    sequence(vec![Expr::Choice(vec![calls, opened]), part(Role::Inner, false).repeated()])
}

/// A call that breaks off, from where it does not fit. Nothing leads here: a parser goes to this place where it gives up a
/// call. Up to the next closer or opener of a call, or the header of another message, all of it is broken markup.
pub(super) fn broken_call(spec: &Source<'_>) -> Expr {
    let keys = [MarkerKey::FunctionClose, MarkerKey::ArgumentsEnd, MarkerKey::CallEnd, MarkerKey::SectionEnd];
    let closers = tags(spec, &keys);
    let mut openers = openers(spec);
    for key in [MarkerKey::ReasoningStart, MarkerKey::ContentStart, MarkerKey::CallStart] {
        for text in std::iter::once(spec.marker(key)).chain(spec.headers(key)) {
            let header = tolerated(key, MarkerText::new(text).core, Role::Broken);
            if is_special(&header) && openers.iter().all(|other| other.core != header.core) {
                openers.push(header);
            }
        }
    }
    sequence(vec![up_to(openers, closers, HoleRole::BrokenCall), leftovers(spec)])
}

/// Text after a call, where only a closer or another call may follow. Up to one of them, it is broken markup.
fn text_after(spec: &Source<'_>, closers: &[MarkerKey]) -> Expr {
    let closers: Vec<Literal> = tags(spec, closers).into_iter().filter(is_special).collect();
    // Without a marker before it, the next call is what may come.
    let before_call = [MarkerKey::CallSeparator, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let next_is_marked = before_call.iter().any(|key| !spec.marker(*key).trim().is_empty());
    if closers.is_empty() || !next_is_marked {
        return Expr::empty();
    }
    let openers = openers(spec).into_iter().filter(is_special).collect();
    sequence(vec![Expr::Action(Action::HoldBack), up_to(openers, closers, HoleRole::InOrder)])
}

/// Broken markup, up to an opener or a closer. An opener is left for what it opens. A closer is part of a broken call; after
/// a complete call it is left for that call.
fn up_to(mut openers: Vec<Literal>, closers: Vec<Literal>, role: HoleRole) -> Expr {
    let peek = role != HoleRole::BrokenCall;
    openers.retain(|opener| closers.iter().all(|closer| closer.core != opener.core));
    let openers = openers.into_iter().map(|opener| Literal { peek: true, ..opener });
    let closers = closers.into_iter().map(|closer| Literal { peek, ..closer });
    let ends = openers.chain(closers).map(|end| Literal { role: Role::Broken, ..end });
    let ends = ends.map(|end| Expr::Sequence(vec![Expr::Literal(end), Expr::Action(Action::Unparsed)]));
    let (reads, until) = (Hole::Text(Channel::Unparsed), vec![Role::Broken]);
    let hole = PlanHole { reads, until, openers: Openers::Any, role };
    Expr::Sequence(vec![Expr::Hole(hole), Expr::Choice(ends.collect())])
}

/// The end of a call after its arguments: its closer, or text that ends at the closer, or nothing.
pub(super) fn end_of_call(spec: &Source<'_>, closer: Expr) -> Expr {
    let end = || Expr::Action(Action::EndCall);
    let text = text_after(spec, &[MarkerKey::CallEnd, MarkerKey::SectionEnd]);
    if is_empty(&closer) || is_empty(&text) {
        return sequence(vec![closer.optional(), end()]);
    }
    let closed = sequence(vec![closer.clone(), end()]);
    let after_text = sequence(vec![end(), sequence(vec![text, closer.optional()]).optional()]);
    Expr::Choice(vec![closed, after_text])
}

/// Braces after JSON that close nothing: models write one too many. Empty if a marker of the format closes with a brace.
fn superfluous_brace(spec: &Source<'_>) -> Expr {
    let closes = |(key, text): (MarkerKey, &str)| {
        !is_opener(spec, key) && text.trim_start_matches([' ', '\n', ']', ')']).starts_with('}')
    };
    if spec.markers().any(closes) {
        return Expr::empty();
    }
    let brace = tolerated(MarkerKey::CallPunctuation, "}", Role::Inner);
    sequence(vec![Expr::Literal(brace), Expr::Action(Action::Unparsed)])
}

/// What may follow JSON and is no part of it: braces too many, and the end of a code fence where one may have begun. It may come in any
/// order, so that one state reads all of it.
pub(super) fn after_json(spec: &Source<'_>, may_be_fenced: bool) -> Expr {
    let fence = if may_be_fenced { fence::end(spec) } else { Expr::empty() };
    let parts = [superfluous_brace(spec), fence].into_iter().filter(|part| !is_empty(part)).collect();
    Expr::Choice(parts).repeated()
}

/// The calls of a turn: the first one, more of them, and the marker after all of them.
pub(super) fn all_calls(spec: &Source<'_>, first: Expr, more: Expr) -> Expr {
    let text = || text_after(spec, &[MarkerKey::SectionEnd]).optional();
    let more = sequence(vec![more, text()]).repeated();
    sequence(vec![first, text(), more, marker(spec, MarkerKey::SectionEnd, Role::Inner).optional()])
}

/// The special tokens with which another call opens where the name of a call was to come: that call is abandoned.
pub(super) fn next_opener(spec: &Source<'_>) -> Vec<Expr> {
    let abandoned = |opener: Literal| {
        let opener = Literal { peek: true, role: Role::Inner, ..opener };
        Expr::Sequence(vec![Expr::Literal(opener), Expr::Action(Action::Unparsed)])
    };
    openers(spec).into_iter().filter(is_special).map(abandoned).collect()
}

fn openers(spec: &Source<'_>) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    for (key, text) in spec.markers().filter(|(key, _)| is_opener(spec, *key)) {
        for core in parts(text) {
            if found.iter().all(|other| other.core != core) {
                found.push(tolerated(key, core, Role::Broken));
            }
        }
    }
    found
}

/// The tags in the markers of these keys, each once.
fn tags(spec: &Source<'_>, keys: &[MarkerKey]) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    if spec.tools.format == ToolFormat::None {
        return found;
    }
    for key in keys {
        for (_, text) in spec.markers().filter(|(other, _)| other == key) {
            for core in parts(text) {
                let tag = tolerated(*key, core, Role::Stray);
                let opens =
                    spec.markers().any(|(other, text)| (opens(other) || is_opener(spec, other)) && text.contains(core));
                // Without a call there is no name to repeat.
                let is_tag = tag.repeats.is_none() && is_tag(&Expr::Literal(tag.clone()));
                if is_tag && !opens && found.iter().all(|other| other.core != tag.core) {
                    found.push(tag);
                }
            }
        }
    }
    found
}

/// Whether a marker opens something in an answer. Then it has a meaning there.
fn opens(key: MarkerKey) -> bool {
    matches!(
        key,
        MarkerKey::ReasoningStart
            | MarkerKey::ReasoningEmpty
            | MarkerKey::ContentStart
            | MarkerKey::ContentEnd
            | MarkerKey::SectionStart
            | MarkerKey::CallStart
            | MarkerKey::FunctionNamePrefix
    )
}

/// The opener of reasoning, which a model may write again although the prompt or the model itself has just written it, with
/// the start of the turn or without.
pub(super) fn repeated_opener(spec: &Source<'_>) -> Expr {
    let whole = MarkerText::new(&spec.reasoning.start);
    let mut again: Vec<Expr> = Vec::new();
    let own =
        [(MarkerKey::AssistantStart, &spec.turn.assistant_start), (MarkerKey::ReasoningStart, &spec.reasoning.start)];
    let others = spec.alternatives.get(&MarkerKey::ReasoningStart).into_iter().flatten();
    for (key, text) in own.into_iter().chain(others.map(|text| (MarkerKey::ReasoningStart, text))) {
        for core in parts(text) {
            let tag = Literal { after: whole.after.to_owned(), ..tolerated(key, core, Role::Inner) };
            let tag = Expr::Literal(tag);
            let closes = MarkerText::new(&spec.reasoning.end).tags().contains(&core);
            if (is_tag(&tag) || is_bracketed(core)) && !closes && !again.contains(&tag) {
                again.push(tag);
            }
        }
    }
    if again.is_empty() { Expr::empty() } else { Expr::Choice(again).repeated() }
}

/// The closer of reasoning, which a model may write again before it writes anything else: at the end of a line, or before a call or
/// the closer itself.
pub(super) fn repeated_closer(spec: &Source<'_>) -> Vec<Expr> {
    let text = MarkerText::new(&spec.reasoning.end);
    let again = Literal {
        before: text.before.to_owned(),
        in_text: InText::Text,
        ..tolerated(MarkerKey::ReasoningEnd, text.core, Role::Stray)
    };
    if text.tags() != [text.core] || is_special(&again) || spec.reasoning.start.trim() == text.core {
        return Vec::new();
    }
    let rest = text.after.strip_prefix('\n').unwrap_or_default();
    let line = Literal { core: [text.core, "\n"].concat(), after: rest.to_owned(), ..again.clone() };
    let mut next = vec![text.core.to_owned()];
    next.extend(openers(spec).into_iter().map(|opener| opener.core));
    let before = Literal { followed_by: next, ..again };
    [line, before].map(Expr::Literal).into()
}

/// What follows the special token that opens all calls: a call, or the end of the turn, which abandons them.
pub(super) fn or_ended(spec: &Source<'_>, opener: &Expr, call: Expr) -> Expr {
    let is_literal = |form: &Expr| matches!(form, Expr::Literal(literal) if is_special(literal));
    let is_token = match &sequence(vec![opener.clone()]) {
        Expr::Choice(forms) => forms.iter().all(is_literal),
        form => is_literal(form),
    };
    let ended = |end: Literal| {
        let end = Literal { peek: true, role: Role::Inner, ..end };
        Expr::Sequence(vec![Expr::Literal(end), Expr::Action(Action::Unparsed)])
    };
    let ends = turn_end::before_more(spec).into_iter().filter(|_| is_token).map(ended);
    Expr::Choice(std::iter::once(call).chain(ends).collect())
}

/// Whether a marker is a name in brackets that are not a tag's, such as `◁think▷`.
fn is_bracketed(core: &str) -> bool {
    let is_bracket = |c: char| !c.is_alphanumeric() && !c.is_ascii() && !c.is_whitespace();
    core.len() >= 4 && core.starts_with(is_bracket) && core.ends_with(is_bracket) && !core.contains(char::is_whitespace)
}

fn is_special(literal: &Literal) -> bool {
    is_special_token(literal.core.as_bytes())
}

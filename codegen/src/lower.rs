//! Lowers a format spec to a plan: splits the markers into cores and layout, and puts them in the order in which they
//! may come in a turn.
//!
//! It must not look at the name of a model.

mod arguments;
mod build;
mod fence;
mod lenient;
mod native;
mod source;
mod stray;
mod tagged;
mod turn_end;
mod variants;

use std::collections::BTreeSet;

use unjinja_runtime::Channel;
use unjinja_runtime::abi::{Action, InText, Origin, is_special_token};
use unjinja_spec::{ContentMode, FormatSpec, MarkerKey, MarkerText, ReasoningMode, ToolFormat};

use crate::plan::{Expr, Literal, Openers, Plan, PlanHole, Role};
use build::{is_empty, is_tag, literal, marker, sequence, tolerated};
use source::Source;
use stray::leftovers;

/// The plan of a spec's turn. The markers in `whole` are not taken apart.
pub(crate) fn plan(spec: &FormatSpec, whole: &BTreeSet<MarkerKey>) -> Plan {
    let spec = &Source::new(spec, whole);
    let reasoning = &spec.reasoning;
    let reasons = reasoning.mode != ReasoningMode::None;
    let mut parts = Vec::new();
    let mut first = Expr::empty();
    if reasons {
        let mut until = vec![Role::ReasoningEnd, Role::TurnEnd, Role::AfterEnd];
        let is_open = reasoning.end.trim().is_empty();
        if reasoning.ended_by_call || is_open {
            until.push(Role::CallOpen);
        }
        if is_open {
            until.push(Role::ContentWrapper);
        }
        // Where nothing closes a call, what follows does not tell a call from prose about one, and grammars cannot look further.
        let openers = if is_open || is_closed(spec) { Openers::NotLeading } else { Openers::Tolerated };
        let hole = Expr::Hole(PlanHole::text(Channel::Reasoning, until, openers));
        let mut close = answer_opens(spec);
        if !is_open {
            let end = marker(spec, MarkerKey::ReasoningEnd, Role::ReasoningEnd);
            close.insert(0, sequence(vec![end, Expr::Action(Action::CloseReasoning)]));
        }
        let close = Expr::Choice(close);
        if reasoning.start.trim().is_empty() {
            first = sequence(vec![hole, close.optional()]).optional();
        } else {
            let empty = marker(spec, MarkerKey::ReasoningEmpty, Role::ReasoningEnd);
            if !is_empty(&empty) {
                first = sequence(vec![empty]).optional();
            }
            parts.push(sequence(vec![
                marker(spec, MarkerKey::ReasoningStart, Role::ReasoningStart),
                Expr::Action(Action::OpenReasoning),
                stray::repeated_opener(spec),
                hole,
                close.optional(),
            ]));
        }
    }
    let calls = calls(spec);
    let answer = |openers| {
        let until = vec![
            Role::ReasoningStart,
            Role::ContentWrapper,
            Role::CallOpen,
            Role::TurnEnd,
            Role::AfterEnd,
            Role::Stray,
            Role::Fence,
        ];
        Expr::Hole(PlanHole::text(Channel::Content, until, openers))
    };
    // The state of answer text is that of the first of these holes.
    parts.push(answer(Openers::Any));
    if spec.content.mode != ContentMode::Plain {
        let mut start = vec![marker(spec, MarkerKey::ContentStart, Role::ContentWrapper)];
        if reasons && reasoning.end.trim().is_empty() {
            // Nothing else closes the reasoning before it.
            start.push(Expr::Action(Action::CloseReasoning));
        }
        if calls.as_ref().is_some_and(has_leading) {
            start.push(answer(Openers::NotLeading));
        }
        parts.push(sequence(start));
        parts.push(sequence(vec![marker(spec, MarkerKey::ContentEnd, Role::ContentWrapper)]));
    }
    let has_calls = calls.is_some();
    if let Some(calls) = calls {
        parts.push(sequence(vec![calls, leftovers(spec), Expr::Action(Action::EndCalls)]));
    }
    parts.extend(lenient::end_of_header(spec));
    parts.extend(stray::markers(spec));
    parts.extend(stray::repeated_closer(spec));
    parts.push(fence::code(spec));
    if has_calls {
        parts.push(stray::broken_call(spec));
    }
    Plan { turn: sequence(vec![repeated_start(spec), first, Expr::Choice(parts).repeated(), turn_end::turn_end(spec)]) }
}

/// The opener of the answer in reasoning that nothing closed, if it is a special token.
fn answer_opens(spec: &Source<'_>) -> Vec<Expr> {
    let text = MarkerText::new(spec.marker(MarkerKey::ContentStart));
    if !is_special_token(text.core.as_bytes()) || spec.reasoning.end.trim().is_empty() {
        return Vec::new();
    }
    let opener = Literal { peek: true, ..tolerated(MarkerKey::ContentStart, text.core, Role::ReasoningEnd) };
    vec![Expr::Sequence(vec![Expr::Literal(opener), Expr::Action(Action::CloseReasoning)])]
}

fn is_closed(spec: &Source<'_>) -> bool {
    let closers = [MarkerKey::SectionEnd, MarkerKey::CallEnd, MarkerKey::FunctionClose];
    closers.iter().any(|key| !spec.marker(*key).trim().is_empty())
}

/// Whether a call may open with a marker that counts only before a text.
fn has_leading(calls: &Expr) -> bool {
    match calls {
        Expr::Literal(literal) => literal.role == Role::CallOpen && literal.in_text == InText::Text,
        Expr::Sequence(items) | Expr::Choice(items) => items.iter().any(has_leading),
        Expr::Repeat(item) | Expr::Option(item) => has_leading(item),
        Expr::Hole(_) | Expr::Action(_) => false,
    }
}

/// A model may repeat the start of its turn, or the last tag of it. Some turns begin with a label.
fn repeated_start(spec: &Source<'_>) -> Expr {
    let start = MarkerText::new(&spec.turn.assistant_start);
    let last = start.tags().pop().filter(|tag| start.core.ends_with(tag)).unwrap_or_default();
    let mut starts: Vec<Expr> = Vec::new();
    let label = Expr::Literal(literal(MarkerKey::ContentLabel, MarkerText::new(&spec.content.label), Role::Inner));
    if !is_empty(&label) {
        starts.push(label);
    }
    for text in [start, MarkerText::new(last)] {
        let literal = literal(MarkerKey::AssistantStart, text, Role::Inner);
        let start = Expr::Literal(Literal { origin: Origin::Recovery, ..literal });
        if !is_empty(&start) && !starts.contains(&start) && is_tag(&start) {
            starts.push(start);
        }
    }
    if starts.is_empty() { Expr::empty() } else { Expr::Choice(starts).optional() }
}

/// All calls of a turn. `None` if the format has no calls.
fn calls(spec: &Source<'_>) -> Option<Expr> {
    match spec.tools.format {
        ToolFormat::None => None,
        ToolFormat::JsonNative => Some(native::calls(spec)),
        ToolFormat::TagWithJson | ToolFormat::TagWithTagged | ToolFormat::CallExpression => Some(tagged::calls(spec)),
    }
}

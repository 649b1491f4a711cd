//! The plan of exactly what templates write.

pub(super) mod arguments;
pub(super) mod build;
pub(super) mod native;
pub(super) mod source;
pub(super) mod tagged;

use unjinja_runtime::Channel;
use unjinja_runtime::abi::Action;
use unjinja_spec::{ContentMode, MarkerKey, MarkerText, ReasoningMode, ToolFormat};

use crate::plan::{Expr, Openers, PlanHole, PlanPart, Role};
use build::{is_empty, literal, marker};
use source::Source;

/// The plan of a turn.
pub(in crate::lower) fn turn(spec: &Source<'_>) -> Expr {
    let calls = match spec.tools.format {
        ToolFormat::None => None,
        ToolFormat::JsonNative => Some(native::calls(spec)),
        ToolFormat::TagWithJson | ToolFormat::TagWithTagged | ToolFormat::CallExpression => Some(tagged::calls(spec)),
    };
    let (first, reasoning) = match spec.reasoning.mode {
        ReasoningMode::None => (Expr::empty(), None),
        _ => reasoning(spec),
    };
    let mut sections: Vec<Expr> = reasoning.into_iter().collect();
    sections.extend(answer(spec, calls.as_ref().is_some_and(Expr::opens_before_text)));
    sections.extend(calls.map(|calls| Expr::sequence([calls.named(PlanPart::Calls), Expr::Action(Action::EndCalls)])));
    Expr::sequence([
        label(spec).named(PlanPart::Start),
        first,
        Expr::Choice(sections).named(PlanPart::Sections).repeated(),
        end(spec).named(PlanPart::End),
    ])
}

/// The label with which some turns begin.
fn label(spec: &Source<'_>) -> Expr {
    let label = Expr::from(literal(MarkerKey::ContentLabel, MarkerText::new(&spec.content.label), Role::Inner));
    if is_empty(&label) { Expr::empty() } else { Expr::choice([label]).optional() }
}

/// What comes before anything else, and reasoning that may come anywhere.
fn reasoning(spec: &Source<'_>) -> (Expr, Option<Expr>) {
    let reasoning = &spec.reasoning;
    let mut until = vec![Role::ReasoningEnd, Role::TurnEnd, Role::AfterEnd];
    let is_open = reasoning.end.trim().is_empty();
    if reasoning.ended_by_call || is_open {
        until.push(Role::CallOpen);
    }
    if is_open {
        until.push(Role::ContentWrapper);
    }
    let hole = Expr::Hole(PlanHole::text(Channel::Reasoning, until, Openers::NotLeading)).named(PlanPart::Thoughts);
    let end = || {
        let end = marker(spec, MarkerKey::ReasoningEnd, Role::ReasoningEnd);
        Expr::sequence([end, Expr::Action(Action::CloseReasoning)])
    };
    let close = if is_open { Expr::Choice(Vec::new()) } else { end() };
    let close = close.named(PlanPart::ReasoningEnd).optional();
    if reasoning.start.trim().is_empty() {
        return (Expr::sequence([hole, close]).optional(), None);
    }
    let empty = marker(spec, MarkerKey::ReasoningEmpty, Role::ReasoningEnd);
    let first = if is_empty(&empty) { Expr::empty() } else { empty.optional() };
    let start = marker(spec, MarkerKey::ReasoningStart, Role::ReasoningStart);
    let start = Expr::sequence([start, Expr::Action(Action::OpenReasoning)]).named(PlanPart::ReasoningStart);
    (first, Some(Expr::sequence([start, hole, close])))
}

/// The text of the answer, and its wrapper. `after_opener`: a call may open with a marker that counts only before a text.
fn answer(spec: &Source<'_>, after_opener: bool) -> Vec<Expr> {
    let answer = |openers| {
        let until = vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd, Role::AfterEnd];
        Expr::Hole(PlanHole::text(Channel::Content, until, openers)).named(PlanPart::Answer)
    };
    // The state of answer text is that of the first of these holes.
    let mut parts = vec![answer(Openers::Any)];
    if spec.content.mode != ContentMode::Plain {
        let mut start = vec![marker(spec, MarkerKey::ContentStart, Role::ContentWrapper)];
        if spec.reasoning.mode != ReasoningMode::None && spec.reasoning.end.trim().is_empty() {
            // Nothing else closes the reasoning before it.
            start.push(Expr::Action(Action::CloseReasoning));
        }
        start.extend(after_opener.then(|| answer(Openers::NotLeading)));
        parts.push(Expr::Sequence(start));
        parts.push(Expr::sequence([marker(spec, MarkerKey::ContentEnd, Role::ContentWrapper)]));
    }
    parts
}

/// The end of a turn: the text that the template writes there, or the beginning of it up to one of its tags, because a server
/// may stop at any of them.
fn end(spec: &Source<'_>) -> Expr {
    let ends = ends_of_turn(spec);
    if ends.is_empty() { Expr::empty() } else { Expr::Choice(ends).optional() }
}

/// The texts that end a turn, as literals that count only at the end of the output.
pub(super) fn ends_of_turn(spec: &Source<'_>) -> Vec<Expr> {
    let others = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let mut ends: Vec<Expr> = Vec::new();
    for text in std::iter::once(&spec.turn.end).chain(others) {
        let whole = MarkerText::new(text);
        for core in whole.beginnings() {
            let end = Expr::from(literal(MarkerKey::TurnEnd, MarkerText { core, ..whole }, Role::TurnEnd));
            if !is_empty(&end) && !ends.contains(&end) {
                ends.push(end);
            }
        }
    }
    ends
}

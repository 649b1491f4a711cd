//! What a render lacks of a message, or has more than once.

use serde_json::Value;
use unjinja_runtime::Message;
use unjinja_spec::{Carrier, FormatSpec, MarkerKey, ReasoningMode, ToolFormat};

use crate::conversation::{AssistantMessage, Style};
use crate::observed::MessagePart;
use crate::probe::Probe;

/// Whether the template wrote one message as several turns: the end of a turn is inside it, and another turn or message begins
/// there. In formats whose turns are several messages, markers hold the text that also ends the turn.
pub(super) fn is_several_turns(rendered: &str, spec: &FormatSpec, message: &Message) -> bool {
    let (start, end) = (spec.turn.assistant_start.trim(), spec.turn.end.trim());
    let turn = until_end(rendered, spec).trim_end();
    let inner = turn.strip_suffix(end).unwrap_or(turn);
    let of_turn = [MarkerKey::AssistantStart, MarkerKey::TurnEnd, MarkerKey::UserStart];
    let holds_end = |(key, text): &(MarkerKey, &str)| !of_turn.contains(key) && text.contains(end);
    let ends_messages = spec.markers().any(|marker| holds_end(&marker));
    // What a marker holds is no end of the turn.
    let whole = spec.markers().filter(holds_end).filter(|(_, text)| text.trim() != end);
    let inner = &whole.fold(inner.to_owned(), |inner, (_, text)| inner.replace(text.trim(), "\n"));
    // A call that comes after the end of an answer is lost, unless a header begins a turn for it.
    let is_after_answer = !message.content.is_empty() && message.tool_calls.len() == 1;
    let header = match unjinja_spec::tags(start).first() {
        _ if ends_messages => Some(start),
        first => first.copied().filter(|_| is_after_answer),
    };
    let begins = |(at, _): (usize, &str)| {
        let rest = inner[at + end.len()..].trim_start();
        header.is_none_or(|header| !header.is_empty() && rest.starts_with(header))
    };
    !end.is_empty() && inner.match_indices(end).any(begins)
}

/// Whether the template writes an answer together with calls like reasoning: then no parser can tell them apart.
pub(super) fn is_same_as_reasoning(
    probe: &Probe<'_>,
    spec: &FormatSpec,
    turn: &AssistantMessage,
    style: Style,
    rendered: &str,
) -> bool {
    if turn.content.is_empty() || turn.calls.is_empty() || spec.reasoning.mode == ReasoningMode::None {
        return false;
    }
    let (open, before) = (spec.reasoning.start.trim(), rendered.split(turn.content.as_str()).next().unwrap_or(""));
    if !open.is_empty() && before.trim_end().ends_with(open) {
        return true;
    }
    let Some(carrier) = Carrier::of_field(&spec.reasoning.field).filter(|_| turn.reasoning.is_none()) else {
        return false;
    };
    let other = AssistantMessage { content: String::new(), ..turn.clone() }.with_reasoning(&carrier, &turn.content);
    probe.turn_text(&other, style, &[]).is_ok_and(|other| other == rendered)
}

pub(super) fn message_is_plain(message: &Message) -> bool {
    message.tool_calls.is_empty() && message.reasoning_content.is_empty()
}

/// The part of a message of which a render lacks a word; `None` if it has all words of the texts and the names of the calls.
pub(super) fn lacking(rendered: &str, message: &Message) -> Option<MessagePart> {
    let lacks = |text: &str| text.split_whitespace().any(|word| !rendered.contains(word));
    if let Some(number) = message.tool_calls.iter().position(|call| !rendered.contains(&call.name)) {
        return Some(MessagePart::Name(number));
    }
    let texts = [(MessagePart::Reasoning, &message.reasoning_content), (MessagePart::Content, &message.content)];
    texts.into_iter().find(|(_, text)| lacks(text)).map(|(part, _)| part)
}

/// A text among the arguments that a parser takes for another one, because the template writes it without what makes it whole:
/// between quotes without the escapes that it needs, or without quotes where a literal may be, though it begins with a quote
/// itself. Models write literals.
pub(super) fn unescaped(rendered: &str, turn: &AssistantMessage, spec: &FormatSpec) -> Option<MessagePart> {
    let are_literals =
        matches!(spec.tools.format, ToolFormat::CallExpression | ToolFormat::JsonNative | ToolFormat::TagWithJson);
    let is_written = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('\n', "\\n");
        let literal = |quote: char| format!("{quote}{}{quote}", escaped.replace(quote, &format!("\\{quote}")));
        ['\'', '"'].into_iter().any(|quote| rendered.contains(&literal(quote)))
    };
    // Where only a separator ends a value, a literal is read first.
    let arguments = &spec.tools.arguments;
    let unclosed = arguments.value_suffix.trim().is_empty() && !arguments.separator.trim().is_empty();
    let is_bare = |text: &str| text.starts_with(['\'', '"']) && !is_written(text);
    let needs_escapes = |text: &str| text.contains(['\\', '\'', '"', '\n']);
    let is_lost = |text: &str| {
        if are_literals { needs_escapes(text) && !is_written(text) } else { unclosed && is_bare(text) }
    };
    let lacks = |value: &Value| value.as_str().is_some_and(is_lost);
    let mut calls = turn.calls.iter().enumerate();
    calls.find_map(|(number, call)| Some(MessagePart::Value(number, call.arguments.values().position(lacks)?)))
}

/// A turn without what the template writes after it.
pub(super) fn until_end<'r>(rendered: &'r str, spec: &FormatSpec) -> &'r str {
    let core = spec.turn.end.trim();
    match rendered.rfind(core) {
        Some(at) if !core.is_empty() && !rendered.trim_end().ends_with(core) => &rendered[..at + core.len()],
        _ => rendered,
    }
}

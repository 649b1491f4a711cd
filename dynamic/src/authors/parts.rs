//! What each byte of a prompt is: whose message, and which part of it.

use std::ops::Range;

use serde_json::Value;
use unjinja_render::{Labels, Origin};

use super::origin::root;

/// A part of a message or of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenPart {
    /// The name of a role.
    Role,
    /// Reasoning of the assistant.
    Reasoning,
    /// The text of a message.
    Content,
    /// A call: its name, arguments and id.
    Call,
    /// The result of a call, with its name and id.
    ToolResult,
    /// The description of a tool.
    Tool,
    /// Another variable of the conversation, such as a date.
    Variable,
    /// Text of the template.
    Markup,
}

impl TokenPart {
    /// The name that files and other languages have for it: `tool_result`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Reasoning => "reasoning",
            Self::Content => "content",
            Self::Call => "call",
            Self::ToolResult => "tool_result",
            Self::Tool => "tool",
            Self::Variable => "variable",
            Self::Markup => "markup",
        }
    }
}

/// Sorts messages by their places.
fn in_order(messages: &mut [(Range<usize>, usize)]) {
    messages.sort_by_key(|(range, _)| range.start);
}

/// What each byte of a prompt is.
pub struct PromptParts {
    spans: Vec<FieldSpan>,
    /// What the template wrote for each message, where loops tell.
    messages: Vec<(Range<usize>, usize)>,
}

impl PromptParts {
    /// As far as labels tell. `context` holds the messages as the template got them.
    pub(super) fn new(labels: &Labels, context: &Value) -> Self {
        let mut messages: Vec<_> = labels
            .items()
            .iter()
            .filter_map(|item| match step(item.path.strip_prefix("messages")?)? {
                (message, "") => Some((item.range.clone(), message)),
                _ => None,
            })
            .collect();
        in_order(&mut messages);
        let roles = Roles(&context["messages"]);
        let spans = labels.spans().iter().map(|span| {
            let (message, part) = match &span.origin {
                Origin::Template => (None, TokenPart::Markup),
                Origin::Field(field) => roles.part(&field.path),
            };
            (span.range.clone(), message, part)
        });
        Self { spans: spans.collect(), messages }
    }

    /// The message and the part of the byte at an offset.
    pub fn at(&self, offset: usize) -> (Option<usize>, TokenPart) {
        let index = self.spans.partition_point(|(range, ..)| range.end <= offset);
        let (message, part) =
            self.spans.get(index).map_or((None, TokenPart::Markup), |(_, message, part)| (*message, *part));
        (message.or_else(|| self.message_around(offset)), part)
    }

    /// Where one of them begins or ends, in no order.
    pub(super) fn cuts(&self) -> impl Iterator<Item = usize> {
        let spans = self.spans.iter().map(|(range, ..)| range);
        spans.chain(self.messages.iter().map(|(range, _)| range)).flat_map(|range| [range.start, range.end])
    }

    /// The message for which a loop wrote the byte at an offset.
    fn message_around(&self, offset: usize) -> Option<usize> {
        let first = self.messages.partition_point(|(range, _)| range.start <= offset);
        let before = self.messages.get(..first)?;
        before.iter().rev().find(|(range, _)| range.contains(&offset)).map(|(_, message)| *message)
    }

    /// All that was written for a message: what loops wrote for it, or else from its first field to its last. In order.
    pub(super) fn of_message(&self, message: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (range, _) in self.messages.iter().filter(|(_, of)| *of == message) {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range.clone()),
            }
        }
        if ranges.is_empty() {
            ranges.extend(self.fields_of(message));
        }
        ranges
    }

    /// From the first field of a message to its last.
    pub(super) fn fields_of(&self, message: usize) -> Option<Range<usize>> {
        let mut fields = self.spans.iter().filter(|(_, of, _)| *of == Some(message)).map(|(range, ..)| range);
        let first = fields.next()?;
        Some(first.start..fields.next_back().unwrap_or(first).end)
    }

    /// Whether it is known what was written for a message.
    pub(super) fn is_told(&self, message: usize) -> bool {
        self.messages.iter().any(|(_, of)| *of == message)
    }

    /// Says what was written for a message.
    pub(super) fn tell(&mut self, message: usize, ranges: Vec<Range<usize>>) {
        self.messages.retain(|(_, of)| *of != message);
        self.messages.extend(ranges.into_iter().map(|range| (range, message)));
        in_order(&mut self.messages);
    }

    /// The texts of fields that meet a range, and their messages. The role of a message is none of them.
    pub(super) fn owners(&self, range: &Range<usize>) -> impl Iterator<Item = (&Range<usize>, Option<usize>)> {
        self.meeting(range).filter(|(.., part)| *part != TokenPart::Role).map(|(range, message, _)| (range, *message))
    }

    /// Where the last field before an offset ends; 0 if there is none.
    pub(super) fn end_before(&self, offset: usize) -> usize {
        self.fields(&(0..offset)).next_back().map_or(0, |(range, _)| range.end.min(offset))
    }

    /// Where the first field from an offset on begins.
    pub(super) fn start_after(&self, offset: usize) -> Option<usize> {
        self.fields(&(offset..usize::MAX)).next().map(|(range, _)| range.start)
    }

    /// The parts of fields that meet a range, in order.
    pub(super) fn fields(&self, range: &Range<usize>) -> impl DoubleEndedIterator<Item = (&Range<usize>, TokenPart)> {
        self.meeting(range).map(|(range, _, part)| (range, *part))
    }

    /// The fields that meet a range, in order.
    fn meeting(&self, range: &Range<usize>) -> impl DoubleEndedIterator<Item = &FieldSpan> {
        let first = self.spans.partition_point(|(part, ..)| part.end <= range.start);
        let rest = self.spans.get(first..).unwrap_or_default();
        let count = rest.partition_point(|(part, ..)| part.start < range.end);
        let meeting = rest.get(..count).unwrap_or_default();
        meeting.iter().filter(|(.., part)| *part != TokenPart::Markup)
    }
}

/// The bytes of a field, its message, and what it is.
type FieldSpan = (Range<usize>, Option<usize>, TokenPart);

/// The messages, to look up their roles.
struct Roles<'c>(&'c Value);

impl Roles<'_> {
    /// The message and the part that a field is.
    fn part(&self, path: &str) -> (Option<usize>, TokenPart) {
        let (message, rest) = match (root(path), path.strip_prefix("messages").and_then(step)) {
            ("messages", Some(step)) => step,
            ("tools" | "functions" | "documents" | "builtin_tools", _) => return (None, TokenPart::Tool),
            (name, _) if name.ends_with("_token") => return (None, TokenPart::Markup),
            _ => return (None, TokenPart::Variable),
        };
        let field = rest.trim_start_matches('.');
        let role = self.0[message]["role"].as_str().unwrap_or_default();
        let part = match root(field) {
            "role" => TokenPart::Role,
            _ if matches!(role, "tool" | "function" | "ipython" | "observation") => TokenPart::ToolResult,
            "tool_calls" | "function_call" => TokenPart::Call,
            "content" | "name" | "" => TokenPart::Content,
            _ if role == "assistant" => TokenPart::Reasoning,
            _ => TokenPart::Content,
        };
        (Some(message), part)
    }
}

/// The number of a path's first step, `[3].content`, and what follows.
fn step(path: &str) -> Option<(usize, &str)> {
    let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

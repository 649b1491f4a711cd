//! Who wrote which byte of a prompt: the template or the conversation.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use unjinja_render::{Encoding, Field, FieldPart, Labels, Origin};

use crate::prompt::LabelledPrompt;

/// A control token that a text of the conversation spells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    /// The text of the token.
    pub token: String,
    /// The field of the conversation in which it begins, as a path: `messages[1].content`.
    pub path: Arc<str>,
    /// Its bytes in the prompt.
    pub range: Range<usize>,
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.token, self.path)
    }
}

/// Who wrote a part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// The template, and the special tokens that the tokenizer gives it.
    Template,
    /// A field that names the role of a message, whole and unchanged. The template may make a special token of it: `'<|' + role + '|>'`.
    Role,
    /// Any other field.
    Conversation,
    /// A field, changed in a way that labels do not follow.
    Unknown,
}

/// Whether a text may be a control token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenVerdict {
    /// The template wrote it.
    Control,
    /// A text of the conversation spells it.
    Text,
    /// A field was changed in a way that labels do not follow, so it cannot be told.
    Undecided,
}

/// Who wrote which byte of a prompt.
pub struct PromptWriters<'l> {
    parts: Vec<(Range<usize>, Writer)>,
    labels: &'l Labels,
}

impl<'l> PromptWriters<'l> {
    /// `is_control` says which texts are control tokens of the tokenizer: a caller may give them as variables, and they are then the
    /// template's. Texts of other variables are the conversation's.
    pub fn new(prompt: &'l LabelledPrompt, is_control: &dyn Fn(&str) -> bool) -> Self {
        let is_given = |name: &str| {
            let value = &prompt.context[name];
            let is_token = name.ends_with("_token") && value.as_str().is_some_and(is_control);
            !value.is_null() && !is_token
        };
        let mut parts = Vec::with_capacity(prompt.labels.spans().len());
        for span in prompt.labels.spans() {
            let text = prompt.text.get(span.range.clone()).unwrap_or_default();
            let writer = match &span.origin {
                Origin::Template => Writer::Template,
                Origin::Field(field) if !is_given(root(&field.path)) => Writer::Template,
                Origin::Field(field) if field.encodings.contains(&Encoding::Other) => Writer::Unknown,
                Origin::Field(field) if is_role(field, text) => Writer::Role,
                Origin::Field(field) => {
                    let mut from = 0;
                    for tag in tags_in(prompt, field, text) {
                        let at = |offset: usize| span.range.start + offset;
                        parts.push((at(from)..at(tag.start), Writer::Conversation));
                        parts.push((at(tag.start)..at(tag.end), Writer::Template));
                        from = tag.end;
                    }
                    parts.push((span.range.start + from..span.range.end, Writer::Conversation));
                    continue;
                }
            };
            parts.push((span.range.clone(), writer));
        }
        parts.retain(|(range, _)| !range.is_empty());
        Self { parts, labels: &prompt.labels }
    }

    /// The parts that meet a range.
    fn meeting(&self, range: &Range<usize>) -> &[(Range<usize>, Writer)] {
        let first = self.parts.partition_point(|(part, _)| part.end <= range.start);
        let rest = self.parts.get(first..).unwrap_or_default();
        let count = rest.partition_point(|(part, _)| part.start < range.end);
        rest.get(..count).unwrap_or_default()
    }

    /// Whether the text of this range may be a control token.
    pub fn verdict(&self, range: &Range<usize>) -> TokenVerdict {
        let parts = self.meeting(range);
        if parts.iter().any(|(_, writer)| *writer == Writer::Unknown) {
            return TokenVerdict::Undecided;
        }
        // Text that nothing is known of is the conversation's.
        let (Some((first, begins)), Some((last, ends))) = (parts.first(), parts.last()) else {
            return TokenVerdict::Text;
        };
        let is_known = first.start <= range.start && range.end <= last.end;
        let framed = is_known && *begins == Writer::Template && *ends == Writer::Template;
        let whole = |(part, writer): &(Range<usize>, Writer)| match writer {
            Writer::Template => true,
            Writer::Role => range.start <= part.start && part.end <= range.end,
            Writer::Conversation | Writer::Unknown => false,
        };
        if framed && parts.iter().all(whole) { TokenVerdict::Control } else { TokenVerdict::Text }
    }

    /// A control token that the conversation spells in this range.
    pub fn spelled(&self, token: &str, range: &Range<usize>) -> Spelled {
        let spans = self.labels.spans();
        let first = spans.partition_point(|span| span.range.end <= range.start);
        let field = spans.get(first..).unwrap_or_default().iter().find_map(|span| match &span.origin {
            Origin::Field(field) => Some(field.path.clone()),
            Origin::Template => None,
        });
        Spelled { token: token.to_owned(), path: field.unwrap_or_default(), range: range.clone() }
    }
}

/// The variable of a path.
pub(super) fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Where in a text of a field tags are that were written into the field when its message was handed over. None where the text is not
/// in exactly one place of the field.
fn tags_in(prompt: &LabelledPrompt, field: &Field, text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for written in &prompt.written {
        let path = format!("messages[{}].content", written.message);
        let content = &prompt.context["messages"][written.message]["content"];
        let value = match field.path.strip_prefix(path.as_str()) {
            Some("") => content,
            Some("[0].text") => &content[0]["text"],
            _ => continue,
        };
        let mut places = value.as_str().unwrap_or_default().match_indices(text);
        if let (Some((at, _)), None) = (places.next(), places.next()) {
            let inside = |tag: &Range<usize>| Some(tag.start.checked_sub(at)?..tag.end.checked_sub(at)?);
            // A template may have trimmed a tag.
            let clipped = |tag: &Range<usize>| inside(&(tag.start.max(at)..tag.end.max(at).min(at + text.len())));
            found.extend(written.ranges.iter().filter_map(clipped).filter(|tag| !tag.is_empty()));
        }
    }
    found
}

/// Whether a span is the role of a message, which is a word.
fn is_role(field: &Field, text: &str) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let number = field.path.strip_prefix("messages[").and_then(|path| path.strip_suffix("].role"));
    let of_message = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    of_message && field.part == FieldPart::Value && is_word(text)
}

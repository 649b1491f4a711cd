//! Prints a message, whole or while it arrives: for people, as JSON, or as an OpenAI-compatible server would answer. One
//! type per format; none of them parses. The last format is that of `unjinja_server`.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::IgnoredAny;
use unjinja_runtime::{Diagnostic, DiagnosticKind, Event, Message, ToolCall};
use unjinja_server::openai::{ChatCompletion, ChunkWriter};
use unjinja_server::{CallIds, Finish};

use crate::failure::Done;
use crate::output;
use crate::ui::{FAINT, HEADING, NAME, Ui, WARNING, paint};
use crate::visible;

/// Prints a message, which it receives as events or as a whole.
pub(super) trait Show {
    /// Prints a piece of the message.
    fn event(&mut self, event: &Event<'_>) -> Done;

    /// Prints a whole message. It is called instead of [`event`](Self::event).
    fn message(&mut self, message: &Message) -> Done {
        if !message.reasoning_content.is_empty() {
            self.event(&Event::Reasoning(&message.reasoning_content))?;
        }
        if !message.content.is_empty() {
            self.event(&Event::Content(&message.content))?;
        }
        for (index, call) in message.tool_calls.iter().enumerate() {
            self.event(&Event::ToolCallStart { index, name: &call.name, id: call.id.as_deref() })?;
            self.event(&Event::ToolCallArguments { index, json: &call.arguments })?;
            self.event(&Event::ToolCallEnd { index, complete: call.complete })?;
        }
        if !message.unparsed.is_empty() {
            self.event(&Event::Unparsed(&message.unparsed))?;
        }
        message.diagnostics.iter().try_for_each(|diagnostic| self.event(&Event::Diagnostic(diagnostic.clone())))
    }

    /// The message is complete: prints what is left.
    fn end(&mut self) -> Done;
}

/// The part of the message that was printed last; each part has a heading.
#[derive(Clone, PartialEq, Eq)]
enum Printed {
    Nothing,
    Reasoning,
    Content,
    Unparsed,
    Call(usize),
}

/// Prints for people: headings, and below them the text, indented.
pub(super) struct Human {
    ui: Ui,
    stream: bool,
    printed: Printed,
    /// Whether the next character begins a line.
    at_line_start: bool,
    /// White space of a part that has nothing else yet: it alone is not worth a heading.
    spaces: (Printed, String),
    notes: Vec<String>,
}

impl Human {
    pub(super) fn new(stream: bool, ui: Ui) -> Self {
        Self {
            ui,
            stream,
            printed: Printed::Nothing,
            at_line_start: true,
            spaces: (Printed::Nothing, String::new()),
            notes: Vec::new(),
        }
    }

    fn heading(&mut self, part: Printed, heading: &str) -> Done {
        if self.printed == part {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        if self.printed != Printed::Nothing {
            writeln!(out, "{}", if self.at_line_start { "" } else { "\n" })?;
        }
        writeln!(out, "{heading}")?;
        (self.printed, self.at_line_start) = (part, true);
        Ok(())
    }

    /// Prints text of a part, below its heading.
    fn channel(&mut self, part: Printed, heading: &str, text: &str) -> Done {
        if self.printed == part {
            return self.text(text);
        }
        if self.spaces.0 != part {
            self.spaces = (part.clone(), String::new());
        }
        self.spaces.1.push_str(text);
        if text.trim().is_empty() {
            return Ok(());
        }
        self.heading(part, &paint(HEADING, heading))?;
        let text = std::mem::take(&mut self.spaces.1);
        self.text(text.trim_start_matches('\n'))
    }

    fn text(&mut self, text: &str) -> Done {
        let mut out = anstream::stdout().lock();
        for line in text.split_inclusive('\n') {
            let (words, ends) = line.strip_suffix('\n').map_or((line, false), |words| (words, true));
            if self.at_line_start && !words.is_empty() {
                write!(out, "  ")?;
            }
            write!(out, "{}{}", visible::lines(words), if ends { "\n" } else { "" })?;
            self.at_line_start = ends;
        }
        if self.stream {
            out.flush()?;
        }
        Ok(())
    }
}

fn call_heading(index: usize, name: &str, id: Option<&str>) -> String {
    let id = id.map_or(String::new(), |id| paint(FAINT, &format!("  id {}", visible::lines(id))));
    format!("{}  {}{id}", paint(HEADING, &format!("tool call {index}")), paint(NAME, &visible::lines(name)))
}

impl Show for Human {
    fn event(&mut self, event: &Event<'_>) -> Done {
        match event {
            Event::Reasoning(text) => self.channel(Printed::Reasoning, "reasoning", text),
            Event::Content(text) => self.channel(Printed::Content, "content", text),
            Event::Unparsed(text) => self.channel(Printed::Unparsed, "unparsed", text),
            Event::ToolCallStart { index, name, id } => {
                self.heading(Printed::Call(*index), &call_heading(*index, name, *id))
            }
            Event::ToolCallArguments { json, .. } => {
                // Whole arguments are indented if they are valid JSON; anything else is printed as it is.
                let whole = !self.stream && serde_json::from_str::<IgnoredAny>(json).is_ok();
                if whole { self.text(&laid_out(json)) } else { self.text(json) }
            }
            Event::ToolCallId { id, .. } => {
                let part = self.printed.clone();
                self.printed = Printed::Nothing;
                self.heading(part, &paint(FAINT, &format!("\n  id {}", visible::lines(id))))
            }
            Event::Diagnostic(diagnostic) => {
                self.notes.push(diagnostic.to_string());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Done {
        let mut out = anstream::stdout().lock();
        if self.printed == Printed::Nothing {
            writeln!(out, "{}", paint(FAINT, "(an empty message)"))?;
        } else if !self.at_line_start {
            writeln!(out)?;
        }
        if !self.ui.quiet && !self.notes.is_empty() {
            writeln!(out)?;
            for note in &self.notes {
                writeln!(out, "{} {}", paint(WARNING, "note:"), visible::lines(note))?;
            }
        }
        Ok(())
    }
}

/// Indents valid JSON, one value per line. Only white space changes: numbers keep their spelling.
fn laid_out(json: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) =
        (String::with_capacity(json.len() * 2), 0_usize, false, false);
    let mut whole = json.chars().peekable();
    while let Some(c) = whole.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        while c != '"' && whole.next_if(char::is_ascii_whitespace).is_some() {}
        let next = whole.peek();
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match c {
            '{' | '[' if matches!(next, Some('}' | ']')) => out.push(c),
            '{' | '[' => {
                depth += 1;
                out.push(c);
                line(&mut out, depth);
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            c => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// Prints the whole message as one JSON document.
#[derive(Default)]
pub(super) struct Document {
    message: Message,
}

impl Show for Document {
    fn event(&mut self, event: &Event<'_>) -> Done {
        self.message.apply(event);
        Ok(())
    }

    fn end(&mut self) -> Done {
        let Message { content, reasoning_content, tool_calls, unparsed, diagnostics, .. } = &self.message;
        let tool_calls = tool_calls.iter().map(CallDocument::new).collect();
        let message = MessageDocument { content, reasoning_content, tool_calls, unparsed };
        output::json(&ParsedDocument { message, diagnostics })
    }
}

/// A parsed message.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ParsedDocument<'m> {
    /// The message.
    message: MessageDocument<'m>,
    /// What is unusual about the output.
    diagnostics: &'m [Diagnostic],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MessageDocument<'m> {
    /// The answer; empty if there is none.
    content: &'m str,
    /// The chain of thought; empty if there is none.
    reasoning_content: &'m str,
    /// The tools that the model called.
    tool_calls: Vec<CallDocument<'m>>,
    /// Broken markup, with `--unparsed separate`; absent if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    unparsed: &'m str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallDocument<'m> {
    /// The call's id; null if the model wrote none.
    id: Option<&'m str>,
    /// The function's name.
    name: &'m str,
    /// JSON text as it came; if the call is malformed or incomplete, it may not be valid JSON.
    arguments: &'m str,
    /// Whether the model closed the call as its format demands.
    complete: bool,
}

impl<'m> CallDocument<'m> {
    fn new(call: &'m ToolCall) -> Self {
        Self { id: call.id.as_deref(), name: &call.name, arguments: &call.arguments, complete: call.complete }
    }
}

/// Prints one line of JSON per event.
pub(super) struct Events;

impl Show for Events {
    fn event(&mut self, event: &Event<'_>) -> Done {
        output::json_line(event)
    }

    fn end(&mut self) -> Done {
        Ok(())
    }
}

/// What a server's answer has besides the message. It is the same in every run if `SOURCE_DATE_EPOCH` is set, as tests
/// and reproducible builds do: then the ids are numbers.
pub(super) struct Answer {
    model: String,
    call_ids: CallIds,
    /// `created`, if it is not the present time.
    fixed: Option<u64>,
}

impl Answer {
    pub(super) fn new(model: &str, mut call_ids: CallIds) -> Self {
        let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
        if fixed.is_some() {
            let count = AtomicUsize::new(0);
            call_ids = call_ids.source(move |length| format!("{:0>length$}", count.fetch_add(1, Ordering::Relaxed)));
        }
        Self { model: model.to_owned(), call_ids, fixed }
    }
}

/// The id of an answer that is the same in every run.
const FIXED_ID: &str = "chatcmpl-unjinja";

/// Why a server would say that the output ended. A call that is cut short shows that the model was stopped.
fn finish(message: &Message) -> Finish {
    let is_cut = |d: &Diagnostic| d.kind == DiagnosticKind::IncompleteCall;
    if message.diagnostics.iter().any(is_cut) { Finish::Length } else { Finish::Stop }
}

/// Prints a `chat.completion`.
pub(super) struct Completion {
    answer: Answer,
    message: Message,
}

impl Completion {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer, message: Message::default() }
    }
}

impl Show for Completion {
    fn event(&mut self, event: &Event<'_>) -> Done {
        self.message.apply(event);
        Ok(())
    }

    fn end(&mut self) -> Done {
        let Answer { model, call_ids, fixed } = &mut self.answer;
        let message = std::mem::take(&mut self.message);
        let finish = finish(&message);
        let mut completion = ChatCompletion::new(model.as_str(), message, call_ids, &finish);
        if let Some(seconds) = fixed {
            (completion.id, completion.created) = (FIXED_ID.to_owned(), *seconds);
        }
        output::json(&completion)
    }
}

/// Prints lines of `chat.completion.chunk`.
pub(super) struct Chunks {
    writer: ChunkWriter,
    /// The diagnostics alone.
    noticed: Message,
}

impl Chunks {
    pub(super) fn new(answer: Answer) -> Self {
        let mut writer = ChunkWriter::new(answer.model, answer.call_ids);
        if let Some(seconds) = answer.fixed {
            writer = writer.id(FIXED_ID).created(seconds);
        }
        Self { writer, noticed: Message::default() }
    }
}

impl Show for Chunks {
    fn event(&mut self, event: &Event<'_>) -> Done {
        if matches!(event, Event::Diagnostic(_)) {
            self.noticed.apply(event);
        }
        self.writer.event(event).iter().try_for_each(output::json_line)
    }

    fn end(&mut self) -> Done {
        self.writer.finish(&finish(&self.noticed), None).iter().try_for_each(output::json_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laying_out_changes_white_space_alone() {
        let text = r#" {"a" : [1.50, -0 ,{}, [ ]], "b c": " x, {y}: \"z\\", "d":{"e":12345678901234567890123}} "#;
        let expected = "{\n  \"a\": [\n    1.50,\n    -0,\n    {},\n    []\n  ],\n  \
                        \"b c\": \" x, {y}: \\\"z\\\\\",\n  \"d\": {\n    \"e\": 12345678901234567890123\n  }\n}";
        assert_eq!(laid_out(text), expected);
        assert_eq!(laid_out(r#""a b""#), r#""a b""#);
    }
}

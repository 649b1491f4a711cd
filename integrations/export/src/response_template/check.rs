//! What a response template does wrong with the outputs of its chat template: random conversations, and outputs that are known
//! to be hard. Each finding has the output, what was written in it, and what the reader reads.

use std::fmt;

use serde_json::{Value as Json, json};
use unjinja_analyzer::{Verification, render_calls};
use unjinja_render::Template;
use unjinja_runtime::{Message, ToolCall};
use unjinja_spec::{ContentMode, FormatSpec, MarkerText, REPEATED_NAME};

use super::error::ReadError;
use super::export::{difference, ends, lost, lost_after};
use super::reading::{Reading, read};
use super::schema::ResponseTemplate;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A conversation that the chat template renders comes back as something else.
    Conversation,
    /// Text on one side of a call is lost.
    TextAroundCall,
    /// Text that only mentions the marker of a call is lost, or the reader fails.
    MentionedMarker,
    /// A closing marker in the value of an argument ends it.
    CloserInValue,
    /// White space at the ends of an argument is lost.
    WhiteSpaceOfValue,
    /// A call that is cut off takes the whole message with it.
    CutCall,
    /// A call is read as reasoning because the reasoning before it was not closed.
    CallInReasoning,
}

/// Something that a response template does wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// In a sentence.
    pub sentence: String,
    /// In how many of the random conversations; 1 for an output of another kind.
    pub count: u32,
    /// The output.
    pub output: String,
    /// What was written in the output.
    pub written: Message,
    /// What the reader reads, or why it fails.
    pub read: Result<Reading, ReadError>,
}

impl FindingKind {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.words().0
    }

    fn sentence(self) -> &'static str {
        self.words().1
    }

    /// Its name and its sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            FindingKind::Conversation => {
                ("conversation", "a conversation that the chat template renders comes back different")
            }
            FindingKind::TextAroundCall => ("text_around_call", "text before or after a call is lost"),
            FindingKind::MentionedMarker => {
                ("mentioned_marker", "text that mentions the marker of a call is not read as text")
            }
            FindingKind::CloserInValue => {
                ("closer_in_value", "a closing marker inside an argument ends the argument or the call")
            }
            FindingKind::WhiteSpaceOfValue => {
                ("white_space_of_value", "white space at the ends of an argument is lost")
            }
            FindingKind::CutCall => ("cut_call", "a call that is cut off takes the whole message with it"),
            FindingKind::CallInReasoning => {
                ("call_in_reasoning", "a call after reasoning that was not closed is read as reasoning")
            }
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Tries a response template with what its chat template renders. `spec` is the analysis of the chat template, and
/// `verification` its random conversations.
#[must_use]
pub fn check(
    response: &ResponseTemplate,
    chat: &Template,
    spec: &FormatSpec,
    verification: &Verification,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut held = false;
    let turns = verification.turns.iter().map(|turn| (lost(response, spec, turn), ""));
    let after = verification.after_results.iter().map(|after| match lost_after(response, spec, after) {
        Some((example, in_any)) => (Some(example), if in_any { "" } else { ", after the result of a call" }),
        None => (None, ""),
    });
    for (example, place) in turns.chain(after) {
        let Some(example) = example else {
            held = true;
            continue;
        };
        let when = if example.in_pieces { ", when it arrives in small pieces" } else { "" };
        let sentence = format!("{}{place}{when}: {}", FindingKind::Conversation, difference(&example));
        match findings.iter_mut().find(|finding| finding.sentence == sentence) {
            Some(known) if known.output.len() <= example.output.len() => known.count += 1,
            known => {
                let count = known.as_ref().map_or(0, |finding| finding.count) + 1;
                let finding = Finding {
                    kind: FindingKind::Conversation,
                    sentence,
                    count,
                    output: example.output,
                    written: example.expected,
                    read: example.read,
                };
                match known {
                    Some(known) => *known = finding,
                    None => findings.push(finding),
                }
            }
        }
    }
    // Where nothing is read right, a hard output shows nothing of its own.
    if held {
        findings.extend(Probes { response, chat, spec }.all());
    }
    findings
}

/// Outputs that are known to be hard.
struct Probes<'p> {
    response: &'p ResponseTemplate,
    chat: &'p Template,
    spec: &'p FormatSpec,
}

const NAME: &str = "get_weather";
const BEFORE: &str = "Let me look.";
const AFTER: &str = "That was it.";

impl Probes<'_> {
    fn all(&self) -> Vec<Finding> {
        let arguments = json!({"city": "Paris"});
        let Some(turn) = self.turn(&arguments) else { return Vec::new() };
        let marker = self.marker();
        let has_headers = !self.spec.content.header.channel.is_empty();
        // Where only the JSON announces a call, it begins there. Where messages have headers, the call is one of them.
        let begins = match marker.is_empty() {
            true => turn.find(['{', '[']),
            false => turn.find(marker).map(|at| if has_headers { 0 } else { at }),
        };
        let Some((head, call)) = begins.map(|at| turn.split_at(at)) else { return Vec::new() };
        let one = || vec![tool_call(&arguments)];
        let with_text = |content: String, calls: Vec<ToolCall>| Message::new(content, calls);
        let mut findings = Vec::new();
        let mut add = |kind, output: String, written: Message| {
            let read = self.read(&output, &arguments);
            let is_right = read.as_ref().is_ok_and(|reading| match kind {
                FindingKind::CutCall => reading.content.contains(&written.content),
                FindingKind::CallInReasoning => reading.calls.len() == 1,
                FindingKind::TextAroundCall => {
                    let mut texts = [BEFORE, AFTER].into_iter().filter(|text| written.content.contains(text));
                    reading.calls.len() == 1 && texts.all(|text| reading.content.contains(text))
                }
                _ => reading.is_same(&written),
            });
            if !is_right {
                let sentence = kind.sentence().to_owned();
                findings.push(Finding { kind, sentence, count: 1, output, written, read });
            }
        };
        let cut: String = call.chars().take(call.chars().count() * 2 / 3).collect();
        if marker.is_empty() {
            let name = call.find(NAME).map_or("", |at| &call[..at]);
            let mention = format!("{name}Bob\"}} is JSON.");
            add(FindingKind::MentionedMarker, format!("{head}{mention}"), with_text(mention.clone(), Vec::new()));
            add(FindingKind::CutCall, format!("{head}{cut}"), Message::default());
        } else {
            let before = self.answer(BEFORE, true);
            // A message with a header ends with its call.
            let (after, texts) = match has_headers {
                true => (String::new(), BEFORE.to_owned()),
                false => (self.answer(AFTER, false), format!("{BEFORE}{AFTER}")),
            };
            add(FindingKind::TextAroundCall, format!("{head}{before}{call}{after}"), with_text(texts, one()));
            let mention = format!("The text {marker} begins a call.");
            let output = format!("{head}{}", self.answer(&mention, false));
            add(FindingKind::MentionedMarker, output, with_text(mention, Vec::new()));
            add(FindingKind::CutCall, format!("{head}{before}{cut}"), with_text(BEFORE.to_owned(), Vec::new()));
        }
        let reasoning = &self.spec.reasoning;
        let ended_by_call = reasoning.ended_by_call || reasoning.end.trim().is_empty();
        if ended_by_call && !reasoning.start.trim().is_empty() && !has_headers {
            let output = format!("{}I must look it up.{call}", reasoning.start);
            let mut written = with_text(String::new(), one());
            written.reasoning_content = "I must look it up.".to_owned();
            add(FindingKind::CallInReasoning, output, written);
        }
        findings.extend(self.values());
        findings
    }

    /// A text as the format writes an answer: before a call, or at the end of a turn.
    fn answer(&self, text: &str, before_call: bool) -> String {
        let content = &self.spec.content;
        let header = &content.header;
        match (header.answers.last().filter(|_| !header.channel.is_empty()), content.mode) {
            (Some(channel), _) => {
                let message = format!("{}{channel}{}{text}", header.channel, header.end);
                if before_call { format!("{message}{}{}", header.message_end, header.start) } else { message }
            }
            (None, ContentMode::WrappedWithCalls) if before_call => format!("{}{text}{}", content.start, content.end),
            (None, ContentMode::AlwaysWrapped) => format!("{}{text}{}", content.start, content.end),
            (None, _) => text.to_owned(),
        }
    }

    /// Arguments that are hard to read back.
    fn values(&self) -> Vec<Finding> {
        let tools = &self.spec.tools;
        let closers = [&tools.arguments.value_suffix, &tools.function.close, &tools.per_call_end, &tools.section_end];
        let closers = closers.into_iter().map(|text| MarkerText::new(text).core).filter(|core| !core.is_empty());
        let closers = closers.map(|core| core.replace(REPEATED_NAME, NAME));
        let hard = closers.map(|closer| (FindingKind::CloserInValue, json!({"text": format!("print({closer:?})")})));
        let code = json!({"code": "    indented\n\n"});
        let mut findings: Vec<Finding> = Vec::new();
        for (kind, arguments) in hard.chain([(FindingKind::WhiteSpaceOfValue, code)]) {
            let Some(output) = self.turn(&arguments) else { continue };
            let written = Message::new("", vec![tool_call(&arguments)]);
            let read = self.read(&output, &arguments);
            let is_right = read.as_ref().is_ok_and(|reading| reading.is_same(&written));
            if !is_right && !findings.iter().any(|finding| finding.kind == kind) {
                let sentence = kind.sentence().to_owned();
                findings.push(Finding { kind, sentence, count: 1, output, written, read });
            }
        }
        findings
    }

    /// The turn of one call, without the marker of its end.
    fn turn(&self, arguments: &Json) -> Option<String> {
        let turn = render_calls(self.chat, self.spec, &[(NAME, &arguments.to_string())])?;
        let trimmed = turn.trim_end();
        let without = ends(self.spec).iter().find_map(|end| trimmed.strip_suffix(end.as_str())).map(str::to_owned);
        Some(without.unwrap_or(turn))
    }

    /// The marker that announces a call; empty if only its JSON does.
    fn marker(&self) -> &str {
        let tools = &self.spec.tools;
        let start = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
        start.into_iter().map(|text| MarkerText::new(text).core).find(|core| !core.is_empty()).unwrap_or_default()
    }

    fn read(&self, output: &str, arguments: &Json) -> Result<Reading, ReadError> {
        let properties = arguments.as_object().into_iter().flatten();
        let properties: serde_json::Map<String, Json> =
            properties.map(|(name, _)| (name.clone(), json!({"type": "string"}))).collect();
        let tools = [json!({"type": "function", "function": {
            "name": NAME, "parameters": {"type": "object", "properties": properties},
        }})];
        let prompt = format!("A question.{}", self.spec.turn.assistant_start);
        read(self.response, &prompt, output, &tools)
    }
}

fn tool_call(arguments: &Json) -> ToolCall {
    ToolCall::new(NAME, arguments.to_string())
}

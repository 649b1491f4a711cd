//! What a conversation hands over and its prompt lacks: labels say which field wrote each byte. Nothing here searches a text for a
//! text, since other parts of a prompt may say the same.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use unjinja_render::{Encoding, Field, FieldPart, Origin};
use unjinja_spec::{FormatSpec, REASONING_FIELDS, big_integer};

use crate::prompt::LabelledPrompt;

/// What a prompt may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingKind {
    /// A tool that is offered.
    Tool,
    /// A call, or an argument of it.
    Call,
    /// The result of a call.
    Result,
    /// The content of a message, or a part of it.
    Content,
    /// Reasoning after the last message of the user, unless the template leaves it out on purpose, as earlier reasoning.
    Reasoning,
}

/// A part of a conversation that is not in its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// What it is.
    pub kind: MissingKind,
    /// The name of the tool or of the called function, the id of the call that has the result, or the role of the message.
    pub name: String,
    /// Its path in [`LabelledPrompt::context`].
    pub path: String,
}

impl fmt::Display for Missing {
    /// `call:rain`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            MissingKind::Tool => "tool",
            MissingKind::Call => "call",
            MissingKind::Result => "result",
            MissingKind::Content => "content",
            MissingKind::Reasoning => "reasoning",
        };
        write!(f, "{kind}:{}", self.name)
    }
}

/// What the prompt lacks, in the order of the conversation; tools come first.
pub(crate) fn missing(prompt: &LabelledPrompt, spec: &FormatSpec) -> Vec<Missing> {
    // Text of a field without a label looks like text of the template.
    if !prompt.labels.is_complete() {
        return Vec::new();
    }
    let mut written = Written { fields: BTreeMap::new(), spec, missing: Vec::new() };
    for span in prompt.labels.spans() {
        if let Origin::Field(field) = &span.origin {
            written.fields.entry(&field.path).or_default().push((field, &prompt.text[span.range.clone()]));
        }
    }
    let list = |name: &str| prompt.context.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (at, tool) in list("tools").iter().enumerate() {
        written.tool(at, tool);
    }
    let messages = list("messages");
    let asked = messages.iter().rposition(|message| message["role"] == "user");
    for (at, message) in messages.iter().enumerate() {
        let is_dropped = spec.messages.drops_reasoning && at + 1 < messages.len();
        written.message(&format!("messages[{at}]"), message, asked.is_none_or(|asked| at > asked) && !is_dropped);
    }
    written.missing
}

/// The fields that a prompt shows.
struct Written<'p> {
    fields: BTreeMap<&'p str, Vec<(&'p Field, &'p str)>>,
    spec: &'p FormatSpec,
    missing: Vec<Missing>,
}

impl Written<'_> {
    fn lacks(&mut self, kind: MissingKind, name: &str, path: &str) {
        self.missing.push(Missing { kind, name: name.to_owned(), path: path.to_owned() });
    }

    fn tool(&mut self, at: usize, tool: &Value) {
        let path = format!("tools[{at}]");
        let name = tool.pointer("/function/name").or(tool.get("name")).and_then(Value::as_str).unwrap_or_default();
        // Templates read one of these forms.
        let places = [
            format!("{path}.function.name"),
            format!("{path}.name"),
            format!("functions[{at}].name"),
            "functions".to_owned(),
        ];
        if !name.is_empty() && !places.iter().any(|place| self.fields.contains_key(place.as_str())) {
            self.lacks(MissingKind::Tool, name, &path);
        }
    }

    fn message(&mut self, path: &str, message: &Value, thinks: bool) {
        let role = message["role"].as_str().unwrap_or_default();
        let field = self.spec.reasoning.field.as_str();
        // What the template reads counts first; servers send the same reasoning in several fields.
        let said = |field| Some((field, message.get(field)?.as_str().filter(|text| !text.is_empty())?));
        let reasoning = std::iter::once(field).chain(REASONING_FIELDS).find_map(said);
        if let Some((field, text)) = reasoning.filter(|_| thinks && role == "assistant") {
            let place = format!("{path}.{field}");
            if !self.shows(&place, text) {
                self.lacks(MissingKind::Reasoning, role, &place);
            }
        }
        let content = &message["content"];
        let place = format!("{path}.content");
        let mut texts: Vec<(String, &str)> = content.as_str().map(|text| (place.clone(), text)).into_iter().collect();
        for (at, part) in content.as_array().into_iter().flatten().enumerate() {
            texts.extend(part["text"].as_str().map(|text| (format!("{place}[{at}].text"), text)));
        }
        if thinks && texts.iter().any(|(place, text)| !self.shows(place, self.split(role, text).0)) {
            self.lacks(MissingKind::Reasoning, role, &place);
        }
        if texts.iter().any(|(place, text)| !self.shows(place, self.split(role, text).1)) {
            let id = ["tool_call_id", "name"].into_iter().find_map(|key| message[key].as_str());
            match role {
                "tool" => self.lacks(MissingKind::Result, id.unwrap_or("tool"), path),
                _ => self.lacks(MissingKind::Content, role, path),
            }
        }
        for (at, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let (path, function) = (format!("{path}.tool_calls[{at}]"), call.get("function").unwrap_or(call));
            let name = function["name"].as_str().unwrap_or_default();
            let below = if call.get("function").is_some() { format!("{path}.function") } else { path.clone() };
            let is_named = self.fields.contains_key(format!("{below}.name").as_str())
                || (self.fields.contains_key(format!("{path}.id").as_str())
                    && call["id"].as_str().is_some_and(|id| id.contains(name)));
            if !is_named || !self.shows_all(&format!("{below}.arguments"), &function["arguments"]) {
                self.lacks(MissingKind::Call, name, &path);
            }
        }
    }

    /// The reasoning of a content, and the rest of it.
    fn split<'t>(&self, role: &str, text: &'t str) -> (&'t str, &'t str) {
        let [start, end] = [&self.spec.reasoning.start, &self.spec.reasoning.end].map(|tag| tag.trim());
        let is_marked = role == "assistant" && !end.is_empty();
        let (thought, rest) = text.rsplit_once(end).filter(|_| is_marked).unwrap_or(("", text));
        let thought = thought.trim_start();
        (thought.strip_prefix(start).unwrap_or(thought), rest)
    }

    /// Whether a text is there; of a text that was encoded, whether anything of it is.
    fn shows(&self, path: &str, text: &str) -> bool {
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let wanted = visible(text);
        if wanted.is_empty() {
            return true;
        }
        let Some(parts) = self.fields.get(path) else { return false };
        let is_cut = |encoding: &Encoding| matches!(encoding, Encoding::Trim | Encoding::Slice);
        let is_plain = parts.iter().all(|(field, _)| field.encodings.iter().all(is_cut));
        let values = parts.iter().filter(|(field, _)| field.part == FieldPart::Value);
        !is_plain || values.map(|(_, text)| visible(text)).collect::<String>().contains(&wanted)
    }

    /// Whether all entries of arguments are there. An entry is there if its name is: some templates write the word of a value.
    fn shows_all(&self, path: &str, value: &Value) -> bool {
        match value {
            Value::Object(entries) if big_integer(entries).is_some() => self.fields.contains_key(path),
            Value::Object(entries) => entries.iter().all(|(name, value)| {
                let path = format!("{path}.{name}");
                match value {
                    Value::Object(_) | Value::Array(_) => self.shows_all(&path, value),
                    Value::String(text) if !text.trim().is_empty() => self.shows(&path, text),
                    _ => self.fields.contains_key(path.as_str()),
                }
            }),
            Value::Array(items) => items.iter().enumerate().all(|(at, item)| {
                let path = format!("{path}[{at}]");
                !matches!(item, Value::Object(_) | Value::Array(_) | Value::String(_)) || self.shows_all(&path, item)
            }),
            // A template may read the text, and write its entries: no entry has no byte.
            Value::String(text) => text.trim_matches(['{', '}']).trim().is_empty() || self.shows(path, text),
            _ => true,
        }
    }
}

//! The message that transformers gives its user of an output.

use serde::Serialize;
use serde_json::{Value as Json, json};
use unjinja_runtime::Message;

use super::error::ReadError;
use super::executor::Executor;
use super::schema::ResponseTemplate;
use super::value::Value;

/// The field that reasoning is written to.
pub(crate) const REASONING: &str = "reasoning_content";

/// The message that is read from an output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// The reasoning; empty without reasoning.
    #[serde(rename = "reasoning_content")]
    pub reasoning: String,
    /// The answer; empty without an answer.
    pub content: String,
    /// The calls.
    #[serde(rename = "tool_calls")]
    pub calls: Vec<ReadCall>,
}

impl Reading {
    /// The message as JSON: `reasoning_content`, `content`, and `tool_calls` with `name` and `arguments` each.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!(self)
    }

    /// Whether this is the message that was written, white space at the ends of texts aside.
    #[must_use]
    pub fn is_same(&self, written: &Message) -> bool {
        let value = |text: &str| serde_json::from_str::<Json>(text).ok();
        self.content.trim() == written.content.trim()
            && self.reasoning.trim() == written.reasoning_content.trim()
            && self.calls.len() == written.tool_calls.len()
            && self.calls.iter().zip(&written.tool_calls).all(|(read, written)| {
                let arguments = value(&read.arguments);
                read.name == written.name && arguments.is_some() && arguments == value(&written.arguments)
            })
    }
}

impl From<&Message> for Reading {
    /// The message that was written, without what readers do not give.
    fn from(message: &Message) -> Self {
        let calls = message.tool_calls.iter();
        Self {
            reasoning: message.reasoning_content.clone(),
            content: message.content.clone(),
            calls: calls.map(|call| ReadCall { name: call.name.clone(), arguments: call.arguments.clone() }).collect(),
        }
    }
}

/// A call that a reader found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadCall {
    /// The function's name.
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// Reads a whole output. The prompt says where the output begins; without one, it is the whole turn. The tools are in OpenAI's
/// form.
///
/// ```
/// use unjinja_export::response_template::{ResponseTemplate, read};
///
/// let template = ResponseTemplate::from_json(&serde_json::json!({
///     "start_anchor": "<assistant>",
///     "fields": {
///         "content": {"close": "<end>"},
///         "tool_calls": {
///             "open": "<call>", "close": "</call>", "repeats": true, "content": "json", "transform": {"function": "{content}"}
///         }
///     }
/// }))?;
/// let output = r#"One moment.<call>{"name": "f", "arguments": {"a": 1}}</call>Done.<end>"#;
/// let reading = read(&template, "", output, &[])?;
/// // The second region replaces the first one, because the field does not repeat.
/// assert_eq!((reading.content.as_str(), reading.calls[0].arguments.as_str()), ("Done.", "{\"a\": 1}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A region cannot be read. A pattern runs away.
pub fn read(template: &ResponseTemplate, prompt: &str, output: &str, tools: &[Json]) -> Result<Reading, ReadError> {
    read_pieces(template, prompt, &[output], tools)
}

/// Reads an output that arrives in pieces, as a server streams it. A template whose markers overlap may give another message
/// than [`read`] does: a reader takes a marker as soon as it is certain that it is one.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_pieces(
    template: &ResponseTemplate,
    prompt: &str,
    pieces: &[&str],
    tools: &[Json],
) -> Result<Reading, ReadError> {
    let mut executor = Executor::new(template, prompt, tools)?;
    for piece in pieces {
        executor.feed(piece)?;
    }
    let (fields, _) = executor.finish()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_text).map(str::to_owned);
    let calls = match fields.get("tool_calls") {
        Some(Value::List(items)) => items.iter().filter_map(call).collect(),
        _ => Vec::new(),
    };
    Ok(Reading {
        reasoning: [REASONING, "thinking", "reasoning"].into_iter().find_map(text).unwrap_or_default(),
        content: text("content").unwrap_or_default(),
        calls,
    })
}

/// The call of a value; `None` if a member is missing.
fn call(value: &Value) -> Option<ReadCall> {
    let function = value.get("function")?;
    let name = function.get("name")?.as_text()?.to_owned();
    let arguments = match function.get("arguments")? {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    Some(ReadCall { name, arguments })
}

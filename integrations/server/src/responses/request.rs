//! Reads a request to responses.

use serde_json::{Map, Value, json};

use super::changes::updated;
use super::custom::{CalledTools, offered};
use super::input::conversation;
use crate::error::ApiError;
use crate::media::Unread;
use crate::openai::{function_name, is_strict, json_format, tool_word};
use crate::prepare::Prepared;
use crate::request::{Request, ResponseFormat, Sampling, ToolChoice, continues, read_from_json};
use crate::request_value::RequestValue;
use unjinja_spec::FormatSpec;

/// A request to responses.
///
/// - Custom tools and the functions of namespaces are offered to the model as functions; [`called`](Self::called) says which they are.
///   Tools that OpenAI runs (`web_search`, `file_search`, …) are not offered, and items that say what they did are left out;
///   [`Request::ignored_tools`] has their types, and those of items that are not known.
/// - Calls of the shells, patches and computers that the API has built in, and of tools of MCP servers, are read as calls of functions,
///   with their results. Tools that items of the conversation add are offered too.
/// - A sentence replaces images, files and encrypted summaries; [`Request::replaced`] names their places.
/// - `previous_response_id` and items of the type `item_reference` need a memory, which the proxy has. Here they are refused by name,
///   and so are `conversation`, `prompt`, `background` and `truncation: "auto"`.
/// - `top_logprobs`, and `include` with `message.output_text.logprobs`, are in [`Sampling`], for the server that runs the model.
/// - `metadata`, `user`, `prompt_cache_key` and other fields that concern OpenAI's service are in [`Request::left_out`].
///
/// ```
/// use unjinja_server::responses::ResponsesRequest;
/// use unjinja_spec::FormatSpec;
///
/// let request = ResponsesRequest::from_json(br#"{
///     "model": "m", "instructions": "Be brief.", "input": "Hi", "max_output_tokens": 10
/// }"#)?;
/// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
/// # let spec = FormatSpec::from_toml(&toml, "a.toml")?;
/// let prepared = request.prepare(&spec)?;
/// assert_eq!(prepared.context["messages"][1]["content"], "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResponsesRequest {
    /// What the client asks for.
    pub request: Request,
    /// The tools that are no plain functions.
    pub called: CalledTools,
    /// Fields of the request that the response repeats.
    pub repeated: Map<String, Value>,
    /// The client wants a summary of the reasoning. There is none, so it gets the reasoning itself in its place.
    pub reasoning_as_summary: bool,
    /// The client wants `encrypted_content`, to send the reasoning back with the next request.
    pub carries_reasoning: bool,
}

/// Fields that are read below. `max_tool_calls` limits the calls of tools that OpenAI runs, of which there are none here.
const READ: &str = "background chat_template_kwargs continue_final_message conversation include input instructions max_output_tokens model \
    parallel_tool_calls previous_response_id prompt reasoning stop stream stream_options text tool_choice tools \
    top_logprobs truncation max_tool_calls store";

/// Fields that a response repeats, with what it says if the request has none.
const REPEATED: [(&str, &str); 16] = [
    ("background", "false"),
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("previous_response_id", "null"),
    ("prompt_cache_key", "null"),
    ("reasoning", "{\"effort\": null, \"summary\": null}"),
    ("temperature", "null"),
    ("text", "{\"format\": {\"type\": \"text\"}}"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_logprobs", "0"),
    ("top_p", "null"),
    ("truncation", "\"disabled\""),
];

impl ResponsesRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(value: &Value) -> Result<Self, ApiError> {
        let root = RequestValue::root(value);
        let fields = root.object()?;
        let begun = Request::begin(&root, READ)?;
        refuse(&root)?;
        let mut unread = Unread::default();
        let offered = offered(&root, &mut unread)?;
        let messages = conversation(&root, &mut unread)?;
        let reasoning = root.get("reasoning");
        let effort = updated(&root, "reasoning");
        let of_reasoning = |key: &str| reasoning.as_ref().map_or(Ok(None), |place| place.get_text(key));
        let wanted = root.get_list("include")?;
        let includes = |what: &str| wanted.iter().any(|place| place.value == what);
        let top = crate::openai::top_logprobs(&root)?.unwrap_or(0);
        let logprobs = (top > 0 || includes("message.output_text.logprobs")).then_some(top);
        let request = Request {
            continues: continues(&root, &messages)?,
            messages,
            tool_choice: tool_choice(&root)?,
            tools: offered.tools,
            parallel_tool_calls: root.get_bool("parallel_tool_calls")?,
            strict_tools: offered.strict,
            response_format: response_format(&root)?,
            strict_format: updated(&root, "text").and_then(|text| text.get("format")).map_or(Ok(false), is_strict)?,
            reasoning_effort: effort.map_or(Ok(None), |place| place.get_text("effort"))?.map(str::to_owned),
            sampling: Sampling {
                max_tokens: root.get_count("max_output_tokens", 1)?,
                logprobs,
                stop: crate::openai::stop(&root)?,
                ..begun.sampling
            },
            replaced: unread.replaced,
            ignored_tools: unread.left_out,
            ..begun
        };
        let repeated = REPEATED.into_iter().map(|(key, absent)| {
            let given = fields.get(key).filter(|value| !value.is_null()).cloned();
            (key.to_owned(), given.unwrap_or_else(|| serde_json::from_str(absent).unwrap_or_default()))
        });
        Ok(Self {
            request,
            called: offered.called,
            repeated: repeated.collect(),
            reasoning_as_summary: of_reasoning("summary")?.or(of_reasoning("generate_summary")?).is_some(),
            carries_reasoning: includes("reasoning.encrypted_content"),
        })
    }

    /// What rendering, parsing and sampling need for this request.
    ///
    /// # Errors
    /// As [`Request::prepare`].
    pub fn prepare(&self, spec: &FormatSpec) -> Result<Prepared, ApiError> {
        self.request.prepare(spec)
    }
}

read_from_json!(ResponsesRequest);

/// Refuses what is not supported.
fn refuse(root: &RequestValue<'_>) -> Result<(), ApiError> {
    for (key, what, next) in [
        ("previous_response_id", "a response that is not kept here is", "send the whole conversation in `input`"),
        ("conversation", "conversations that the server keeps are", "send the whole conversation in `input`"),
        ("prompt", "prompts that the server keeps are", "send `instructions` and `input`"),
        ("context_management", "a conversation that the server shortens is", "leave it out, and shorten it yourself"),
    ] {
        if let Some(place) = root.get(key) {
            return Err(place.unsupported(what, next));
        }
    }
    if let Some(place) = root.get("background").filter(|place| place.value == &json!(true)) {
        return Err(place.unsupported("a response that is made later is", "leave it out"));
    }
    if let Some(place) = root.get("truncation").filter(|place| place.value != "disabled") {
        return Err(place.unsupported("a conversation that the server shortens is", "leave it out"));
    }
    Ok(())
}

fn tool_choice(root: &RequestValue<'_>) -> Result<ToolChoice, ApiError> {
    let Some(place) = root.get("tool_choice") else { return Ok(ToolChoice::Auto) };
    if let Some(word) = tool_word(&place) {
        return word;
    }
    place.object()?;
    let kind = place.need("type", "\"function\", \"custom\" or \"allowed_tools\"")?;
    match kind.text()? {
        "function" | "custom" => Ok(ToolChoice::Named(function_name(&place)?)),
        "allowed_tools" => crate::openai::allowed_tools(&place),
        _ => Err(kind.unsupported("a tool that OpenAI runs is", "choose a function")),
    }
}

/// `text.format`.
fn response_format(root: &RequestValue<'_>) -> Result<ResponseFormat, ApiError> {
    let Some(text) = updated(root, "text") else { return Ok(ResponseFormat::Text) };
    text.object()?;
    let Some(place) = text.get("format") else { return Ok(ResponseFormat::Text) };
    // The schema is next to the type here.
    json_format(&place, &place)
}

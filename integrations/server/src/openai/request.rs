//! Reads a request to chat completions.

use serde_json::{Value, json};

use super::message::{Called, message};
use crate::error::ApiError;
use crate::media::Unread;
use crate::prepare::Prepared;
use crate::request::{Request, ResponseFormat, Sampling, ToolChoice, continues, read_from_json, stop_texts};
use crate::request_value::RequestValue;
use crate::responses::CalledTools;
use crate::responses::custom::offered;
use unjinja_spec::FormatSpec;

/// A request to chat completions.
///
/// - A sentence replaces images, recordings, files and videos; [`Request::replaced`] names their places.
/// - Custom tools are offered to the model as functions; [`custom_tools`](Self::custom_tools) says which they are. Tools and parts of
///   other types are left out; [`Request::ignored_tools`] has their types.
/// - `n` and `logprobs` are in [`Sampling`], for the server that runs the model.
/// - `audio`, `web_search_options` and the legacy `functions` and `function_call` are
///   refused by name.
/// - `store`, `metadata`, `user`, `service_tier` and other fields that concern OpenAI's service are in [`Request::left_out`].
/// - All other fields that are not described here are settings of the sampler, such as `top_k`. They are passed on in
///   [`Sampling::settings`].
///
/// ```
/// use unjinja_spec::FormatSpec;
/// use unjinja_server::openai::ChatRequest;
///
/// let request = ChatRequest::from_json(br#"{
///     "model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5, "max_tokens": 10
/// }"#)?;
/// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
/// # let spec = FormatSpec::from_toml(&toml, "a.toml")?;
/// let prepared = request.prepare(&spec)?;
/// assert_eq!(prepared.context["messages"][0]["content"], "Hi");
/// assert_eq!(prepared.sampling.max_tokens, Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// What the client asks for.
    pub request: Request,
    /// `stream_options.include_usage`: the stream ends with the usage.
    pub include_usage: bool,
    /// The custom tools, which the model sees as functions: hand them to the writer of the response.
    pub custom_tools: CalledTools,
}

/// The most answers to a request.
const CHOICES_AT_MOST: usize = 16;

/// The maximum of `top_logprobs`, as OpenAI has it.
const TOP_AT_MOST: u64 = 20;

/// Fields that are read below.
const READ: &str = "chat_template_kwargs continue_final_message add_generation_prompt logprobs top_logprobs \
    max_completion_tokens max_tokens messages model n parallel_tool_calls reasoning_effort reasoning \
    response_format stop stream stream_options tool_choice tools modalities";

impl ChatRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(value: &Value) -> Result<Self, ApiError> {
        let root = RequestValue::root(value);
        let begun = Request::begin(&root, READ)?;
        refuse(&root)?;
        let (choices, logprobs) = (choices(&root)?, logprobs(&root)?);
        let (mut messages, mut called, mut unread) = (Vec::new(), Called::new(), Unread::default());
        let offered = offered(&root, &mut unread)?;
        for place in root.need("messages", "the conversation")?.list()? {
            messages.push(message(&place, &mut called, &mut unread)?);
        }
        if messages.is_empty() {
            return Err(ApiError::invalid("messages", "the list is empty", "send at least one message"));
        }
        let continues = continues(&root, &messages)?;
        if let (Some(place), None) =
            (root.get("add_generation_prompt").filter(|place| place.value == &json!(false)), continues)
        {
            return Err(place.unsupported("a prompt that opens no turn is", "leave it out"));
        }
        let max = root.get_count("max_completion_tokens", 1)?.or(root.get_count("max_tokens", 1)?);
        let request = Request {
            messages,
            tools: offered.tools,
            tool_choice: tool_choice(&root)?,
            parallel_tool_calls: root.get_bool("parallel_tool_calls")?,
            strict_tools: offered.strict,
            response_format: response_format(&root)?,
            strict_format: root
                .get("response_format")
                .and_then(|place| place.get("json_schema"))
                .map_or(Ok(false), is_strict)?,
            reasoning_effort: reasoning_effort(&root)?,
            sampling: Sampling { choices, logprobs, max_tokens: max, stop: stop(&root)?, ..begun.sampling },
            continues,
            replaced: unread.replaced,
            ignored_tools: unread.left_out,
            ..begun
        };
        let stream_options = root.get("stream_options");
        let include_usage = stream_options.map_or(Ok(None), |place| place.get_bool("include_usage"))?.unwrap_or(false);
        Ok(Self { request, include_usage, custom_tools: offered.called })
    }

    /// What rendering, parsing and sampling need for this request.
    ///
    /// # Errors
    /// As [`Request::prepare`].
    pub fn prepare(&self, spec: &FormatSpec) -> Result<Prepared, ApiError> {
        self.request.prepare(spec)
    }
}

read_from_json!(ChatRequest);

/// Refuses what is not supported.
fn refuse(root: &RequestValue<'_>) -> Result<(), ApiError> {
    for (key, next) in [("functions", "send `tools`"), ("function_call", "send `tool_choice`")] {
        if let Some(place) = root.get(key) {
            return Err(place.unsupported("the legacy form is", next));
        }
    }
    for (key, what) in [("audio", "audio is"), ("web_search_options", "web search is"), ("best_of", "this is")] {
        if let Some(place) = root.get(key) {
            return Err(place.unsupported(what, "leave it out"));
        }
    }
    for place in root.get_list("modalities")? {
        if place.value != "text" {
            return Err(place.unsupported("other output than text is", "leave it out"));
        }
    }
    Ok(())
}

/// `n`: how many answers the client wants.
fn choices(root: &RequestValue<'_>) -> Result<usize, ApiError> {
    let count = root.get_count("n", 1)?.unwrap_or(1);
    usize::try_from(count).ok().filter(|count| *count <= CHOICES_AT_MOST).ok_or_else(|| {
        let cause = format!("{count} answers are more than the {CHOICES_AT_MOST} that are possible");
        ApiError::invalid("n", cause, "send several requests")
    })
}

/// `logprobs` and `top_logprobs`: how many likely alternatives to each token are wanted with their probability, if any.
fn logprobs(root: &RequestValue<'_>) -> Result<Option<u64>, ApiError> {
    match (root.get_bool("logprobs")?.unwrap_or(false), top_logprobs(root)?) {
        (false, Some(1..)) => {
            Err(ApiError::invalid("top_logprobs", "this needs `logprobs`", "send `\"logprobs\": true` too"))
        }
        (wanted, top) => Ok(wanted.then_some(top.unwrap_or(0))),
    }
}

/// `top_logprobs`, if there are not too many.
pub(crate) fn top_logprobs(root: &RequestValue<'_>) -> Result<Option<u64>, ApiError> {
    match root.get_count("top_logprobs", 0)? {
        Some(top) if top > TOP_AT_MOST => {
            let cause = format!("{top} is more than the {TOP_AT_MOST} that are possible");
            Err(ApiError::invalid("top_logprobs", cause, "send a smaller number"))
        }
        top => Ok(top),
    }
}

/// How a choice of tools is written.
const CHOICES: &str = "none, auto, required, {\"type\": \"function\", …}, {\"type\": \"allowed_tools\", …}";

/// A choice that is a word; `None` if it is not a word.
pub(crate) fn tool_word(place: &RequestValue<'_>) -> Option<Result<ToolChoice, ApiError>> {
    Some(match place.value.as_str()? {
        "none" => Ok(ToolChoice::None),
        "auto" => Ok(ToolChoice::Auto),
        "required" | "any" => Ok(ToolChoice::Required),
        _ => Err(place.unknown(CHOICES)),
    })
}

fn tool_choice(root: &RequestValue<'_>) -> Result<ToolChoice, ApiError> {
    let Some(place) = root.get("tool_choice") else { return Ok(ToolChoice::Auto) };
    if let Some(word) = tool_word(&place) {
        return word;
    }
    place.object()?;
    let kind = place.need("type", "\"function\" or \"allowed_tools\"")?;
    match kind.text()? {
        "function" | "custom" => Ok(ToolChoice::Named(function_name(&place)?)),
        "allowed_tools" => allowed_tools(&place),
        _ => Err(kind.unknown(CHOICES)),
    }
}

/// A choice of some of the tools.
pub(crate) fn allowed_tools(place: &RequestValue<'_>) -> Result<ToolChoice, ApiError> {
    // The fields may be next to the type too, as in the Responses API.
    let inner = place.get("allowed_tools").unwrap_or_else(|| place.clone());
    let required = match inner.get("mode") {
        None => false,
        Some(mode) => match mode.text()? {
            "auto" => false,
            "required" => true,
            _ => return Err(mode.unknown("auto, required")),
        },
    };
    let tools = inner.need("tools", "the list of allowed tools")?.list()?;
    if tools.is_empty() {
        return Err(ApiError::invalid(&inner.path_of("tools"), "the list is empty", "name a tool, or use \"none\""));
    }
    let names = tools.iter().map(function_name).collect::<Result<_, _>>()?;
    Ok(ToolChoice::Allowed { names, required })
}

/// The name in `{"type": "function", "function": {"name": …}}`, or next to the type.
pub(crate) fn function_name(place: &RequestValue<'_>) -> Result<String, ApiError> {
    let holder = place.get("function").or_else(|| place.get("custom")).unwrap_or_else(|| place.clone());
    Ok(holder.need("name", "the function's name")?.text()?.to_owned())
}

fn response_format(root: &RequestValue<'_>) -> Result<ResponseFormat, ApiError> {
    let Some(place) = root.get("response_format") else { return Ok(ResponseFormat::Text) };
    place.object()?;
    let named = match place.value.get("type") {
        Some(kind) if kind == "json_schema" => place.need("json_schema", "{\"name\": …, \"schema\": …}")?,
        _ => place.clone(),
    };
    json_format(&place, &named)
}

/// Whether a schema has to be followed in all parts.
pub(crate) fn is_strict(schema: RequestValue<'_>) -> Result<bool, ApiError> {
    Ok(schema.get_bool("strict")?.unwrap_or(false))
}

/// What the answer must be: `place` has the type, and `named` the schema.
pub(crate) fn json_format(place: &RequestValue<'_>, named: &RequestValue<'_>) -> Result<ResponseFormat, ApiError> {
    place.object()?;
    let kind = place.need("type", "\"text\", \"json_object\" or \"json_schema\"")?;
    let of_schema = |schema: RequestValue<'_>| Ok(ResponseFormat::JsonSchema(Value::Object(schema.object()?.clone())));
    match kind.text()? {
        "text" => Ok(ResponseFormat::Text),
        // Some servers take a schema here.
        "json_object" => place.get("schema").map_or(Ok(ResponseFormat::JsonObject), of_schema),
        "json_schema" => {
            named.object()?;
            named.get("schema").map_or(Ok(ResponseFormat::JsonObject), of_schema)
        }
        _ => Err(kind.unknown("text, json_object, json_schema")),
    }
}

/// `reasoning_effort`, or `reasoning.effort` as some clients send it.
fn reasoning_effort(root: &RequestValue<'_>) -> Result<Option<String>, ApiError> {
    let own = root.get_text("reasoning_effort")?;
    let nested = root.get("reasoning").map_or(Ok(None), |place| place.get_text("effort"))?;
    Ok(own.or(nested).map(str::to_owned))
}

/// `stop`: a text or a list of texts.
pub(crate) fn stop(root: &RequestValue<'_>) -> Result<Vec<String>, ApiError> {
    let Some(place) = root.get("stop") else { return Ok(Vec::new()) };
    match place.value {
        Value::String(_) => stop_texts(&[place]),
        Value::Array(_) => stop_texts(&place.list()?),
        _ => Err(place.expected("a string or a list of strings")),
    }
}

//! Reads a request to messages.

use serde_json::Value;
use unjinja_runtime::Tools;

use super::block::{messages, text};
use crate::error::ApiError;
use crate::media::Replaced;
use crate::prepare::Prepared;
use crate::request::{
    ChatMessage, Request, ResponseFormat, Role, Sampling, ToolChoice, one_choice, read_from_json, read_tools,
    stop_texts, strict_tools,
};
use crate::request_value::RequestValue;
use unjinja_spec::FormatSpec;

/// A request to messages.
///
/// - A sentence replaces images, and documents that are no text; [`Request::replaced`] names their places.
/// - Tools that Anthropic runs (`web_search_…`), `mcp_servers` and `container` are refused by name. So is `n` above 1, which some
///   clients send.
/// - A last message of the assistant is the beginning of the answer, which the model continues.
/// - `metadata`, `service_tier`, `cache_control` and `context_management` are ignored.
/// - `thinking.budget_tokens` is passed on as `thinking_token_budget`, as vLLM calls it.
/// - `temperature`, `top_p`, `top_k` and fields that are not known are passed on in [`Sampling::settings`].
/// - Without `thinking`, the template decides.
///
/// ```
/// use unjinja_spec::FormatSpec;
/// use unjinja_server::anthropic::MessagesRequest;
///
/// let request = MessagesRequest::from_json(br#"{
///     "model": "m", "max_tokens": 10, "system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]
/// }"#)?;
/// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
/// # let spec = FormatSpec::from_toml(&toml, "a.toml")?;
/// let prepared = request.prepare(&spec)?;
/// assert_eq!(prepared.context["messages"][0]["content"], "Be brief.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MessagesRequest {
    /// What the client asks for.
    pub request: Request,
}

/// Fields that concern Anthropic's service and no model.
const IGNORED: &str = "cache_control context_management inference_geo metadata service_tier speed";

/// Fields that are read below.
const READ: &str = "chat_template_kwargs max_tokens messages model n output_config output_format stop_sequences stream system \
    thinking tool_choice tools";

impl MessagesRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(value: &Value) -> Result<Self, ApiError> {
        let root = RequestValue::root(value);
        let mut begun = Request::begin(&root, READ, IGNORED)?;
        for (key, what) in [("mcp_servers", "MCP servers are"), ("container", "containers are")] {
            if let Some(place) =
                root.get(key).filter(|place| place.value.as_array().is_none_or(|list| !list.is_empty()))
            {
                return Err(place.unsupported(what, "leave it out"));
            }
        }
        one_choice(&root)?;
        let max_tokens = root.get_count("max_tokens", 1)?;
        if max_tokens.is_none() {
            return Err(ApiError::invalid("max_tokens", "this is missing", "give the most tokens to write"));
        }
        let (tool_choice, parallel_tool_calls) = tool_choice(&root)?;
        let effort = root.get("output_config").map_or(Ok(None), |place| place.get_text("effort"))?;
        let mut replaced = Vec::new();
        let messages = conversation(&root, &mut replaced)?;
        let budget = root.get("thinking").map_or(Ok(None), |place| place.get_count("budget_tokens", 0))?;
        if let Some(budget) = budget {
            // vLLM's name for it.
            begun.sampling.settings.entry("thinking_token_budget").or_insert(budget.into());
        }
        let request = Request {
            continues: messages.last().and_then(ChatMessage::continued),
            messages,
            tools: tools(&root)?,
            tool_choice,
            parallel_tool_calls,
            strict_tools: strict_tools(&root)?,
            response_format: response_format(&root)?,
            // Anthropic's structured outputs follow their schema in any case.
            strict_format: true,
            thinking: thinking(&root)?,
            reasoning_effort: effort.map(str::to_owned),
            sampling: Sampling { max_tokens, stop: stop_texts(&root.get_list("stop_sequences")?)?, ..begun.sampling },
            replaced,
            ..begun
        };
        Ok(Self { request })
    }

    /// What rendering, parsing and sampling need for this request.
    ///
    /// # Errors
    /// As [`Request::prepare`].
    pub fn prepare(&self, spec: &FormatSpec) -> Result<Prepared, ApiError> {
        let mut prepared = self.request.prepare(spec)?;
        prepared.call_ids = prepared.call_ids.prefix("toolu_");
        Ok(prepared)
    }
}

read_from_json!(MessagesRequest);

fn conversation(root: &RequestValue<'_>, replaced: &mut Replaced) -> Result<Vec<ChatMessage>, ApiError> {
    let mut all = Vec::new();
    if let Some(system) = root.get("system") {
        all.push(ChatMessage::new(Role::System, text(&system, replaced)?));
    }
    let list = root.need("messages", "the conversation")?.list()?;
    let Some(last) = list.last() else {
        return Err(ApiError::invalid("messages", "the list is empty", "send at least one message"));
    };
    for place in &list {
        all.extend(messages(place, replaced)?);
    }
    if all.last().is_some_and(|message| message.role == Role::Assistant && message.continued().is_none()) {
        return Err(last.unsupported("a last message of the assistant that is no text is", "end with a user message"));
    }
    Ok(all)
}

fn tools(root: &RequestValue<'_>) -> Result<Tools, ApiError> {
    let Some(place) = root.get("tools") else { return Ok(Tools::empty()) };
    for tool in place.list()? {
        if let Some(kind) = tool.get("type").filter(|kind| kind.value != "custom") {
            return Err(kind.unsupported("tools that are no functions of the client are", "leave them out"));
        }
    }
    read_tools(place.value)
}

/// The choice, and whether more than one call may be made.
fn tool_choice(root: &RequestValue<'_>) -> Result<(ToolChoice, Option<bool>), ApiError> {
    let Some(place) = root.get("tool_choice") else { return Ok((ToolChoice::Auto, None)) };
    place.object()?;
    let kind = place.need("type", "auto, any, tool or none")?;
    let choice = match kind.text()? {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Named(place.need("name", "the tool's name")?.text()?.to_owned()),
        _ => return Err(kind.unknown("auto, any, tool, none")),
    };
    Ok((choice, place.get_bool("disable_parallel_tool_use")?.map(|off| !off)))
}

fn thinking(root: &RequestValue<'_>) -> Result<Option<bool>, ApiError> {
    let Some(place) = root.get("thinking") else { return Ok(None) };
    place.object()?;
    let kind = place.need("type", "enabled, disabled or adaptive")?;
    match kind.text()? {
        "enabled" | "adaptive" => Ok(Some(true)),
        "disabled" => Ok(Some(false)),
        _ => Err(kind.unknown("enabled, disabled, adaptive")),
    }
}

/// `output_config.format`, or `output_format` as it was called before.
fn response_format(root: &RequestValue<'_>) -> Result<ResponseFormat, ApiError> {
    let format = root.get("output_config").and_then(|place| place.get("format")).or_else(|| root.get("output_format"));
    let Some(place) = format else { return Ok(ResponseFormat::Text) };
    place.object()?;
    let kind = place.need("type", "json_schema")?;
    match kind.text()? {
        "json_schema" => {
            let schema = place.need("schema", "the JSON schema")?;
            Ok(ResponseFormat::JsonSchema(Value::Object(schema.object()?.clone())))
        }
        _ => Err(kind.unknown("json_schema")),
    }
}

//! Reads a request to messages.

use serde_json::Value;

use super::block::{messages, text};
use super::tools::offered;
use crate::error::ApiError;
use crate::media::Unread;
use crate::prepare::Prepared;
use crate::request::{
    ChatMessage, Request, ResponseFormat, Role, Sampling, ToolChoice, names, one_choice, read_from_json, stop_texts,
};
use crate::request_value::RequestValue;
use unjinja_spec::FormatSpec;

/// A request to messages.
///
/// - A sentence replaces images, and documents that are no text; [`Request::replaced`] names their places.
/// - Tools that Anthropic describes and the client runs (`bash_20250124`, `text_editor_20250728`, `memory_20250818`) are offered as
///   functions. Those that Anthropic runs (`web_search_…`), and blocks that say what they did, are left out: [`Request::ignored_tools`]
///   has their types, and those of blocks that are not known.
/// - Tools with `defer_loading` are offered once a `tool_reference` or `tool_addition` names them.
/// - What would change the meaning of the request is refused by name: `mcp_servers`, `container`, a list of `fallbacks`, a
///   `task_budget`, and a conversation that the server shortens. So is `n` above 1, which some clients send.
/// - A last message of the assistant is the beginning of the answer, which the model continues.
/// - `thread` has status 400 with the code by which Anthropic's clients send the whole conversation instead.
/// - `metadata`, `service_tier`, `cache_control` and other fields that concern Anthropic's service are in [`Request::left_out`].
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

/// Fields that are read below.
const READ: &str = "chat_template_kwargs compaction container context_management fallbacks max_tokens mcp_servers messages model n \
    output_config output_format stop_sequences stream system thinking thread tool_choice tools";

impl MessagesRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(value: &Value) -> Result<Self, ApiError> {
        let root = RequestValue::root(value);
        let mut begun = Request::begin(&root, READ)?;
        refuse(&root, &mut begun.left_out)?;
        one_choice(&root)?;
        let max_tokens = root.get_count("max_tokens", 1)?;
        if max_tokens.is_none() {
            return Err(ApiError::invalid("max_tokens", "this is missing", "give the most tokens to write"));
        }
        let (tool_choice, parallel_tool_calls) = tool_choice(&root)?;
        // That of the request, or of the last system message that has one.
        let mut effort = root.get("output_config").and_then(|place| place.get("effort"));
        for message in root.get_list("messages")?.into_iter().filter(|message| message.value["role"] == "system") {
            if let Some(place) = message.get("output_config") {
                only(&place, "effort")?;
                effort = place.get("effort").or(effort);
            }
        }
        let mut unread = Unread::default();
        let messages = conversation(&root, &mut unread)?;
        let (tools, strict_tools) = offered(&root, &mut unread)?;
        let budget = root.get("thinking").map_or(Ok(None), |place| place.get_count("budget_tokens", 0))?;
        if let Some(budget) = budget {
            // vLLM's name for it.
            begun.sampling.settings.entry("thinking_token_budget").or_insert(budget.into());
        }
        let request = Request {
            continues: messages.last().and_then(ChatMessage::continued),
            messages,
            tools,
            tool_choice,
            parallel_tool_calls,
            strict_tools,
            response_format: response_format(&root)?,
            // Anthropic's structured outputs follow their schema in any case.
            strict_format: true,
            thinking: thinking(&root)?,
            reasoning_effort: effort.map(|effort| effort.text().map(str::to_owned)).transpose()?,
            sampling: Sampling { max_tokens, stop: stop_texts(&root.get_list("stop_sequences")?)?, ..begun.sampling },
            replaced: unread.replaced,
            ignored_tools: unread.left_out,
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

/// Refuses what would change what the request means. What may be left out is added to `left_out`.
fn refuse(root: &RequestValue<'_>, left_out: &mut Vec<String>) -> Result<(), ApiError> {
    if let Some(place) = root.get("thread") {
        let cause = "no conversation is kept here";
        return Err(ApiError::at(&place.path, "thread_unsupported_request", cause, "send all of it, without `thread`"));
    }
    let shortens = "a conversation that the server shortens is";
    for (key, what) in [("mcp_servers", "MCP servers are"), ("container", "containers are"), ("compaction", shortens)] {
        if let Some(place) = root.get(key).filter(|place| place.value.as_array().is_none_or(|list| !list.is_empty())) {
            return Err(place.unsupported(what, "leave it out"));
        }
    }
    if let Some(place) = root.get("context_management") {
        // Without these, the prompt has all that the client sent.
        let is_clearing = |kind: &str| kind.starts_with("clear_thinking_") || kind.starts_with("clear_tool_uses_");
        for edit in place.get_list("edits")? {
            if !edit.value["type"].as_str().is_some_and(is_clearing) {
                return Err(edit.unsupported(shortens, "leave it out, and shorten it yourself"));
            }
        }
        only(&place, "edits")?;
        left_out.push(place.path);
    }
    if let Some(place) = root.get("fallbacks") {
        if place.value != "default" {
            return Err(place.unsupported("an answer of another model is", "leave it out"));
        }
        left_out.push(place.path);
    }
    root.get("output_config").map_or(Ok(()), |place| only(&place, "effort format"))
}

/// Refuses all members of an object but these.
fn only(place: &RequestValue<'_>, known: &str) -> Result<(), ApiError> {
    match place.object()?.keys().filter(|key| !names(known, key)).find_map(|key| place.get(key)) {
        Some(other) => Err(other.unsupported("this is", "leave it out")),
        None => Ok(()),
    }
}

fn conversation(root: &RequestValue<'_>, unread: &mut Unread) -> Result<Vec<ChatMessage>, ApiError> {
    let mut all = Vec::new();
    if let Some(system) = root.get("system") {
        all.push(ChatMessage::new(Role::System, text(&system, unread)?));
    }
    let list = root.need("messages", "the conversation")?.list()?;
    let Some(last) = list.last() else {
        return Err(ApiError::invalid("messages", "the list is empty", "send at least one message"));
    };
    let last_asked = list.iter().rposition(|message| message.value["role"] == "user").unwrap_or(0);
    for (at, place) in list.iter().enumerate() {
        // A system message that is shown until the user says something.
        if place.value["clear_at"] != "next_user_message" || at >= last_asked {
            all.extend(messages(place, unread)?);
        }
    }
    if all.is_empty() {
        return Err(ApiError::invalid("messages", "nothing in it can be read here", "send a text"));
    }
    if all.last().is_some_and(|message| message.role == Role::Assistant && message.continued().is_none()) {
        return Err(last.unsupported("a last message of the assistant that is no text is", "end with a user message"));
    }
    Ok(all)
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

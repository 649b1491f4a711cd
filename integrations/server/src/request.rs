//! What a request of either API asks for, in one form. Reading a request is `openai::request` and `anthropic::request`; making
//! a prompt of it is `prepare`.

use serde_json::{Map, Value};
use unjinja_runtime::{ToolCall, Tools};

use crate::error::ApiError;
use crate::request_value::RequestValue;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// The conversation until now. Instructions are messages of [`Role::System`].
    pub messages: Vec<ChatMessage>,
    /// The tools offered.
    pub tools: Tools,
    /// Whether tools must be called, and which.
    pub tool_choice: ToolChoice,
    /// Whether more than one call may be made.
    pub parallel_tool_calls: Option<bool>,
    /// The tools whose arguments have to follow their schemas: `strict`.
    pub strict_tools: Vec<String>,
    /// What the answer must be.
    pub response_format: ResponseFormat,
    /// Whether the answer has to follow its schema in all parts: `strict`.
    pub strict_format: bool,
    /// Whether the model is to think; `None` leaves it to the template.
    pub thinking: Option<bool>,
    /// `reasoning_effort`, which some templates read.
    pub reasoning_effort: Option<String>,
    /// Further variables for the template: `chat_template_kwargs`.
    pub template_variables: Map<String, Value>,
    /// How to sample.
    pub sampling: Sampling,
    /// The field of the last message that is the beginning of the answer, if the model continues one.
    pub continues: Option<BegunField>,
    /// Whether the response is to be streamed.
    pub stream: bool,
    /// The places of images, documents and the like, as JSON paths. A sentence replaces each: the model reads text only.
    pub replaced: Vec<String>,
    /// Fields of the request that were left out: no answer depends on them here.
    pub left_out: Vec<String>,
    /// The types of tools, items and blocks that were left out: others run these tools, or nobody knows the type here.
    pub ignored_tools: Vec<String>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: Role,
    /// The text; `None` where an assistant only calls tools.
    pub content: Option<String>,
    /// The reasoning of an assistant; empty without reasoning.
    pub reasoning: String,
    /// The calls of an assistant.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool answers.
    pub tool_call_id: Option<String>,
    /// The name of the speaker, or of the tool.
    pub name: Option<String>,
}

impl ChatMessage {
    /// A message of this role with this text.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: Some(content.into()), ..Self::default() }
    }
}

impl ChatMessage {
    /// The content, if a model can continue it: a text of the assistant without calls.
    pub(crate) fn continued(&self) -> Option<BegunField> {
        self.can_continue(BegunField::Content).then_some(BegunField::Content)
    }

    fn can_continue(&self, field: BegunField) -> bool {
        self.role == Role::Assistant && self.tool_calls.is_empty() && !self.begun(field).trim().is_empty()
    }

    pub(crate) fn begun(&self, field: BegunField) -> &str {
        match field {
            BegunField::Content => self.content.as_deref().unwrap_or_default(),
            BegunField::Reasoning => &self.reasoning,
        }
    }
}

/// The field of a message that the model continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BegunField {
    /// The answer.
    Content,
    /// The reasoning. What the message has after it is left out.
    Reasoning,
}

/// `continue_final_message`: true, or the name of the field that is continued, as transformers has it.
pub(crate) fn continues(root: &RequestValue<'_>, messages: &[ChatMessage]) -> Result<Option<BegunField>, ApiError> {
    const KEY: &str = "continue_final_message";
    let field = match root.get(KEY) {
        None => return Ok(None),
        Some(place) => match place.value {
            Value::Bool(false) => return Ok(None),
            Value::Bool(true) => BegunField::Content,
            Value::String(name) => match name.as_str() {
                "content" => BegunField::Content,
                "reasoning_content" | "reasoning" | "thinking" => BegunField::Reasoning,
                _ => return Err(place.unknown("true, false, content, reasoning_content, reasoning, thinking")),
            },
            _ => return Err(place.expected("true, false or the name of a field")),
        },
    };
    if messages.last().is_some_and(|message| message.can_continue(field)) {
        return Ok(Some(field));
    }
    let cause = match field {
        BegunField::Content => "the last message is no text of the assistant, so there is nothing to continue",
        BegunField::Reasoning => "the last message has no reasoning of the assistant, so there is nothing to continue",
    };
    Err(ApiError::invalid(KEY, cause, "leave it out, or send such a message"))
}

/// The model's message to which a part of a conversation belongs: the last one, or a new one.
pub(crate) fn turn(all: &mut Vec<ChatMessage>) -> &mut ChatMessage {
    if all.last().is_none_or(|message| message.role != Role::Assistant) {
        all.push(ChatMessage { role: Role::Assistant, ..ChatMessage::default() });
    }
    let last = all.len() - 1;
    &mut all[last]
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Instructions. OpenAI's `developer` counts as this, because few templates know it.
    System,
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

impl Role {
    /// The name that templates know.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// Whether tools must be called, and which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
    /// Only calls of these tools.
    Allowed {
        /// Their names.
        names: Vec<String>,
        /// Whether there must be a call.
        required: bool,
    },
}

/// What the answer must be.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON of this schema.
    JsonSchema(Value),
}

/// How to sample. It goes to the server that runs the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// How many answers the client wants, at least 1: `n`.
    pub choices: usize,
    /// The client wants the probabilities of the tokens, and those of this many likely alternatives to each.
    pub logprobs: Option<u64>,
    /// The most tokens that the model may write.
    pub max_tokens: Option<u64>,
    /// Texts that end the output.
    pub stop: Vec<String>,
    /// Every other setting as the client wrote it: `temperature`, `top_p`, `seed`, …
    pub settings: Map<String, Value>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { choices: 1, logprobs: None, max_tokens: None, stop: Vec::new(), settings: Map::new() }
    }
}

/// Whether a list of names, with blanks between them, has this one.
pub(crate) fn names(list: &str, name: &str) -> bool {
    list.split(' ').any(|one| one == name)
}

/// Fields of all APIs that are left out, and why the answer means the same without them.
const LEFT_OUT: [(&str, &str); 5] = [
    (
        "who asks and who pays",
        "billing_policy client_metadata fallback_credit_token metadata safety_identifier service_tier store user user_profile_id \
         workspace_id",
    ),
    (
        "what a service keeps to be quick, and where it runs",
        "cache_control cache_prompt id_slot inference_geo prediction priority prompt_cache_key prompt_cache_options \
         prompt_cache_retention speed",
    ),
    ("reports about the service", "diagnostics return_progress timings_per_token"),
    ("a wish for a style that no template can express", "verbosity"),
    ("what the upstream is always asked in the same way", "skip_special_tokens spaces_between_special_tokens"),
];

impl Request {
    /// What all APIs call by the same name. Fields that are neither `read` nor left out are settings of the sampler.
    pub(crate) fn begin(root: &RequestValue<'_>, read: &str) -> Result<Self, ApiError> {
        let fields = root.object()?.iter().filter(|(key, value)| !names(read, key) && !value.is_null());
        let is_left_out = |key: &str| LEFT_OUT.iter().any(|(_, all)| names(all, key));
        let (left_out, settings): (Vec<_>, Vec<_>) = fields.partition(|(key, _)| is_left_out(key));
        let settings = settings.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self {
            left_out: left_out.into_iter().map(|(key, _)| key.clone()).collect(),
            model: root.get_text("model")?.unwrap_or_default().to_owned(),
            template_variables: template_variables(root)?,
            sampling: Sampling { settings, ..Sampling::default() },
            stream: root.get_bool("stream")?.unwrap_or(false),
            ..Self::default()
        })
    }
}

/// How every API's type of request is read from JSON.
macro_rules! read_from_json {
    ($request:ty) => {
        impl $request {
            /// Reads a request's body.
            ///
            /// # Errors
            /// Status 400 if the body is not JSON, a field has another type than it must have, or a field is not supported. The error
            /// names the field.
            pub fn from_json(body: &[u8]) -> Result<Self, ApiError> {
                Self::from_value(&$crate::request_value::parse(body)?)
            }
        }

        impl<'de> serde::Deserialize<'de> for $request {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::from_value(&<Value as serde::Deserialize>::deserialize(deserializer)?)
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use read_from_json;

/// Refuses a request for more than one answer.
pub(crate) fn one_choice(root: &RequestValue<'_>) -> Result<(), ApiError> {
    match root.get_count("n", 1)? {
        Some(n) if n > 1 => {
            Err(ApiError::unsupported("n", format!("{n} choices are not supported"), "send as many requests"))
        }
        _ => Ok(()),
    }
}

/// Variables of templates that a client cannot set: what the request says in its own fields, and the tokens of the model.
const OWN_VARIABLES: &str = "messages tools functions add_generation_prompt continue_final_message bos_token eos_token pad_token \
    unk_token sep_token";

/// `chat_template_kwargs`: further variables for the template.
pub(crate) fn template_variables(root: &RequestValue<'_>) -> Result<Map<String, Value>, ApiError> {
    let Some(place) = root.get("chat_template_kwargs") else { return Ok(Map::new()) };
    let variables = place.object()?;
    match variables.keys().find(|name| names(OWN_VARIABLES, name)) {
        None => Ok(variables.clone()),
        Some(name) => {
            let cause = "the template gets this from the request and from the model";
            Err(ApiError::invalid(&place.path_of(name), cause, "leave it out"))
        }
    }
}

/// Texts that end the output. An empty one would end it before it begins.
pub(crate) fn stop_texts(places: &[RequestValue<'_>]) -> Result<Vec<String>, ApiError> {
    let one = |place: &RequestValue<'_>| match place.text()? {
        "" => Err(ApiError::invalid(&place.path, "this text is empty", "leave it out")),
        text => Ok(text.to_owned()),
    };
    places.iter().map(one).collect()
}

/// The name by which the model knows a function of a namespace.
pub(crate) fn in_namespace(namespace: &str, name: &str) -> String {
    let joint = if namespace.ends_with("__") { "" } else { "__" };
    format!("{namespace}{joint}{name}")
}

/// Reads a list of tools of either API.
pub(crate) fn read_tools(value: &Value) -> Result<Tools, ApiError> {
    Tools::from_openai(value).map_err(|error| match error.problems() {
        [first, rest @ ..] => {
            let next = rest.iter().fold(first.next_step().to_owned(), |all, problem| format!("{all}. {problem}"));
            ApiError::invalid(first.path(), first.cause(), next)
        }
        [] => ApiError::invalid("tools", error, "correct the list"),
    })
}

/// The names of the tools of a list whose arguments have to follow their schemas.
pub(crate) fn strict_tools(root: &RequestValue<'_>) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::new();
    for tool in root.get_list("tools")? {
        let function = tool.get("function").unwrap_or(tool);
        if function.get_bool("strict")? == Some(true) {
            names.extend(function.get_text("name")?.map(str::to_owned));
        }
    }
    Ok(names)
}

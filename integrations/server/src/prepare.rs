//! Makes of a request what rendering, parsing and sampling need.

use serde_json::{Value, json};
use unjinja_grammar::{GrammarOptions, Integers};
use unjinja_runtime::{Options, Tool, Tools, Unparsed};
use unjinja_spec::FormatSpec;

use crate::context::context;
use crate::error::ApiError;
use crate::ids::unique_id;
use crate::request::{BegunField, ChatMessage, Request, ResponseFormat, Role, Sampling, ToolChoice};
use unjinja_spec::{CallIds, ReasoningMode, SystemPlace, WrittenTags};

/// What rendering, parsing and sampling need for a request.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The model's name, as the client wrote it.
    pub model: String,
    /// The variables of the template: render it with these.
    pub context: Value,
    /// The tags of reasoning in `context` that no client wrote: messages were handed over with them.
    pub written: Vec<WrittenTags>,
    /// All tools that the prompt offers.
    pub tools: Tools,
    /// The tools that may be called: make the grammar for these.
    pub callable: Tools,
    /// The options of the parser. Broken markup is kept apart from the answer, and so are calls that the request does not allow. If it
    /// allows none at all, because it offers no tools or says so, all of this is text of the answer.
    pub options: Options,
    /// The options of a grammar.
    pub grammar: GrammarOptions,
    /// The request restricts what the model may write: a call, a certain tool, no call at all, a single call, JSON, or arguments that
    /// follow their schemas. Without a grammar, the parser still delivers no call that the request does not allow.
    pub constrained: bool,
    /// The part of this that only a grammar can enforce.
    pub guarantees: Vec<Guarantee>,
    /// The tools whose arguments have to follow their schemas.
    pub strict_tools: Vec<String>,
    /// The JSON of the answer has to follow its schema.
    pub strict_format: bool,
    /// System messages in the middle of the conversation. Not every template has a place for them.
    pub late_system: LateSystem,
    /// The beginning of the answer, if the model continues one. In `context`, it ends with a mark.
    pub begun: Option<BegunText>,
    /// Makes the ids of the calls. Hand it to the writer of the response.
    pub call_ids: CallIds,
    /// How to sample.
    pub sampling: Sampling,
    /// Whether the response is to be streamed.
    pub stream: bool,
}

/// System messages in the middle of a conversation: the texts of those after the first message of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LateSystem(Vec<String>);

impl LateSystem {
    fn of(messages: &[ChatMessage]) -> Self {
        let late = messages.iter().skip_while(|message| message.role == Role::System);
        let system = late.filter(|message| message.role == Role::System);
        let texts = system.filter_map(|message| message.content.as_deref()).map(str::trim);
        Self(texts.filter(|text| !text.is_empty()).map(str::to_owned).collect())
    }

    /// Where they are in a prompt: `kept` where they were, `first` with the first system message, or in a message of the `user`. `None`
    /// if there are none.
    ///
    /// # Errors
    /// If the text of one is not in the prompt: the template lost it.
    pub fn place(&self, spec: &FormatSpec, prompt: &str) -> Result<Option<&'static str>, ApiError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        if self.0.iter().any(|text| !prompt.contains(text.as_str())) {
            let cause = "the template loses a system message in the middle of the conversation";
            return Err(ApiError::unsupported("messages", cause, "send it first, or in a message of the user"));
        }
        Ok(Some(match spec.messages.system {
            SystemPlace::Anywhere => "kept",
            SystemPlace::First => "first",
            SystemPlace::Nowhere => "user",
        }))
    }
}

/// What a request asks for and only a grammar can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guarantee {
    /// A call, or a call of a certain tool.
    Call,
    /// JSON as the answer.
    Json,
    /// Arguments that follow the schemas of their tools.
    Strict,
}

impl Guarantee {
    /// The field of the request that asks for it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Call => "tool_choice",
            Self::Json => "response_format",
            Self::Strict => "tools",
        }
    }

    /// What is guaranteed, for a sentence.
    pub fn what(self) -> &'static str {
        match self {
            Self::Call => "a call",
            Self::Json => "an answer in JSON",
            Self::Strict => "`strict`: arguments that follow their schema",
        }
    }
}

/// The beginning of the answer, which the model continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunText {
    field: BegunField,
    text: String,
    /// Nobody can know it before, so no text of the conversation has it. A space is at its end.
    mark: String,
}

impl BegunText {
    /// What a request begins, and its messages with the mark.
    fn of(request: &Request) -> Option<(Self, Vec<ChatMessage>)> {
        let field = request.continues?;
        let mut messages = request.messages.clone();
        let mark = unique_id("BEGUN_TEXT_ENDS_") + ". ";
        let last = messages.last_mut()?;
        let text = last.begun(field).to_owned();
        match field {
            BegunField::Content => last.content = Some(text.clone() + &mark),
            BegunField::Reasoning => last.reasoning.push_str(&mark),
        }
        Some((Self { field, text, mark }, messages))
    }

    /// What the client wrote.
    #[cfg(feature = "http")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The prompt up to where the begun text ends, as transformers finds it. `None` if the template changed that text.
    fn cut<'t>(&self, whole: &'t str) -> Option<&'t str> {
        let at = whole.rfind(self.mark.trim_end())?;
        let kept = whole[at..].starts_with(&self.mark);
        // A template that removes white space at the end of a text removed the space of the mark, too.
        let cut = if kept { &whole[..at] } else { whole[..at].trim_end() };
        cut.trim_end().ends_with(self.text.trim()).then_some(cut)
    }
}

impl Prepared {
    /// Renders the prompt, and tells parser and grammar how it ends: the model's output begins there. `render` renders the
    /// template with these variables. It is called twice: the second time without `add_generation_prompt`, because nothing else
    /// shows in every format where the assistant's turn begins.
    ///
    /// # Errors
    /// Those of `render`.
    pub fn render<E>(
        self,
        spec: &FormatSpec,
        mut render: impl FnMut(&Value) -> Result<String, E>,
    ) -> Result<(Self, String), E> {
        let mut without = self.context.clone();
        if let Value::Object(variables) = &mut without {
            variables.insert("add_generation_prompt".to_owned(), false.into());
        }
        let Some(begun) = self.begun.clone() else {
            let prompt = render(&self.context)?;
            let before = render(&without)?;
            return Ok((self.prompt(spec.begun_by(&prompt, &before)), prompt));
        };
        // The turn as the template writes it, up to the end of the text that the model continues.
        let whole = render(&without)?;
        let last = |context: &mut Value| context.get_mut("messages").and_then(Value::as_array_mut).and_then(Vec::pop);
        last(&mut without);
        let before = render(&without)?;
        let prompt = match begun.cut(&whole) {
            Some(prompt) => prompt.to_owned(),
            // A template that changes past answers.
            None => {
                let mut opened = self.context.clone();
                last(&mut opened);
                let mut prompt = render(&opened)?;
                let opener = spec.reasoning.start.as_str();
                if begun.field == BegunField::Reasoning && !prompt.trim_end().ends_with(opener.trim_end()) {
                    prompt.push_str(opener);
                }
                prompt + &begun.text
            }
        };
        Ok((self.prompt(spec.begun_by(&prompt, &before)), prompt))
    }

    /// Tells parser and grammar what the prompt has of the assistant's turn: the end of it, which
    /// [`FormatSpec::begun_by`](unjinja_spec::FormatSpec::begun_by) finds and [`render`](Self::render) passes on by itself.
    pub fn prompt(mut self, turn: &str) -> Self {
        self.options = self.options.generation_prompt(turn);
        self.grammar = self.grammar.generation_prompt(turn);
        self
    }
}

impl Request {
    /// What rendering, parsing and sampling need for this request.
    ///
    /// # Errors
    /// If `tool_choice` names a tool that is not offered, or demands a call without tools.
    pub fn prepare(&self, spec: &FormatSpec) -> Result<Prepared, ApiError> {
        let callable = self.callable()?;
        let thinking = self.thinking(spec);
        let tools = if self.tool_choice == ToolChoice::None { Tools::empty() } else { self.tools.clone() };
        let parallel = self.parallel_tool_calls.unwrap_or(true);
        let json = self.response_format != ResponseFormat::Text;
        // Where no call can come, what looks like one may be the whole answer.
        let unparsed = if callable.is_empty() { Unparsed::Content } else { Unparsed::Separate };
        let mut options =
            Options::new().tools(&tools).parallel_tool_calls(parallel).unparsed(unparsed).json_response(json);
        let mut grammar = GrammarOptions::new().tool_choice(self.grammar_choice()).parallel_tool_calls(parallel);
        // A call that is demanded has half of the tokens at least, each of which has a character or more.
        if let Some(most) = self.sampling.max_tokens {
            grammar = grammar.max_reasoning(u32::try_from(most / 2).unwrap_or(u32::MAX).min(16_384));
        }
        // Many clients read `4.0` as no integer: strict models of pydantic, and those that are written in Go or Rust.
        grammar = grammar.integers(Integers::Plain);
        if callable.is_empty() || !matches!(self.tool_choice, ToolChoice::Auto | ToolChoice::Required) {
            options = options.callable(callable.iter().map(|tool| tool.name.as_str()));
        }
        if let Some(on) = thinking {
            options = options.thinking(on);
            grammar = grammar.thinking(on);
        }
        grammar = match &self.response_format {
            ResponseFormat::Text => grammar,
            ResponseFormat::JsonObject => grammar.response_schema(json!({"type": "object"})),
            ResponseFormat::JsonSchema(schema) => grammar.response_schema(schema.clone()),
        };
        let choice = match self.tool_choice {
            ToolChoice::Auto => !tools.is_empty() && !parallel,
            ToolChoice::None => !self.tools.is_empty(),
            _ => true,
        };
        let demands_call = match &self.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) => true,
            ToolChoice::Allowed { required, .. } => *required,
            ToolChoice::Auto | ToolChoice::None => false,
        };
        options = options.demands_call(demands_call);
        let is_callable = |name: &&String| callable.get(name).is_some();
        let strict_tools: Vec<String> = self.strict_tools.iter().filter(is_callable).cloned().collect();
        let is_strict = !strict_tools.is_empty();
        let guarantees = [(Guarantee::Call, demands_call), (Guarantee::Json, json), (Guarantee::Strict, is_strict)];
        if self.continues == Some(BegunField::Reasoning) && spec.reasoning.mode == ReasoningMode::None {
            let cause = "the format of this model has no reasoning";
            return Err(ApiError::unsupported("continue_final_message", cause, "continue the content"));
        }
        let (begun, marked) = BegunText::of(self).unzip();
        let (context, written) = context(self, marked.as_deref().unwrap_or(&self.messages), spec, thinking);
        Ok(Prepared {
            model: self.model.clone(),
            call_ids: CallIds::of(spec).in_conversation(context.get("messages")),
            context,
            written,
            tools,
            callable,
            options,
            grammar,
            constrained: choice || json || is_strict,
            guarantees: guarantees
                .into_iter()
                .filter(|(_, is_made)| *is_made)
                .map(|(guarantee, _)| guarantee)
                .collect(),
            late_system: LateSystem::of(&self.messages),
            begun,
            strict_tools,
            strict_format: self.strict_format,
            sampling: self.sampling.clone(),
            stream: self.stream,
        })
    }

    /// The value of the thinking switch: what a template variable says, or the request's own field.
    fn thinking(&self, spec: &FormatSpec) -> Option<bool> {
        let variable = self.template_variables.get(&spec.reasoning.switch).and_then(Value::as_bool);
        let effort = self.reasoning_effort.as_deref().map(|effort| effort != "none");
        variable.or(self.thinking).or(effort)
    }

    fn grammar_choice(&self) -> unjinja_grammar::ToolChoice {
        match &self.tool_choice {
            ToolChoice::None => unjinja_grammar::ToolChoice::None,
            ToolChoice::Required | ToolChoice::Allowed { required: true, .. } => unjinja_grammar::ToolChoice::Required,
            ToolChoice::Named(name) => unjinja_grammar::ToolChoice::Named(name.clone()),
            ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => unjinja_grammar::ToolChoice::Auto,
        }
    }

    /// The tools that may be called.
    fn callable(&self) -> Result<Tools, ApiError> {
        let names = match &self.tool_choice {
            ToolChoice::None => return Ok(Tools::empty()),
            ToolChoice::Auto => return Ok(self.tools.clone()),
            ToolChoice::Required if self.tools.is_empty() => {
                return Err(ApiError::invalid(
                    "tool_choice",
                    "this demands a call, and there are no tools",
                    "give `tools`",
                ));
            }
            ToolChoice::Required => return Ok(self.tools.clone()),
            ToolChoice::Named(name) => std::slice::from_ref(name),
            ToolChoice::Allowed { names, .. } => names,
        };
        if let Some(name) = names.iter().find(|name| self.tools.get(name).is_none()) {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let next = format!("name one of `tools` ({known})");
            return Err(ApiError::invalid("tool_choice", format!("no tool is called {name:?}"), next));
        }
        let some: Vec<Tool> = self.tools.iter().filter(|tool| names.contains(&tool.name)).cloned().collect();
        Tools::new(some).map_err(|error| ApiError::invalid("tools", error, "correct the list"))
    }
}

//! One request: what its prompt, its parser and its grammar need, from one list of tools and one set of options.

use serde_json::Value;
use unjinja_grammar::{Grammar, GrammarError, GrammarOptions, Target, ToolChoice};
use unjinja_runtime::{Chunk, Message, Options, Tools};
use unjinja_spec::CallIds;

use crate::conversation::Conversation;
use crate::error::ModelError;
use crate::model::{Model, ModelStream, Prompt};

/// What a request asks for, besides its conversation and its tools.
///
/// ```
/// use unjinja_dynamic::{RequestOptions, ToolChoice};
///
/// let options = RequestOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false).thinking(true);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    parsing: Options,
    choice: ToolChoice,
    parallel: Option<bool>,
    thinking: Option<bool>,
    schema: Option<Value>,
    target: Option<Target>,
}

impl RequestOptions {
    /// The model decides whether it calls tools, and how many; the template decides whether it thinks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether tools must be called, and which. With [`ToolChoice::None`], the prompt offers no tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.choice = choice;
        self
    }

    /// Whether a turn may make more than one call. The default is true.
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.parallel = Some(on);
        self
    }

    /// Switches thinking on or off, if the template has a switch for it.
    pub fn thinking(mut self, on: bool) -> Self {
        self.thinking = Some(on);
        self
    }

    /// The JSON schema of the answer.
    pub fn response_schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// The engine that the grammar is for. The default is that of [`GrammarOptions`].
    pub fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// How the output is read beyond that: where unparsed text goes, a text to continue, special tokens. Tools, thinking, the
    /// prompt and parallel calls are set by the request.
    pub fn parsing(mut self, options: Options) -> Self {
        self.parsing = options;
        self
    }
}

/// A request to a model: the prompt, the parser of the output, the grammar for a sampler and the ids of calls, which belong
/// together. [`Model::request`] makes it.
#[derive(Clone, Debug)]
pub struct Request {
    model: Model,
    prompt: Prompt,
    tools: Tools,
    options: Options,
    grammar: GrammarOptions,
    call_ids: CallIds,
}

impl Model {
    /// Prepares a request. The tools are given once: the prompt offers them, the parser types arguments with their schemas, and
    /// the grammar allows their calls. Tools of the conversation are replaced.
    ///
    /// ```
    /// use serde_json::json;
    /// use unjinja_dynamic::{Conversation, Model, RequestOptions, ToolChoice, Tools};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/hermes.jinja");
    /// let model = Model::from_file(path)?;
    /// let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    /// let tools = Tools::from_openai(&json!([{"type": "function", "function": {"name": "rain", "parameters": parameters}}]))?;
    /// let conversation = Conversation::new(json!([{"role": "user", "content": "Rain in Paris?"}]));
    /// let options = RequestOptions::new().tool_choice(ToolChoice::Required);
    /// let request = model.request(&conversation, &tools, &options)?;
    ///
    /// assert!(request.prompt().text().contains("rain"));
    /// assert!(request.grammar()?.text.contains("city"));
    /// let message = request.parse("<tool_call>\n{\"name\": \"rain\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>");
    /// assert_eq!(message.tool_calls[0].arguments, "{\"city\": \"Paris\"}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`render`](Self::render).
    pub fn request(
        &self,
        conversation: &Conversation,
        tools: &Tools,
        options: &RequestOptions,
    ) -> Result<Request, ModelError> {
        let tools = if options.choice == ToolChoice::None { Tools::empty() } else { tools.clone() };
        let mut conversation = conversation.clone().tools(tools.to_openai());
        let parallel = options.parallel.unwrap_or(true);
        let mut parsing = options.parsing.clone().tools(&tools).parallel_tool_calls(parallel);
        let mut grammar = GrammarOptions::new().tool_choice(options.choice.clone()).parallel_tool_calls(parallel);
        parsing = match &options.choice {
            ToolChoice::None => parsing.callable::<String>([]),
            ToolChoice::Named(name) => parsing.callable([name.as_str()]).demands_call(true),
            ToolChoice::Required => parsing.demands_call(true),
            ToolChoice::Auto => parsing,
        };
        if let Some(on) = options.thinking {
            conversation = conversation.thinking(on);
            parsing = parsing.thinking(on);
            grammar = grammar.thinking(on);
        }
        if let Some(schema) = &options.schema {
            parsing = parsing.json_response(true);
            grammar = grammar.response_schema(schema.clone());
        }
        if let Some(target) = options.target {
            grammar = grammar.target(target);
        }
        let prompt = self.prompt(&conversation)?;
        Ok(Request {
            options: parsing.generation_prompt(prompt.turn()),
            grammar: grammar.generation_prompt(prompt.turn()),
            call_ids: CallIds::of(self.spec())
                .in_conversation(conversation.variables_for(self.spec()).0.get("messages")),
            model: self.clone(),
            prompt,
            tools,
        })
    }
}

impl Request {
    /// The prompt.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// The parser of the output, as it arrives.
    pub fn stream(&self) -> ModelStream {
        self.model.stream(&self.options)
    }

    /// Parses a whole output.
    pub fn parse<'t>(&self, output: impl Into<Chunk<'t>>) -> Message {
        self.model.parse(output, &self.options)
    }

    /// The grammar for a sampler.
    ///
    /// # Errors
    /// The request cannot be met: a call is required without tools, or no value fits a schema.
    pub fn grammar(&self) -> Result<Grammar, GrammarError> {
        self.model.grammar(&self.tools, &self.grammar)
    }

    /// The ids for the calls of this turn, in the form that the template accepts, and other than those of the conversation.
    pub fn call_ids(&self) -> CallIds {
        self.call_ids.clone()
    }

    /// The tools of the request; empty if none may be called.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The options of the parser: what [`Model::stream`] and [`Model::parse`] take.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The options of the grammar: what [`Model::grammar`] takes.
    pub fn grammar_options(&self) -> &GrammarOptions {
        &self.grammar
    }
}

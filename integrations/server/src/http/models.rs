//! The models that the proxy serves, and which one a request gets.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value, json};
use unjinja_dynamic::{GrammarOptions, Model, ModelError};
use unjinja_runtime::abi::is_special_token;

use super::encoding::Encoding;
use super::tokens::{Tokens, missing};
use super::tools::ToolUse;
use crate::error::ApiError;
use unjinja_spec::{CallIds, FormatSpec};

/// A model with what is derived from its template once.
#[derive(Debug, Clone)]
pub struct ServedModel {
    name: String,
    /// The name that the upstream knows; `None` if it is the client's.
    upstream: Option<String>,
    /// Where the template is from, for people.
    origin: String,
    pub(crate) model: Model,
    /// Texts that end a turn.
    pub(crate) stops: Vec<String>,
    pub(crate) tokens: Tokens,
    pub(crate) tools: ToolUse,
    /// Why the template renders no small conversation.
    refusal: Option<String>,
    /// Special tokens that the upstream has to keep.
    pub(crate) preserved: Vec<String>,
    /// The tokenizer, with which prompts are sent as ids.
    pub(crate) encoding: Option<Encoding>,
    /// Texts that end a turn and are one token each, with their ids.
    pub(crate) stop_ids: Vec<(String, u32)>,
    /// Prompts of small conversations.
    #[cfg(feature = "tokens")]
    prompts: Vec<String>,
}

impl ServedModel {
    /// A model under this name. Small conversations are rendered, to see which of them the template refuses.
    ///
    /// # Errors
    /// If the model has no template to render with, or the template needs a special token that the model's tokenizer does not
    /// have.
    pub fn new(name: impl Into<String>, model: Model) -> Result<Self, ModelNameError> {
        let name = name.into();
        if model.template().is_none() {
            return Err(ModelNameError::NoTemplate(name));
        }
        let tokens = Tokens::of(&model);
        let conversations = conversations(model.spec());
        let missing = missing(&model, &conversations);
        if !missing.is_empty() {
            return Err(ModelNameError::NoTokens { name, tokens: missing });
        }
        let mut refusal = None;
        let mut prompts = Vec::new();
        for rendered in conversations.iter().map(|context| tokens.render(&model, context)) {
            match rendered {
                Ok(prompt) => prompts.push(prompt),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        let refusal = refusal.filter(|_| prompts.is_empty()).map(told);
        let tokens = tokens.tried(&prompts);
        let grammar = model.grammar_for_any(&GrammarOptions::new()).unwrap_or_default();
        let mut preserved = grammar.preserved_tokens;
        for token in &model.spec().tokens.preserved {
            if !preserved.contains(token) {
                preserved.push(token.clone());
            }
        }
        let stops = grammar.stops;
        let tools = ToolUse::of(&model, &tokens, &stops);
        let origin = model.spec().template.file.clone();
        let upstream = None;
        let (encoding, stop_ids) = (None, Vec::new());
        Ok(Self {
            name,
            upstream,
            origin,
            model,
            stops,
            tokens,
            tools,
            refusal,
            preserved,
            encoding,
            stop_ids,
            #[cfg(feature = "tokens")]
            prompts,
        })
    }

    /// The model's tokenizer. Prompts then go to the upstream as token ids, in which no text of a request becomes a special token, and a
    /// special token that the model wrote is told by its id, if the upstream gives ids.
    ///
    /// # Errors
    /// If the template reads special tokens whose texts are not known: ids cannot be made without them.
    #[cfg(feature = "tokens")]
    pub fn tokenizer(mut self, vocabulary: unjinja_tokens::Vocabulary) -> Result<Self, ModelNameError> {
        let mut unknown = self.tokens.lost.clone();
        unknown.extend(self.lacks_bos().then(|| "bos_token".to_owned()));
        if !unknown.is_empty() {
            return Err(ModelNameError::UnknownTokens { name: self.name, tokens: unknown });
        }
        let encoding = Encoding::new(&self.model, vocabulary, &self.prompts);
        let stops = self.stops.iter().filter_map(|stop| Some((stop.clone(), encoding.control_id(stop)?)));
        self.stop_ids = stops.collect();
        self.encoding = Some(encoding);
        Ok(self)
    }

    /// The special tokens that texts of a request are searched for, because the upstream would read them as tokens. None with a
    /// tokenizer: encoding a prompt finds all of them.
    pub fn watched_tokens(&self) -> BTreeSet<&str> {
        let tokens = &self.model.spec().tokens;
        let known = self.stops.iter().chain(&tokens.preserved).chain(&tokens.other).map(String::as_str);
        known.filter(|token| self.encoding.is_none() && is_special_token(token.as_bytes())).collect()
    }

    /// Whether prompts go to the upstream as token ids.
    pub fn sends_ids(&self) -> bool {
        self.encoding.is_some()
    }

    /// Where the template is from, for people who read what the proxy serves. Without this, it is the name of its file.
    pub fn origin_is(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Where the template is from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The name by which the upstream knows the model. Without this, it gets the name that the client sent.
    pub fn upstream_name_is(mut self, name: impl Into<String>) -> Self {
        self.upstream = Some(name.into());
        self
    }

    /// Whether the template begins prompts with BOS, and the text of this token is not known: the template came without its
    /// tokenizer. [`Bos`](super::Bos) says what happens then.
    pub fn lacks_bos(&self) -> bool {
        self.tokens.lack_bos()
    }

    /// The variables of the other special tokens that the template reads, and whose texts are not known. Prompts are rendered
    /// without these tokens, which the upstream cannot repair.
    pub fn lost_tokens(&self) -> &[String] {
        &self.tokens.lost
    }

    /// Why the template renders none of the small conversations that were tried: for example a variable that every request has
    /// to send.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Whether the template prints the tools of a request. If not, the model does not know of them.
    pub fn prints_tools(&self) -> bool {
        self.tools == ToolUse::Printed
    }

    /// Whether the tools of a request can be described in the system message: a call that the template writes is read back.
    pub fn can_describe_tools(&self) -> bool {
        matches!(&self.tools, ToolUse::Lost { example: Some(_) })
    }

    /// The model itself.
    pub fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn upstream_name(&self) -> Option<&str> {
        self.upstream.as_deref()
    }

    /// The name by which clients ask for it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The cause of an error in one line.
fn told(error: ModelError) -> String {
    match error {
        ModelError::Render(error) => format!("{} (line {})", error.message(), error.line()),
        error => error.to_string(),
    }
}

/// All models of a proxy.
#[derive(Debug, Clone)]
pub struct Models {
    served: Vec<ServedModel>,
    /// Other names, each with that of the model.
    aliases: Vec<(String, String)>,
}

impl Models {
    /// These models. A single one answers to every name; of several, a request names one.
    ///
    /// # Errors
    /// If there is no model, or two have the same name.
    pub fn new(models: Vec<ServedModel>) -> Result<Self, ModelNameError> {
        if models.is_empty() {
            return Err(ModelNameError::None);
        }
        for (at, model) in models.iter().enumerate() {
            if models[..at].iter().any(|other| other.name == model.name) {
                return Err(ModelNameError::Twice(model.name.clone()));
            }
        }
        Ok(Self { served: models, aliases: Vec::new() })
    }

    /// A model answers to this name too: agents have names of models built in.
    ///
    /// # Errors
    /// If no model is called `model`.
    pub fn alias(mut self, alias: impl Into<String>, model: &str) -> Result<Self, ModelNameError> {
        if !self.served.iter().any(|served| served.name == model) {
            return Err(ModelNameError::Unknown(model.to_owned()));
        }
        self.aliases.push((alias.into(), model.to_owned()));
        Ok(self)
    }

    /// The models in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &ServedModel> {
        self.served.iter()
    }

    /// The model for a request.
    pub(crate) fn get(&self, name: &str) -> Result<&ServedModel, ApiError> {
        if let [one] = &self.served[..] {
            return Ok(one);
        }
        let named = self.aliases.iter().find(|(alias, _)| alias == name).map_or(name, |(_, model)| model);
        self.served.iter().find(|model| model.name == named).ok_or_else(|| {
            let names: Vec<&str> = self.served.iter().map(ServedModel::name).collect();
            ApiError::no_model(name, &names.join(", "))
        })
    }
}

/// Why models cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelNameError {
    /// There is no model.
    None,
    /// Two models have this name.
    Twice(String),
    /// An alias is for this model, and there is none of this name.
    Unknown(String),
    /// This model was made from a spec, so it cannot render a prompt.
    NoTemplate(String),
    /// The template cannot be rendered without special tokens that the model's tokenizer does not have.
    NoTokens {
        /// The model.
        name: String,
        /// The variables that hold these tokens.
        tokens: Vec<String>,
    },
    /// The template reads special tokens whose texts are not known, so prompts cannot become ids.
    UnknownTokens {
        /// The model.
        name: String,
        /// The variables that hold these tokens.
        tokens: Vec<String>,
    },
}

impl fmt::Display for ModelNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("there is no model to serve: give a template"),
            Self::Unknown(name) => write!(f, "no model is called {name:?}: give an alias to one that is served"),
            Self::Twice(name) => write!(f, "two models are called {name:?}: give each a name of its own"),
            Self::NoTemplate(name) => write!(
                f,
                "{name}: this has no template, so no prompt can be rendered: give the model's chat_template.jinja, \
                 tokenizer_config.json or GGUF file"
            ),
            Self::NoTokens { name, tokens } => write!(
                f,
                "{name}: the template cannot be rendered without {tokens}, and the model's tokenizer has no such token: add \
                 it to tokenizer_config.json, or correct the template",
                tokens = tokens.join(" and ")
            ),
            Self::UnknownTokens { name, tokens } => write!(
                f,
                "{name}: the template reads {tokens}, and the texts of these tokens are not known, so prompts cannot become ids: put \
                 the model's tokenizer_config.json next to its tokenizer.json",
                tokens = tokens.join(" and ")
            ),
        }
    }
}

impl std::error::Error for ModelNameError {}

/// Small conversations, such as requests send: most templates render them all.
fn conversations(spec: &FormatSpec) -> Vec<Value> {
    let said = |role: &str| json!({"role": role, "content": "Hello."});
    let id = CallIds::of(spec).next("look", None);
    let function = json!({"name": "look", "arguments": "{\"a\": \"b\"}"});
    let call = json!({"role": "assistant", "tool_calls": [{"type": "function", "id": id, "function": function}]});
    let result = json!({"role": "tool", "content": "Hello.", "tool_call_id": id});
    let tool = json!({"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {
        "type": "object", "properties": {"a": {"type": "string", "description": "A."}}}}});
    let talks = [
        (json!([said("user")]), None),
        (json!([said("user"), said("assistant"), said("user")]), None),
        (json!([said("system"), said("user")]), None),
        (json!([said("user"), call, result]), Some(json!([tool]))),
    ];
    let context = |(messages, tools): (Value, Option<Value>)| {
        let mut variables = Map::new();
        variables.insert("messages".to_owned(), messages);
        variables.insert("add_generation_prompt".to_owned(), true.into());
        variables.extend(tools.map(|tools| ("tools".to_owned(), tools)));
        spec.hand_over(&mut variables);
        Value::Object(variables)
    };
    talks.into_iter().map(context).collect()
}

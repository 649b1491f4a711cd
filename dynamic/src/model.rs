//! The model: a spec, its parser and its template, shared by all clones. This file reads no files and analyses nothing:
//! `loader.rs` does.

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "grammar")]
use std::sync::OnceLock;

use unjinja_codegen::{LowerError, interpreter};
#[cfg(feature = "grammar")]
use unjinja_grammar::SpecialToken;
use unjinja_render::Template;
use unjinja_runtime::{BorrowedMessage, ChatParser, Chunk, Interpreter, Message, Options, Stream, parse};
use unjinja_spec::{FormatSpec, Status};

#[cfg(feature = "grammar")]
use crate::added_tokens::named_tokens;
use crate::cache::CacheUse;
use crate::conversation::Conversation;
use crate::error::ModelError;
use crate::missing::{Missing, missing};
use crate::overlays::Correction;
use crate::prompt::{LabelledPrompt, turn_of};
use crate::renderer::Renderer;

/// What a model's output looks like, loaded at run time: it renders prompts, parses outputs and writes grammars.
///
/// It owns everything that it needs, is `Send + Sync + 'static`, and a clone costs one reference count. One model serves any
/// number of requests at once.
///
/// ```
/// use unjinja_dynamic::{Model, Options, Status};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let model = Model::from_template(template)?;
/// assert_eq!(model.status(), Status::Supported);
/// assert_eq!(model.parse("Hello!</>", &Options::new()).content, "Hello!");
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone)]
pub struct Model(Arc<ModelInner>);

/// A model's output as it arrives: the parser of one turn. It owns its parser and its options, is `Send + 'static`, and can
/// be moved between tasks.
pub type ModelStream = Stream<Interpreter>;

struct ModelInner {
    spec: FormatSpec,
    parser: Interpreter,
    renderer: Option<Renderer>,
    corrections: Vec<Correction>,
    cache: CacheUse,
    /// What llguidance keeps apart from text, once a grammar has needed it.
    #[cfg(feature = "grammar")]
    named: OnceLock<Vec<SpecialToken>>,
}

impl Model {
    pub(crate) fn new(
        spec: FormatSpec,
        renderer: Option<Renderer>,
        corrections: Vec<Correction>,
        cache: CacheUse,
    ) -> Result<Self, LowerError> {
        let parser = parser_of(&spec)?;
        Ok(Self(Arc::new(ModelInner {
            spec,
            parser,
            renderer,
            corrections,
            cache,
            #[cfg(feature = "grammar")]
            named: OnceLock::new(),
        })))
    }

    /// The tokens of the format's markers that llguidance keeps apart from text, as the files beside the template say. A grammar for it
    /// names them, unless its options give special tokens.
    #[cfg(feature = "grammar")]
    pub fn named_tokens(&self) -> &[SpecialToken] {
        let find =
            || self.0.renderer.as_ref().map(|renderer| named_tokens(&renderer.source, &self.0.spec.tokens.preserved));
        self.0.named.get_or_init(|| find().unwrap_or_default())
    }

    /// The name of the model's spec: lower-case letters, digits and `_`. It is made from the file's name unless
    /// [`Loader::name`](crate::Loader::name) gives another.
    pub fn name(&self) -> &str {
        &self.0.spec.template.name
    }

    /// The format spec, with the overlays applied. Its `evidence` is that of the analysis, before the overlays.
    pub fn spec(&self) -> &FormatSpec {
        &self.0.spec
    }

    /// How much of what the template renders the parser reads. If it is not [`Status::Supported`], [`gaps`](Self::gaps)
    /// says what is missing.
    ///
    /// A model can be [`Status::Unsupported`]: its template renders calls in a way that the spec language cannot express.
    /// Its parser then reads reasoning and the answer, and calls come as content. Whether that will do is the caller's
    /// decision.
    pub fn status(&self) -> Status {
        self.0.spec.status
    }

    /// What is missing, one plain sentence each; empty if and only if the format is supported.
    pub fn gaps(&self) -> &[String] {
        &self.0.spec.gaps
    }

    /// The text of the template; `None` if the model was made from a spec alone.
    pub fn template(&self) -> Option<&str> {
        self.0.renderer.as_ref().map(|renderer| renderer.source.text.as_str())
    }

    /// The template, parsed, with the special tokens that it writes: what [`verify`](unjinja_analyzer::verify) and other tools of the
    /// project take.
    ///
    /// # Errors
    /// If the model was made from a spec alone, or the template has a syntax error.
    pub fn parsed_template(&self) -> Result<&Template, ModelError> {
        self.renderer()?.template()
    }

    /// Whether the special tokens of the model's tokenizer are known: the template's file gave them, or [`Loader::tokens`] did.
    /// A template that came alone writes tokens whose texts nobody told, so its prompts lack them.
    ///
    /// ```
    /// let model = unjinja_dynamic::Model::from_template("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}")?;
    /// assert!(!model.knows_tokens());
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    ///
    /// [`Loader::tokens`]: crate::Loader::tokens
    pub fn knows_tokens(&self) -> bool {
        self.0.renderer.as_ref().is_some_and(|renderer| renderer.source.knows_tokens())
    }

    fn renderer(&self) -> Result<&Renderer, ModelError> {
        self.0.renderer.as_ref().ok_or_else(|| ModelError::NoTemplate { name: self.name().to_owned() })
    }

    /// The overlays that were applied, and why, in the order of their application.
    pub fn corrections(&self) -> &[Correction] {
        &self.0.corrections
    }

    /// What the cache folder did for this model. A folder that cannot be written to is reported here and nowhere else.
    pub fn cache(&self) -> &CacheUse {
        &self.0.cache
    }

    /// The parser. It implements [`ChatParser`], as compiled parsers do; [`to_boxed`](ChatParser::to_boxed) puts both into
    /// one list.
    pub fn parser(&self) -> &Interpreter {
        &self.0.parser
    }

    /// Parses a whole output: text, or bytes. Bytes that are not UTF-8 come back as U+FFFD, with a diagnostic.
    pub fn parse<'t>(&self, output: impl Into<Chunk<'t>>, options: &Options) -> Message {
        parse(self.parser().clone(), output, options)
    }

    /// Parses a whole output. The message borrows what appears unchanged in `output`.
    pub fn parse_borrowed<'t>(&self, output: impl Into<Chunk<'t>>, options: &Options) -> BorrowedMessage<'t> {
        self.parser().parse_borrowed(output.into(), options)
    }

    /// A streaming parser for one turn. It does not borrow from the model or the options.
    ///
    /// ```
    /// # let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
    /// #     {% if add_generation_prompt %}<assistant>{% endif %}";
    /// # let model = unjinja_dynamic::Model::from_template(template)?;
    /// use unjinja_dynamic::{Message, Options};
    ///
    /// let mut stream = model.stream(&Options::new());
    /// let task = std::thread::spawn(move || {
    ///     let mut message = Message::default();
    ///     for piece in ["Hel", "lo!<", "/>"] {
    ///         stream.push(piece, |event| message.apply(&event));
    ///     }
    ///     stream.finish(|event| message.apply(&event));
    ///     message
    /// });
    /// assert_eq!(task.join().expect("no panic").content, "Hello!");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn stream(&self, options: &Options) -> ModelStream {
        Stream::new(self.parser().clone(), options)
    }

    /// The prompt for a conversation, and where the assistant's turn begins in it. Pass [`Prompt::turn`] to [`Options::generation_prompt`], so that the parser knows where the output begins.
    /// The template is rendered twice: with the generation prompt, and without.
    ///
    /// # Errors
    /// Those of [`render`](Self::render).
    pub fn prompt(&self, conversation: &Conversation) -> Result<Prompt, ModelError> {
        let before = self.render(&conversation.clone().generation_prompt(false))?;
        let text = self.render(conversation)?;
        Ok(Prompt::new(text, &before, self.clone(), conversation.clone()))
    }

    /// What a conversation hands over and its prompt lacks: tools, calls, results, contents, and reasoning of the present turn. A
    /// template drops what it does not read.
    pub fn missing(&self, prompt: &LabelledPrompt) -> Vec<Missing> {
        missing(prompt, self.spec())
    }

    /// What a rendered prompt has of the assistant's turn, where only its text is known. [`prompt`](Self::prompt) knows it better: it
    /// has the conversation.
    ///
    /// It is the longest end of the prompt that `add_generation_prompt` is known to write. If there is none, the prompt may end in a
    /// turn that the model is to continue: that is the text after the last marker of an assistant's turn, unless this turn is
    /// over or has made a call.
    ///
    /// ```
    /// # let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
    /// #     {% if add_generation_prompt %}<assistant>{% endif %}";
    /// # let model = unjinja_dynamic::Model::from_template(template)?;
    /// assert_eq!(model.turn_of("<assistant>Hi!</><user>Hello</><assistant>"), "<assistant>");
    /// assert_eq!(model.turn_of("<user>Hello</><assistant>Good mor"), "<assistant>Good mor");
    /// assert_eq!(model.turn_of("<assistant>Hi!</><user>Hello</>"), "");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn turn_of<'p>(&self, prompt: &'p str) -> &'p str {
        turn_of(self.parser(), &self.spec().turn, prompt)
    }

    /// What a template writes for a conversation. Its messages are handed over in the forms that the template reads;
    /// [`Conversation::as_given`] leaves them alone, and the text is then exactly that of `apply_chat_template` of Hugging Face. For a
    /// prompt, use [`prompt`](Self::prompt).
    ///
    /// # Errors
    /// If the model was made from a spec alone, and whatever the template raises, with its line.
    pub fn render(&self, conversation: &Conversation) -> Result<String, ModelError> {
        self.renderer()?.render(conversation, self.spec())
    }

    /// The same with the origin of each byte: the template, or a field of the conversation.
    ///
    /// ```
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// let model = Model::from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")?;
    /// let prompt = model.render_labelled(&Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}])))?;
    /// assert_eq!(prompt.text, "<user>Hello</>");
    /// assert_eq!(prompt.labels.spans()[3].range, 6..11);
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`render`](Self::render).
    pub fn render_labelled(&self, conversation: &Conversation) -> Result<LabelledPrompt, ModelError> {
        self.renderer()?.render_labelled(conversation, self.spec())
    }
}

/// The parser of a spec. Code generation refuses an unsupported spec, because nobody reads its status at run time. Here the
/// caller can, so a parser is made of what is known.
fn parser_of(spec: &FormatSpec) -> Result<Interpreter, LowerError> {
    if spec.status.makes_parser() {
        return interpreter(spec);
    }
    let mut known = spec.clone();
    known.status = Status::Partial;
    interpreter(&known)
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.name())
            .field("status", &self.status())
            .field("gaps", &self.gaps())
            .finish_non_exhaustive()
    }
}

/// A rendered prompt. The parser has to know how it ends, because the model's output begins there: it may already open the
/// reasoning.
///
/// ```
/// use unjinja_dynamic::{Conversation, Model, Options};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let model = Model::from_template(template)?;
/// let prompt = model.prompt(&Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}])))?;
/// assert_eq!((prompt.text(), prompt.turn()), ("<user>Hello</><assistant>", "<assistant>"));
/// let message = model.parse("Good morning!</>", &Options::new().generation_prompt(prompt.turn()));
/// assert_eq!(message.content, "Good morning!");
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone)]
pub struct Prompt {
    text: String,
    /// The offset of the turn.
    turn: usize,
    /// What was rendered. It is rendered again, with labels, for who asks what is missing.
    model: Model,
    conversation: Conversation,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("text", &self.text).field("turn", &self.turn()).finish_non_exhaustive()
    }
}

/// Two prompts are equal if they have the same text and the turn begins in the same place.
impl PartialEq for Prompt {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.turn) == (&other.text, other.turn)
    }
}

impl Eq for Prompt {}

impl Prompt {
    /// `before` is the same conversation without a generation prompt.
    pub(crate) fn new(text: String, before: &str, model: Model, conversation: Conversation) -> Self {
        let turn = text.len() - model.spec().begun_by(&text, before).len();
        Self { text, turn, model, conversation }
    }

    /// What the conversation hands over and the prompt lacks, because the template does not write it. Reasoning of earlier turns is not
    /// among it: templates leave it out on purpose. This renders the conversation once more, with the origin of each byte.
    ///
    /// ```
    /// use serde_json::json;
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// let model = Model::from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")?;
    /// let conversation = Conversation::new(json!([{"role": "user", "content": "Run!"}]));
    /// let prompt = model.prompt(&conversation.tools(json!([{"type": "function", "function": {"name": "run"}}])))?;
    /// assert_eq!(prompt.missing()[0].to_string(), "tool:run");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn missing(&self) -> Vec<Missing> {
        let labelled = self.model.render_labelled(&self.conversation);
        labelled.map(|prompt| self.model.missing(&prompt)).unwrap_or_default()
    }

    /// All of it: what the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All of it, owned.
    pub fn into_text(self) -> String {
        self.text
    }

    /// What the prompt has of the assistant's turn: pass it to [`Options::generation_prompt`](crate::Options::generation_prompt)
    /// and [`GrammarOptions::generation_prompt`](crate::GrammarOptions::generation_prompt). It is empty if the template adds
    /// nothing for the model to continue. Where the template writes the start of the turn together with the user's message, it is
    /// the markers of reasoning at the end of the prompt.
    pub fn turn(&self) -> &str {
        &self.text[self.turn..]
    }
}

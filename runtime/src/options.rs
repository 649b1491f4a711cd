//! The options of a parser: what a caller knows about a turn before the model writes it.

mod code_fence;
mod cut_calls;

pub(crate) use code_fence::Filter;
pub use cut_calls::CutCalls;
pub(crate) use cut_calls::Hold;

use std::sync::Arc;

use crate::tools::Tools;
use code_fence::Fence;

/// What a caller knows about a turn before the model writes it. Cheap to clone.
///
/// ```
/// use unjinja_runtime::{Options, Tools};
///
/// let tools = Tools::from_json(r#"[{"type": "function", "function": {"name": "now"}}]"#)?;
/// let options = Options::new()
///     .tools(&tools) // their schemas type the arguments
///     .thinking(true) // how the template's switch was set
///     .parallel_tool_calls(false); // a second call is broken markup
///
/// // Or pass the end of the prompt: it says where the output begins, and takes precedence over `thinking`.
/// let options = options.generation_prompt("<|im_start|>assistant\n<think>\n");
/// # Ok::<(), unjinja_runtime::ToolsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) tools: Tools,
    pub(crate) thinking: Option<bool>,
    pub(crate) generation_prompt: Option<String>,
    pub(crate) continue_from: String,
    pub(crate) extract_reasoning: bool,
    pub(crate) parallel_tool_calls: bool,
    /// The names of the tools that may be called; `None` if any may.
    pub(crate) callable: Option<Arc<[String]>>,
    pub(crate) demands_call: bool,
    pub(crate) calls_end_reasoning: bool,
    pub(crate) unparsed: Unparsed,
    /// Whether calls that are cut off are dropped.
    pub(crate) drops_calls: bool,
    /// Makes what holds back events of calls.
    pub(crate) hold: Option<fn() -> Box<dyn Hold>>,
    /// The special tokens of the tokenizer, if text that spells one is no marker.
    pub(crate) special_tokens: Option<Arc<[String]>>,
    /// Makes the filter that the answer goes through.
    pub(crate) filter: Option<fn() -> Box<dyn Filter>>,
}

/// Where broken markup goes: a call that breaks off before its arguments, a closing marker that closes nothing, text where only
/// markers may be. Prose that mentions a marker is content in any case.
///
/// In both cases no text is lost, and a diagnostic says what was broken and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unparsed {
    /// Into the content, as the model wrote it.
    #[default]
    Content,
    /// Into [`Event::Unparsed`](crate::Event::Unparsed) and [`Message::unparsed`](crate::Message::unparsed), so that users
    /// never see it.
    Separate,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tools: Tools::empty(),
            thinking: None,
            generation_prompt: None,
            continue_from: String::new(),
            extract_reasoning: true,
            parallel_tool_calls: true,
            callable: None,
            demands_call: false,
            calls_end_reasoning: true,
            unparsed: Unparsed::Content,
            drops_calls: false,
            hold: None,
            special_tokens: None,
            filter: None,
        }
    }
}

impl Options {
    /// No tools; thinking as the template does by default; reasoning is separated from the content.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools offered: their names and the JSON schemas that type their arguments.
    pub fn tools(mut self, tools: &Tools) -> Self {
        self.tools = tools.clone();
        self
    }

    /// The same for a run whose events nobody gets: all calls count, and nothing is held back.
    pub(crate) fn of_trial(&self) -> Self {
        let (extract_reasoning, parallel_tool_calls, unparsed) = (true, true, Unparsed::Separate);
        let own = Self { extract_reasoning, parallel_tool_calls, unparsed, ..Self::default() };
        Self { tools: self.tools.clone(), special_tokens: self.special_tokens.clone(), ..own }
    }

    /// The value of the template's thinking switch.
    pub fn thinking(mut self, on: bool) -> Self {
        self.thinking = Some(on);
        self
    }

    /// The end of the rendered prompt, from the assistant's turn on: what `add_generation_prompt` adds. It takes precedence over
    /// [`thinking`](Self::thinking). Text after the generation prompt is part of the message.
    ///
    /// A whole prompt is cut: what comes before its last marker of an assistant's turn is left out (`turn.assistant_start` of the
    /// spec, or `turn.user_end` where nothing else opens the turn). That is the right place after a user's message. If a turn
    /// continues after the result of a call, the call may be taken for a part of the message.
    /// `unjinja_dynamic::Model::prompt` and `unjinja_server::Prepared::render` cut a prompt in the right place;
    /// `unjinja_spec::FormatSpec::begun_by` cuts one that you rendered with and without `add_generation_prompt`.
    pub fn generation_prompt(mut self, text: impl Into<String>) -> Self {
        self.generation_prompt = Some(text.into());
        self
    }

    /// The beginning of the assistant's turn that the model continues, in the model's own format. It is part of the
    /// message.
    pub fn continue_from(mut self, prefix: impl Into<String>) -> Self {
        self.continue_from = prefix.into();
        self
    }

    /// Whether reasoning is separated from the content (the default) or left in it, with its markers.
    pub fn extract_reasoning(mut self, on: bool) -> Self {
        self.extract_reasoning = on;
        self
    }

    /// Whether the model may make more than one call (the default). If not, further calls are broken markup, each with a
    /// diagnostic of the kind [`ParallelCall`](crate::DiagnosticKind::ParallelCall). Only a grammar keeps a model from writing
    /// them.
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.parallel_tool_calls = on;
        self
    }

    /// The only tools that may be called, by name: what a request's `tool_choice` says. With no name, nothing is a call, as with
    /// OpenAI's `"none"`. Any other call is broken markup, with a diagnostic of the kind
    /// [`ForbiddenCall`](crate::DiagnosticKind::ForbiddenCall). Without this option calls of all tools are calls, also those that
    /// were not offered. Only a grammar can make a model call a tool.
    ///
    /// ```
    /// use unjinja_runtime::Options;
    ///
    /// let named = Options::new().callable(["get_weather"]);
    /// let none = Options::new().callable::<String>([]);
    /// ```
    pub fn callable<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.callable = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Whether the request demands a call: a message without one has a diagnostic of the kind
    /// [`MissingCall`](crate::DiagnosticKind::MissingCall); see
    /// [`Message::note_missing`](crate::Message::note_missing).
    pub fn demands_call(mut self, on: bool) -> Self {
        self.demands_call = on;
        self
    }

    /// Whether a call may end reasoning that is still open.
    pub(crate) fn may_end_reasoning(&self) -> bool {
        self.calls_end_reasoning && self.callable.as_ref().is_none_or(|names| !names.is_empty())
    }

    /// Whether a call ends reasoning that is still open (the default), in formats that allow that. If not, markup of calls in
    /// reasoning is text: a model that plans a call there does not make it.
    pub fn calls_end_reasoning(mut self, on: bool) -> Self {
        self.calls_end_reasoning = on;
        self
    }

    /// Where broken markup goes: into the content (the default), or into events and a field of its own.
    pub fn unparsed(mut self, unparsed: Unparsed) -> Self {
        self.unparsed = unparsed;
        self
    }

    /// What becomes of a call that is cut off: it is kept (the default), its arguments are completed, or it is no call.
    ///
    /// ```
    /// # use unjinja_runtime::{Interpreter, abi::*};
    /// # const OPEN: &[Marker] = &[Marker::new("<call>")];
    /// # const NAMED: &[Marker] = &[Marker::new("(")];
    /// # const CLOSE: &[Marker] = &[Marker::new(")")];
    /// # static TO_NAME: &[Transition] = &[Transition::new("call.open", const { &[Action::Speculate] }, StateId(1))];
    /// # static TO_JSON: &[Transition] = &[Transition::new("call.name", const { &[Action::StartCall] }, StateId(2))];
    /// # static TO_TEXT: &[Transition] = &[Transition::new("call.close", const { &[Action::EndCall] }, StateId(0))];
    /// # static PROGRAM: Program = Program::new(
    /// #     ModelInfo::named("calls"),
    /// #     const { &[
    /// #         State::new("CONTENT", Some(Hole::Text(Channel::Content))).markers(OPEN, TO_NAME).end(&[]),
    /// #         State::new("NAME", Some(Hole::Name)).markers(NAMED, TO_JSON).end(&[]),
    /// #         State::new("JSON", Some(Hole::Json)).markers(CLOSE, TO_TEXT).end(&[]),
    /// #     ] },
    /// #     StateId(0),
    /// # );
    /// # let parser = Interpreter::from_static(&PROGRAM);
    /// use unjinja_runtime::{CutCalls, Options, Unparsed, parse};
    ///
    /// let output = r#"<call>get_weather({"city": "Par"#;
    /// let read = |cut_calls| parse(parser.clone(), output, &Options::new().cut_calls(cut_calls).unparsed(Unparsed::Separate));
    /// assert_eq!(read(CutCalls::Keep).tool_calls[0].arguments, r#"{"city": "Par"#);
    /// assert_eq!(read(CutCalls::Close).tool_calls[0].arguments, r#"{"city": "Par"}"#);
    /// assert_eq!(read(CutCalls::Drop).unparsed, output);
    /// ```
    pub fn cut_calls(mut self, cut_calls: CutCalls) -> Self {
        self.drops_calls = cut_calls == CutCalls::Drop;
        self.hold = cut_calls.hold();
        self
    }

    /// The texts of the tokenizer's special tokens. A marker that holds one counts only where it arrives as a special token,
    /// with [`Stream::push_token`](crate::Stream::push_token); text that spells it is text, such as a page that a model quotes.
    /// Markers without special tokens are found in any text.
    ///
    /// Only streams can tell; a whole output is read as if this were not set. Tokens that the tokenizer adds, but that it
    /// writes as plain text, must not be among them.
    ///
    /// ```
    /// # use unjinja_runtime::{Interpreter, abi::*};
    /// # const END: &[Marker] = &[Marker::new("<|end|>")];
    /// # static OVER: &[Transition] = &[Transition::new("turn.end", &[], StateId(1))];
    /// # static PROGRAM: Program = Program::new(
    /// #     ModelInfo::named("plain"),
    /// #     const { &[
    /// #         State::new("CONTENT", Some(Hole::Text(Channel::Content))).markers(END, OVER).end(&[]),
    /// #         State::new("OVER", None).end(&[]),
    /// #     ] },
    /// #     StateId(0),
    /// # );
    /// # let parser = Interpreter::from_static(&PROGRAM);
    /// use unjinja_runtime::{Message, Options, Stream, Token};
    ///
    /// let options = Options::new().special_tokens(["<|end|>"]);
    /// let mut stream = Stream::new(parser, &options);
    /// let mut message = Message::default();
    /// for token in ["It ends with ", "<|end|>", "."].map(Token::text).into_iter().chain([Token::special("<|end|>")]) {
    ///     stream.push_token(token, |event| message.apply(&event));
    /// }
    /// stream.finish(|event| message.apply(&event));
    /// assert_eq!(message.content, "It ends with <|end|>.");
    /// ```
    pub fn special_tokens<T: Into<String>>(mut self, tokens: impl IntoIterator<Item = T>) -> Self {
        self.special_tokens = Some(tokens.into_iter().map(Into::into).collect());
        self
    }

    /// Whether the answer has to be JSON for a response schema. If so, a Markdown code fence around it is syntax.
    pub fn json_response(mut self, on: bool) -> Self {
        self.filter = on.then_some(Fence::filter);
        self
    }
}

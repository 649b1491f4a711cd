//! What a template is rendered with: the messages, the tools and the variables of one request.

use serde_json::{Map, Value};
use unjinja_render::{Clock, Follows};
use unjinja_spec::{FormatSpec, WrittenTags};

/// What time it is, in the time zone of the machine; in UTC without the feature `time-zone`. In WebAssembly, which has no clock, it is a
/// fixed time: noon of 15 January 2026.
pub fn local_time() -> Clock {
    #[cfg(target_family = "wasm")]
    return Clock::default();
    #[cfg(not(target_family = "wasm"))]
    {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seconds = now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        #[cfg(feature = "time-zone")]
        let seconds = seconds + i64::from(jiff::ZonedDateTime::now().offset().seconds());
        Clock::from_unix_seconds(seconds)
    }
}

/// A conversation to render: what `apply_chat_template` takes.
///
/// ```
/// use unjinja_dynamic::{Conversation, Model};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let model = Model::from_template(template)?;
/// let conversation = Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}]));
/// assert_eq!(model.render(&conversation)?, "<user>Hello</><assistant>");
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversation {
    pub(crate) variables: Map<String, Value>,
    thinking: Option<bool>,
    pub(crate) clock: Clock,
    pub(crate) as_given: bool,
    pub(crate) follows: Follows,
}

impl Conversation {
    /// These messages: a JSON list of `{"role", "content", …}`, as OpenAI has it. A [`Message`](crate::Message) that was parsed,
    /// serialized, is one of them. The generation prompt is added, no tools are offered, and every other variable of the
    /// template is unset.
    ///
    /// The messages are handed to the template in the forms that it reads, as [`FormatSpec::hand_over`]
    /// says. See [`as_given`](Self::as_given).
    pub fn new(messages: impl Into<Value>) -> Self {
        let mut variables = Map::new();
        variables.insert("messages".to_owned(), messages.into());
        variables.insert("add_generation_prompt".to_owned(), Value::Bool(true));
        Self { variables, thinking: None, clock: local_time(), as_given: false, follows: Follows::Jinja2 }
    }

    /// The variables of a template in one JSON object, such as `context` of `unjinja_server::Prepared`: `messages`,
    /// `add_generation_prompt` and the others. Nothing is added to them. A value that is not an object has no variables.
    pub fn from_context(context: &Value) -> Self {
        let variables = context.as_object().cloned().unwrap_or_default();
        Self { variables, thinking: None, clock: local_time(), as_given: true, follows: Follows::Jinja2 }
    }

    /// The same with other messages.
    pub fn with_messages(self, messages: impl Into<Value>) -> Self {
        self.variable("messages", messages)
    }

    /// The messages, as they were given.
    pub fn messages(&self) -> &[Value] {
        self.variables.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The tools that the request offers: a JSON list of `{"type": "function", "function": {…}}`. `null` and an empty list
    /// offer none.
    pub fn tools(mut self, tools: impl Into<Value>) -> Self {
        let tools = tools.into();
        self.variables.remove("tools");
        if !(tools.is_null() || tools.as_array().is_some_and(Vec::is_empty)) {
            self.variables.insert("tools".to_owned(), tools);
        }
        self
    }

    /// The tools that the request offers, if any.
    pub fn offered_tools(&self) -> Option<&Value> {
        self.variables.get("tools").filter(|tools| tools.is_array())
    }

    /// Switches thinking on or off with the variable that the template reads for it (`reasoning.switch` of the spec). It
    /// does nothing if the template has no such variable.
    pub fn thinking(mut self, on: bool) -> Self {
        self.thinking = Some(on);
        self
    }

    /// Whether the prompt ends with the beginning of the assistant's turn. The default is true.
    pub fn generation_prompt(self, on: bool) -> Self {
        self.variable("add_generation_prompt", on)
    }

    /// Any other variable of the template.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The time that `strftime_now` tells the template. The default is [`local_time`] when this conversation was made: each of its
    /// renders has the same. A conversation whose prompt shall be the same on every day, as in a test, needs a fixed one.
    ///
    /// ```
    /// use unjinja_dynamic::{Clock, Conversation, Model};
    ///
    /// let model = Model::from_template("{{ strftime_now('%d %B') }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")?;
    /// let conversation = Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}]));
    /// let conversation = conversation.clock(Clock { year: 2026, month: 5, day: 1, ..Clock::default() });
    /// assert_eq!(model.render(&conversation)?, "01 May<user>Hello</>");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Hands the messages to the template as `apply_chat_template` of transformers does in its newest version,
    /// [`Follows::NEWEST`]: what the template does not read in this form is lost, or makes it fail.
    ///
    /// ```
    /// use serde_json::json;
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// // It reads reasoning in a field of its own.
    /// let model = Model::from_template("{% for m in messages %}<{{ m.role }}>{% if m.thought %}<think>{{ m.thought }}</think>\
    ///     {% endif %}{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")?;
    /// let turn = json!([
    ///     {"role": "user", "content": "2 + 2?"},
    ///     {"role": "assistant", "content": "4", "reasoning_content": "Easy."},
    /// ]);
    /// let turn = Conversation::new(turn).generation_prompt(false);
    /// assert_eq!(model.render(&turn)?, "<user>2 + 2?</><assistant><think>Easy.</think>4</>");
    /// assert_eq!(model.render(&turn.as_given())?, "<user>2 + 2?</><assistant>4</>");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn as_given(mut self) -> Self {
        (self.as_given, self.follows) = (true, Follows::NEWEST);
        self
    }

    /// The variables of the template, in the forms that the spec names, and the tags that were written into messages for that.
    pub(crate) fn variables_for(&self, spec: &FormatSpec) -> (Map<String, Value>, Vec<WrittenTags>) {
        let mut variables = self.variables.clone();
        if let (Some(on), false) = (self.thinking, spec.reasoning.switch.is_empty()) {
            variables.insert(spec.reasoning.switch.clone(), Value::Bool(on));
        }
        let tags = if self.as_given { Vec::new() } else { spec.hand_over(&mut variables) };
        (variables, tags)
    }
}

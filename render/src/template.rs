//! The public types: a parsed template, and how it is rendered.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builtins::filter_names::FROM_JSON;
use crate::clock::Clock;
use crate::error::{Fault, Outcome, RenderError, RenderErrorKind, TemplateError};
use crate::eval::interpreter::Interpreter;
use crate::eval::statements;
use crate::follows::Follows;
use crate::labels::Labels;
use crate::limits::Limits;
use crate::marks::{Mark, PathStep};
use crate::reads::Reads;
use crate::run::{Run, why_refused};
use crate::stack::{self, with_big_stack};
use crate::syntax::ast::Parsed;
use crate::syntax::{inspect, parse};
use crate::value::json::{Origin, from_json};
use crate::value::labelled::{Buffer, BufferMarks};
use crate::value::map::Key;
use crate::value::types::{Global, Map, Text, Value};

/// A parsed chat template.
///
/// A clone shares the parsed template. Rendering does not change it, so one template serves any number of threads.
///
/// ```
/// use unjinja_render::Template;
///
/// let template = Template::parse("chat.jinja", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")?;
/// let context = serde_json::json!({ "messages": [{ "role": "user", "content": "Hi!" }] });
/// assert_eq!(template.render(&context)?, "user: Hi!\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Template {
    name: Arc<str>,
    source: Arc<str>,
    parsed: Arc<Parsed>,
    limits: Limits,
    clock: Clock,
    tokens: SpecialTokens,
    integer_key: Option<&'static str>,
}

/// The texts of a model's special tokens, as its `tokenizer_config.json` gives them. Transformers hands them to the template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// `bos_token`: begins every text.
    pub bos: Option<String>,
    /// `eos_token`: ends every turn or text.
    pub eos: Option<String>,
    /// All others under the names that templates know them by: `pad_token`, `sep_token`, `image_token`, …, each a text.
    pub others: serde_json::Map<String, serde_json::Value>,
}

/// What a render does in addition to returning the text. The default: the template's own limits, and nothing is recorded.
///
/// ```
/// use unjinja_render::{Limits, RenderOptions, Template};
///
/// let mut limits = Limits::default();
/// limits.fuel = 1_000;
/// let template = Template::parse("t.jinja", "{{ name }}")?;
/// let rendered = template.render_with(&serde_json::json!({ "name": "Ada" }), &RenderOptions::new().limits(limits));
/// assert_eq!(rendered.result?, "Ada");
/// assert!(rendered.steps < 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RenderOptions {
    limits: Option<Limits>,
    clock: Option<Clock>,
    record_reads: bool,
    label: bool,
    only_context: bool,
    follows: Follows,
}

impl RenderOptions {
    /// The default options.
    pub fn new() -> RenderOptions {
        RenderOptions::default()
    }

    /// Renders within these limits instead of the template's.
    pub fn limits(mut self, limits: Limits) -> RenderOptions {
        self.limits = Some(limits);
        self
    }

    /// Renders at this time instead of the template's.
    pub fn clock(mut self, clock: Clock) -> RenderOptions {
        self.clock = Some(clock);
        self
    }

    /// Labels each part of the text with the field that it comes from; see [`Labels`]. The text and the steps are those of
    /// a plain render. Labels count among the [`Limits::value_bytes`], with 24 bytes for each part of a value.
    ///
    /// ```
    /// use unjinja_render::{Origin, RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "Hello {{ name }}!")?;
    /// let rendered = template.render_with(&serde_json::json!({ "name": "Ada" }), &RenderOptions::new().label(true));
    /// let labels = rendered.labels.ok_or("a labelled render has labels")?;
    /// let spans: Vec<_> = labels.spans().iter().map(|span| span.range.clone()).collect();
    /// assert_eq!(spans, [0..6, 6..9, 9..10]);
    /// assert!(matches!(&labels.spans()[1].origin, Origin::Field(field) if &*field.path == "name"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn label(mut self, label: bool) -> RenderOptions {
        self.label = label;
        self
    }

    /// Renders with the variables of the context and the special tokens only: `tools`, `documents` and
    /// `add_generation_prompt`, which `apply_chat_template` always sets, are undefined where the context has none of them.
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{{ tools is defined }}")?;
    /// let context = serde_json::json!({});
    /// assert_eq!(template.render(&context)?, "True");
    /// assert_eq!(template.render_with(&context, &RenderOptions::new().only_context(true)).result?, "False");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn only_context(mut self, only: bool) -> RenderOptions {
        self.only_context = only;
        self
    }

    /// Follows this version of transformers: see [`Follows`]. The default is Jinja2.
    pub fn follow(mut self, follows: Follows) -> RenderOptions {
        self.follows = follows;
        self
    }

    /// Records which parts of the context the template looks at.
    pub fn record_reads(mut self, record: bool) -> RenderOptions {
        self.record_reads = record;
        self
    }
}

/// A finished render, successful or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text, or why rendering failed.
    pub result: Result<String, RenderError>,
    /// What the template looked at, up to the error if there was one. Empty unless
    /// [`RenderOptions::record_reads`] was set; [`Reads::decided`] is filled by [`RenderOptions::label`] instead.
    pub reads: Reads,
    /// Where each part of the text comes from, if [`RenderOptions::label`] was set. Without spans if the render failed.
    pub labels: Option<Labels>,
    /// The steps that the render took; see [`Limits::fuel`].
    pub steps: u64,
    /// Why transformers refuses to render this, in words, where the text is rendered here: a method that changes a value (its sandbox
    /// forbids them), a filter that it does not have, a name of a namespace that begins with `_`, or a template that fails because
    /// `tools` is None.
    pub refused_by_transformers: Option<String>,
}

impl Template {
    /// Parses a template. `name` is used in error messages: a file name or a model's name.
    ///
    /// # Errors
    /// A syntax error, or a source that is too large or nests too deep to be a chat template; with the line and an excerpt.
    ///
    /// ```
    /// use unjinja_render::Template;
    ///
    /// let error = Template::parse("broken.jinja", "Hi\n{% if name %}").unwrap_err();
    /// assert_eq!(error.line(), 2);
    /// assert_eq!(error.message(), "`if` is opened here and never closed with `endif`");
    /// ```
    pub fn parse(name: &str, source: &str) -> Result<Template, TemplateError> {
        let limits = Limits::default();
        if source.len() > limits.source_bytes {
            let message = format!("a template of {} bytes, more than {}", source.len(), limits.source_bytes);
            return Err(TemplateError::new(name, "", 1, message));
        }
        let text = parse::normalise(source);
        let body = with_big_stack(|| parse::parse(name, &text, stack::bounds()));
        let (line, message) = match body {
            Ok(Ok(parsed)) => {
                return Ok(Template {
                    name: name.into(),
                    source: source.into(),
                    parsed: Arc::new(parsed),
                    limits,
                    clock: Clock::default(),
                    tokens: SpecialTokens::default(),
                    integer_key: None,
                });
            }
            Ok(Err(problem)) => (problem.line.max(1), problem.message),
            Err(panicked) => (1, panicked.to_string()),
        };
        Err(TemplateError::new(name, &text, line, message))
    }

    /// The same template with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Template {
        self.limits = limits;
        self
    }

    /// The same template at another time, for `strftime_now`.
    pub fn with_clock(mut self, clock: Clock) -> Template {
        self.clock = clock;
        self
    }

    /// The same template with the special tokens of a tokenizer: `bos_token`, `eos_token` and the others have these texts,
    /// unless the context has variables of these names. A token that is absent here is undefined.
    ///
    /// ```
    /// use unjinja_render::{SpecialTokens, Template};
    ///
    /// let tokens = SpecialTokens { eos: Some("</s>".to_owned()), ..SpecialTokens::default() };
    /// let template = Template::parse("turn.jinja", "{{ text + eos_token }}")?.with_tokens(tokens);
    /// assert_eq!(template.render(&serde_json::json!({ "text": "hi" }))?, "hi</s>");
    /// assert_eq!(template.render(&serde_json::json!({ "text": "hi", "eos_token": "." }))?, "hi.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_tokens(mut self, tokens: SpecialTokens) -> Template {
        self.tokens = tokens;
        self
    }

    /// The same template, for contexts in which an object with this key alone stands for the integer whose digits are its value: JSON
    /// values of `serde_json` have no integers beyond 64 bits.
    pub fn with_integer_key(mut self, key: &'static str) -> Template {
        self.integer_key = Some(key);
        self
    }

    /// The special tokens given with [`with_tokens`](Template::with_tokens).
    pub fn tokens(&self) -> &SpecialTokens {
        &self.tokens
    }

    /// The name given to [`parse`](Template::parse).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The source given to [`parse`](Template::parse).
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The limits of a render.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Renders the template as `apply_chat_template` would. `context` is a JSON object of variables: `messages`, `tools`,
    /// `add_generation_prompt` and whatever else the template reads; `null` means no variables.
    ///
    /// `apply_chat_template` always sets `tools`, `documents` and `add_generation_prompt`. Where the context has none of them,
    /// they are `None`, `None` and false. A few templates fail at a `None`, but not where the variable is undefined. They are
    /// rendered without it, although transformers reports the error.
    ///
    /// ```
    /// use unjinja_render::Template;
    ///
    /// let context = serde_json::json!({ "messages": [] });
    /// let asks = Template::parse("asks.jinja", "{% if tools is none %}no tools{% endif %}")?;
    /// assert_eq!(asks.render(&context)?, "no tools");
    /// let iterates = Template::parse("iterates.jinja", "{% for tool in tools %}{{ tool }}{% endfor %}no tools")?;
    /// assert_eq!(iterates.render(&context)?, "no tools");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Whatever Jinja2 would raise, with its line; and [`RenderErrorKind::Limit`](crate::RenderErrorKind::Limit) if the
    /// template needs more than its [`Limits`].
    pub fn render(&self, context: &serde_json::Value) -> Result<String, RenderError> {
        self.render_with(context, &RenderOptions::default()).result
    }

    /// Renders the template and reports on the render.
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{% if enable_thinking is defined %}think{% endif %}")?;
    /// let rendered = template.render_with(&serde_json::json!({}), &RenderOptions::new().record_reads(true));
    /// assert_eq!(rendered.result?, "");
    /// assert!(rendered.reads.contains("enable_thinking"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn render_with(&self, context: &serde_json::Value, options: &RenderOptions) -> Rendered {
        let context = &*options.follows.context(context);
        let limits = &options.limits.as_ref().unwrap_or(&self.limits).of_render(context);
        if options.only_context {
            return self.rendered(context, options, limits, NotGiven::AsInContext);
        }
        let rendered = self.rendered(context, options, limits, NotGiven::None);
        if options.follows != Follows::Jinja2 {
            return rendered;
        }
        let failed = rendered.result.as_ref().err().is_some_and(|error| error.kind() == RenderErrorKind::Other);
        if !failed || !NONE_UNLESS_GIVEN.iter().any(|name| is_null(context, name)) {
            return rendered;
        }
        let limits = &Limits { fuel: limits.fuel.saturating_sub(rendered.steps), ..limits.clone() };
        let without = self.rendered(context, options, limits, NotGiven::Undefined);
        let steps = rendered.steps + without.steps;
        match &rendered.result {
            Err(error) if without.result.is_ok() => {
                let refusal = Some(format!("it fails where `tools` or `documents` is None: {}", error.message()));
                Rendered { steps, refused_by_transformers: refusal, ..without }
            }
            _ => Rendered { steps, ..rendered },
        }
    }

    /// One render, on a stack that is large enough.
    fn rendered(
        &self,
        context: &serde_json::Value,
        options: &RenderOptions,
        limits: &Limits,
        not_given: NotGiven,
    ) -> Rendered {
        // Nearly every template nests so little that it fits into any stack. Starting a thread for it would take longer
        // than the render. A render has no side effects, so one that turns out to need more is done again.
        let first = stack::caught(|| self.attempt(context, options, limits, not_given));
        let (outcome, steps_on_panic) = match first {
            Ok(Attempt { too_deep: true, .. }) if stack::can_grow() => {
                (with_big_stack(|| self.attempt(context, options, limits, not_given)), limits.fuel)
            }
            other => (other, limits.fuel),
        };
        match outcome {
            Ok(attempt) => attempt.rendered,
            Err(panicked) => Rendered {
                result: Err(self.error(Fault::new(panicked.to_string()))),
                reads: Reads::default(),
                labels: options.label.then(Labels::default),
                steps: steps_on_panic,
                refused_by_transformers: None,
            },
        }
    }

    /// One render on the current stack.
    fn attempt(
        &self,
        context: &serde_json::Value,
        options: &RenderOptions,
        limits: &Limits,
        not_given: NotGiven,
    ) -> Attempt {
        let on_this_stack = Limits { depth: limits.depth.min(stack::bounds().evaluation_depth), ..limits.clone() };
        let shallower = on_this_stack.depth < limits.depth;
        let mut run = Run::new(on_this_stack, options.clock.unwrap_or(self.clock));
        run.integer_key = self.integer_key;
        run.as_transformers = options.follows != Follows::Jinja2;
        if options.record_reads {
            run.record_reads();
        }
        if options.label {
            run.label();
        }
        let checked = options.follows.check(context).and_then(|()| self.find_filters(&run));
        let result = checked
            .and_then(|()| variables(&run, context, &self.tokens, not_given))
            .and_then(|map| statements::template(Interpreter::new(&run, map), &self.parsed.body))
            .map_err(|fault| self.error(fault));
        let (steps, too_deep) = (limits.fuel - run.left(), shallower && run.went_too_deep());
        let refused = run.refused().filter(|_| result.is_ok());
        let (result, marks) = match result.map(Buffer::into_parts) {
            Ok((text, marks)) => (Ok(text), marks),
            Err(error) => (Err(error), BufferMarks::default()),
        };
        let (reads, labels) = run.finish(&marks.pieces, &marks.items, result.as_ref().map_or(0, String::len));
        let labels = labels.map(|labels| Labels { statements: marks.statements, ..labels });
        let refused_by_transformers = refused.map(why_refused);
        Attempt { rendered: Rendered { result, reads, labels, steps, refused_by_transformers }, too_deep }
    }

    /// Jinja2 looks for filters before it renders, also where none is used.
    fn find_filters(&self, run: &Run) -> Outcome<()> {
        match &self.parsed.missing_filter {
            Some((name, at)) if &**name == FROM_JSON => run.refused_by_transformers(FROM_JSON).map_err(|f| f.at(*at)),
            Some((name, at)) => Err(Fault::new(format!("No filter named '{name}'.")).at(*at)),
            None => Ok(()),
        }
    }

    fn error(&self, fault: Fault) -> RenderError {
        RenderError::new(&self.name, &parse::normalise(&self.source), fault)
    }

    /// The variables that the template reads and does not set itself: what an application may pass.
    ///
    /// ```
    /// use unjinja_render::Template;
    ///
    /// let template = Template::parse("t.jinja", "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}")?;
    /// assert_eq!(template.variables().into_iter().collect::<Vec<_>>(), ["eos_token", "messages"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn variables(&self) -> BTreeSet<String> {
        let is_global = |name: &str| Global::named(name).is_some();
        with_big_stack(|| inspect::variables(&self.parsed.body, is_global)).unwrap_or_default()
    }

    /// The strings in the template, texts between tags and string constants alike: each once, in source order.
    pub fn string_literals(&self) -> Vec<String> {
        with_big_stack(|| inspect::strings(&self.parsed.body)).unwrap_or_default()
    }
}

/// A render on one stack.
struct Attempt {
    rendered: Rendered,
    /// Whether it ended because this stack allows less depth than the limits do.
    too_deep: bool,
}

/// The variables that `apply_chat_template` always sets, and which are `None` unless its caller gives them.
const NONE_UNLESS_GIVEN: [&str; 2] = ["tools", "documents"];

/// What these variables are where the context does not give them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NotGiven {
    /// `None`, and `add_generation_prompt` is false.
    None,
    /// Undefined, also where the context says null.
    Undefined,
    /// Undefined, or `None` where the context says null.
    AsInContext,
}

fn is_null(context: &serde_json::Value, name: &str) -> bool {
    context.get(name).is_none_or(serde_json::Value::is_null)
}

/// The variables that the template starts with.
fn variables(run: &Run, context: &serde_json::Value, tokens: &SpecialTokens, not_given: NotGiven) -> Outcome<Map> {
    let mut map = Map::default();
    let mut insert = |name: &str, value: &serde_json::Value| -> Outcome<()> {
        let text = Text::plain(name);
        let place = run.place(Mark::NONE, || PathStep::Key(text.s.clone()));
        let value = from_json(run, value, run.records_reads().then_some(name), Origin::Context(place))?;
        map.insert(Key::Str(text.s.clone()), Value::Str(text), value);
        Ok(())
    };
    for (name, token) in [("bos_token", &tokens.bos), ("eos_token", &tokens.eos)] {
        if let (Some(token), None) = (token, context.get(name)) {
            insert(name, &token.as_str().into())?;
        }
    }
    for (name, value) in tokens.others.iter().filter(|(name, _)| context.get(name).is_none()) {
        insert(name, value)?;
    }
    if not_given == NotGiven::None {
        let nones = NONE_UNLESS_GIVEN.map(|name| (name, serde_json::Value::Null));
        for (name, value) in nones.into_iter().chain([("add_generation_prompt", false.into())]) {
            if context.get(name).is_none() {
                insert(name, &value)?;
            }
        }
    }
    let leaves_out =
        |name: &str| not_given == NotGiven::Undefined && NONE_UNLESS_GIVEN.contains(&name) && is_null(context, name);
    match context {
        serde_json::Value::Object(object) => {
            object.iter().filter(|(name, _)| !leaves_out(name)).try_for_each(|(name, value)| insert(name, value))?
        }
        serde_json::Value::Null => {}
        _ => return Err(Fault::new("the context must be a JSON object of variables")),
    }
    Ok(map)
}

//! Rendering of chat templates exactly as Hugging Face's `apply_chat_template` does it: Python's Jinja2
//! with `trim_blocks`, `lstrip_blocks`, loop controls, `{% generation %}`, `raise_exception`,
//! `strftime_now` and its own `tojson`.
//!
//! minijinja reads the template; what runs it is ours (`exec`, `eval`), because three things must be
//! exact that an engine cannot be given from outside: Python's values and operators, the account of every
//! step and byte (a template may be hostile), and the watching of what a template looks for.
//!
//! Nothing here may name a model, test for a template's text, panic, or run without bound.
//!
//! ```
//! use unjinja_render::Template;
//!
//! let template = Template::parse("hello.jinja", "{% for m in messages %}{{ m['content'] | trim }}\n{% endfor %}")?;
//! let (text, reads) = template.render_watched(&serde_json::json!({ "messages": [{ "content": " hi " }] }));
//! assert_eq!(text?, "hi\n");
//! assert!(reads.contains("messages[].content"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod args;
mod ast;
mod clock;
mod error;
mod eval;
mod exec;
mod filters;
mod filters_text;
mod globals;
mod inspect;
mod json;
mod lower;
mod methods;
mod ops;
mod percent;
mod reads;
mod repr;
mod run;
mod scan;
mod strings;
#[cfg(test)]
mod tests;
mod tests_of;
mod value;

use std::collections::BTreeSet;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;

pub use self::clock::Clock;
pub use self::error::{RenderError, RenderErrorKind, TemplateError};
pub use self::reads::Reads;
pub use self::run::Limits;

use self::error::{Fault, Outcome};
use self::exec::Interpreter;
use self::run::Run;
use self::value::{Key, Map, Text, Value};

/// A parsed template. Cloning shares it; rendering does not change it.
#[derive(Debug, Clone)]
pub struct Template {
    name: Arc<str>,
    source: Arc<str>,
    body: Arc<ast::Body>,
    limits: Limits,
    clock: Clock,
    tokens: SpecialTokens,
}

/// The texts of a model's special tokens, as its tokenizer's configuration says them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// `bos_token`, which begins a text.
    pub bos: Option<String>,
    /// `eos_token`, which ends one.
    pub eos: Option<String>,
}

impl SpecialTokens {
    /// The template variables that hold them, with the texts that are known.
    fn variables(&self) -> [(&'static str, Option<&str>); 2] {
        [("bos_token", self.bos.as_deref()), ("eos_token", self.eos.as_deref())]
    }
}

/// Parsing and rendering recurse; this much stack holds what [`Limits::depth`] and the parser's limits
/// allow, in a debug build too. It is reserved, not touched.
const STACK: usize = 64 << 20;

thread_local! {
    /// Whether this thread's stack is already one of known size.
    static ON_STACK: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `f` on a stack of known size, this thread's if it is one. A panic there is a bug, and still only an error
/// here.
pub fn on_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, String> {
    let panicked = |_| "the renderer panicked: please report this template".to_owned();
    if ON_STACK.get() {
        // What `f` leaves half done nobody sees: its results are gone with the panic.
        return std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).map_err(panicked);
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("render".to_owned()).stack_size(STACK);
        let run = || {
            ON_STACK.set(true);
            f()
        };
        let thread = builder.spawn_scoped(scope, run).map_err(|e| format!("no thread to render on: {e}"))?;
        thread.join().map_err(panicked)
    })
}

impl Template {
    /// Parses a template, with the default [`Limits`].
    ///
    /// `name` is what errors call it.
    ///
    /// # Errors
    /// What Jinja2 would refuse, and sources too large or nested too deep to be chat templates; with the
    /// line and an excerpt.
    pub fn parse(name: &str, source: &str) -> Result<Template, TemplateError> {
        let limits = Limits::default();
        let fault = |source: &str, line, message| TemplateError::new(name, source, line, message);
        if source.len() > limits.source_bytes {
            let message = format!("a template of {} bytes, more than {}", source.len(), limits.source_bytes);
            return Err(fault("", 1, message));
        }
        let text = scan::normalise(source);
        let body = on_stack(|| parse_body(name, &text)).unwrap_or_else(|message| Err((1, message)));
        match body {
            Ok(body) => Ok(Template {
                name: name.into(),
                source: source.into(),
                body: Arc::new(body),
                limits,
                clock: Clock::default(),
                tokens: SpecialTokens::default(),
            }),
            Err((line, message)) => Err(fault(&text, line.max(1), message)),
        }
    }

    /// The same template under other limits.
    pub fn with_limits(mut self, limits: Limits) -> Template {
        self.limits = limits;
        self
    }

    /// The same template at another time, for `strftime_now`.
    pub fn with_clock(mut self, clock: Clock) -> Template {
        self.clock = clock;
        self
    }

    /// The same template with a tokenizer's special tokens: `bos_token` and `eos_token` have these texts wherever the
    /// context does not say otherwise.
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

    /// The special tokens that [`with_tokens`](Template::with_tokens) gave.
    pub fn tokens(&self) -> &SpecialTokens {
        &self.tokens
    }

    /// The name given to [`parse`](Template::parse).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The source, as given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Renders with the variables of a JSON object, as `apply_chat_template` would with the same ones.
    ///
    /// # Errors
    /// Whatever Jinja2 raises, with the line; and a [`RenderErrorKind::Limit`] where a template takes more
    /// than its [`Limits`].
    pub fn render(&self, context: &serde_json::Value) -> Result<String, RenderError> {
        self.run(context, false).0
    }

    /// Renders, and tells what the template looked for in the context, also when it failed.
    pub fn render_watched(&self, context: &serde_json::Value) -> (Result<String, RenderError>, Reads) {
        self.run(context, true)
    }

    fn run(&self, context: &serde_json::Value, watch: bool) -> (Result<String, RenderError>, Reads) {
        let (result, reads, _) = self.run_within(self.limits.clone(), context, watch);
        (result, reads)
    }

    /// Renders within these limits; also tells how many steps it took.
    pub fn run_within(
        &self,
        limits: Limits,
        context: &serde_json::Value,
        watch: bool,
    ) -> (Result<String, RenderError>, Reads, u64) {
        let fuel = limits.fuel;
        let rendered = on_stack(|| {
            let run = Run::new(limits, self.clock, watch);
            let result =
                variables(&run, context, &self.tokens).and_then(|map| Interpreter::new(&run, map).template(&self.body));
            let steps = fuel - run.left();
            (result, run.finish(), steps)
        });
        let (result, reads, steps) =
            rendered.unwrap_or_else(|message| (Err(Fault::new(message)), Reads::default(), fuel));
        let result = result.map_err(|fault| RenderError::new(&self.name, &scan::normalise(&self.source), fault));
        (result, reads, steps)
    }

    /// What a render may use up.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The variables that the template reads without setting them: what an application may pass.
    pub fn variables(&self) -> BTreeSet<String> {
        on_stack(|| inspect::variables(&self.body)).unwrap_or_default()
    }

    /// The strings that the template writes, texts between tags and string constants alike: each once, in
    /// source order.
    pub fn string_literals(&self) -> Vec<String> {
        on_stack(|| inspect::strings(&self.body)).unwrap_or_default()
    }
}

fn parse_body(name: &str, source: &str) -> Result<ast::Body, scan::Problem> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let syntax = syntax.map_err(|e| (1, e.to_string()))?;
    let source = scan::prepare(source, &syntax)?;
    let tree = minijinja::machinery::parse(&source, name, syntax).map_err(|e| {
        let cause = e.detail().map_or_else(|| e.kind().to_string(), str::to_owned);
        (e.line().unwrap_or(1), cause)
    })?;
    lower::template(&source, &tree)
}

/// The context's variables.
fn variables(run: &Run, context: &serde_json::Value, tokens: &SpecialTokens) -> Outcome<Map> {
    let mut map = Map::default();
    let mut insert = |name: &str, value: &serde_json::Value| -> Outcome<()> {
        let value = Value::from_json(run, value, run.watches().then_some(name))?;
        let text = Text::plain(name);
        map.insert(Key::Str(text.s.clone()), Value::Str(text), value);
        Ok(())
    };
    for (name, token) in tokens.variables() {
        if let (Some(token), None) = (token, context.get(name)) {
            insert(name, &token.into())?;
        }
    }
    match context {
        serde_json::Value::Object(object) => object.iter().try_for_each(|(name, value)| insert(name, value))?,
        serde_json::Value::Null => {}
        _ => return Err(Fault::new("the context must be a JSON object of variables")),
    }
    Ok(map)
}

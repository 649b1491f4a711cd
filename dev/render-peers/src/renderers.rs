//! The renderers, each set up as its documentation says for chat templates, with the clock of the oracle.

use std::sync::Arc;

use hf_chat_template::{ChatTemplate, FixedClock};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use unjinja_render::{RenderOptions, Template};

/// Noon of 15 January 2026, the oracle's time, in seconds since 1970.
const NOON: i64 = 1_768_478_400;

/// A template that is ready to be rendered.
pub trait Prepared {
    /// The text; `None` for an error.
    fn render(&self, context: &Arc<serde_json::Value>) -> Option<String>;
}

/// A renderer under test.
pub struct Renderer {
    pub name: &'static str,
    /// Parses a template; `None` for an error.
    pub prepare: fn(&str) -> Option<Box<dyn Prepared>>,
}

pub const RENDERERS: &[Renderer] = &[
    Renderer { name: "unjinja-render", prepare: ours },
    Renderer { name: "hf-chat-template 1.0", prepare: hf_chat_template },
    Renderer { name: "minijinja 3.0 with pycompat and a `tojson` as in Python", prepare: minijinja_with_tojson },
    Renderer { name: "minijinja 3.0 with pycompat", prepare: minijinja },
];

impl Prepared for Template {
    fn render(&self, context: &Arc<serde_json::Value>) -> Option<String> {
        self.render_with(context, &RenderOptions::new().only_context(true)).result.ok()
    }
}

fn ours(source: &str) -> Option<Box<dyn Prepared>> {
    Some(Box::new(Template::parse("chat", source).ok()?))
}

impl Prepared for ChatTemplate {
    fn render(&self, context: &Arc<serde_json::Value>) -> Option<String> {
        self.render_context(&**context).ok()
    }
}

fn hf_chat_template(source: &str) -> Option<Box<dyn Prepared>> {
    Some(Box::new(ChatTemplate::builder(source).clock(FixedClock::from_unix_secs(NOON)).build().ok()?))
}

impl Prepared for Environment<'static> {
    fn render(&self, context: &Arc<serde_json::Value>) -> Option<String> {
        self.get_template("chat").ok()?.render(Value::from(Serde(&**context))).ok()
    }
}

fn minijinja(source: &str) -> Option<Box<dyn Prepared>> {
    Some(Box::new(environment(source)?))
}

fn minijinja_with_tojson(source: &str) -> Option<Box<dyn Prepared>> {
    let mut environment = environment(source)?;
    environment.add_filter("tojson", tojson);
    environment.add_filter("from_json", |text: String| {
        serde_json::from_str::<serde_json::Value>(&text)
            .map(|json| Value::from(Serde(json)))
            .map_err(|e| Error::new(ErrorKind::InvalidOperation, e.to_string()))
    });
    Some(Box::new(environment))
}

/// What an application sets up for chat templates.
fn environment(source: &str) -> Option<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().ok()?);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    // The time itself is not what is compared, so it comes from a renderer that is known to tell it right.
    let clock = Template::parse("clock", "{{ strftime_now(format) }}").ok()?;
    environment.add_function("strftime_now", move |format: String| -> Result<String, Error> {
        clock
            .render(&serde_json::json!({ "format": format }))
            .map_err(|e| Error::new(ErrorKind::InvalidOperation, e.to_string()))
    });
    environment.add_template_owned("chat", source.to_owned()).ok()?;
    Some(environment)
}

/// `json.dumps(value, ensure_ascii=False, indent=indent)`.
fn tojson(value: Value, options: minijinja::value::Kwargs) -> Result<Value, Error> {
    let failed = |e: serde_json::Error| Error::new(ErrorKind::InvalidOperation, e.to_string());
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let mut out = Vec::new();
    match indent {
        Some(indent) => {
            let indent = " ".repeat(indent);
            let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
            let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
            serde::Serialize::serialize(&value, &mut serializer).map_err(failed)?;
        }
        None => {
            let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
            serde::Serialize::serialize(&value, &mut serializer).map_err(failed)?;
        }
    }
    let text = String::from_utf8(out).map_err(|e| Error::new(ErrorKind::InvalidOperation, e.to_string()))?;
    Ok(Value::from_safe_string(text))
}

/// Python's separators: a space after each comma and colon.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

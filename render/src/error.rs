//! The errors of parsing and rendering: each has a template's name, a line, a cause and an excerpt of the source. Inside of
//! the crate, errors travel as [`Fault`], which does not know the template.

use std::fmt;

/// A place in the source of a template. Lines end with `\n`, `\r\n` or `\r`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePosition {
    /// The line, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
}

/// A template that cannot be parsed: a syntax error, or a source that is too large or nests too deep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError(LocatedMessage);

/// A render that failed.
///
/// ```
/// use unjinja_render::Template;
///
/// let template = Template::parse("t.jinja", "Hello\n{{ 1 + 'a' }}")?;
/// let error = template.render(&serde_json::json!({})).unwrap_err();
/// assert_eq!((error.name(), error.line()), ("t.jinja", 2));
/// assert!(error.to_string().contains("{{ 1 + 'a' }}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    kind: RenderErrorKind,
    located: LocatedMessage,
}

/// Why a render failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenderErrorKind {
    /// The template called `raise_exception(message)`. Templates do so for conversations that they do not support.
    Raised,
    /// The template needs more than the [`Limits`](crate::Limits) allow.
    Limit,
    /// Anything else: a type error, a missing attribute, an unknown filter.
    Other,
}

/// An error message, and where in a template it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LocatedMessage {
    name: String,
    line: usize,
    column: Option<u32>,
    message: String,
    excerpt: String,
}

impl LocatedMessage {
    fn new(name: &str, source: &str, line: usize, message: String) -> LocatedMessage {
        LocatedMessage { name: name.to_owned(), line, column: None, message, excerpt: excerpt(name, source, line) }
    }
}

impl fmt::Display for LocatedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})\n{}", self.message, self.name, self.line, self.excerpt)
    }
}

macro_rules! message_accessors {
    ($($field:tt)+) => {
        /// The template's name.
        pub fn name(&self) -> &str {
            &self.$($field)+.name
        }
        /// The line in the template, from 1.
        pub fn line(&self) -> usize {
            self.$($field)+.line
        }
        /// The character in the line, from 1, where it is known.
        pub fn column(&self) -> Option<u32> {
            self.$($field)+.column
        }
        /// The cause, without the place.
        pub fn message(&self) -> &str {
            &self.$($field)+.message
        }
        /// Up to three lines of source around the line, numbered, the line itself marked with `>`.
        pub fn excerpt(&self) -> &str {
            &self.$($field)+.excerpt
        }
    };
}

impl TemplateError {
    pub(crate) fn new(name: &str, source: &str, line: usize, message: String) -> TemplateError {
        TemplateError(LocatedMessage::new(name, source, line, message))
    }

    message_accessors!(0);
}

impl RenderError {
    pub(crate) fn new(name: &str, source: &str, fault: Fault) -> RenderError {
        let Cause { kind, at, message } = *fault.0;
        let line = at.map_or(1, |at| at.line) as usize;
        let located = LocatedMessage::new(name, source, line, message);
        RenderError { kind, located: LocatedMessage { column: at.map(|at| at.column), ..located } }
    }

    /// Why the render failed.
    pub fn kind(&self) -> RenderErrorKind {
        self.kind
    }

    message_accessors!(located);
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template syntax: {}", self.0)
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            RenderErrorKind::Raised => "the template refused",
            RenderErrorKind::Limit => "render limit",
            RenderErrorKind::Other => "cannot render",
        };
        write!(f, "{what}: {}", self.located)
    }
}

impl std::error::Error for TemplateError {}
impl std::error::Error for RenderError {}

/// At most this many characters of a source line are shown.
const SHOWN: usize = 160;

/// At most this many characters of a message are kept: a template may raise with megabytes.
const MESSAGE: usize = 4_000;

/// The lines around `line`, numbered, with a mark at `line`.
fn excerpt(name: &str, source: &str, line: usize) -> String {
    let first = line.saturating_sub(1).max(1);
    let width = (line + 1).to_string().len();
    let mut out = format!("{:width$} ┌─ {name}:{line}\n", "");
    for (i, text) in source.lines().enumerate().skip(first - 1).take(line + 2 - first) {
        let mark = if i + 1 == line { '>' } else { ' ' };
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        out.push_str(&format!("{:>width$} │{mark} {shown}\n", i + 1));
    }
    out.push_str(&format!("{:width$} └─", ""));
    out
}

/// An error inside of the renderer. The innermost syntax node with a position sets it.
#[derive(Debug)]
pub(crate) struct Fault(Box<Cause>);

#[derive(Debug)]
struct Cause {
    kind: RenderErrorKind,
    at: Option<SourcePosition>,
    message: String,
}

impl Fault {
    fn of(kind: RenderErrorKind, mut message: String) -> Fault {
        if let Some((cut, _)) = message.char_indices().nth(MESSAGE) {
            message.truncate(cut);
            message.push('…');
        }
        Fault(Box::new(Cause { kind, at: None, message }))
    }

    pub(crate) fn new(message: impl Into<String>) -> Fault {
        Fault::of(RenderErrorKind::Other, message.into())
    }

    pub(crate) fn raised(message: impl Into<String>) -> Fault {
        Fault::of(RenderErrorKind::Raised, message.into())
    }

    pub(crate) fn limit(message: impl Into<String>) -> Fault {
        Fault::of(RenderErrorKind::Limit, message.into())
    }

    /// Sets the position, unless it is set already.
    pub(crate) fn at(mut self, at: SourcePosition) -> Fault {
        self.0.at.get_or_insert(at);
        self
    }
}

/// The result of every operation inside of the renderer.
pub(crate) type Outcome<T> = Result<T, Fault>;

//! A response template as typed data. `load.rs` reads it from JSON, `write.rs` writes it; this file holds data, and says
//! which templates a reader refuses.

use super::dialect::Dialect;
use super::pattern::{Pattern, begins_with_literal};
use super::problem::Problem;
use super::value::{Dict, Value};

/// A response template: how the text of an assistant's turn is divided into the fields of a message.
///
/// ```
/// use unjinja_export::response_template::{Dialect, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(&serde_json::json!({
///     "start_anchor": "<assistant>",
///     "fields": {"content": {"close": "<end>"}}
/// }))?;
/// assert!(template.problems_for(Dialect::Vllm).is_empty());
/// # Ok::<(), unjinja_export::response_template::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResponseTemplate {
    /// What the message holds before anything is read.
    pub(crate) defaults: Dict,
    /// The prompt is cut after the last match of this.
    pub(crate) start_anchor: Anchor,
    /// The fields in the order of the template.
    pub(crate) fields: Vec<Field>,
    /// The field without a marker at its start: it takes what no other field takes.
    pub(crate) implicit: Option<usize>,
}

/// A marker: some texts, or a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The texts; `None` if it is written as a pattern.
    pub literals: Option<Vec<String>>,
    pub pattern: Pattern,
    /// One of the texts begins with another, so a match can grow.
    pub can_extend: bool,
}

/// A field of the message, and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    /// `None` for the field that takes the rest.
    pub open: Option<Anchor>,
    /// `None` if the field goes to the end.
    pub close: Option<Anchor>,
    pub content: Content,
    /// The field is a list of what its regions hold.
    pub repeats: bool,
    /// The field is a text: what its regions hold, with this between them.
    pub join: Option<String>,
    /// The message may come without the field.
    pub optional: bool,
    pub transform: Option<Transform>,
    /// The region holds a list, and each item is transformed.
    pub transform_each: bool,
}

/// How the text of a region becomes a value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text {
        strip: bool,
    },
    Int {
        strip: bool,
    },
    Float {
        strip: bool,
    },
    Bool {
        strip: bool,
    },
    Json(JsonArgs),
    XmlInline(Box<XmlArgs>),
    KvLines(Box<KvArgs>),
    /// A list of calls as in Python: `[get_weather(city="Paris")]`.
    CallList,
}

/// Forms of JSON that models write.
#[derive(Clone, Debug)]
pub(crate) struct JsonArgs {
    /// Keys may be written without quotes.
    pub unquoted_keys: bool,
    /// Other quotes than `"`: what opens and what closes a string, and the pattern that finds one.
    pub string_delims: Vec<(String, String, Pattern)>,
    /// A text that is not JSON is a string.
    pub allow_non_json: bool,
    /// That string has no white space at its ends.
    pub strip: bool,
}

/// Tags with a name and a value.
#[derive(Clone, Debug)]
pub(crate) struct XmlArgs {
    /// Its groups `key` and `value` are the name and the value.
    pub tag_pattern: Anchor,
    /// What the text of a value becomes; `None` for the text itself.
    pub value_parser: Option<Content>,
    /// The values of a name that occurs in several tags become a list.
    pub merge_duplicates: bool,
}

/// Lines with a name and a value.
#[derive(Clone, Debug)]
pub(crate) struct KvArgs {
    pub line_sep: String,
    pub kv_sep: String,
    pub value_parser: Option<Content>,
    pub strip: bool,
}

/// The value of a field, made of what its region holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transform {
    /// `{content.a.b}`: a name, and the keys to follow.
    Placeholder(String, Vec<String>),
    /// Anything that is not a text with a placeholder.
    Literal(Value),
    List(Vec<Transform>),
    Dict(Vec<(String, Transform)>),
}

impl Transform {
    /// Whether a placeholder begins with this name.
    pub fn asks_for(&self, name: &str) -> bool {
        match self {
            Transform::Placeholder(first, _) => first == name,
            Transform::Literal(_) => false,
            Transform::List(items) => items.iter().any(|item| item.asks_for(name)),
            Transform::Dict(entries) => entries.iter().any(|(_, item)| item.asks_for(name)),
        }
    }
}

impl Content {
    /// The name in a template.
    pub fn name(&self) -> &'static str {
        match self {
            Content::Text { .. } => "text",
            Content::Int { .. } => "int",
            Content::Float { .. } => "float",
            Content::Bool { .. } => "bool",
            Content::Json(_) => "json",
            Content::XmlInline(_) => "xml-inline",
            Content::KvLines(_) => "kv-lines",
            Content::CallList => "python-call-list",
        }
    }
}

impl Content {
    /// Whether the values of tags or lines are read as calls of Python.
    fn has_call_lists_inside(&self) -> bool {
        let inside = match self {
            Content::XmlInline(args) => args.value_parser.as_ref(),
            Content::KvLines(args) => args.value_parser.as_ref(),
            _ => None,
        };
        inside.is_some_and(|inside| matches!(inside, Content::CallList) || inside.has_call_lists_inside())
    }
}

impl ResponseTemplate {
    /// The field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether there is a field with this name.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// The places of patterns that the Rust implementation of vLLM's reader refuses, because matches do not begin with one of
    /// finitely many texts.
    pub(crate) fn unportable(&self) -> Vec<String> {
        let mut places = Vec::new();
        for field in &self.fields {
            for (key, anchor) in [("open_pattern", &field.open), ("close_pattern", &field.close)] {
                let is_refused =
                    |anchor: &Anchor| anchor.literals.is_none() && !begins_with_literal(anchor.pattern.node());
                if anchor.as_ref().is_some_and(is_refused) {
                    places.push(format!("fields.{}.{key}", field.name));
                }
            }
        }
        places
    }

    /// What a reader takes when it is started, and a newer version of it reads otherwise: groups of closing patterns that a transform
    /// asks for, and content parsers of values that it does not have.
    pub(crate) fn unread_by(&self, dialect: Dialect) -> Vec<Problem> {
        let (reader, newest) = (dialect.title(), Dialect::Transformers.title());
        let mut problems = Vec::new();
        for field in &self.fields {
            let names = field.close.as_ref().map(|close| close.pattern.names()).unwrap_or_default();
            let asks = |transform: &Transform| names.iter().any(|name| transform.asks_for(name));
            if !dialect.captures_closers() && field.transform.as_ref().is_some_and(asks) {
                problems.push(Problem {
                    place: format!("fields.{}.close_pattern", field.name),
                    cause: format!("{reader} gives the groups of this pattern to no `transform`; {newest} does"),
                    next_step: "take the texts from `open_pattern` or from the content".to_owned(),
                });
            }
            if !dialect.has_call_lists() && field.content.has_call_lists_inside() {
                problems.push(Problem {
                    place: format!("fields.{}.content_args.value_parser", field.name),
                    cause: format!("{reader} has no content parser `python-call-list`; {newest} has it"),
                    next_step: "use another content parser".to_owned(),
                });
            }
        }
        problems
    }

    /// Why a reader refuses this template when it is started; empty if it does not.
    #[must_use]
    pub fn problems_for(&self, dialect: Dialect) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |place: String, cause: String, next_step: &str| {
            problems.push(Problem { place, cause, next_step: next_step.to_owned() });
        };
        let reader = dialect.title();
        let newest = Dialect::Transformers.title();
        for field in self.fields.iter().filter(|field| matches!(field.content, Content::CallList)) {
            if !dialect.has_call_lists() {
                let cause = format!("{reader} has no content parser `python-call-list`; {newest} has it");
                let next = "write one for this reader with `unjinja export --for READER`";
                add(format!("fields.{}.content", field.name), cause, next);
            }
        }
        let Some(known) = dialect.fields() else { return problems };
        for field in &self.fields {
            let (name, place) = (&field.name, format!("fields.{}", field.name));
            if !known.contains(&name.as_str()) {
                let cause = format!("{reader} refuses a field called `{name}`");
                let next = match name.as_str() {
                    "reasoning_content" => "call it `thinking`".to_owned(),
                    _ => format!("it takes {}", known.join(", ")),
                };
                add(place, cause, &next);
                continue;
            }
            if name == "tool_calls" {
                if dialect.calls_need_opener() && field.open.is_none() {
                    add(
                        place,
                        format!("{reader} refuses calls without a marker before them"),
                        "add `open` or `open_pattern`",
                    );
                }
                continue;
            }
            if !matches!(field.content, Content::Text { .. }) {
                add(format!("{place}.content"), format!("{reader} streams this field as text"), "use `text`");
            }
            if field.transform.is_some() {
                add(format!("{place}.transform"), format!("{reader} refuses it for text"), "remove it");
            }
            if field.join.is_some() {
                add(
                    format!("{place}.join"),
                    format!("{reader} refuses it for text"),
                    "remove it; all regions are streamed",
                );
            }
        }
        // This reader derives a template in which all text passes through, except reasoning and an answer with a marker.
        let is_open = |name: &str| self.field(name).map(|field| field.open.is_some());
        if dialect.calls_need_opener() && (is_open("thinking"), is_open("content")) == (Some(false), Some(true)) {
            let cause = format!("{reader} refuses reasoning without a marker before it where the answer has one");
            add("fields.thinking".to_owned(), cause, "add `open` or `open_pattern`");
        }
        for (key, _) in self.defaults.iter().filter(|(key, _)| *key != "role") {
            add(format!("defaults.{key}"), format!("{reader} refuses other defaults than `role`"), "remove it");
        }
        problems
    }
}

//! A response template as typed data. `load.rs` reads it from JSON.

use super::pattern::Pattern;
use super::value::{Dict, Value};

/// A response template: how the text of an assistant's turn is divided into the fields of a message.
///
/// ```
/// use unjinja_export::response_template::ResponseTemplate;
///
/// let template = ResponseTemplate::from_json(&serde_json::json!({
///     "start_anchor": "<assistant>",
///     "fields": {"content": {"close": "<end>"}}
/// }))?;
/// assert!(template.has_field("content"));
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

impl ResponseTemplate {
    /// Whether there is a field with this name.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }
}

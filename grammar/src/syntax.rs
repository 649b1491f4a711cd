//! The syntax in which a format writes values: JSON, Python literals, or raw strings.

/// The syntax in which values are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    #[default]
    Json,
    /// Python literals. Where JSON differs (`true`, `null`), it is accepted too.
    Python,
    /// Strings are written raw between these quotes. They cannot contain the first character of the quote or of the
    /// marker that ends them. Keys need no quotes.
    Raw {
        /// The quote; empty if there is none.
        quote: String,
        /// The character that a string cannot contain.
        stop: char,
    },
}

impl Syntax {
    /// Raw strings between a quote token.
    pub fn quoted(quote: &str) -> Self {
        Self::Raw { quote: quote.to_owned(), stop: quote.chars().next().unwrap_or('"') }
    }

    /// The prefix of the names of its rules.
    pub(super) fn prefix(&self) -> &'static str {
        match self {
            Self::Json => "",
            Self::Python => "python-",
            Self::Raw { .. } => "raw-",
        }
    }
}

/// How integers may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integers {
    /// As JSON Schema says: a fraction of zeros makes no difference, so `4.0` is an integer.
    #[default]
    WithZeros,
    /// Without a fraction and without `-0`: `4`. Most programs read only that as an integer.
    Plain,
}

/// Which white space may be written inside values and between the tags of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhiteSpace {
    /// None, one blank, or what the template writes. A small model that may write more line breaks writes them.
    #[default]
    Template,
    /// A few blanks and line breaks, with any indentation.
    Free,
}

/// What the options say about all values of a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) integers: Integers,
    pub(crate) white_space: WhiteSpace,
    /// Whether objects may have members that their schemas do not name, where the schemas do not say.
    pub(crate) open_objects: bool,
    /// Whether names that are not known are not compared with the known ones, and free white space has any length: for an engine that looks
    /// through its vocabulary for each character of such a rule.
    pub(crate) unlimited: bool,
    /// Whether the template breaks lines in values, and indents them.
    pub(crate) indents: bool,
}

/// A value as JSON text.
pub(crate) fn json_text(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

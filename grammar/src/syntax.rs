//! How values are written: as JSON, as Python literals, or with strings that stand raw.

/// How values are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    #[default]
    Json,
    /// Python literals; what JSON spells otherwise may be spelled so, too.
    Python,
    /// Strings stand raw between these quotes, and do not hold the character at which those, or what ends a string
    /// without quotes, begin. Keys need no quotes.
    Raw {
        /// The quotes; empty where there are none.
        quote: String,
        /// The character.
        stop: char,
    },
}

impl Syntax {
    /// Strings between a quote token.
    pub fn quoted(quote: &str) -> Self {
        Self::Raw { quote: quote.to_owned(), stop: quote.chars().next().unwrap_or('"') }
    }

    /// What the names of its rules begin with.
    pub(super) fn prefix(&self) -> &'static str {
        match self {
            Self::Json => "",
            Self::Python => "python-",
            Self::Raw { .. } => "raw-",
        }
    }
}

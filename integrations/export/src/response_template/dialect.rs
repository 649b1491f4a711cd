//! The readers of response templates, and in what they differ. Everything that depends on the reader is in the table of
//! [`Dialect`]; nothing else asks which reader it is.

use std::fmt;
use std::str::FromStr;

/// A reader of response templates.
///
/// ```
/// use unjinja_export::response_template::Dialect;
///
/// let dialect: Dialect = "vllm".parse()?;
/// assert_eq!(dialect.reasoning_field(), "thinking");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `tokenizer.parse_response` and `transformers serve`.
    Transformers,
    /// vLLM's parser `hf`.
    Vllm,
    /// SGLang's parser `response_template`.
    Sglang,
}

/// What becomes of a region whose text cannot be read: a call with a brace too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Reading ends with an error; the whole message is lost.
    Raise,
    /// The region is dropped, and reading continues.
    Drop,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 3] = [Dialect::Transformers, Dialect::Vllm, Dialect::Sglang];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Transformers => "transformers",
            Dialect::Vllm => "vllm",
            Dialect::Sglang => "sglang",
        }
    }

    /// The name for people, with the version whose behaviour is followed here.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Dialect::Transformers => "transformers 5.23",
            Dialect::Vllm => "vLLM 0.33",
            Dialect::Sglang => "SGLang 0.5.23",
        }
    }

    /// The field that reasoning is written to.
    #[must_use]
    pub fn reasoning_field(self) -> &'static str {
        match self {
            Dialect::Transformers => "reasoning_content",
            Dialect::Vllm | Dialect::Sglang => "thinking",
        }
    }

    /// The fields from which reasoning is taken, the first that is there.
    pub(crate) fn reasoning_fields(self) -> &'static [&'static str] {
        match self {
            Dialect::Transformers => &["reasoning_content", "thinking", "reasoning"],
            Dialect::Vllm | Dialect::Sglang => &["thinking"],
        }
    }

    /// The fields that a template may have; `None` if any name is taken.
    pub(crate) fn fields(self) -> Option<&'static [&'static str]> {
        match self {
            Dialect::Transformers => None,
            Dialect::Vllm | Dialect::Sglang => Some(&["thinking", "content", "tool_calls"]),
        }
    }

    /// Whether content and reasoning are what was streamed of them: verbatim, in all their regions. Otherwise they are the
    /// values that their regions end with.
    pub(crate) fn is_streamed(self) -> bool {
        self != Dialect::Transformers
    }

    /// Whether `tool_calls` must have a marker at its start, and `thinking` where `content` has one.
    pub(crate) fn calls_need_opener(self) -> bool {
        self == Dialect::Sglang
    }

    /// What becomes of a region whose text cannot be read.
    #[must_use]
    pub fn malformed(self) -> Malformed {
        match self {
            Dialect::Transformers => Malformed::Raise,
            Dialect::Vllm | Dialect::Sglang => Malformed::Drop,
        }
    }

    /// Whether each match of an opener must begin with one of finitely many texts. vLLM's reader in Rust compiles
    /// openers to the set of these texts, and has no look-around in patterns of markers.
    pub(crate) fn wants_literal_starts(self) -> bool {
        self == Dialect::Vllm
    }

    /// Whether the patterns of markers may look at the text before them.
    pub(crate) fn has_look_behind(self) -> bool {
        self != Dialect::Vllm
    }

    /// Whether the pattern of a marker may ask for the text of one of its groups once more. vLLM's reader in Rust has no such
    /// patterns.
    pub(crate) fn has_references(self) -> bool {
        self != Dialect::Vllm
    }

    /// Whether a call without its closing marker at the end of the output is dropped.
    pub(crate) fn drops_open_calls(self) -> bool {
        self == Dialect::Sglang
    }

    /// Whether arguments that a schema allows to be strings stay strings, unless they are exactly the JSON of another type.
    pub(crate) fn keeps_declared_strings(self) -> bool {
        self == Dialect::Sglang
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| format!("no reader of response templates is called {name:?}: transformers, vllm or sglang"))
    }
}

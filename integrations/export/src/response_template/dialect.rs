//! The readers of response templates, and in what they differ. Everything that depends on the reader is in the table of
//! [`Dialect`]; nothing else asks which reader it is.

use std::fmt;
use std::str::FromStr;

/// A reader of response templates. Of transformers there are two: its language grew with version 5.24.
///
/// ```
/// use unjinja_export::response_template::Dialect;
///
/// let dialect: Dialect = "vllm".parse()?;
/// assert_eq!(dialect.reasoning_field(), "thinking");
/// assert_eq!("transformers@5.24".parse::<Dialect>()?, Dialect::Transformers);
/// assert_eq!("transformers@5.23".parse::<Dialect>()?, Dialect::Transformers523);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `tokenizer.parse_response` and `transformers serve` of transformers 5.24: the newest version that is followed.
    Transformers,
    /// The same of transformers 5.23, without calls as in Python and without groups of closing patterns.
    Transformers523,
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
    pub const ALL: [Dialect; 4] = [Dialect::Transformers, Dialect::Transformers523, Dialect::Vllm, Dialect::Sglang];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Transformers => "transformers",
            Dialect::Transformers523 => "transformers@5.23",
            Dialect::Vllm => "vllm",
            Dialect::Sglang => "sglang",
        }
    }

    /// The name for people, with the version whose behaviour is followed here.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Dialect::Transformers => "transformers 5.24",
            Dialect::Transformers523 => "transformers 5.23",
            Dialect::Vllm => "vLLM 0.33",
            Dialect::Sglang => "SGLang 0.5.23",
        }
    }

    /// Whether this is transformers, of any version.
    #[must_use]
    pub fn is_transformers(self) -> bool {
        matches!(self, Dialect::Transformers | Dialect::Transformers523)
    }

    /// The version of this reader before this one; `None` if no older one is followed.
    #[must_use]
    pub fn older(self) -> Option<Dialect> {
        (self == Dialect::Transformers).then_some(Dialect::Transformers523)
    }

    /// The field that reasoning is written to.
    #[must_use]
    pub fn reasoning_field(self) -> &'static str {
        match self {
            Dialect::Transformers | Dialect::Transformers523 => "reasoning_content",
            Dialect::Vllm | Dialect::Sglang => "thinking",
        }
    }

    /// The fields from which reasoning is taken, the first that is there.
    pub(crate) fn reasoning_fields(self) -> &'static [&'static str] {
        match self {
            Dialect::Transformers | Dialect::Transformers523 => &["reasoning_content", "thinking", "reasoning"],
            Dialect::Vllm | Dialect::Sglang => &["thinking"],
        }
    }

    /// The fields that a template may have; `None` if any name is taken.
    pub(crate) fn fields(self) -> Option<&'static [&'static str]> {
        match self {
            Dialect::Transformers | Dialect::Transformers523 => None,
            Dialect::Vllm | Dialect::Sglang => Some(&["thinking", "content", "tool_calls"]),
        }
    }

    /// Whether content and reasoning are what was streamed of them: verbatim, in all their regions. Otherwise they are the
    /// values that their regions end with.
    pub(crate) fn is_streamed(self) -> bool {
        !self.is_transformers()
    }

    /// Whether `tool_calls` must have a marker at its start, and `thinking` where `content` has one.
    pub(crate) fn calls_need_opener(self) -> bool {
        self == Dialect::Sglang
    }

    /// What becomes of a region whose text cannot be read.
    #[must_use]
    pub fn malformed(self) -> Malformed {
        match self {
            Dialect::Transformers | Dialect::Transformers523 => Malformed::Raise,
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

    /// Whether there is a content parser for calls as in Python.
    pub(crate) fn has_call_lists(self) -> bool {
        self == Dialect::Transformers
    }

    /// Whether the named groups of a closing pattern reach the `transform`, before those of the opening one.
    pub(crate) fn captures_closers(self) -> bool {
        self == Dialect::Transformers
    }

    /// Whether a match of a pattern counts only if it is the same with more text after it. Otherwise `$` counts before a line break at
    /// the end of what has arrived.
    pub(crate) fn looks_beyond_the_end(self) -> bool {
        self == Dialect::Transformers
    }

    /// Whether text in quotes is no key where keys have no quotes, and such keys may have white space around them.
    pub(crate) fn skips_quoted_keys(self) -> bool {
        self == Dialect::Transformers
    }

    /// Whether a list that is the value of a tag stays one value when tags of one name become a list.
    pub(crate) fn keeps_lists(self) -> bool {
        self == Dialect::Transformers
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
        let name = if name == "transformers@5.24" { Dialect::Transformers.name() } else { name };
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| {
            let names = Dialect::ALL.map(Dialect::name).join(", ");
            format!("no reader of response templates is called {name:?}; there are {names}")
        })
    }
}

//! The formats of structural tags, as far as they are used, and their JSON. It must not know rules.
//!
//! The JSON is written here and not by `serde_json`'s maps: these sort their members or not, as another package decides.

use std::fmt::{self, Write};

use crate::special_tokens::SpecialToken;

/// What a part of the output looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// This text.
    ConstString(String),
    /// What a grammar in EBNF matches, from its rule `root`.
    Grammar(String),
    /// Text in which none of these occurs.
    AnyText(Vec<String>),
    /// All of these, one after the other.
    Sequence(Vec<Format>),
    /// One of these.
    Or(Vec<Format>),
    /// A tag on its own.
    Tag(Tag),
    /// Free text up to one of the triggers, and there the tag that begins with it, or free text to the end.
    TriggeredTags {
        triggers: Vec<String>,
        tags: Vec<Tag>,
        /// What the free text cannot contain either.
        excludes: Vec<String>,
    },
    /// The same, where the triggers are tokens.
    TokenTriggeredTags { triggers: Vec<SpecialToken>, tags: Vec<Tag>, excludes: Vec<SpecialToken> },
}

/// A text, and what follows it. It has no end of its own: the content says how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) begin: Begin,
    pub(super) content: Box<Format>,
}

/// How a tag begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Text(String),
    Token(SpecialToken),
}

impl Format {
    /// Whether the engine takes this for text that may continue without end. It refuses that in a tag without an end, even if
    /// the tag is the last thing of all; text that excludes something is fine.
    pub(super) fn is_endless(&self) -> bool {
        match self {
            Self::AnyText(excludes) => excludes.is_empty(),
            Self::TriggeredTags { excludes, .. } => excludes.is_empty(),
            Self::TokenTriggeredTags { excludes, .. } => excludes.is_empty(),
            Self::Sequence(elements) | Self::Or(elements) => elements.iter().any(Self::is_endless),
            Self::ConstString(_) | Self::Grammar(_) | Self::Tag(_) => false,
        }
    }
}

/// A structural tag: what a request carries.
pub(super) struct StructuralTag(pub(super) Format);

impl fmt::Display for StructuralTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"type\":\"structural_tag\",\"format\":{}}}", self.0)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConstString(value) => write!(f, "{{\"type\":\"const_string\",\"value\":{}}}", Quoted(value)),
            Self::Grammar(grammar) => write!(f, "{{\"type\":\"grammar\",\"grammar\":{}}}", Quoted(grammar)),
            Self::AnyText(excludes) => write!(f, "{{\"type\":\"any_text\",\"excludes\":{}}}", Texts(excludes)),
            Self::Sequence(elements) => write!(f, "{{\"type\":\"sequence\",\"elements\":{}}}", List(elements)),
            Self::Or(elements) => write!(f, "{{\"type\":\"or\",\"elements\":{}}}", List(elements)),
            Self::Tag(tag) => tag.fmt(f),
            Self::TriggeredTags { triggers, tags, excludes } => write!(
                f,
                "{{\"type\":\"triggered_tags\",\"triggers\":{},\"tags\":{},\"excludes\":{},\"stop_after_first\":true}}",
                Texts(triggers),
                List(tags),
                Texts(excludes)
            ),
            Self::TokenTriggeredTags { triggers, tags, excludes } => write!(
                f,
                "{{\"type\":\"token_triggered_tags\",\"trigger_tokens\":{},\"tags\":{},\"exclude_tokens\":{},\"stop_after_first\":true}}",
                Tokens(triggers),
                List(tags),
                Tokens(excludes)
            ),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"type\":\"tag\",\"begin\":{},\"content\":{},\"end\":\"\"}}", self.begin, self.content)
    }
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Quoted(text).fmt(f),
            Self::Token(token) => write!(f, "{{\"type\":\"token\",\"token\":{}}}", Token(token)),
        }
    }
}

/// A token as JSON: its number, or its text if the number is not known.
struct Token<'t>(&'t SpecialToken);

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.id() {
            Some(id) => id.fmt(f),
            None => Quoted(self.0.text()).fmt(f),
        }
    }
}

/// A JSON array of tokens.
struct Tokens<'t>(&'t [SpecialToken]);

impl fmt::Display for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<Token<'_>> = self.0.iter().map(Token).collect();
        List(&all).fmt(f)
    }
}

/// A JSON array.
struct List<'t, T>(&'t [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (number, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if number > 0 { "," } else { "" })?;
        }
        f.write_char(']')
    }
}

/// A JSON array of strings.
struct Texts<'t>(&'t [String]);

impl fmt::Display for Texts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<Quoted<'_>> = self.0.iter().map(|text| Quoted(text)).collect();
        List(&quoted).fmt(f)
    }
}

/// A JSON string.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}

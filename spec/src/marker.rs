//! The markers of a spec: which there are ([`MarkerKey`]), and what the text of one consists of ([`MarkerText`]).
//!
//! Everything that handles markers uses these two types, so that no key is a string and no marker is taken apart
//! twice. This module says nothing about what a marker means; the lowering does.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::tag;

macro_rules! marker_keys {
    ($($(#[doc = $doc:literal])+ $variant:ident = $table:ident $(.$name:ident)+,)*) => {
        /// The key of a marker in a spec. It displays as the dotted key and parses from it; keys are ordered as their
        /// dotted names are.
        ///
        /// ```
        /// use unjinja_spec::MarkerKey;
        ///
        /// let key: MarkerKey = "tools.per_call_start".parse()?;
        /// assert_eq!(key, MarkerKey::CallStart);
        /// assert_eq!(key.to_string(), "tools.per_call_start");
        /// # Ok::<(), unjinja_spec::UnknownMarker>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum MarkerKey {
            $($(#[doc = $doc])+ $variant,)*
            /// No key of the spec: the punctuation (`{`, `[`, `,`) that JSON brings along around calls.
            CallPunctuation,
            /// No key of the spec: the brace that opens the arguments where no marker does, and CDATA's brackets.
            ArgumentsPunctuation,
            /// No marker: a special token that means nothing in an assistant's turn.
            OtherToken,
            /// No marker: a code fence of Markdown in an answer.
            CodeFence,
        }

        impl MarkerKey {
            /// Every marker key of a spec, in the order of the dotted names.
            pub const ALL: &'static [MarkerKey] = &[$(MarkerKey::$variant,)*];

            /// The dotted names of [`MarkerKey::ALL`], in the same order.
            pub const NAMES: &'static [&'static str] =
                &[$(concat!(stringify!($table) $(, ".", stringify!($name))+),)*];

            /// The dotted name: `tools.per_call_start`. For punctuation, the table it belongs to.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(MarkerKey::$variant => concat!(stringify!($table) $(, ".", stringify!($name))+),)*
                    MarkerKey::CallPunctuation => "tools",
                    MarkerKey::ArgumentsPunctuation => "tools.arguments",
                    MarkerKey::OtherToken => "tokens.other",
                    MarkerKey::CodeFence => "content",
                }
            }
        }
    };
}

/// Hands all markers to a macro, each with its key.
macro_rules! each_marker {
    ($then:ident) => {
        $then! {
            /// Marker after the answer.
            ContentEnd = content.end,
            /// Text before the name of a channel.
            HeaderChannel = content.header.channel,
            /// Text between a header and its message.
            HeaderEnd = content.header.end,
            /// Text after a message that is not the last of its turn.
            MessageEnd = content.header.message_end,
            /// Text before the name of the function that a message calls.
            HeaderRecipient = content.header.recipient,
            /// Text before the header of a message that is not the first of its turn.
            HeaderStart = content.header.start,
            /// Text that some turns begin with.
            ContentLabel = content.label,
            /// Marker before the answer.
            ContentStart = content.start,
            /// What is written in place of reasoning in a turn without any.
            ReasoningEmpty = reasoning.empty,
            /// Marker after the reasoning.
            ReasoningEnd = reasoning.end,
            /// Marker before the reasoning.
            ReasoningStart = reasoning.start,
            /// Text before the name of an argument, where the name is repeated after the value.
            ArgumentClosePrefix = tools.arguments.close_prefix,
            /// Text after that name.
            ArgumentCloseSuffix = tools.arguments.close_suffix,
            /// Text after all arguments of a call.
            ArgumentsEnd = tools.arguments.end,
            /// Text before an argument's name.
            ArgumentNamePrefix = tools.arguments.name_prefix,
            /// Text after an argument's name.
            ArgumentNameSuffix = tools.arguments.name_suffix,
            /// Text after an argument's name where the value is not a string.
            OtherNameSuffix = tools.arguments.other_name_suffix,
            /// Token around strings, in formats that quote with tokens.
            ArgumentQuote = tools.arguments.quote,
            /// Text between two arguments.
            ArgumentSeparator = tools.arguments.separator,
            /// Text before all arguments of a call.
            ArgumentsStart = tools.arguments.start,
            /// Text before the JSON type of an argument's value.
            ArgumentTypePrefix = tools.arguments.type_prefix,
            /// Text after the JSON type of an argument's value.
            ArgumentTypeSuffix = tools.arguments.type_suffix,
            /// Text before an argument's value.
            ArgumentValuePrefix = tools.arguments.value_prefix,
            /// Text after an argument's value.
            ArgumentValueSuffix = tools.arguments.value_suffix,
            /// Text before a call's id.
            CallIdPrefix = tools.call_id.prefix,
            /// Text after a call's id.
            CallIdSuffix = tools.call_id.suffix,
            /// Text that closes what the name's prefix opened.
            FunctionClose = tools.function.close,
            /// Text before a function's name.
            FunctionNamePrefix = tools.function.name_prefix,
            /// Text after a function's name.
            FunctionNameSuffix = tools.function.name_suffix,
            /// Marker after each call.
            CallEnd = tools.per_call_end,
            /// Marker before each call.
            CallStart = tools.per_call_start,
            /// Marker after all calls of a turn.
            SectionEnd = tools.section_end,
            /// Marker before all calls of a turn.
            SectionStart = tools.section_start,
            /// Text between two calls.
            CallSeparator = tools.separator,
            /// Text before an assistant message.
            AssistantStart = turn.assistant_start,
            /// Text after an assistant message.
            TurnEnd = turn.end,
            /// Text before a user message.
            UserStart = turn.user_start,
        }
    };
}
pub(crate) use each_marker;

each_marker!(marker_keys);

impl MarkerKey {
    /// Whether [`REPEATED_NAME`](tag::REPEATED_NAME) in this marker stands for the function's name, which comes before it in the call.
    #[must_use]
    pub fn may_repeat_name(self) -> bool {
        matches!(self, MarkerKey::FunctionNameSuffix | MarkerKey::FunctionClose)
    }

    /// Whether `[alternatives]` may list other texts for this marker. It may not for texts before the model's
    /// output, and for texts that only take effect together with another one.
    #[must_use]
    pub fn may_have_alternatives(self) -> bool {
        !matches!(
            self,
            MarkerKey::AssistantStart
                | MarkerKey::UserStart
                | MarkerKey::ContentLabel
                | MarkerKey::HeaderChannel
                | MarkerKey::HeaderEnd
                | MarkerKey::HeaderRecipient
                | MarkerKey::HeaderStart
                | MarkerKey::MessageEnd
                | MarkerKey::ArgumentClosePrefix
                | MarkerKey::ArgumentCloseSuffix
                | MarkerKey::ArgumentTypePrefix
                | MarkerKey::ArgumentTypeSuffix
                | MarkerKey::CallSeparator
                | MarkerKey::ArgumentQuote
                | MarkerKey::ArgumentValuePrefix
                | MarkerKey::CallIdPrefix
                | MarkerKey::CallIdSuffix
                | MarkerKey::CallPunctuation
                | MarkerKey::ArgumentsPunctuation
                | MarkerKey::OtherToken
                | MarkerKey::CodeFence
        )
    }
}

impl fmt::Display for MarkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is not the key of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMarker {
    /// The text.
    pub name: String,
}

impl fmt::Display for UnknownMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = crate::text::visible(&self.name);
        write!(f, "`{name}` is not the key of a marker")?;
        match crate::text::nearest(&self.name, MarkerKey::NAMES.iter().copied()) {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => write!(f, "; write a dotted key such as `tools.per_call_start`"),
        }
    }
}

impl std::error::Error for UnknownMarker {}

impl FromStr for MarkerKey {
    type Err = UnknownMarker;

    fn from_str(name: &str) -> Result<Self, UnknownMarker> {
        let known = MarkerKey::ALL.iter().find(|key| key.as_str() == name);
        known.copied().ok_or_else(|| UnknownMarker { name: name.to_owned() })
    }
}

impl Serialize for MarkerKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The names of the markers that `[alternatives]` may list.
static WITH_ALTERNATIVES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let keys = MarkerKey::ALL.iter().filter(|key| key.may_have_alternatives());
    keys.map(|key| key.as_str()).collect()
});

impl<'de> Deserialize<'de> for MarkerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl de::Visitor<'_> for Name {
            type Value = MarkerKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the dotted key of a marker")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<MarkerKey, E> {
                // Marker keys are the keys of a table, `[alternatives]`: another name there is an unknown key.
                name.parse().map_err(|_| E::unknown_field(name, &WITH_ALTERNATIVES))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// The text of a marker, taken apart: the core, which a model must write, and the white space that the template writes
/// around it, which is layout and may vary.
///
/// ```
/// use unjinja_spec::MarkerText;
///
/// let marker = MarkerText::new("\n</function>\n</tool_call>\n");
/// assert_eq!((marker.before, marker.core, marker.after), ("\n", "</function>\n</tool_call>", "\n"));
/// assert_eq!(marker.tags(), ["</function>", "</tool_call>"]);
/// assert!(MarkerText::new(" \n").is_layout());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkerText<'t> {
    /// The text without the white space at its ends; empty for a marker that is only layout.
    pub core: &'t str,
    /// White space before the core; the whole text of a marker that is only layout.
    pub before: &'t str,
    /// White space after the core.
    pub after: &'t str,
}

impl<'t> MarkerText<'t> {
    /// Takes a text apart.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let rest = text.trim_start();
        let (before, rest) = text.split_at(text.len() - rest.len());
        let (core, after) = rest.split_at(rest.trim_end().len());
        Self { core, before, after }
    }

    /// Whether there is nothing but white space, or nothing at all.
    #[must_use]
    pub fn is_layout(self) -> bool {
        self.core.is_empty()
    }

    /// The complete tags in the marker, in order.
    #[must_use]
    pub fn tags(self) -> Vec<&'t str> {
        tag::tags(self.core)
    }

    /// The core up to the end of its first tag, or the whole core if it has no tag.
    #[must_use]
    pub fn up_to_first_tag(self) -> &'t str {
        let first = self.tags().first().and_then(|tag| Some(self.core.find(tag)? + tag.len()));
        &self.core[..first.unwrap_or(self.core.len())]
    }

    /// The core, and each beginning of it that ends at a tag: after the tag, or after text that another tag follows.
    #[must_use]
    pub fn beginnings(self) -> Vec<&'t str> {
        let mut found = vec![self.core];
        let mut at = 0;
        for tag in self.tags() {
            let start = self.core[at..].find(tag).map_or(at, |found| at + found);
            at = start + tag.len();
            for end in [start, at] {
                let core = self.core[..end].trim_end();
                if !core.is_empty() && !found.contains(&core) {
                    found.push(core);
                }
            }
        }
        found
    }

    /// The pieces of a marker's text: it is cut after white space that contains a newline or is between two tags,
    /// because a model may leave such white space out. Joined, the pieces are the text.
    #[must_use]
    pub fn pieces(text: &'t str) -> Vec<MarkerText<'t>> {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text[at..];
            let space = rest.len() - rest.trim_start().len();
            if space == 0 {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            let (before, after) = (text[start..at].trim(), rest.trim_start());
            at += space;
            let between_tags = tag::ends_tag(before) && tag::begins_tag(after);
            if !before.is_empty() && !after.is_empty() && (between_tags || rest[..space].contains('\n')) {
                pieces.push(MarkerText::new(&text[start..at]));
                start = at;
            }
        }
        if start < text.len() {
            pieces.push(MarkerText::new(&text[start..]));
        }
        pieces
    }

    /// Whether there are words between the tags. Then the tags mean nothing alone: `<|open|>think<|sep|>`.
    #[must_use]
    pub fn has_words(self) -> bool {
        let mut at = 0;
        for tag in self.tags() {
            let Some(next) = self.core[at..].find(tag) else { continue };
            if self.core[at..at + next].contains(char::is_alphanumeric) {
                return true;
            }
            at += next + tag.len();
        }
        self.core[at..].contains(char::is_alphanumeric)
    }

    /// The marker, cut before each of its tags: a model may write white space there. With words between the tags it is
    /// left whole, and a token in brackets that face outwards stays with what it is before.
    ///
    /// ```
    /// # use unjinja_spec::MarkerText;
    /// let cores = |text| MarkerText::new(text).at_tags().iter().map(|piece| piece.core).collect::<Vec<&str>>();
    /// assert_eq!(cores("]</calls>"), ["]", "</calls>"]);
    /// assert_eq!(cores("<|close|>call<|sep|>"), ["<|close|>call<|sep|>"]);
    /// assert_eq!(cores("]<]x[>[</call></calls>"), ["]<]x[>[</call>", "</calls>"]);
    /// ```
    #[must_use]
    pub fn at_tags(self) -> Vec<MarkerText<'t>> {
        if self.has_words() {
            return vec![self];
        }
        let mut cuts = vec![0];
        let (mut from, mut is_joined) = (0, false);
        for tag in self.tags() {
            let at = self.core[from..].find(tag).map_or(from, |at| from + at);
            if at > 0 && !(is_joined && at == from) {
                cuts.push(at);
            }
            (from, is_joined) = (at + tag.len(), tag::joins_next(tag));
        }
        cuts.push(self.core.len());
        let mut pieces: Vec<MarkerText<'t>> =
            cuts.windows(2).map(|cut| MarkerText::new(&self.core[cut[0]..cut[1]])).collect();
        if let Some(first) = pieces.first_mut() {
            first.before = self.before;
        }
        if let Some(last) = pieces.last_mut() {
            last.after = self.after;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_parse_from_their_names_and_are_ordered_like_them() {
        for (key, name) in MarkerKey::ALL.iter().zip(MarkerKey::NAMES) {
            assert_eq!(name.parse(), Ok(*key));
            assert_eq!(key.to_string(), *name);
        }
        assert!(MarkerKey::NAMES.is_sorted());
        assert!(MarkerKey::ALL.is_sorted());
        for punctuation in
            [MarkerKey::CallPunctuation, MarkerKey::ArgumentsPunctuation, MarkerKey::OtherToken, MarkerKey::CodeFence]
        {
            assert!(punctuation.as_str().parse::<MarkerKey>().is_err(), "{punctuation} is no key of a spec");
        }
        let error = "tools.per_call_strat".parse::<MarkerKey>().map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("`tools.per_call_strat` is not the key of a marker; did you mean `tools.per_call_start`?".to_owned())
        );
    }

    #[test]
    fn pieces_make_up_the_text() {
        let texts = ["<a>\n<b> <c>", "\n  x y <d>", "", "  ", "[A] [B]", "one\ntwo", "<|start|>assistant to=f"];
        let counts = texts.map(|text| MarkerText::pieces(text).len());
        assert_eq!(counts, [3, 1, 0, 1, 2, 2, 1]);
        for text in texts {
            let pieces = MarkerText::pieces(text);
            let joined: String = pieces.iter().map(|piece| [piece.before, piece.core, piece.after].concat()).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn the_first_tag_ends_a_core() {
        assert_eq!(MarkerText::new(" <|im_end|>\n<|eot|>").up_to_first_tag(), "<|im_end|>");
        assert_eq!(MarkerText::new("stop").up_to_first_tag(), "stop");
        let end = MarkerText::new("<|close|>turn<|sep|>\n<|end|>\n");
        let cut = ["<|close|>", "<|close|>turn", "<|close|>turn<|sep|>"];
        assert_eq!(end.beginnings(), [&[end.core], &cut[..]].concat());
        assert_eq!(MarkerText::new("stop").beginnings(), ["stop"]);
    }
}

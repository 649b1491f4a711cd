//! The markers of a whole spec: their texts by key, and the tokens that a server must keep for them.

use std::collections::BTreeSet;

use crate::marker::{MarkerKey, each_marker};
use crate::model::FormatSpec;
use crate::tag;

macro_rules! text_by_key {
    ($($(#[doc = $doc:literal])+ $variant:ident = $table:ident $(.$name:ident)+,)*) => {
        /// The field that a key names.
        fn text(spec: &FormatSpec, key: MarkerKey) -> &str {
            match key {
                $(MarkerKey::$variant => &spec.$table$(.$name)+,)*
                MarkerKey::CallPunctuation
                | MarkerKey::ArgumentsPunctuation
                | MarkerKey::OtherToken
                | MarkerKey::CodeFence => "",
            }
        }
    };
}
each_marker!(text_by_key);

impl FormatSpec {
    /// The text of a marker; empty where the spec does not set it, and for punctuation.
    #[must_use]
    pub fn marker(&self, key: MarkerKey) -> &str {
        text(self, key)
    }

    /// Every marker that the spec sets, with its text, and every alternative, in the order of the keys. Empty markers
    /// are left out.
    pub fn markers(&self) -> impl Iterator<Item = (MarkerKey, &str)> {
        let own = MarkerKey::ALL.iter().map(|key| (*key, self.marker(*key)));
        let others = self.alternatives.iter().flat_map(|(key, texts)| texts.iter().map(|text| (*key, text.as_str())));
        own.chain(others).filter(|(_, text)| !text.is_empty())
    }

    /// The tokens that whoever turns token ids into text must keep for a parser to see the markers, sorted: those that
    /// `tokens.preserved` lists, and every tag in a marker or an alternative.
    ///
    /// Only the text before a user message is left out, because a model does not write it.
    #[must_use]
    pub fn preserved_tokens(&self) -> Vec<String> {
        let mut tokens = self.marker_tags();
        tokens.extend(self.tokens.preserved.iter().map(String::as_str));
        tokens.into_iter().map(str::to_owned).collect()
    }

    /// The tags in the markers and alternatives that a model writes.
    pub(crate) fn marker_tags(&self) -> BTreeSet<&str> {
        let written = self.markers().filter(|(key, _)| *key != MarkerKey::UserStart).map(|(_, text)| text);
        let types = self.content.header.types.iter().map(String::as_str);
        let tags = written.chain(types).flat_map(tag::tags);
        // A tag with a name is written in as many forms as there are functions.
        let mut found = BTreeSet::new();
        found.extend(tags.filter(|tag| !tag.contains(tag::REPEATED_NAME)));
        found
    }
}

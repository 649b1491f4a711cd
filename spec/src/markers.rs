//! The markers of a whole spec: their texts by key, and the tokens that a server must keep for them.

use std::collections::BTreeSet;

use crate::marker::MarkerKey;
use crate::model::FormatSpec;
use crate::tag;

impl FormatSpec {
    /// The text of a marker; empty where the spec does not set it, and for punctuation.
    #[must_use]
    pub fn marker(&self, key: MarkerKey) -> &str {
        let (tools, arguments, header) = (&self.tools, &self.tools.arguments, &self.content.header);
        match key {
            MarkerKey::ContentEnd => &self.content.end,
            MarkerKey::ContentLabel => &self.content.label,
            MarkerKey::ContentStart => &self.content.start,
            MarkerKey::HeaderChannel => &header.channel,
            MarkerKey::HeaderEnd => &header.end,
            MarkerKey::HeaderRecipient => &header.recipient,
            MarkerKey::HeaderStart => &header.start,
            MarkerKey::MessageEnd => &header.message_end,
            MarkerKey::ReasoningEmpty => &self.reasoning.empty,
            MarkerKey::ReasoningEnd => &self.reasoning.end,
            MarkerKey::ReasoningStart => &self.reasoning.start,
            MarkerKey::ArgumentClosePrefix => &arguments.close_prefix,
            MarkerKey::ArgumentCloseSuffix => &arguments.close_suffix,
            MarkerKey::ArgumentTypePrefix => &arguments.type_prefix,
            MarkerKey::ArgumentTypeSuffix => &arguments.type_suffix,
            MarkerKey::ArgumentsEnd => &arguments.end,
            MarkerKey::ArgumentNamePrefix => &arguments.name_prefix,
            MarkerKey::ArgumentNameSuffix => &arguments.name_suffix,
            MarkerKey::OtherNameSuffix => &arguments.other_name_suffix,
            MarkerKey::ArgumentQuote => &arguments.quote,
            MarkerKey::ArgumentSeparator => &arguments.separator,
            MarkerKey::ArgumentsStart => &arguments.start,
            MarkerKey::ArgumentValuePrefix => &arguments.value_prefix,
            MarkerKey::ArgumentValueSuffix => &arguments.value_suffix,
            MarkerKey::CallIdPrefix => &tools.call_id.prefix,
            MarkerKey::CallIdSuffix => &tools.call_id.suffix,
            MarkerKey::FunctionClose => &tools.function.close,
            MarkerKey::FunctionNamePrefix => &tools.function.name_prefix,
            MarkerKey::FunctionNameSuffix => &tools.function.name_suffix,
            MarkerKey::CallEnd => &tools.per_call_end,
            MarkerKey::CallStart => &tools.per_call_start,
            MarkerKey::SectionEnd => &tools.section_end,
            MarkerKey::SectionStart => &tools.section_start,
            MarkerKey::CallSeparator => &tools.separator,
            MarkerKey::AssistantStart => &self.turn.assistant_start,
            MarkerKey::TurnEnd => &self.turn.end,
            MarkerKey::UserStart => &self.turn.user_start,
            MarkerKey::CallPunctuation
            | MarkerKey::ArgumentsPunctuation
            | MarkerKey::OtherToken
            | MarkerKey::CodeFence => "",
        }
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
        tags.filter(|tag| !tag.contains(tag::REPEATED_NAME)).collect()
    }
}

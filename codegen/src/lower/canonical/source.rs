//! What a plan is made from: a spec, and what lowering adds to it.
//!
//! The parts of a header are put together here: each header that a model may write becomes one more text of the marker for
//! which the model writes it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Deref;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{FormatSpec, Header, MarkerKey, MarkerText, ToolFormat};

/// The markers with which a call may open.
pub(in crate::lower) const OPENERS: [MarkerKey; 3] =
    [MarkerKey::SectionStart, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];

/// A spec, and what lowering adds to it.
pub(in crate::lower) struct Source<'s> {
    spec: Cow<'s, FormatSpec>,
    /// The markers that are not taken apart, because a part of them would be mistaken for another marker.
    whole: &'s BTreeSet<MarkerKey>,
    /// The headers that the parts of a header make up, with the marker for which each is written.
    headers: Vec<(MarkerKey, String)>,
}

impl Deref for Source<'_> {
    type Target = FormatSpec;

    fn deref(&self) -> &FormatSpec {
        &self.spec
    }
}

impl<'s> Source<'s> {
    pub(in crate::lower) fn new(spec: &'s FormatSpec, whole: &'s BTreeSet<MarkerKey>) -> Self {
        let layout = MarkerText::new(&spec.reasoning.end);
        if spec.content.header == Header::default() && (layout.before.is_empty() || !layout.is_layout()) {
            return Self { spec: Cow::Borrowed(spec), whole, headers: Vec::new() };
        }
        let mut own = spec.clone();
        if layout.is_layout() {
            before_next(&mut own, layout.before);
        }
        if spec.content.header == Header::default() {
            return Self { spec: Cow::Owned(own), whole, headers: Vec::new() };
        }
        let header = &spec.content.header;
        let mut alone = None;
        // The next header belongs to the next message, as far as the end of reasoning has it.
        if let Some((end, rest)) =
            own.reasoning.end.split_once(header.start.as_str()).filter(|(end, _)| !end.is_empty())
        {
            let (end, rest) = (end.to_owned(), rest.to_owned());
            own.reasoning.end = end;
            if !rest.is_empty() {
                // Where the prompt wrote that part, the rest of the header comes alone.
                alone = Some((MarkerKey::ContentStart, own.content.start.clone()));
                own.content.start.insert_str(0, &rest);
            }
        }
        end_with_last_message(&mut own);
        // What follows the name is the rest of its header.
        let start = std::mem::take(&mut own.tools.arguments.start);
        own.tools.function.name_suffix.push_str(&start);
        let mut headers = headers(header);
        headers.extend(alone);
        headers.retain(|(key, text)| own.marker(*key).trim() != text.trim());
        Self { spec: Cow::Owned(own), whole, headers }
    }

    /// Whether calls are written like `name(key="value", …)`: call expressions, and those whose template prints text between quotes
    /// as it is. A model that writes such calls writes literals.
    pub(in crate::lower) fn is_expression(&self) -> bool {
        let (function, arguments) = (&self.tools.function, &self.tools.arguments);
        let brackets = (function.name_suffix.trim(), function.close.trim());
        match self.tools.format {
            ToolFormat::CallExpression => true,
            ToolFormat::TagWithTagged => {
                matches!(brackets, ("(", ")") | ("{", "}") | ("[", "]"))
                    && arguments.name_prefix.trim().is_empty()
                    && arguments.separator.trim() == ","
                    && self.quoted_by().is_some()
            }
            _ => false,
        }
    }

    /// The sign after the name of an argument, and the quote around its value, where the template writes any text between quotes.
    pub(in crate::lower) fn quoted_by(&self) -> Option<(&'static str, &str)> {
        let arguments = &self.tools.arguments;
        let opener = arguments.name_suffix.trim();
        let quote = arguments.value_suffix.trim();
        let sign = ["=", ":"].into_iter().find(|sign| opener.strip_prefix(*sign) == Some(quote))?;
        (!quote.is_empty()).then_some((sign, quote))
    }

    /// Whether the values of arguments are told apart by nothing but the schema of the tool.
    pub(in crate::lower) fn is_untyped(&self) -> bool {
        let arguments = &self.tools.arguments;
        self.tools.format == ToolFormat::TagWithTagged
            && arguments.type_prefix.trim().is_empty()
            && arguments.other_name_suffix.is_empty()
    }

    /// Whether a special token announces every call.
    pub(in crate::lower) fn is_announced(&self) -> bool {
        OPENERS.iter().any(|key| is_special_token(MarkerText::new(self.marker(*key)).core.as_bytes()))
    }

    pub(in crate::lower) fn is_whole(&self, key: MarkerKey) -> bool {
        self.whole.contains(&key)
    }

    /// The headers that a model may write for a marker, without the marker's own text.
    pub(in crate::lower) fn headers(&self, key: MarkerKey) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(other, _)| *other == key).map(|(_, text)| text.as_str())
    }
}

/// White space after reasoning that only the next section ends: it becomes layout of the markers with which one begins.
fn before_next(spec: &mut FormatSpec, layout: &str) {
    let tools = &mut spec.tools;
    let calls = [&mut tools.section_start, &mut tools.per_call_start, &mut tools.function.name_prefix];
    let opener = calls.into_iter().find(|marker| !marker.trim().is_empty());
    for marker in opener.into_iter().chain([&mut spec.content.start]).filter(|marker| !marker.trim().is_empty()) {
        if !marker.starts_with(char::is_whitespace) {
            marker.insert_str(0, layout);
        }
    }
}

/// Where the last message of a turn ends with a special token and the others with another one, that token ends the turn.
fn end_with_last_message(spec: &mut FormatSpec) {
    let other = MarkerText::new(&spec.content.header.message_end);
    let last = MarkerText::new(&spec.content.end);
    let ends_turn = !other.is_layout() && other.core != last.core && is_special_token(last.core.as_bytes());
    if ends_turn {
        let last = std::mem::replace(&mut spec.content.end, spec.content.header.message_end.clone());
        if spec.turn.end.trim().is_empty() {
            spec.turn.end = last;
        } else {
            spec.alternatives.entry(MarkerKey::TurnEnd).or_default().push(last);
        }
    }
}

/// Every header that the parts of a header make up, with the marker for which it is written.
fn headers(parts: &Header) -> Vec<(MarkerKey, String)> {
    let mut headers: Vec<(MarkerKey, String)> = Vec::new();
    let mut add = |key: MarkerKey, parts: &[&str]| {
        let header = (key, parts.concat());
        if !header.1.trim().is_empty() && !headers.contains(&header) {
            headers.push(header);
        }
    };
    let starts = [parts.start.as_str(), ""];
    let types: Vec<String> =
        std::iter::once(String::new()).chain(parts.types.iter().map(|name| format!(" {}", name.trim()))).collect();
    let (channel, end) = (parts.channel.as_str(), parts.end.as_str());
    for start in starts {
        for name in &parts.reasoning {
            add(MarkerKey::ReasoningStart, &[start, channel, name, end]);
        }
        for name in &parts.answers {
            for kind in &types {
                add(MarkerKey::ContentStart, &[start, channel, name, kind, end]);
            }
        }
        if parts.recipient.trim().is_empty() {
            continue;
        }
        add(MarkerKey::CallStart, &[start, &parts.recipient]);
        for name in &parts.calls {
            add(MarkerKey::CallStart, &[start, channel, name, &parts.recipient]);
        }
    }
    if !parts.recipient.trim().is_empty() {
        for kind in &types {
            add(MarkerKey::FunctionNameSuffix, &[kind, end]);
            for name in &parts.calls {
                add(MarkerKey::FunctionNameSuffix, &[channel, name, kind, end]);
            }
        }
    }
    add(MarkerKey::ContentEnd, &[&parts.message_end]);
    headers
}

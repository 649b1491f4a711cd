//! Gives the markers of a template other names: in its text and string literals, and in the conversations that it renders.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use unjinja_render::Template;
use unjinja_spec::FormatSpec;

use super::parts::{SyntaxKind, decoded, parts};
use crate::support::Failure;

/// A name inside a marker. It is renamed wherever it occurs as a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// The name of a tag: `tool_call` in `<tool_call>`, `</tool_call>` and `<|tool_call>`, `function` in `<function=`.
    Tag(String),
    /// Words outside of tags: `Action:`, `functools`. Also the name of an attribute with its `=`.
    Words(String),
}

/// Words that are also roles or fields of messages.
pub(super) const FIELDS: [&str; 9] =
    ["assistant", "content", "developer", "function", "name", "system", "tool", "tool_calls", "user"];

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '▁')
}

pub(super) fn is_frill(c: char) -> bool {
    matches!(c, '|' | '｜' | '/')
}

impl Name {
    /// Collects the names in a marker.
    pub(super) fn of_marker(marker: &str, names: &mut BTreeSet<Name>) {
        let mut rest = marker;
        while let Some(at) = rest.find(['<', '[']) {
            let (before, tag) = rest.split_at(at);
            Self::of_words(before, names);
            let (open, close) = if tag.starts_with('<') { ('<', '>') } else { ('[', ']') };
            let end = tag.find(close).unwrap_or(tag.len());
            let inner = &tag[1..end];
            let body = inner.trim_start_matches(is_frill);
            let ends = |c: char| open == '<' && (c.is_whitespace() || "<={}()\"',".contains(c));
            let body = body[..body.find(ends).unwrap_or(body.len())].trim_end_matches(is_frill);
            let upper = |c: char| c.is_ascii_uppercase() || matches!(c, '_' | ' ' | '0'..='9');
            let fits = open == '<' || body.chars().all(upper);
            if fits && body.starts_with(|c: char| c.is_alphabetic()) {
                names.insert(Name::Tag(body.to_owned()));
            }
            Self::of_attributes(inner, names);
            rest = &tag[end..];
        }
        // The rest of a tag that continues in the next marker.
        match rest.split_once('>') {
            Some((attributes, words)) => {
                Self::of_attributes(attributes, names);
                Self::of_words(words, names);
            }
            None => Self::of_words(rest, names),
        }
    }

    pub(super) fn of_attributes(text: &str, names: &mut BTreeSet<Name>) {
        for (at, _) in text.match_indices("=\"") {
            let word = &text[text[..at].rfind(|c| !is_word(c)).map_or(0, |start| start + 1)..at];
            if !word.is_empty() && word.is_ascii() && word.len() < at {
                names.insert(Name::Words(format!("{word}=")));
            }
        }
    }

    pub(super) fn of_words(text: &str, names: &mut BTreeSet<Name>) {
        for line in text.split('\n') {
            let words = line.trim_matches(|c: char| c.is_whitespace() || "<>[]{}()\"'=,".contains(c));
            let letters = words.chars().filter(char::is_ascii_alphabetic).count();
            // A word in quotes is the key of a JSON object.
            if letters > 1 && !words.contains('"') && !FIELDS.contains(&words) {
                names.insert(Name::Words(words.to_owned()));
            }
        }
    }

    /// The places of the name in a text.
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        let (Name::Tag(body) | Name::Words(body)) = self;
        let stands = |at: usize| {
            let (before, after) = (&text[..at], text[at + body.len()..].chars().next());
            let ends = !body.ends_with(is_word) || !after.is_some_and(is_word);
            ends && match self {
                Name::Tag(_) => before.trim_end_matches(is_frill).ends_with(['<', '[']),
                Name::Words(_) => !before.ends_with(is_word),
            }
        };
        text.match_indices(body.as_str()).filter(|(at, _)| stands(*at)).map(|(at, _)| at..at + body.len()).collect()
    }
}

/// A change of names: each letter of a name becomes another letter of the same case.
#[derive(Clone, Debug, Default)]
pub(super) struct Renaming {
    pub(super) names: Vec<Name>,
    /// Whether names become twice as long; else they keep their length.
    pub(super) longer: bool,
}

impl Renaming {
    /// For each byte of a text, whether it belongs to a name.
    pub(super) fn places(&self, text: &str) -> BTreeSet<usize> {
        self.names.iter().flat_map(|name| name.places(text)).flatten().collect()
    }

    /// Replaces the letters at these places.
    pub(super) fn with_letters(&self, text: &str, places: &BTreeSet<usize>) -> String {
        // No letter stays the same, and the alphabetical order changes.
        const OTHERS: &[u8; 26] = b"qhzvkxwdyrbptmgjfuceisoanl";
        let other = |c: char, by: u8| match c {
            'a'..='z' => char::from(OTHERS[usize::from((c as u8 - b'a' + by) % 26)]),
            _ => char::from(OTHERS[usize::from((c as u8 - b'A' + by) % 26)]).to_ascii_uppercase(),
        };
        let mut out = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            if !c.is_ascii_alphabetic() || !places.contains(&at) {
                out.push(c);
                continue;
            }
            out.push(other(c, 0));
            if self.longer {
                out.push(other(c, 9));
            }
        }
        out
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.with_letters(text, &self.places(text))
    }

    /// Renames in the text and the string literals of a template, and nowhere else.
    pub(super) fn template(&self, source: &str) -> String {
        let mut places = BTreeSet::new();
        for (kind, range) in parts(source) {
            if matches!(kind, SyntaxKind::Text | SyntaxKind::Literal) {
                let (text, offsets) = decoded(source, kind, &range);
                places.extend(self.places(&text).into_iter().map(|at| offsets[at]));
            }
        }
        self.with_letters(source, &places)
    }

    /// Renames in the texts of a conversation.
    pub(super) fn conversation(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.conversation(item)).collect(),
            Value::Object(map) => {
                let said = |(key, value): (&String, &Value)| {
                    let keep = matches!(key.as_str(), "role" | "type" | "name" | "id" | "tool_call_id");
                    (key.clone(), if keep { value.clone() } else { self.conversation(value) })
                };
                Value::Object(map.iter().map(said).collect())
            }
            other => other.clone(),
        }
    }

    /// Whether the renamed template renders the renamed texts.
    pub(super) fn holds(&self, source: &str, contexts: &[Value], originals: &[Option<String>]) -> bool {
        let Ok(template) = Template::parse("renamed", &self.template(source)) else { return false };
        let is_tag = |name: &&Name| matches!(name, Name::Tag(_));
        let tags = Self { names: self.names.iter().filter(is_tag).cloned().collect(), longer: self.longer };
        contexts.iter().zip(originals).all(|(context, original)| {
            let text = template.render(&tags.conversation(context)).ok();
            text == original.as_ref().map(|original| self.text(original))
        })
    }
}

/// The names in the markers of a spec.
pub(super) fn names_of(spec: &FormatSpec) -> Result<BTreeSet<Name>, Failure> {
    let mut names = BTreeSet::new();
    each_marker(&mut serde_json::to_value(spec)?, &mut |marker| Name::of_marker(marker, &mut names));
    Ok(names)
}

/// Calls `visit` on every marker of a spec, but not on the names of fields and variables.
pub(super) fn each_marker(spec: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    const OTHERS: [&str; 19] = [
        "template",
        "capabilities",
        "messages",
        "evidence",
        "tokens",
        "status",
        "gaps",
        "mode",
        "format",
        "starts_in",
        "position",
        "field",
        "switch",
        "function_field",
        "name_field",
        "args_field",
        "id_field",
        "gen_id_field",
        "parameter_order",
    ];
    match spec {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_marker(item, visit)),
        Value::Object(map) => {
            let markers = map.iter_mut().filter(|(key, _)| !OTHERS.contains(&key.as_str()));
            markers.for_each(|(_, value)| each_marker(value, visit));
        }
        _ => {}
    }
}

//! Recognises answers that look like calls whose special tokens a server has removed.

use memchr::memmem;

use super::{Diagnostic, DiagnosticKind, Message};
use crate::options::Options;
use crate::program::{Program, State, is_special_token};

/// How far behind a function's name its arguments are looked for, in bytes.
const REACH: usize = 64;

/// Words that may stand between a name and its arguments.
const WORDS: [&str; 5] = ["arguments", "parameters", "args", "input", "json"];

impl Message {
    /// Reports ([`DiagnosticKind::StrippedTokens`]) that special tokens seem to be missing from the output: tools were
    /// offered, their calls are announced by special tokens, there is no call, and the answer has the name of one of these
    /// tools with an object or brackets behind it. The message is not changed otherwise: what looks like a call may be a
    /// quotation.
    ///
    /// Parsers do not call this: it looks at the whole answer.
    pub fn note_stripped_tokens(&mut self, program: &Program, options: &Options) {
        if options.tools.is_empty() || !self.tool_calls.is_empty() || !announces_by_token(program) {
            return;
        }
        let tools = options.tools.iter().map(|tool| tool.name.as_str());
        let Some((at, name)) = tools.filter_map(|name| Some((find_call(&self.content, name)?, name))).min() else {
            return;
        };
        let detail = format!("{name}: {}", excerpt(&self.content[at..]));
        Diagnostic::new(DiagnosticKind::StrippedTokens, None, detail).insert_into(&mut self.diagnostics);
    }
}

/// Whether a special token stands in the markers of calls.
fn announces_by_token(program: &Program) -> bool {
    let mut arrows = program.states.iter().flat_map(State::arrows);
    arrows.any(|(marker, step)| step.key.starts_with("tools") && is_special_token(marker.core.as_bytes()))
}

/// Where a name stands in a text as in a call: alone, and with an object or brackets behind it.
fn find_call(text: &str, name: &str) -> Option<usize> {
    let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    memmem::find_iter(text.as_bytes(), name.as_bytes()).find(|&at| {
        let before = text[..at].bytes().next_back();
        let behind = &text.as_bytes()[at + name.len()..];
        !is_word(before) && !is_word(behind.first().copied()) && begins_arguments(&behind[..behind.len().min(REACH)])
    })
}

/// Whether arguments begin here, perhaps behind an index, a key and punctuation.
fn begins_arguments(mut text: &[u8]) -> bool {
    loop {
        match text {
            [b'(' | b'{', rest @ ..] => {
                let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                return next.is_some_and(|byte| {
                    matches!(byte, b'"' | b'\'' | b'}' | b')' | b'_') || byte.is_ascii_alphabetic()
                });
            }
            [b' ' | b'\n' | b':' | b',' | b'"' | b'\'' | b'0'..=b'9', rest @ ..] => text = rest,
            _ => match WORDS.iter().find(|word| text.starts_with(word.as_bytes())) {
                Some(word) => text = &text[word.len()..],
                None => return false,
            },
        }
    }
}

/// The beginning of a text.
fn excerpt(text: &str) -> &str {
    const LENGTH: usize = 40;
    let end = (0..=text.len().min(LENGTH)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::find_call;

    #[test]
    fn calls_without_their_tokens_are_recognised() {
        for text in [
            "functions.now:0{\"zone\": \"UTC\"}",
            "call:now{zone:UTC}",
            "{\"name\": \"now\", \"arguments\": {}}",
            "now\n```json\n{\"zone\": 1}".replace("```", "").as_str(),
            "Let me see.now(zone=\"UTC\")",
        ] {
            assert!(find_call(text, "now").is_some(), "{text}");
        }
        for text in ["I know it.", "Right now (12 o'clock) it rains.", "now, then", "{\"now\"}", "snow(a=1)", "now(1)"]
        {
            assert_eq!(find_call(text, "now"), None, "{text}");
        }
    }
}

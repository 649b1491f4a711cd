//! Recognises answers in which something is missing: the call that was demanded, or the special tokens of one.

use memchr::memmem;

use super::{Diagnostic, DiagnosticKind, Message};
use crate::options::Options;
use crate::program::{Program, State, is_special_token};
use crate::tools::Tools;

/// How far after a function's name its arguments are looked for, in bytes.
const REACH: usize = 64;

/// Words that may come between a name and its arguments.
const WORDS: [&str; 5] = ["arguments", "parameters", "args", "input", "json"];

impl Message {
    /// Reports what is missing from the whole output, for which parsers do not look:
    ///
    /// - a call, where [`Options::demands_call`] was set ([`DiagnosticKind::MissingCall`]);
    /// - special tokens ([`DiagnosticKind::StrippedTokens`]): tools were offered, their calls are announced by tokens, there is no
    ///   call, and the answer has the name of one of these tools as in a call: with an object, brackets or one of its arguments after
    ///   it. If there is no answer, the reasoning is looked at: the token that ends it may be missing too;
    /// - the right format ([`DiagnosticKind::OtherFormat`]): the same, with special tokens before the name.
    ///
    /// The message is not changed otherwise: what looks like a call may be a quotation.
    pub fn note_missing(&mut self, program: &Program, options: &Options) {
        if options.demands_call && self.tool_calls.is_empty() {
            Diagnostic::new(DiagnosticKind::MissingCall, None, String::new()).insert_into(&mut self.diagnostics);
        }
        // A call that the request forbids was read, so its tokens are there.
        let forbidden = |diagnostic: &Diagnostic| diagnostic.kind == DiagnosticKind::ForbiddenCall;
        if options.tools.is_empty() || !self.tool_calls.is_empty() || self.diagnostics.iter().any(forbidden) {
            return;
        }
        let text = if self.content.trim().is_empty() { &self.reasoning_content } else { &self.content };
        let tools = options.tools.iter().map(|tool| tool.name.as_str());
        let Some((at, name)) = tools.filter_map(|name| Some((find_call(text, name, &options.tools)?, name))).min()
        else {
            return;
        };
        let kind = match has_token(&text[..at]) {
            true => DiagnosticKind::OtherFormat,
            false if announces_by_token(program) => DiagnosticKind::StrippedTokens,
            false => return,
        };
        let detail = format!("{name}: {}", excerpt(&text[at..]));
        Diagnostic::new(kind, None, detail).insert_into(&mut self.diagnostics);
    }
}

/// Whether a text holds something with the form of a special token.
fn has_token(text: &str) -> bool {
    text.match_indices(['<', '[']).any(|(at, _)| is_special_token(&text.as_bytes()[at..]))
}

/// Whether the markers of calls hold a token that servers may remove.
fn announces_by_token(program: &Program) -> bool {
    let mut arrows = program.states.iter().flat_map(State::arrows).filter(|(_, step)| step.key.starts_with("tools"));
    arrows.any(|(marker, _)| {
        let preserved = &program.info.preserved_tokens;
        is_special_token(marker.core.as_bytes()) || preserved.iter().any(|token| marker.core.contains(&**token))
    })
}

/// Where a name occurs in a text as in a call: alone, with arguments after it, and not in an example between code
/// fences.
fn find_call(text: &str, name: &str, tools: &Tools) -> Option<usize> {
    let declares = |argument: &str| tools.declares(name, argument);
    let (mut seen, mut fences) = (0, 0_usize);
    memmem::find_iter(text.as_bytes(), name.as_bytes()).find(|&at| {
        fences += text[seen..at].matches("```").count();
        seen = at;
        let after = start_of(&text[at + name.len()..], REACH);
        let alone = !text[..at].bytes().next_back().is_some_and(is_word);
        alone
            && fences.is_multiple_of(2)
            && match after.bytes().next() {
                Some(byte) if is_word(byte) => begins_object_after_id(after, declares),
                Some(b'(') => begins_named_values(&after[1..]),
                _ => begins_object(after) || names_argument(after, declares),
            }
    })
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// What may come between the parts of a call whose tokens are gone.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || letter.is_ascii_digit() || ":,\"'`>".contains(letter)
}

/// Whether the arguments of a Python call begin after the bracket: `)` or `name=`.
fn begins_named_values(text: &str) -> bool {
    let text = text.trim_start();
    let rest = text.trim_start_matches(|letter: char| letter == '_' || letter.is_alphanumeric());
    text.starts_with(')') || (rest.len() < text.len() && rest.trim_start().starts_with('='))
}

/// Whether an object begins here, perhaps after an index, a key and punctuation.
fn begins_object(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches(is_between);
        if let Some(inside) = text.strip_prefix('{') {
            let next = inside.trim_start().chars().next();
            return next.is_some_and(|next| "\"'}_\\".contains(next) || next.is_ascii_alphabetic());
        }
        match WORDS.iter().find_map(|word| text.strip_prefix(word)) {
            Some(rest) => text = rest,
            None => return false,
        }
    }
}

/// Whether an id follows directly after the name, and after it an object with an argument of the tool, or with nothing.
fn begins_object_after_id(text: &str, declares: impl Fn(&str) -> bool) -> bool {
    let rest = text.trim_start_matches(|letter: char| letter == '-' || letter == '_' || letter.is_ascii_alphanumeric());
    let Some(inside) = rest.strip_prefix('{').map(str::trim_start) else { return false };
    let key = inside.strip_prefix('"').and_then(|key| key.split('"').next());
    inside.starts_with('}') || key.is_some_and(declares)
}

/// Whether the next line, or the next tag, names an argument of the tool.
fn names_argument(text: &str, declares: impl Fn(&str) -> bool) -> bool {
    let rest = text.trim_start_matches(is_between);
    if !text[..text.len() - rest.len()].contains('\n') {
        return false;
    }
    let part_of_name = |letter: char| letter == '_' || letter == '-' || letter == '.' || letter.is_alphanumeric();
    match rest.strip_prefix('<') {
        Some(tag) => {
            let tag = tag.split('>').next().unwrap_or_default();
            tag.split(|letter: char| !part_of_name(letter)).any(declares)
        }
        None => {
            let end = rest.find(|letter: char| !part_of_name(letter)).unwrap_or(rest.len());
            declares(&rest[..end]) && rest[end..].starts_with(['\n', ':', '=', '"', '>'])
        }
    }
}

fn excerpt(text: &str) -> &str {
    start_of(text, 40)
}

/// At most `length` bytes of a text.
fn start_of(text: &str, length: usize) -> &str {
    let end = (0..=text.len().min(length)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_their_tokens_are_recognised() -> Result<(), Box<dyn std::error::Error>> {
        let tools = Tools::from_json(
            r#"[{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {"zone": {}}}}}]"#,
        )?;
        for text in [
            "functions.now:0{\"zone\": \"UTC\"}",
            "call:now{zone:UTC}",
            "{\"name\": \"now\", \"arguments\": {}}",
            "{\"tool\": \"now\", \"input\": {\"zone\": 1}}",
            "{\"name\": \"now\", \"arguments\": \"{\\\"zone\\\": 1}\"}",
            "now\n```json\n{\"zone\": 1}\n```",
            "Let me see.now(zone=\"UTC\")",
            "now()",
            "nowcall00500{\"zone\":1}",
            "nowcall00500{}",
            "now\nzone\nUTC\n",
            "now\n<act:arg key=\"zone\">UTC",
        ] {
            assert!(find_call(text, "now", &tools).is_some(), "{text}");
        }
        for text in [
            "I know it.",
            "Right now (12 o'clock) it rains.",
            "It is late now (it rains).",
            "now, then",
            "{\"now\"}",
            "snow(a=1)",
            "now(1)",
            "nowhere{\"x\": 1}",
            "From now on\nzones count.",
            "now zone: UTC",
            "now\n<b>bold</b>",
            "A call is\n```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n",
        ] {
            assert_eq!(find_call(text, "now", &tools), None, "{text}");
        }
        Ok(())
    }
}

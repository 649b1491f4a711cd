//! What models write around the calls of a turn.

use unjinja_spec::{FormatSpec, MarkerKey as Key, ToolFormat};

use super::edits::{ANSWER, Edits, at_each, core, is_special, spliced};

pub fn other_token(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let own = spec.tokens.other.iter().map(String::as_str).filter(|token| is_special(token));
    let around = |token: &str| {
        let before = text.find('{').map(|at| spliced(at..at, token));
        before.into_iter().chain([spliced(text.len()..text.len(), token)])
    };
    own.chain(is_bare(spec).then_some("<|tool_call|>")).flat_map(around).collect()
}

/// Whether nothing but JSON announces a call.
fn is_bare(spec: &FormatSpec) -> bool {
    let openers = [Key::SectionStart, Key::CallStart, Key::FunctionNamePrefix];
    spec.tools.format == ToolFormat::JsonNative && openers.iter().all(|key| core(spec, *key).is_empty())
}

/// A code fence around the calls of a turn that begins with them.
pub fn fenced_calls(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let end = text.rfind(['}', ']']).filter(|_| is_bare(spec) && text.starts_with(['{', '[']));
    end.map(|end| vec![(0..0, "```json\n".to_owned()), (end + 1..end + 1, "\n```".to_owned())]).into_iter().collect()
}

/// The calls of a turn as an example after its answer.
pub fn code_fence(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let openers = [Key::SectionStart, Key::CallStart, Key::FunctionNamePrefix].map(|key| core(spec, key));
    let Some(open) = openers.into_iter().find(|core| !core.is_empty()) else { return Vec::new() };
    let Some(at) = text.find(open) else { return Vec::new() };
    let ends = [core(spec, Key::TurnEnd), "<|endoftext|>"].into_iter().filter(|end| !end.is_empty());
    let end = ends.filter_map(|end| text[at..].find(end)).min().map_or(text.len(), |end| at + end);
    let calls = text[at..end].trim_end();
    at_each(text, ANSWER, |answer| format!("{answer}\n```\n{calls}\n```\n"))
}

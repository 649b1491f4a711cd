//! Tags about reasoning or calls in the text of a template that no marker of its spec reads. Whatever the template does with them,
//! its model may write them, so a spec without them must say so.
//!
//! This is the last resort: it says nothing about what such a tag means.

use unjinja_spec::{FormatSpec, ReasoningMode, ToolFormat};

use crate::ask::{Observed, speaks_of_thinking};
use crate::conclude::is_in_header;
use crate::text;

const CALLS: [&str; 3] = ["tool_call", "toolcall", "function_call"];

/// The tags that are about reasoning, if the spec has none, or about calls, if it has none, and that no marker reads. What another gap
/// is about already is left out.
pub(crate) fn unread(o: &Observed, spec: &FormatSpec) -> Vec<String> {
    let prompts = spec.generation_prompt.iter().map(|prompt| prompt.text.as_str());
    let read: Vec<&str> = spec.markers().map(|(_, text)| text).chain(prompts).collect();
    let named = |words: &[&str]| spec.gaps.iter().any(|gap| words.iter().any(|word| gap.contains(word)));
    let lacks_reasoning = spec.reasoning.mode == ReasoningMode::None && !named(&["reasoning", "think"]);
    let lacks_calls = spec.tools.format == ToolFormat::None && !named(&["call"]);
    let about_reasoning = |tag: &str| lacks_reasoning && speaks_of_thinking(tag);
    let about_calls = |tag: &str| {
        let lower = tag.to_lowercase();
        lacks_calls && CALLS.iter().any(|word| lower.contains(word))
    };
    let mut found: Vec<String> = Vec::new();
    let texts = o.written.iter().map(String::as_str).chain(o.own_texts().map(|(_, text)| text));
    for tag in texts.flat_map(text::marks) {
        let is_new = !found.iter().any(|known| known == tag || known.replacen('/', "", 1) == tag.replacen('/', "", 1));
        let is_named = || spec.gaps.iter().any(|gap| gap.contains(tag));
        let is_read =
            || read.iter().any(|text| text.contains(tag)) || is_named() || is_in_header(o, tag) || o.encloses_user(tag);
        if is_new && (about_reasoning(tag) || about_calls(tag)) && !is_read() {
            found.push(tag.to_owned());
        }
    }
    found
}

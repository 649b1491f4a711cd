//! R2: the generation prompts, and the variable that switches thinking. Which text in a prompt is a marker of reasoning
//! is decided elsewhere.

use serde_json::Value;
use unjinja_spec::{Channel, GenerationPrompt, Reasoning, ReasoningMode};

use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::trace::Experiment;

/// Variables of chat templates that do not switch thinking.
const OTHER_VARIABLES: [&str; 14] = [
    "messages",
    "tools",
    "documents",
    "functions",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "pad_token",
    "unk_token",
    "datetime",
    "date_string",
    "raise_exception",
    "strftime_now",
    "continue_final_message",
];

/// Usual names of the variable that switches thinking.
const SWITCHES: [&str; 4] = ["enable_thinking", "thinking", "enable_reasoning", "reasoning"];

/// The template variables that may switch thinking: the usual names that the template mentions, then whatever else it
/// reads.
pub(super) fn switches(probe: &Probe<'_>) -> Vec<String> {
    let source = probe.template.source();
    let mut names: Vec<String> =
        SWITCHES.iter().filter(|switch| source.contains(*switch)).map(|switch| (*switch).to_owned()).collect();
    for name in probe.template.variables() {
        if !OTHER_VARIABLES.contains(&name.as_str()) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// R2: the generation prompts, each with the switch that led to it.
pub(super) type RawPrompts = Vec<(Option<(String, bool)>, String)>;

pub(super) fn generation_prompts(probe: &Probe<'_>, s: &Sentinels) -> RawPrompts {
    let mut prompts: RawPrompts = Vec::new();
    if let Ok(text) = probe.generation_prompt(s, &Value::Null, &[]) {
        prompts.push((None, text));
    }
    for switch in switches(probe) {
        let given = |on: bool| probe.generation_prompt(s, &Value::Null, &[(&switch, on.into())]).ok();
        let (Some(on), Some(off)) = (given(true), given(false)) else { continue };
        if on == off {
            probe.note(s, Experiment::R2, format_args!("{switch} = true | {switch} = false"), |note| {
                note.render(format!("prompt with {switch} = true"), &on);
                note.render(format!("prompt with {switch} = false"), &off).because("it does not change the prompt");
            });
        } else {
            prompts.push((Some((switch.to_owned(), true)), on));
            prompts.push((Some((switch.to_owned(), false)), off));
            break;
        }
    }
    prompts
}

pub(super) fn switch_of(prompts: &RawPrompts) -> String {
    prompts.iter().find_map(|(switch, _)| switch.as_ref().map(|(name, _)| name.clone())).unwrap_or_default()
}

pub(super) fn prompts(raw: &RawPrompts, start: &str, reasoning: &Reasoning) -> Vec<GenerationPrompt> {
    let mut found: Vec<GenerationPrompt> = Vec::new();
    for (switch, text) in raw {
        let rest = text.strip_prefix(start).unwrap_or(text);
        let starts_in = if opens_reasoning(rest, reasoning) { Channel::Reasoning } else { Channel::Content };
        let thinking = switch.as_ref().map(|(_, on)| *on);
        found.push(GenerationPrompt { thinking, text: text.clone(), starts_in });
    }
    found
}

/// Whether a generation prompt leaves reasoning open.
pub(super) fn opens_reasoning(rest: &str, reasoning: &Reasoning) -> bool {
    if reasoning.mode == ReasoningMode::None {
        return false;
    }
    let (start, end) = (reasoning.start.trim(), reasoning.end.trim());
    if !end.is_empty() && rest.contains(end) {
        return rest.rfind(end) < rest.rfind(start).filter(|_| !start.is_empty());
    }
    // If only the end is marked, reasoning is open until it is closed.
    start.is_empty() || rest.contains(start)
}

//! The questions about generation prompts, and which variables change them.

use crate::conversation::Style;
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;
use crate::text;

#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The variable that was set; `None` if none was.
    pub switch: Option<(String, bool)>,
    /// What `add_generation_prompt` adds.
    pub text: String,
    /// All of the prompt after the user's message: the end of that message, and the beginning of the turn.
    pub tail: String,
}

impl Prompt {
    /// Whether `add_generation_prompt` adds nothing: the template writes the beginning of the turn, if any, together with the
    /// user's message.
    pub(crate) fn adds_nothing(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Variables of chat templates that do not switch thinking.
const OTHER_VARIABLES: &str = "messages tools documents functions add_generation_prompt bos_token eos_token pad_token unk_token \
    datetime date_string raise_exception strftime_now continue_final_message";

/// The template variables that may switch thinking. Those whose name speaks of it come first.
pub(super) fn switches(probe: &Probe<'_>) -> Vec<String> {
    let names =
        || probe.variables.iter().filter(|name| !OTHER_VARIABLES.split(' ').any(|other| other == *name)).cloned();
    let of_thinking = names().filter(|name| speaks_of_thinking(name));
    of_thinking.chain(names().filter(|name| !speaks_of_thinking(name))).collect()
}

/// Whether the name of a variable or of a tag says that it is about reasoning.
pub(crate) fn speaks_of_thinking(name: &str) -> bool {
    let name = name.to_lowercase();
    ["think", "thought", "reason"].iter().any(|word| name.contains(word))
}

/// The last tag of a text, and what follows it; all of the text without a tag.
pub(super) fn from_last_tag(text: &str) -> &str {
    let last = text::tags(text).pop().and_then(|tag| text.rfind(tag));
    &text[last.unwrap_or(0)..]
}

/// Whether this text, from a tag on, is before the user's message in a prompt.
pub(super) fn opens_user(prompt: &str, opener: &str) -> bool {
    prompt.split_once(SENTINELS.user).is_some_and(|(before, _)| from_last_tag(before) == opener)
}

/// Whether a tag and its counterpart enclose the user's message in a prompt.
pub(super) fn encloses_user(prompt: &str, end: &str) -> bool {
    let Some((before, after)) = prompt.split_once(SENTINELS.user) else { return false };
    let closes = text::tags(after).first().is_some_and(|tag| *tag == end);
    closes && text::tags(before).last().is_some_and(|tag| text::is_counterpart(tag, end))
}

/// R2: the ends of prompts: without a switch, and with each switch that changes it.
pub(super) fn prompts(probe: &Probe<'_>, style: Style, switches: &[String]) -> Vec<Prompt> {
    let prompt = |switch: Option<(String, bool)>| {
        let extra: Vec<Variable> = switch.iter().map(|(name, on)| (name.clone(), (*on).into())).collect();
        let [text, tail, _] = probe.prompt_ends(style, &extra).ok()?;
        Some(Prompt { switch, text, tail })
    };
    let mut prompts: Vec<Prompt> = prompt(None).into_iter().collect();
    for switch in switches {
        let given = |on: bool| prompt(Some((switch.clone(), on)));
        let (Some(on), Some(off)) = (given(true), given(false)) else { continue };
        // What a switch changes in the user's message does not matter.
        if on.text != off.text || on.adds_nothing() && on.tail != off.tail {
            prompts.extend([on, off]);
        }
    }
    prompts
}

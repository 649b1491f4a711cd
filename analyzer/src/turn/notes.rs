//! Records what the comparisons of a turn showed, once the conclusions are known. Nothing is decided here.

use unjinja_spec::{GenerationPrompt, Reasoning};

use super::prompts::RawPrompts;
use super::shown::Shown;
use crate::conversation::{AssistantMessage, Call, Style};
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::trace::Experiment;
/// Records R1 and R3 with their conclusions.
pub(super) fn reasoning(
    probe: &Probe<'_>,
    s: &Sentinels,
    shown: &Shown,
    call: &Call,
    calls: Option<Style>,
    reasoning: &Reasoning,
) {
    let answer = AssistantMessage::content(s.content);
    let with_answer = || probe.turn(s, &answer.clone().with_reasoning(&shown.field, s.reasoning), Style::PLAIN);
    if shown.with_content {
        probe.note(s, Experiment::R1, format_args!("an answer without `{0}` | with `{0}`", shown.field), |note| {
            note.result("without reasoning", &probe.turn(s, &answer, Style::PLAIN))
                .result("with reasoning", &with_answer());
            note.found("capabilities.reasoning", true).found("reasoning.field", shown.field.as_str());
            note.found("reasoning.start", reasoning.start.as_str()).found("reasoning.end", reasoning.end.as_str());
            note.because(
                "the field's text is rendered before the answer; the opening marker begins after the turn's start, and \
                 the closing marker ends before the answer or before the wrapper of the answer",
            );
        });
    }
    let Some(style) = calls else { return };
    let turn = AssistantMessage::calls(std::slice::from_ref(call));
    let with_call = || probe.turn(s, &turn.clone().with_reasoning(&shown.field, s.reasoning), style);
    if !shown.with_content {
        probe.note(s, Experiment::R1, format_args!("a call without `{0}` | with `{0}`", shown.field), |note| {
            note.result("without reasoning", &probe.turn(s, &turn, style)).result("with reasoning", &with_call());
            note.found("capabilities.reasoning", true).found("reasoning.field", shown.field.as_str());
            note.found("reasoning.start", reasoning.start.as_str()).found("reasoning.end", reasoning.end.as_str());
            note.because("the field's text is rendered before a call, and only there");
        });
    }
    probe.note(s, Experiment::R3, "reasoning before an answer | before a call", |note| {
        note.result("before an answer", &with_answer()).result("before a call", &with_call());
        note.found("reasoning.mode", serde_json::to_value(reasoning.mode).unwrap_or_default());
        note.because(match (shown.with_content, shown.to_call.is_some()) {
            (true, true) => "both render it; the text that follows it in both is its closing marker",
            (true, false) => "only a turn with an answer renders it",
            _ => "only a turn with calls renders it",
        });
    });
}

/// Records R2 with its conclusion.
pub(super) fn prompts(
    probe: &Probe<'_>,
    s: &Sentinels,
    tried: &RawPrompts,
    prompts: &[GenerationPrompt],
    reasoning: &Reasoning,
) {
    let Some(name) = tried.iter().find_map(|(switch, _)| switch.as_ref().map(|(name, _)| name)) else { return };
    probe.note(s, Experiment::R2, format_args!("{name} = true | {name} = false"), |note| {
        for (switch, text) in tried {
            match switch {
                Some((name, on)) => note.render(format!("prompt with {name} = {on}"), text),
                None => note.render("prompt without it", text),
            };
        }
        if reasoning.switch == *name {
            note.found("reasoning.switch", name.as_str());
        }
        for prompt in prompts {
            let starts_in = serde_json::to_value(prompt.starts_in).unwrap_or_default();
            let thinking = prompt.thinking.map_or("unset".to_owned(), |on| on.to_string());
            note.found(&format!("generation_prompt.starts_in ({thinking})"), starts_in);
        }
        note.because(if reasoning.switch == *name {
            "it changes the markers of reasoning in the prompt"
        } else {
            "it changes other parts of the prompt than the markers of reasoning, so it switches something else"
        });
    });
}

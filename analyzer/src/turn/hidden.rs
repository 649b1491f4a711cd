//! Reasoning that no past turn shows. Its markers are found in the generation prompts, in the text that the template
//! drops from an answer, or in the instructions that a switch adds to the prompt.

use serde_json::{Value, json};
use unjinja_spec::{Content, ContentMode, Reasoning, ReasoningMode};

use super::prompts::{RawPrompts, switches};
use crate::conversation::{AssistantMessage, Style};
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;

/// The markers of reasoning that no past turn shows: one that a generation prompt opens, and one at which the template
/// splits an answer.
pub(super) fn hidden_reasoning(
    probe: &Probe<'_>,
    s: &Sentinels,
    start: &mut String,
    prompts: &RawPrompts,
) -> Option<Reasoning> {
    let literals = probe.template.string_literals();
    let mut candidates: Vec<String> = Vec::new();
    for literal in &literals {
        for tag in text::tags(literal) {
            if !candidates.iter().any(|known| known == tag) {
                candidates.push(tag.to_owned());
            }
        }
        // A marker that is not a tag is a string literal of its own.
        let alone = literal.trim();
        let is_mark = (2..=40).contains(&alone.len()) && !alone.contains(char::is_whitespace);
        if is_mark && !alone.chars().all(char::is_alphanumeric) && !candidates.iter().any(|known| known == alone) {
            candidates.push(alone.to_owned());
        }
    }
    // An answer with the candidate in its middle: if the candidate ends reasoning, the template drops the first half.
    let [first, second] = [s.reasoning, s.content];
    let splits = |tag: &str| {
        let content = format!("{first}{tag}{second}");
        let turn = AssistantMessage::content(&content);
        let renders = [probe.turn(s, &turn, Style::PLAIN), probe.past_turn(s, &turn, Style::PLAIN)];
        let split = renders.iter().flatten().any(|text| text.contains(second) && !text.contains(first));
        probe.note(s, Experiment::HiddenHistory, format_args!("{tag} in the middle of an answer"), |note| {
            note.result("the last message", &renders[0]).result("followed by another", &renders[1]);
            if split {
                note.found("reasoning.end", tag).because("the template removes the text before it");
            } else {
                note.because("the template does not split on it");
            }
        });
        split
    };
    let beyond = |text: &'_ str| text.get(start.len()..).unwrap_or("").to_owned();
    let beyond: Vec<String> = prompts.iter().map(|(_, text)| beyond(text)).collect();
    let opened: Vec<&str> = beyond.iter().flat_map(|text| text::tags(text)).collect();
    let counterpart = |end: &str| {
        candidates.iter().map(String::as_str).chain(opened.iter().copied()).find(|tag| text::is_counterpart(tag, end))
    };
    let end = candidates.iter().find(|tag| splits(tag)).cloned().or_else(|| {
        // Else the closing tag of a tag that a prompt opens.
        candidates.iter().find(|end| opened.iter().any(|tag| text::is_counterpart(tag, end))).cloned()
    })?;
    // What a prompt adds after the start of the turn and does not close opens reasoning.
    let unclosed = beyond.iter().map(|text| text.trim()).find(|text| !text.is_empty() && !text.contains(&end));
    let before_end = || beyond.iter().find_map(|text| Some(text[..text.find(&end)?].trim()).filter(|t| !t.is_empty()));
    let open = counterpart(&end).or(unclosed).or_else(before_end)?.to_owned();
    if let Some(cut) = start.find(&open) {
        start.truncate(cut);
    }
    let layout = |tag: &str| {
        prompts.iter().find_map(|(_, text)| {
            let at = text.find(tag)?;
            let rest = &text[at..];
            let space = rest[tag.len()..].len() - rest[tag.len()..].trim_start().len();
            Some(rest[..tag.len() + space].to_owned())
        })
    };
    let opening = layout(&open).unwrap_or(open);
    probe.note(s, Experiment::HiddenHistory, "the marker that opens removed reasoning", |note| {
        for (switch, text) in prompts {
            let given = switch.as_ref().map_or(String::new(), |(name, on)| format!(", {name} = {on}"));
            note.render(format!("a generation prompt{given}"), text);
        }
        note.found("reasoning.start", opening.as_str()).found("reasoning.end", end.as_str());
        note.because(
            "it is the counterpart of the closing marker, or a generation prompt writes it and does not close it",
        );
    });
    Some(Reasoning { mode: ReasoningMode::TagBased, start: opening, end, ..Reasoning::default() })
}

/// R2 without reasoning in past turns and generation prompts: with the switch on, the prompt may tell the model between
/// which tags to reason, and perhaps between which to answer.
pub(super) fn instructed_reasoning(probe: &Probe<'_>, s: &Sentinels) -> Option<(Reasoning, Content)> {
    let user = json!({"role": "user", "content": s.user});
    for switch in switches(probe) {
        let given =
            |on: bool| probe.render(std::slice::from_ref(&user), &Value::Null, true, &[(&switch, on.into())]).ok();
        let (Some(on), Some(off)) = (given(true), given(false)) else { continue };
        let tags: Vec<&str> = text::tags(&on).into_iter().filter(|tag| !off.contains(tag)).collect();
        let mut pairs = tags.iter().filter_map(|open| {
            let end = tags.iter().find(|end| end.contains('/') && text::is_counterpart(open, end))?;
            Some(((*open).to_owned(), (*end).to_owned()))
        });
        let pair = pairs.next();
        let other = pair.as_ref().and_then(|(start, _)| pairs.find(|(open, _)| open != start));
        let content = other.map_or_else(Content::default, |(start, end)| Content {
            mode: ContentMode::WrappedWithReasoning,
            start,
            end,
            ..Content::default()
        });
        probe.note(s, Experiment::R2, format_args!("the whole prompt, {switch} = true | {switch} = false"), |note| {
            note.render(format!("{switch} = true"), &on).render(format!("{switch} = false"), &off);
            match &pair {
                Some((start, end)) => {
                    note.found("reasoning.start", start.as_str()).found("reasoning.end", end.as_str());
                    note.found("reasoning.switch", switch.as_str());
                    note.found("content.mode", serde_json::to_value(content.mode).unwrap_or_default());
                    note.found_text("content.start", &content.start).found_text("content.end", &content.end);
                    note.because("when switched on, the prompt names the tags for reasoning and for the answer")
                }
                None => note.because("when switched on, the prompt names no further pair of tags"),
            };
        });
        let Some((start, end)) = pair else { continue };
        let reasoning = Reasoning { mode: ReasoningMode::TagBased, start, end, switch, ..Reasoning::default() };
        return Some((reasoning, content));
    }
    None
}

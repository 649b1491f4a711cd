//! The generation prompts, where each leaves the model, and the switch of thinking (R2).

use unjinja_spec::{Content, ContentMode, GenerationPrompt, Reasoning, ReasoningMode, StartsIn};

use super::opening::Opening;
use crate::ask::{Observed, Prompt, speaks_of_thinking};
use crate::text;

/// The generation prompts of a spec, and the variable that switches thinking.
pub(crate) fn prompts(o: &Observed, opening: &Opening, reasoning: &Reasoning) -> (Vec<GenerationPrompt>, String) {
    let switch = switch(o, reasoning);
    let is_of = |prompt: &&Prompt| prompt.switch.as_ref().is_none_or(|(name, _)| *name == switch);
    let found = o.prompts.iter().filter(is_of).map(|prompt| {
        let text = prompted_part(prompt, reasoning);
        let rest = text.split_once(opening.start.as_str()).map_or(text, |(_, rest)| rest);
        let starts_in = match opens_reasoning(rest, reasoning) {
            true => StartsIn::Reasoning,
            false if !opening.prompted_header.is_empty() && prompt.text.ends_with(&opening.prompted_header) => {
                StartsIn::Marker
            }
            false => StartsIn::Content,
        };
        let thinking = prompt.switch.as_ref().map(|(_, on)| *on);
        GenerationPrompt { thinking, text: text.to_owned(), starts_in }
    });
    (found.collect(), switch)
}

/// The part of the turn that a prompt writes: what `add_generation_prompt` adds. Where it adds nothing, the markers of
/// reasoning at the end of the prompt say in which state it leaves the model.
fn prompted_part<'p>(prompt: &'p Prompt, reasoning: &Reasoning) -> &'p str {
    if !prompt.adds_nothing() {
        return &prompt.text;
    }
    let marks = [reasoning.start.trim(), reasoning.end.trim()].into_iter().filter(|mark| !mark.is_empty());
    let first = marks.filter_map(|mark| prompt.tail.find(mark)).min();
    first.map_or(&prompt.text, |at| &prompt.tail[at..])
}

/// R2: what the template writes after a user message, where neither a start of the turn nor a generation prompt follows it.
pub(crate) fn user_end(o: &Observed, assistant_start: &str, reasoning: &Reasoning) -> String {
    let is_opened = |prompt: &Prompt| !assistant_start.trim().is_empty() || !prompt.adds_nothing();
    let Some(prompt) = o.prompts.first().filter(|prompt| !is_opened(prompt)) else { return String::new() };
    let part = prompted_part(prompt, reasoning);
    prompt.tail.strip_suffix(part).unwrap_or(&prompt.tail).to_owned()
}

/// The first variable whose prompts hold a marker of reasoning. Others switch something else.
fn switch(o: &Observed, reasoning: &Reasoning) -> String {
    let marks = [reasoning.start.trim(), reasoning.end.trim()];
    let marked = |text: &str| marks.iter().any(|mark| !mark.is_empty() && text.contains(mark));
    let named = o
        .prompts
        .iter()
        .filter_map(|prompt| Some((prompt.switch.as_ref()?.0.as_str(), prompted_part(prompt, reasoning))));
    let found = named.into_iter().find(|(_, text)| marked(text));
    found.map_or_else(|| reasoning.switch.clone(), |(name, _)| name.to_owned())
}

/// Whether a generation prompt leaves reasoning open.
fn opens_reasoning(rest: &str, reasoning: &Reasoning) -> bool {
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

/// Without reasoning in turns and generation prompts: the prompt may tell the model between which tags to reason, and perhaps
/// between which to answer.
pub(crate) fn instructed(o: &Observed) -> Option<(Reasoning, Content)> {
    instructed_by_switch(o).or_else(|| Some((instructed_always(o)?, Content::default())))
}

/// The prompt holds an example of reasoning: two tags that speak of it, with a text between them.
fn instructed_always(o: &Observed) -> Option<Reasoning> {
    let is_of_users = |reasoning: &Reasoning| o.encloses_user(&reasoning.end);
    o.own_texts().find_map(|(_, own)| instructed_in(own).filter(|found| !is_of_users(found)))
}

fn instructed_in(own: &str) -> Option<Reasoning> {
    let open = text::tags(own).into_iter().find(|tag| speaks_of_thinking(tag) && text::opening_tag(tag).is_none())?;
    let rest = own.split_once(open)?.1;
    let end = text::tags(rest).into_iter().find(|end| text::is_counterpart(open, end))?;
    let (example, _) = rest.split_once(end)?;
    let (start, end) = (open.to_owned(), end.to_owned());
    let shown = !example.trim().is_empty();
    shown.then(|| Reasoning { mode: ReasoningMode::TagBased, start, end, ..Reasoning::default() })
}

/// R2: the same, for a prompt that says so only with a switch on.
fn instructed_by_switch(o: &Observed) -> Option<(Reasoning, Content)> {
    o.switched.iter().find_map(|switched| {
        let on = text::tags(&switched.on);
        let tags: Vec<&str> = on.into_iter().filter(|tag| !switched.off.contains(tag)).collect();
        let mut pairs = tags.iter().filter_map(|open| {
            let is_end = |end: &&&str| end.contains('/') && text::is_counterpart(open, end) && !o.encloses_user(end);
            let end = tags.iter().find(is_end)?;
            Some(((*open).to_owned(), (*end).to_owned()))
        });
        let (start, end) = pairs.next()?;
        let content = match pairs.find(|(open, _)| *open != start) {
            Some((start, end)) => Content { mode: ContentMode::WrappedWithReasoning, start, end, ..Content::default() },
            None => Content::default(),
        };
        let switch = switched.name.clone();
        Some((Reasoning { mode: ReasoningMode::TagBased, start, end, switch, ..Reasoning::default() }, content))
    })
}

//! How a turn begins: the start of the turn, and the markers of reasoning, which may hide in it (C1, R1, R2, R3 and
//! HiddenHistory).

use unjinja_spec::{Reasoning, ReasoningMode};

use super::frame::Evidence;
use super::prompt_end::{PromptEnd, may_open};
use crate::ask::{Observed, Prompt, Reasoned, Split, speaks_of_thinking};
use crate::observed::{LabelledTurn, MessagePart};
use crate::text;

#[cfg(test)]
mod tests;

/// The start of a turn, and what is known of reasoning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opening {
    pub start: String,
    /// The beginning of the header of each message that `add_generation_prompt` already writes (gpt-oss:
    /// `<|start|>assistant`). It does not belong to the start of the turn.
    pub prompted_header: String,
    pub reasoning: Reasoning,
    /// Reasoning as a render shows it; `None` if no render does.
    pub shown: Option<Shown>,
}

/// Reasoning as a render shows it, cut at its holes.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub field: String,
    /// The variable that had to be set for it; empty if none.
    pub switch: String,
    pub with_content: bool,
    /// All of the turn before the reasoning.
    pub before: String,
    /// From the reasoning to the answer; `None` if no answer follows it.
    pub to_content: Option<String>,
    /// From the reasoning to the call; `None` if no call follows it.
    pub to_call: Option<String>,
    /// What the same call begins with without reasoning.
    pub call_alone: Option<String>,
    /// From the answer to the end of the turn.
    pub after_content: Option<String>,
}

impl Shown {
    fn of(reasoned: &Reasoned, o: &Observed) -> Option<Self> {
        let answer = reasoned.before_answer().and_then(|turn| {
            let (reasoning, content) = (turn.only(MessagePart::Reasoning)?, turn.only(MessagePart::Content)?);
            let to_content = turn.text[reasoning.end..content.start].to_owned();
            Some((turn.text[..reasoning.start].to_owned(), to_content, turn.text[content.end..].to_owned()))
        });
        let call = reasoned.before_call().and_then(|turn| {
            let reasoning = turn.only(MessagePart::Reasoning)?;
            let call = turn.holes.iter().map(|hole| hole.range.start).find(|start| *start >= reasoning.end)?;
            Some((turn.text[..reasoning.start].to_owned(), turn.text[reasoning.end..call].to_owned()))
        });
        let before = answer.as_ref().map(|(before, ..)| before).or(call.as_ref().map(|(before, _)| before))?.clone();
        Some(Self {
            field: reasoned.carrier.field().to_owned(),
            switch: reasoned.extra.first().map(|(name, _)| name.clone()).unwrap_or_default(),
            with_content: answer.is_some(),
            before,
            to_content: answer.as_ref().map(|(_, to_content, _)| to_content.clone()),
            to_call: call.map(|(_, to_call)| to_call),
            call_alone: o.calls.as_ref().map(|calls| calls.one.lead().to_owned()),
            after_content: answer.map(|(.., after)| after),
        })
    }
}

pub(crate) fn opening(o: &Observed, evidence: Evidence) -> Opening {
    let counts = |reasoned: &&Reasoned| match evidence {
        Evidence::All => true,
        Evidence::Unswitched => reasoned.extra.is_empty(),
        Evidence::Hidden => false,
    };
    let shown = o.reasoning.iter().filter(counts).find(|reasoned| reasoned.is_marked());
    let shown = shown.and_then(|reasoned| Shown::of(reasoned, o));
    let before = o.answer.lead();
    let mut start = common_start(o, shown.as_ref()).to_owned();
    let header = repeated(o, &start).max(repeated_before_parts(o, shown.as_ref(), &start));
    let prompted_header = start.split_off(start.len() - header);
    let mut reasoning = shown.as_ref().map(|shown| markers(shown, &start)).unwrap_or_default();
    // Some templates begin every turn with the marker that opens reasoning, also turns without reasoning.
    let opener = reasoning.start.trim();
    if !opener.is_empty()
        && let Some(cut) = start.find(opener)
    {
        start.truncate(cut);
        if let Some(shown) = &shown {
            reasoning = markers(shown, &start);
        }
    }
    // A turn without reasoning that has the closing marker but no opening one: the start of the turn ends with it.
    if reasoning.mode != ReasoningMode::None && reasoning.start.trim().is_empty() {
        let closed = before.get(start.len()..).is_some_and(|lead| lead.trim_start().starts_with(reasoning.end.trim()));
        let last = text::tags(&start).last().map(|tag| (*tag).to_owned());
        if let Some(tag) = last.filter(|tag| closed && text::is_counterpart(tag, reasoning.end.trim())) {
            let cut = start.rfind(&tag).unwrap_or(start.len());
            reasoning.start = format!("{}{}", &start[cut..], reasoning.start);
            start.truncate(cut);
        }
    }
    // The template may write the opening marker together with the user's message.
    if reasoning.mode != ReasoningMode::None
        && reasoning.start.trim().is_empty()
        && let Some(opener) = o.prompts.iter().find_map(|prompt| written_with_user(prompt, reasoning.end.trim()))
    {
        reasoning.start = opener;
    }
    if reasoning.mode == ReasoningMode::None
        && let Some((hidden, cut)) = hidden(o, &start)
    {
        reasoning = hidden;
        start.truncate(cut);
    }
    Opening { start, prompted_header, reasoning, shown }
}

/// The opening marker of reasoning at the end of a prompt to which `add_generation_prompt` adds nothing.
fn written_with_user(prompt: &Prompt, end: &str) -> Option<String> {
    let tail = prompt.tail.trim_end();
    let opener = text::tags(tail).pop().filter(|tag| tail.ends_with(tag) && is_pair(tag, end));
    opener.filter(|_| prompt.adds_nothing()).and_then(|opener| with_layout(&prompt.tail, opener, end))
}

fn common_start<'o>(o: &'o Observed, shown: Option<&Shown>) -> &'o str {
    let mut forms: Vec<&str> = vec![o.answer.lead()];
    forms.extend(o.past.iter().filter(|past| past.only(MessagePart::Content).is_some()).map(LabelledTurn::lead));
    forms.extend(o.calls.iter().map(|calls| calls.one.lead()));
    forms.extend(shown.map(|shown| shown.before.as_str()));
    let start = forms.iter().fold(o.answer.lead(), |start, form| narrow(start, form));
    let prompts = o.first_prompts();
    if prompts.iter().all(|prompt| prompt.text.is_empty()) {
        return start;
    }
    let start = prompts.iter().filter(|prompt| prompt.switch.is_none()).fold(start, |s, p| narrow(s, &p.text));
    // A switch may write something before the turn.
    let within = |prompt: &&&Prompt| prompt.switch.is_some() && !prompt.text.contains(start.trim());
    prompts.iter().filter(within).fold(start, |start, prompt| narrow(start, &prompt.text))
}

/// The part of a start with which a form of the turn begins.
fn narrow<'s>(start: &'s str, form: &str) -> &'s str {
    let common = &start[..text::common_prefix(start, form)];
    if !common.trim().is_empty() || form.trim().is_empty() {
        return common;
    }
    // Some templates write other white space in each form.
    let loosely = text::common_prefix_loosely(start, form);
    if loosely > 0 {
        return &start[..loosely];
    }
    // A generation prompt may lack the first tags of the start.
    let last = text::tags(start).pop().filter(|tag| start.trim_end().ends_with(tag));
    if last.is_some_and(|tag| form.trim_start().starts_with(tag)) { start } else { common }
}

/// How much of the end of the start is written again before a second call of the same turn. That much opens each part
/// of the turn, not the turn.
fn repeated(o: &Observed, start: &str) -> usize {
    let Some(calls) = &o.calls else { return 0 };
    let Some(two) = &calls.two else { return 0 };
    let opener = calls.one.lead().get(start.len()..).unwrap_or("");
    let second = two
        .holes
        .iter()
        .position(|hole| matches!(hole.part, MessagePart::Name(1) | MessagePart::Id(1) | MessagePart::Key(1, _)));
    let Some(second) = second.filter(|second| *second > 0) else { return 0 };
    let middle = &two.text[two.holes[second - 1].range.end..two.holes[second].range.start];
    let common = text::common_suffix(start, middle);
    // What closes the turn and opens another one is not written inside a turn.
    let ends_turn = {
        let end = two.text[two.last_end()..].trim();
        !end.is_empty() && middle.trim_start().starts_with(end)
    };
    // White space before it belongs to the turn's start.
    let shared = start[start.len() - common..].trim_start();
    let is_opener = opener.trim().is_empty() || opener.trim_end().ends_with(shared.trim_end());
    // A part of a word is not an opener.
    let whole = !start[..start.len() - shared.len()].ends_with(char::is_alphanumeric);
    if !ends_turn && is_opener && whole { shared.len() } else { 0 }
}

/// How much of the end of the start is written again between two parts of a turn, where an answer has nothing else before it, or
/// a word alone. Only with what is repeated such a word is a marker.
fn repeated_before_parts(o: &Observed, shown: Option<&Shown>, start: &str) -> usize {
    let lead = o.answer.lead();
    let is_word =
        |rest: &str| text::tags(rest).is_empty() && !rest.trim().starts_with(|c: char| c.is_ascii_punctuation());
    if start.trim().is_empty() || !lead.strip_prefix(start).is_some_and(is_word) {
        return 0;
    }
    let end = o.answer.text[o.answer.last_end()..].trim();
    let alone = o.calls.as_ref().map(|calls| calls.one.lead());
    let before_call = o.calls.as_ref().and_then(|calls| {
        let turn = calls.after_answer.as_ref()?;
        let content = turn.only(MessagePart::Content)?;
        let call = turn.holes.iter().map(|hole| hole.range.start).find(|start| *start >= content.end)?;
        Some((turn.text[content.end..call].to_owned(), alone?, end))
    });
    // One turn shows reasoning and then an answer, whatever is between the two.
    let before_answer = shown.and_then(|shown| Some((shown.to_content.clone()?, lead, "")));
    let shared = |(middle, lead, end): (String, &str, &str)| {
        let opener = lead.strip_prefix(start)?;
        // What closes the turn and opens another one is not written inside a turn.
        let ends_turn = !end.is_empty() && middle.trim_start().starts_with(end);
        let before = middle.strip_suffix(opener).filter(|_| !ends_turn)?;
        let shared = start[start.len() - text::common_suffix(start, before)..].trim_start();
        // A part of a word is not repeated.
        let whole = !start[..start.len() - shared.len()].ends_with(char::is_alphanumeric);
        (whole && !before[..before.len() - shared.len()].is_empty()).then_some(shared.len())
    };
    [before_answer, before_call].into_iter().flatten().filter_map(shared).max().unwrap_or(0)
}

/// R1 and R3: the markers around reasoning that a render shows.
fn markers(shown: &Shown, start: &str) -> Reasoning {
    let opening = shown.before.get(start.len()..).unwrap_or("");
    let end = match (&shown.to_content, &shown.to_call) {
        (Some(to_content), Some(to_call)) => {
            let common = text::common_prefix(to_content, to_call);
            // White space that only one of them has belongs to the marker too.
            if to_content[common..].trim().is_empty() { to_content.clone() } else { to_content[..common].to_owned() }
        }
        (Some(to_content), None) => to_content.clone(),
        (None, Some(to_call)) => {
            // The marker is followed by what the same call begins with without reasoning.
            let opener = shown.call_alone.as_deref().and_then(|alone| alone.strip_prefix(start)).unwrap_or("");
            let is_end = |end: &&str| !opener.trim().is_empty() && !end.trim().is_empty();
            match to_call.strip_suffix(opener).filter(is_end) {
                Some(end) => end.to_owned(),
                None => text::first_tag_with_layout(to_call).to_owned(),
            }
        }
        (None, None) => String::new(),
    };
    Reasoning {
        mode: if shown.with_content { ReasoningMode::TagBased } else { ReasoningMode::ToolsOnly },
        start: opening.to_owned(),
        end,
        field: shown.field.clone(),
        switch: shown.switch.clone(),
        ..Reasoning::default()
    }
}

/// The markers of reasoning that no turn shows: one that a prompt opens, and one at which the template splits an answer.
/// Also gives the length of the start of the turn without the opening marker.
fn hidden(o: &Observed, start: &str) -> Option<(Reasoning, usize)> {
    let prompts = o.first_prompts();
    let added = |prompt: &&Prompt| !prompt.adds_nothing();
    let beyond: Vec<&str> =
        prompts.iter().copied().filter(added).map(|prompt| prompt.text.get(start.len()..).unwrap_or("")).collect();
    // Where nothing is added, the turn may begin anywhere after the user's message.
    let tails = prompts.iter().filter(|prompt| prompt.adds_nothing()).map(|prompt| prompt.tail.as_str());
    let ends: Vec<&str> = beyond.iter().copied().chain(tails).collect();
    let opened: Vec<&str> = ends.iter().flat_map(|text| text::marks(text)).filter(|mark| may_open(o, mark)).collect();
    let candidates = || o.candidates.iter().map(String::as_str).filter(|tag| !o.encloses_user(tag));
    let split = o.split.iter().filter(|split| !o.encloses_user(&split.tag)).find(|split| split.drops());
    // Else the closing tag of a tag that a prompt opens.
    let closer = || candidates().find(|end| opened.iter().any(|tag| is_pair(tag, end)));
    let opener_of = |end: &str| {
        let counterpart = candidates().chain(opened.iter().copied()).find(|tag| is_pair(tag, end));
        // What a prompt adds after the start of the turn and does not close opens reasoning, if it is no header. Where the closer
        // has a counterpart by its form, only words of thinking are evidence of another opener.
        let is_known = text::opening_mark(end).is_some();
        let opens = |text: &&str| !text.is_empty() && may_open(o, text) && (!is_known || speaks_of_thinking(text));
        let unclosed = || beyond.iter().map(|text| text.trim()).find(|text| opens(text) && !text.contains(end));
        let before_end = || beyond.iter().find_map(|text| Some(text[..text.find(end)?].trim()).filter(opens));
        Some((counterpart.or_else(unclosed).or_else(before_end)?.to_owned(), end.to_owned()))
    };
    // Where nothing shows how the reasoning that a prompt opens is closed, its counterpart does.
    // A template that drops what is before a closing tag need not mention the opening one.
    let by_name = |split: &Split| {
        let tried = Some(split.open.clone()).filter(|open| !open.is_empty());
        Some((tried.or_else(|| text::opening_mark(&split.tag))?, split.tag.clone()))
    };
    let (open, end) = split
        .and_then(|split| opener_of(&split.tag).or_else(|| by_name(split)))
        .or_else(|| opener_of(closer()?))
        .or_else(|| prompts.iter().find_map(|prompt| PromptEnd::of(o, prompt)?.surely()))
        .or_else(|| o.elsewhere.iter().find_map(|one| PromptEnd::of(o, &one.prompt)?.surely()))?;
    let prompts: Vec<&Prompt> = prompts.into_iter().chain(o.elsewhere.iter().map(|one| &one.prompt)).collect();
    let whole: Vec<&str> =
        prompts.iter().map(|prompt| if prompt.adds_nothing() { &*prompt.tail } else { &*prompt.text }).collect();
    let open_at_end = whole.iter().filter(|text| !text.contains(&end));
    let layout = open_at_end.chain(&whole).find_map(|text| with_layout(text, &open, &end));
    let cut = start.find(&open).unwrap_or(start.len());
    let start = layout.unwrap_or_else(|| open.clone());
    // The template may look for the closing marker together with white space.
    let end = split.filter(|split| split.tag == end).map_or(end, |split| split.end.clone());
    Some((Reasoning { mode: ReasoningMode::TagBased, start, end, ..Reasoning::default() }, cut))
}

/// The opening marker in a text, with its layout: the white space after it. Half of it belongs to the closing marker of an empty
/// block.
fn with_layout(text: &str, open: &str, end: &str) -> Option<String> {
    let rest = &text[text.find(open)? + open.len()..];
    let space = text::space(rest);
    let layout = match rest[space.len()..].starts_with(end) {
        true => space.get(..space.len() / 2).filter(|half| half.repeat(2) == space).unwrap_or(""),
        false => space,
    };
    Some(format!("{open}{layout}"))
}

/// Whether two tags open and close reasoning. Only tags that speak of thinking are counterparts without a slash: the start
/// and the end of a message are as well.
fn is_pair(open: &str, end: &str) -> bool {
    text::is_counterpart(open, end) || speaks_of_thinking(open) && text::closing_tag(open).is_some_and(|tag| tag == end)
}

//! The markers of a turn: around the turn, around the answer and around reasoning. The comparisons: C1 an answer, the
//! generation prompts, R1 reasoning present or absent, R2 thinking on or off, R3 reasoning with an answer or with a
//! call.
//!
//! Markers are found by comparing renders, never by a list of known markers. How calls are written is not its subject.

use serde_json::{Value, json};
use unjinja_spec::{Content, ContentMode, GenerationPrompt, Reasoning, ReasoningMode};

use crate::conversation::{AssistantMessage, Call, Style};
use crate::error::AnalyzeError;
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;
use hidden::{hidden_reasoning, instructed_reasoning};
use prompts::{generation_prompts, prompts, switch_of};
use shown::{Shown, first_tag_with_layout, markers_shown, shown_reasoning, strip_empty_reasoning};
mod hidden;
mod notes;
mod prompts;
mod shown;

pub(crate) use shown::without_empty_reasoning;

/// The markers around a turn, its answer and its reasoning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnMarkers {
    pub user_start: String,
    pub assistant_start: String,
    pub end: String,
    pub prompts: Vec<GenerationPrompt>,
    pub reasoning: Reasoning,
    pub content: Content,
    /// What the template writes after the start of a turn that has no reasoning.
    pub empty_reasoning: Vec<String>,
}

/// Finds the markers. `calls` is the style with which calls are rendered; `None` if they are not.
pub(crate) fn find(probe: &Probe<'_>, s: &Sentinels, calls: Option<Style>) -> Result<TurnMarkers, AnalyzeError> {
    let answer = probe.turn(s, &AssistantMessage::content(s.content), Style::PLAIN);
    let no_answer = |why: &str| {
        probe.note(s, Experiment::C1, "an answer to a user message", |note| {
            note.result("the answer's turn", &answer).because(why);
        });
    };
    let answer = answer.as_ref().map_err(|error| {
        no_answer("it cannot be rendered, so there is nothing to compare with");
        AnalyzeError::no_answer(probe.template.name(), error)
    })?;
    let at = text::once(answer, s.content).ok_or_else(|| {
        no_answer("the text of the answer does not appear exactly once in its turn");
        AnalyzeError::answer_not_found(probe.template.name(), answer, answer.matches(s.content).count())
    })?;
    let before = &answer[..at.start];
    let after = &answer[at.end..];
    let past_result = probe.past_turn(s, &AssistantMessage::content(s.content), Style::PLAIN);
    let past = past_result.as_ref().ok();
    let past_at = past.and_then(|past| text::once(past, s.content).map(|at| (past.as_str(), at)));

    let mut markers = TurnMarkers::default();
    let mut raw_prompts = generation_prompts(probe, s);

    // Reasoning that past turns show.
    let call = Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())]);
    let shown = shown_reasoning(probe, s, &call, calls);

    // The start of a turn is the beginning that all its forms share.
    let mut start = before.to_owned();
    let mut forms = vec![("an answer", answer.clone())];
    let mut narrow = |start: &mut String, form: &'static str, other: &str| {
        let common = text::common_prefix(start, other);
        start.truncate(common);
        forms.push((form, other.to_owned()));
    };
    if let Some((past, at)) = &past_at {
        narrow(&mut start, "an answer before another message", &past[..at.start]);
    }
    for (_, prompt) in &raw_prompts {
        if !prompt.is_empty() || raw_prompts.iter().any(|(_, other)| !other.is_empty()) {
            narrow(&mut start, "a generation prompt", prompt);
        }
    }
    if let Some(style) = calls
        && let Ok(turn) = probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(&call)), style)
    {
        narrow(&mut start, "a call", &turn);
    }
    if let Some(shown) = &shown {
        narrow(&mut start, "up to the reasoning", &shown.before);
    }
    let common = start.clone();

    let mut reasoning = shown.as_ref().map(|shown| markers_shown(shown, &start)).unwrap_or_default();
    // Some templates begin every turn with the marker that opens reasoning, also turns without reasoning.
    let opener = reasoning.start.trim();
    if !opener.is_empty()
        && let Some(cut) = start.find(opener)
    {
        start.truncate(cut);
        if let Some(shown) = &shown {
            reasoning = markers_shown(shown, &start);
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
    if reasoning.mode == ReasoningMode::None
        && let Some(hidden) = hidden_reasoning(probe, s, &mut start, &raw_prompts)
    {
        reasoning = hidden;
    }
    let start = start.as_str();
    markers.assistant_start = start.to_owned();
    probe.note(s, Experiment::C1, "the common beginning of all turns", |note| {
        for (form, text) in &forms {
            note.render(*form, text);
        }
        note.found("turn.assistant_start", start);
        note.because(if start == common {
            "all turns begin with it"
        } else {
            "all turns begin with it; the marker of reasoning in it is left out"
        });
    });

    // The text before an answer without reasoning: nothing, an empty block of reasoning, or a marker of the answer.
    let lead = before.get(start.len()..).unwrap_or("");
    // A marker of the answer is there in past turns too.
    let lead = match &past_at {
        Some((past, at)) => {
            let past_lead = past[..at.start].strip_prefix(start).unwrap_or("");
            if strip_empty_reasoning(lead, &reasoning, &mut Vec::new()).len() < lead.len() {
                lead
            } else {
                &lead[lead.len() - text::common_suffix(lead, past_lead)..]
            }
        }
        None => lead,
    };
    let lead = strip_empty_reasoning(lead, &reasoning, &mut markers.empty_reasoning);
    if let Some(shown) = &shown {
        split_content(&mut markers, &mut reasoning, shown, lead);
        instead_of_calls(&mut markers, &mut reasoning, shown, after);
        notes::reasoning(probe, s, shown, &call, calls, &reasoning);
    } else if !lead.trim().is_empty() {
        markers.content.mode = ContentMode::AlwaysWrapped;
        markers.content.start = lead.to_owned();
    }
    let (wrapper, end) = split_end(probe, s, after, &markers, calls, &call);
    markers.end = end;
    if markers.content.mode == ContentMode::AlwaysWrapped {
        markers.content.end = wrapper;
    }
    probe.note(
        s,
        Experiment::C1,
        "an answer at the end of the conversation | one followed by another message",
        |note| {
            note.render("the last message", answer).result("followed by another", &past_result);
            note.found("turn.end", markers.end.as_str());
            note.found("content.mode", serde_json::to_value(markers.content.mode).unwrap_or_default());
            note.found_text("content.start", &markers.content.start).found_text("content.end", &markers.content.end);
            note.because(
            "the text around the answer in both renders belongs to the turn; what goes beyond the turn's start and end \
             is a wrapper of the answer",
        );
        },
    );

    let ends = [format!("{}{}", markers.content.end, markers.end), markers.end.clone()];
    markers.user_start = user_start(probe, s, past.map_or("", String::as_str), &ends);
    if reasoning.mode == ReasoningMode::None
        && markers.content.mode == ContentMode::Plain
        && let Some((instructed, content)) = instructed_reasoning(probe, s)
    {
        (reasoning, markers.content) = (instructed, content);
    }
    // A variable that changes the prompt, but not the markers of reasoning in it, switches something else.
    let marks = [reasoning.start.trim().to_owned(), reasoning.end.trim().to_owned()];
    let marked = |text: &str| marks.iter().any(|mark| !mark.is_empty() && text.contains(mark.as_str()));
    let switched = raw_prompts.clone();
    if !raw_prompts.iter().any(|(switch, text)| switch.is_some() && marked(text)) {
        raw_prompts.retain(|(switch, _)| switch.is_none());
    }
    markers.prompts = prompts(&raw_prompts, start, &reasoning);
    if reasoning.switch.is_empty() {
        reasoning.switch = switch_of(&raw_prompts);
    }
    notes::prompts(probe, s, &switched, &markers.prompts, &reasoning);
    // A turn without reasoning may hold something else than an empty block.
    reasoning.empty =
        markers.empty_reasoning.iter().find(|text| !text.contains(reasoning.start.trim())).cloned().unwrap_or_default();
    markers.reasoning = reasoning;
    Ok(markers)
}

/// C1 with R1: finds the part of the text between reasoning and answer that is a marker of the answer.
fn split_content(markers: &mut TurnMarkers, reasoning: &mut Reasoning, shown: &Shown, lead: &str) {
    if !lead.trim().is_empty() {
        markers.content.mode = ContentMode::AlwaysWrapped;
        markers.content.start = lead.to_owned();
        let end = shown.to_content.as_deref().unwrap_or(&reasoning.end).strip_suffix(lead);
        if let Some(end) = end.map(str::to_owned) {
            reasoning.end = end;
        }
        return;
    }
    let Some(to_content) = &shown.to_content else { return };
    // The calls show where the closing marker ends; the rest comes before an answer only.
    if let Some(rest) = to_content.strip_prefix(reasoning.end.as_str())
        && !rest.trim().is_empty()
    {
        markers.content.mode = ContentMode::WrappedWithReasoning;
        markers.content.start = rest.to_owned();
    }
}

/// C1 with R1: an answer after reasoning may be followed by more text than an answer alone. Then it has markers. If no
/// calls show where its opening marker begins, it begins after the first tag that follows the reasoning.
fn instead_of_calls(markers: &mut TurnMarkers, reasoning: &mut Reasoning, shown: &Shown, after: &str) {
    if markers.content.mode == ContentMode::AlwaysWrapped {
        return;
    }
    let Some(end) = shown.after_content.as_deref().and_then(|with| with.strip_suffix(after)) else { return };
    if end.trim().is_empty() {
        return;
    }
    if markers.content.mode == ContentMode::Plain {
        let first = first_tag_with_layout(&reasoning.end).to_owned();
        let start = reasoning.end[first.len()..].to_owned();
        if start.trim().is_empty() {
            return;
        }
        reasoning.end = first;
        markers.content.mode = ContentMode::WrappedWithReasoning;
        markers.content.start = start;
    }
    markers.content.end = end.to_owned();
}

/// Splits the text after an answer into the closing marker of the answer, if it has one, and the end of the turn.
fn split_end(
    probe: &Probe<'_>,
    s: &Sentinels,
    after: &str,
    markers: &TurnMarkers,
    calls: Option<Style>,
    call: &Call,
) -> (String, String) {
    // What the template writes after any last message is not part of the turn.
    let past = probe.past_turn(s, &AssistantMessage::content(s.content), Style::PLAIN).ok();
    let past_after = past.as_deref().and_then(|past| text::once(past, s.content).map(|at| past[at.end..].to_owned()));
    let mut end = match &past_after {
        // The last turn may end in another way than past turns.
        Some(past) => match text::common_prefix(after, past) {
            0 => after.to_owned(),
            common => after[..common].to_owned(),
        },
        None => after.to_owned(),
    };
    // A template that always writes a generation prompt begins the next turn here.
    let next = markers.assistant_start.trim();
    if let Some(at) = after.find(next).filter(|_| !next.is_empty()) {
        end.truncate(at);
    }
    let content = &markers.content;
    let mut wrapper = String::new();
    if content.mode == ContentMode::AlwaysWrapped {
        let tail =
            calls.and_then(|style| probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(call)), style).ok());
        let common = tail.map_or(0, |tail| common_end(&end, &tail));
        let cut = if common > 0 {
            end.len() - common
        } else {
            text::tags(&end).first().map_or(0, |tag| end.find(tag).map_or(0, |at| at + tag.len()))
        };
        // Without calls to compare with, the end of the turn must not become empty.
        if cut < end.len() || calls.is_some() {
            wrapper = end[..cut].to_owned();
            end = end[cut..].to_owned();
        }
    }
    (wrapper, end)
}

/// The longest end of `end` that `tail` holds.
fn common_end(end: &str, tail: &str) -> usize {
    text::tags(end)
        .into_iter()
        .filter_map(|tag| end.find(tag))
        .find(|&at| tail.contains(&end[at..]))
        .map_or(0, |at| end.len() - at)
}

/// The text before every user message of a conversation.
fn user_start(probe: &Probe<'_>, s: &Sentinels, past: &str, ends: &[String]) -> String {
    if let Some(at) = past.rfind(s.content) {
        let rest = &past[at + s.content.len()..];
        if let Some(start) = ends.iter().find_map(|end| rest.strip_prefix(end.as_str())) {
            probe.note(s, Experiment::UserTurn, "between an answer and the next user message", |note| {
                note.render("from the assistant's turn to that message", past).found("turn.user_start", start);
                note.because("it follows the end of the turn");
            });
            return start.to_owned();
        }
    }
    let user = json!({"role": "user", "content": s.user});
    let rendered = probe.render(&[user], &Value::Null, false, &[]).unwrap_or_default();
    let before = rendered.find(s.user).map_or("", |at| &rendered[..at]);
    let start = text::tags(before).last().map_or(String::new(), |tag| (*tag).to_owned());
    probe.note(s, Experiment::UserTurn, "a user message alone", |note| {
        note.render("the conversation", &rendered).found("turn.user_start", start.as_str());
        note.because("it is the last tag before the message");
    });
    start
}

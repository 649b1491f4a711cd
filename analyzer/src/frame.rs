//! What frames a turn: C1, the generation prompts, and reasoning (R1 present/absent, R2 thinking on/off, R3 with
//! content and with tools). Everything is found by rendering and comparing, nothing by name.

use serde_json::{Value, json};
use unjinja_spec::{Channel, Content, ContentMode, GenerationPrompt, Reasoning, ReasoningMode};

use crate::lab::{Call, Empty, Lab, PARTS, Sentinels, Style, Turn};
use crate::text;
use crate::trace::Experiment;

mod notes;

/// Names under which templates look for an assistant's reasoning.
const REASONING_FIELDS: [&str; 6] = ["reasoning_content", "reasoning", "thinking", "thought", "thoughts", "tool_plan"];

/// What else stands in messages.
const OTHER_FIELDS: [&str; 14] = [
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "function_call",
    "id",
    "type",
    "refusal",
    "audio",
    "images",
    "recipient",
    "prefix",
    "documents",
];

/// What else templates are given.
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

/// Names under which templates look for the switch of thinking.
const SWITCHES: [&str; 4] = ["enable_thinking", "thinking", "enable_reasoning", "reasoning"];

/// The frame of a turn and how plain text stands in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub user_start: String,
    pub assistant_start: String,
    pub end: String,
    pub prompts: Vec<GenerationPrompt>,
    pub reasoning: Reasoning,
    pub content: Content,
    /// What templates without reasoning in a turn write in its place, without the turn's start.
    pub empty_reasoning: Vec<String>,
}

pub(crate) const PLAIN: Style = Style { object_arguments: true, empty: Empty::Text };

/// Finds the frame. `calls` is how calls are rendered, where they are.
pub(crate) fn find(lab: &Lab<'_>, s: &Sentinels, calls: Option<Style>) -> Result<Frame, String> {
    let answer = lab.turn(s, &Turn::content(s.content), PLAIN);
    let no_answer = |why: &str| {
        lab.note(s, Experiment::C1, "an answer to a user's message", |note| {
            note.result("the answer's turn", &answer).because(why);
        });
    };
    let answer = answer.as_ref().map_err(|error| {
        no_answer("it cannot be rendered: there is nothing to compare with");
        format!("C1: an answer to a user message cannot be rendered: {error}")
    })?;
    let at = text::once(answer, s.content).ok_or_else(|| {
        no_answer("the answer does not stand exactly once in its turn");
        format!("C1: the answer does not stand exactly once in its turn: {answer:?}")
    })?;
    let before = &answer[..at.start];
    let after = &answer[at.end..];
    let past_result = lab.past_turn(s, &Turn::content(s.content), PLAIN);
    let past = past_result.as_ref().ok();
    let past_at = past.and_then(|past| text::once(past, s.content).map(|at| (past.as_str(), at)));

    let mut frame = Frame::default();
    let mut raw_prompts = generation_prompts(lab, s);

    // Reasoning, as history shows it.
    let call = Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())]);
    let shown = shown_reasoning(lab, s, &call, calls);

    // The turn's start is what all its forms have in common.
    let mut start = before.to_owned();
    let mut forms = vec![("an answer", answer.clone())];
    let mut narrow = |start: &mut String, form: &'static str, other: &str| {
        let common = text::common_prefix(start, other);
        start.truncate(common);
        forms.push((form, other.to_owned()));
    };
    if let Some((past, at)) = &past_at {
        narrow(&mut start, "up to an answer that another message follows", &past[..at.start]);
    }
    for (_, prompt) in &raw_prompts {
        if !prompt.is_empty() || raw_prompts.iter().any(|(_, other)| !other.is_empty()) {
            narrow(&mut start, "a generation prompt", prompt);
        }
    }
    if let Some(style) = calls
        && let Ok(turn) = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), style)
    {
        narrow(&mut start, "a call", &turn);
    }
    if let Some(shown) = &shown {
        narrow(&mut start, "up to the reasoning", &shown.before);
    }
    let common = start.clone();

    let mut reasoning = shown.as_ref().map(|shown| markers_shown(shown, &start)).unwrap_or_default();
    // Some turns begin with the marker that opens reasoning, whatever they hold.
    let opener = reasoning.start.trim();
    if !opener.is_empty()
        && let Some(cut) = start.find(opener)
    {
        start.truncate(cut);
        if let Some(shown) = &shown {
            reasoning = markers_shown(shown, &start);
        }
    }
    // A turn without reasoning that closes what nothing opened: the marker that opens it is at the end of the start.
    if reasoning.mode != ReasoningMode::None && reasoning.start.trim().is_empty() {
        let closed = before.get(start.len()..).is_some_and(|lead| lead.trim_start().starts_with(reasoning.end.trim()));
        let last = text::tags(&start).last().map(|tag| (*tag).to_owned());
        if let Some(tag) = last.filter(|tag| closed && is_counterpart(tag, reasoning.end.trim())) {
            let cut = start.rfind(&tag).unwrap_or(start.len());
            reasoning.start = format!("{}{}", &start[cut..], reasoning.start);
            start.truncate(cut);
        }
    }
    if reasoning.mode == ReasoningMode::None
        && let Some(hidden) = hidden_reasoning(lab, s, &mut start, &raw_prompts)
    {
        reasoning = hidden;
    }
    let start = start.as_str();
    frame.assistant_start = start.to_owned();
    lab.note(s, Experiment::C1, "what all forms of a turn begin with", |note| {
        for (form, text) in &forms {
            note.render(*form, text);
        }
        note.found("turn.assistant_start", start);
        note.because(if start == common {
            "all of them begin with it"
        } else {
            "all of them begin with it, without the marker of reasoning that stands in it"
        });
    });

    // What stands before the answer where there is no reasoning: nothing, an empty block of it, or a wrapper.
    let lead = before.get(start.len()..).unwrap_or("");
    // A wrapper stands around the answers of the past too.
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
    let lead = strip_empty_reasoning(lead, &reasoning, &mut frame.empty_reasoning);
    if let Some(shown) = &shown {
        split_content(&mut frame, &mut reasoning, shown, lead);
        instead_of_calls(&mut frame, &mut reasoning, shown, after);
        notes::reasoning(lab, s, shown, &call, calls, &reasoning);
    } else if !lead.trim().is_empty() {
        frame.content.mode = ContentMode::AlwaysWrapped;
        frame.content.start = lead.to_owned();
    }
    let (wrapper, end) = split_end(lab, s, after, &frame, calls, &call);
    frame.end = end;
    if frame.content.mode == ContentMode::AlwaysWrapped {
        frame.content.end = wrapper;
    }
    lab.note(s, Experiment::C1, "an answer that ends the conversation | one that another message follows", |note| {
        note.render("the last message", answer).result("followed by another", &past_result);
        note.found("turn.end", frame.end.as_str());
        note.found("content.mode", serde_json::to_value(frame.content.mode).unwrap_or_default());
        note.found_text("content.start", &frame.content.start).found_text("content.end", &frame.content.end);
        note.because("what stands around the answer in both is the turn's, or a wrapper of the answer where it stands there beyond the turn's start and end");
    });

    let ends = [format!("{}{}", frame.content.end, frame.end), frame.end.clone()];
    frame.user_start = user_start(lab, s, past.map_or("", String::as_str), &ends);
    if reasoning.mode == ReasoningMode::None
        && frame.content.mode == ContentMode::Plain
        && let Some((instructed, content)) = instructed_reasoning(lab, s)
    {
        (reasoning, frame.content) = (instructed, content);
    }
    // A variable that changes the prompt otherwise than by the marks of reasoning switches something else.
    let marks = [reasoning.start.trim().to_owned(), reasoning.end.trim().to_owned()];
    let marked = |text: &str| marks.iter().any(|mark| !mark.is_empty() && text.contains(mark.as_str()));
    let switched = raw_prompts.clone();
    if !raw_prompts.iter().any(|(switch, text)| switch.is_some() && marked(text)) {
        raw_prompts.retain(|(switch, _)| switch.is_none());
    }
    frame.prompts = prompts(&raw_prompts, start, &reasoning);
    if reasoning.switch.is_empty() {
        reasoning.switch = switch_of(&raw_prompts);
    }
    notes::prompts(lab, s, &switched, &frame.prompts, &reasoning);
    // Where the absence of reasoning is written otherwise than by an empty block.
    reasoning.empty =
        frame.empty_reasoning.iter().find(|text| !text.contains(reasoning.start.trim())).cloned().unwrap_or_default();
    frame.reasoning = reasoning;
    Ok(frame)
}

/// Reasoning as a render shows it.
struct Shown {
    field: String,
    with_content: bool,
    /// All of the turn before the reasoning.
    before: String,
    /// From the reasoning to the answer; where there is none, to the call.
    to_content: Option<String>,
    /// From the reasoning to the end of the turn of a call.
    to_call: Option<String>,
    /// The turn of the same call without reasoning.
    call_alone: Option<String>,
    /// From the answer to the end of the turn.
    after_content: Option<String>,
}

/// R1 and R3: whether and how reasoning that a message carries is rendered.
fn shown_reasoning(lab: &Lab<'_>, s: &Sentinels, call: &Call, calls: Option<Style>) -> Option<Shown> {
    for field in reasoning_fields(lab, s, calls) {
        let with_content = Turn::content(s.content).with_reasoning(&field, s.reasoning);
        let with_content = lab.turn(s, &with_content, PLAIN).ok();
        let found = with_content.as_deref().and_then(|turn| {
            let reasoning = text::once(turn, s.reasoning)?;
            let content = text::once(turn, s.content)?;
            (reasoning.end <= content.start).then(|| {
                let to_content = turn[reasoning.end..content.start].to_owned();
                (turn[..reasoning.start].to_owned(), to_content, turn[content.end..].to_owned())
            })
        });
        let with_call = calls.and_then(|style| {
            let turn = Turn::calls(std::slice::from_ref(call)).with_reasoning(&field, s.reasoning);
            lab.turn(s, &turn, style).ok()
        });
        let found_call = with_call.as_deref().and_then(|turn| {
            let reasoning = text::once(turn, s.reasoning)?;
            Some((turn[..reasoning.start].to_owned(), turn[reasoning.end..].to_owned()))
        });
        let (content_before, to_content, after_content) =
            found.map_or((None, None, None), |(before, to, after)| (Some(before), Some(to), Some(after)));
        let (call_before, to_call) = found_call.map_or((None, None), |(b, t)| (Some(b), Some(t)));
        let with_content = content_before.is_some();
        if let Some(before) = content_before.or(call_before) {
            // A field that no marker follows is no reasoning: a name, a date.
            let marked = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
            if !marked(&to_content) && !marked(&to_call) {
                notes::no_reasoning(lab, s, &field, call, calls, "no marker follows its text: it is no reasoning");
                continue;
            }
            let call_alone = calls.and_then(|style| lab.turn(s, &Turn::calls(std::slice::from_ref(call)), style).ok());
            return Some(Shown { field, with_content, before, to_content, to_call, call_alone, after_content });
        }
        notes::no_reasoning(
            lab,
            s,
            &field,
            call,
            calls,
            "its text is not rendered, not once, or not before the answer",
        );
    }
    None
}

/// The message fields that may carry reasoning: the usual names that the template mentions, then whatever else it
/// looks for in an assistant's message.
fn reasoning_fields(lab: &Lab<'_>, s: &Sentinels, calls: Option<Style>) -> Vec<String> {
    let source = lab.template.source();
    let named = REASONING_FIELDS.iter().filter(|field| source.contains(*field)).map(|field| (*field).to_owned());
    let parts = source.contains("'thinking'") || source.contains("\"thinking\"");
    let mut fields: Vec<String> = named.chain(parts.then(|| PARTS.to_owned())).collect();
    for field in lab.fields_read(s, calls) {
        if !OTHER_FIELDS.contains(&field.as_str()) && !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// The template variables that may switch thinking: the usual names that the template mentions, then whatever else it
/// reads.
fn switches(lab: &Lab<'_>) -> Vec<String> {
    let source = lab.template.source();
    let mut names: Vec<String> =
        SWITCHES.iter().filter(|switch| source.contains(*switch)).map(|switch| (*switch).to_owned()).collect();
    for name in lab.template.variables() {
        if !OTHER_VARIABLES.contains(&name.as_str()) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn markers_shown(shown: &Shown, start: &str) -> Reasoning {
    let opening = shown.before.get(start.len()..).unwrap_or("");
    let end = match (&shown.to_content, &shown.to_call) {
        (Some(to_content), Some(to_call)) => {
            let common = text::common_prefix(to_content, to_call);
            let common = &to_content[..common];
            // White space that only one of them has is still the marker's.
            let more = &to_content[common.len()..];
            if more.trim().is_empty() { to_content.clone() } else { common.to_owned() }
        }
        (Some(to_content), None) => to_content.clone(),
        (None, Some(to_call)) => {
            // What the same call writes without reasoning follows the marker.
            let body = shown.call_alone.as_deref().and_then(|alone| alone.strip_prefix(start)).unwrap_or("");
            let is_end = |end: &&str| !body.trim().is_empty() && !end.trim().is_empty();
            match to_call.strip_suffix(body).filter(is_end) {
                Some(end) => end.to_owned(),
                None => first_tag_with_layout(to_call).to_owned(),
            }
        }
        (None, None) => String::new(),
    };
    Reasoning {
        mode: if shown.with_content { ReasoningMode::TagBased } else { ReasoningMode::ToolsOnly },
        start: opening.to_owned(),
        end,
        field: shown.field.clone(),
        ..Reasoning::default()
    }
}

/// The first tag of a text with the white space around it.
fn first_tag_with_layout(text: &str) -> &str {
    let Some(tag) = text::tags(text).into_iter().next() else { return "" };
    let Some(at) = text.find(tag) else { return "" };
    let end = at + tag.len();
    let rest = &text[end..];
    let space = rest.len() - rest.trim_start().len();
    if text[..at].trim().is_empty() { &text[..end + space] } else { "" }
}

/// Removes a block of empty reasoning from the start of `lead`; notes what it was.
fn strip_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning, noted: &mut Vec<String>) -> &'a str {
    let (start, end) = (reasoning.start.trim(), reasoning.end.trim());
    if end.is_empty() {
        return lead;
    }
    let inner = lead.trim_start();
    let inner = if start.is_empty() { inner } else { inner.strip_prefix(start).unwrap_or(inner) };
    match inner.trim_start().strip_prefix(end) {
        Some(rest) => {
            noted.push(lead[..lead.len() - rest.trim_start().len()].to_owned());
            rest.trim_start()
        }
        None => lead,
    }
}

pub(crate) fn without_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning) -> &'a str {
    strip_empty_reasoning(lead, reasoning, &mut Vec::new())
}

/// C1 with R1: what of the text between reasoning and answer is a wrapper of the answer.
fn split_content(frame: &mut Frame, reasoning: &mut Reasoning, shown: &Shown, lead: &str) {
    if !lead.trim().is_empty() {
        frame.content.mode = ContentMode::AlwaysWrapped;
        frame.content.start = lead.to_owned();
        let end = shown.to_content.as_deref().unwrap_or(&reasoning.end).strip_suffix(lead);
        if let Some(end) = end.map(str::to_owned) {
            reasoning.end = end;
        }
        return;
    }
    let Some(to_content) = &shown.to_content else { return };
    // The calls show where the closing marker ends; what is left stands before the answer only.
    if let Some(rest) = to_content.strip_prefix(reasoning.end.as_str())
        && !rest.trim().is_empty()
    {
        frame.content.mode = ContentMode::WrappedWithReasoning;
        frame.content.start = rest.to_owned();
    }
}

/// C1 with R1: an answer that follows reasoning may end otherwise than one alone; then it is wrapped, and where no
/// calls show it, the wrapper begins behind the first tag after the reasoning.
fn instead_of_calls(frame: &mut Frame, reasoning: &mut Reasoning, shown: &Shown, after: &str) {
    if frame.content.mode == ContentMode::AlwaysWrapped {
        return;
    }
    let Some(end) = shown.after_content.as_deref().and_then(|with| with.strip_suffix(after)) else { return };
    if end.trim().is_empty() {
        return;
    }
    if frame.content.mode == ContentMode::Plain {
        let first = first_tag_with_layout(&reasoning.end).to_owned();
        let start = reasoning.end[first.len()..].to_owned();
        if start.trim().is_empty() {
            return;
        }
        reasoning.end = first;
        frame.content.mode = ContentMode::WrappedWithReasoning;
        frame.content.start = start;
    }
    frame.content.end = end.to_owned();
}

/// What follows an answer: the wrapper's end, where there is a wrapper, and the end of the turn.
fn split_end(
    lab: &Lab<'_>,
    s: &Sentinels,
    after: &str,
    frame: &Frame,
    calls: Option<Style>,
    call: &Call,
) -> (String, String) {
    // What the template writes after the last message of any kind is no part of the turn.
    let past = lab.past_turn(s, &Turn::content(s.content), PLAIN).ok();
    let past_after = past.as_deref().and_then(|past| text::once(past, s.content).map(|at| past[at.end..].to_owned()));
    let mut end = match &past_after {
        // The last turn may end otherwise than those before it.
        Some(past) => match text::common_prefix(after, past) {
            0 => after.to_owned(),
            common => after[..common].to_owned(),
        },
        None => after.to_owned(),
    };
    // A template that always writes a generation prompt begins the next turn here.
    let next = frame.assistant_start.trim();
    if let Some(at) = after.find(next).filter(|_| !next.is_empty()) {
        end.truncate(at);
    }
    let content = &frame.content;
    let mut wrapper = String::new();
    if content.mode == ContentMode::AlwaysWrapped {
        let tail = calls.and_then(|style| lab.turn(s, &Turn::calls(std::slice::from_ref(call)), style).ok());
        let common = tail.map_or(0, |tail| common_end(&end, &tail));
        let cut = if common > 0 {
            end.len() - common
        } else {
            text::tags(&end).first().map_or(0, |tag| end.find(tag).map_or(0, |at| at + tag.len()))
        };
        // Without calls to compare with, something ends a turn: what is left of nothing is no wrapper.
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

/// What stands before a user message, wherever it stands in a conversation.
fn user_start(lab: &Lab<'_>, s: &Sentinels, past: &str, ends: &[String]) -> String {
    if let Some(at) = past.rfind(s.content) {
        let rest = &past[at + s.content.len()..];
        if let Some(start) = ends.iter().find_map(|end| rest.strip_prefix(end.as_str())) {
            lab.note(s, Experiment::UserTurn, "between an answer and the next user's message", |note| {
                note.render("from the assistant's turn to that message", past).found("turn.user_start", start);
                note.because("it is what stands there behind the end of the turn");
            });
            return start.to_owned();
        }
    }
    let user = json!({"role": "user", "content": s.user});
    let rendered = lab.render(&[user], &Value::Null, false, &[]).unwrap_or_default();
    let before = rendered.find(s.user).map_or("", |at| &rendered[..at]);
    let start = text::tags(before).last().map_or(String::new(), |tag| (*tag).to_owned());
    lab.note(s, Experiment::UserTurn, "a user's message alone", |note| {
        note.render("the conversation", &rendered).found("turn.user_start", start.as_str());
        note.because("it is the last tag before the message");
    });
    start
}

/// R2: the generation prompts, with the switch that gave each.
type RawPrompts = Vec<(Option<(String, bool)>, String)>;

fn generation_prompts(lab: &Lab<'_>, s: &Sentinels) -> RawPrompts {
    let mut prompts: RawPrompts = Vec::new();
    if let Ok(text) = lab.generation_prompt(s, &Value::Null, &[]) {
        prompts.push((None, text));
    }
    for switch in switches(lab) {
        let given = |on: bool| lab.generation_prompt(s, &Value::Null, &[(&switch, on.into())]).ok();
        let (Some(on), Some(off)) = (given(true), given(false)) else { continue };
        if on == off {
            lab.note(s, Experiment::R2, format_args!("{switch} = true | {switch} = false"), |note| {
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

fn switch_of(prompts: &RawPrompts) -> String {
    prompts.iter().find_map(|(switch, _)| switch.as_ref().map(|(name, _)| name.clone())).unwrap_or_default()
}

fn prompts(raw: &RawPrompts, start: &str, reasoning: &Reasoning) -> Vec<GenerationPrompt> {
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
fn opens_reasoning(rest: &str, reasoning: &Reasoning) -> bool {
    if reasoning.mode == ReasoningMode::None {
        return false;
    }
    let (start, end) = (reasoning.start.trim(), reasoning.end.trim());
    if !end.is_empty() && rest.contains(end) {
        return rest.rfind(end) < rest.rfind(start).filter(|_| !start.is_empty());
    }
    // Where only the end is marked, what is not closed is open.
    start.is_empty() || rest.contains(start)
}

/// Where no render shows reasoning: what the generation prompt opens, and on what the template splits an answer.
fn hidden_reasoning(lab: &Lab<'_>, s: &Sentinels, start: &mut String, prompts: &RawPrompts) -> Option<Reasoning> {
    let literals = lab.template.string_literals();
    let mut candidates: Vec<String> = Vec::new();
    for literal in &literals {
        for tag in text::tags(literal) {
            if !candidates.iter().any(|known| known == tag) {
                candidates.push(tag.to_owned());
            }
        }
        // Marks of other shapes stand alone in a literal.
        let alone = literal.trim();
        let is_mark = (2..=40).contains(&alone.len()) && !alone.contains(char::is_whitespace);
        if is_mark && !alone.chars().all(char::is_alphanumeric) && !candidates.iter().any(|known| known == alone) {
            candidates.push(alone.to_owned());
        }
    }
    // The probe: an answer with the candidate in its middle, whose first half the template drops.
    let [first, second] = [s.reasoning, s.content];
    let splits = |tag: &str| {
        let content = format!("{first}{tag}{second}");
        let turn = Turn::content(&content);
        let renders = [lab.turn(s, &turn, PLAIN), lab.past_turn(s, &turn, PLAIN)];
        let split = renders.iter().flatten().any(|text| text.contains(second) && !text.contains(first));
        lab.note(s, Experiment::HiddenHistory, format_args!("{tag} in the middle of an answer"), |note| {
            note.result("the last message", &renders[0]).result("followed by another", &renders[1]);
            if split {
                note.found("reasoning.end", tag).because("the template drops what stands before it");
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
        candidates.iter().map(String::as_str).chain(opened.iter().copied()).find(|tag| is_counterpart(tag, end))
    };
    let end = candidates.iter().find(|tag| splits(tag)).cloned().or_else(|| {
        // A prompt that opens and closes, or opens only, what the template's text names the other half of.
        candidates.iter().find(|end| opened.iter().any(|tag| is_counterpart(tag, end))).cloned()
    })?;
    // What the prompt writes behind the start, and does not close, is the opener, whatever it looks like.
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
    lab.note(s, Experiment::HiddenHistory, "what opens reasoning that history hides", |note| {
        for (switch, text) in prompts {
            let given = switch.as_ref().map_or(String::new(), |(name, on)| format!(", {name} = {on}"));
            note.render(format!("a generation prompt{given}"), text);
        }
        note.found("reasoning.start", opening.as_str()).found("reasoning.end", end.as_str());
        note.because(
            "it is the counterpart of the closing marker, or what a generation prompt writes and does not close",
        );
    });
    Some(Reasoning { mode: ReasoningMode::TagBased, start: opening, end, ..Reasoning::default() })
}

/// R2 where neither history nor the generation prompt shows reasoning: what the switch adds to the prompt tells the
/// model between which tags to reason, and perhaps between which to answer.
fn instructed_reasoning(lab: &Lab<'_>, s: &Sentinels) -> Option<(Reasoning, Content)> {
    let user = json!({"role": "user", "content": s.user});
    for switch in switches(lab) {
        let given =
            |on: bool| lab.render(std::slice::from_ref(&user), &Value::Null, true, &[(&switch, on.into())]).ok();
        let (Some(on), Some(off)) = (given(true), given(false)) else { continue };
        let tags: Vec<&str> = text::tags(&on).into_iter().filter(|tag| !off.contains(tag)).collect();
        let mut pairs = tags.iter().filter_map(|open| {
            let end = tags.iter().find(|end| end.contains('/') && is_counterpart(open, end))?;
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
        lab.note(s, Experiment::R2, format_args!("the whole prompt, {switch} = true | {switch} = false"), |note| {
            note.render(format!("{switch} = true"), &on).render(format!("{switch} = false"), &off);
            match &pair {
                Some((start, end)) => {
                    note.found("reasoning.start", start.as_str()).found("reasoning.end", end.as_str());
                    note.found("reasoning.switch", switch.as_str());
                    note.found("content.mode", serde_json::to_value(content.mode).unwrap_or_default());
                    note.found_text("content.start", &content.start).found_text("content.end", &content.end);
                    note.because("switched on, the prompt tells the model between which tags to reason and to answer")
                }
                None => note.because("switched on, the prompt names no pair of tags that it does not name otherwise"),
            };
        });
        let Some((start, end)) = pair else { continue };
        let reasoning = Reasoning { mode: ReasoningMode::TagBased, start, end, switch, ..Reasoning::default() };
        return Some((reasoning, content));
    }
    None
}

/// Whether two tags are the open and the closing form of one: alike but for a slash.
fn is_counterpart(open: &str, end: &str) -> bool {
    open != end && end.replacen('/', "", 1) == open
}

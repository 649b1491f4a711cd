//! How tool calls are written: T1 none/one call, T2 one/two calls, T3 two function names, T4/A1/A2 argument names and
//! values, T5 one/two arguments, T6 none/one argument, T7 two call ids. Every part of a call carries a sentinel, so
//! each is located; what stands between two sentinels is a marker.

use unjinja_spec::{ToolFormat, Tools};

use crate::frame::{self, Frame};
use crate::lab::{Call, Empty, Lab, Sentinels, Style, Turn};
use crate::text;
use crate::trace::Experiment;

mod native;
mod notes;
mod tag_with_json;
mod tagged;

/// Why calls cannot be described.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// The template renders no calls.
    NoCalls,
    /// It renders them in a way that the spec language has no words for.
    Unsupported(String),
}

fn unsupported<T>(comparison: &str, what: impl std::fmt::Display) -> Result<T, Trouble> {
    Err(Trouble::Unsupported(format!("{comparison}: {what}")))
}

/// The first way of handing over a call in which its name and its argument are rendered.
pub(crate) fn style(lab: &Lab<'_>, s: &Sentinels) -> Option<Style> {
    let call = one(s);
    let styles = [(true, Empty::Text), (true, Empty::Null), (false, Empty::Text), (false, Empty::Null)];
    styles.into_iter().map(|(object_arguments, empty)| Style { object_arguments, empty }).find(|style| {
        let turn = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), *style);
        let is_shown = turn.as_ref().is_ok_and(|turn| shows(turn, &call));
        lab.note(s, Experiment::CallStyle, style.words(), |note| {
            note.result("one call", &turn);
            if is_shown {
                note.found("capabilities.tool_calls", true);
                note.because("name and argument are rendered: calls are handed over in this way from here on");
            } else {
                note.because("name and argument are not rendered");
            }
        });
        is_shown
    })
}

/// Whether a style renders a call.
pub(crate) fn renders(lab: &Lab<'_>, s: &Sentinels, style: Style) -> bool {
    let call = one(s);
    let turn = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), style);
    let is_shown = turn.as_ref().is_ok_and(|turn| shows(turn, &call));
    lab.note(s, Experiment::Capability, style.words(), |note| {
        note.result("one call", &turn);
        if is_shown {
            let key = if style.object_arguments { "object_arguments" } else { "string_arguments" };
            note.found(&format!("capabilities.{key}"), true).because("name and argument are rendered");
        } else {
            note.because("name and argument are not rendered");
        }
    });
    is_shown
}

fn shows(turn: &str, call: &Call) -> bool {
    turn.contains(&call.name)
        && call
            .arguments
            .iter()
            .all(|(key, value)| turn.contains(key) && value.as_str().is_none_or(|v| turn.contains(v)))
}

fn one(s: &Sentinels) -> Call {
    Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())])
}

fn two(s: &Sentinels) -> [Call; 2] {
    [one(s), Call::new(s.functions[1], s.ids[1], &[(s.arguments[1], s.values[1].into())])]
}

/// The renders that the comparisons work on: turns without their start, their empty reasoning and their end.
struct Turns {
    one: String,
    two: Option<String>,
    /// White space that stands before the first marker when an answer stands before the call.
    lead: String,
}

/// Finds how calls are written.
pub(crate) fn find(lab: &Lab<'_>, s: &Sentinels, style: Style, frame: &Frame) -> Result<(Tools, bool), Trouble> {
    let body = |calls: &[Call]| lab.turn(s, &Turn::calls(calls), style).ok().map(|turn| strip(s, &turn, frame));
    let Some(single) = body(&[one(s)]) else { return Err(Trouble::NoCalls) };
    let pair = body(&two(s)).filter(|turn| two(s).iter().all(|call| shows(turn, call)));
    let parallel = pair.is_some();
    let lead = lead_after_content(lab, s, style, frame, &single);
    let turns = Turns { one: single, two: pair, lead };
    let found = match native::find(s, &turns) {
        Ok(None) => match tag_with_json::find(s, &turns) {
            Ok(None) => tagged::find(lab, s, style, frame, &turns).map(Some),
            found => found,
        },
        found => found,
    };
    let found = found.and_then(|tools| tools.ok_or(Trouble::NoCalls));
    notes::calls(lab, s, style, &turns, &found);
    let mut tools = found?;
    if tools.format == ToolFormat::TagWithTagged {
        tools.uses_python_dicts = tagged::prints_python(lab, s, style);
    }
    Ok((tools, parallel))
}

/// The body of a turn of calls.
fn strip(s: &Sentinels, turn: &str, frame: &Frame) -> String {
    let body = turn.strip_prefix(frame.assistant_start.as_str()).unwrap_or_else(|| {
        // A turn without an answer may lack the white space at the end of the start.
        turn.strip_prefix(frame.assistant_start.trim_end()).unwrap_or(turn)
    });
    let body = frame::without_empty_reasoning(body, &frame.reasoning);
    // A wrapper around an answer that is not there, or around the calls too.
    let inside = match frame.content.start.trim() {
        "" => None,
        start => body.trim_start().strip_prefix(start).map(str::trim_start),
    };
    let body = match (inside, frame.content.end.trim()) {
        (Some(inside), end) if !end.is_empty() => inside.strip_prefix(end).unwrap_or(inside),
        (Some(inside), _) => inside,
        (None, _) => body,
    };
    let end = frame.end.as_str();
    let core = end.trim();
    if core.is_empty() {
        return body.strip_suffix(end).unwrap_or(body).to_owned();
    }
    // The end of the turn is the first one after all that the message says.
    let said = s.functions.iter().chain(&s.arguments).chain(&s.values).chain(&s.ids);
    let said = said.filter_map(|word| body.rfind(word).map(|at| at + word.len())).max().unwrap_or(0);
    match text::after(body, said, core) {
        Some(at) => {
            let before = &body[..at.start];
            let layout = &end[..end.find(core).unwrap_or(0)];
            before.strip_suffix(layout).unwrap_or(before).to_owned()
        }
        None => body.to_owned(),
    }
}

/// White space between an answer and the first marker, beyond what stands there without an answer.
fn lead_after_content(lab: &Lab<'_>, s: &Sentinels, style: Style, frame: &Frame, single: &str) -> String {
    let turn = Turn::calls(&[one(s)]).with_content(s.content);
    let Ok(turn) = lab.turn(s, &turn, style) else { return String::new() };
    let Some(at) = text::once(&turn, s.content) else { return String::new() };
    let rest = turn[at.end..].strip_prefix(frame.content.end.as_str()).unwrap_or(&turn[at.end..]);
    let (with, without) = (space(rest), space(single));
    let same = rest.trim_start().get(..8.min(rest.trim_start().len()))
        == single.trim_start().get(..8.min(rest.trim_start().len()));
    let lead = if same && with.len() > without.len() { with.strip_suffix(without).unwrap_or(with) } else { "" };
    lab.note(s, Experiment::ContentBesideCalls, "a call alone | behind an answer", |note| {
        note.render("behind an answer", rest).render("alone", single);
        note.because(match lead {
            "" => "before the first marker stands the same white space, or an answer is not followed by it".to_owned(),
            lead => format!("behind an answer {lead:?} stands before the first marker too: it is that marker's layout"),
        });
    });
    lead.to_owned()
}

/// What follows an answer that is written after its calls, which is all that ends such a turn.
pub(crate) fn end_after_content(lab: &Lab<'_>, s: &Sentinels, style: Style) -> Option<String> {
    let call = one(s);
    let turn = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let name = text::once(&turn, &call.name)?;
    let end = (name.end < content.start).then(|| turn[content.end..].to_owned());
    lab.note(s, Experiment::ContentBesideCalls, "what ends a turn of an answer and a call", |note| {
        note.render("an answer and a call", &turn).because(match &end {
            Some(_) => "the answer stands behind the call: what follows it ends the turn",
            None => "the answer stands before the call",
        });
    });
    end
}

/// C1 beside T1: what stands around an answer that calls follow, where that is not what stands around one alone.
pub(crate) fn frame_beside_calls(
    lab: &Lab<'_>,
    s: &Sentinels,
    style: Style,
    frame: &Frame,
    tools: &Tools,
) -> Option<(String, String)> {
    let turn = lab.turn(s, &Turn::calls(&[one(s)]).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let before = turn[..content.start].strip_prefix(frame.assistant_start.as_str())?;
    let before = frame::without_empty_reasoning(before, &frame.reasoning);
    let openers = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    let opener = openers.into_iter().find(|marker| !marker.trim().is_empty())?.trim();
    let after = &turn[content.end..];
    let after = &after[..after.find(opener)?];
    let known = before.trim() == frame.content.start.trim() && after.trim() == frame.content.end.trim();
    // Some templates write it just as reasoning.
    let is_reasoning = before.trim() == frame.reasoning.start.trim();
    let is_other = !known && !is_reasoning && !before.trim().is_empty();
    lab.note(s, Experiment::ContentBesideCalls, "what stands around an answer that a call follows", |note| {
        note.render("an answer and a call", &turn);
        if is_other {
            note.found("alternatives.content.start", before).found("alternatives.content.end", after);
            note.because("it is not what stands around an answer alone: another form of the same markers");
        } else {
            note.because("it is what stands around an answer alone, or around reasoning, or nothing");
        }
    });
    is_other.then(|| (before.to_owned(), after.to_owned()))
}

/// Whether the answer stands behind the calls of a turn that has both.
pub(crate) fn content_after_calls(lab: &Lab<'_>, s: &Sentinels, style: Style) -> bool {
    let Ok(turn) = lab.turn(s, &Turn::calls(&[one(s)]).with_content(s.content), style) else { return false };
    let places = (text::once(&turn, s.content), turn.find(s.functions[0]));
    let after = matches!(places, (Some(content), Some(call)) if content.start > call);
    lab.note(s, Experiment::ContentBesideCalls, "whether the answer or the call comes first", |note| {
        note.render("an answer and a call", &turn).found("content.after_calls", after);
        note.because(if after {
            "the answer stands behind the call"
        } else {
            "the answer does not stand behind the call"
        });
    });
    after
}

fn space(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

// ----- what stands around calls -----

/// Markers around calls.
#[derive(Default)]
struct Around {
    section_start: String,
    per_call_start: String,
    per_call_end: String,
    section_end: String,
    separator: String,
}

/// What stands after the last call: some templates close the calls of a turn only where there are several.
fn longer_close<'a>(one: &'a str, pair: &'a str) -> &'a str {
    if pair.starts_with(one) { pair } else { one }
}

/// T1 and T2: `open` stands before the first call, `middle` between two, `close` after the last.
fn around(open: &str, middle: Option<&str>, close: &str) -> Around {
    let Some(middle) = middle else {
        return Around { per_call_start: open.to_owned(), per_call_end: close.to_owned(), ..Around::default() };
    };
    let suffix = text::common_suffix(open, middle);
    let start = &open[open.len() - suffix..];
    let rest = &middle[..middle.len() - suffix];
    let prefix = text::common_prefix(close, rest);
    let (mut end, mut separator) = (&rest[..prefix], &rest[prefix..]);
    if end.trim().is_empty() {
        // White space alone closes nothing.
        (end, separator) = ("", rest);
    }
    Around {
        section_start: open[..open.len() - suffix].to_owned(),
        per_call_start: start.to_owned(),
        per_call_end: end.to_owned(),
        section_end: close[end.len()..].to_owned(),
        separator: separator.to_owned(),
    }
}

fn with_lead(mut around: Around, lead: &str) -> Around {
    if !around.section_start.is_empty() {
        around.section_start.insert_str(0, lead);
    } else if !around.per_call_start.is_empty() {
        around.per_call_start.insert_str(0, lead);
        without_lead(&mut around.separator, lead);
    }
    around
}

/// What stands between two calls, where the second's own opener already begins with `lead`.
fn without_lead(separator: &mut String, lead: &str) {
    if let Some(rest) = separator.strip_suffix(lead) {
        separator.truncate(rest.len());
    }
}

fn apply(mut tools: Tools, around: Around) -> Tools {
    tools.section_start = around.section_start;
    tools.per_call_start = around.per_call_start;
    tools.per_call_end = around.per_call_end;
    tools.section_end = around.section_end;
    tools.separator = around.separator;
    tools
}

fn apply_prefix(mut tools: Tools, lead: &str) -> Tools {
    if !tools.section_start.is_empty() {
        tools.section_start.insert_str(0, lead);
        return tools;
    }
    let opener =
        if tools.per_call_start.is_empty() { &mut tools.function.name_prefix } else { &mut tools.per_call_start };
    if !opener.is_empty() {
        opener.insert_str(0, lead);
        without_lead(&mut tools.separator, lead);
    }
    tools
}

/// Cuts what stands before a name into what opens the call and what belongs to the name: an unfinished tag, or what
/// follows the first of several tags.
fn split_prefix(text: &str) -> (&str, &str) {
    if let Some(open) = text.rfind('<')
        && !text[open..].contains('>')
    {
        return text.split_at(open);
    }
    let tags = text::tags(text);
    if let [first, _, ..] = tags.as_slice()
        && let Some(at) = text.find(first)
    {
        return text.split_at(at + first.len());
    }
    text.split_at(text.len())
}

/// Cuts what closes a call into what closes the name's tag and what closes the call.
fn split_close<'a>(prefix: &str, text: &'a str) -> (&'a str, &'a str) {
    if !prefix.contains('<') {
        return ("", text);
    }
    match text::tags(text).first() {
        Some(tag) => match text.find(tag) {
            Some(at) => text.split_at(at + tag.len()),
            None => ("", text),
        },
        None => ("", text),
    }
}

//! How tool calls are written. The comparisons: T1 no call or one, T2 one call or two, T3 two function names, T4, A1
//! and A2 argument names and values, T5 one argument or two, T6 no argument or one, T7 two call ids.
//!
//! Every part of a call carries a sentinel, so each part is found in the render, and the text between two parts is a
//! marker. The files of this folder try one family of formats each; a family that does not fit says so, and the next
//! one is tried.

use unjinja_spec::{ToolFormat, Tools};

use crate::conversation::{AssistantMessage, Call, Empty, Style};
use crate::error::CallsError;
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;
use crate::turn::{self, TurnMarkers};
use parts::{Turns, one, shows, space, strip, two};
mod native;
mod notes;
mod parts;
mod tag_with_json;
mod tagged;

/// The first style of passing calls with which the template renders the name and the argument.
pub(crate) fn style(probe: &Probe<'_>, s: &Sentinels) -> Option<Style> {
    let call = one(s);
    let styles = [(true, Empty::Text), (true, Empty::Null), (false, Empty::Text), (false, Empty::Null)];
    styles.into_iter().map(|(object_arguments, empty)| Style { object_arguments, empty }).find(|style| {
        let turn = probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(&call)), *style);
        let is_shown = turn.as_ref().is_ok_and(|turn| shows(turn, &call));
        probe.note(s, Experiment::CallStyle, style.words(), |note| {
            note.result("one call", &turn);
            if is_shown {
                note.found("capabilities.tool_calls", true);
                note.because(
                    "the name and the argument are rendered; the analysis passes calls in this form from here on",
                );
            } else {
                note.because("the name or the argument is not rendered");
            }
        });
        is_shown
    })
}

/// Whether a style renders a call.
pub(crate) fn renders(probe: &Probe<'_>, s: &Sentinels, style: Style) -> bool {
    let call = one(s);
    let turn = probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(&call)), style);
    let is_shown = turn.as_ref().is_ok_and(|turn| shows(turn, &call));
    probe.note(s, Experiment::Capability, style.words(), |note| {
        note.result("one call", &turn);
        if is_shown {
            let key = if style.object_arguments { "object_arguments" } else { "string_arguments" };
            note.found(&format!("capabilities.{key}"), true).because("the name and the argument are rendered");
        } else {
            note.because("the name or the argument is not rendered");
        }
    });
    is_shown
}

/// Finds how calls are written.
pub(crate) fn find(
    probe: &Probe<'_>,
    s: &Sentinels,
    style: Style,
    markers: &TurnMarkers,
) -> Result<(Tools, bool), CallsError> {
    let body = |calls: &[Call]| {
        probe.turn(s, &AssistantMessage::calls(calls), style).ok().map(|turn| strip(s, &turn, markers))
    };
    let Some(single) = body(&[one(s)]) else { return Err(CallsError::NoCalls) };
    let pair = body(&two(s)).filter(|turn| two(s).iter().all(|call| shows(turn, call)));
    let parallel = pair.is_some();
    let lead = lead_after_content(probe, s, style, markers, &single);
    let turns = Turns { one: single, two: pair, lead };
    let found = match native::find(s, &turns) {
        Ok(None) => match tag_with_json::find(s, &turns) {
            Ok(None) => tagged::find(probe, s, style, markers, &turns).map(Some),
            found => found,
        },
        found => found,
    };
    let found = found.and_then(|tools| tools.ok_or(CallsError::NoCalls));
    notes::calls(probe, s, style, &turns, &found);
    let mut tools = found?;
    if tools.format == ToolFormat::TagWithTagged {
        tools.uses_python_dicts = tagged::prints_python(probe, s, style);
    }
    Ok((tools, parallel))
}

/// The white space before the first marker of a call that only appears if an answer comes before the call.
fn lead_after_content(probe: &Probe<'_>, s: &Sentinels, style: Style, markers: &TurnMarkers, single: &str) -> String {
    let turn = AssistantMessage::calls(&[one(s)]).with_content(s.content);
    let Ok(turn) = probe.turn(s, &turn, style) else { return String::new() };
    let Some(at) = text::once(&turn, s.content) else { return String::new() };
    let rest = turn[at.end..].strip_prefix(markers.content.end.as_str()).unwrap_or(&turn[at.end..]);
    let (with, without) = (space(rest), space(single));
    let same = rest.trim_start().get(..8.min(rest.trim_start().len()))
        == single.trim_start().get(..8.min(rest.trim_start().len()));
    let lead = if same && with.len() > without.len() { with.strip_suffix(without).unwrap_or(with) } else { "" };
    probe.note(s, Experiment::ContentBesideCalls, "a call alone | a call after an answer", |note| {
        note.render("after an answer", rest).render("alone", single);
        note.because(match lead {
            "" => {
                "the white space before the first marker is the same in both, or no call follows the answer".to_owned()
            }
            lead => format!("after an answer, {lead:?} comes before the first marker; it is layout of that marker"),
        });
    });
    lead.to_owned()
}

/// The text after an answer that is written after its calls. It is the end of such a turn.
pub(crate) fn end_after_content(probe: &Probe<'_>, s: &Sentinels, style: Style) -> Option<String> {
    let call = one(s);
    let turn =
        probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(&call)).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let name = text::once(&turn, &call.name)?;
    let end = (name.end < content.start).then(|| turn[content.end..].to_owned());
    probe.note(s, Experiment::ContentBesideCalls, "what ends a turn of an answer and a call", |note| {
        note.render("an answer and a call", &turn).because(match &end {
            Some(_) => "the answer comes after the call, so the text after the answer ends the turn",
            None => "the answer comes before the call",
        });
    });
    end
}

/// C1 with T1: the markers around an answer that calls follow, if they differ from those around an answer alone.
pub(crate) fn frame_beside_calls(
    probe: &Probe<'_>,
    s: &Sentinels,
    style: Style,
    markers: &TurnMarkers,
    tools: &Tools,
) -> Option<(String, String)> {
    let turn = probe.turn(s, &AssistantMessage::calls(&[one(s)]).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let before = turn[..content.start].strip_prefix(markers.assistant_start.as_str())?;
    let before = turn::without_empty_reasoning(before, &markers.reasoning);
    let openers = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    let opener = openers.into_iter().find(|marker| !marker.trim().is_empty())?.trim();
    let after = &turn[content.end..];
    let after = &after[..after.find(opener)?];
    let known = before.trim() == markers.content.start.trim() && after.trim() == markers.content.end.trim();
    // Some templates write such an answer like reasoning.
    let is_reasoning = before.trim() == markers.reasoning.start.trim();
    let is_other = !known && !is_reasoning && !before.trim().is_empty();
    probe.note(s, Experiment::ContentBesideCalls, "the text around an answer that a call follows", |note| {
        note.render("an answer and a call", &turn);
        if is_other {
            note.found("alternatives.content.start", before).found("alternatives.content.end", after);
            note.because("it differs from the text around an answer alone: it is another form of the same markers");
        } else {
            note.because("it is the text around an answer alone, the text around reasoning, or empty");
        }
    });
    is_other.then(|| (before.to_owned(), after.to_owned()))
}

/// Whether the answer comes after the calls in a turn with both.
pub(crate) fn content_after_calls(probe: &Probe<'_>, s: &Sentinels, style: Style) -> bool {
    let Ok(turn) = probe.turn(s, &AssistantMessage::calls(&[one(s)]).with_content(s.content), style) else {
        return false;
    };
    let places = (text::once(&turn, s.content), turn.find(s.functions[0]));
    let after = matches!(places, (Some(content), Some(call)) if content.start > call);
    probe.note(s, Experiment::ContentBesideCalls, "whether the answer or the call comes first", |note| {
        note.render("an answer and a call", &turn).found("content.after_calls", after);
        note.because(if after { "the answer comes after the call" } else { "the answer does not come after the call" });
    });
    after
}

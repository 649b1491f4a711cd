//! Records what the comparisons of calls showed. Most of them use the same two turns: one call, and two calls that
//! differ in every part. Nothing is decided here.

use unjinja_spec::{CallIdPosition, ToolFormat, Tools};

use super::parts::{Turns, one};
use crate::conversation::{AssistantMessage, Style};
use crate::error::CallsError;
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::trace::{Comparison, Experiment};
/// Records T1, T2, T3, T4, A1 and T7, or the one that ended the search.
pub(super) fn calls(probe: &Probe<'_>, s: &Sentinels, style: Style, turns: &Turns, found: &Result<Tools, CallsError>) {
    let tools = match found {
        Ok(tools) => tools,
        Err(error) => return stopped(probe, s, turns, error),
    };
    let json = tools.format == ToolFormat::JsonNative;
    probe.note(s, Experiment::T1, "no call | one call", |note| {
        note.result("an answer", &probe.turn(s, &AssistantMessage::content(s.content), Style::PLAIN));
        note.result("one call", &probe.turn(s, &AssistantMessage::calls(&[one(s)]), style));
        note.found("tools.format", tools.format.name());
        note.because(match tools.format {
            ToolFormat::JsonNative => "one object holds the name and the arguments",
            ToolFormat::TagWithJson => "the name is written separately, and one object holds the arguments",
            ToolFormat::TagWithTagged => "the name and each argument are written separately, with raw text as values",
            ToolFormat::CallExpression => "the name and each argument are written separately, with literals as values",
            ToolFormat::None => "there are no calls",
        });
    });
    probe.note(s, Experiment::T2, "one call | two calls", |note| {
        both(note, turns);
        note.found_text("tools.section_start", &tools.section_start);
        note.found_text("tools.per_call_start", &tools.per_call_start);
        note.found_text("tools.per_call_end", &tools.per_call_end);
        note.found_text("tools.separator", &tools.separator);
        note.found_text("tools.section_end", &tools.section_end);
        if tools.tools_array_wrapped {
            note.found("tools.tools_array_wrapped", true);
        }
        note.found("capabilities.parallel_tool_calls", turns.two.is_some());
        note.because(match &turns.two {
            Some(_) => {
                "text that is written once encloses all calls, text that is written twice encloses each call, and text \
                 only between the two calls separates them"
            }
            None => "the template does not render two calls, so all text around a call belongs to that call",
        });
    });
    probe.note(s, Experiment::T3, "two function names", |note| {
        both(note, turns);
        if json {
            note.found_text("tools.name_field", &tools.name_field);
            note.found_text("tools.function_field", &tools.function_field);
            if tools.fun_name_is_key {
                note.found("tools.fun_name_is_key", true);
            }
            note.because("it is the key whose value is the function's name, or the name is the key itself");
        } else {
            note.found_text("tools.function.name_prefix", &tools.function.name_prefix);
            note.found_text("tools.function.name_suffix", &tools.function.name_suffix);
            note.found_text("tools.function.close", &tools.function.close);
            note.because("it encloses the function's name");
        }
    });
    probe.note(s, Experiment::T4, "the positions of name, arguments and values", |note| {
        both(note, turns);
        note.found_text("tools.args_field", &tools.args_field);
        if json && !tools.parameter_order.is_empty() {
            note.found("tools.parameter_order", tools.parameter_order.clone());
        }
        note.found_text("tools.arguments.start", &tools.arguments.start);
        if matches!(tools.format, ToolFormat::JsonNative | ToolFormat::TagWithJson) {
            note.found("tools.uses_python_dicts", tools.uses_python_dicts);
        }
        note.because("each of them holds a sentinel, and the text between two sentinels is a marker");
    });
    if !tools.arguments.name_prefix.is_empty() || !tools.arguments.name_suffix.is_empty() {
        probe.note(s, Experiment::A1, "two argument names", |note| {
            both(note, turns);
            note.found_text("tools.arguments.name_prefix", &tools.arguments.name_prefix);
            note.found_text("tools.arguments.name_suffix", &tools.arguments.name_suffix);
            note.found_text("tools.arguments.other_name_suffix", &tools.arguments.other_name_suffix);
            note.found_text("tools.arguments.value_prefix", &tools.arguments.value_prefix);
            note.because("it encloses the argument's name");
        });
    }
    probe.note(s, Experiment::T7, "two call ids", |note| {
        both(note, turns);
        let position = serde_json::to_value(tools.call_id.position).unwrap_or_default();
        note.found("tools.call_id.position", position);
        note.found_text("tools.call_id.prefix", &tools.call_id.prefix);
        note.found_text("tools.call_id.suffix", &tools.call_id.suffix);
        note.found_text("tools.id_field", &tools.id_field).found_text("tools.gen_id_field", &tools.gen_id_field);
        let in_json = !tools.id_field.is_empty();
        note.because(match tools.call_id.position {
            CallIdPosition::None if in_json => "the call's own id is the value of that key",
            CallIdPosition::None if !tools.gen_id_field.is_empty() => "the key's value counts the calls",
            CallIdPosition::None => "no call's id is rendered",
            CallIdPosition::InName => "a number between the name and the arguments counts the calls",
            _ => "the call's own id is rendered there",
        });
    });
}

fn both(note: &mut Comparison, turns: &Turns) {
    note.render("one call", &turns.one);
    if let Some(two) = &turns.two {
        note.render("two calls", two);
    }
}

/// The comparison that saw what the spec language cannot express.
fn stopped(probe: &Probe<'_>, s: &Sentinels, turns: &Turns, error: &CallsError) {
    let CallsError::Gap(gap) = error else { return };
    probe.note(s, gap.comparison, "what the spec language cannot express", |note| {
        both(note, turns);
        note.because(format!("expected {}; found {}", gap.expected, gap.seen));
    });
}

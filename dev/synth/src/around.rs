//! Markers around all calls and around each, and the numbers of calls.

use unjinja_spec::{CallId, CallIdPosition, Tools};

use crate::behaviour::Behaviour;
use crate::marker::Markers;

/// Markers around all calls, around each, or both.
pub fn around(markers: &mut Markers<'_>, tools: &mut Tools, section: bool, each: bool) {
    if section {
        let alphabet = markers.alphabet();
        (tools.section_start, tools.section_end) = markers.laid_out(alphabet);
        if markers.rng().one_in(6) && !each {
            // Only the end of the turn closes the section.
            tools.section_end = String::new();
        }
    }
    if each {
        let alphabet = markers.tags();
        (tools.per_call_start, tools.per_call_end) = markers.laid_out(alphabet);
    }
}

/// A number after the name that the template counts: an attribute of the name's tag, or between markers.
pub fn counted(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    behaviour.counts_calls = true;
    behaviour.first_id = markers.rng().below(2);
    let function = &mut tools.function;
    let attribute = function.name_suffix.starts_with('"');
    let (prefix, suffix) = if attribute {
        let word = markers.rng().pick(&["index", "number", "id"]);
        (format!("\" {word}=\""), std::mem::take(&mut function.name_suffix))
    } else {
        let alphabet = markers.tags();
        markers.pair(alphabet)
    };
    if !attribute {
        function.name_suffix.truncate(function.name_suffix.trim_end().len());
    }
    tools.call_id = CallId { position: CallIdPosition::BetweenFuncAndArgs, prefix, suffix };
}

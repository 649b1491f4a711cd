//! How tool calls are written. The comparisons: T1 no call or one, T2 one call or two, T3 two function names, T4, A1 and
//! A2 argument names and values, T5 one argument or two, T6 no argument or one, T7 two call ids.
//!
//! The files of this folder try one family of formats each; a family that does not fit says so, and the next one is
//! tried.

use unjinja_spec::Tools;

use super::frame::Frame;
use crate::ask::CallTurns;
use crate::error::Gap;
use crate::observed::MessagePart;
use around::Bodies;

pub(crate) mod around;
mod native;
mod order;
mod tag_with_json;
mod tagged;

pub(crate) fn calls(calls: &CallTurns, frame: &Frame) -> Result<Tools, Gap> {
    let tools = family(calls, frame)?;
    Ok(Tools { argument_order: order::of(calls), ..tools })
}

fn family(calls: &CallTurns, frame: &Frame) -> Result<Tools, Gap> {
    let bodies = Bodies::of(calls, frame);
    if let Some(tools) = native::find(&bodies)? {
        return Ok(tools);
    }
    let bodies = bodies.with_repeated_names();
    if let Some(tools) = tag_with_json::find(&bodies)? {
        return Ok(tools);
    }
    tagged::find(calls, frame, &bodies)
}

/// The text after an answer that is written after its calls. It is the end of such a turn.
pub(crate) fn end_after_answer(calls: &CallTurns) -> Option<&str> {
    let turn = calls.after_answer.as_ref()?;
    let (content, name) = (turn.only(MessagePart::Content)?, turn.only(MessagePart::Name(0))?);
    (name.end < content.start).then(|| &turn.text[content.end..])
}

/// Whether the answer comes after the calls in a turn with both.
pub(crate) fn answer_after_calls(calls: &CallTurns) -> bool {
    let places =
        calls.after_answer.as_ref().map(|turn| (turn.only(MessagePart::Content), turn.first(MessagePart::Name(0))));
    matches!(places, Some((Some(content), Some(call))) if content.start > call.start)
}

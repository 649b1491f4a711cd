//! The shape of a turn with calls: the order of its results, and which parts of it share a message.

use serde_json::{Map, Value};

use super::calls::{call_id, id_text};
use super::forms::text_of;
use crate::messages::{ContentWithCalls, Messages};

/// The roles of the messages that answer calls.
const TOOL: &str = "tool";

/// Puts the turns with calls of a conversation into the shape that the template reads.
pub(super) fn shaped(needs: &Messages, given: Vec<Value>) -> Vec<Value> {
    let mut list = Vec::with_capacity(given.len());
    let mut rest = given.into_iter().peekable();
    while let Some(mut message) = rest.next() {
        let calls = match message.get("tool_calls") {
            Some(Value::Array(calls)) if message["role"] == "assistant" && !calls.is_empty() => calls.clone(),
            _ => {
                list.push(message);
                continue;
            }
        };
        let results = std::iter::from_fn(|| rest.next_if(|next| next["role"] == TOOL)).collect();
        let mut results = in_order(&calls, results);
        if let Some(before) = apart(needs, &mut message) {
            list.push(before);
        }
        if !needs.one_call || calls.len() < 2 {
            list.push(message);
            list.extend(results.into_iter().map(|(_, result)| result));
            continue;
        }
        for (at, call) in calls.into_iter().enumerate() {
            let mut one = match at {
                0 => std::mem::take(&mut message),
                _ => Value::Object(Map::from_iter([
                    ("role".to_owned(), "assistant".into()),
                    ("content".to_owned(), Value::Null),
                ])),
            };
            one["tool_calls"] = Value::Array(vec![call]);
            list.push(one);
            list.extend(results.extract_if(.., |(of, _)| *of == Some(at)).map(|(_, result)| result));
        }
        list.extend(results.into_iter().map(|(_, result)| result));
    }
    list
}

/// The results with the positions of their calls. If each call has one, they are in the order of the calls: several of one call as they
/// were sent, and those of no call at the end. Otherwise they are as they were sent.
fn in_order(calls: &[Value], results: Vec<Value>) -> Vec<(Option<usize>, Value)> {
    let ids: Vec<Option<String>> = calls.iter().map(call_id).collect();
    let mut answered = vec![false; ids.len()];
    let mut of_call = |at: usize, result: &Value| {
        let Some(wanted) = result.get("tool_call_id").and_then(id_text) else {
            // A result without an id answers the call at its place.
            return Some(at).filter(|at| *at < ids.len());
        };
        let mut same = (0..ids.len()).filter(|at| ids[*at].as_ref() == Some(&wanted));
        let first = same.clone().find(|at| !answered[*at]).or_else(|| same.next_back())?;
        answered[first] = true;
        Some(first)
    };
    let mut placed: Vec<_> =
        results.into_iter().enumerate().map(|(at, result)| (of_call(at, &result), result)).collect();
    if (0..ids.len()).all(|call| placed.iter().any(|(of, _)| *of == Some(call))) {
        placed.sort_by_key(|(of, _)| of.unwrap_or(usize::MAX));
    }
    placed
}

/// Separates the content from the calls of a message, as far as the template does not take it with them. Returns the message that
/// comes before.
fn apart(needs: &Messages, message: &mut Value) -> Option<Value> {
    let text = message.get("content").and_then(text_of).filter(|text| !text.trim().is_empty())?;
    match needs.content_with_calls {
        ContentWithCalls::Kept => None,
        ContentWithCalls::Apart => {
            let content = std::mem::take(&mut message["content"]);
            Some(Value::Object(Map::from_iter([
                ("role".to_owned(), "assistant".into()),
                ("content".to_owned(), content),
            ])))
        }
        ContentWithCalls::InReasoning => {
            let fields = ["reasoning_content", "reasoning", "thinking"];
            let is_said = |field: &&str| message[*field].as_str().is_some_and(|text| !text.trim().is_empty());
            let field = fields.into_iter().find(is_said)?;
            message[field] = format!("{}\n\n{text}", message[field].as_str().unwrap_or_default()).into();
            message["content"] = Value::Null;
            None
        }
    }
}

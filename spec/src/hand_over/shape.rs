//! The shape of a turn with calls: the order of its results, and which parts of it share a message.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use super::assistant::{Carrier, REASONING_FIELDS};
use super::calls::{call_id, id_text};
use super::forms::{append_text, text_of};
use crate::messages::ContentWithCalls;
use crate::model::FormatSpec;

/// Puts the turns with calls of a conversation into the shape that the template reads.
pub(super) fn shaped(spec: &FormatSpec, given: Vec<Value>) -> Vec<Value> {
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
        let results = std::iter::from_fn(|| rest.next_if(|next| next["role"] == "tool")).collect();
        let results = in_order(&calls, results);
        if let Some(before) = apart(spec, &mut message) {
            list.push(before);
        }
        if !spec.messages.one_call || calls.len() < 2 {
            list.push(message);
            list.extend(results.into_iter().map(|(_, result)| result));
            continue;
        }
        let mut answers: Vec<Vec<Value>> = vec![Vec::new(); calls.len() + 1];
        for (of, result) in results {
            answers[of.unwrap_or(calls.len())].push(result);
        }
        let mut calls = calls.into_iter();
        for answers in answers {
            // Results of no call come after the last one.
            if let Some(call) = calls.next() {
                let mut one = match message.take() {
                    Value::Null => said(Value::Null),
                    first => first,
                };
                one["tool_calls"] = Value::Array(vec![call]);
                list.push(one);
            }
            list.extend(answers);
        }
    }
    if spec.messages.content_with_calls == ContentWithCalls::Joined { joined(list) } else { list }
}

/// The messages, with one content of the assistant between two messages of the user: where the last one is.
fn joined(list: Vec<Value>) -> Vec<Value> {
    let mut backwards: Vec<Value> = Vec::with_capacity(list.len());
    // The place of the last content, and those before it.
    let mut last: (Option<usize>, Vec<String>) = Default::default();
    let join = |messages: &mut Vec<Value>, (at, mut before): (Option<usize>, Vec<String>)| {
        before.reverse();
        let answer = at.and_then(|at| messages.get_mut(at)?.as_object_mut()).filter(|_| !before.is_empty());
        answer.into_iter().for_each(|answer| append_text(answer, &before.join("\n\n"), true));
    };
    for message in list.into_iter().rev() {
        let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        let is_said = message["role"] == "assistant" && !calls;
        match text_of(&message["content"]).filter(|_| is_said) {
            Some(text) if last.0.is_some() => {
                last.1.push(text);
                continue;
            }
            Some(_) => last.0 = Some(backwards.len()),
            None if message["role"] == "tool" || message["role"] == "assistant" => {}
            None => join(&mut backwards, std::mem::take(&mut last)),
        }
        backwards.push(message);
    }
    join(&mut backwards, last);
    backwards.reverse();
    backwards
}

/// The results with the positions of their calls. If each call has one, they are in the order of the calls: several of one call as they
/// were sent, and those of no call at the end. Otherwise they are as they were sent.
fn in_order(calls: &[Value], results: Vec<Value>) -> Vec<(Option<usize>, Value)> {
    let mut by_id: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, id) in calls.iter().map(call_id).enumerate() {
        by_id.entry(id.unwrap_or_default()).or_default().push_back(at);
    }
    let mut answered = vec![false; calls.len()];
    let mut of_call = |at: usize, result: &Value| {
        let of = match result.get("tool_call_id").and_then(id_text) {
            // The last call with this id stays: it may have several results.
            Some(id) => by_id
                .get_mut(&id)
                .and_then(|same| if same.len() > 1 { same.pop_front() } else { same.front().copied() }),
            // A result without an id answers the call at its place.
            None => Some(at),
        };
        of.filter(|of| answered.get_mut(*of).map(|answered| *answered = true).is_some())
    };
    let numbered = results.into_iter().enumerate();
    let mut placed: Vec<_> = numbered.map(|(at, result)| (of_call(at, &result), at, result)).collect();
    if answered.iter().all(|answered| *answered) {
        placed.sort_by_cached_key(|(of, at, _)| (of.unwrap_or(usize::MAX), *at));
    }
    placed.into_iter().map(|(of, _, result)| (of, result)).collect()
}

/// A message of the assistant with this content.
fn said(content: Value) -> Value {
    Value::Object(Map::from_iter([("role".to_owned(), "assistant".into()), ("content".to_owned(), content)]))
}

/// Separates the content from the calls of a message, as far as the template does not take it with them. Returns the message that
/// comes before.
fn apart(spec: &FormatSpec, message: &mut Value) -> Option<Value> {
    let text = message.get("content").and_then(text_of).filter(|text| !text.trim().is_empty());
    let is_said = |message: &Value, field: &str| message[field].as_str().is_some_and(|text| !text.trim().is_empty());
    let way = spec.messages.content_with_calls;
    match way {
        ContentWithCalls::Kept => None,
        ContentWithCalls::Apart | ContentWithCalls::Joined => {
            // A template that reads no field takes reasoning in contents only; the model wrote it before the content.
            let moves = way == ContentWithCalls::Apart && matches!(Carrier::of(spec), Some(Carrier::Tags(..)));
            let said_fields = REASONING_FIELDS.into_iter().filter(|field| moves && is_said(message, field));
            let reasoning: Vec<&str> = said_fields.collect();
            if text.is_none() && (reasoning.is_empty() || spec.messages.drops_reasoning) {
                return None;
            }
            let mut before = said(message["content"].take());
            for field in reasoning {
                before[field] = message.as_object_mut().and_then(|message| message.shift_remove(field)).into();
            }
            Some(before)
        }
        ContentWithCalls::InReasoning => {
            // What the template reads counts first.
            let own = spec.reasoning.field.as_str();
            let field = std::iter::once(own).chain(REASONING_FIELDS).find(|field| is_said(message, field))?;
            message[field] = format!("{}\n\n{}", message[field].as_str().unwrap_or_default(), text?).into();
            message["content"] = Value::Null;
            None
        }
    }
}

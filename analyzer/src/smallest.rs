//! The smallest conversation that shows a failure. It is looked for among a few small conversations, and among smaller and
//! smaller parts of conversations that failed; the shortest render wins.

use serde_json::Value;

use crate::conversation::AssistantMessage;
use crate::small_turns::small_turns;
use crate::verify::{Failure, TrialOutcome, Trials, message_of};

/// Conversations that are tried at most for one failure.
const TRIALS: u32 = 300;

/// Failed conversations that are made smaller, the shortest first.
const SHRUNK: usize = 3;

/// The smallest conversation that fails; `None` if none does.
pub(crate) fn smallest(trials: &Trials<'_, '_>, failures: &[Failure]) -> Option<Failure> {
    let small = small_turns(trials.spec).into_iter().filter_map(|turn| fails(trials, &turn));
    let mut known: Vec<(usize, usize)> =
        failures.iter().enumerate().map(|(at, failure)| (failure.rendered.len(), at)).collect();
    known.sort_unstable();
    let shrunk = known.into_iter().take(SHRUNK).map(|(_, at)| shrink(trials, failures[at].clone()));
    small.chain(shrunk).min_by_key(|failure| failure.rendered.len())
}

fn fails(trials: &Trials<'_, '_>, turn: &AssistantMessage) -> Option<Failure> {
    match trials.run(turn, message_of(turn)) {
        TrialOutcome::Failed(failure) => Some(*failure),
        TrialOutcome::Lost(_) | TrialOutcome::Held(_) => None,
    }
}

/// Leaves out parts of a turn as long as what remains fails too.
fn shrink(trials: &Trials<'_, '_>, mut failure: Failure) -> Failure {
    let mut left = TRIALS;
    'smaller: loop {
        for turn in parts(&failure.turn) {
            if left == 0 {
                return failure;
            }
            left -= 1;
            if let Some(smaller) = fails(trials, &turn).filter(|other| other.rendered.len() < failure.rendered.len()) {
                failure = smaller;
                continue 'smaller;
            }
        }
        return failure;
    }
}

/// The turns that lack one part of this turn.
fn parts(turn: &AssistantMessage) -> Vec<AssistantMessage> {
    let mut parts = Vec::new();
    if turn.reasoning.is_some() {
        parts.push(AssistantMessage { reasoning: None, ..turn.clone() });
    }
    if !turn.content.is_empty() && !turn.calls.is_empty() {
        parts.push(AssistantMessage { content: String::new(), ..turn.clone() });
    }
    for index in 0..turn.calls.len() {
        if turn.calls.len() > 1 || !turn.content.is_empty() {
            let mut fewer = turn.clone();
            fewer.calls.remove(index);
            parts.push(fewer);
        }
        for (key, value) in &turn.calls[index].arguments {
            let with = |value: Option<Value>| {
                let mut other = turn.clone();
                match value {
                    Some(value) => other.calls[index].arguments.insert(key.clone(), value),
                    None => other.calls[index].arguments.remove(key),
                };
                other
            };
            parts.push(with(None));
            parts.extend(values(value).into_iter().map(|value| with(Some(value))));
        }
    }
    parts.extend(texts(&turn.content).into_iter().map(|content| AssistantMessage { content, ..turn.clone() }));
    if let Some((field, text)) = &turn.reasoning {
        let shorter = texts(text).into_iter();
        parts.extend(shorter.map(|text| AssistantMessage { reasoning: Some((field.clone(), text)), ..turn.clone() }));
    }
    parts
}

/// The two halves of a text, and the text without its first and its last character.
fn texts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len();
    if length < 2 {
        return Vec::new();
    }
    let cuts = [0..length / 2, length / 2..length, 1..length, 0..length - 1];
    let texts = cuts.into_iter().map(|cut| characters[cut].iter().collect::<String>().trim().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

fn values(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => texts(text).into_iter().map(Value::String).collect(),
        Value::Array(items) => {
            let without = |index: usize| {
                let others = items.iter().enumerate().filter(|(other, _)| *other != index);
                Value::Array(others.map(|(_, item)| item.clone()).collect())
            };
            (0..items.len()).map(without).collect()
        }
        Value::Object(members) => {
            let without = |key: &String| {
                let others = members.iter().filter(|(other, _)| *other != key);
                Value::Object(others.map(|(key, value)| (key.clone(), value.clone())).collect())
            };
            members.keys().map(without).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

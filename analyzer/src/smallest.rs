//! The smallest conversation that shows a failure. It is looked for among a few small conversations, and among smaller and
//! smaller parts of conversations that failed; the shortest render wins.

use serde_json::{Map, Value, json};
use unjinja_spec::{Carrier, FormatSpec, ReasoningMode, ToolFormat};

use crate::conversation::{AssistantMessage, Call};
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

/// Small turns of every kind that the template may render, the plainest first.
pub(crate) fn small_turns(spec: &FormatSpec) -> Vec<AssistantMessage> {
    let mut turns = all_small_turns(spec);
    // If only the end of reasoning is marked, a turn without it could be all answer or all reasoning.
    if spec.reasoning.mode != ReasoningMode::None && spec.reasoning.start.trim().is_empty() {
        turns.retain(|turn| turn.reasoning.is_some());
    }
    turns
}

fn all_small_turns(spec: &FormatSpec) -> Vec<AssistantMessage> {
    let answer = || AssistantMessage::content("Hello.");
    let mut turns = vec![answer()];
    let carrier = Carrier::of_field(&spec.reasoning.field);
    if let Some(carrier) = &carrier {
        turns.push(answer().with_reasoning(carrier, "I see."));
    }
    let can = &spec.capabilities;
    if spec.tools.format == ToolFormat::None && !can.tools && !can.tool_calls {
        return turns;
    }
    let arguments = [
        json!({}),
        json!({"city": "Paris"}),
        json!({"days": 2}),
        json!({"city": "Paris", "days": 2}),
        json!({"metric": true}),
        json!({"cities": ["Paris"]}),
        json!({"place": {"city": "Paris"}}),
        json!({"city": "\"Paris\""}),
        json!({"city": "l'Est"}),
        json!({"city": "Paris\nLyon"}),
    ];
    let calls: Vec<Call> = arguments.into_iter().map(|arguments| call(0, arguments)).collect();
    turns.extend(calls.iter().map(|call| AssistantMessage::calls(std::slice::from_ref(call))));
    let paris = || call(0, json!({"city": "Paris"}));
    turns.push(AssistantMessage::calls(&[paris()]).with_content("Hello."));
    if can.parallel_tool_calls {
        turns.push(AssistantMessage::calls(&[paris(), call(1, json!({"city": "Lyon"}))]));
    }
    if let Some(carrier) = &carrier {
        turns.push(AssistantMessage::calls(&[paris()]).with_reasoning(carrier, "I see."));
        turns.push(AssistantMessage::calls(&[paris()]).with_content("Hello.").with_reasoning(carrier, "I see."));
    }
    turns
}

/// Small turns with what the spec does not describe, for each of these ways to carry reasoning: the template may render it all
/// the same.
pub(crate) fn undescribed_turns(spec: &FormatSpec, carriers: &[Carrier]) -> Vec<AssistantMessage> {
    let mut turns = Vec::new();
    if spec.reasoning.mode == ReasoningMode::None {
        let answer = AssistantMessage::content("Hello.");
        turns.extend(carriers.iter().map(|carrier| answer.clone().with_reasoning(carrier, "I see.")));
    }
    if spec.tools.format == ToolFormat::None {
        turns.push(AssistantMessage::calls(&[call(0, json!({"city": "Paris"}))]));
    }
    turns
}

/// A call with an id of nine characters, which is what the strictest templates accept.
fn call(number: usize, arguments: Value) -> Call {
    let arguments = if let Value::Object(arguments) = arguments { arguments } else { Map::new() };
    Call { name: "get_weather".to_owned(), id: format!("call{number:05}"), arguments }
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

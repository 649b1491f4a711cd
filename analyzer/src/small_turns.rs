//! The smallest turns of a format: one of each kind.

use serde_json::{Map, Value, json};
use unjinja_spec::{Carrier, FormatSpec, ReasoningMode, ToolFormat};

use crate::conversation::{AssistantMessage, Call};

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

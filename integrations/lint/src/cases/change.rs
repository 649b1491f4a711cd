//! Small changes to conversations, shared by the tables of cases.

use serde_json::Value;

use super::super::conversation::{Conversation, Manner, id};
use super::super::subject::Subject;

/// The first message of a role.
fn message<'c>(conversation: &'c mut Conversation, role: &str) -> Option<&'c mut serde_json::Map<String, Value>> {
    conversation.messages.iter_mut().find(|message| message["role"] == role).and_then(Value::as_object_mut)
}

/// Sets a field of the first message of a role.
pub(super) fn set(conversation: &mut Conversation, role: &str, field: &str, value: Value) {
    if let Some(message) = message(conversation, role) {
        message.insert(field.to_owned(), value);
    }
}

/// Removes a field of the first message of a role.
pub(super) fn remove(conversation: &mut Conversation, role: &str, field: &str) {
    if let Some(message) = message(conversation, role) {
        message.shift_remove(field);
    }
}

/// The functions of all calls.
pub(super) fn calls(conversation: &mut Conversation) -> impl Iterator<Item = &mut Value> {
    let messages = conversation.messages.iter_mut().filter_map(|message| message.get_mut("tool_calls"));
    messages.filter_map(Value::as_array_mut).flatten().filter_map(|call| call.get_mut("function"))
}

/// A question, a call and its result.
pub(super) fn with_result(subject: &Subject, manner: Manner) -> Conversation {
    Conversation::of([subject.plain.user(), manner.call(), manner.result(0)]).with_tools()
}

/// Gives all calls ids as the OpenAI API makes them.
pub(super) fn set_ids(conversation: &mut Conversation) {
    let messages = conversation.messages.iter_mut().filter_map(|message| message.get_mut("tool_calls"));
    for (number, call) in messages.filter_map(Value::as_array_mut).flatten().enumerate() {
        call["id"] = id(number).into();
    }
}

//! Messages, for JavaScript.

use serde_json::{Map, Value, json};
#[cfg(feature = "full")]
use unjinja_dynamic::OwnedEvent;
use unjinja_dynamic::{CallIdShape, CallIds, Diagnostic, Message, Model};

use crate::arguments::Arguments;
use crate::failure::Failure;

/// A message that was parsed.
pub(crate) fn message(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(
        |call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments, "complete": call.complete }),
    );
    json!({
        "content": message.content,
        "reasoningContent": message.reasoning_content,
        "toolCalls": calls.collect::<Vec<_>>(),
        "unparsed": message.unparsed,
        "diagnostics": message.diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
    })
}

/// A diagnostic, with its sentence.
pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut fields = match serde_json::to_value(diagnostic) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("message".to_owned(), Value::String(diagnostic.to_string()));
    Value::Object(fields)
}

/// An event, as `KINDS` of `lib/instance.js` makes it.
#[cfg(feature = "full")]
pub(crate) fn event(event: &OwnedEvent) -> Value {
    match event {
        OwnedEvent::Diagnostic(noted) => json!({ "type": "diagnostic", "diagnostic": diagnostic(noted) }),
        event => {
            let Ok(Value::Object(fields)) = serde_json::to_value(event) else { return Value::Null };
            let renamed = |name: String| if name == "event" { "type".to_owned() } else { name };
            fields.into_iter().map(|(name, value)| (renamed(name), value)).collect()
        }
    }
}

/// Ids for the calls of a message: those that the model wrote, where they are new in the conversation, and new ones.
pub(crate) fn call_ids(model: &Model, mut arguments: Arguments) -> Result<Value, Failure> {
    let names = arguments.texts("names")?.unwrap_or_default();
    let written = arguments.value("written").unwrap_or_default();
    let earlier = arguments.texts("callIds")?.unwrap_or_default();
    arguments.done()?;
    let mut ids = CallIds::new(CallIdShape::of(model.spec())).after(&earlier);
    let ids = names.iter().enumerate().map(|(at, name)| ids.next(name, written[at].as_str()));
    Ok(Value::from(ids.collect::<Vec<_>>()))
}

//! Conversations from Python: the messages, and the variables of a template.

use std::collections::BTreeSet;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::Value;
use unjinja_dynamic::Template;
use unjinja_spec::nearest;

use crate::error::RequestError;
use crate::json;
use crate::message::Message;

/// The messages of a conversation as JSON. A `Message` is handed over in OpenAI's form; this is the only place that does so.
pub(crate) fn messages_of(messages: &Bound<'_, PyAny>) -> PyResult<Value> {
    if !(messages.is_instance_of::<PyList>() || messages.is_instance_of::<PyTuple>()) {
        let value = json::from_python(messages, "messages", RequestError::new_err)?;
        return if value.is_array() {
            Ok(value)
        } else {
            Err(RequestError::new_err("messages: expected a list of messages"))
        };
    }
    let mut list = Vec::new();
    let mut call_ids = Vec::new();
    for (index, message) in messages.try_iter()?.enumerate() {
        let message = message?;
        if let Ok(message) = message.cast::<Message>() {
            list.push(message.get().in_conversation(&mut call_ids)?);
            continue;
        }
        let value = json::from_python(&message, &format!("messages[{index}]"), RequestError::new_err)?;
        let calls = value.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        call_ids.extend(calls.map(|call| call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()));
        list.push(value);
    }
    Ok(Value::Array(list))
}

/// Parameters of `apply_chat_template` in transformers that do not change the text, so a call of it can be copied. `documents` is
/// always set there.
const WITHOUT_EFFECT: [&str; 9] = [
    "documents",
    "max_length",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "tokenize",
    "tokenizer_kwargs",
    "truncation",
];

/// Parameters of `apply_chat_template` that change the text, and what has their effect here.
const NOT_HERE: [(&str, &str); 2] = [
    ("chat_template", "make a Model of that template"),
    (
        "continue_final_message",
        "render the messages before it, and add its text to the prompt or pass it as `continue_from`",
    ),
];

/// The parameters of `Model.render`, apart from the variables.
const PARAMETERS: [&str; 4] = ["add_generation_prompt", "messages", "thinking", "tools"];

/// Checks that a template reads the variables that a caller gives it: one that it does not read is a name with a typing error, or
/// the name of another template.
pub(crate) fn check_variables(
    template: &Template,
    reads: &BTreeSet<String>,
    given: &Bound<'_, PyDict>,
) -> PyResult<()> {
    for (name, value) in given {
        let name: String = name.extract()?;
        let is_token = || matches!(&*name, "bos_token" | "eos_token") || template.tokens().others.contains_key(&name);
        if reads.contains(&name) || WITHOUT_EFFECT.contains(&&*name) || is_token() {
            continue;
        }
        let start = format!("render() got an unexpected keyword argument '{name}'");
        let known = NOT_HERE.into_iter().find(|(known, _)| *known == name);
        let text = match known {
            Some(_) if !value.is_truthy()? => continue,
            Some((_, instead)) => format!("{start}: it has no effect here; {instead}"),
            None => {
                let others = reads.iter().map(String::as_str).filter(|read| !PARAMETERS.contains(read));
                let others = others.collect::<Vec<_>>();
                let meant = nearest(&name, others.iter().copied().chain(PARAMETERS));
                let meant = meant.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                let read = if others.is_empty() { "no variables of its own".to_owned() } else { others.join(", ") };
                format!("{start}: the template does not read it{meant}\n  = the template reads: {read}")
            }
        };
        return Err(PyTypeError::new_err(text));
    }
    Ok(())
}

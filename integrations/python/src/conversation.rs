//! Conversations from Python: the messages, and the variables of a template.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::Value;
use unjinja_dynamic::{Clock, Conversation, Model, Template};
use unjinja_spec::nearest;

use crate::error::{RequestError, model_error};
use crate::json;
use crate::keywords::Keywords;
use crate::message::Message;
use crate::tools::tools_of;

/// The messages of a conversation as JSON. A `Message` is handed over in OpenAI's form; this is the only place that does so.
pub(crate) fn messages_of(messages: &Bound<'_, PyAny>) -> PyResult<Value> {
    if !(messages.is_instance_of::<PyList>() || messages.is_instance_of::<PyTuple>()) {
        let value = json::exact_from_python(messages, "messages", RequestError::new_err)?;
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
        let value = json::exact_from_python(&message, &format!("messages[{index}]"), RequestError::new_err)?;
        let calls = value.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        call_ids.extend(calls.map(|call| call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()));
        list.push(value);
    }
    Ok(Value::Array(list))
}

/// What `Model.render` and `Encoder.encode` take, by their names in Python.
#[derive(Clone)]
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) messages: &'a Bound<'py, PyAny>,
    pub(crate) tools: Option<Bound<'py, PyAny>>,
    pub(crate) thinking: Option<bool>,
    pub(crate) add_generation_prompt: bool,
    pub(crate) as_given: bool,
    pub(crate) variables: Option<&'a Bound<'py, PyDict>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// For a prompt that is made as the template is meant.
    pub(crate) fn of_turn(messages: &'a Bound<'py, PyAny>, keywords: Keywords<'a, 'py>) -> PyResult<Self> {
        Ok(Self {
            messages,
            tools: keywords.optional("tools")?,
            thinking: keywords.optional("thinking")?,
            add_generation_prompt: true,
            as_given: false,
            variables: keywords.rest(),
        })
    }

    /// For a text of any kind.
    pub(crate) fn of_text(messages: &'a Bound<'py, PyAny>, keywords: Keywords<'a, 'py>) -> PyResult<Self> {
        let add_generation_prompt = keywords.take("add_generation_prompt", true)?;
        let as_given = keywords.take("as_given", false)?;
        Ok(Self { add_generation_prompt, as_given, ..Self::of_turn(messages, keywords)? })
    }

    /// The conversation for a template that reads these variables. `method` is the method of Python that took the arguments, for errors.
    pub(crate) fn conversation(&self, reads: Reads<'_>, method: &str) -> PyResult<Conversation> {
        let messages = messages_of(self.messages)?;
        let mut conversation = Conversation::new(messages).generation_prompt(self.add_generation_prompt);
        if self.as_given {
            conversation = conversation.as_given();
        }
        if let Some(tools) = tools_of(self.tools.as_ref())? {
            conversation = conversation.tools(tools.get().json.clone());
        }
        if let Some(on) = self.thinking {
            conversation = conversation.thinking(on);
        }
        reads.with_variables(method, conversation, self.variables)
    }
}

/// The variables that the template of a model reads.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'m> {
    pub(crate) model: &'m Model,
    /// Their names, once somebody asked for them.
    pub(crate) names: &'m OnceLock<BTreeSet<String>>,
}

impl<'m> Reads<'m> {
    pub(crate) fn names(self) -> PyResult<&'m BTreeSet<String>> {
        let template = self.model.parsed_template().map_err(model_error)?;
        Ok(self.names.get_or_init(|| template.variables()))
    }

    /// The conversation with these variables, which must be ones that the template reads.
    pub(crate) fn with_variables(
        self,
        method: &str,
        mut conversation: Conversation,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Conversation> {
        if let Some(variables) = variables.filter(|variables| !variables.is_empty()) {
            let template = self.model.parsed_template().map_err(model_error)?;
            check_variables(method, template, self.names()?, variables)?;
        }
        for (name, value) in variables.into_iter().flatten() {
            let name: String = name.extract()?;
            if name == NOW && !self.names()?.contains(NOW) {
                conversation = conversation.clock(clock_of(&value)?);
                continue;
            }
            let value = json::exact_from_python(&value, &name, RequestError::new_err)?;
            conversation = conversation.variable(name, value);
        }
        Ok(conversation)
    }
}

/// The keyword argument that says what time the template is told. A template that reads a variable of this name gets it.
const NOW: &str = "now";

/// The time of a `datetime.datetime`. The stable interface of Python has no type for it.
fn clock_of(now: &Bound<'_, PyAny>) -> PyResult<Clock> {
    let part = |name: &str| now.getattr(name).and_then(|value| value.extract::<u32>()).ok();
    let clock = || {
        Some(Clock {
            year: part("year")?,
            month: part("month")?,
            day: part("day")?,
            hour: part("hour")?,
            minute: part("minute")?,
            second: part("second")?,
        })
    };
    clock().ok_or_else(|| RequestError::new_err("now: expected a datetime.datetime"))
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
fn check_variables(
    method: &str,
    template: &Template,
    reads: &BTreeSet<String>,
    given: &Bound<'_, PyDict>,
) -> PyResult<()> {
    for (name, value) in given {
        let name: String = name.extract()?;
        let is_token = || matches!(&*name, "bos_token" | "eos_token") || template.tokens().others.contains_key(&name);
        if reads.contains(&name) || name == NOW || WITHOUT_EFFECT.contains(&&*name) || is_token() {
            continue;
        }
        let start = format!("{method}() got an unexpected keyword argument '{name}'");
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

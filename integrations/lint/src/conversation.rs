//! The conversations of the experiments: a few messages with words that no template contains, and the ways to hand them
//! over. This file makes JSON and renders nothing.

use serde_json::{Map, Value, json};
use unjinja_spec::{ArgumentsForm, CallIdForm, EmptyContent, Messages};

/// What the messages say. The texts are those of a harmless conversation, so that no finding is due to them.
pub(super) mod words {
    pub(crate) const SYSTEM: &str = "Answer in four words.";
    pub(crate) const USER: &str = "When is high tide in Tobermory?";
    pub(crate) const ANSWER: &str = "Towards seven this evening.";
    pub(crate) const USER2: &str = "What about Ullapool?";
    pub(crate) const PREAMBLE: &str = "Consulting the almanac.";
    pub(crate) const REASONING: &str = "The almanac surely knows.";
    pub(crate) const TOOL: &str = "tide_table";
    pub(crate) const ABOUT_TOOL: &str = "Lists tides of harbours.";
    pub(crate) const KEY: &str = "harbour";
    pub(crate) const VALUE: &str = "Tobermory";
    pub(crate) const VALUE2: &str = "Ullapool";
    pub(crate) const RESULT: &str = "flood at 18:52";
    pub(crate) const RESULT2: &str = "ebb at 13:07";
}

/// How messages are handed over so that a template renders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// The forms that the spec names.
    pub needs: Messages,
    /// A turn of calls has a word as its content, because the template looks into the text.
    pub word: bool,
}

impl Manner {
    /// What most templates take.
    pub(super) fn usual() -> Self {
        Self { needs: Messages::default(), word: false }
    }

    /// With this content of a turn of calls without content.
    pub(super) fn with_empty(self, content_of_calls: EmptyContent) -> Self {
        Self { needs: Messages { content_of_calls, ..self.needs }, word: false }
    }

    /// With arguments in this form.
    pub(super) fn with_arguments(self, arguments: ArgumentsForm) -> Self {
        Self { needs: Messages { arguments, ..self.needs }, ..self }
    }

    fn content(self, text: &str) -> Value {
        self.needs.content(text)
    }

    fn id(self, number: usize, name: &str) -> String {
        match self.needs.ids {
            CallIdForm::Any => id(number).to_owned(),
            CallIdForm::Nine => format!("qjv7xk2w{number}"),
            CallIdForm::Counted => number.to_string(),
            CallIdForm::Named => format!("functions.{name}:{number}"),
        }
    }

    /// A message of a role that has only content.
    pub(super) fn message(self, role: &str, text: &str) -> Value {
        json!({"role": role, "content": self.content(text)})
    }

    pub(super) fn user(self) -> Value {
        self.message("user", words::USER)
    }

    pub(super) fn answer(self) -> Value {
        self.message("assistant", words::ANSWER)
    }

    /// A turn with these calls, each an object of arguments, without content.
    pub(super) fn calls(self, calls: &[Value]) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let content = if self.word { words::PREAMBLE.into() } else { Value::Null };
        message.insert("content".into(), content);
        let calls = calls.iter().enumerate().map(|(number, arguments)| {
            json!({
                "id": self.id(number, words::TOOL), "type": "function",
                "function": {"name": words::TOOL, "arguments": self.needs.arguments(arguments.clone())},
            })
        });
        self.needs.set_assistant(&mut message, calls.collect(), None);
        Value::Object(message)
    }

    /// A turn with one call.
    pub(super) fn call(self) -> Value {
        self.calls(&[json!({words::KEY: words::VALUE})])
    }

    /// A turn with two calls of the same function.
    pub(super) fn two_calls(self) -> Value {
        self.calls(&[json!({words::KEY: words::VALUE}), json!({words::KEY: words::VALUE2})])
    }

    /// The result of the call with this number.
    pub(super) fn result(self, number: usize) -> Value {
        let text = [words::RESULT, words::RESULT2][number % 2];
        let id = self.id(number, words::TOOL);
        json!({"role": "tool", "tool_call_id": id, "name": words::TOOL, "content": self.content(text)})
    }
}

/// A call id as the OpenAI API makes it.
pub(super) fn id(number: usize) -> &'static str {
    ["call_Jx9QmZ0vTgRk3WbLyPd7Hf2A", "call_Uc4NsE8oXiVa6KtBqMw1Gz5D"][number % 2]
}

/// The offered tools: one function whose arguments are all that the experiments use.
pub(super) fn tools() -> Value {
    json!([{"type": "function", "function": {
        "name": words::TOOL,
        "description": words::ABOUT_TOOL,
        "parameters": {
            "type": "object",
            "properties": {
                words::KEY: {"type": "string", "description": "Where to look."},
                "details": {"type": "object", "description": "More wishes."},
                "spring": {"type": "boolean", "description": "Whether at new moon."},
            },
            "required": [words::KEY],
        },
    }}])
}

/// A conversation as a template gets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversation {
    pub messages: Vec<Value>,
    pub tools: Option<Value>,
    pub generation_prompt: bool,
    /// Further variables, such as switches of reasoning.
    pub variables: Map<String, Value>,
}

impl Conversation {
    pub(super) fn of(messages: impl IntoIterator<Item = Value>) -> Self {
        Self { messages: messages.into_iter().collect(), tools: None, generation_prompt: false, variables: Map::new() }
    }

    /// The conversation with these variables of a render. Special tokens are left out: each template has its own.
    pub(crate) fn from_context(context: &Value) -> Self {
        let mut variables = context.as_object().cloned().unwrap_or_default();
        variables.retain(|name, _| !name.ends_with("_token"));
        let messages = variables.shift_remove("messages").and_then(|value| value.as_array().cloned());
        let tools = variables.shift_remove("tools");
        let prompting = variables.shift_remove("add_generation_prompt").is_some_and(|value| value == true);
        Self { messages: messages.unwrap_or_default(), tools, generation_prompt: prompting, variables }
    }

    pub(super) fn with_tools(mut self) -> Self {
        self.tools = Some(tools());
        self
    }

    pub(super) fn prompting(mut self) -> Self {
        self.generation_prompt = true;
        self
    }

    pub(super) fn and(mut self, message: Value) -> Self {
        self.messages.push(message);
        self
    }

    /// The variables of a render, without special tokens.
    pub(crate) fn context(&self) -> Value {
        let mut context = Map::new();
        context.insert("messages".into(), self.messages.clone().into());
        if let Some(tools) = &self.tools {
            context.insert("tools".into(), tools.clone());
        }
        if self.generation_prompt {
            context.insert("add_generation_prompt".into(), true.into());
        }
        context.extend(self.variables.clone());
        Value::Object(context)
    }

    /// Whether there is a user, and a call before each result. A conversation without these would only confuse the reader.
    pub(super) fn makes_sense(&self) -> bool {
        let first = |test: &dyn Fn(&Value) -> bool| self.messages.iter().position(test);
        let call = first(&|message| message.get("tool_calls").is_some());
        let result = first(&|message| message["role"] == "tool");
        first(&|message| message["role"] == "user").is_some()
            && result.is_none_or(|result| call.is_some_and(|call| call < result))
    }

    /// The texts that a prompt must contain: contents, reasoning, names and arguments of calls.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for message in self.messages.iter().filter_map(Value::as_object) {
            for (key, value) in message {
                match (key.as_str(), value) {
                    ("role" | "name" | "tool_call_id", _) => {}
                    ("tool_calls", _) => collect(value, &mut texts, true),
                    _ => collect(value, &mut texts, false),
                }
            }
        }
        texts.retain(|text| !text.trim().is_empty());
        texts
    }
}

/// All texts in a value. Types and ids are not texts of the conversation; the names of arguments are.
fn collect(value: &Value, texts: &mut Vec<String>, with_keys: bool) {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            // Arguments as JSON text: what is in them counts.
            Ok(inner @ Value::Object(_)) => collect(&inner, texts, with_keys),
            _ => texts.push(text.clone()),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts, with_keys)),
        Value::Object(object) => {
            for (key, value) in object {
                if matches!(key.as_str(), "type" | "id") {
                    continue;
                }
                if with_keys && !matches!(key.as_str(), "function" | "name" | "arguments") {
                    texts.push(key.clone());
                }
                collect(value, texts, with_keys);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::words;

    const ALL: [&str; 13] = [
        words::SYSTEM,
        words::USER,
        words::ANSWER,
        words::USER2,
        words::PREAMBLE,
        words::REASONING,
        words::TOOL,
        words::ABOUT_TOOL,
        words::KEY,
        words::VALUE,
        words::VALUE2,
        words::RESULT,
        words::RESULT2,
    ];

    /// Nothing in the conversations is markup, or a word of Python or JSON.
    #[test]
    fn the_words_are_plain() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " .?:_".contains(c);
        assert!(ALL.iter().all(|text| text.chars().all(is_plain)));
        let forbidden = ["None", "True", "False", "null", "true", "false"];
        assert!(ALL.iter().flat_map(|text| text.split(' ')).all(|word| !forbidden.contains(&word)));
    }

    /// A text that is in a prompt comes from the conversation.
    #[test]
    fn no_template_contains_the_words() -> Result<(), Box<dyn Error>> {
        let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
        for folder in ["templates", "wild/templates", "wide/templates"] {
            for entry in std::fs::read_dir(corpus.join(folder))? {
                let path = entry?.path();
                let source = std::fs::read_to_string(&path)?;
                // The name of an argument is an ordinary word, and is always looked for together with its value.
                let found = ALL.iter().find(|text| **text != words::KEY && source.contains(**text));
                assert!(found.is_none(), "{}: {found:?}", path.display());
            }
        }
        Ok(())
    }
}

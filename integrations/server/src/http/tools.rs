//! Whether a template prints the tools that a request offers. If it does not, the model cannot know of them: such requests are refused, or
//! the tools are described in the system message.

use serde_json::{Map, Value, json};
use unjinja_dynamic::{Missing, MissingKind, Model};
use unjinja_runtime::Options;
use unjinja_spec::ToolFormat;

use super::fields::listed;
use super::tokens::Tokens;
use crate::error::ApiError;
use crate::request::{ChatMessage, Request, Role, ToolChoice};

/// A name and a description that no template has.
const NAME: &str = "look_for_umbrellas";
const SAYS: &str = "Looks for umbrellas.";

/// What a template does with tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolUse {
    /// It prints them.
    Printed,
    /// It does not print them. A call looks as this example, if the template writes calls.
    Lost { example: Option<String> },
}

impl ToolUse {
    /// What a template does, as renders of small conversations show.
    pub(crate) fn of(model: &Model, tokens: &Tokens, stops: &[String]) -> Self {
        let parameters = json!({"type": "object", "properties": {"a": {"type": "string", "description": SAYS}}});
        let function = json!({"name": NAME, "description": SAYS, "parameters": parameters});
        let tools = json!([{"type": "function", "function": function}]);
        let render = |messages: Value, opens: bool, with_tools: bool| {
            let mut variables = Map::from_iter([("messages".to_owned(), messages)]);
            variables.insert("add_generation_prompt".to_owned(), opens.into());
            if with_tools {
                variables.insert("tools".to_owned(), tools.clone());
            }
            model.spec().hand_over(&mut variables);
            tokens.render(model, &Value::Object(variables)).ok()
        };
        let said = |role: &str| json!({"role": role, "content": "Hello."});
        let talks = [json!([said("user")]), json!([said("system"), said("user")])];
        let prompts: Vec<String> = talks.into_iter().filter_map(|talk| render(talk, true, true)).collect();
        // A template that renders none of them says nothing about tools.
        if prompts.is_empty() || prompts.iter().any(|prompt| prompt.contains(NAME)) {
            return Self::Printed;
        }
        let call = json!({"name": "FUNCTION_NAME", "arguments": "{\"ARGUMENT_NAME\": \"VALUE\"}"});
        let calls = json!([{"type": "function", "id": "call12345", "function": call}]);
        let turn = json!([said("user"), {"role": "assistant", "content": "", "tool_calls": calls}]);
        let written = render(turn, false, false).zip(render(json!([said("user")]), true, false));
        let before_end = |turn: &str| {
            let end = stops.iter().filter_map(|stop| turn.find(stop)).min();
            turn[..end.unwrap_or(turn.len())].trim().to_owned()
        };
        let example = written.and_then(|(whole, prompt)| Some(before_end(whole.strip_prefix(&prompt)?)));
        // Only what is read as the call is an example of it.
        let is_read = |example: &String| {
            let message = model.parse(example.as_str(), &Options::new());
            matches!(&message.tool_calls[..], [call] if call.name == "FUNCTION_NAME" && call.complete)
        };
        let has_calls = model.spec().tools.format != ToolFormat::None;
        Self::Lost { example: example.filter(|example| has_calls && is_read(example)) }
    }

    /// Whether the tools of a request can and have to be described: the template does not print them, and writes calls.
    pub(crate) fn describes(&self, request: &Request) -> bool {
        let is_offered = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        is_offered && matches!(self, Self::Lost { example: Some(_) })
    }

    /// Describes the tools of a request in its system message.
    pub(crate) fn describe(&self, request: &mut Request) {
        let Self::Lost { example: Some(example) } = self else { return };
        let tools = request.tools.to_openai();
        let list: Vec<String> = tools.as_array().into_iter().flatten().map(Value::to_string).collect();
        let text = format!(
            "These functions can be called:\n{}\n\nTo call one, write exactly this, with the name of the function and its arguments:\n{}",
            list.join("\n"),
            example
        );
        match request.messages.first_mut().filter(|first| first.role == Role::System) {
            Some(first) => {
                let before = first.content.take().unwrap_or_default();
                first.content = Some(format!("{before}\n\n{text}").trim_start().to_owned());
            }
            None => request.messages.insert(0, ChatMessage::new(Role::System, text)),
        }
    }

    /// Whether the system message describes the tools, if the operator wants that.
    pub(crate) fn has_example(&self) -> bool {
        matches!(self, Self::Lost { example: Some(_) })
    }

    /// The error for a prompt that lacks tools, calls or results.
    pub(crate) fn refused(&self, missing: &[Missing]) -> Result<(), ApiError> {
        let lost = |kind| missing.iter().filter(move |one| one.kind == kind).map(ToString::to_string);
        let tools = listed(lost(MissingKind::Tool));
        if !tools.is_empty() {
            let cause = format!("the template does not print {tools}, so the model would not know of them");
            let next = match self.has_example() {
                true => "leave them out, or ask the operator for --describe-tools",
                false => "leave them out, or ask the operator for a --template of this model that prints tools",
            };
            return Err(ApiError::unsupported("tools", cause, next));
        }
        let calls = listed(lost(MissingKind::Call).chain(lost(MissingKind::Result)));
        if calls.is_empty() {
            return Ok(());
        }
        let cause = format!("the template does not write {calls}, so the model would not know of it");
        Err(ApiError::unsupported("messages", cause, "leave it out, or ask the operator for --missing report"))
    }
}

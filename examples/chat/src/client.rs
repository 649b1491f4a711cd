//! Asks a server for a streamed chat completion, and puts the answer together. It knows no terminal and no tool.

use std::error::Error;
use std::io::{BufRead, BufReader};

use serde::Deserialize;
use serde_json::{Value, json};

/// A server of OpenAI's chat completions.
pub struct Client {
    http: ureq::Agent,
    url: String,
    key: Option<String>,
}

/// Something to show while the answer arrives.
pub enum AnswerPart<'t> {
    Reasoning(&'t str),
    Content(&'t str),
}

/// A complete answer.
#[derive(Default)]
pub struct Answer {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<Call>,
}

/// A call of a tool. The arguments are JSON text.
#[derive(Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl Answer {
    /// The answer as a message of the conversation.
    pub fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = self.reasoning.as_str().into();
        }
        if !self.calls.is_empty() {
            let call = |call: &Call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments}})
            };
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        message
    }

    fn add(&mut self, delta: CallDelta) {
        let CallDelta { index, id, function } = delta;
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Call::default);
        }
        let call = &mut self.calls[index];
        if let Some(id) = id {
            call.id = id;
        }
        if let Some(name) = function.name {
            call.name = name;
        }
        call.arguments.push_str(&function.arguments.unwrap_or_default());
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    /// In place of choices, if something went wrong in the middle of the answer.
    error: Option<ServerError>,
}

#[derive(Deserialize)]
struct ServerError {
    message: String,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallDelta>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: usize,
    id: Option<String>,
    function: FunctionDelta,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

impl Client {
    /// A client for the server at this address, such as `http://127.0.0.1:8080`.
    pub fn new(server: &str, key: Option<String>) -> Result<Self, Box<dyn Error>> {
        let server = server.trim_end_matches('/').trim_end_matches("/v1");
        // The body of an error says what is wrong.
        let http = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        Ok(Self { http, url: format!("{server}/v1/chat/completions"), key })
    }

    /// Asks for an answer, and shows its parts while they arrive.
    pub fn ask(
        &self,
        messages: &[Value],
        tools: &Value,
        show: &mut dyn FnMut(AnswerPart<'_>),
    ) -> Result<Answer, Box<dyn Error>> {
        let body = json!({"messages": messages, "tools": tools, "stream": true});
        let mut request = self.http.post(&self.url).content_type("application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body.to_string()).map_err(|error| format!("{}: {error}", self.url))?;
        let status = response.status();
        if !status.is_success() {
            let body = response.body_mut().read_to_string()?;
            let said = serde_json::from_str::<Chunk>(&body).ok().and_then(|body| body.error);
            return Err(format!("the server says ({status}): {}", said.map_or(body, |error| error.message)).into());
        }
        let mut answer = Answer::default();
        for line in BufReader::new(response.into_body().into_reader()).lines() {
            let line = line?;
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data == "[DONE]" {
                return Ok(answer);
            }
            let chunk: Chunk = serde_json::from_str(data)?;
            if let Some(error) = chunk.error {
                return Err(error.message.into());
            }
            for Choice { delta } in chunk.choices {
                if let Some(text) = delta.reasoning_content {
                    show(AnswerPart::Reasoning(&text));
                    answer.reasoning.push_str(&text);
                }
                if let Some(text) = delta.content {
                    show(AnswerPart::Content(&text));
                    answer.content.push_str(&text);
                }
                delta.tool_calls.into_iter().for_each(|delta| answer.add(delta));
            }
        }
        Err("the answer stopped before its end; ask again".into())
    }
}

//! Runs the example and asks it, whole and streamed.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

type Failure = Box<dyn Error>;

/// The running example. It is ended with this value.
struct Example {
    child: Child,
    url: String,
}

impl Example {
    fn start() -> Result<Self, Failure> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-axum"));
        let mut child = command.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ").ok_or("it does not listen")?.to_owned();
        Ok(Self { child, url })
    }

    fn ask(&self, body: &Value) -> Result<Response<Body>, Failure> {
        let client = Agent::config_builder().proxy(None).http_status_as_error(false).build().new_agent();
        Ok(client.post(format!("{}/v1/chat/completions", self.url)).send(body.to_string())?)
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn asked(stream: bool) -> Value {
    let parameters = json!({"type": "object", "properties": {"file": {"type": "string"}}});
    json!({
        "stream": stream,
        "messages": [{"role": "user", "content": "How long is README.md?"}],
        "tools": [{"type": "function", "function": {"name": "count_words", "parameters": parameters}}],
    })
}

#[test]
fn answers_come_whole() -> Result<(), Failure> {
    let example = Example::start()?;
    let answer: Value = serde_json::from_str(&example.ask(&asked(false))?.into_body().read_to_string()?)?;
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["reasoning_content"], "I have to look into the file.", "{answer}");
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("Let me see."), &json!("tool_calls"))
    );
    let function = json!({"name": "count_words", "arguments": "{\"file\": \"README.md\"}"});
    assert_eq!(choice["message"]["tool_calls"][0]["function"], function);
    Ok(())
}

#[test]
fn answers_are_streamed() -> Result<(), Failure> {
    let example = Example::start()?;
    let response = example.ask(&asked(true))?;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.into_body().read_to_string()?;
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (end, chunks) = data.split_last().ok_or("nothing was streamed")?;
    assert_eq!(*end, "[DONE]");
    let (mut reasoning, mut content, mut arguments, mut finish) =
        (String::new(), String::new(), String::new(), Value::Null);
    for chunk in chunks {
        let chunk: Value = serde_json::from_str(chunk)?;
        let choice = &chunk["choices"][0];
        reasoning.push_str(choice["delta"]["reasoning_content"].as_str().unwrap_or_default());
        content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        let function = &choice["delta"]["tool_calls"][0]["function"];
        arguments.push_str(function["arguments"].as_str().unwrap_or_default());
        finish = choice["finish_reason"].clone();
    }
    assert_eq!((reasoning.as_str(), content.as_str()), ("I have to look into the file.", "Let me see."));
    assert_eq!((arguments.as_str(), finish), ("{\"file\": \"README.md\"}", json!("tool_calls")));
    assert!(chunks.len() > 10, "in pieces: {text}");
    Ok(())
}

#[test]
fn what_is_not_supported_is_refused() -> Result<(), Failure> {
    let example = Example::start()?;
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let response = example.ask(&json!({"messages": messages, "n": 2}))?;
    assert_eq!(response.status().as_u16(), 400);
    let error: Value = serde_json::from_str(&response.into_body().read_to_string()?)?;
    assert_eq!(error["error"]["param"], "n", "{error}");
    Ok(())
}

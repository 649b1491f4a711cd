//! Asks the proxy with both official Python clients: what each of them assembles equals the message, and every fault of the
//! upstream ends in an error that the client raises with our text.

use std::path::Path;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use unjinja_server::http::UpstreamApi;

use super::cases::{Case, cases};
use super::faults::{BEFORE, SILENCE, WITHIN};
use super::replay::Replay;
use super::setup::{CALL, Failure, Running};
use crate::python;
use crate::support::{responses, take_ids, tools_json};

#[tokio::test(flavor = "multi_thread")]
async fn the_official_clients_get_messages_and_errors() -> Result<(), Failure> {
    let Some(python) = python::with_clients()? else { return Ok(()) };
    let (served, outputs, cases) = cases(2)?;
    let replay = Replay { outputs, ..Replay::default() };
    let proxy = Running::start(replay, served, UpstreamApi::OpenAi, |_| {}).await?;
    // The faults have a proxy of their own: other answers may take their time on a slow machine.
    let faulty = Running::simple(CALL, |config| {
        config.limits.line = 100_000;
        (config.timeouts.first_byte, config.timeouts.idle) = (SILENCE, SILENCE);
    })
    .await?;
    let turns: Vec<Value> = cases.iter().map(|case| json!({"model": case.model, "seed": case.seed})).collect();
    let faults: Vec<&str> = BEFORE.iter().chain(WITHIN).map(|(name, ..)| *name).collect();
    let tools = tools_json().map_err(|error| error.to_string())?;
    let plan = json!({"turns": turns, "faults": faults, "tools": tools}).to_string();
    let mut command = tokio::process::Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy_clients.py")).args([&proxy.url, &faulty.url]);
    // A proxy of this machine is not asked for an address of its own.
    command.env("NO_PROXY", "127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(plan.as_bytes()).await?;
    let output = child.wait_with_output().await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut answers = 0;
    for line in String::from_utf8(output.stdout)?.lines() {
        let answer: Value = serde_json::from_str(line)?;
        match answer["turn"].as_u64() {
            Some(turn) => message(&cases[usize::try_from(turn)?], answer)?,
            None => raised(&answer)?,
        }
        answers += 1;
    }
    assert_eq!(answers, 6 * (turns.len() + faults.len()));
    Ok(())
}

/// Compares what a client assembled with the message.
fn message(case: &Case, mut answer: Value) -> Result<(), Failure> {
    let Case { model, output, expected, .. } = case;
    let place = format!("{model} {output:?} in {answer}");
    let mut found = answer["message"].take();
    if answer["client"] == "responses" {
        assert_eq!(answer["usage"], json!([11, 7]), "{place}");
        responses(expected, &found, &place);
        return Ok(());
    }
    assert_eq!(take_ids(&mut found).len(), expected.tool_calls.len(), "{place}");
    if answer["client"] == "openai" {
        assert_eq!(answer["usage"], json!([11, 7]), "{place}");
        assert_eq!(found["content"].as_str().unwrap_or_default(), expected.content, "{place}");
        assert_eq!(found["reasoning_content"].as_str().unwrap_or_default(), expected.reasoning_content, "{place}");
        assert_eq!(found["unparsed"].as_str().unwrap_or_default(), expected.unparsed, "{place}");
        for (at, call) in expected.tool_calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": call.arguments});
            assert_eq!(found["tool_calls"][at]["function"], function, "{place}");
        }
        return Ok(());
    }
    let blocks = found["content"].as_array().ok_or("no content")?;
    let texts = |kind: &str| blocks.iter().filter_map(|block| block[kind].as_str()).collect::<String>();
    assert_eq!(
        (texts("text"), texts("thinking")),
        (expected.content.clone(), expected.reasoning_content.clone()),
        "{place}"
    );
    let calls: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "tool_use").collect();
    for (call, found) in expected.tool_calls.iter().zip(calls) {
        assert_eq!(found["name"], call.name, "{place}");
        // Arguments that are not an object are delivered in another form, which the tests of the format compare.
        if let Ok(input @ Value::Object(_)) = serde_json::from_str::<Value>(&call.arguments) {
            assert_eq!(found["input"], input, "{place}");
        }
    }
    Ok(())
}

/// Checks what a client raised.
fn raised(answer: &Value) -> Result<(), Failure> {
    let fault = answer["fault"].as_str().unwrap_or_default();
    let (_, _, part) = BEFORE.iter().chain(WITHIN).find(|(name, ..)| *name == fault).ok_or("an unknown fault")?;
    assert!(!answer["raised"].is_null(), "{answer}");
    // The message of an error before the answer is the JSON of its body, in the form of Python.
    let said = answer["message"].as_str().unwrap_or_default().replace("\\'", "'");
    assert!(said.contains(&part.replace("\"", "\\\"")) || said.contains(part), "{answer}");
    Ok(())
}

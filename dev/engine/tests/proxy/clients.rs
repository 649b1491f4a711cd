//! The official Python clients in front of a random model: what they assemble are valid calls, and the same calls whole and
//! streamed.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::setup::{LIMIT, Running, faults};
use super::{Failure, python};

/// Formats of each family: one JSON object, a name and JSON, a name and arguments in tags, and others.
const FORMATS: [&str; 8] =
    ["qwen3", "bare_json", "section_tags", "args_marker", "xml_parameters", "invoke", "channels", "python_calls"];

const SEEDS: u32 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn the_official_clients_get_valid_calls() -> Result<(), Failure> {
    let Some(python) = python::with_clients()? else { return Ok(()) };
    let mut plan = Vec::new();
    let mut proxies = Vec::new();
    for name in FORMATS {
        let proxy = Running::start(name).await?.ok_or("a format without calls")?;
        for seed in 0..SEEDS {
            let mut job = proxy.request(seed, json!({"url": proxy.url}));
            job["max_tokens"] = LIMIT.into();
            plan.push(job);
        }
        proxies.push(proxy);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = tokio::process::Command::new(python);
    command.arg(here.join("tests/proxy_clients.py")).arg(here.join("../../integrations/server/tests"));
    // A proxy of this machine is not asked for an address of its own.
    command.env("NO_PROXY", "127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(Value::from(plan.clone()).to_string().as_bytes()).await?;
    let output = child.wait_with_output().await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let (mut answers, mut made, mut cut) = (0, 0, 0);
    let mut wholes: HashMap<(u64, String), Vec<(String, Value)>> = HashMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let answer: Value = serde_json::from_str(line)?;
        let turn = answer["turn"].as_u64().ok_or("no turn")?;
        let proxy = &proxies[usize::try_from(turn / u64::from(SEEDS))?];
        let place = format!("{}: {answer}\n    {}", proxy.name, proxy.upstream.last());
        let calls = calls(&answer);
        let cut_off = matches!(answer["reason"].as_str(), Some("length" | "max_tokens"));
        let wrong = faults(&proxy.tools, &calls, cut_off);
        assert!(wrong.is_empty(), "{wrong:?}\n    {place}");
        assert!(cut_off || matches!(answer["reason"].as_str(), Some("tool_calls" | "tool_use")), "{place}");
        answers += 1;
        made += calls.len();
        cut += usize::from(cut_off);
        // Arguments that were cut short are not JSON, and each client shows them in its own way.
        if cut_off {
            continue;
        }
        let mut values = Vec::new();
        for (name, arguments) in calls {
            values.push((name, without_sign_of_zero(serde_json::from_str(&arguments)?)));
        }
        let key = (turn, answer["client"].as_str().unwrap_or_default().to_owned());
        match wholes.get(&key) {
            None => _ = wholes.insert(key, values),
            Some(whole) => assert_eq!(*whole, values, "{place}"),
        }
    }
    println!("official clients: {} formats, {answers} answers, {made} calls, {cut} cut off, 0 faults", FORMATS.len());
    assert_eq!(answers, 4 * plan.len());
    assert!(made >= answers / 2, "only {made} calls");
    Ok(())
}

/// A value in which `-0` is `0`, as some clients have it.
fn without_sign_of_zero(value: Value) -> Value {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => Value::from(0),
        Value::Array(items) => items.into_iter().map(without_sign_of_zero).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, without_sign_of_zero(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

/// The calls that a client assembled: names, and arguments as JSON text.
fn calls(answer: &Value) -> Vec<(String, String)> {
    let message = &answer["message"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let openai = message["tool_calls"].as_array().into_iter().flatten();
    let openai = openai.map(|call| (text(&call["function"]["name"]), text(&call["function"]["arguments"])));
    let blocks = message["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use");
    openai.chain(blocks.map(|block| (text(&block["name"]), block["input"].to_string()))).collect()
}

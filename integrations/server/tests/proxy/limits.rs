//! Keys, limits, other endpoints, and the end of the proxy.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use unjinja_dynamic::{Loader, RenderLimits, SpecialTokens};
use unjinja_server::http::{Config, Secret, ServedModel, UpstreamApi, UpstreamConfig};
use unjinja_testkit::root;

use super::replay::Replay;
use super::setup::{CALL, Clock, Failure, Running, chat, events, loaded};

const CHAT: &str = "/v1/chat/completions";
/// How long something may take that should be quick, on a machine that does much else.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_asked_for() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.key = Secret::new("sesame\n")).await?;
    let ask = |name: &'static str, value: &'static str| {
        let url = format!("{}{CHAT}", proxy.url);
        let request = proxy.client.post(url).header(name, value).body(chat(json!({})).to_string());
        async move { request.send().await.map(|answer| answer.status().as_u16()) }
    };
    assert_eq!(ask("authorization", "Bearer sesame").await?, 200);
    assert_eq!(ask("x-api-key", "sesame").await?, 200);
    for (name, value) in
        [("authorization", "Bearer Sesame"), ("authorization", "sesame"), ("x-api-key", ""), ("a", "b")]
    {
        assert_eq!(ask(name, value).await?, 401, "{name} {value}");
    }
    let (status, body) = proxy.json("/v1/messages", &chat(json!({}))).await?;
    assert_eq!((status, &body["error"]["type"]), (401, &json!("authentication_error")));
    assert_eq!(proxy.get("/metrics").await?.0, 401);
    assert_eq!(proxy.get("/health").await?.0, 200);
    assert!(!proxy.log.lock().unwrap().join("\n").contains("esame"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_have_limits() -> Result<(), Failure> {
    let proxy = Running::paused(&"word ".repeat(200), Duration::from_millis(20), |config| {
        (config.limits.body, config.limits.tools, config.limits.concurrent) = (5000, 2, 1);
    })
    .await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({"x": "y".repeat(6000)}))).await?;
    assert_eq!((status, body["error"]["message"].as_str().unwrap().contains("5000 bytes")), (413, true), "{body}");
    let tools: Vec<Value> =
        (0..3).map(|at| json!({"type": "function", "function": {"name": format!("f{at}")}})).collect();
    let (status, body) = proxy.json(CHAT, &chat(json!({"tools": tools}))).await?;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("tools")), "{body}");
    // Those in a namespace count, and those that items add.
    let tools: Vec<Value> = (0..3).map(|at| json!({"type": "function", "name": format!("f{at}")})).collect();
    let user = json!({"role": "user", "content": "Hi"});
    for fields in [
        json!({"input": [user], "tools": [{"type": "namespace", "name": "n", "tools": tools}]}),
        json!({"input": [{"type": "additional_tools", "tools": tools}, user]}),
    ] {
        let (status, body) = proxy.json("/v1/responses", &fields).await?;
        assert_eq!((status, &body["error"]["param"]), (400, &json!("tools")), "{body}");
    }
    let deep = format!("{{\"tools\": {}{}}}", "[".repeat(200), "]".repeat(200));
    let answer = proxy.client.post(format!("{}{CHAT}", proxy.url)).body(deep).send().await?;
    let (status, text) = (answer.status().as_u16(), answer.text().await?);
    assert!(status == 400 && text.contains("nested too deeply"), "{text}");
    let mut first = proxy.post(CHAT, &chat(json!({"stream": true}))).await?;
    assert!(first.chunk().await?.is_some());
    let second = proxy.post(CHAT, &chat(json!({}))).await?;
    assert_eq!((second.status().as_u16(), second.headers()["retry-after"].to_str()?), (429, "1"));
    drop(first);
    // The place is free as soon as the proxy has seen that the client is gone.
    let mut status = 429;
    for _ in 0..1500 {
        status = proxy.post(CHAT, &chat(json!({"stream": true}))).await?.status().as_u16();
        if status != 429 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(status, 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_being_sent_takes_no_place() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.limits.concurrent = 1).await?;
    let mut slow = TcpStream::connect(proxy.url.trim_start_matches("http://")).await?;
    let body = chat(json!({})).to_string();
    let head =
        format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    slow.write_all(format!("{head}{}", &body[..9]).as_bytes()).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(proxy.post(CHAT, &chat(json!({}))).await?.status().as_u16(), 200);
    slow.write_all(&body.as_bytes()[9..]).await?;
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await?;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_is_closed() -> Result<(), Failure> {
    let clock = Clock::stopped();
    let proxy = Running::simple(CALL, |config| config.timeouts.client = Duration::from_millis(400)).await?;
    let address = proxy.url.trim_start_matches("http://").to_owned();
    for sent in ["", "POST /v1/messages HTTP/1.1\r\nhost: x\r\n", "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n"] {
        let mut connection = TcpStream::connect(&address).await?;
        connection.write_all(sent.as_bytes()).await?;
        let mut answer = String::new();
        let read = tokio::time::timeout(LONG, connection.read_to_string(&mut answer));
        assert!(clock.turn(read).await.is_ok(), "the connection stays open after {sent:?}: {answer}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_take_longer_than_a_request() -> Result<(), Failure> {
    let (clock, limit) = (Clock::stopped(), Duration::from_secs(1));
    let proxy = Running::paused(CALL, Duration::from_millis(150), |config| config.timeouts.client = limit).await?;
    let began = tokio::time::Instant::now();
    let answer = proxy.post(CHAT, &chat(json!({"stream": true}))).await?;
    let text = clock.turn(answer.text()).await?;
    assert!(text.ends_with("data: [DONE]\n\n") && began.elapsed() > limit, "{text}");
    Ok(())
}

/// Whether the metrics say within thirty seconds that a client went away.
async fn is_given_up(proxy: &Running, path: &str) -> Result<bool, Failure> {
    let counted = format!("unjinja_requests_total{{route=\"{path}\",status=\"499\"}} 1");
    for _ in 0..300 {
        // The limit for clients closes this connection too if it waits long enough.
        if proxy.get("/metrics").await.is_ok_and(|(_, metrics)| metrics.contains(&counted)) {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(false)
}

/// What a client gets that takes nothing until its answer is broken off, and then all that comes.
async fn taken_slowly(proxy: &Running, path: &str, body: &Value) -> Result<String, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut slow = socket.connect(proxy.url.trim_start_matches("http://").parse()?).await?;
    let body = body.to_string();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    slow.write_all(format!("{head}{body}").as_bytes()).await?;
    assert!(is_given_up(proxy, path).await?, "{path}: the answer is not broken off");
    let mut answer = Vec::new();
    let read = tokio::time::timeout(LONG, slow.read_to_end(&mut answer)).await?;
    // A connection that is reset is no end either.
    let text = String::from_utf8_lossy(&answer).into_owned();
    Ok(if read.is_ok() { text } else { text + "…" })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_broken_off_for_a_client_that_is_too_slow() -> Result<(), Failure> {
    // More than the buffers between proxy and client hold: one answer that is passed on, and one in many pieces.
    for (path, more, words) in [
        ("/v1/completions", json!({"prompt": "Rain?", "fault": "whole", "messages": null, "tools": null}), 6_000_000),
        (CHAT, json!({"stream": true}), 100_000),
    ] {
        let change = |config: &mut Config| config.timeouts.client = Duration::from_secs(1);
        let proxy = Running::simple(&"word ".repeat(words), change).await?;
        let answer = taken_slowly(&proxy, path, &chat(more)).await?;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}");
        assert!(!answer.ends_with("\r\n0\r\n\r\n"), "{path}: the answer of {} bytes has an end", answer.len());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_does_not_wait_for_a_connection_without_a_request() -> Result<(), Failure> {
    let mut proxy = Running::simple(CALL, |_| {}).await?;
    let _connection = TcpStream::connect(proxy.url.trim_start_matches("http://")).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    proxy.stop.take().unwrap().send(()).unwrap();
    tokio::time::timeout(LONG, proxy.served).await???;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_endpoints_answer_in_the_form_of_their_api() -> Result<(), Failure> {
    let replay = Replay { outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(), ..Replay::default() };
    let models = vec![loaded("qwen3")?, loaded("hermes")?];
    let proxy = Running::start(replay, models, UpstreamApi::OpenAi, |_| {}).await?;
    let (status, list) = proxy.get("/v1/models").await?;
    let list: Value = serde_json::from_str(&list)?;
    assert_eq!((status, &list["data"][1]["id"]), (200, &json!("hermes")));
    assert_eq!(proxy.get("/v1/models/hermes").await?.0, 200);
    let (status, body) = proxy.get("/v1/models/other").await?;
    assert_eq!((status, body.contains("qwen3, hermes")), (404, true), "{body}");
    for path in ["/v1/models/%ff", "/v1/responses/%ff", "/v1/responses/%ff/input_items"] {
        let (status, body) = proxy.get(path).await?;
        assert_eq!((status, serde_json::from_str::<Value>(&body).is_ok()), (404, true), "{path}: {body}");
    }
    let (status, body) = proxy.json(CHAT, &chat(json!({"model": "other"}))).await?;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("model_not_found")), "{body}");
    let (status, body) = proxy.get("/v1/responses/resp_1/other").await?;
    assert_eq!((status, body.contains("/v1/responses, ")), (404, true), "{body}");
    let (status, body) = proxy.get("/v1/responses/resp_1/input_items").await?;
    assert_eq!((status, body.contains("no response with the id")), (404, true), "{body}");
    let (status, body) = proxy.json("/v1/messages/count_tokens", &json!({})).await?;
    assert_eq!((status, &body["error"]["type"]), (404, &json!("not_found_error")), "{body}");
    let (status, body) = proxy.get(CHAT).await?;
    assert_eq!((status, body.contains("use POST")), (405, true), "{body}");
    let (status, body) = proxy.json(CHAT, &json!({"model": "qwen3", "messages": [], "n": 99})).await?;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("n")), "{body}");
    let (_, metrics) = proxy.get("/metrics").await?;
    assert!(metrics.contains(&format!("unjinja_requests_total{{route=\"{CHAT}\",status=\"404\"}} 1")), "{metrics}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_completed_before_the_end() -> Result<(), Failure> {
    let mut proxy = Running::paused(CALL, Duration::from_millis(30), |_| {}).await?;
    let mut answer = proxy.post(CHAT, &chat(json!({"stream": true}))).await?;
    let mut text = answer.chunk().await?.unwrap_or_default().to_vec();
    proxy.stop.take().unwrap().send(()).unwrap();
    while let Some(more) = answer.chunk().await? {
        text.extend_from_slice(&more);
    }
    assert!(String::from_utf8(text)?.ends_with("data: [DONE]\n\n"));
    tokio::time::timeout(LONG, proxy.served).await???;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_ends_with_an_error() -> Result<(), Failure> {
    let clock = Clock::stopped();
    let mut proxy = Running::paused(&"word ".repeat(3000), Duration::from_millis(20), |config| {
        config.timeouts.shutdown = Duration::from_millis(300);
    })
    .await?;
    let answer = proxy.post(CHAT, &chat(json!({"stream": true}))).await?;
    proxy.stop.take().unwrap().send(()).unwrap();
    let text = clock.turn(answer.text()).await?;
    assert!(events(&text).last().unwrap().contains("shutting down"), "{text}");
    clock.turn(tokio::time::timeout(LONG, proxy.served)).await???;
    Ok(())
}

#[test]
fn addresses_of_upstreams_are_checked() {
    for (url, part) in [
        ("127.0.0.1:8000", "no address of an upstream"),
        ("ftp://host", "http:// or https://"),
        ("http://me:secret@host", "a user or a password"),
        ("http://host/v1/chat/completions", "the endpoint /completions"),
    ] {
        let error = UpstreamConfig::new(url, UpstreamApi::OpenAi).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("secret"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_how_much_a_template_may_do() -> Result<(), Failure> {
    let mut limits = RenderLimits::default();
    (limits.fuel, limits.fuel_per_byte) = (20_000, 1);
    let turns = |count: usize| json!(vec![json!({"role": "user", "content": "Rain?"}); count]);
    for (limits, is_refused) in [(limits, true), (RenderLimits::default(), false)] {
        let loader = Loader::new().limits(limits).tokens(SpecialTokens::default());
        let model = ServedModel::new("qwen3", loader.from_file(root().join("templates/qwen3.jinja"))?)?;
        let replay = Replay { outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(), ..Replay::default() };
        let proxy = Running::start(replay, vec![model], UpstreamApi::OpenAi, |_| {}).await?;
        let (status, body) = proxy.json(CHAT, &chat(json!({"messages": turns(2_000)}))).await?;
        assert_eq!(status, if is_refused { 400 } else { 200 }, "{body}");
        assert_eq!(body.to_string().contains("steps"), is_refused, "{body}");
    }
    Ok(())
}

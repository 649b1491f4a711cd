//! Every fault of the upstream ends in an error with a text of ours, before the answer or in the middle of it.

use std::time::Duration;

use serde_json::{Value, json};
use unjinja_server::http::{UpstreamApi, UpstreamConfig};

use super::setup::{CALL, Clock, Failure, Running, chat, events};

/// What a client is told of an upstream that is silent for [`SILENCE`].
const NO_TOKEN: &str = "sent no token for 0.2 seconds";

/// How long the upstream may be silent: the Python clients wait for this in real time.
pub const SILENCE: Duration = Duration::from_millis(200);

/// Faults before the first piece: the status, and a part of the message.
pub const BEFORE: &[(&str, u16, &str)] = &[
    ("http_500", 500, "status 500: no memory left"),
    ("http_500_text", 500, "status 500: Internal Server Error"),
    ("http_400", 400, "status 400: too long"),
    ("http_401", 502, "status 401: it does not take the proxy's own key"),
    ("http_429", 429, "status 429: busy"),
    ("html", 502, "an answer of type \"text/html\": \"<html>Welcome to nginx!</html>\""),
    ("json_garbage", 502, "no completion"),
    ("hang", 504, NO_TOKEN),
    ("pings", 504, NO_TOKEN),
];

/// Faults in the middle of the answer.
pub const WITHIN: &[(&str, u16, &str)] = &[
    ("slow", 504, NO_TOKEN),
    ("pings_within", 504, NO_TOKEN),
    ("cut_off", 502, "stopped before its end"),
    ("reset", 502, "stopped before its end"),
    ("garbage", 502, "no completion"),
    ("long", 502, "a line that is too long"),
    ("error_event", 500, "out of blocks"),
    ("invalid_utf_8", 502, "no UTF-8"),
    ("abort", 502, "gave up, and ended its answer with \"abort\""),
    ("error", 502, "gave up, and ended its answer with \"error\""),
];

fn messages(more: Value) -> Value {
    let mut body = chat(more);
    body["max_tokens"] = json!(50);
    body["tools"] = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
    body
}

#[tokio::test(start_paused = true)]
async fn faults_end_in_an_error_with_our_text() -> Result<(), Failure> {
    let clock = Clock::stopped();
    let proxy = Running::simple(CALL, |config| {
        config.limits.line = 100_000;
        (config.timeouts.first_byte, config.timeouts.idle) = (SILENCE, SILENCE);
    })
    .await?;
    for (fault, status, part) in BEFORE.iter().chain(WITHIN) {
        let within = WITHIN.iter().any(|(name, ..)| name == fault);
        for stream in [false, true] {
            let waits = *part == NO_TOKEN;
            let ask = async |path: &str, body: &Value| -> Result<(u16, String), Failure> {
                // The head of a stream comes with its first piece, before the silence.
                let answer = match waits && !(within && stream) {
                    true => clock.turn(proxy.post(path, body)).await?,
                    false => proxy.post(path, body).await?,
                };
                let status = answer.status().as_u16();
                Ok((status, if waits { clock.turn(answer.text()).await? } else { answer.text().await? }))
            };
            let body = chat(json!({"fault": fault, "stream": stream}));
            let (found, text) = ask("/v1/chat/completions", &body).await?;
            let error: Value = if within && stream {
                assert_eq!(found, 200, "{fault}");
                assert!(!text.contains("[DONE]") && !text.contains("\"finish_reason\":\"stop\""), "{fault}: {text}");
                serde_json::from_str(events(&text).last().ok_or("no event")?)?
            } else {
                assert_eq!(found, *status, "{fault}: {text}");
                serde_json::from_str(&text)?
            };
            let message = error["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(part), "{fault} {stream}: {text}");

            let body = messages(json!({"fault": fault, "stream": stream}));
            let (found, text) = ask("/v1/messages", &body).await?;
            let error: Value = if within && stream {
                assert!(text.contains("event: error\n") && !text.contains("message_stop"), "{fault}: {text}");
                serde_json::from_str(events(&text).last().ok_or("no event")?)?
            } else {
                assert_eq!(found, *status, "{fault}: {text}");
                serde_json::from_str(&text)?
            };
            assert_eq!(error["type"], "error", "{fault}");
            assert!(error["error"]["message"].as_str().unwrap_or_default().contains(part), "{fault}: {text}");
        }
    }
    let (_, metrics) = proxy.get("/metrics").await?;
    assert!(metrics.contains("unjinja_active_answers 0\n"), "{metrics}");
    assert!(metrics.contains("unjinja_upstream_errors_total{kind=\"timeout\"} 16\n"), "{metrics}");
    // Nothing of the conversation, the answers and the upstream's words is logged.
    let log = proxy.log.lock().unwrap().join("\n");
    for secret in ["Rain", "Zürich", "Let me look", "no memory left", "nginx"] {
        assert!(!log.contains(secret), "{log}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_answer_needs_no_last_word() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    for fault in ["no_done", "whole", "after_end", "choices", "empty_reasons", ""] {
        let (status, body) = proxy.json("/v1/chat/completions", &chat(json!({"fault": fault}))).await?;
        assert_eq!((status, &body["choices"][0]["finish_reason"]), (200, &json!("tool_calls")), "{fault}: {body}");
        assert_eq!(body["choices"][0]["message"]["content"], "Let me look.");
        assert_eq!(body["usage"]["prompt_tokens"], 11, "{fault}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_reported() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| {
        config.upstream = UpstreamConfig::new("http://127.0.0.1:1/v1/", UpstreamApi::OpenAi).unwrap();
    })
    .await?;
    let (status, body) = proxy.json("/v1/chat/completions", &chat(json!({}))).await?;
    assert_eq!(status, 502);
    assert!(body["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{body}");
    // The proxy runs all the same, and is not ready.
    let (status, health) = proxy.get("/health").await?;
    assert_eq!((status, health.contains("\"status\":\"ok\"")), (200, true), "{health}");
    let (status, ready) = proxy.get("/ready").await?;
    assert_eq!((status, ready.contains("\"reachable\":false")), (503, true), "{ready}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_ready_if_the_upstream_is() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let (status, ready) = proxy.get("/ready").await?;
    assert_eq!((status, ready.contains("\"status\":\"ready\"")), (200, true), "{ready}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_prompt_may_take_longer_than_a_token() -> Result<(), Failure> {
    let clock = Clock::stopped();
    let proxy = Running::simple(CALL, |config| {
        (config.timeouts.first_byte, config.timeouts.idle) = (Duration::from_secs(60), Duration::from_secs(2));
    })
    .await?;
    // The head of the stream comes with the first token.
    let answer =
        clock.turn(proxy.post("/v1/chat/completions", &chat(json!({"fault": "late", "stream": true})))).await?;
    assert_eq!(answer.status(), 200);
    let text = answer.text().await?;
    assert!(text.contains("\"finish_reason\":\"tool_calls\"") && text.ends_with("data: [DONE]\n\n"), "{text}");
    Ok(())
}

/// Waits until something is true.
async fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..1500 {
        if is() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_ends_the_upstream_request() -> Result<(), Failure> {
    use std::sync::atomic::Ordering::Relaxed;
    let proxy = Running::paused(&"word ".repeat(1000), Duration::from_millis(20), |_| {}).await?;
    for (path, body) in [
        ("/v1/chat/completions", chat(json!({"stream": true}))),
        ("/v1/messages", messages(json!({"stream": true}))),
        ("/v1/chat/completions", chat(json!({}))),
        ("/v1/messages", messages(json!({}))),
    ] {
        let (begun, closed) = (proxy.replay.begun.load(Relaxed), proxy.replay.closed.load(Relaxed));
        let request = async {
            let mut answer = proxy.post(path, &body).await.unwrap();
            while let Ok(Some(_)) = answer.chunk().await {}
            panic!("the answer came to its end");
        };
        tokio::select! {
            () = request => {}
            () = until("the upstream was not asked", || proxy.replay.begun.load(Relaxed) == begun + 1) => {}
        }
        until("the upstream's answer continues", || proxy.replay.closed.load(Relaxed) == closed + 1).await;
    }
    // The upstream sees the end of a connection before the proxy has counted it.
    let mut metrics = String::new();
    for _ in 0..1500 {
        metrics = proxy.get("/metrics").await?.1;
        if ["unjinja_client_disconnects_total 4\n", "unjinja_active_answers 0\n"]
            .iter()
            .all(|line| metrics.contains(line))
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{metrics}");
}

//! What the proxy asks the upstream, and what happens when it is restarted with another model.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::advance;
use unjinja_server::http::UpstreamApi;

use super::replay::Replay;
use super::setup::{CALL, Clock, Failure, Running, chat, loaded};

const CHAT: &str = "/v1/chat/completions";

/// Longer than the list of models is believed.
const LATER: Duration = Duration::from_secs(61);

/// An upstream that lists these models.
fn listing(models: Value) -> Replay {
    Replay {
        outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(),
        listed: Mutex::new(Some(models)),
        ..Replay::default()
    }
}

/// The upstream lists these models from now on.
fn lists(replay: &Replay, models: Value) -> Result<(), Failure> {
    *replay.listed.lock().map_err(|_| "poisoned")? = Some(models);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_models_is_not_believed_after_a_model_is_missing() -> Result<(), Failure> {
    let alone = Replay { strict: Some(("org/other", 10_000)), ..listing(json!([{"id": "m"}])) };
    let proxy = Running::start(alone, vec![loaded("qwen3")?], UpstreamApi::OpenAi, |_| {}).await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
    assert!(status == 404 && body.to_string().contains("does not exist"), "{status} {body}");
    lists(&proxy.replay, json!([{"id": "org/other"}]))?;
    assert_eq!(proxy.json(CHAT, &chat(json!({}))).await?.0, 200);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn llama_cpp_is_asked_again_for_bos_when_it_has_another_model() -> Result<(), Failure> {
    let _clock = Clock::stopped();
    let replay = listing(json!([{"id": "a"}]));
    let proxy = Running::start(replay, vec![loaded("qwen3")?], UpstreamApi::LlamaCpp, |config| {
        // The connection of the client stays open.
        config.timeouts.client = LATER * 9;
    })
    .await?;
    for (model, expected) in [("a", 1), ("a", 1), ("b", 2)] {
        lists(&proxy.replay, json!([{"id": model}]))?;
        advance(LATER).await;
        assert_eq!(proxy.json(CHAT, &chat(json!({}))).await?.0, 200);
        assert_eq!(proxy.replay.tokenized.load(Relaxed), expected);
    }
    let log = proxy.log.lock().map_err(|_| "poisoned")?.join("\n");
    assert_eq!(log.matches("the upstream has other models now (b)").count(), 1, "{log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_pieces_is_counted_by_model() -> Result<(), Failure> {
    let proxy = Running::paused(CALL, Duration::from_millis(3), |_| {}).await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
    assert_eq!(status, 200, "{body}");
    let (_, metrics) = proxy.get("/metrics").await?;
    let number = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_default()
    };
    let first = number("unjinja_first_piece_seconds_count{model=\"qwen3\"}");
    let next = number("unjinja_next_piece_seconds_count{model=\"qwen3\"}");
    assert_eq!((first, first + next), (1.0, number("unjinja_upstream_pieces_total")), "{metrics}");
    let waited = number("unjinja_next_piece_seconds_sum{model=\"qwen3\"}");
    assert!(waited > 0.003 && waited < number("unjinja_answer_seconds_total"), "{metrics}");
    assert!(metrics.contains("unjinja_next_piece_seconds_bucket{model=\"qwen3\",le=\"+Inf\"}"), "{metrics}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_gets_the_id_and_the_trace_of_a_request() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = proxy.client.post(format!("{}{CHAT}", proxy.url)).body(chat(json!({})).to_string());
    let request = request.header("x-request-id", "mine-1").header("traceparent", trace).header("x-secret", "s");
    assert_eq!(request.send().await?.status(), 200);
    let found = proxy.replay.traces.lock().map_err(|_| "poisoned")?.clone();
    assert_eq!(found, [["mine-1".to_owned(), trace.to_owned()]]);
    Ok(())
}

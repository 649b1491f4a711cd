//! Several upstreams: which one a request gets, and what happens when one goes away and comes back.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpSocket;
use unjinja_server::http::{Config, UpstreamApi, UpstreamConfig};

use super::replay::Replay;
use super::setup::{CALL, Failure, Running, chat, loaded};

const CHAT: &str = "/v1/chat/completions";

fn replay(pause: Duration) -> Replay {
    Replay { outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(), pause, ..Replay::default() }
}

/// A port at which nothing listens yet: connections are refused. While the socket lives, no other program gets the port.
fn reserved() -> Result<TcpSocket, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    Ok(socket)
}

fn url(socket: &TcpSocket) -> Result<String, Failure> {
    Ok(format!("http://{}", socket.local_addr()?))
}

fn with(config: &mut Config, address: &str) {
    config.upstream = config.upstream.clone().also(address).unwrap();
    config.timeouts.check = Duration::from_millis(50);
}

/// Two upstreams, of which the second one has this address.
async fn two(first: Replay, second: &str) -> Result<Running, Failure> {
    Running::start(first, vec![loaded("qwen3")?], UpstreamApi::OpenAi, |config| with(config, second)).await
}

/// How many answers each of two upstreams has begun after some requests at once.
async fn spread(proxy: &Running, other: &Arc<Replay>, requests: usize) -> Result<(usize, usize), Failure> {
    let (first, second) = (proxy.replay.begun.load(Relaxed), other.begun.load(Relaxed));
    let asked: Vec<_> = (0..requests)
        .map(|_| {
            let body = chat(json!({})).to_string();
            tokio::spawn(proxy.client.post(format!("{}{CHAT}", proxy.url)).body(body).send())
        })
        .collect();
    for answer in asked {
        assert_eq!(answer.await??.status(), 200);
    }
    Ok((proxy.replay.begun.load(Relaxed) - first, other.begun.load(Relaxed) - second))
}

/// Waits until the metrics say whether an upstream can be reached.
async fn until(proxy: &Running, address: &str, is_up: u8) -> Result<(), Failure> {
    let line = format!("unjinja_upstream_up{{upstream=\"{address}\"}} {is_up}\n");
    for _ in 0..1500 {
        if proxy.get("/metrics").await?.1.contains(&line) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("the metrics do not say {line}").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_to_the_upstream_that_writes_the_fewest_answers() -> Result<(), Failure> {
    let pause = Duration::from_millis(500);
    let (url, other) = replay(pause).start().await?;
    let proxy = two(replay(pause), &url).await?;
    // Each answer is still being written when the next one begins.
    let mut open = Vec::new();
    for count in 1..=4 {
        let answer = proxy.post(CHAT, &chat(json!({"stream": true}))).await?;
        assert_eq!(answer.status(), 200);
        open.push(answer);
        let (here, there) = (proxy.replay.begun.load(Relaxed), other.begun.load(Relaxed));
        assert!(here + there == count && here.abs_diff(there) <= 1, "{here} and {there}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_upstreams_take_turns() -> Result<(), Failure> {
    let (url, other) = replay(Duration::ZERO).start().await?;
    let proxy = two(replay(Duration::ZERO), &url).await?;
    for count in 1..=6 {
        // The tokens of the reasoning are counted by an upstream too; that is no turn.
        let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
        assert_eq!(
            (status, body["usage"]["completion_tokens_details"]["reasoning_tokens"].is_u64()),
            (200, true),
            "{body}"
        );
        let (here, there) = (proxy.replay.begun.load(Relaxed), other.begun.load(Relaxed));
        assert!(here + there == count && here.abs_diff(there) <= 1, "{here} and {there}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_lost_costs_no_request_and_comes_back() -> Result<(), Failure> {
    let socket = reserved()?;
    let address = url(&socket)?;
    let proxy = two(replay(Duration::ZERO), &address).await?;
    let nobody = Arc::new(Replay::default());
    assert_eq!(spread(&proxy, &nobody, 6).await?, (6, 0));
    until(&proxy, &address, 0).await?;
    let log = proxy.log.lock().map_err(|_| "poisoned")?.join("\n");
    assert!(
        log.contains(&format!("{address} cannot be reached; requests fail unless another upstream has their model")),
        "{log}"
    );
    // With one of them, requests can be answered.
    let (status, ready) = proxy.get("/ready").await?;
    assert_eq!((status, ready.matches("\"reachable\":false").count()), (200, 1), "{ready}");

    let (_, other) = replay(Duration::from_millis(20)).start_at(socket.listen(128)?)?;
    until(&proxy, &address, 1).await?;
    let (_, there) = spread(&proxy, &other, 8).await?;
    assert!(there > 0, "nobody asked it");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_still_loads_its_model_is_passed_over() -> Result<(), Failure> {
    let (url, other) = Replay { loads: true, ..Replay::default() }.start().await?;
    let proxy = two(replay(Duration::ZERO), &url).await?;
    let (here, asked) = spread(&proxy, &other, 6).await?;
    assert_eq!(here, 6);
    assert!(asked > 0, "it can be reached, so it is asked");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_to_an_upstream_that_has_its_model() -> Result<(), Failure> {
    let strict = |name: &'static str| Replay { strict: Some((name, 10_000)), ..replay(Duration::ZERO) };
    let (url, other) = strict("org/hermes").start().await?;
    let models = vec![loaded("qwen3")?.upstream_name_is("org/qwen3"), loaded("hermes")?.upstream_name_is("org/hermes")];
    let change = |config: &mut Config| with(config, &url);
    let proxy = Running::start(strict("org/qwen3"), models, UpstreamApi::OpenAi, change).await?;
    for _ in 0..3 {
        for model in ["qwen3", "hermes"] {
            let (status, body) = proxy.json(CHAT, &chat(json!({"model": model}))).await?;
            assert_eq!(status, 200, "{body}");
        }
    }
    assert_eq!((proxy.replay.begun.load(Relaxed), other.begun.load(Relaxed)), (3, 3));
    // What is passed on goes to the same.
    let counted = json!({"model": "hermes", "prompt": "a b c"});
    let (status, body) = proxy.json("/tokenize", &counted).await?;
    assert_eq!((status, &body["count"]), (200, &json!(3)), "{body}");
    Ok(())
}

/// The upstream lists these models from now on.
fn lists(replay: &Replay, models: Value) -> Result<(), Failure> {
    *replay.listed.lock().map_err(|_| "poisoned")? = Some(models);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_started_anew_with_another_model_is_not_asked_until_it_is_back() -> Result<(), Failure> {
    for api in [UpstreamApi::OpenAi, UpstreamApi::LlamaCpp] {
        let replay = Replay {
            listed: Mutex::new(Some(json!([{"id": "a.gguf", "aliases": ["org/a"]}]))),
            ..replay(Duration::ZERO)
        };
        let model = loaded("qwen3")?.upstream_name_is("org/a");
        let proxy =
            Running::start(replay, vec![model], api, |config| config.timeouts.check = Duration::from_millis(30))
                .await?;
        let address = proxy.upstream.clone();
        let ask = async || proxy.json(CHAT, &chat(json!({}))).await;
        assert_eq!((proxy.get("/ready").await?.0, ask().await?.0), (200, 200));

        lists(&proxy.replay, json!([{"id": "b.gguf"}, {"id": "c"}]))?;
        until(&proxy, &address, 0).await?;
        let (status, ready) = proxy.get("/ready").await?;
        assert!(status == 503 && ready.contains("it has another model"), "{status} {ready}");
        // One that fails to list its models has not got others.
        lists(&proxy.replay, Value::Null)?;
        assert_eq!(proxy.get("/ready").await?.0, 503);
        let begun = proxy.replay.begun.load(Relaxed);
        let (status, body) = ask().await?;
        assert!(status == 502 && body.to_string().contains("has another model now"), "{status} {body}");
        assert_eq!(proxy.replay.begun.load(Relaxed), begun, "it was asked");

        lists(&proxy.replay, json!([{"id": "c"}, {"id": "org/a"}]))?;
        until(&proxy, &address, 1).await?;
        assert_eq!((proxy.get("/ready").await?.0, ask().await?.0), (200, 200));
        let log = proxy.log.lock().map_err(|_| "poisoned")?.join("\n");
        assert_eq!(log.matches(&format!("{address} has other models now (b.gguf, c)")).count(), 1, "{log}");
        assert!(log.contains(&format!("{address} can be reached again")), "{log}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_lost_its_model_since_it_was_asked_costs_no_request() -> Result<(), Failure> {
    let old = Mutex::new(Some(json!([{"id": "org/qwen3"}])));
    let (url, other) =
        Replay { strict: Some(("org/other", 10_000)), listed: old, ..replay(Duration::ZERO) }.start().await?;
    let first = Replay { strict: Some(("org/qwen3", 10_000)), ..replay(Duration::ZERO) };
    let proxy = two(first, &url).await?;
    let (here, asked) = spread(&proxy, &other, 6).await?;
    assert!(here == 6 && asked > 0, "{here} and {asked}");
    // Where no other one has it, the client is told what the last one says.
    let alone = Replay {
        strict: Some(("org/other", 10_000)),
        listed: Mutex::new(Some(json!([{"id": "m"}]))),
        ..replay(Duration::ZERO)
    };
    let proxy = Running::start(alone, vec![loaded("qwen3")?], UpstreamApi::OpenAi, |_| {}).await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
    assert!(status == 404 && body.to_string().contains("does not exist"), "{status} {body}");
    // Its list is not believed any more.
    lists(&proxy.replay, json!([{"id": "org/other"}]))?;
    assert_eq!(proxy.json(CHAT, &chat(json!({}))).await?.0, 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_upstream_ever_listed_is_compared_with_nothing() -> Result<(), Failure> {
    // llama.cpp answers whatever the name is; and a model without a name may be any.
    for model in [loaded("qwen3")?.upstream_name_is("mine"), loaded("qwen3")?] {
        let replay = Replay { listed: Mutex::new(Some(json!([{"id": "a.gguf"}]))), ..replay(Duration::ZERO) };
        let proxy = Running::start(replay, vec![model], UpstreamApi::LlamaCpp, |_| {}).await?;
        for models in [json!([{"id": "a.gguf"}]), json!([{"id": "b.gguf"}]), json!([])] {
            lists(&proxy.replay, models)?;
            assert_eq!((proxy.get("/ready").await?.0, proxy.json(CHAT, &chat(json!({}))).await?.0), (200, 200));
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn llama_cpp_is_asked_again_for_bos_when_it_has_another_model() -> Result<(), Failure> {
    let replay = Replay { listed: Mutex::new(Some(json!([{"id": "a"}]))), ..replay(Duration::ZERO) };
    let proxy = Running::start(replay, vec![loaded("qwen3")?], UpstreamApi::LlamaCpp, |_| {}).await?;
    let counts = || proxy.replay.tokenized.load(Relaxed);
    for (model, expected) in [("a", 1), ("a", 1), ("b", 2)] {
        lists(&proxy.replay, json!([{"id": model}]))?;
        assert_eq!((proxy.get("/ready").await?.0, proxy.json(CHAT, &chat(json!({}))).await?.0), (200, 200));
        assert_eq!(counts(), expected);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_upstream_the_client_is_told() -> Result<(), Failure> {
    let sockets = (reserved()?, reserved()?);
    let (first, second) = (url(&sockets.0)?, url(&sockets.1)?);
    let proxy = Running::simple(CALL, |config| {
        config.upstream = UpstreamConfig::new(&first, UpstreamApi::OpenAi).unwrap();
        with(config, &second);
    })
    .await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
    assert_eq!(status, 502, "{body}");
    assert_eq!(proxy.get("/ready").await?.0, 503);
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

//! The first contact: the upstream's names, and the room that its context has.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use unjinja_server::http::{DiscoverError, UpstreamApi, UpstreamConfig, discover};

use super::replay::Replay;
use super::setup::{CALL, Failure, Running, chat, loaded};

const CONTEXT: u64 = 100;

/// A proxy in front of an upstream that serves one model with a short context, and checks what it is asked.
async fn strict(counts_nothing: bool) -> Result<Running, Failure> {
    let replay = Replay {
        outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(),
        asked: Some(Mutex::default()),
        strict: Some(("org/qwen3", CONTEXT)),
        counts_nothing,
        ..Replay::default()
    };
    Running::start(replay, vec![loaded("qwen3")?], UpstreamApi::OpenAi, |_| {}).await
}

#[tokio::test]
async fn the_name_of_the_only_model_is_sent_whatever_the_client_calls_it() -> Result<(), Failure> {
    let proxy = strict(false).await?;
    for name in ["gpt-4o", "org/qwen3", "qwen3"] {
        let (status, answer) = proxy.json("/v1/chat/completions", &chat(json!({"model": name, "tools": []}))).await?;
        assert_eq!((status, answer["model"].as_str()), (200, Some(name)), "{answer}");
        assert_eq!(proxy.replay.last()["model"], "org/qwen3");
    }
    Ok(())
}

#[tokio::test]
async fn a_request_asks_for_no_more_tokens_than_the_context_has_room_for() -> Result<(), Failure> {
    let proxy = strict(false).await?;
    for (wanted, more) in [(None, json!({})), (Some(5), json!({"max_tokens": 5})), (None, json!({"max_tokens": 5000}))]
    {
        let (status, answer) = proxy.json("/v1/chat/completions", &chat(more)).await?;
        assert_eq!(status, 200, "{answer}");
        let asked = proxy.replay.last();
        let prompt = asked["prompt"].as_str().unwrap_or_default().split_whitespace().count() as u64;
        assert_eq!(asked["max_tokens"].as_u64(), Some(wanted.unwrap_or(CONTEXT - prompt)));
    }
    Ok(())
}

#[tokio::test]
async fn an_upstream_that_counts_nothing_decides_itself_whether_a_wish_fits() -> Result<(), Failure> {
    let proxy = strict(true).await?;
    let (status, answer) = proxy.json("/v1/chat/completions", &chat(json!({"tools": []}))).await?;
    assert_eq!(status, 200, "{answer}");
    let left = proxy.replay.last()["max_tokens"].as_u64().unwrap_or_default();
    assert!((1..CONTEXT).contains(&left), "{left}");
    let (status, answer) = proxy.json("/v1/chat/completions", &chat(json!({"max_tokens": 5000}))).await?;
    assert_eq!(status, 400);
    assert!(
        answer["error"]["message"].as_str().is_some_and(|text| text.contains("maximum context length")),
        "{answer}"
    );
    Ok(())
}

#[tokio::test]
async fn an_upstream_without_a_list_of_models_gets_the_name_and_a_usual_limit() -> Result<(), Failure> {
    let proxy = Running::simple("Hello.", |_| {}).await?;
    proxy.json("/v1/chat/completions", &chat(json!({"model": "gpt-4o"}))).await?;
    let asked = proxy.replay.last();
    assert_eq!((asked["model"].as_str(), asked["max_tokens"].as_u64()), (Some("gpt-4o"), Some(4096)));
    Ok(())
}

#[tokio::test]
async fn an_upstream_is_asked_what_it_is() -> Result<(), Failure> {
    let strict = Replay { strict: Some(("org/qwen3", CONTEXT)), ..Replay::default() };
    let (url, _replay) = strict.start().await?;
    let limit = Duration::from_secs(5);
    let facts = discover(&UpstreamConfig::new(&url, UpstreamApi::OpenAi)?, limit).await?;
    assert_eq!((facts.api, facts.template), (UpstreamApi::OpenAi, None));
    let [model] = &facts.models[..] else { return Err(format!("{:?}", facts.models).into()) };
    assert_eq!(
        (&*model.name, model.root.as_deref(), model.context),
        ("org/qwen3", Some("/models/org/qwen3"), Some(CONTEXT))
    );
    let props =
        json!({"default_generation_settings": {"n_ctx": 512}, "chat_template": "{{ messages }}", "bos_token": "<s>"});
    let native = Replay { strict: Some(("m.gguf", CONTEXT)), props: Some(props), ..Replay::default() };
    let (url, _replay) = native.start().await?;
    let facts = discover(&UpstreamConfig::new(&url, UpstreamApi::OpenAi)?, limit).await?;
    let template = facts.template.ok_or("no template")?;
    assert_eq!((facts.api, facts.models[0].context), (UpstreamApi::LlamaCpp, Some(512)));
    assert_eq!((&*template.text, template.bos.as_deref(), template.eos), ("{{ messages }}", Some("<s>"), None));
    let (url, _replay) = Replay::default().start().await?;
    let facts = discover(&UpstreamConfig::new(&url, UpstreamApi::OpenAi)?, limit).await?;
    assert_eq!((facts.api, facts.models.len()), (UpstreamApi::OpenAi, 0));
    let error = discover(&UpstreamConfig::new("http://127.0.0.1:1", UpstreamApi::OpenAi)?, limit).await;
    let error = error.err().ok_or("it answers")?;
    assert!(error.to_string().starts_with("it cannot be reached: Connection refused"), "{error}");
    let (url, _replay) = Replay { loads: true, ..Replay::default() }.start().await?;
    let error = discover(&UpstreamConfig::new(&url, UpstreamApi::OpenAi)?, limit).await;
    assert_eq!(error, Err(DiscoverError::Loading));
    Ok(())
}

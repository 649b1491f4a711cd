//! Several answers to one request (`n`), and the probabilities of their tokens (`logprobs`).

use std::sync::Mutex;

use serde_json::{Value, json};
use unjinja_server::http::UpstreamApi;

use super::replay::Replay;
use super::setup::{CALL, Failure, Running, chat, events, loaded};

const CHAT: &str = "/v1/chat/completions";

/// A proxy whose upstream replays another output for each seed.
async fn proxy(api: UpstreamApi) -> Result<Running, Failure> {
    let outputs = vec![CALL.to_owned(), "<think>\n</think>\n\nNo.<|im_end|>".to_owned()];
    let replay =
        Replay { outputs: [("qwen3".to_owned(), outputs)].into(), asked: Some(Mutex::default()), ..Replay::default() };
    Running::start(replay, vec![loaded("qwen3")?], api, |_| {}).await
}

/// What a client assembles of the chunks of one choice: its content, its calls, and why it ended.
fn assembled(chunks: &[Value], index: usize) -> (String, String, Vec<String>) {
    let (mut content, mut arguments, mut ends) = (String::new(), String::new(), Vec::new());
    let choices = chunks.iter().filter_map(|chunk| chunk["choices"].get(0));
    for choice in choices.filter(|choice| choice["index"] == index) {
        let delta = &choice["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        arguments.push_str(delta["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default());
        ends.extend(choice["finish_reason"].as_str().map(str::to_owned));
    }
    (content, arguments, ends)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_gets_as_many_answers_as_it_wants() -> Result<(), Failure> {
    for api in [UpstreamApi::OpenAi, UpstreamApi::LlamaCpp] {
        let proxy = proxy(api).await?;
        let (status, body) = proxy.json(CHAT, &chat(json!({"n": 3, "seed": 4}))).await?;
        assert_eq!(status, 200, "{body}");
        let choices = body["choices"].as_array().ok_or("no choices")?;
        let told: Vec<_> = choices.iter().map(|choice| (&choice["index"], &choice["finish_reason"])).collect();
        // Seeds 4, 5 and 6: the first and the last one replay the call.
        let (call, stop) = (json!("tool_calls"), json!("stop"));
        assert_eq!(told, [(&json!(0), &call), (&json!(1), &stop), (&json!(2), &call)]);
        assert_eq!(choices[1]["message"]["content"], "No.");
        assert_eq!(choices[2]["message"]["tool_calls"][0]["function"]["arguments"], "{\"city\": \"Zürich\"}");
        // The prompt counts once.
        assert_eq!((&body["usage"]["prompt_tokens"], &body["usage"]["completion_tokens"]), (&json!(11), &json!(21)));
        let asked = proxy.replay.asked.as_ref().ok_or("not kept")?.lock().map_err(|_| "poisoned")?.clone();
        let mut seeds: Vec<_> = asked.iter().filter_map(|ask| ask["seed"].as_i64()).collect();
        seeds.sort_unstable();
        assert_eq!(seeds, [4, 5, 6]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn several_answers_are_streamed_with_their_numbers() -> Result<(), Failure> {
    let proxy = proxy(UpstreamApi::OpenAi).await?;
    let body = chat(json!({"n": 2, "seed": 0, "stream": true, "stream_options": {"include_usage": true}}));
    let text = proxy.post(CHAT, &body).await?.text().await?;
    let events = events(&text);
    let [chunks @ .., "[DONE]"] = &events[..] else { return Err(format!("no end: {text}").into()) };
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk)).collect::<Result<_, _>>()?;
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"]), "{text}");
    assert_eq!(
        assembled(&chunks, 0),
        ("Let me look.".to_owned(), "{\"city\": \"Zürich\"}".to_owned(), vec!["tool_calls".to_owned()])
    );
    assert_eq!(assembled(&chunks, 1), ("No.".to_owned(), String::new(), vec!["stop".to_owned()]));
    // The usage is in one chunk, the last, for both.
    let with_usage: Vec<_> = chunks.iter().filter(|chunk| chunk["usage"].is_object()).collect();
    assert_eq!((with_usage.len(), &with_usage[0]["usage"]["completion_tokens"]), (1, &json!(14)));
    assert_eq!(chunks.last(), with_usage.first().copied());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn if_one_of_several_answers_fails_the_request_does() -> Result<(), Failure> {
    let proxy = proxy(UpstreamApi::OpenAi).await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({"n": 2, "fault": "cut_off"}))).await?;
    assert_eq!(status, 502, "{body}");
    let text = proxy.post(CHAT, &chat(json!({"n": 2, "fault": "cut_off", "stream": true}))).await?.text().await?;
    let last: Value = serde_json::from_str(events(&text).last().ok_or("no event")?)?;
    assert!(last["error"]["message"].as_str().is_some_and(|text| text.contains("before its end")), "{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_answers_has_a_limit() -> Result<(), Failure> {
    let proxy = proxy(UpstreamApi::OpenAi).await?;
    for n in [json!(0), json!(17), json!("2")] {
        let (status, body) = proxy.json(CHAT, &chat(json!({"n": n}))).await?;
        assert_eq!((status, &body["error"]["param"]), (400, &json!("n")), "{body}");
    }
    Ok(())
}

/// The tokens that a choice has probabilities of, put together.
fn text_of(logprobs: &Value) -> String {
    let tokens = logprobs["content"].as_array().into_iter().flatten();
    tokens.filter_map(|token| token["token"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn probabilities_of_tokens_are_passed_on() -> Result<(), Failure> {
    // The upstream stops before the end of the turn, which is no token of its answer.
    let written = CALL.trim_end_matches("<|im_end|>");
    for api in [UpstreamApi::OpenAi, UpstreamApi::LlamaCpp] {
        let proxy = proxy(api).await?;
        let asked = json!({"seed": 0, "logprobs": true, "top_logprobs": 1});
        let (status, body) = proxy.json(CHAT, &chat(asked.clone())).await?;
        let logprobs = &body["choices"][0]["logprobs"];
        assert_eq!((status, text_of(logprobs)), (200, written.to_owned()), "{body}");
        let first = &logprobs["content"][0];
        let text = first["token"].as_str().unwrap_or_default();
        let likely = json!([{"token": text, "logprob": -0.5, "bytes": text.as_bytes()}]);
        assert_eq!((&first["logprob"], &first["bytes"]), (&json!(-0.5), &json!(text.as_bytes())));
        assert_eq!(first["top_logprobs"], likely);
        let mut streamed = asked.clone();
        streamed["stream"] = json!(true);
        let text = proxy.post(CHAT, &chat(streamed)).await?.text().await?;
        let mut found = String::new();
        for event in events(&text).into_iter().filter(|event| *event != "[DONE]") {
            let chunk: Value = serde_json::from_str(event)?;
            found.push_str(&text_of(&chunk["choices"][0]["logprobs"]));
        }
        assert_eq!(found, written, "{text}");
        // Without likely ones beside each, there are none.
        let (_, body) = proxy.json(CHAT, &chat(json!({"logprobs": true}))).await?;
        assert_eq!(body["choices"][0]["logprobs"]["content"][0]["top_logprobs"], json!([]), "{body}");
        let (_, body) = proxy.json(CHAT, &chat(json!({"logprobs": false}))).await?;
        assert_eq!(body["choices"][0]["logprobs"], Value::Null, "{body}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_responses_have_the_probabilities_of_their_own_tokens() -> Result<(), Failure> {
    const RESPONSES: &str = "/v1/responses";
    let proxy = proxy(UpstreamApi::OpenAi).await?;
    let tool = json!({"type": "function", "name": "get_weather", "parameters": {"type": "object"}});
    for asked in [json!({"include": ["message.output_text.logprobs"]}), json!({"top_logprobs": 1})] {
        let mut body = json!({"model": "qwen3", "seed": 0, "input": "Rain?", "tools": [tool]});
        body.as_object_mut().ok_or("no object")?.extend(asked.as_object().cloned().unwrap_or_default());
        let top = usize::from(asked["top_logprobs"] == 1);
        let (status, whole) = proxy.json(RESPONSES, &body).await?;
        assert_eq!((status, &whole["top_logprobs"]), (200, &json!(top)), "{whole}");
        let part = &whole["output"][1]["content"][0];
        let text = text_of(&json!({"content": part["logprobs"]}));
        // A token may have markup besides.
        assert!(text.contains("Let me look.") && !text.contains("Hm") && !text.contains("arguments"), "{part}");
        assert!(part["logprobs"].as_array().into_iter().flatten().all(|token| token["logprob"] == -0.5
            && token["top_logprobs"].as_array().is_some_and(|likely| likely.len() == top)));
        body["stream"] = json!(true);
        let streamed = proxy.post(RESPONSES, &body).await?.text().await?;
        let (mut deltas, mut done) = (Vec::new(), Value::Null);
        for event in events(&streamed) {
            let event: Value = serde_json::from_str(event)?;
            match event["type"].as_str() {
                Some("response.output_text.delta") => {
                    deltas.extend(event["logprobs"].as_array().cloned().unwrap_or_default())
                }
                Some("response.output_text.done") => done = event["logprobs"].clone(),
                _ => {}
            }
        }
        assert_eq!((&json!(deltas), &done), (&part["logprobs"], &part["logprobs"]), "{streamed}");
    }
    let wrong = json!({"model": "qwen3", "input": "Rain?", "top_logprobs": 21});
    let (status, body) = proxy.json(RESPONSES, &wrong).await?;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("top_logprobs")), "{body}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_gives_no_probabilities_is_told_of() -> Result<(), Failure> {
    let proxy = proxy(UpstreamApi::OpenAi).await?;
    for stream in [false, true] {
        let body = chat(json!({"logprobs": true, "fault": "no_logprobs", "stream": stream}));
        let (status, body) = proxy.json(CHAT, &body).await?;
        assert_eq!((status, &body["error"]["param"]), (400, &json!("logprobs")), "{body}");
    }
    for wrong in [json!({"top_logprobs": 2}), json!({"logprobs": true, "top_logprobs": 21})] {
        let (status, body) = proxy.json(CHAT, &chat(wrong)).await?;
        assert_eq!((status, &body["error"]["param"]), (400, &json!("top_logprobs")), "{body}");
    }
    Ok(())
}

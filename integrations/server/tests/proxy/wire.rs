//! What the upstream is asked, and that clients get the message of every format, whole and streamed.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use unjinja_dynamic::{CutCalls, Target};
use unjinja_server::anthropic::StreamEvent;
use unjinja_server::http::{Config, GrammarUse, Unenforced, UpstreamApi};
use unjinja_server::openai::ChatCompletionChunk;
use unjinja_testkit::whole;

use super::cases::{Case, cases};
use super::replay::Replay;
use super::setup::{CALL, Clock, Failure, Running, chat, events, loaded};
use crate::support::{assemble_chunks, assemble_events, take_ids, tools_json};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_is_asked_to_keep_special_tokens() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let body = chat(json!({"temperature": 0.5, "stop": "END", "skip_special_tokens": true}));
    assert_eq!(proxy.json(CHAT, &body).await?.0, 200);
    let asked = proxy.replay.last();
    let prompt = asked["prompt"].as_str().unwrap();
    assert!(prompt.contains("get_weather") && prompt.ends_with("<|im_start|>assistant\n"), "{prompt}");
    for (key, value) in [
        ("skip_special_tokens", json!(false)),
        ("spaces_between_special_tokens", json!(false)),
        ("add_special_tokens", json!(false)),
        ("stream", json!(true)),
        ("max_tokens", json!(4096)),
        ("temperature", json!(0.5)),
        ("model", json!("qwen3")),
        ("stop", json!(["END", "<|im_end|>"])),
        ("echo", Value::Null),
        ("structured_outputs", Value::Null),
    ] {
        assert_eq!(asked[key], value, "{key} in {asked}");
    }
    // A request to a single model may leave its name out.
    let (_, answer) = proxy.json(CHAT, &chat(json!({"model": Value::Null}))).await?;
    assert_eq!((&answer["model"], &proxy.replay.last()["model"]), (&json!("qwen3"), &json!("qwen3")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_fields_of_sampling_go_on_to_the_upstream() -> Result<(), Failure> {
    let fields =
        json!({"top_k": 5, "kv_transfer_params": {"host": "x"}, "prompt_embeds": "x", "own_field": 1, "user": "u"});
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    // A field of which nobody says what becomes of it may change what the request means.
    let proxy = Running::simple(CALL, |config| config.upstream.pass_fields = named(&["own_field"])).await?;
    for (path, body) in [(CHAT, chat(fields.clone())), ("/v1/messages/count_tokens", chat(fields.clone()))] {
        let (status, error) = proxy.json(path, &body).await?;
        let message = error["error"]["message"].as_str().unwrap_or_default();
        let is_named = message.contains("kv_transfer_params") && !message.contains("own_field");
        assert!(status == 400 && is_named && message.contains("--ignore-field"), "{error}");
    }
    for (passed, left_out, expected) in [
        (
            vec![],
            vec!["kv_transfer_params", "own_field", "prompt_embeds"],
            "kv_transfer_params, own_field, prompt_embeds, user",
        ),
        (vec!["own_field"], vec!["kv_transfer_params", "prompt_embeds"], "kv_transfer_params, prompt_embeds, user"),
    ] {
        let proxy = Running::simple(CALL, |config| {
            (config.upstream.pass_fields, config.ignore_fields) = (named(&passed), named(&left_out));
        })
        .await?;
        for stream in [false, true] {
            let mut body = chat(fields.clone());
            body["stream"] = stream.into();
            let response = proxy.post(CHAT, &body).await?;
            let ignored = response.headers()["x-unjinja-ignored-fields"].to_str()?.to_owned();
            let mut ignored: Vec<&str> = ignored.split(", ").collect();
            ignored.sort_unstable();
            assert_eq!((response.status().as_u16(), ignored.join(", ")), (200, expected.to_owned()));
            let asked = proxy.replay.last();
            assert_eq!(
                (&asked["top_k"], asked.get("kv_transfer_params"), asked.get("prompt_embeds")),
                (&json!(5), None, None)
            );
            assert_eq!(asked.get("own_field").is_some(), !passed.is_empty());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_a_sentence_in_the_prompt_or_is_refused() -> Result<(), Failure> {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}});
    let body = chat(json!({"messages": [{"role": "user", "content": [image]}]}));
    let proxy = Running::simple(CALL, |_| {}).await?;
    assert_eq!(proxy.json(CHAT, &body).await?.0, 200);
    let asked = proxy.replay.last();
    assert!(asked["prompt"].as_str().is_some_and(|prompt| prompt.contains("[An image was sent here")), "{asked}");
    let proxy = Running::simple(CALL, |config| config.refuse_media = true).await?;
    let (status, error) = proxy.json(CHAT, &body).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("messages[0].content[0]")));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_pings_while_the_model_is_silent() -> Result<(), Failure> {
    let (clock, pause) = (Clock::stopped(), Duration::from_millis(400));
    let proxy =
        Running::paused("Rain today.", pause, |config| config.timeouts.silence = Duration::from_millis(100)).await?;
    let body = chat(json!({"stream": true}));
    let text = clock.turn(proxy.post(CHAT, &body).await?.text()).await?;
    assert!(text.matches(": ping\n\n").count() > 1, "{text}");
    assert_eq!(events(&text).last().map(|data| &**data), Some("[DONE]"));
    let body =
        json!({"model": "qwen3", "max_tokens": 50, "stream": true, "messages": [{"role": "user", "content": "Rain?"}]});
    let text = clock.turn(proxy.post("/v1/messages", &body).await?.text()).await?;
    assert!(text.contains("event: ping\ndata: {\"type\": \"ping\"}"), "{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_ask_only_if_the_operator_names_them() -> Result<(), Failure> {
    let good = "https://good.example";
    let proxy = Running::simple(CALL, |config| {
        (config.hosts, config.origins) = (Some(vec!["127.0.0.1".to_owned()]), vec![good.to_owned()]);
    })
    .await?;
    let url = format!("{}{CHAT}", proxy.url);
    let ask = |name: &'static str, value: &'static str| {
        let request = proxy.client.post(&url).header(name, value).body(chat(json!({})).to_string());
        async move { request.send().await }
    };
    assert_eq!(ask("host", "evil.example").await?.status(), 403);
    assert_eq!(ask("origin", "https://evil.example").await?.status(), 403);
    let answer = ask("origin", good).await?;
    assert_eq!((answer.status().as_u16(), &answer.headers()["access-control-allow-origin"]), (200, &good.parse()?));
    // A browser asks first.
    let request = proxy.client.request("OPTIONS".parse()?, &url).header("origin", good);
    let answer = request.header("access-control-request-method", "POST").send().await?;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["access-control-allow-methods"]),
        (204, &"GET, POST, DELETE".parse()?)
    );
    Ok(())
}

/// What a client of Anthropic is told of the end: whole and streamed.
async fn ends(proxy: &Running, more: Value) -> Result<[(Value, Value); 2], Failure> {
    let tools = json!([{"name": "get_weather", "input_schema": {"type": "object"}}]);
    let messages = json!([{"role": "user", "content": "Rain?"}]);
    let mut body = json!({"model": "qwen3", "max_tokens": 50, "messages": messages, "tools": tools});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    let whole = proxy.json("/v1/messages", &body).await?.1;
    body["stream"] = json!(true);
    let text = proxy.post("/v1/messages", &body).await?.text().await?;
    let parts: Vec<StreamEvent> =
        events(&text).iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
    let streamed = assemble_events(&parts);
    Ok([whole, streamed].map(|answer| (answer["stop_reason"].clone(), answer["stop_sequence"].clone())))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stop_text_of_the_client_is_named() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    for server in ["vllm", "sglang"] {
        // In the answer, and within the call.
        for stop in ["look", "Zürich"] {
            let told = ends(&proxy, json!({"fault": server, "stop_sequences": ["END", stop]})).await?;
            assert_eq!(told, [(); 2].map(|()| (json!("stop_sequence"), json!(stop))), "{server} {stop}");
            let (_, body) = proxy.json(CHAT, &chat(json!({"fault": server, "stop": stop}))).await?;
            assert_eq!(body["choices"][0]["finish_reason"], "stop", "{server} {stop}: {body}");
        }
        // The text that ends a turn is not one of the stop texts of the client, even if it names that too.
        let told = ends(&proxy, json!({"fault": server, "stop_sequences": ["<|im_end|>"]})).await?;
        assert_eq!(told, [(); 2].map(|()| (json!("tool_use"), Value::Null)), "{server}");
        let told = ends(&proxy, json!({"fault": server, "stop_sequences": ["END"]})).await?;
        assert_eq!(told, [(); 2].map(|()| (json!("tool_use"), Value::Null)), "{server}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cut_off_becomes_what_the_operator_says() -> Result<(), Failure> {
    let output = "Look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zür";
    for (cut_calls, arguments, unparsed) in [
        (CutCalls::Keep, json!(r#"{"city": "Zür"#), Value::Null),
        (CutCalls::Close, json!(r#"{"city": "Zür"}"#), Value::Null),
        (CutCalls::Drop, Value::Null, json!(&output["Look.".len()..])),
    ] {
        let proxy = Running::simple(output, |config| config.cut_calls = cut_calls).await?;
        let (status, body) = proxy.json(CHAT, &chat(json!({}))).await?;
        let message = &body["choices"][0]["message"];
        let found = (&message["tool_calls"][0]["function"]["arguments"], &message["unparsed"], &message["content"]);
        assert_eq!((status, found), (200, (&arguments, &unparsed, &json!("Look."))), "{cut_calls:?}: {body}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_call_is_never_reported_as_if_all_were_well() -> Result<(), Failure> {
    for (arguments, count) in [("", 0), (r#"{"city": "Rome", nope}"#, 1), ("[1]", 1), (r#"{"city": "Rome"}"#, 1)] {
        let output =
            format!("<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {arguments}}}\n</tool_call><|im_end|>");
        let proxy = Running::simple(&output, |_| {}).await?;
        let is_well = arguments.starts_with('{') && arguments.ends_with("\"}");
        let [words, blocks] = if is_well { ["tool_calls", "tool_use"] } else { ["stop", "end_turn"] };
        for stream in [false, true] {
            let text = proxy.post(CHAT, &chat(json!({"stream": stream}))).await?.text().await?;
            assert!(text.contains(&format!("\"finish_reason\":\"{words}\"")), "{output}: {text}");
            assert_eq!(
                (text.matches("\"name\":\"get_weather\"").count(), text.contains("\"unparsed\":")),
                (count, count == 0)
            );
            let asked = json!({"model": "qwen3", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "?"}],
                "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}]});
            let text = proxy.post("/v1/messages", &asked).await?.text().await?;
            assert!(text.contains(&format!("\"stop_reason\":\"{blocks}\"")), "{output}: {text}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn llama_cpp_gets_a_grammar_where_a_call_is_promised() -> Result<(), Failure> {
    let replay = Replay {
        outputs: [("qwen3".to_owned(), vec![CALL.to_owned()])].into(),
        asked: Some(Mutex::default()),
        ..Replay::default()
    };
    let proxy = Running::start(replay, vec![loaded("qwen3")?], UpstreamApi::LlamaCpp, |_| {}).await?;
    let (status, body) = proxy.json(CHAT, &chat(json!({"max_tokens": 9}))).await?;
    assert_eq!((status, &body["usage"]["completion_tokens"]), (200, &json!(7)), "{body}");
    let asked = proxy.replay.last();
    assert_eq!((&asked["n_predict"], &asked["grammar"]), (&json!(9), &Value::Null), "{asked}");
    assert!(asked["preserved_tokens"].as_array().unwrap().contains(&json!("<tool_call>")), "{asked}");
    let (status, _) = proxy.json(CHAT, &chat(json!({"tool_choice": "required"}))).await?;
    let asked = proxy.replay.last();
    assert_eq!((status, asked["grammar"].as_str().unwrap_or_default().contains("root ::=")), (200, true), "{asked}");
    // So is the promise that there is no call, in both formats. Without tools, nothing is promised.
    proxy.json(CHAT, &chat(json!({"tool_choice": "none"}))).await?;
    let none = proxy.replay.last()["grammar"].clone();
    assert!(none.as_str().unwrap_or_default().contains("root ::="), "{none}");
    let tool = json!({"name": "get_weather", "input_schema": {"type": "object"}});
    ends(&proxy, json!({"tools": [tool], "tool_choice": {"type": "none"}})).await?;
    assert_eq!(proxy.replay.last()["grammar"], none);
    proxy.json(CHAT, &chat(json!({"tools": [], "tool_choice": "none"}))).await?;
    assert_eq!(proxy.replay.last()["grammar"], Value::Null);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_switches_thinking_where_a_request_does_not() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.thinking = Some(false)).await?;
    for (fields, off) in [
        (json!({}), true),
        (json!({"reasoning_effort": "high"}), false),
        (json!({"chat_template_kwargs": {"enable_thinking": true}}), false),
    ] {
        proxy.json(CHAT, &chat(fields)).await?;
        let prompt = proxy.replay.last()["prompt"].to_string();
        assert_eq!(prompt.ends_with("</think>\\n\\n\""), off, "{prompt}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn vllm_gets_a_grammar_if_it_is_wanted() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.upstream.grammar = GrammarUse::ForGuarantees).await?;
    proxy
        .json(CHAT, &chat(json!({"tool_choice": "required", "chat_template_kwargs": {"enable_thinking": false}})))
        .await?;
    let asked = proxy.replay.last();
    assert!(asked["structured_outputs"]["grammar"].as_str().unwrap_or_default().contains("root ::="), "{asked}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_grammar_is_written_for_the_engine_of_the_upstream() -> Result<(), Failure> {
    let quick = json!({"enable_thinking": false});
    let body = chat(json!({"tool_choice": "required", "chat_template_kwargs": quick}));
    for engine in Target::ALL {
        let configure = |config: &mut Config| {
            (config.upstream.grammar, config.upstream.engine) = (GrammarUse::Always, engine);
        };
        let proxy = Running::simple(CALL, configure).await?;
        let (status, answer) = proxy.json(CHAT, &body).await?;
        assert_eq!(status, 200, "{answer}");
        let asked = proxy.replay.last();
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let (grammar, ebnf) = (text(&asked["structured_outputs"]["grammar"]), text(&asked["ebnf"]));
        let tag = &asked["response_format"];
        match engine {
            Target::XGrammar => {
                assert_eq!((&tag["type"], grammar.as_str()), (&json!("structural_tag"), ""), "{asked}");
                assert!(tag["format"].to_string().contains("<tool_call>"), "{asked}");
            }
            Target::Llguidance => {
                assert!(grammar.contains("\nstart: ") && grammar == ebnf && tag.is_null(), "{asked}");
            }
            _ => assert!(grammar.contains("root ::=") && ebnf.is_empty() && tag.is_null(), "{asked}"),
        }
        // Where the model decides whether it calls, GBNF is lazy, and there is no field for that. The others hold for the whole turn.
        proxy.json(CHAT, &chat(json!({"chat_template_kwargs": quick}))).await?;
        let asked = proxy.replay.last();
        let sent = !(asked["structured_outputs"].is_null() && asked["response_format"].is_null());
        assert_eq!(sent, engine != Target::Gbnf, "{asked}");
    }
    Ok(())
}

/// An upstream that takes no grammar writes what it likes.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_delivered_that_the_request_rules_out() -> Result<(), Failure> {
    let call = |name: &str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>\n");
    let output = ["<think>\nHm.\n</think>\n\nOne moment.\n", &call("now"), &call("later"), "<|im_end|>"].concat();
    let proxy = Running::simple(&output, |config| config.unenforced = Unenforced::Accept).await?;
    let tools = ["now", "later"].map(|name| json!({"type": "function", "function": {"name": name}}));
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("later")]}});
    for (more, delivered, diagnostic) in [
        (json!({}), vec!["now", "later"], None),
        (json!({"parallel_tool_calls": false}), vec!["now"], Some("parallel_call")),
        (json!({"tool_choice": "none"}), vec![], Some("forbidden_call")),
        (json!({"tool_choice": named("later")}), vec!["later"], Some("forbidden_call")),
        (json!({"tool_choice": named("now")}), vec!["now"], Some("forbidden_call")),
        (json!({"tool_choice": allowed}), vec!["later"], Some("forbidden_call")),
        (json!({"tool_choice": "required"}), vec!["now", "later"], None),
    ] {
        let mut body = chat(more);
        body["tools"] = json!(tools);
        let (status, mut whole) = proxy.json(CHAT, &body).await?;
        assert_eq!(status, 200, "{body}: {whole}");
        let choice = whole["choices"][0].take();
        let message = &choice["message"];
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let names: Vec<&str> = calls.filter_map(|call| call["function"]["name"].as_str()).collect();
        assert_eq!(names, delivered, "{body}");
        let content = message["content"].as_str().unwrap_or_default();
        assert!(content.starts_with("One moment."), "{body}: {content:?}");
        // A client that expects no call at all gets what the model wrote; one that expects another call must not take this for an answer.
        let place =
            if body["tool_choice"] == "none" { content } else { message["unparsed"].as_str().unwrap_or_default() };
        assert_eq!(content == "One moment.", body["tool_choice"] != "none", "{body}: {content:?}");
        assert_eq!(choice["finish_reason"], if delivered.is_empty() { "stop" } else { "tool_calls" }, "{body}");
        let reported = whole.to_string().contains("_call\"") || choice.to_string().contains("_call\"");
        assert_eq!(reported, diagnostic.is_some(), "{body}: {whole} {choice}");
        for name in ["now", "later"].iter().filter(|name| !delivered.contains(name)) {
            assert!(place.contains(call(name).trim()), "{body}: {place:?}");
        }

        body["stream"] = json!(true);
        let text = proxy.post(CHAT, &body).await?.text().await?;
        let data = events(&text);
        let chunks: Vec<ChatCompletionChunk> =
            data[..data.len() - 1].iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
        let (mut streamed, mut message) = (assemble_chunks(&chunks).message, message.clone());
        message.as_object_mut().ok_or("no message")?.remove("refusal");
        assert_eq!(take_ids(&mut streamed).len(), take_ids(&mut message).len(), "{body}");
        assert_eq!(streamed, message, "{body}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_its_special_tokens_is_reported() -> Result<(), Failure> {
    let replay = Replay {
        outputs: [("named_ids".to_owned(), vec!["functions.get_weather:0{\"city\": \"Rome\"}".to_owned()])].into(),
        ..Replay::default()
    };
    let name = "named_ids";
    let proxy = Running::start(replay, vec![loaded(name)?], UpstreamApi::OpenAi, |_| {}).await?;
    for stream in [false, true] {
        let answer = proxy.post(CHAT, &chat(json!({"model": name, "stream": stream}))).await?.text().await?;
        assert!(answer.contains("\"kind\":\"stripped_tokens\""), "{answer}");
    }
    assert!(proxy.log.lock().unwrap().iter().any(|line| line.contains("stripped_tokens")));
    Ok(())
}

/// What clients that rely on `tool_choice` cannot see: a header where the answer is whole, a diagnostic in both forms.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_its_demanded_call_says_so() -> Result<(), Failure> {
    let name = "named_ids";
    let outputs = [(name.to_owned(), vec!["I cannot.".to_owned()])].into();
    let proxy =
        Running::start(Replay { outputs, ..Replay::default() }, vec![loaded(name)?], UpstreamApi::LlamaCpp, |_| {})
            .await?;
    for (choice, stream) in [("required", false), ("required", true), ("auto", false)] {
        let body = chat(json!({"model": name, "stream": stream, "tool_choice": choice}));
        let answer = proxy.post(CHAT, &body).await?;
        let header = answer.headers().contains_key("x-unjinja-missing-call");
        assert_eq!(header, choice == "required" && !stream, "{choice}");
        let text = answer.text().await?;
        assert_eq!(text.contains("\"kind\":\"missing_call\""), choice == "required", "{text}");
    }
    assert!(proxy.log.lock().unwrap().iter().any(|line| line.contains("missing_call")));
    Ok(())
}

/// Every wire format of `templates/`, every case, both APIs, whole and streamed.
#[tokio::test(flavor = "multi_thread")]
async fn clients_get_the_message_of_every_format() -> Result<(), Failure> {
    let (served, texts, cases) = cases(usize::MAX)?;
    let replay = Replay { outputs: texts, ..Replay::default() };
    let proxy = Running::start(replay, served, UpstreamApi::OpenAi, |_| {}).await?;
    let tools = tools_json().map_err(|error| error.to_string())?;
    for Case { model, seed, expected, output } in &cases {
        let place = format!("{model} {output:?}");
        let mut body = chat(json!({"model": model, "tools": tools, "seed": seed}));
        let (status, mut whole) = proxy.json(CHAT, &body).await?;
        assert_eq!(status, 200, "{place}: {whole}");
        let mut whole = whole["choices"][0]["message"].take();
        whole.as_object_mut().ok_or("no message")?.remove("refusal");
        let ids = take_ids(&mut whole);
        assert_eq!(ids.len(), expected.tool_calls.len(), "{place}");
        assert_eq!(whole["content"].as_str().unwrap_or_default(), expected.content, "{place}");
        assert_eq!(whole["reasoning_content"].as_str().unwrap_or_default(), expected.reasoning_content, "{place}");
        assert_eq!(whole["unparsed"].as_str().unwrap_or_default(), expected.unparsed, "{place}");
        for (at, call) in expected.tool_calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": call.arguments});
            assert_eq!(whole["tool_calls"][at]["function"], function, "{place}");
        }

        body["stream"] = json!(true);
        let text = proxy.post(CHAT, &body).await?.text().await?;
        let data = events(&text);
        assert_eq!(data.last(), Some(&"[DONE]"), "{place}");
        let chunks: Vec<ChatCompletionChunk> =
            data[..data.len() - 1].iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
        let mut streamed = assemble_chunks(&chunks).message;
        take_ids(&mut streamed);
        assert_eq!(streamed, whole, "{place}");

        let functions = tools.as_array().ok_or("no list")?.iter().map(|tool| &tool["function"]);
        let inputs: Vec<Value> = functions
            .map(|f| json!({"name": f["name"], "description": "x", "input_schema": f["parameters"]}))
            .collect();
        let mut body = json!({"model": model, "tools": inputs, "seed": seed, "max_tokens": 100,
                "messages": [{"role": "user", "content": "Rain?"}]});
        let (status, mut whole) = proxy.json("/v1/messages", &body).await?;
        assert_eq!(status, 200, "{place}: {whole}");
        body["stream"] = json!(true);
        let text = proxy.post("/v1/messages", &body).await?.text().await?;
        let parts: Vec<StreamEvent> =
            events(&text).iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
        let mut streamed = assemble_events(&parts);
        take_ids(&mut whole);
        take_ids(&mut streamed);
        assert_eq!(streamed["content"], whole["content"], "{place}");
        assert_eq!(streamed["stop_reason"], whole["stop_reason"], "{place}");
        let blocks = whole["content"].as_array().ok_or("no content")?;
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use").count();
        assert_eq!(calls, expected.tool_calls.len(), "{place}");
    }
    assert!(cases.len() > if whole() { 100 } else { 20 }, "{} outputs", cases.len());
    Ok(())
}

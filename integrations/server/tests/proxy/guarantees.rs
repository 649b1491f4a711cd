//! A guarantee that a request asks for is enforced, or the request is refused.

use std::sync::Mutex;

use serde_json::{Value, json};
use unjinja_dynamic::Target;
use unjinja_server::http::{GrammarUse, Unenforced, UpstreamApi};

use super::prompts::served;
use super::replay::Replay;
use super::setup::{CALL, Failure, Running, chat, events};

const CHAT: &str = "/v1/chat/completions";

/// A tool with strict arguments.
fn strict(schema: Value) -> Value {
    json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema, "strict": true}}])
}

fn city() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false})
}

/// Requests for what only a grammar can guarantee, and the field that asks for it.
fn guarantees() -> [(Value, &'static str); 6] {
    let named = json!({"type": "function", "function": {"name": "get_weather"}});
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": city(), "strict": true}});
    [
        (json!({"tool_choice": "required"}), "tool_choice"),
        (json!({"tool_choice": named}), "tool_choice"),
        (json!({"tool_choice": allowed}), "tool_choice"),
        (json!({"response_format": {"type": "json_object"}, "tools": []}), "response_format"),
        (json!({"response_format": format, "tools": []}), "response_format"),
        (json!({"tools": strict(city())}), "tools"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarantee_that_cannot_be_enforced_is_refused() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    for (more, field) in guarantees() {
        let (status, error) = proxy.json(CHAT, &chat(more.clone())).await?;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(field)), "{more}: {error}");
        assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("--grammar")), "{error}");
    }
    // The parser enforces these; the last one asks for nothing.
    for more in [json!({"tool_choice": "none"}), json!({"parallel_tool_calls": false}), json!({})] {
        assert_eq!(proxy.json(CHAT, &chat(more)).await?.0, 200);
    }
    let accepting = Running::simple(CALL, |config| config.unenforced = Unenforced::Accept).await?;
    for (more, _) in guarantees() {
        assert_eq!(accepting.json(CHAT, &chat(more)).await?.0, 200);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_gets_a_grammar_for_each_guarantee() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| {
        (config.upstream.grammar, config.upstream.engine) = (GrammarUse::ForGuarantees, Target::XGrammar);
    })
    .await?;
    for (more, _) in guarantees() {
        let (status, answer) = proxy.json(CHAT, &chat(more.clone())).await?;
        assert_eq!(status, 200, "{more}: {answer}");
        let asked = proxy.replay.last();
        assert_eq!(asked["response_format"]["type"], "structural_tag", "{more}: {asked}");
    }
    // A keyword that the grammar does not check is refused only if the tool is strict.
    let mut schema = city();
    schema["properties"]["days"] = json!({"type": "integer", "multipleOf": 7});
    let (status, error) = proxy.json(CHAT, &chat(json!({"tools": strict(schema.clone())}))).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("tools")), "{error}");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("`multipleOf`")), "{error}");
    let mut tools = strict(schema);
    tools[0]["function"]["strict"] = json!(false);
    assert_eq!(proxy.json(CHAT, &chat(json!({"tools": tools, "tool_choice": "required"}))).await?.0, 200);
    let log = proxy.log.lock().unwrap();
    assert!(log.iter().any(|line| line.contains("does not check") && line.contains("multipleOf")), "{log:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grammar_that_begins_in_the_middle_is_not_left_out_without_a_word() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.upstream.grammar = GrammarUse::ForGuarantees).await?;
    let (status, error) = proxy.json(CHAT, &chat(json!({"tools": strict(city())}))).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("tools")), "{error}");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("begins in the middle")), "{error}");
    Ok(())
}

/// A template that writes calls and prints no tools.
const LOSES_TOOLS: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\
<tool_call>\n{\"name\": {{ c.function.name | tojson }}, \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}\
<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_the_template_does_not_print_are_refused_or_described() -> Result<(), Failure> {
    for describes in [false, true] {
        let model = served("own", &[("own.jinja", LOSES_TOOLS)])?;
        assert!(!model.prints_tools() && model.can_describe_tools());
        let outputs = [("own".to_owned(), vec!["Hello.<|im_end|>".to_owned()])].into();
        let replay = Replay { outputs, asked: Some(Mutex::default()), ..Replay::default() };
        let proxy =
            Running::start(replay, vec![model], UpstreamApi::OpenAi, |config| config.describe_tools = describes)
                .await?;
        let (status, answer) = proxy.json(CHAT, &chat(json!({}))).await?;
        if !describes {
            assert_eq!((status, &answer["error"]["param"]), (400, &json!("tools")), "{answer}");
            assert!(answer.to_string().contains("tool:get_weather"), "{answer}");
            // The name of the tool in a message is no tool in the prompt.
            let says = json!({"messages": [{"role": "user", "content": "Please get_weather."}]});
            assert_eq!(proxy.json(CHAT, &chat(says)).await?.0, 400);
            assert_eq!(proxy.json(CHAT, &chat(json!({"tools": []}))).await?.0, 200);
            continue;
        }
        assert_eq!(status, 200, "{answer}");
        let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
        let parts = [
            "<|im_start|>system\n",
            "\"name\":\"get_weather\"",
            "<tool_call>\n{\"name\": \"FUNCTION_NAME\"",
            "Rain in Zürich?",
        ];
        let places: Vec<_> = parts.iter().map(|part| prompt.find(part)).collect();
        assert!(places.is_sorted() && places[0] == Some(0), "{places:?} {prompt}");
        assert_eq!(prompt.matches("<|im_end|>").count(), 2, "{prompt}");
    }
    Ok(())
}

/// A request without tools, as each API has it.
fn without_tools(more: Value) -> [(&'static str, Value); 3] {
    let messages = json!([{"role": "user", "content": "Rain in Zürich?"}]);
    let bodies = [
        (CHAT, json!({"model": "qwen3", "messages": messages})),
        ("/v1/responses", json!({"model": "qwen3", "input": messages})),
        ("/v1/messages", json!({"model": "qwen3", "messages": messages, "max_tokens": 99})),
    ];
    bodies.map(|(path, mut body)| {
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        (path, body)
    })
}

/// The types of all that an answer of any API consists of, and its text.
fn parts(answer: &Value) -> (Vec<String>, String) {
    let lists = [&answer["choices"], &answer["output"], &answer["content"]];
    let all: Vec<&Value> = lists.into_iter().filter_map(Value::as_array).flatten().collect();
    let text = |part: &Value| {
        let places = [&part["message"]["content"], &part["content"][0]["text"], &part["text"]];
        places
            .into_iter()
            .find_map(Value::as_str)
            .filter(|_| part["type"] != "reasoning")
            .unwrap_or_default()
            .to_owned()
    };
    let kind = |part: &Value| match part["message"]["tool_calls"].is_array() {
        true => "tool_calls".to_owned(),
        false => part["type"].as_str().unwrap_or("answer").to_owned(),
    };
    (all.iter().map(|part| kind(part)).collect(), all.iter().map(|part| text(part)).collect())
}

/// Clients that offer no tools run none: a loop that finds a call would end with an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_tools_gets_text_and_no_call() -> Result<(), Failure> {
    let written = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>";
    let proxy = Running::simple(CALL, |_| {}).await?;
    for (path, mut body) in without_tools(json!({})) {
        let (status, answer) = proxy.json(path, &body).await?;
        let (kinds, text) = parts(&answer);
        assert!(!kinds.iter().any(|kind| kind.contains("call") || kind.contains("tool")), "{path}: {kinds:?}");
        assert_eq!((status, text.as_str()), (200, format!("Let me look.\n{written}").as_str()), "{path}: {answer}");
        let ends = [&answer["choices"][0]["finish_reason"], &answer["status"], &answer["stop_reason"]];
        let end = ends.into_iter().find_map(Value::as_str).unwrap_or_default();
        assert!(["stop", "completed", "end_turn"].contains(&end), "{path}: {end}");
        assert_eq!(answer.to_string().matches("unparsed").count(), 0, "{path}: {answer}");
        body["stream"] = json!(true);
        let streamed = proxy.post(path, &body).await?.text().await?;
        let pieces: String = events(&streamed)
            .iter()
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .filter_map(|event| {
                let is_text =
                    event["type"].as_str().is_none_or(|kind| kind.ends_with("delta") && !kind.contains("reason"));
                let places = [&event["choices"][0]["delta"]["content"], &event["delta"]["text"], &event["delta"]];
                places.into_iter().find_map(Value::as_str).filter(|_| is_text).map(str::to_owned)
            })
            .collect();
        assert_eq!(pieces, text, "{path}: {streamed}");
    }
    // Also of a call that the output cuts off.
    let cut = "Yes.\n<tool_call>\n{\"name\": \"get";
    let proxy = Running::simple(cut, |_| {}).await?;
    for (path, body) in without_tools(json!({})) {
        let (_, answer) = proxy.json(path, &body).await?;
        assert_eq!(parts(&answer).1, cut, "{path}: {answer}");
    }
    Ok(())
}

//! What requests become, and how they are refused.

use serde_json::{Value, json};
use unjinja_grammar::{GrammarExt, GrammarOptions, Integers};
use unjinja_runtime::Options;
use unjinja_server::anthropic::MessagesRequest;
use unjinja_server::openai::ChatRequest;
use unjinja_server::responses::ResponsesRequest;
use unjinja_server::{ApiError, Guarantee, Prepared, ResponseFormat, ToolChoice};
use unjinja_spec::{ArgumentsForm, CallIdForm, ContentForm, Functions, FunctionsForm, Messages, SystemPlace};

use crate::support::{Failure, models, spec};

/// A request to chat completions with a message and these fields.
pub(super) fn openai(fields: Value) -> Result<ChatRequest, ApiError> {
    let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    merge(&mut request, fields);
    ChatRequest::from_json(request.to_string().as_bytes())
}

/// A request to messages with a message and these fields.
pub(super) fn anthropic(fields: Value) -> Result<MessagesRequest, ApiError> {
    let mut request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
    merge(&mut request, fields);
    MessagesRequest::from_json(request.to_string().as_bytes())
}

fn merge(request: &mut Value, fields: Value) {
    for (key, value) in fields.as_object().expect("an object") {
        request[key] = value.clone();
    }
}

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "f", "description": "F.", "strict": false, "parameters": {"type": "object", "properties": {}}}},
        {"type": "function", "function": {"name": "g"}},
    ])
}

pub(super) fn user(part: Value) -> Value {
    json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "Look:"}, part]}]})
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let cases = [
        (json!({"functions": []}), "functions"),
        (json!({"function_call": "auto"}), "function_call"),
        (json!({"audio": {}}), "audio"),
        (json!({"modalities": ["text", "audio"]}), "modalities[1]"),
        (json!({"web_search_options": {}}), "web_search_options"),
        (json!({"messages": [{"role": "assistant", "function_call": {"name": "f"}}]}), "messages[0].function_call"),
    ];
    for (fields, param) in cases {
        let error = openai(fields.clone()).expect_err(param);
        assert_eq!(
            (error.status(), error.param(), error.code()),
            (400, Some(param), Some("unsupported_parameter")),
            "{fields}"
        );
        assert!(error.message().contains("not supported; "), "{error}");
    }
    let cases = [
        (json!({"mcp_servers": [{}]}), "mcp_servers"),
        (json!({"fallbacks": [{"model": "other"}]}), "fallbacks"),
        (json!({"compaction": {"type": "summarize"}}), "compaction"),
        (json!({"context_management": {"edits": [{"type": "compact_20260112"}]}}), "context_management.edits[0]"),
        (json!({"context_management": {"other": 1}}), "context_management.other"),
        (json!({"output_config": {"effort": "low", "task_budget": {"total": 9}}}), "output_config.task_budget"),
        (
            json!({"messages": [{"role": "system", "content": "Hi", "output_config": {"format": {}}}]}),
            "messages[0].output_config.format",
        ),
        (json!({"n": 2}), "n"),
        (
            json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]}),
            "messages[1]",
        ),
    ];
    for (fields, param) in cases {
        let error = anthropic(fields.clone()).expect_err(param);
        assert_eq!(
            (error.status(), error.param(), error.code()),
            (400, Some(param), Some("unsupported_parameter")),
            "{fields}"
        );
    }
    // By this word, Anthropic's clients send the whole conversation instead.
    let error = anthropic(json!({"thread": {"type": "create"}})).expect_err("a thread");
    let details = json!({"error_code": "thread_unsupported_request"});
    assert_eq!((error.status(), &json!(error.anthropic())["error"]["details"]), (400, &details));
}

#[test]
fn what_is_wrong_is_named_with_the_next_step() {
    let cases = [
        (json!({"messages": []}), "messages: the list is empty; send at least one message"),
        (json!({"messages": null}), "messages: this is missing; give the conversation"),
        (json!({"messages": [{"content": "Hi"}]}), "messages[0].role: this is missing; give the role of the message"),
        (
            json!({"messages": [{"role": "robot", "content": ""}]}),
            "messages[0].role: \"robot\" is not known; use one of system, developer, user, assistant, tool",
        ),
        (
            json!({"messages": [{"role": "user"}]}),
            "messages[0].content: this is missing; give a string or a list of text parts",
        ),
        (
            json!({"messages": [{"role": "user", "content": 3}]}),
            "messages[0].content: this is the number 3; give a string or a list of parts",
        ),
        (
            json!({"messages": [{"role": "tool", "content": ""}]}),
            "messages[0].tool_call_id: this is missing; give the id of the call that this answers",
        ),
        (json!({"stream": "yes"}), "stream: this is \"yes\"; give a boolean"),
        (json!({"max_tokens": 0}), "max_tokens: this is the number 0; give a whole number of at least 1"),
        (
            json!({"tools": [{"type": "function", "function": {}}]}),
            "tools[0].function.name: the name is missing; give the function's name as a string that is not empty",
        ),
        (
            json!({"tool_choice": "always"}),
            "tool_choice: \"always\" is not known; use one of none, auto, required, {\"type\": \"function\", …}, {\"type\": \"allowed_tools\", …}",
        ),
        (
            json!({"response_format": {"type": "xml"}}),
            "response_format.type: \"xml\" is not known; use one of text, json_object, json_schema",
        ),
        (json!({"stop": 3}), "stop: this is the number 3; give a string or a list of strings"),
        (json!({"stop": ""}), "stop: this text is empty; leave it out"),
        (json!({"stop": ["END", ""]}), "stop[1]: this text is empty; leave it out"),
    ];
    for (fields, message) in cases {
        let error = openai(fields).expect_err(message);
        assert_eq!((error.status(), error.message()), (400, message));
        let body = serde_json::to_value(&error).expect("JSON");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert!(message.starts_with(body["error"]["param"].as_str().expect("a param")));
    }
    assert_eq!(ChatRequest::from_json(b"{").expect_err("no JSON").param(), None);
    assert_eq!(ChatRequest::from_json(b"[]").expect_err("no object").status(), 400);
    let error =
        MessagesRequest::from_json(br#"{"messages": [{"role": "user", "content": "Hi"}]}"#).expect_err("no limit");
    assert_eq!(error.message(), "max_tokens: this is missing; give the most tokens to write");
    let empty = anthropic(json!({"stop_sequences": [""]})).expect_err("an empty text");
    assert_eq!(empty.message(), "stop_sequences[0]: this text is empty; leave it out");
    assert_eq!(
        serde_json::to_value(error.anthropic()).expect("JSON"),
        json!({"type": "error", "error": {
            "type": "invalid_request_error", "message": error.message(), "details": {"error_code": "invalid_value"}}})
    );
    let missing = ApiError::no_model("other", "m");
    assert_eq!((missing.status(), missing.code()), (404, Some("model_not_found")));
    assert_eq!(serde_json::to_value(missing.anthropic()).expect("JSON")["error"]["type"], "not_found_error");
}

#[test]
fn every_form_of_tool_choice_is_read() -> Result<(), Failure> {
    let named = |names: &[&str], required| ToolChoice::Allowed {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        required,
    };
    let cases = [
        (json!(null), ToolChoice::Auto, 2, false),
        (json!("auto"), ToolChoice::Auto, 2, false),
        (json!("none"), ToolChoice::None, 0, true),
        (json!("required"), ToolChoice::Required, 2, true),
        (json!({"type": "function", "function": {"name": "f"}}), ToolChoice::Named("f".into()), 1, true),
        (json!({"type": "function", "name": "g"}), ToolChoice::Named("g".into()), 1, true),
        (
            json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}}),
            named(&["g"], true),
            1,
            true,
        ),
        (
            json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}),
            named(&["f"], false),
            1,
            true,
        ),
    ];
    for (choice, expected, callable, constrained) in cases {
        let request = openai(json!({"tools": tools(), "tool_choice": choice}))?;
        assert_eq!(request.request.tool_choice, expected);
        let prepared = request.prepare(&spec())?;
        assert_eq!((prepared.callable.len(), prepared.constrained), (callable, constrained), "{expected:?}");
        assert_eq!(prepared.context.get("tools").is_some(), expected != ToolChoice::None);
    }
    let mut strict = tools();
    strict[0]["function"]["strict"] = json!(true);
    let prepared = openai(json!({"tools": strict}))?.prepare(&spec())?;
    assert_eq!(
        (prepared.strict_tools, prepared.constrained, prepared.guarantees),
        (vec!["f".into()], true, vec![Guarantee::Strict])
    );
    let other = json!({"type": "function", "function": {"name": "g"}});
    let prepared = openai(json!({"tools": strict, "tool_choice": other}))?.prepare(&spec())?;
    assert_eq!((prepared.strict_tools.len(), prepared.guarantees), (0, vec![Guarantee::Call]));
    for (choice, expected) in [
        (json!({"type": "auto"}), ToolChoice::Auto),
        (json!({"type": "any"}), ToolChoice::Required),
        (json!({"type": "none"}), ToolChoice::None),
        (json!({"type": "tool", "name": "f"}), ToolChoice::Named("f".into())),
    ] {
        assert_eq!(anthropic(json!({"tool_choice": choice}))?.request.tool_choice, expected);
    }
    let off = anthropic(json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}))?;
    assert_eq!(off.request.parallel_tool_calls, Some(false));
    for choice in [json!("required"), json!({"type": "function", "function": {"name": "h"}})] {
        let error = openai(json!({"tool_choice": choice}))?.prepare(&spec()).expect_err("no tools");
        assert_eq!((error.status(), error.param()), (400, Some("tool_choice")));
    }
    Ok(())
}

#[test]
fn a_choice_reaches_parser_and_grammar() -> Result<(), Failure> {
    let models = models()?;
    let model = models.iter().find(|model| model.name == "hermes").ok_or("no such template")?;
    let grammar = |fields: Value| -> Result<String, Failure> {
        let prepared = openai(fields)?.prepare(&model.spec)?;
        Ok(model.parser.grammar(&prepared.callable, &prepared.grammar)?.text)
    };
    // Many clients read `4.0` as no integer.
    let asks = || GrammarOptions::new().integers(Integers::Plain);
    let direct = |options: GrammarOptions, names: &[&str]| -> Result<String, Failure> {
        let all = unjinja_runtime::Tools::from_openai(&tools())?;
        let some = all.iter().filter(|tool| names.contains(&tool.name.as_str())).cloned().collect();
        Ok(model.parser.grammar(&unjinja_runtime::Tools::new(some)?, &options)?.text)
    };
    let named = grammar(json!({"tools": tools(), "tool_choice": {"type": "function", "function": {"name": "g"}}}))?;
    assert_eq!(named, direct(asks().tool_choice(unjinja_grammar::ToolChoice::Named("g".into())), &["g"])?);
    let single = grammar(json!({"tools": tools(), "tool_choice": "required", "parallel_tool_calls": false}))?;
    let options = asks().tool_choice(unjinja_grammar::ToolChoice::Required).parallel_tool_calls(false);
    assert_eq!(single, direct(options, &["f", "g"])?);
    let none = grammar(json!({"tools": tools(), "tool_choice": "none"}))?;
    assert_eq!(none, direct(asks().tool_choice(unjinja_grammar::ToolChoice::None), &["f", "g"])?);
    assert!(!none.is_empty(), "text that looks like a call is ruled out");
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let answer =
        grammar(json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}))?;
    assert_eq!(answer, direct(asks().response_schema(schema.clone()), &[])?);
    assert_ne!(answer, direct(GrammarOptions::new().response_schema(schema), &[])?);
    Ok(())
}

#[test]
fn settings_are_passed_on_or_ignored() -> Result<(), Failure> {
    let request = openai(json!({
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "logit_bias": {"1": 2}, "top_k": 40, "user": "u", "store": true, "n": 1,
        "max_tokens": 5, "max_completion_tokens": 6, "stop": "END", "stream": true, "stream_options": {"include_usage": true},
        "presence_penalty": null, "parallel_tool_calls": false,
    }))?;
    assert!(request.include_usage && request.request.stream);
    let prepared = request.prepare(&spec())?;
    assert_eq!((prepared.sampling.max_tokens, &prepared.sampling.stop), (Some(6), &vec!["END".to_owned()]));
    assert_eq!(
        Value::Object(prepared.sampling.settings),
        json!({"temperature": 0.5, "top_p": 0.9, "seed": 7, "logit_bias": {"1": 2}, "top_k": 40})
    );
    assert!(!prepared.constrained, "without tools there is nothing to constrain");
    assert_eq!(request.request.left_out, ["user", "store"]);
    let clears = json!({"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]});
    let request = anthropic(json!({
        "stop_sequences": ["A", "B"], "top_k": 5, "n": 1, "metadata": {"user_id": "u"}, "context_management": clears,
        "fallbacks": "default",
    }))?;
    assert_eq!(request.request.left_out, ["metadata", "context_management", "fallbacks"]);
    assert_eq!((request.request.sampling.max_tokens, request.request.sampling.stop.len()), (Some(9), 2));
    assert_eq!(Value::Object(request.request.sampling.settings), json!({"top_k": 5}));
    Ok(())
}

#[test]
fn answers_may_have_to_be_json() -> Result<(), Failure> {
    let format = |fields: Value| -> Result<(ResponseFormat, bool), Failure> {
        let request = openai(json!({"response_format": fields}))?;
        Ok((request.request.response_format.clone(), request.prepare(&spec())?.constrained))
    };
    let schema = json!({"type": "object"});
    assert_eq!(format(json!({"type": "text"}))?, (ResponseFormat::Text, false));
    assert_eq!(format(json!({"type": "json_object"}))?, (ResponseFormat::JsonObject, true));
    let named = json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}});
    assert_eq!(format(named)?, (ResponseFormat::JsonSchema(schema.clone()), true));
    let request =
        anthropic(json!({"output_config": {"format": {"type": "json_schema", "schema": schema}, "effort": "low"}}))?;
    assert_eq!(request.request.response_format, ResponseFormat::JsonSchema(schema));
    assert_eq!(request.request.reasoning_effort.as_deref(), Some("low"));
    // A system message says it as well; nobody else does.
    let said = |role: &str, effort: &str| json!({"role": role, "content": "Hi", "output_config": {"effort": effort}});
    let messages = json!([said("system", "low"), said("system", "high"), said("user", "max")]);
    assert_eq!(anthropic(json!({"messages": messages}))?.request.reasoning_effort.as_deref(), Some("high"));
    Ok(())
}

#[test]
fn thinking_is_switched() -> Result<(), Failure> {
    let mut spec = crate::support::spec();
    spec.reasoning.switch = "enable_thinking".into();
    let shown =
        |prepared: Prepared| (prepared.context.get("enable_thinking").cloned(), format!("{:?}", prepared.options));
    let says = |on: Option<bool>| {
        let options = Options::new().callable::<String>([]);
        (on.map(Value::from), format!("{:?}", on.map_or(options.clone(), |on| options.thinking(on))))
    };
    for (fields, on) in [
        (json!({}), None),
        (json!({"reasoning_effort": "none"}), Some(false)),
        (json!({"reasoning_effort": "high"}), Some(true)),
        (json!({"reasoning": {"effort": "none"}}), Some(false)),
        (json!({"chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "high"}), Some(false)),
    ] {
        assert_eq!(shown(openai(fields.clone())?.prepare(&spec)?), says(on), "{fields}");
    }
    for (fields, on) in [
        (json!({}), None),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), Some(true)),
        (json!({"thinking": {"type": "adaptive"}}), Some(true)),
        (json!({"thinking": {"type": "disabled"}}), Some(false)),
    ] {
        assert_eq!(shown(anthropic(fields.clone())?.prepare(&spec)?), says(on), "{fields}");
    }
    let without = crate::support::spec();
    let effort = openai(json!({"reasoning_effort": "high"}))?.prepare(&without)?.context;
    assert_eq!((&effort["reasoning_effort"], effort.get("")), (&json!("high"), None));
    Ok(())
}

#[test]
fn a_conversation_takes_the_form_that_the_template_needs() -> Result<(), Failure> {
    let request = openai(json!({"tools": tools(), "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "Ada"},
        {"role": "assistant", "content": null, "reasoning": "Hm.", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [true]}"}},
            {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{\"x\": \"cut sh"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "function", "name": "g", "content": "done"},
        {"role": "assistant", "content": [{"type": "text", "text": "It "}, {"type": "refusal", "refusal": "rains."}]},
    ]}))?;
    let usual = request.prepare(&spec())?;
    assert_eq!(usual.context["add_generation_prompt"], true);
    assert_eq!(
        usual.context["tools"][0],
        json!({"type": "function", "function": {
        "name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}})
    );
    let offered: Value =
        usual.context["tools"].as_array().into_iter().flatten().map(|tool| tool["function"].clone()).collect();
    let with = |messages: Messages| {
        let mut spec = spec();
        spec.messages = messages;
        spec
    };
    let functions = |form, always| with(Messages { functions: Functions { form, always }, ..Messages::default() });
    for (form, expected) in [
        (FunctionsForm::Unset, None),
        (FunctionsForm::List, Some(offered.clone())),
        (FunctionsForm::Text, Some(offered.to_string().into())),
    ] {
        let context = request.prepare(&functions(form, false))?.context;
        assert_eq!(context.get("functions"), expected.as_ref(), "{form:?}");
    }
    // Some templates fail without the variable, also where nothing is offered.
    let alone = openai(json!({}))?;
    assert_eq!(alone.prepare(&functions(FunctionsForm::List, true))?.context["functions"], json!([]));
    assert_eq!(alone.prepare(&functions(FunctionsForm::List, false))?.context.get("functions"), None);
    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        usual.context["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a\nb", "name": "Ada"},
            {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [
                call("1", "f", json!({"b": 1, "a": [true]})), call("2", "g", json!({"x": "cut sh"}))]},
            {"role": "tool", "content": "ok", "tool_call_id": "1"},
            {"role": "tool", "content": "done", "tool_call_id": "2", "name": "g"},
            {"role": "assistant", "content": "It rains."},
        ])
    );
    let mut other = spec();
    other.messages = Messages {
        arguments: ArgumentsForm::Text,
        content: ContentForm::Parts,
        system: SystemPlace::Nowhere,
        ids: CallIdForm::Nine,
        result_name: true,
        ..Messages::default()
    };
    other.reasoning.field = "thinking".into();
    let messages = request.prepare(&other)?.context["messages"].clone();
    assert_eq!(
        messages[0],
        json!({"role": "user", "content": [{"type": "text", "text": "Be brief.\n\na\nb"}], "name": "Ada"})
    );
    assert_eq!(
        (&messages[1]["thinking"], &messages[1]["content"]),
        (&json!("Hm."), &json!([{"type": "text", "text": ""}]))
    );
    assert_eq!(messages[1]["tool_calls"][1]["function"]["arguments"], "{\"x\": \"cut sh\"}");
    let id = messages[1]["tool_calls"][0]["id"].as_str().unwrap_or_default();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!((&messages[2]["tool_call_id"], &messages[2]["name"]), (&json!(id), &json!("f")));
    let mut other = spec();
    other.reasoning.field = "content.thinking".into();
    assert_eq!(
        request.prepare(&other)?.context["messages"][2]["content"],
        json!([{"type": "thinking", "thinking": "Hm."}])
    );
    Ok(())
}

#[test]
fn a_long_conversation_is_prepared_in_little_time() -> Result<(), Failure> {
    // Each result answers the first call: looking through all calls for each would take minutes.
    const COUNT: usize = 30_000;
    let mut messages = vec![json!({"role": "user", "content": "Hi"})];
    let call = |at: usize| json!({"id": at.to_string(), "function": {"name": format!("f{at}"), "arguments": "{}"}});
    messages.extend((0..COUNT).map(|at| json!({"role": "assistant", "tool_calls": [call(at)]})));
    messages.extend((0..COUNT).map(|_| json!({"role": "tool", "tool_call_id": "0", "content": ""})));
    messages.extend((0..COUNT).map(|_| json!({"role": "function", "name": "f0", "content": ""})));
    let context = openai(json!({"messages": messages}))?.prepare(&spec())?.context;
    assert_eq!(context["messages"][2 * COUNT]["tool_call_id"], "0");
    assert_eq!(context["messages"][3 * COUNT]["tool_call_id"], "0");
    // The same for results that name the item of their call, and for tools that items add.
    let shell = |at: usize| json!({"type": "local_shell_call", "id": at.to_string(), "call_id": "c", "action": {}});
    let result = |at: usize| json!({"type": "local_shell_call_output", "id": at.to_string(), "output": ""});
    let added = |at: usize| json!({"type": "custom", "name": at.to_string()});
    let mut items: Vec<Value> = (0..COUNT).map(shell).chain((0..COUNT).map(result)).collect();
    items.push(json!({"type": "additional_tools", "tools": (0..COUNT).map(added).collect::<Vec<_>>()}));
    items.extend((0..COUNT).map(|at| json!({"type": at.to_string()})));
    let request = ResponsesRequest::from_value(&json!({"model": "m", "input": items}))?.request;
    assert_eq!((request.messages.len(), request.tools.len(), request.ignored_tools.len()), (COUNT + 1, COUNT, 17));
    assert_eq!(request.messages[COUNT].tool_call_id.as_deref(), Some("c"));
    Ok(())
}

#[test]
fn ids_go_on_where_the_conversation_ends() -> Result<(), Failure> {
    let call = json!({"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let request =
        openai(json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": ""}]}))?;
    let named = Messages { ids: CallIdForm::Named, ..Messages::default() };
    let mut other = spec();
    other.messages = named;
    let mut ids = request.prepare(&other)?.call_ids;
    assert_eq!(ids.next("f", Some("functions.f:0")), "functions.f:1");
    let mut ids = anthropic(json!({}))?.prepare(&spec())?.call_ids;
    assert!(ids.next("f", None).starts_with("toolu_"));
    Ok(())
}

/// Puts a value in the place of each value of a request, one at a time.
fn replaced(value: &Value, other: &Value, found: &mut Vec<Value>) {
    found.push(other.clone());
    let mut inside = |inner: &Value, put: &dyn Fn(&mut Value, Value)| {
        let mut variants = Vec::new();
        replaced(inner, other, &mut variants);
        found.extend(variants.into_iter().map(|variant| {
            let mut whole = value.clone();
            put(&mut whole, variant);
            whole
        }));
    };
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, item)| inside(item, &|whole, new| whole[at] = new))
        }
        Value::Object(map) => map.iter().for_each(|(key, item)| inside(item, &|whole, new| whole[key] = new)),
        _ => {}
    }
}

#[test]
fn whatever_is_sent_is_read_or_refused() {
    let chat = json!({
        "model": "m", "tools": tools(), "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": "f"}}]}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}, "stop": ["a"],
        "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 3, "n": 1, "parallel_tool_calls": true,
        "reasoning_effort": "low", "chat_template_kwargs": {"a": 1}, "modalities": ["text"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "n"},
            {"role": "assistant", "content": "a", "reasoning_content": "r", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
        ],
    });
    let blocks = json!({
        "model": "m", "max_tokens": 3, "system": [{"type": "text", "text": "s"}], "thinking": {"type": "enabled"},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}], "stop_sequences": ["a"],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "output_config": {"format": {"type": "json_schema", "schema": {}}, "effort": "low"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": ""}, {"type": "text", "text": "a"},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]},
        ],
    });
    assert!(ChatRequest::from_value(&chat).is_ok() && MessagesRequest::from_value(&blocks).is_ok());
    let spec = spec();
    let mut refused = 0;
    for other in
        [json!(null), json!(true), json!(-1.5), json!("x"), json!([]), json!([[{}]]), json!({}), json!({"type": "x"})]
    {
        let mut variants = Vec::new();
        replaced(&chat, &other, &mut variants);
        let chats = variants.iter().map(|one| ChatRequest::from_value(one).and_then(|one| one.prepare(&spec)).err());
        let mut variants_of_blocks = Vec::new();
        replaced(&blocks, &other, &mut variants_of_blocks);
        let messages = variants_of_blocks
            .iter()
            .map(|one| MessagesRequest::from_value(one).and_then(|one| one.prepare(&spec)).err());
        for error in chats.chain(messages).flatten() {
            assert_eq!(error.status(), 400);
            assert!(error.message().contains("; "), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn variables_of_the_template_replace_nothing_of_the_request_or_the_model() -> Result<(), Failure> {
    for name in ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"] {
        let fields = json!({"chat_template_kwargs": {name: "x"}});
        for request in [openai(fields.clone()).map(|_| ()), anthropic(fields).map(|_| ())] {
            let error = request.unwrap_err();
            assert_eq!(error.param(), Some(&*format!("chat_template_kwargs.{name}")));
        }
    }
    let request = openai(json!({"chat_template_kwargs": {"enable_thinking": false}}))?;
    assert_eq!(request.request.template_variables["enable_thinking"], false);
    Ok(())
}

#[test]
fn the_result_of_a_call_that_failed_says_so() -> Result<(), Failure> {
    for (content, expected) in [("no such city", "Error: no such city"), ("ERROR 5", "ERROR 5"), ("", "Error:")] {
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": content, "is_error": true});
        let call = json!({"type": "tool_use", "id": "c", "name": "f", "input": {}});
        let request = anthropic(json!({"messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]},
        ]}))?;
        let last = request.request.messages.last().ok_or("no message")?;
        assert_eq!(last.content.as_deref(), Some(expected));
    }
    Ok(())
}

#[test]
fn a_sentence_stands_in_the_place_of_what_is_no_text() -> Result<(), Failure> {
    let sentence = |what: &str| format!("Look:\n[{what} was sent here, and cannot be shown: only text can be read]");
    for (part, what) in [
        (json!({"type": "image_url", "image_url": {"url": "x"}}), "An image"),
        (json!({"type": "input_audio", "input_audio": {}}), "A recording"),
        (json!({"type": "file", "file": {}}), "A file"),
    ] {
        let request = openai(user(part))?.request;
        assert_eq!(request.messages[0].content, Some(sentence(what)));
        assert_eq!(request.replaced, ["messages[0].content[1]"]);
    }
    for (part, expected) in [
        (json!({"type": "image", "source": {}}), sentence("An image")),
        (json!({"type": "document", "source": {"type": "base64", "data": "x"}}), sentence("A document")),
        (json!({"type": "document", "source": {"type": "text", "data": "Rain."}}), "Look:\nRain.".to_owned()),
        (json!({"type": "search_result", "content": [{"type": "text", "text": "Rain."}]}), "Look:\nRain.".to_owned()),
    ] {
        let request = anthropic(user(part))?.request;
        assert_eq!(
            (request.messages[0].content.as_ref(), request.replaced.is_empty()),
            (Some(&expected), !expected.contains('['))
        );
    }
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": {}}]});
    let request = anthropic(json!({"messages": [{"role": "user", "content": [result]}]}))?.request;
    assert_eq!(request.replaced, ["messages[0].content[0].content[0]"]);
    Ok(())
}

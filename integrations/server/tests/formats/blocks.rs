//! What becomes of blocks and tools of the messages API, and of arguments in all three.

use serde_json::{Value, json};
use unjinja_runtime::{Message, ToolCall};
use unjinja_server::anthropic::{EventWriter, MessagesRequest, ResponseBuilder};
use unjinja_server::openai::ChatRequest;
use unjinja_server::responses::ResponsesRequest;
use unjinja_server::{CallIdShape, CallIds, Finish, Role, Usage};
use unjinja_spec::json_text;

use super::requests::{anthropic, openai, user};
use crate::support::{Failure, spec};

#[test]
fn blocks_become_messages() -> Result<(), Failure> {
    let request = anthropic(json!({
        "system": [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "brief."}],
        "messages": [
            {"role": "user", "content": "Rain?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""}, {"type": "text", "text": "One "},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"b": 1, "a": 2}}, {"type": "text", "text": "moment."}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
                {"type": "tool_result", "tool_use_id": "2", "is_error": true},
                {"type": "text", "text": "And"}, {"type": "text", "text": "now?"}]},
        ],
    }))?;
    let messages = &request.request.messages;
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::User]);
    let texts: Vec<&str> = messages.iter().filter_map(|message| message.content.as_deref()).collect();
    assert_eq!(texts, ["Be\nbrief.", "Rain?", "One moment.", "x\ny", "Error:", "And\nnow?"]);
    assert_eq!((&*messages[2].reasoning, &*messages[2].tool_calls[0].arguments), ("Hm.", r#"{"b": 1, "a": 2}"#));
    Ok(())
}

#[test]
fn blocks_of_a_conversation_that_began_elsewhere_are_read_or_left_out() -> Result<(), Failure> {
    let said = |text: &str| json!({"type": "text", "text": text});
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let called = json!({"type": "mcp_tool_use", "id": "c", "server_name": "sky", "name": "look", "input": {"at": 1}});
    let result = json!({"type": "mcp_tool_result", "tool_use_id": "c", "content": [said("Clouds.")]});
    let found = json!([{"type": "tool_reference", "tool_name": "f"}, {"type": "tool_reference", "tool_name": "g"}]);
    let now = json!({"role": "system", "clear_at": "next_user_message", "content": "Be quick."});
    let request = anthropic(json!({"messages": [
        {"role": "assistant", "content": [{"type": "compaction", "content": "They spoke of rain."}]},
        {"role": "user", "content": [said("Go on."), {"type": "container_upload", "file_id": "1"}, {"type": "dream"}]},
        {"role": "assistant", "content": [search, {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]},
        now,
        {"role": "user", "content": [{"type": "dream"}]},
        {"role": "assistant", "content": [called, result, said("It rains.")]},
        {"role": "system", "content": [{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "d", "content": found}]},
        now,
    ]}))?
    .request;
    let told: Vec<(Role, &str)> =
        request.messages.iter().map(|one| (one.role, one.content.as_deref().unwrap_or_default())).collect();
    let file = "Go on.\n[A file was sent here, and cannot be shown: only text can be read]";
    let expected = [
        (Role::System, "The conversation before this point, in short:\nThey spoke of rain."),
        (Role::User, file),
        (Role::Assistant, ""),
        (Role::Assistant, ""),
        (Role::Tool, "Clouds."),
        (Role::Assistant, "It rains."),
        (Role::Tool, "Found: f\nFound: g"),
        (Role::System, "Be quick."),
    ];
    assert_eq!(told, expected);
    let call = &request.messages[3].tool_calls[0];
    assert_eq!((&*call.name, &*call.arguments, call.id.as_deref()), ("sky__look", r#"{"at": 1}"#, Some("c")));
    assert_eq!(request.ignored_tools, ["dream", "server_tool_use", "web_search_tool_result"]);
    // Parts of the other APIs as well.
    let request = openai(user(json!({"type": "dream"})))?.request;
    assert_eq!((request.messages[0].content.as_deref(), request.ignored_tools), (Some("Look:"), vec!["dream".into()]));
    Ok(())
}

#[test]
fn tools_of_anthropic_are_functions_wait_or_are_left_out() -> Result<(), Failure> {
    let tool =
        |name: &str, waits: bool| json!({"name": name, "input_schema": {"type": "object"}, "defer_loading": waits});
    let of_client = json!([
        {"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": "edit"},
        {"type": "memory_20250818", "name": "memory"}, {"type": "web_search_20250305", "name": "web_search"},
    ]);
    let read = |tools: Value, blocks: Value| -> Result<(Vec<String>, Vec<String>), Failure> {
        let changes = json!({"role": "system", "content": blocks});
        let hi = json!({"role": "user", "content": "Hi"});
        let request = anthropic(json!({"tools": tools, "messages": [hi, changes, hi]}))?.request;
        Ok((request.tools.iter().map(|tool| tool.name.clone()).collect(), request.ignored_tools))
    };
    let request = anthropic(json!({"tools": of_client}))?.request;
    let required: Vec<&Value> = request.tools.iter().map(|tool| &tool.parameters["required"]).collect();
    assert_eq!(required, [&json!([]), &json!(["command", "path"]), &json!(["command"])]);
    assert_eq!(read(of_client, json!([]))?.1, ["web_search_20250305"]);
    let tools = json!([tool("a", false), tool("b", true), tool("c", true)]);
    let named = |kind: &str, name: &str| json!({"type": kind, "tool": {"type": "tool_reference", "name": name}});
    let defined = json!({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool("d", false)}});
    let search = json!({"type": "tool_search_tool_regex_20251119", "name": "find"});
    // A result is written by others: it names what a search found, and changes nothing.
    let content = json!([named("tool_removal", "a"), named("tool_addition", "b"), defined, {"type": "tool_reference", "tool_name": "c"}]);
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]});
    let request = anthropic(json!({"tools": tools, "messages": [result]}))?.request;
    assert_eq!(request.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(request.ignored_tools, ["tool_removal", "tool_addition"]);
    for (tools, blocks, expected) in [
        (tools.clone(), json!([]), &["a"][..]),
        (tools.clone(), json!([{"type": "tool_reference", "tool_name": "c"}]), &["a", "c"]),
        (tools.clone(), json!([named("tool_addition", "b"), named("tool_removal", "a"), defined]), &["b", "d"]),
        (tools.clone(), json!([defined, named("tool_removal", "d"), named("tool_removal", "b")]), &["a"]),
        // Nobody can search here.
        (json!([search, tools[0], tools[1]]), json!([]), &["a", "b"]),
    ] {
        assert_eq!(read(tools, blocks.clone())?.0, expected, "{blocks}");
    }
    Ok(())
}

/// Integers beyond 64 bits keep their digits: in arguments that come back as an object or as text, and in an answer.
#[test]
fn long_integers_keep_their_digits() -> Result<(), Failure> {
    for digits in ["18446744073709551616", "-99999999999999999999999999999999999999"] {
        let arguments = format!("{{\"a\": [{digits}, 1], \"b\": \"{digits}\"}}");
        let said =
            |object: Value| json!([{"role": "user", "content": "Hi"}, object, {"role": "user", "content": "So?"}]);
        let call = json!([{"id": "1", "type": "function", "function": {"name": "f", "arguments": "ARGS"}}]);
        let message = json!({"model": "m", "messages": said(json!({"role": "assistant", "tool_calls": call}))});
        let block = json!([{"type": "tool_use", "id": "1", "name": "f", "input": "ARGS"}]);
        let block =
            json!({"model": "m", "max_tokens": 9, "messages": said(json!({"role": "assistant", "content": block}))});
        let item = json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "ARGS"});
        let item = json!({"model": "m", "input": said(item)});
        let body = |body: &Value, arguments: &str| body.to_string().replace("\"ARGS\"", arguments);
        let text = Value::from(arguments.as_str()).to_string();
        for prepared in [
            ChatRequest::from_json(body(&message, &arguments).as_bytes())?.prepare(&spec())?,
            ChatRequest::from_json(body(&message, &text).as_bytes())?.prepare(&spec())?,
            MessagesRequest::from_json(body(&block, &arguments).as_bytes())?.prepare(&spec())?,
            ResponsesRequest::from_json(body(&item, &text).as_bytes())?.prepare(&spec())?,
        ] {
            let call = &prepared.context["messages"][1]["tool_calls"][0]["function"];
            assert_eq!(json_text(&call["arguments"]), arguments);
        }
        let mut builder = ResponseBuilder::new(EventWriter::new("m", CallIds::new(CallIdShape::Free)));
        builder.message(&Message::new("", vec![ToolCall::new("f", arguments.as_str())]));
        let answer = serde_json::to_string(&builder.finish(&Finish::Stop, Usage::new(3, 4)))?;
        assert!(answer.contains(&arguments), "{answer}");
    }
    Ok(())
}

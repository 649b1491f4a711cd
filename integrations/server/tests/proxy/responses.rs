//! OpenAI's Responses API at the proxy: custom tools, what later requests name, and events that end in an error.

use serde_json::{Value, json};

use super::setup::{CALL, Failure, Running, chat, events};

const RESPONSES: &str = "/v1/responses";

fn request(more: Value) -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = json!({"type": "function", "name": "get_weather", "parameters": parameters});
    let mut body = json!({"model": "qwen3", "input": "Rain in Zürich?", "tools": [tool]});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

/// The types of the items of a response.
fn kinds(response: &Value) -> Vec<&str> {
    response["output"].as_array().into_iter().flatten().filter_map(|item| item["type"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_has_reasoning_text_and_calls_as_items() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let (status, response) = proxy.json(RESPONSES, &request(json!({"instructions": "Be brief."}))).await?;
    assert_eq!((status, kinds(&response)), (200, vec!["reasoning", "message", "function_call"]), "{response}");
    let output = &response["output"];
    assert_eq!(output[0]["content"][0], json!({"type": "reasoning_text", "text": "Hm, é."}));
    assert_eq!(output[1]["content"][0]["text"], "Let me look.");
    assert_eq!(output[2]["arguments"], r#"{"city": "Zürich"}"#);
    assert_eq!((&response["status"], &response["instructions"]), (&json!("completed"), &json!("Be brief.")));
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.find("Be brief.") < prompt.find("Rain in Zürich?"), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_wants_a_summary_gets_the_reasoning_and_sends_it_back() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let asks = json!({"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": false});
    let (_, response) = proxy.json(RESPONSES, &request(asks)).await?;
    let reasoning = &response["output"][0];
    assert_eq!(reasoning["summary"], json!([{"type": "summary_text", "text": "Hm, é."}]));
    // A client keeps no more of it than this.
    let mut input = vec![json!({"role": "user", "content": "Rain in Zürich?"})];
    input.push(json!({"type": "reasoning", "summary": [], "encrypted_content": reasoning["encrypted_content"]}));
    input.extend(response["output"].as_array().ok_or("no output")?[1..].iter().cloned());
    let call_id = &response["output"][2]["call_id"];
    input.push(
        json!({"type": "function_call_output", "call_id": call_id, "output": [{"type": "input_text", "text": "Yes."}]}),
    );
    let (status, _) = proxy.json(RESPONSES, &request(json!({"input": input}))).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    // One turn of the model, and not three.
    let turn = "<|im_start|>assistant\n<think>\nHm, é.\n</think>\n\nLet me look.\n<tool_call>";
    assert_eq!((status, prompt.matches(turn).count()), (200, 1), "{prompt}");
    assert!(prompt.contains("<tool_response>\nYes.\n</tool_response>"), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_in_which_openai_ran_tools() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}});
    let input = json!([said("user", "Rain?"), search, search, said("assistant", "No."), said("user", "Sun?")]);
    let tools = json!([{"type": "web_search"}]);
    let answer = proxy.post(RESPONSES, &request(json!({"input": input, "tools": tools}))).await?;
    let ignored = answer.headers().get("x-unjinja-ignored-tools").cloned();
    assert_eq!((answer.status().as_u16(), ignored), (200, Some("web_search, web_search_call".parse()?)));
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains("No.<|im_end|>") && !prompt.contains("ws_1"), "{prompt}");
    // Items that nobody knows are left out as well, and an empty list is a request.
    for (input, named) in
        [(json!([said("user", "Rain?"), {"type": "dream"}]), Some("dream".parse()?)), (json!([]), None)]
    {
        let answer = proxy.post(RESPONSES, &request(json!({"input": input}))).await?;
        let ignored = answer.headers().get("x-unjinja-ignored-tools").cloned();
        assert_eq!((answer.status().as_u16(), ignored), (200, named));
    }
    Ok(())
}

/// Items that are calls and results of tools of the API, and the texts that the prompt has of them.
fn built_in() -> [(Value, &'static [&'static str]); 7] {
    let exec = json!({"type": "exec", "command": ["cat", "a.txt"], "env": {}});
    let operation = json!({"type": "delete_file", "path": "a.txt"});
    let outputs = json!([
        {"stdout": "one\n", "stderr": "odd", "outcome": {"type": "exit", "exit_code": 2}},
        {"stdout": "two", "stderr": "", "outcome": {"type": "timeout"}},
        {"stdout": "three", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    ]);
    let found = json!([{"type": "function", "name": "find_umbrella", "parameters": {"type": "object"}}]);
    let screenshot = json!({"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"});
    [
        (
            json!([
                {"type": "local_shell_call", "id": "ls_1", "call_id": "call_1", "status": "completed", "action": exec},
                {"type": "local_shell_call_output", "id": "ls_1", "output": "The text."},
            ]),
            &[r#"{"name": "local_shell", "arguments": {"command": ["cat", "a.txt"], "env": {}}}"#, "\nThe text.\n"],
        ),
        (
            json!([
                {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["a", "b", "c"]}},
                {"type": "shell_call_output", "call_id": "call_1", "output": outputs},
            ]),
            &[
                r#"{"name": "shell", "arguments": {"commands": ["a", "b", "c"]}}"#,
                "\none\nodd\n[exit code 2]\ntwo\n[It took too long and was ended.]\nthree\n",
            ],
        ),
        (
            json!([
                {"type": "apply_patch_call", "call_id": "call_1", "status": "completed", "operation": operation},
                {"type": "apply_patch_call_output", "call_id": "call_1", "status": "failed"},
            ]),
            &[r#"{"name": "apply_patch", "arguments": {"type": "delete_file", "path": "a.txt"}}"#, "\nfailed\n"],
        ),
        (
            json!([
                {"type": "computer_call", "call_id": "call_1", "status": "completed", "action": {"type": "screenshot"}},
                {"type": "computer_call_output", "call_id": "call_1", "output": screenshot},
            ]),
            &[r#"{"name": "computer", "arguments": {"action": {"type": "screenshot"}}}"#, "[An image was sent here"],
        ),
        (
            json!([
                {"type": "tool_search_call", "call_id": "call_1", "execution": "client", "arguments": {"query": "rain"}},
                {"type": "tool_search_output", "call_id": "call_1", "execution": "client", "tools": found},
            ]),
            &[r#"{"name": "tool_search", "arguments": {"query": "rain"}}"#, "Found: find_umbrella", "\"parameters\""],
        ),
        (
            json!([{"type": "mcp_call", "id": "mcp_1", "server_label": "sky", "name": "look", "arguments": "{\"at\": 1}",
                "output": "Clouds.", "status": "completed"}]),
            &[r#"{"name": "sky__look", "arguments": {"at": 1}}"#, "\nClouds.\n"],
        ),
        (
            json!([{"type": "mcp_call", "id": "mcp_1", "server_label": "sky", "name": "look", "error": {"code": 1}}]),
            &[r#"{"name": "sky__look", "arguments": {}}"#, "\nError: {\"code\":1}\n"],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_tools_of_the_api_are_calls_of_functions() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    for (items, texts) in built_in() {
        let user = json!({"role": "user", "content": "Go."});
        let said = json!({"role": "assistant", "content": "Let me look."});
        let input: Vec<Value> = [vec![user, said], items.as_array().cloned().unwrap_or_default()].concat();
        let (status, body) = proxy.json(RESPONSES, &request(json!({"input": input}))).await?;
        assert_eq!(status, 200, "{items}: {body}");
        let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
        for text in texts {
            assert!(prompt.contains(text), "{text:?} is missing: {prompt}");
        }
        // What the model said and the call are one turn.
        assert!(prompt.contains("Let me look.\n<tool_call>"), "{prompt}");
        let turns = prompt.matches("<|im_start|>assistant\n").count();
        assert_eq!((turns, prompt.matches("<tool_response>").count()), (2, 1), "{prompt}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn items_add_tools_and_change_settings() -> Result<(), Failure> {
    let output = "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"input\": \"x\"}}\n</tool_call><|im_end|>";
    let proxy = Running::simple(output, |_| {}).await?;
    let tools = json!([
        {"type": "custom", "name": "find", "description": "Finds umbrellas."},
        {"type": "function", "name": "get_weather", "description": "Another.", "parameters": {"type": "object"}},
    ]);
    let more = json!({"type": "additional_tools", "role": "developer", "tools": tools});
    let user = json!({"role": "user", "content": "Go."});
    let (status, body) = proxy.json(RESPONSES, &request(json!({"input": [more, user]}))).await?;
    assert_eq!((status, kinds(&body)), (200, vec!["custom_tool_call"]), "{body}");
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains("Finds umbrellas.") && !prompt.contains("Another."), "{prompt}");
    let update = |effort: &str| json!({"type": "configuration_update", "reasoning": {"effort": effort}});
    for (last, is_off) in [("none", true), ("high", false)] {
        let input = json!([update("low"), user, update(last)]);
        let (status, _) =
            proxy.json(RESPONSES, &request(json!({"input": input, "reasoning": {"effort": "low"}}))).await?;
        let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
        assert_eq!((status, prompt.ends_with("</think>\n\n")), (200, is_off), "{prompt}");
    }
    // A guarantee that cannot be enforced: this upstream gets no grammar.
    let update = json!({"type": "configuration_update", "text": {"format": {"type": "json_object"}}});
    let (status, body) = proxy.json(RESPONSES, &request(json!({"input": [user, update], "tools": []}))).await?;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("response_format")), "{body}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_stands_in_the_place_of_an_encrypted_summary() -> Result<(), Failure> {
    let summary = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"});
    let user = json!({"role": "user", "content": "Go on."});
    let asks = request(json!({"input": [summary, user]}));
    let proxy = Running::simple(CALL, |_| {}).await?;
    let (status, body) = proxy.json(RESPONSES, &asks).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert_eq!((status, prompt.matches("which another server encrypted").count()), (200, 1), "{body} {prompt}");
    assert!(!prompt.contains("gAAAA") && prompt.contains("Go on."), "{prompt}");
    let refusing = Running::simple(CALL, |config| config.refuse_media = true).await?;
    let (status, body) = refusing.json(RESPONSES, &asks).await?;
    assert_eq!((status, &body["error"]["param"]), (400, &json!("input[0]")), "{body}");
    // One that is made here is text.
    let asks = json!({"model": "qwen3", "input": [user, {"role": "assistant", "content": "I see."}]});
    let (status, body) = proxy.json("/v1/responses/compact", &asks).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(
        status == 200 && prompt.contains("I see.") && prompt.contains("Sum up this conversation"),
        "{body} {prompt}"
    );
    assert_eq!(
        (&body["object"], kinds(&body)),
        (&json!("response.compaction"), vec!["message", "compaction"]),
        "{body}"
    );
    proxy.json(RESPONSES, &request(json!({"input": body["output"]}))).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(
        prompt.contains("in short:\nLet me look.") && prompt.contains("Go on.") && !prompt.contains("I see."),
        "{prompt}"
    );
    // A summary that was cut off takes no place of a conversation, and the log says so.
    let mut cut = asks.clone();
    cut["fault"] = "length".into();
    assert_eq!(proxy.json("/v1/responses/compact", &cut).await?.0, 502);
    assert!(proxy.log.lock().unwrap().join("\n").contains("/v1/responses/compact 502"));
    for (body, param) in [
        (json!([]), None),
        (json!("x"), None),
        (json!({"model": "qwen3"}), Some("input")),
        (json!({"model": "qwen3", "input": 5}), Some("input")),
        (json!({"model": "qwen3", "input": "Hi", "own": 1}), Some("own")),
        (json!({"model": "qwen3", "input": "Hi", "background": true}), Some("background")),
    ] {
        let (status, error) = proxy.json("/v1/responses/compact", &body).await?;
        assert_eq!((status, error["error"]["param"].as_str()), (400, param), "{error}");
    }
    let (status, body) =
        proxy.json(RESPONSES, &request(json!({"input": [user, {"type": "compaction_trigger"}]}))).await?;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("unsupported_parameter")), "{body}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_tool_gets_its_text() -> Result<(), Failure> {
    let call =
        "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": \"*** Begin\\n+é\"}}\n</tool_call><|im_end|>";
    let proxy = Running::simple(call, |_| {}).await?;
    let format = json!({"type": "grammar", "syntax": "lark", "definition": "start: /.+/"});
    let tools = json!([
        {"type": "custom", "name": "patch", "description": "Changes files.", "format": format},
        {"type": "web_search"},
    ]);
    let answer = proxy.post(RESPONSES, &request(json!({"tools": tools, "stream": true}))).await?;
    assert_eq!(answer.headers()["x-unjinja-ignored-tools"], "web_search");
    let text = answer.text().await?;
    let events: Vec<Value> = events(&text).iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
    let done = events.iter().find(|event| event["type"] == "response.custom_tool_call_input.done").ok_or("no input")?;
    assert_eq!(done["input"], "*** Begin\n+é");
    let response = &events.last().ok_or("no event")?["response"];
    assert_eq!((kinds(response), &response["output"][0]["input"]), (vec!["custom_tool_call"], &done["input"]));
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains("start: /.+/") && !prompt.contains("web_search"), "{prompt}");
    // The call goes back as the model wrote it.
    let mut item = response["output"][0].clone();
    item["status"].take();
    let output = json!({"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Done."});
    let input = json!([{"role": "user", "content": "Go."}, item, output]);
    proxy.json(RESPONSES, &request(json!({"tools": tools, "input": input}))).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    let written = r#"{"name": "patch", "arguments": {"input": "*** Begin\n+é"}}"#;
    assert!(prompt.contains(written), "{prompt}");
    // Chat completions have the same tools.
    let chats = "/v1/chat/completions";
    let format = json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}});
    let tools = json!([{"type": "custom", "custom": {"name": "patch", "format": format}}, {"type": "web_search"}]);
    let choice = json!({"type": "custom", "custom": {"name": "patch"}});
    let (_, refused) = proxy.json(chats, &chat(json!({"tools": tools, "tool_choice": choice}))).await?;
    // It is read. This upstream gets no grammar, so the call cannot be guaranteed.
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("a call")), "{refused}");
    let (_, answer) = proxy.json(chats, &chat(json!({"tools": tools}))).await?;
    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(
        (&call["type"], &call["custom"]),
        (&json!("custom"), &json!({"name": "patch", "input": "*** Begin\n+é"}))
    );
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains("start: /.+/") && !prompt.contains("web_search"), "{prompt}");
    let streamed = proxy.post(chats, &chat(json!({"tools": tools, "stream": true}))).await?;
    assert_eq!(streamed.headers()["x-unjinja-ignored-tools"], "web_search");
    let text = streamed.text().await?;
    let begins = r#""type":"custom","custom":{"name":"patch","input":""}}"#;
    assert!(text.contains(begins) && text.contains(r#"{"index":0,"custom":{"input":"*** Begin\n+é"}}"#), "{text}");
    let messages = json!([{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "Done."}]);
    proxy.json(chats, &chat(json!({"tools": tools, "messages": messages}))).await?;
    let prompt = proxy.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains(written), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_of_a_namespace_is_called_by_both_names() -> Result<(), Failure> {
    let call = "<tool_call>\n{\"name\": \"files__read\", \"arguments\": {}}\n</tool_call><|im_end|>";
    let proxy = Running::simple(call, |_| {}).await?;
    let inner = json!([{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}]);
    let tools = json!([{"type": "namespace", "name": "files", "description": "Files.", "tools": inner}]);
    let (_, response) = proxy.json(RESPONSES, &request(json!({"tools": tools}))).await?;
    let call = &response["output"][0];
    assert_eq!((&call["namespace"], &call["name"]), (&json!("files"), &json!("read")), "{response}");
    // Models leave the namespace out. It is written where one function fits.
    let bare =
        Running::simple("<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call><|im_end|>", |_| {}).await?;
    let other = |kind: &str| json!([tools[0], {"type": kind, "name": "web", "tools": inner}, {"type": "function", "name": "x"}]);
    let plain = json!([tools[0], {"type": "function", "name": "read"}]);
    for (tools, namespace) in [(tools.clone(), json!("files")), (other("namespace"), Value::Null), (plain, Value::Null)]
    {
        let (_, response) = bare.json(RESPONSES, &request(json!({"tools": tools}))).await?;
        let call = &response["output"][0];
        assert_eq!((&call["namespace"], &call["name"]), (&namespace, &json!("read")), "{response}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn later_requests_name_responses_and_items() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let (_, first) = proxy.json(RESPONSES, &request(json!({}))).await?;
    assert_eq!(first["store"], true);
    let output = json!([{"type": "function_call_output", "call_id": first["output"][2]["call_id"], "output": "Yes."}]);
    let asks = json!({"previous_response_id": first["id"], "input": output});
    let (status, second) = proxy.json(RESPONSES, &request(asks)).await?;
    assert_eq!((status, &second["previous_response_id"]), (200, &first["id"]), "{second}");
    let named = proxy.replay.last()["prompt"].clone();
    // The same conversation, with its items by name, and whole.
    let user = json!({"role": "user", "content": "Rain in Zürich?"});
    let items = first["output"].as_array().ok_or("no output")?;
    let names = items.iter().map(|item| json!({"type": "item_reference", "id": item["id"]}));
    for middle in [names.collect::<Vec<_>>(), items.clone()] {
        let input: Vec<Value> = [vec![user.clone()], middle, output.as_array().cloned().unwrap_or_default()].concat();
        let (status, _) = proxy.json(RESPONSES, &request(json!({"input": input, "store": false}))).await?;
        assert_eq!((status, proxy.replay.last()["prompt"].clone()), (200, named.clone()));
    }
    let (status, error) = proxy.json(RESPONSES, &request(json!({"previous_response_id": "resp_gone"}))).await?;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("previous_response_not_found")), "{error}");
    let (status, error) = proxy.json(RESPONSES, &request(json!({"previous_response_id": 5}))).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("previous_response_id")), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_request_names_counts_as_its_own() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.limits.body = 5000).await?;
    let text = "x".repeat(1000);
    let (_, first) = proxy.json(RESPONSES, &request(json!({"input": text}))).await?;
    let names = |count| vec![json!({"type": "item_reference", "id": first["output"][0]["id"]}); count];
    for (count, expected) in [(2, 200), (60, 413)] {
        let input = [names(count), vec![json!({"role": "user", "content": "?"})]].concat();
        let (status, body) = proxy.json(RESPONSES, &request(json!({"input": input}))).await?;
        assert_eq!(status, expected, "{body}");
        assert_eq!(body["error"]["message"].as_str().is_some_and(|text| text.contains("name fewer")), status == 413);
    }
    let (mut previous, mut seen) = (first["id"].clone(), 200);
    for _ in 0..9 {
        let (status, next) =
            proxy.json(RESPONSES, &request(json!({"input": text, "previous_response_id": previous}))).await?;
        (previous, seen) = (next["id"].clone(), status);
        if status != 200 {
            break;
        }
    }
    assert_eq!(seen, 413);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_read_again_and_deleted() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let (_, first) = proxy.json(RESPONSES, &request(json!({"metadata": {"a": "b"}}))).await?;
    let path = format!("{RESPONSES}/{}", first["id"].as_str().ok_or("no id")?);
    let again = |found: (u16, String)| Ok::<_, Failure>((found.0, serde_json::from_str::<Value>(&found.1)?));
    assert_eq!(again(proxy.get(&path).await?)?, (200, first.clone()));
    let user = |text: &str| json!({"role": "user", "content": text});
    let (_, third) =
        proxy.json(RESPONSES, &request(json!({"input": [user("One"), user("Two"), user("Three")]}))).await?;
    let items = format!("{RESPONSES}/{}/input_items", third["id"].as_str().ok_or("no id")?);
    for (query, expected, more) in [("limit=2", ["Three", "Two"], true), ("order=asc", ["One", "Two"], false)] {
        let (status, list) = again(proxy.get(&format!("{items}?{query}")).await?)?;
        let texts = [&list["data"][0]["content"], &list["data"][1]["content"]];
        assert_eq!((status, texts, &list["has_more"]), (200, expected.map(|one| json!(one)).each_ref(), &json!(more)));
        let (_, rest) = again(
            proxy.get(&format!("{items}?{query}&after={}", list["data"][1]["id"].as_str().ok_or("no id")?)).await?,
        )?;
        assert_eq!(rest["data"].as_array().map(Vec::len), Some(1), "{rest}");
    }
    let (status, list) = again(proxy.get(&format!("{items}?limit=0")).await?)?;
    assert_eq!((status, list["data"].as_array().map(Vec::len)), (200, Some(1)), "{list}");
    let (status, error) = again(proxy.get(&format!("{items}?after=gone")).await?)?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("after")), "{error}");
    let streamed = proxy.post(RESPONSES, &request(json!({"stream": true}))).await?.text().await?;
    let last: Value = serde_json::from_str(events(&streamed).last().ok_or("no event")?)?;
    let id = last["response"]["id"].as_str().ok_or("no id")?;
    assert_eq!(
        again(proxy.get(&format!("{RESPONSES}/{id}?include_obfuscation=false")).await?)?,
        (200, last["response"].clone())
    );
    let (status, error) = again(proxy.get(&format!("{path}?stream=true")).await?)?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("stream")));
    let delete = async || {
        let answer = proxy.client.delete(format!("{}{path}", proxy.url)).send().await?;
        again((answer.status().as_u16(), answer.text().await?))
    };
    assert_eq!(delete().await?, (200, json!({"id": first["id"], "object": "response", "deleted": true})));
    for (status, body) in [delete().await?, again(proxy.get(&path).await?)?] {
        assert_eq!((status, &body["error"]["type"]), (404, &json!("invalid_request_error")), "{body}");
    }
    let (status, error) = proxy.json(RESPONSES, &request(json!({"previous_response_id": first["id"]}))).await?;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("previous_response_not_found")), "{error}");
    // What a client wants not to be stored is not there.
    let (_, unstored) = proxy.json(RESPONSES, &request(json!({"store": false}))).await?;
    let path = format!("{RESPONSES}/{}", unstored["id"].as_str().ok_or("no id")?);
    assert_eq!(proxy.get(&path).await?.0, 404);
    assert_eq!(proxy.post(&path, &json!({})).await?.status().as_u16(), 405);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_memory_names_are_refused() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |config| config.limits.responses = 0).await?;
    let (_, first) = proxy.json(RESPONSES, &request(json!({}))).await?;
    assert_eq!(first["store"], false);
    let (status, error) = proxy.json(RESPONSES, &request(json!({"previous_response_id": first["id"]}))).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("previous_response_id")), "{error}");
    let input = json!([{"type": "item_reference", "id": first["output"][0]["id"]}]);
    let (status, error) = proxy.json(RESPONSES, &request(json!({"input": input}))).await?;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("input[0]")), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fails_says_so_in_its_last_events() -> Result<(), Failure> {
    let proxy = Running::simple(CALL, |_| {}).await?;
    let text = proxy.post(RESPONSES, &request(json!({"stream": true, "fault": "error_event"}))).await?.text().await?;
    let events: Vec<Value> = events(&text).iter().map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?;
    let [.., error, last] = &events[..] else { return Err("too few events".into()) };
    assert_eq!((&error["type"], &last["type"]), (&json!("error"), &json!("response.failed")));
    assert!(last["response"]["error"]["message"].as_str().is_some_and(|text| text.contains("out of blocks")), "{last}");
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    // What fails is not kept.
    let id = &events[0]["response"]["id"];
    let (status, _) = proxy.json(RESPONSES, &request(json!({"previous_response_id": id}))).await?;
    assert_eq!(status, 400);
    Ok(())
}

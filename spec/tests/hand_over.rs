//! How messages are handed to a template: each form that a spec may name.

use serde_json::{Map, Value, json};
use unjinja_spec::{
    ArgumentsForm, CallIdForm, CallIdShape, CallIds, ContentForm, ContentWithCalls, EmptyContent, FormatSpec,
    Functions, FunctionsForm, Messages, ReasoningMode, SpecError, SystemPlace,
};

/// A spec with these messages.
fn spec(messages: Messages) -> Result<FormatSpec, SpecError> {
    let mut spec = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    spec.messages = messages;
    Ok(spec)
}

/// The messages, as the template gets them.
fn handed(spec: &FormatSpec, messages: Value) -> Value {
    let mut variables = Map::from_iter([("messages".to_owned(), messages)]);
    spec.hand_over(&mut variables);
    variables.remove("messages").unwrap_or_default()
}

fn call(id: &str, arguments: Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "rain", "arguments": arguments}})
}

fn called(id: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [call(id, json!("{\"day\": 1}"))]})
}

#[test]
fn what_the_template_reads_stays() -> Result<(), SpecError> {
    let spec = spec(Messages::default())?;
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Rain?"}], "name": "Ada"},
        {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes.", "extra": 1},
        "not a message",
    ]);
    assert_eq!(handed(&spec, messages.clone()), messages);
    Ok(())
}

#[test]
fn calls_have_one_form() -> Result<(), SpecError> {
    let usual = spec(Messages::default())?;
    // The key order is part of it: some templates print the whole call.
    let expected = r#"{"type":"function","id":"a","function":{"name":"rain","arguments":{"day":1}}}"#;
    for given in [
        call("a", json!("{\"day\": 1}")),
        call("a", json!({"day": 1})),
        json!({"name": "rain", "arguments": {"day": 1}, "id": "a"}),
        call("a", json!("{\"day\": 1")),
        call("a", json!("\"{\\\"day\\\": 1}\"")),
    ] {
        let all = handed(&usual, json!([{"role": "assistant", "tool_calls": [given]}]));
        assert_eq!(all[0]["tool_calls"][0].to_string(), expected);
        assert_eq!(all[0]["content"], "");
    }
    let text = spec(Messages { arguments: ArgumentsForm::Text, ..Messages::default() })?;
    for (given, expected) in [
        (json!({"day": 1}), "{\"day\":1}"),
        (json!("{\"day\":  1"), "{\"day\":  1}"),
        (json!("{\"day\":  1}"), "{\"day\":  1}"),
        (Value::Null, "{}"),
    ] {
        let all = handed(&text, json!([{"role": "assistant", "tool_calls": [call("a", given)]}]));
        assert_eq!(all[0]["tool_calls"][0]["function"]["arguments"], expected);
    }
    // Nothing is lost of what is not an object, or not JSON that can be read.
    let deep = "[".repeat(500) + &"]".repeat(500);
    for kept in ["[1]", "{\"x\": 1e400, \"y\": 2}", "Paris", "{'day': 3}", "{\"x\": NaN, \"y\": 1}", deep.as_str()] {
        let all = handed(&usual, json!([{"role": "assistant", "tool_calls": [call("a", json!(kept))]}]));
        assert_eq!(all[0]["tool_calls"][0]["function"]["arguments"], json!({"arguments": kept}));
    }
    for nothing in [Value::Null, json!("null"), json!(""), json!("{"), json!({})] {
        let all = handed(&usual, json!([{"role": "assistant", "tool_calls": [call("a", nothing)]}]));
        assert_eq!(all[0]["tool_calls"][0]["function"]["arguments"], json!({}));
    }
    let bare = handed(&usual, json!([{"role": "assistant", "tool_calls": [{"function": {"name": "now"}}]}]));
    assert_eq!(bare[0]["tool_calls"][0]["function"], json!({"name": "now", "arguments": {}}));
    Ok(())
}

#[test]
fn a_message_without_calls_has_no_such_field() -> Result<(), SpecError> {
    let usual = spec(Messages::default())?;
    for none in [Value::Null, json!([])] {
        let all = handed(&usual, json!([{"role": "assistant", "content": "Yes.", "tool_calls": none}]));
        assert_eq!(all, json!([{"role": "assistant", "content": "Yes."}]));
    }
    Ok(())
}

#[test]
fn contents_take_the_form_of_the_template() -> Result<(), SpecError> {
    let content = |messages: Messages| -> Result<Value, SpecError> {
        let all = handed(&spec(messages)?, json!([called("a"), {"role": "assistant", "content": "Yes."}]));
        Ok(json!([all[0].get("content"), all[1]["content"], all[0].as_object().map(|all| all.contains_key("content"))]))
    };
    let part = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(content(Messages::default())?, json!(["", "Yes.", true]));
    let with = |content_of_calls| Messages { content_of_calls, ..Messages::default() };
    assert_eq!(content(with(EmptyContent::Null))?, json!([null, "Yes.", true]));
    assert_eq!(content(with(EmptyContent::Absent))?, json!([null, "Yes.", false]));
    let parts = Messages { content: ContentForm::Parts, ..Messages::default() };
    assert_eq!(content(parts)?, json!([part(""), part("Yes."), true]));
    // Parts that are all texts become one text where the template takes no parts.
    let mut spec = spec(Messages::default())?;
    spec.capabilities.typed_content = false;
    let given = json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    assert_eq!(handed(&spec, given.clone())[0]["content"], "a\nb");
    spec.capabilities.typed_content = true;
    assert_eq!(handed(&spec, given.clone()), given);
    Ok(())
}

#[test]
fn reasoning_goes_where_the_template_takes_it() -> Result<(), SpecError> {
    let mut spec = spec(Messages::default())?;
    let given = || json!([{"role": "assistant", "reasoning": "Hm.", "content": "Yes."}]);
    let twice = json!([{"role": "assistant", "reasoning": "Hm.", "reasoning_content": "Hm.", "content": "Yes."}]);
    spec.reasoning.field = "reasoning".to_owned();
    assert_eq!(handed(&spec, twice.clone()), given());
    spec.reasoning.field = "thought".to_owned();
    assert_eq!(handed(&spec, twice), handed(&spec, given()));
    assert_eq!(handed(&spec, given()), json!([{"role": "assistant", "thought": "Hm.", "content": "Yes."}]));
    spec.reasoning.field = "content.thinking".to_owned();
    let parts = json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]);
    assert_eq!(handed(&spec, given())[0]["content"], parts);
    spec.reasoning.field = String::new();
    assert_eq!(handed(&spec, given())[0]["content"], "<think>\nHm.\n</think>\n\nYes.");
    let mixed = json!([{"type": "text", "text": "A"}, {"type": "image"}]);
    let all = handed(&spec, json!([{"role": "assistant", "reasoning_content": "Hm.", "content": mixed}]));
    assert_eq!(all[0]["content"][0]["text"], "<think>\nHm.\n</think>\n\n");
    assert_eq!(all[0]["content"][2], json!({"type": "image"}));
    // The content has it already.
    let twice = json!([{"role": "assistant", "reasoning_content": "Hm.", "content": "<think>\nHm.\n</think>\n\nYes."}]);
    assert_eq!(handed(&spec, twice)[0], json!({"role": "assistant", "content": "<think>\nHm.\n</think>\n\nYes."}));
    // With calls, only where the template keeps it: others lose the call.
    let called = || json!([{"role": "assistant", "reasoning_content": "Hm.", "tool_calls": [call("a", json!({}))]}]);
    // It stays beside the content, where it is seen to be missing.
    let all = handed(&spec, called());
    assert_eq!((&all[0]["content"], &all[0]["reasoning_content"]), (&json!(""), &json!("Hm.")));
    spec.messages.reasoning_with_calls = true;
    let all = handed(&spec, called());
    assert_eq!(
        (&all[0]["content"], &all[0]["reasoning_content"]),
        (&json!("<think>\nHm.\n</think>\n\n"), &Value::Null)
    );
    // A call after white space is a call after an empty block, which the template writes by itself.
    let empty =
        json!([{"role": "assistant", "reasoning_content": "\n", "content": "", "tool_calls": [call("a", json!({}))]}]);
    assert_eq!(handed(&spec, empty)[0]["content"], "");
    spec.reasoning.mode = ReasoningMode::None;
    assert_eq!(handed(&spec, given()), given());
    Ok(())
}

#[test]
fn ids_take_a_form_that_the_template_accepts() -> Result<(), SpecError> {
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "Sun."});
    let long = "call_Jx9QmZ0vTgRk3WbLyPd7Hf2A";
    for (form, given, expected) in [
        (CallIdForm::Any, long, long),
        (CallIdForm::Counted, "12", "12"),
        (CallIdForm::Counted, long, "0"),
        (CallIdForm::Named, long, "functions.rain:0"),
        (CallIdForm::Named, "functions.rain:7", "functions.rain:7"),
        (CallIdForm::Nine, "abcdefgh9", "abcdefgh9"),
    ] {
        let spec = spec(Messages { ids: form, ..Messages::default() })?;
        let all = handed(&spec, json!([called(given), result(given)]));
        assert_eq!((&all[0]["tool_calls"][0]["id"], &all[1]["tool_call_id"]), (&json!(expected), &json!(expected)));
    }
    let spec = spec(Messages { ids: CallIdForm::Nine, result_name: true, ..Messages::default() })?;
    let all = handed(&spec, json!([called(long), called("other"), result("other"), result(long)]));
    let ids: Vec<&str> = [&all[0]["tool_calls"][0]["id"], &all[1]["tool_calls"][0]["id"]]
        .into_iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.len() == 9), "{ids:?}");
    assert_eq!((&all[2]["tool_call_id"], &all[3]["tool_call_id"]), (&json!(ids[1]), &json!(ids[0])));
    assert_eq!(all[3]["name"], "rain");
    // Results without ids answer the calls in their order, and not those of an earlier message.
    let all = handed(&spec, json!([called(long), {"role": "tool", "content": "Sun."}]));
    assert_eq!(all[1]["tool_call_id"], all[0]["tool_calls"][0]["id"]);
    let all = handed(&spec, json!([called("a"), called("b"), {"role": "tool", "content": "Sun."}]));
    assert_eq!(all[2]["tool_call_id"], all[1]["tool_calls"][0]["id"]);
    // A result of no call.
    let all = handed(&spec, json!([result("gone")]));
    assert_eq!(all[0]["tool_call_id"].as_str().map(str::len), Some(9));
    Ok(())
}

#[test]
fn results_find_their_calls() -> Result<(), SpecError> {
    let named = spec(Messages { result_name: true, ..Messages::default() })?;
    let one = |id: Value, name: &str| json!({"id": id, "function": {"name": name, "arguments": {}}});
    let two = |a: Value, b: Value| json!({"role": "assistant", "tool_calls": [one(a, "rain"), one(b, "snow")]});
    let result = |id: Value| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let names = |messages: Value| {
        let all = handed(&named, messages);
        [1, 2].map(|at| all[at]["name"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(names(json!([two(json!(1), json!(2)), result(json!(2)), result(json!(1))])), ["rain", "snow"]);
    assert_eq!(names(json!([two(json!("x"), json!("x")), result(json!("x")), result(json!("x"))])), ["rain", "snow"]);
    // New ids are new.
    for (form, first) in [(CallIdForm::Counted, "1"), (CallIdForm::Named, "functions.rain:1")] {
        let spec = spec(Messages { ids: form, ..Messages::default() })?;
        let all = handed(&spec, json!([called(first), called("other")]));
        let ids = [0, 1].map(|at| all[at]["tool_calls"][0]["id"].clone());
        assert!(ids[0] == first && ids[1] != first, "{ids:?}");
    }
    let spec = spec(Messages { ids: CallIdForm::Named, ..Messages::default() })?;
    let all = handed(&spec, json!([called("functions.rain:abc")]));
    assert_eq!(all[0]["tool_calls"][0]["id"], "functions.rain:0");
    Ok(())
}

/// The contents and the ids of calls of all messages, in their order.
fn order(spec: &FormatSpec, messages: Value) -> Vec<String> {
    let of = |message: &Value| {
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| call["id"].to_string());
        let said = [&message["reasoning_content"], &message["content"]].into_iter().filter_map(Value::as_str);
        said.filter(|text| !text.is_empty()).map(str::to_owned).chain(calls).collect::<Vec<_>>().join("+")
    };
    handed(spec, messages).as_array().into_iter().flatten().map(of).collect()
}

#[test]
fn turns_with_calls_take_the_shape_of_the_template() -> Result<(), SpecError> {
    let message = |more: Value| {
        let mut message = json!({"role": "assistant", "tool_calls": [call("a", json!({})), call("b", json!({}))]});
        more.as_object().into_iter().flatten().for_each(|(key, value)| message[key] = value.clone());
        message
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let (kept, one) = (Messages::default(), Messages { one_call: true, ..Messages::default() });
    let [a, b, c] = [result("a", "A"), result("b", "B"), result("c", "C")];
    let both = r#""a"+"b""#;
    for (needs, results, expected) in [
        (kept, vec![&b, &a], vec![both, "A", "B"]),
        // Several results of one call, and one of no call.
        (kept, vec![&c, &b, &a, &b], vec![both, "A", "B", "B", "C"]),
        // Without all results they stay as they are.
        (kept, vec![&b, &c], vec![both, "B", "C"]),
        (one, vec![&b, &a], vec![r#""a""#, "A", r#""b""#, "B"]),
        (one, vec![&c, &b], vec![r#""a""#, r#""b""#, "B", "C"]),
    ] {
        let mut messages = vec![message(json!({}))];
        messages.extend(results.into_iter().cloned());
        assert_eq!(order(&spec(needs)?, json!(messages)), expected);
    }
    let with = |content_with_calls| Messages { content_with_calls, ..Messages::default() };
    let thinks = |needs| {
        let mut spec = spec(needs)?;
        spec.reasoning.field = "reasoning_content".to_owned();
        Ok::<_, SpecError>(spec)
    };
    for (way, expected) in [
        (ContentWithCalls::Kept, vec![r#"Hm.+Look.+"a"+"b""#]),
        (ContentWithCalls::Apart, vec!["Look.", r#"Hm.+"a"+"b""#]),
        (ContentWithCalls::InReasoning, vec!["Hm.\n\nLook.+\"a\"+\"b\""]),
    ] {
        let said = message(json!({"content": "Look.", "reasoning_content": "Hm."}));
        assert_eq!(order(&thinks(with(way))?, json!([said])), expected);
    }
    // Servers send reasoning in two fields: the content goes to the one that is read.
    let mut thought = thinks(with(ContentWithCalls::InReasoning))?;
    thought.reasoning.field = "thought".to_owned();
    let twice = message(json!({"content": "Look.", "reasoning_content": "Hm.", "thought": "Hm."}));
    assert_eq!(handed(&thought, json!([twice]))[0]["thought"], "Hm.\n\nLook.");
    // Reasoning that is written into contents stays before the content.
    thought.messages = with(ContentWithCalls::Apart);
    thought.reasoning.field.clear();
    let said = message(json!({"content": "Look.", "reasoning": "Hm."}));
    let expected = ["<think>\nHm.\n</think>\n\nLook.", r#""a"+"b""#];
    assert_eq!(order(&thought, json!([said])), expected);
    // It is in a message of its own without a content too, unless the template cuts it there.
    let silent = json!([message(json!({"thinking": "Hm."}))]);
    assert_eq!(order(&thought, silent.clone()), ["<think>\nHm.\n</think>\n\n", both]);
    thought.messages.drops_reasoning = true;
    assert_eq!(order(&thought, silent), ["Hm.+\"a\"+\"b\""]);
    // Between two messages of the user, one content is left: it comes before the last calls that have one, or is part of the answer.
    let joins = spec(with(ContentWithCalls::Joined))?;
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut turn = json!([said("user", "Go."), message(json!({"content": "Look."})), a, b]);
    let mut add = |more: Value| {
        turn.as_array_mut().into_iter().for_each(|turn| turn.push(more.clone()));
        order(&joins, turn.clone())
    };
    assert_eq!(add(message(json!({}))), ["Go.", "Look.", both, "A", "B", both]);
    assert_eq!(add(message(json!({"content": "More."}))), ["Go.", both, "A", "B", both, "Look.\n\nMore.", both]);
    assert_eq!(add(said("assistant", "Done.")), ["Go.", both, "A", "B", both, both, "Look.\n\nMore.\n\nDone."]);
    let whole = add(said("user", "And?"));
    assert_eq!(add(message(json!({"content": "Look."})))[whole.len()..], ["Look.", both]);
    let alone = message(json!({"content": "Look."}));
    assert_eq!(order(&thinks(with(ContentWithCalls::InReasoning))?, json!([alone])), [r#"Look.+"a"+"b""#]);
    Ok(())
}

#[test]
fn calls_that_the_template_does_not_write_are_content() -> Result<(), unjinja_testkit::Failure> {
    let native = "format = 'json_native'\nname_field = 'name'\nargs_field = 'args'\n";
    let object = r#"{"name": "rain", "args": {"day": 1, "on": true, "at": "é"}}"#;
    let array = format!("<c>[{object}, {object}]</c>");
    let two = format!("<c>\n{object}\n</c>\n<c>\n{object}\n</c>");
    let cases = [
        (format!("{native}tools_array_wrapped = true\nsection_start = '<c>'\nsection_end = '</c>'"), &*array),
        (format!(r#"{native}per_call_start = "<c>\n"{n}per_call_end = "\n</c>"{n}separator = "\n""#, n = '\n'), &two),
        (
            "format = 'call_expression'\nsection_start = '['\nsection_end = ']'\nseparator = ', '\nfunction.name_suffix = '('\n\
             function.close = ')'\narguments.name_suffix = '='\narguments.separator = ', '"
                .to_owned(),
            r#"[rain(day=1, on=True, at="é"), rain(day=1, on=True, at="é")]"#,
        ),
        (
            "format = 'tag_with_json'\nfunction.name_prefix = '<f='\nfunction.name_suffix = '>'\nfunction.close = '</f>'".to_owned(),
            r#"<f=rain>{"day": 1, "on": true, "at": "é"}</f><f=rain>{"day": 1, "on": true, "at": "é"}</f>"#,
        ),
        (
            "format = 'tag_with_tagged'\nfunction.name_prefix = '<'\nfunction.name_suffix = '>'\nfunction.close = '</${name}>'\n\
             arguments.name_prefix = '<a='\narguments.name_suffix = '>'\narguments.value_suffix = '</a>'"
                .to_owned(),
            "<rain><a=day>1</a><a=on>true</a><a=at>é</a></rain><rain><a=day>1</a><a=on>true</a><a=at>é</a></rain>",
        ),
    ];
    // Integers beyond 64 bits keep their digits.
    let day = "-99999999999999999999999999999999999999";
    let one = call("a", format!("{{\"day\": {day}, \"on\": true, \"at\": \"é\"}}").into());
    let message = || json!({"role": "assistant", "content": "Look. ", "tool_calls": [one, one]});
    let mut spec = spec(Messages { calls_in_content: true, ..Messages::default() })?;
    // A spec that says nothing of calls cannot write them.
    spec.tools = Default::default();
    assert_eq!(handed(&spec, json!([message()]))[0]["tool_calls"].as_array().map(Vec::len), Some(2));
    for (tools, expected) in cases {
        spec.tools = toml::from_str(&tools)?;
        assert_eq!(
            handed(&spec, json!([message()])),
            json!([{"role": "assistant", "content": format!("Look. {}", expected.replace('1', day))}])
        );
    }
    // What was written is told, behind reasoning that was written, too.
    spec.reasoning.field.clear();
    spec.reasoning.mode = ReasoningMode::TagBased;
    (spec.reasoning.start, spec.reasoning.end) = ("<think>".to_owned(), "</think>".to_owned());
    let native =
        "format = 'json_native'\nname_field = 'n'\nargs_field = 'a'\nper_call_start = '<c>'\nper_call_end = '</c>'";
    let tagged = "format = 'tag_with_tagged'\nper_call_start = '<c>'\nper_call_end = '</c>'\nfunction.name_prefix = '<'\n\
        function.name_suffix = '>'\nfunction.close = '</${name}>'\narguments.name_prefix = '<a='\n\
        arguments.name_suffix = '>'\narguments.value_suffix = '</a>'";
    for (tools, name, expected, markers) in [
        (native, "rain", r#"<c>{"n": "rain", "a": {"day": "</c>"}}</c>"#, vec!["<c>", "</c>"]),
        // A name is no marker, wherever it is written.
        (
            tagged,
            "x<|im_end|>",
            "<c><x<|im_end|>><a=day></c></a></x<|im_end|>></c>",
            vec!["<c><", "><a=", ">", "</a></", "></c>"],
        ),
    ] {
        spec.tools = toml::from_str(tools)?;
        for form in [ContentForm::Text, ContentForm::Parts] {
            spec.messages.content = form;
            let call = json!({"function": {"name": name, "arguments": {"day": "</c>"}}});
            let said =
                json!([{"role": "assistant", "reasoning_content": "Hm.", "content": "Look. ", "tool_calls": [call]}]);
            let mut variables = Map::from_iter([("messages".to_owned(), said)]);
            let tags = spec.hand_over(&mut variables);
            let content = &variables["messages"][0]["content"];
            let content = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
            assert_eq!(content, format!("<think>Hm.</think>Look. {expected}"));
            let written: Vec<&str> = tags[0].ranges.iter().map(|range| &content[range.clone()]).collect();
            assert_eq!(written, [vec!["<think>", "</think>"], markers.clone()].concat());
            assert!(tags[0].ranges.last().is_some_and(|last| last.end == content.len()));
        }
    }
    // Calls do not replace an image.
    let image = json!([{"type": "text", "text": "Look. "}, {"type": "image"}]);
    let all = handed(&spec, json!([{"role": "assistant", "content": image, "tool_calls": [call("a", json!({}))]}]));
    assert_eq!((&all[0]["content"], all[0]["tool_calls"].as_array().map(Vec::len)), (&image, Some(1)));
    Ok(())
}

#[test]
fn new_ids_have_the_form_of_the_format() -> Result<(), SpecError> {
    let shape = |ids| -> Result<CallIdShape, SpecError> {
        Ok(CallIdShape::of(&spec(Messages { ids, ..Messages::default() })?))
    };
    assert_eq!((shape(CallIdForm::Any)?, shape(CallIdForm::Nine)?), (CallIdShape::Free, CallIdShape::Nine));
    assert_eq!(shape(CallIdForm::Counted)?, CallIdShape::Counted);
    let named = spec(Messages { ids: CallIdForm::Named, ..Messages::default() })?;
    assert_eq!(CallIds::of(&named).next("rain", None), "functions.rain:0");
    Ok(())
}

#[test]
fn system_messages_go_where_they_are_rendered() -> Result<(), SpecError> {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let given =
        || json!([said("system", "A"), said("user", "B"), said("system", "C"), said("user", "D"), said("system", "E")]);
    let of = |system| -> Result<Value, SpecError> {
        Ok(handed(&spec(Messages { system, ..Messages::default() })?, given()))
    };
    assert_eq!(of(SystemPlace::Anywhere)?, given());
    assert_eq!(of(SystemPlace::First)?, json!([said("system", "A\n\nC\n\nE"), said("user", "B"), said("user", "D")]));
    assert_eq!(of(SystemPlace::Nowhere)?, json!([said("user", "A\n\nB\n\nC"), said("user", "D\n\nE")]));
    let first = spec(Messages { system: SystemPlace::First, ..Messages::default() })?;
    let late = handed(&first, json!([said("user", "B"), said("system", "C")]));
    assert_eq!(late, json!([said("system", "C"), said("user", "B")]));
    assert_eq!(handed(&first, json!([said("user", "B"), said("system", "")])), json!([said("user", "B")]));
    let parts = json!([{"type": "image"}, {"type": "text", "text": "A"}]);
    let all = handed(
        &first,
        json!([{"role": "system", "name": "n", "content": parts}, said("user", "B"), said("system", "C")]),
    );
    assert_eq!((&all[0]["name"], &all[0]["content"][1]["text"]), (&json!("n"), &json!("A\n\nC")));
    Ok(())
}

/// What was handed over stays as it was when the conversation grows, so servers need not read it again. Only a system message
/// that moves to the front changes it.
#[test]
fn a_conversation_only_grows() -> Result<(), SpecError> {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let long = "call_Jx9QmZ0vTgRk3WbLyPd7Hf2A";
    let all = [
        said("system", "A"),
        said("user", "B"),
        called(long),
        json!({"role": "tool", "tool_call_id": long, "content": "Sun."}),
        json!({"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."}),
        said("user", "C"),
        said("system", "D"),
        said("assistant", "E"),
        called("x"),
        json!({"role": "tool", "content": "Snow."}),
        said("user", "F"),
    ];
    for ids in [CallIdForm::Any, CallIdForm::Nine, CallIdForm::Counted, CallIdForm::Named] {
        for system in [SystemPlace::Anywhere, SystemPlace::Nowhere] {
            let spec = spec(Messages { ids, system, ..Messages::default() })?;
            let whole = handed(&spec, json!(all));
            for length in
                (0..all.len()).filter(|&length| all[..length].last().is_some_and(|last| last["role"] != "user"))
            {
                let part = handed(&spec, json!(all[..length]));
                let part = part.as_array().map_or(&[][..], Vec::as_slice);
                let waits = usize::from(system == SystemPlace::Nowhere && length == 1);
                let part = &part[..part.len() - waits];
                assert_eq!(
                    whole.as_array().map(|whole| &whole[..part.len()]),
                    Some(part),
                    "{ids:?} {system:?} {length}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn functions_are_offered_in_their_form() -> Result<(), SpecError> {
    let tools = json!([{"type": "function", "function": {"name": "rain"}}]);
    for (form, always, offered, expected) in [
        (FunctionsForm::Unset, false, true, None),
        (FunctionsForm::List, false, true, Some(json!([{"name": "rain"}]))),
        (FunctionsForm::List, false, false, None),
        (FunctionsForm::List, true, false, Some(json!([]))),
        (FunctionsForm::Text, false, true, Some(json!("[{\"name\":\"rain\"}]"))),
    ] {
        let spec = spec(Messages { functions: Functions { form, always }, ..Messages::default() })?;
        let mut variables = Map::new();
        variables.extend(offered.then(|| ("tools".to_owned(), tools.clone())));
        spec.hand_over(&mut variables);
        assert_eq!(variables.get("functions"), expected.as_ref(), "{form:?}");
    }
    Ok(())
}

//! What a client assembles from a stream equals the message, for random sequences of events.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use unjinja_runtime::{Diagnostic, DiagnosticKind, Event, Message};
use unjinja_server::anthropic::{EventWriter, ResponseBuilder};
use unjinja_server::openai::{ChatCompletion, ChunkWriter, ReasoningName};
use unjinja_server::responses::{ResponseEvent, ResponseWriter, ResponsesRequest};
use unjinja_server::{CallIdShape, CallIds, Finish, ModelIds, Usage, sse};
use unjinja_testkit::random::Random;

use crate::support::{assemble_chunks, assemble_events, cut, take_ids};

/// A part of a random turn.
#[derive(Debug, Clone)]
enum Item {
    Reasoning(String),
    Content(String),
    Unparsed(String),
    Call { name: String, id: Option<String>, arguments: String, complete: bool },
    Diagnostic(usize),
}

fn item(random: &mut Random, number: usize) -> Item {
    const ARGUMENTS: [&str; 7] = [
        "{}",
        r#"{"city": "Łódź", "days": [1, -2.5, null], "deep": {"a": {"b": "\u00e9\ud83d\ude00\n"}}}"#,
        "{\n  \"text\" : \"日本語 is long enough to be cut\" ,\n  \"on\" : true\n}",
        r#"{"path": "/tmp", "all": flase}"#,
        r#"{"a": 1} and more"#,
        "Paris",
        "",
    ];
    match random.below(7) {
        0 => Item::Reasoning(random.text()),
        1 | 2 => Item::Content(random.text()),
        3 => Item::Unparsed(random.text()),
        4 => Item::Diagnostic(random.below(3)),
        _ => {
            let whole = *random.pick(&ARGUMENTS);
            let end = (random.below(whole.len() + 1)..).find(|&at| whole.is_char_boundary(at)).unwrap_or_default();
            let complete = !random.once_in(3);
            let name = if random.once_in(2) { "get_weather" } else { "run" };
            Item::Call {
                name: name.to_owned(),
                id: random.once_in(2).then(|| format!("written{number}")),
                arguments: if complete { whole } else { &whole[..end] }.to_owned(),
                complete,
            }
        }
    }
}

/// Sends the events of items, their texts cut at random.
fn send(items: &[Item], model_ids: ModelIds, random: &mut Random, sink: &mut dyn FnMut(&Event<'_>)) {
    let mut index = 0;
    for item in items {
        match item {
            Item::Reasoning(text) => cut(text, random).into_iter().for_each(|text| sink(&Event::Reasoning(text))),
            Item::Content(text) => cut(text, random).into_iter().for_each(|text| sink(&Event::Content(text))),
            Item::Unparsed(text) => cut(text, random).into_iter().for_each(|text| sink(&Event::Unparsed(text))),
            Item::Diagnostic(call) => {
                sink(&Event::Diagnostic(Diagnostic::new(DiagnosticKind::UnknownTool, Some(*call), "f")));
            }
            Item::Call { name, id, arguments, complete } => {
                let early = id.as_deref().filter(|_| model_ids == ModelIds::WithName);
                sink(&Event::ToolCallStart { index, name, id: early });
                if let Some(id) = id.as_deref().filter(|_| model_ids == ModelIds::BeforeArguments) {
                    sink(&Event::ToolCallId { index, id });
                }
                cut(arguments, random).into_iter().for_each(|json| sink(&Event::ToolCallArguments { index, json }));
                if let Some(id) = id.as_deref().filter(|_| model_ids == ModelIds::AfterArguments) {
                    sink(&Event::ToolCallId { index, id });
                }
                sink(&Event::ToolCallEnd { index, complete: *complete });
                index += 1;
            }
        }
    }
}

const MODEL_IDS: [ModelIds; 3] = [ModelIds::WithName, ModelIds::BeforeArguments, ModelIds::AfterArguments];

fn turns(mut check: impl FnMut(&[Item], ModelIds, &mut Random)) {
    let mut random = Random::new(2024);
    for round in 0..1500 {
        let count = random.below(8);
        let items: Vec<Item> = (0..count).map(|number| item(&mut random, number)).collect();
        check(&items, MODEL_IDS[round % 3], &mut random);
    }
}

fn ids(model_ids: ModelIds) -> CallIds {
    CallIds::new(CallIdShape::Free).written(model_ids)
}

#[test]
fn chunks_add_up_to_the_completion() {
    turns(|items, model_ids, random| {
        let (diagnostics, early) = (random.once_in(2), random.once_in(2));
        let reasoning = if random.once_in(2) { ReasoningName::Reasoning } else { ReasoningName::ReasoningContent };
        let mut writer =
            ChunkWriter::new("m", ids(model_ids)).reasoning(reasoning).diagnostics(diagnostics).include_usage(true);
        let (mut chunks, mut message) = (Vec::new(), Message::default());
        chunks.extend(early.then(|| writer.start()));
        send(items, model_ids, random, &mut |event| {
            message.apply(event);
            chunks.extend(writer.event(event));
        });
        chunks.extend(writer.finish(&Finish::Stop, Some(Usage::new(3, 4))));

        let mut whole =
            ChatCompletion::new("m", message.clone(), &mut ids(model_ids), &Finish::Stop).reasoning(reasoning);
        if diagnostics {
            whole = whole.diagnostics();
        }
        let whole = serde_json::to_value(whole.usage(Usage::new(3, 4))).unwrap();
        let mut expected = whole["choices"][0]["message"].clone();
        expected.as_object_mut().unwrap().remove("refusal");
        let mut found = assemble_chunks(&chunks);
        let (written, again) = (take_ids(&mut found.message), take_ids(&mut expected));
        assert_eq!(found.message, expected, "{items:?}");
        assert_eq!(found.finish_reason, whole["choices"][0]["finish_reason"]);
        assert_eq!(found.usage, whole["usage"]);
        for ((call, one), other) in message.tool_calls.iter().zip(&written).zip(&again) {
            match &call.id {
                Some(id) => assert_eq!((one, other), (id, id), "the model's id is kept"),
                None => assert!(one.starts_with("call_") && one != other),
            }
        }
        assert_eq!(written.len(), message.tool_calls.len());
        assert_eq!(written.iter().collect::<HashSet<_>>().len(), written.len());
    });
}

#[test]
fn blocks_add_up_to_the_message_in_the_order_of_the_output() {
    turns(|items, model_ids, random| {
        let mut writer = EventWriter::new("m", ids(model_ids).prefix("toolu_")).id("msg_1");
        let (mut events, mut message) = (Vec::new(), Message::default());
        if random.once_in(2) {
            events.extend(writer.start(None));
        }
        send(items, model_ids, random, &mut |event| {
            message.apply(event);
            events.extend(writer.event(event));
        });
        events.extend(writer.finish(&Finish::Stop, Usage::new(3, 4)));
        let mut found = assemble_events(&events);

        let mut builder = ResponseBuilder::new(EventWriter::new("m", ids(model_ids).prefix("toolu_")).id("msg_1"));
        send(items, model_ids, random, &mut |event| builder.event(event));
        let mut whole = serde_json::to_value(builder.finish(&Finish::Stop, Usage::new(3, 4))).unwrap();
        take_ids(&mut whole);
        take_ids(&mut found);
        assert_eq!(found, whole, "{items:?}");

        let blocks = found["content"].as_array().unwrap();
        let texts = |kind: &str| {
            blocks
                .iter()
                .filter(|block| block["type"] == kind)
                .map(|block| block[kind].as_str().unwrap())
                .collect::<String>()
        };
        assert_eq!((texts("thinking"), texts("text")), (message.reasoning_content.clone(), message.content.clone()));
        assert!(blocks.iter().all(|block| block["type"] != "thinking" || block["signature"] == ""));
        assert_eq!(found["unparsed"].as_str().unwrap_or_default(), message.unparsed);
        let inputs = blocks.iter().filter(|block| block["type"] == "tool_use");
        for (call, block) in message.tool_calls.iter().zip(inputs) {
            assert_eq!(block["name"], call.name);
            match call.arguments_value() {
                Ok(Value::Object(object)) => assert_eq!(block["input"], Value::Object(object)),
                _ => assert!(block["input"].is_object()),
            }
        }
        // Neighbours of the same kind are one block.
        let mut kinds: Vec<&str> = Vec::new();
        for item in items {
            match item {
                Item::Reasoning(text) if !text.is_empty() && kinds.last() != Some(&"thinking") => {
                    kinds.push("thinking")
                }
                Item::Content(text) if !text.is_empty() && kinds.last() != Some(&"text") => kinds.push("text"),
                Item::Call { .. } => kinds.push("tool_use"),
                _ => {}
            }
        }
        assert_eq!(blocks.iter().map(|block| block["type"].as_str().unwrap()).collect::<Vec<_>>(), kinds);
    });
}

#[test]
fn items_add_up_to_the_message_and_so_do_their_events() {
    let request = |tools: Value, more: Value| {
        let mut body = json!({"model": "m", "input": "Hi", "tools": tools});
        more.as_object().into_iter().flatten().for_each(|(key, value)| body[key] = value.clone());
        ResponsesRequest::from_value(&body).unwrap()
    };
    let requests = [
        request(json!([]), json!({})),
        request(
            json!([{"type": "custom", "name": "run"}]),
            json!({"reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]}),
        ),
    ];
    turns(|items, model_ids, random| {
        let request = &requests[random.below(2)];
        let mut writer = ResponseWriter::new("m", ids(model_ids), request);
        let (mut events, mut message) = (writer.start(), Message::default());
        send(items, model_ids, random, &mut |event| {
            message.apply(event);
            events.extend(writer.event(event));
        });
        events.extend(writer.finish(&Finish::Stop, Some(Usage::new(3, 4))));
        let numbers: Vec<u64> = events.iter().filter_map(|event| event.data["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
        let last = &events.last().unwrap().data;
        assert_eq!((last["type"].as_str(), &last["response"]), (Some("response.completed"), &writer.response()));
        let output = last["response"]["output"].as_array().unwrap();
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        for (at, item) in output.iter().enumerate() {
            let of_item = |event: &&ResponseEvent| event.data["output_index"] == at;
            let deltas = events.iter().filter(of_item).filter(|event| event.name.ends_with(".delta"));
            let added: String = deltas.filter_map(|event| event.data["delta"].as_str()).collect();
            let ends: Vec<_> =
                events.iter().filter(|event| event.name == "response.output_item.done").filter(of_item).collect();
            assert_eq!((ends.len(), &ends[0].data["item"]), (1, item), "{items:?}");
            match item["type"].as_str().unwrap() {
                "message" => {
                    assert_eq!(item["content"][0]["text"], added.as_str());
                    text.push_str(&added);
                }
                "reasoning" => {
                    let place = if request.reasoning_as_summary { "summary" } else { "content" };
                    assert_eq!(item[place][0]["text"], added.as_str());
                    let carried =
                        item["encrypted_content"].as_str().and_then(|text| text.strip_prefix("unjinja:reasoning:"));
                    assert_eq!(carried, request.carries_reasoning.then_some(added.as_str()));
                    reasoning.push_str(&added);
                }
                "custom_tool_call" => {
                    assert_eq!(item["input"], added.as_str());
                    calls.push((item, None));
                }
                _ => {
                    assert_eq!(item["arguments"], added.as_str());
                    calls.push((item, Some(added)));
                }
            }
        }
        assert_eq!((&text, &reasoning), (&message.content, &message.reasoning_content), "{items:?}");
        assert_eq!(last["response"]["unparsed"].as_str().unwrap_or_default(), message.unparsed);
        assert_eq!(calls.len(), message.tool_calls.len());
        for (call, (item, arguments)) in message.tool_calls.iter().zip(calls) {
            assert_eq!(item["name"], call.name);
            let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
            let is_done = call.complete && (call.arguments.is_empty() || is_object);
            assert_eq!(item["status"], if is_done { "completed" } else { "incomplete" });
            assert!(arguments.is_none_or(|arguments| arguments == call.arguments), "{items:?}");
            assert!(call.id.as_ref().is_none_or(|id| item["call_id"] == id.as_str()));
        }
    });
}

/// A stream of events with the reason why it ended, in both formats.
fn ends(events: &[Event<'_>], finish: &Finish) -> (String, String, Value) {
    let mut chunks = ChunkWriter::new("m", ids(ModelIds::WithName));
    let mut blocks = EventWriter::new("m", ids(ModelIds::WithName));
    for event in events {
        chunks.event(event);
        blocks.event(event);
    }
    let last = chunks.finish(finish, None).pop().unwrap();
    let end = serde_json::to_value(&blocks.finish(finish, Usage::default())[..]).unwrap();
    let delta = end.as_array().unwrap().iter().find(|event| event["type"] == "message_delta").unwrap()["delta"].clone();
    let reason = last.choices[0].finish_reason.clone().unwrap();
    (reason, delta["stop_reason"].as_str().unwrap().to_owned(), delta["stop_sequence"].clone())
}

#[test]
fn the_reason_why_an_output_ended_is_told() {
    let cut =
        |index| [Event::ToolCallStart { index, name: "f", id: None }, Event::ToolCallArguments { index, json: "{" }];
    let call =
        [Event::ToolCallStart { index: 0, name: "f", id: None }, Event::ToolCallEnd { index: 0, complete: true }];
    let second: Vec<Event<'_>> = call.iter().cloned().chain(cut(1)).collect();
    let broken: Vec<Event<'_>> = cut(0)
        .into_iter()
        .chain([
            Event::ToolCallEnd { index: 0, complete: false },
            Event::ToolCallStart { index: 1, name: "f", id: None },
            Event::ToolCallEnd { index: 1, complete: true },
        ])
        .collect();
    let text = [Event::Content("Hi")];
    let expect = |events: &[Event<'_>], finish: Finish, openai: &str, anthropic: &str, sequence: Value| {
        assert_eq!(ends(events, &finish), (openai.to_owned(), anthropic.to_owned(), sequence));
    };
    expect(&text, Finish::Stop, "stop", "end_turn", Value::Null);
    expect(&call, Finish::Stop, "tool_calls", "tool_use", Value::Null);
    expect(&call, Finish::StopSequence("END".into()), "tool_calls", "tool_use", Value::Null);
    // A client must not take a call for done that was cut short or broke off, whatever follows it.
    for events in [&cut(0)[..], &second, &broken] {
        expect(events, Finish::Stop, "stop", "end_turn", Value::Null);
        expect(events, Finish::StopSequence("END".into()), "stop", "stop_sequence", json!("END"));
        expect(events, Finish::Length, "length", "max_tokens", Value::Null);
    }
    expect(&text, Finish::Length, "length", "max_tokens", Value::Null);
    expect(&call, Finish::Length, "length", "max_tokens", Value::Null);
    expect(&text, Finish::ContentFilter, "content_filter", "refusal", Value::Null);
    expect(&text, Finish::StopSequence("END".into()), "stop", "stop_sequence", json!("END"));
    expect(&[], Finish::Stop, "stop", "end_turn", Value::Null);
}

#[test]
fn a_call_that_was_cut_short_comes_unchanged() {
    let events = [
        Event::ToolCallStart { index: 0, name: "f", id: None },
        Event::ToolCallArguments { index: 0, json: r#"{"city": "Par"# },
        Event::ToolCallEnd { index: 0, complete: false },
    ];
    let mut writer = ChunkWriter::new("m", ids(ModelIds::WithName));
    let mut chunks: Vec<_> = events.iter().flat_map(|event| writer.event(event)).collect();
    chunks.extend(writer.finish(&Finish::Length, None));
    let found = assemble_chunks(&chunks);
    assert_eq!(found.message["tool_calls"][0]["function"], json!({"name": "f", "arguments": r#"{"city": "Par"#}));
    assert_eq!((found.finish_reason, found.message["content"].clone()), (json!("length"), Value::Null));
}

#[test]
fn a_stream_is_text() {
    let mut writer = ChunkWriter::new("m", ids(ModelIds::WithName)).id("chatcmpl-1").created(7);
    let chunk = writer.event(&Event::Content("a\nb")).remove(0);
    assert_eq!(
        chunk.to_sse() + sse::DONE,
        "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\",\"choices\":[{\"index\":0,\
         \"delta\":{\"role\":\"assistant\",\"content\":\"a\\nb\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"
    );
    let mut writer = EventWriter::new("m", ids(ModelIds::WithName)).id("msg_1");
    let text: String = writer.event(&Event::Content("Hi")).iter().map(|event| event.to_sse()).collect();
    assert_eq!(
        text,
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\
         \"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\
         \"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n\
         event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
         \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
         event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
    );
}

#[test]
fn text_inside_a_call_follows_it() {
    let mut writer = EventWriter::new("m", ids(ModelIds::WithName));
    let events = [
        Event::ToolCallStart { index: 0, name: "f", id: None },
        Event::Content("late"),
        Event::ToolCallArguments { index: 0, json: "{}" },
        Event::ToolCallEnd { index: 0, complete: true },
    ];
    let mut stream: Vec<_> = events.iter().flat_map(|event| writer.event(event)).collect();
    stream.extend(writer.finish(&Finish::Stop, Usage::default()));
    let content = assemble_events(&stream)["content"].clone();
    assert_eq!((&content[0]["type"], &content[1]["text"]), (&json!("tool_use"), &json!("late")));
}

//! Both formats with the project's own templates: real outputs, and conversations with calls that are rendered again.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use unjinja_analyzer::{Naming, analyze};
use unjinja_render::Template;
use unjinja_runtime::{Event, Message};
use unjinja_server::anthropic::{EventWriter, MessagesRequest};
use unjinja_server::openai::{ChatCompletion, ChatRequest, ChunkWriter};
use unjinja_server::{CallIds, Finish, Usage};
use unjinja_spec::{Functions, FunctionsForm};
use unjinja_testkit::random::Random;

use crate::support::{
    Failure, Model, assemble_chunks, assemble_events, models, outputs, released, stream, take_ids, tools_json,
};

fn ids(model: &Model) -> CallIds {
    CallIds::of(&model.spec)
}

#[test]
fn clients_assemble_what_the_parser_read() -> Result<(), Failure> {
    let mut random = Random::new(5);
    let mut count = 0;
    for model in models()? {
        for output in outputs(&model.name)? {
            let mut chunks = ChunkWriter::new("m", ids(&model)).diagnostics(true);
            let mut blocks = EventWriter::new("m", ids(&model));
            let (mut written, mut events) = (Vec::new(), Vec::new());
            let message = stream(&model.parser, &output, &mut random, &mut |event: &Event<'_>| {
                written.extend(chunks.event(event));
                events.extend(blocks.event(event));
            });
            written.extend(chunks.finish(&Finish::Stop, None));
            events.extend(blocks.finish(&Finish::Stop, Usage::default()));

            let place = format!("{}: {:?}", model.name, output.text);
            let mut found = assemble_chunks(&written).message;
            let whole = ChatCompletion::new("m", message.clone(), &mut ids(&model), &Finish::Stop).diagnostics();
            let mut expected = serde_json::to_value(&whole)?["choices"][0]["message"].clone();
            expected.as_object_mut().ok_or("no message")?.remove("refusal");
            let kept = take_ids(&mut found);
            take_ids(&mut expected);
            assert_eq!(found, expected, "{place}");
            for (call, id) in message.tool_calls.iter().zip(&kept) {
                assert!(call.id.as_ref().is_none_or(|written| written == id), "{place}: {call:?} has the id {id}");
            }

            let found = assemble_events(&events);
            let content = found["content"].as_array().ok_or("no content")?;
            let texts = |kind: &str| -> String {
                let blocks = content.iter().filter(|block| block["type"] == kind);
                blocks.filter_map(|block| block[kind].as_str()).collect()
            };
            assert_eq!(texts("thinking"), message.reasoning_content, "{place}");
            assert_eq!(texts("text"), message.content, "{place}");
            assert_eq!(found["unparsed"].as_str().unwrap_or_default(), message.unparsed, "{place}");
            let calls: Vec<&Value> = content.iter().filter(|block| block["type"] == "tool_use").collect();
            assert_eq!(calls.len(), message.tool_calls.len(), "{place}");
            for (call, block) in message.tool_calls.iter().zip(calls) {
                assert_eq!(block["name"], call.name, "{place}");
                if let Ok(arguments) = call.arguments_value() {
                    assert_eq!(block["input"], arguments, "{place}");
                }
            }
            count += 1;
        }
    }
    assert!(count > 150, "{count} outputs are too few to show anything");
    Ok(())
}

/// A turn that calls a tool, as the server delivers it.
fn called(model: &Model, name: &str, arguments: &str) -> Message {
    let mut ids = ids(model);
    let mut message = Message::default();
    message.tool_calls.push(unjinja_runtime::ToolCall::new(name, arguments));
    message.tool_calls[0].id = Some(ids.next(name, None));
    message
}

#[test]
fn a_delivered_call_can_be_sent_back() -> Result<(), Failure> {
    for model in models()?.iter().filter(|model| model.spec.capabilities.tool_calls) {
        let message = called(model, "get_weather", r#"{"city": "Paris", "days": 2}"#);
        let id = message.tool_calls[0].id.clone().unwrap_or_default();
        let openai = ChatRequest::from_value(&json!({
            "model": "m", "tools": tools_json()?,
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Rain?"}]},
                message,
                {"role": "tool", "tool_call_id": id, "content": "Sunshine."},
            ],
        }))?;
        let functions: Vec<Value> = tools_json()?.as_array().into_iter().flatten().map(|tool| {
            let function = &tool["function"];
            json!({"name": function["name"], "description": function["description"], "input_schema": function["parameters"]})
        }).collect();
        let anthropic = MessagesRequest::from_value(&json!({
            "model": "m", "max_tokens": 10, "tools": functions, "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Rain?"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Paris", "days": 2}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "Sunshine."}]},
            ],
        }))?;
        let one = openai.prepare(&model.spec)?;
        assert_eq!(one.context, anthropic.prepare(&model.spec)?.context, "{}", model.name);
        let rendered = one.render(&model.spec, |context| model.template.render(context));
        let (one, prompt) = rendered.map_err(|error| format!("{}: {error}", model.name))?;
        for word in ["Rain?", "Paris", "Sunshine.", "get_weather"] {
            assert!(prompt.contains(word), "{}: {word} is not in {prompt}", model.name);
        }
        if model.spec.capabilities.system_role {
            assert!(prompt.contains("Be brief."), "{}: {prompt}", model.name);
        }
        // The next call of the same conversation has another id.
        let mut next = one.call_ids;
        assert_ne!(next.next("get_weather", Some(&id)), id, "{}", model.name);
    }
    Ok(())
}

/// A template that reads `functions` gets them in a form that it can read, and a conversation with a call is then rendered.
#[test]
fn functions_are_given_as_the_template_reads_them() -> Result<(), Failure> {
    let turn = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}";
    let cases = [
        ("{% for f in functions %}{{ f['name'] ~ f['parameters'].type }}{% endfor %}", FunctionsForm::List, false),
        ("{{ functions | tojson }}", FunctionsForm::List, true),
        ("{{ 'Functions: ' + functions }}", FunctionsForm::Text, true),
        ("{{ tools }}{{ functions }}", FunctionsForm::Unset, false),
        ("", FunctionsForm::Unset, false),
    ];
    for (head, form, always) in cases {
        let template = Template::parse("functions.jinja", &format!("{head}{turn}"))?;
        let spec = analyze(&template, &Naming::of_file("functions.jinja"))?;
        assert_eq!(spec.messages.functions, Functions { form, always }, "{head}");
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "Rain?"}]});
        let context = ChatRequest::from_value(&request)?.prepare(&spec)?.context;
        assert!(template.render(&context)?.contains("Rain?"), "{head}");
    }
    Ok(())
}

/// Released templates check ids, roles and the types of arguments. They must render a conversation with a call.
/// `released_failures.txt` lists those that do not, and why.
#[test]
fn released_templates_render_what_is_sent_back() -> Result<(), Failure> {
    let known = include_str!("released_failures.txt");
    let known = known.lines().filter_map(|line| line.split_once(": ")).map(|(name, reason)| (name.to_owned(), reason));
    let known: BTreeMap<String, &str> = known.collect();
    let mut problems = BTreeMap::new();
    let models = released()?;
    for model in &models {
        let message = called(model, "get_weather", r#"{"city": "Paris"}"#);
        let id = message.tool_calls[0].id.clone().unwrap_or_default();
        let mut request = json!({"model": "m", "chat_template_kwargs": {"datetime": "2026-01-15"}, "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Rain?"},
        ]});
        if model.spec.capabilities.tool_calls {
            let city = json!({"type": "string", "description": "The city."});
            let parameters = json!({"type": "object", "properties": {"city": city}, "required": ["city"]});
            let function = json!({"name": "get_weather", "description": "The weather.", "parameters": parameters});
            request["tools"] = json!([{"type": "function", "function": function}]);
            let list = request["messages"].as_array_mut().ok_or("no list")?;
            list.push(serde_json::to_value(&message)?);
            list.push(json!({"role": "tool", "tool_call_id": id, "content": "Sunshine."}));
            list.push(json!({"role": "assistant", "content": "Hardly."}));
            list.push(json!({"role": "user", "content": "And tomorrow?"}));
        }
        let context = ChatRequest::from_value(&request)?.prepare(&model.spec)?.context;
        match model.template.render(&context) {
            Err(error) => drop(problems.insert(model.name.clone(), error.message().to_owned())),
            Ok(prompt) if prompt.contains("Rain?") && prompt.contains("Be brief.") => {}
            Ok(prompt) => drop(problems.insert(model.name.clone(), format!("a message is lost: {prompt}"))),
        }
    }
    let new: Vec<String> = problems
        .iter()
        .filter(|(name, _)| !known.contains_key(*name))
        .map(|(name, what)| format!("{name}: {what}"))
        .collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    let mended = known.keys().filter(|name| !models.is_empty() && !problems.contains_key(*name));
    assert_eq!(mended.count(), 0, "remove what holds now from released_failures.txt: {known:?}");
    Ok(())
}

//! Verdicts about the calls of a parser, as an application sees them.

#![expect(clippy::unwrap_used, reason = "a test")]

use serde_json::json;
use unjinja_analyzer::{Naming, analyze};
use unjinja_grammar::{Verdict, VerdictKind, Verdicts};
use unjinja_render::Template;
use unjinja_runtime::{ChatParser, Event, Message, Options, Tools};

fn tools() -> Tools {
    Tools::from_openai(&json!([
        {"type": "function", "function": {"name": "get_weather", "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
            "additionalProperties": false,
        }}},
        {"type": "function", "function": {"name": "now"}},
    ]))
    .unwrap()
}

/// What a parser made from a template says about an output that comes byte by byte: each verdict, and what of the output
/// was not read yet when it came.
fn judged(file: &str, output: &str) -> Vec<(Verdict, String)> {
    let path = format!("{}/../templates/{file}", env!("CARGO_MANIFEST_DIR"));
    let template = Template::parse(file, &std::fs::read_to_string(path).unwrap()).unwrap();
    let spec = analyze(&template, &Naming::of_file(file)).unwrap();
    let parser = unjinja_codegen::interpreter(&spec).unwrap();
    let tools = tools();
    let mut verdicts = Verdicts::new(&tools);
    let mut stream = parser.stream(&Options::new().tools(&tools).thinking(false));
    let mut found = Vec::new();
    for at in 0..=output.len() {
        let mut new = Vec::new();
        let mut sink = |event: Event<'_>| new.extend(verdicts.event(&event));
        match output.get(at..at + 1) {
            Some(byte) => stream.push(byte, &mut sink),
            None => stream.finish(&mut sink),
        }
        let rest = output.get(at + 1..).unwrap_or_default();
        found.extend(new.into_iter().map(|verdict| (verdict, rest.to_owned())));
    }
    found
}

#[test]
fn a_verdict_comes_before_the_call_ends() {
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    for (output, kind, path, rest) in [
        (call("get_weather", r#"{"city": "Paris", "days": "two"}"#), VerdictKind::WrongType, "/days", r#"two"}"#),
        (call("get_weather", r#"{"town": "Paris"}"#), VerdictKind::UnknownMember, "/town", r#": "Paris"}"#),
        (call("get_wether", "{}"), VerdictKind::UnknownTool, "", r#", "arguments": {}"#),
        (call("get_weather", r#"{"days": 3}"#), VerdictKind::MissingMember, "", ""),
        (call("get_weather", r#"{"city": "x", "unit": "kelvin"}"#), VerdictKind::NotListed, "/unit", r#"elvin"}"#),
    ] {
        let found = judged("hermes.jinja", &output);
        let (verdict, unread) = &found[0];
        assert_eq!((verdict.kind, verdict.path.as_str()), (kind, path), "{verdict}");
        assert_eq!(*unread, format!("{rest}}}\n</tool_call>"), "{verdict}");
    }
}

#[test]
fn raw_values_are_judged_as_the_json_that_they_become() {
    let call = |days: &str| {
        format!(
            "<tool_call>\n<function=get_weather>\n<parameter=days>\n{days}\n</parameter>\n<parameter=city>\nParis\n</parameter>\n\
             </function>\n</tool_call>"
        )
    };
    assert_eq!(judged("xml_parameters.jinja", &call("2")), []);
    let found = judged("xml_parameters.jinja", &call("20"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0.kind, &*found[0].0.path), (VerdictKind::OutOfRange, "/days"), "{found:?}");
    assert!(found[0].1.contains("Paris\n</parameter>"), "{found:?}");
}

/// What models write in the formats of the templates: a complete call has a verdict if a validator of its whole arguments
/// objects, and no other has.
#[test]
fn the_calls_of_the_cases_are_judged_as_by_a_validator() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tools = std::fs::read_to_string(folder.join("tests/cases/tools.json")).unwrap();
    let tools = Tools::from_json(&tools).unwrap();
    let (mut fitting, mut wrong) = (0, 0);
    let files = std::fs::read_dir(folder.join("tests/cases")).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "toml")) {
        let file = file.file_stem().unwrap().to_str().unwrap();
        let template = std::fs::read_to_string(folder.join(format!("templates/{file}.jinja"))).unwrap();
        let spec = analyze(&Template::parse(file, &template).unwrap(), &Naming::of_file(file)).unwrap();
        let Ok(parser) = unjinja_codegen::interpreter(&spec) else { continue };
        let cases = std::fs::read_to_string(folder.join(format!("tests/cases/{file}.toml"))).unwrap();
        let cases: toml::Table = cases.parse().unwrap();
        for case in cases["case"].as_array().unwrap() {
            let output = case["output"].as_str().unwrap();
            let mut message = Message::default();
            let mut found = Vec::new();
            let mut verdicts = Verdicts::new(&tools);
            let mut stream = parser.stream(&Options::new().tools(&tools));
            let mut sink = |event: Event<'_>| {
                message.apply(&event);
                found.extend(verdicts.event(&event));
            };
            output.chars().for_each(|piece| stream.push(piece.encode_utf8(&mut [0; 4]), &mut sink));
            stream.finish(&mut sink);
            for (index, call) in message.tool_calls.iter().enumerate().filter(|(_, call)| call.complete) {
                let arguments = if call.arguments.is_empty() { Ok(json!({})) } else { call.arguments_value() };
                let fits = tools.get(&call.name).is_some_and(|tool| {
                    arguments.is_ok_and(|arguments| {
                        arguments.is_object() && jsonschema::is_valid(&tool.parameters, &arguments)
                    })
                });
                let judged: Vec<&Verdict> = found.iter().filter(|verdict| verdict.call == index).collect();
                assert_eq!(judged.is_empty(), fits, "{file}: {output}\n{call:?}\n{judged:?}");
                fitting += usize::from(fits);
                wrong += usize::from(!fits);
            }
        }
    }
    assert!(fitting > 50 && wrong > 5, "{fitting} {wrong}");
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let call = |verdicts: &mut Verdicts, name: &str, json: &str, complete| {
        let mut found = verdicts.event(&Event::ToolCallStart { index: 0, name, id: None });
        found.extend(verdicts.event(&Event::ToolCallArguments { index: 0, json }));
        found.extend(verdicts.event(&Event::ToolCallEnd { index: 0, complete }));
        found.into_iter().map(|verdict| verdict.kind).collect::<Vec<_>>()
    };
    let mut verdicts = Verdicts::new(&tools());
    assert_eq!(call(&mut verdicts, "now", "", true), []);
    assert_eq!(call(&mut verdicts, "get_weather", "", true), [VerdictKind::MissingMember]);
    assert_eq!(call(&mut verdicts, "get_weather", "{", true), [VerdictKind::Malformed]);
    // A call that was cut short could have gone on.
    assert_eq!(call(&mut verdicts, "get_weather", "", false), []);
    assert_eq!(call(&mut verdicts, "get_weather", "{\"days\": 3", false), []);
    assert_eq!(call(&mut verdicts, "tomorrow", "nothing", true), [VerdictKind::UnknownTool]);
    assert_eq!(call(&mut Verdicts::new(&Tools::empty()), "tomorrow", "nothing", true), []);
    assert_eq!(call(&mut Verdicts::new(&tools()).per_call(0), "tomorrow", "nothing", true), []);
}

#[test]
fn calls_are_judged_apart() {
    let mut verdicts = Verdicts::new(&tools());
    for index in 0..2 {
        assert_eq!(verdicts.event(&Event::ToolCallStart { index, name: "get_weather", id: None }), []);
    }
    let json = "{\"days\": 1";
    assert_eq!(verdicts.event(&Event::ToolCallArguments { index: 0, json }), []);
    assert_eq!(verdicts.event(&Event::ToolCallArguments { index: 1, json }), []);
    assert_eq!(verdicts.event(&Event::ToolCallArguments { index: 0, json: ", \"city\": \"x\"}" }), []);
    let found = verdicts.event(&Event::ToolCallArguments { index: 1, json: "5}" });
    let kinds: Vec<(usize, VerdictKind)> = found.iter().map(|verdict| (verdict.call, verdict.kind)).collect();
    assert_eq!(kinds, [(1, VerdictKind::OutOfRange), (1, VerdictKind::MissingMember)]);
    assert_eq!(
        serde_json::to_value(&found[0]).unwrap(),
        json!({"kind": "out_of_range", "call": 1, "tool": "get_weather", "path": "/days",
            "expected": "an integer of at least 1 and at most 14", "found": "15"})
    );
    verdicts.reset();
    assert_eq!(verdicts.event(&Event::ToolCallEnd { index: 0, complete: true }), []);
}

/// For 16 times the text, the time is at most 24 times as long: it is linear, with room for noise.
#[test]
#[ignore = "measures time, so it fails on a busy machine: .ci/full runs it"]
fn time_is_linear() {
    let tools = Tools::from_openai(&json!([{"name": "f", "parameters": {"type": "object", "properties": {
        "text": {"type": "string", "pattern": "^(a|b)*c?", "maxLength": 100_000_000},
        "list": {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["a", "b"]}]}},
    }}}]))
    .unwrap();
    let time = |size: usize| {
        let text = format!("{{\"text\": \"{}\", \"list\": [{}0]}}", "ab".repeat(size), "1, \"a\", ".repeat(size / 4));
        let times = (0..2).map(|_| {
            let mut verdicts = Verdicts::new(&tools);
            let start = std::time::Instant::now();
            let mut found = verdicts.event(&Event::ToolCallStart { index: 0, name: "f", id: None });
            for at in (0..text.len()).step_by(5) {
                let json = &text[at..(at + 5).min(text.len())];
                found.extend(verdicts.event(&Event::ToolCallArguments { index: 0, json }));
            }
            assert_eq!(found, []);
            start.elapsed()
        });
        times.min().unwrap_or_default()
    };
    // The least of many runs: the machine may be busy with something else for a while.
    let least = |size: usize| (0..10).map(|_| time(size)).min().unwrap_or_default();
    let mut ratios = (0..10).map(|_| least(160_000).as_secs_f64() / least(10_000).as_secs_f64());
    assert!(ratios.any(|ratio| ratio < 24.0), "{:?}", (least(10_000), least(160_000)));
}

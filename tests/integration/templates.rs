//! Tests the parsers that the build script compiled from our own templates: with the cases of `tests/cases`, and with messages
//! that the template renders and the parser reads back.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{Failure, own_cases, own_models, own_parser, root};
use serde_json::{Value, json};
use unjinja::testing::Case;
use unjinja::{ChatParser, Options, Tools};
use unjinja_build::templates_in;
use unjinja_render::Template;

#[test]
fn every_case_is_read_as_expected_interpreted_and_compiled() -> Result<(), Failure> {
    let models = own_models()?;
    let (mut failures, mut runs, mut count) = (Vec::new(), 0, 0);
    for row in own_cases()? {
        let parser = own_parser(&row.template)?;
        count += 1;
        let model = models.iter().find(|model| model.is_for(&row.template)).ok_or("a parser without a spec")?;
        for (how, result) in [("compiled", row.case.check(parser)), ("interpreted", row.case.check(&model.parser))] {
            match result {
                Ok(_) if row.known_failure.is_some() => {
                    failures.push(format!("{}: holds now: not known any more", row.id))
                }
                Err(_) if row.known_failure.is_some() => {}
                Ok(times) => runs += times,
                Err(mismatch) => failures.push(format!("{how}: {mismatch}")),
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} do not hold:\n{}", failures.len(), 2 * count, failures.join("\n"));
    assert!(runs > 1000, "{runs} runs are too few to show anything");
    Ok(())
}

#[test]
fn every_template_has_cases() -> Result<(), Failure> {
    let cases = own_cases()?;
    let paths = templates_in(&root().join("templates"))?;
    let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
    let without: Vec<&str> = names.filter(|name| !cases.iter().any(|case| case.template == *name)).collect();
    assert!(without.is_empty(), "no cases for {without:?}: write tests/cases/NAME.toml");
    Ok(())
}

/// The assistant messages that every template is given, as `content`, `reasoning` and `calls`.
#[test]
fn what_a_template_renders_is_read_back() -> Result<(), Failure> {
    let tools: Value = serde_json::from_str(&fs::read_to_string(root().join("tests/cases/tools.json"))?)?;
    let messages: Vec<Value> = serde_json::from_str(&fs::read_to_string(root().join("tests/cases/messages.json"))?)?;
    let (mut failures, mut held) = (Vec::new(), BTreeMap::new());
    for path in templates_in(&root().join("templates"))? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parser = own_parser(&file)?;
        let template = Template::parse(&file, &fs::read_to_string(&path)?)?;
        held.insert(file.clone(), 0);
        for message in &messages {
            let Some((prompt, output)) = rendered(&template, &tools, message, parser) else { continue };
            let case = expectation(&output, message)
                .name(format!("{file} after {prompt:?}"))
                .tools(&Tools::from_openai(&tools)?)
                .generation_prompt(prompt);
            match case.lenient().check(parser) {
                Ok(_) => *held.entry(file.clone()).or_insert(0) += 1,
                Err(mismatch) => failures.push(mismatch.to_string()),
            }
        }
    }
    assert!(failures.is_empty(), "{} do not hold:\n{}", failures.len(), failures.join("\n"));
    let none: Vec<&String> = held.iter().filter(|(_, count)| **count < 2).map(|(file, _)| file).collect();
    assert!(none.is_empty(), "too little was rendered by {none:?}");
    Ok(())
}

/// The generation prompt and the assistant's turn after it; `None` where the template refuses the message.
fn rendered(template: &Template, tools: &Value, message: &Value, parser: &dyn ChatParser) -> Option<(String, String)> {
    let context = |messages: Value, prompt: bool, thinking: Option<bool>| {
        let mut context =
            json!({"messages": messages, "tools": tools, "add_generation_prompt": prompt, "bos_token": ""});
        if let Some(on) = thinking {
            context["enable_thinking"] = json!(on);
            context["thinking"] = json!(on);
        }
        template.render(&context).ok()
    };
    let user = json!({"role": "user", "content": "Is it going to rain?"});
    let turn = |as_text| context(json!([user, assistant(message, as_text)]), false, None);
    let whole = turn(false).or_else(|| turn(true))?;
    let start = &*parser.info().assistant_start;
    let prompts = [None, Some(true), Some(false)].map(|thinking| context(json!([user]), true, thinking));
    for prompt in prompts.into_iter().flatten() {
        if let Some(output) = whole.strip_prefix(&prompt) {
            // Without a start of the turn, the prompt is what follows the question.
            let tail = match start {
                "" => context(json!([user]), false, None)
                    .and_then(|before| Some(prompt.strip_prefix(&before)?.to_owned())),
                start => prompt.rfind(start).map(|at| prompt[at..].to_owned()),
            };
            let tail = tail.unwrap_or_else(|| prompt.clone());
            return Some((tail, output.to_owned()));
        }
    }
    let before = context(json!([user]), false, None)?;
    let output = whole.strip_prefix(&before)?.strip_prefix(start)?;
    Some((start.to_owned(), output.to_owned()))
}

/// A message as templates read it, with arguments as an object or as text.
fn assistant(message: &Value, as_text: bool) -> Value {
    let mut out = json!({"role": "assistant", "content": message["content"]});
    for field in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(reasoning) = message.get("reasoning") {
            out[field] = reasoning.clone();
        }
    }
    let calls = message["calls"].as_array().into_iter().flatten().enumerate().map(|(number, call)| {
        let arguments = &call["arguments"];
        let arguments = if as_text { json!(arguments.to_string()) } else { arguments.clone() };
        let function = json!({"name": call["name"], "arguments": arguments});
        json!({"id": format!("call0000{number}"), "type": "function", "function": function})
    });
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        out["tool_calls"] = json!(calls);
    }
    out
}

/// The message that the output should be read as: the parts that the template rendered.
fn expectation(output: &str, message: &Value) -> Case {
    let written = |key: &str| message[key].as_str().filter(|text| output.contains(text.trim())).unwrap_or_default();
    let mut case = Case::new(output).content(written("content")).reasoning(written("reasoning"));
    for call in message["calls"].as_array().into_iter().flatten() {
        let name = call["name"].as_str().unwrap_or_default();
        if output.contains(name) {
            case = case.call(name, call["arguments"].clone());
        }
    }
    case
}

#[test]
fn templates_are_told_apart() {
    let parsers = unjinja_app::all();
    assert!(parsers.len() >= 20, "only {} templates are compiled in", parsers.len());
    let output = b"<think>Hm.</think>Rain.";
    let read = |name: &str| {
        let parser = parsers.iter().find(|parser| parser.info().name == *name).expect("the parser");
        parser.parse(output.into(), &Options::new())
    };
    assert_eq!(read("qwen3").reasoning_content, "Hm.");
    assert_eq!(read("hermes").content, "<think>Hm.</think>Rain.");
}

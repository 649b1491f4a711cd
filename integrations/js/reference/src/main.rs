//! Writes what Rust reads, as lines of JSON with which the tests of the npm package compare what it reads.
//!
//! ```sh
//! cargo run -p unjinja-js-reference -- cases ../..                  # all cases of tests/cases/
//! cargo run -p unjinja-js-reference -- turns ../../../shared/corpus 7    # each seventh turn of the corpus
//! ```
//!
//! A line has the template, the options as the package takes them, the output, the message, and the events of a stream that gets
//! three characters at a time.

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_dynamic::{
    CutCalls, Diagnostic, Event, Loader, Message, Model, Options, Overlay, SpecialTokens, Tools, Unparsed,
};

type Done = Result<(), Box<dyn Error>>;

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cases", root] => cases(Path::new(root), &mut out)?,
        ["turns", corpus, step] => turns(Path::new(corpus), step.parse()?, &mut out)?,
        _ => return Err("usage: cases ROOT | turns CORPUS STEP".into()),
    }
    Ok(out.flush()?)
}

/// How a template is loaded, as the package takes it.
struct Template {
    text: String,
    options: Value,
    model: Model,
}

fn cases(root: &Path, out: &mut impl Write) -> Done {
    let all: Value = serde_json::from_str(&fs::read_to_string(root.join("tests/cases/tools.json"))?)?;
    let mut files: Vec<_> = fs::read_dir(root.join("tests/cases"))?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    for file in files.iter().map(fs::DirEntry::path).filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let template = own_template(&root.join("templates"), &stem)?;
        let document: toml::Table = toml::from_str(&fs::read_to_string(&file)?)?;
        for case in document["case"].as_array().ok_or("no cases")? {
            let case: Value = serde_json::to_value(case)?;
            let mut options = Map::new();
            let names = [
                ("thinking", "thinking"),
                ("generation_prompt", "prompt"),
                ("parallel_tool_calls", "parallelToolCalls"),
                ("extract_reasoning", "extractReasoning"),
                ("calls_end_reasoning", "callsEndReasoning"),
                ("json_response", "jsonResponse"),
                ("cut_calls", "cutCalls"),
            ];
            for (name, option) in names {
                if let Some(value) = case.get(name) {
                    options.insert(option.to_owned(), value.clone());
                }
            }
            if case.get("tools") != Some(&Value::Bool(false)) {
                options.insert("tools".to_owned(), all.clone());
            }
            match case.get("callable").and_then(Value::as_array).map(Vec::as_slice) {
                None => {}
                Some([]) => drop(options.insert("toolChoice".to_owned(), "none".into())),
                Some([name, ..]) => {
                    let choice = json!({"type": "function", "function": {"name": name}});
                    options.insert("toolChoice".to_owned(), choice);
                }
            }
            if case.get("unparsed").is_some() {
                options.insert("unparsed".to_owned(), "separate".into());
            }
            let output = case["output"].as_str().unwrap_or_default();
            let id = format!("{stem}: {}", case["name"].as_str().unwrap_or_default());
            write(out, &id, &stem, &template, &options, output)?;
        }
    }
    Ok(())
}

fn own_template(folder: &Path, stem: &str) -> Result<Template, Box<dyn Error>> {
    let text = fs::read_to_string(folder.join(format!("{stem}.jinja")))?;
    let overlay = fs::read_to_string(folder.join(format!("{stem}.overlay.toml"))).ok();
    let tokens = SpecialTokens { bos: Some("<s>".into()), eos: Some("</s>".into()), ..SpecialTokens::default() };
    let mut loader = Loader::new().name(stem).tokens(tokens);
    if let Some(overlay) = &overlay {
        loader = loader.overlay(Overlay::from_toml(overlay, "overlay")?);
    }
    let mut options = json!({"name": stem, "bosToken": "<s>", "eosToken": "</s>"});
    if let Some(overlay) = overlay {
        options["overlay"] = overlay.into();
    }
    Ok(Template { model: loader.from_template(&text)?, text, options })
}

fn turns(corpus: &Path, step: usize, out: &mut impl Write) -> Done {
    let sets: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let mut last: Option<(String, Template)> = None;
    for line in fs::read_to_string(corpus.join("turns.jsonl"))?.lines().step_by(step) {
        let turn: Value = serde_json::from_str(line)?;
        let text = |name: &str| turn[name].as_str().unwrap_or_default();
        let folder = if text("folder") == "templates" {
            "templates".to_owned()
        } else {
            format!("{}/templates", text("folder"))
        };
        let path = format!("{folder}/{}", text("template"));
        if last.as_ref().is_none_or(|(known, _)| *known != path) {
            let text = fs::read_to_string(corpus.join(&path))?;
            let model = Loader::new().from_template(&text)?;
            last = Some((path.clone(), Template { text, options: json!({}), model }));
        }
        let Some((_, template)) = &last else { continue };
        let mut options = Map::new();
        let tools = turn["tools"].as_str().map_or(&turn["tools"], |name| &sets[name]);
        if tools.as_array().is_some_and(|list| !list.is_empty()) {
            options.insert("tools".to_owned(), tools.clone());
        }
        for (name, option) in [
            ("generation_prompt", "prompt"),
            ("parallel_tool_calls", "parallelToolCalls"),
            ("extract_reasoning", "extractReasoning"),
        ] {
            options.insert(option.to_owned(), turn[name].clone());
        }
        write(out, text("id"), &path, template, &options, text("output"))?;
    }
    Ok(())
}

/// Reads an output and writes its line.
fn write(
    out: &mut impl Write,
    id: &str,
    template: &str,
    loaded: &Template,
    options: &Map<String, Value>,
    output: &str,
) -> Done {
    let model = &loaded.model;
    let rust = parser_options(model, options)?;
    let mut whole = model.parse(output, &rust);
    whole.note_stripped_tokens(model.parser().program(), &rust);
    let line = json!({
        "id": id,
        "template": template,
        "text": loaded.text,
        "load": loaded.options,
        "options": options,
        "output": output,
        "message": message(&whole),
        "events": events(model, &rust, output),
    });
    Ok(writeln!(out, "{line}")?)
}

fn parser_options(model: &Model, options: &Map<String, Value>) -> Result<Options, Box<dyn Error>> {
    let mut rust = Options::new();
    for (name, value) in options {
        let on = value.as_bool().unwrap_or_default();
        rust = match name.as_str() {
            "tools" => rust.tools(&Tools::from_openai(value)?),
            "thinking" => rust.thinking(on),
            "prompt" => rust.generation_prompt(model.turn_of(value.as_str().unwrap_or_default())),
            "parallelToolCalls" => rust.parallel_tool_calls(on),
            "extractReasoning" => rust.extract_reasoning(on),
            "callsEndReasoning" => rust.calls_end_reasoning(on),
            "jsonResponse" => rust.json_response(on),
            "unparsed" => rust.unparsed(Unparsed::Separate),
            "cutCalls" => rust.cut_calls(CutCalls::named(value.as_str().unwrap_or_default()).ok_or("cut_calls")?),
            "toolChoice" => rust.callable(value.pointer("/function/name").and_then(Value::as_str)),
            other => return Err(format!("the option {other} is unknown").into()),
        };
    }
    Ok(rust)
}

/// The message as the package has it.
fn message(message: &Message) -> Value {
    let calls = message
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments, "complete": call.complete}));
    json!({
        "content": message.content,
        "reasoningContent": message.reasoning_content,
        "toolCalls": calls.collect::<Vec<_>>(),
        "unparsed": message.unparsed,
        "diagnostics": message.diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
    })
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut value = serde_json::to_value(diagnostic).unwrap_or_default();
    value["message"] = diagnostic.to_string().into();
    value
}

fn events(model: &Model, options: &Options, output: &str) -> Vec<Value> {
    let mut stream = model.stream(options);
    let (mut all, mut read) = (Vec::new(), Message::default());
    let mut deliver = |event: Event<'_>| {
        read.apply(&event);
        all.push(event_value(&event));
    };
    let mut rest = output;
    while !rest.is_empty() {
        let at = rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at);
        stream.push(&rest[..at], &mut deliver);
        rest = &rest[at..];
    }
    stream.finish(&mut deliver);
    let before = read.diagnostics.len();
    read.note_stripped_tokens(model.parser().program(), options);
    all.extend(read.diagnostics[before..].iter().map(|noted| event_value(&Event::Diagnostic(noted.clone()))));
    all
}

fn event_value(event: &Event<'_>) -> Value {
    match event {
        Event::Reasoning(text) => json!({"type": "reasoning", "text": text}),
        Event::Content(text) => json!({"type": "content", "text": text}),
        Event::Unparsed(text) => json!({"type": "unparsed", "text": text}),
        Event::ToolCallStart { index, name, id } => {
            json!({"type": "tool_call_start", "index": index, "name": name, "id": id})
        }
        Event::ToolCallId { index, id } => json!({"type": "tool_call_id", "index": index, "id": id}),
        Event::ToolCallArguments { index, json } => {
            json!({"type": "tool_call_arguments", "index": index, "json": json})
        }
        Event::ToolCallEnd { index, complete } => {
            json!({"type": "tool_call_end", "index": index, "complete": complete})
        }
        Event::Diagnostic(noted) => json!({"type": "diagnostic", "diagnostic": diagnostic(noted)}),
        other => json!({"type": format!("{other:?}")}),
    }
}

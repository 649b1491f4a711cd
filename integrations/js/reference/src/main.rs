//! Writes what Rust reads, as lines of JSON with which the tests of the npm package compare what it reads.
//!
//! ```sh
//! cargo run -p unjinja-js-reference -- cases ../..                  # all cases of tests/cases/
//! cargo run -p unjinja-js-reference -- turns ../../../shared/corpus 7    # each seventh turn of the corpus
//! cargo run -p unjinja-js-reference -- explanations ../..           # explanations of templates and of some cases
//! cargo run -p unjinja-js-reference -- prompts ../..                # whose text each piece of a prompt is
//! cargo run -p unjinja-js-reference -- spans ../..                  # the pieces of outputs, with their events
//! ```
//!
//! A line of the first two has the template, the options as the package takes them, the output, the message, and the events of a stream that gets
//! three characters at a time.

mod known;
mod shown;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_dynamic::{Event, Loader, Message, Model, Options};

use crate::known::{Done, OwnTemplate, case_options, cases_of, diagnostic, event_value, parser_options, stems};

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cases", root] => cases(Path::new(root), &mut out)?,
        ["turns", corpus, step] => turns(Path::new(corpus), step.parse()?, &mut out)?,
        ["explanations", root] => shown::explanations(Path::new(root), &mut out)?,
        ["prompts", root] => shown::prompts(Path::new(root), &mut out)?,
        ["spans", root] => shown::spans(Path::new(root), &mut out)?,
        _ => return Err("usage: cases ROOT | turns CORPUS STEP | explanations ROOT | prompts ROOT | spans ROOT".into()),
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
    for stem in stems(root)? {
        let OwnTemplate { text, options, model, .. } = OwnTemplate::read(&root.join("templates"), &stem)?;
        let template = Template { text, options, model };
        for case in cases_of(root, &stem)? {
            let options = case_options(root, &case)?;
            let output = case["output"].as_str().unwrap_or_default();
            let id = format!("{stem}: {}", case["name"].as_str().unwrap_or_default());
            write(out, &id, &stem, &template, &options, output)?;
        }
    }
    Ok(())
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
    whole.note_missing(model.parser().program(), &rust);
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
    read.note_missing(model.parser().program(), options);
    all.extend(read.diagnostics[before..].iter().map(|noted| event_value(&Event::Diagnostic(noted.clone()))));
    all
}

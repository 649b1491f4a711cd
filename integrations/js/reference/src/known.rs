//! The templates and cases of the project, the options of the package in Rust, and events as the package has them.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_dynamic::{CutCalls, Diagnostic, Event, Loader, Model, Options, Overlay, SpecialTokens, Tools, Unparsed};

pub(crate) type Done = Result<(), Box<dyn Error>>;

/// A template of the project.
pub(crate) struct OwnTemplate {
    pub(crate) text: String,
    pub(crate) options: Value,
    pub(crate) loader: Loader,
    pub(crate) model: Model,
}

/// The names of the templates that have cases.
pub(crate) fn stems(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let files = fs::read_dir(root.join("tests/cases"))?.collect::<Result<Vec<_>, _>>()?;
    let paths = files.iter().map(fs::DirEntry::path);
    let tables = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut stems: Vec<String> =
        tables.map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
    stems.sort();
    Ok(stems)
}

/// The cases of a template.
pub(crate) fn cases_of(root: &Path, stem: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let document: toml::Table = toml::from_str(&fs::read_to_string(root.join(format!("tests/cases/{stem}.toml")))?)?;
    let cases = document["case"].as_array().ok_or("no cases")?;
    Ok(cases.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}

/// The options of a case, as the package takes them.
pub(crate) fn case_options(root: &Path, case: &Value) -> Result<Map<String, Value>, Box<dyn Error>> {
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
        let all: Value = serde_json::from_str(&fs::read_to_string(root.join("tests/cases/tools.json"))?)?;
        options.insert("tools".to_owned(), all);
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
    Ok(options)
}

impl OwnTemplate {
    pub(crate) fn read(folder: &Path, stem: &str) -> Result<Self, Box<dyn Error>> {
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
        Ok(Self { model: loader.from_template(&text)?, text, options, loader })
    }
}

pub(crate) fn parser_options(model: &Model, options: &Map<String, Value>) -> Result<Options, Box<dyn Error>> {
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
            "toolChoice" => {
                let name = value.pointer("/function/name").and_then(Value::as_str);
                rust.callable(name).demands_call(name.is_some())
            }
            other => return Err(format!("the option {other} is unknown").into()),
        };
    }
    Ok(rust)
}

pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut value = serde_json::to_value(diagnostic).unwrap_or_default();
    value["message"] = diagnostic.to_string().into();
    value
}

pub(crate) fn event_value(event: &Event<'_>) -> Value {
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

//! Turns that templates write: of our own templates with random messages, and of released ones from the corpus.

use std::fs;
use std::path::Path;

use serde_json::Value;
use unjinja::{ChatParser, Interpreter, Message, Options, Tools};
use unjinja_analyzer::verify;
use unjinja_build::Templates;
use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_spec::FormatSpec;
use unjinja_testkit::root;

use crate::Failure;

/// How many turns one of our templates writes, and what the random messages are drawn with.
const TURNS: u32 = 12;
const SEED: u64 = 1801;

/// A template: its spec, its parser, and turns that it wrote.
pub struct Model {
    pub name: String,
    pub spec: FormatSpec,
    pub parser: Interpreter,
    pub turns: Vec<RenderedTurn>,
}

/// What a template wrote after the generation prompt.
pub struct RenderedTurn {
    pub text: String,
    pub options: Options,
}

impl Model {
    /// The text of a turn with several calls, or with one: what a page would hold that injects calls.
    pub fn turn_with_calls(&self) -> Option<(&RenderedTurn, Message)> {
        let read = |turn| (turn, self.parser.parse(turn_text(turn), &turn.options));
        let mut with_calls: Vec<_> = self.turns.iter().map(read).filter(|read| !read.1.tool_calls.is_empty()).collect();
        with_calls.sort_by_key(|read| std::cmp::Reverse(read.1.tool_calls.len()));
        with_calls.into_iter().next()
    }
}

fn turn_text(turn: &RenderedTurn) -> unjinja::Chunk<'_> {
    turn.text.as_str().into()
}

/// Our own templates.
pub fn own() -> Result<Vec<Model>, Failure> {
    let folder = root().join("templates");
    let mut models = Vec::new();
    for spec in
        Templates::new(&folder).without_known_formats().specs()?.into_iter().filter(|spec| spec.status.makes_parser())
    {
        let file = &spec.template.file;
        let template = Template::parse(file, &fs::read_to_string(folder.join(file))?)?;
        let turns = verify(&template, &spec, TURNS, SEED).turns.into_iter().map(|turn| {
            let options = Options::new().tools(&turn.tools).generation_prompt(&spec.turn.assistant_start);
            RenderedTurn { text: turn.body, options }
        });
        models.push(Model { name: file.clone(), parser: interpreter(&spec)?, turns: turns.collect(), spec });
    }
    Ok(models)
}

/// A template of the corpus, as `FOLDER/FILE`.
pub fn released(corpus: &Path, path: &str) -> Result<Model, Failure> {
    let (folder, file) = path.split_once('/').ok_or_else(|| format!("{path}: no folder"))?;
    let place = if folder == "templates" { folder.to_owned() } else { format!("{folder}/templates") };
    let source = fs::read_to_string(corpus.join(place).join(file))?;
    let spec = unjinja_build::analyze_text(&source, &unjinja_analyzer::Naming::of_file(file))?;
    let offers: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let mut turns = Vec::new();
    for line in fs::read_to_string(corpus.join("turns.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        if (row["folder"].as_str(), row["template"].as_str()) != (Some(folder), Some(file)) {
            continue;
        }
        let tools = Tools::from_openai(row["tools"].as_str().map_or(&row["tools"], |name| &offers[name]))?;
        let mut options = Options::new()
            .tools(&tools)
            .parallel_tool_calls(row["parallel_tool_calls"].as_bool().unwrap_or(true))
            .generation_prompt(row["generation_prompt"].as_str().unwrap_or(""));
        if let Some(on) = row["enable_thinking"].as_bool() {
            options = options.thinking(on);
        }
        turns.push(RenderedTurn { text: row["output"].as_str().unwrap_or("").to_owned(), options });
    }
    Ok(Model { name: path.to_owned(), parser: interpreter(&spec)?, turns, spec })
}

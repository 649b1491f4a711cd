//! `unjinja parse`: a model's output in, a message out.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use unjinja_analyzer::Naming;
use unjinja_codegen::Lowered;
use unjinja_runtime::{ChatParser, Machine, Message, Options, Stream, Tools};
use unjinja_spec::{FormatSpec, Overlay};

use crate::failure::{Done, Failure};
use crate::input;

/// The arguments of `parse`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Analyse this template and interpret its spec.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "spec"])]
    template: Option<PathBuf>,
    /// Interpret this spec.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    spec: Option<PathBuf>,
    /// Use the compiled parser of this name; `unjinja list` shows them.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The tools offered: a file in OpenAI's form.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// What the prompt already wrote of the assistant's turn.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// Read lines of cases, write lines `{"id", "message", "diagnostics"}`.
    #[arg(long)]
    jsonl: bool,
    /// With --jsonl: analyse the templates of this folder and interpret.
    #[arg(long, value_name = "DIR", requires = "jsonl", conflicts_with = "models")]
    templates: Option<PathBuf>,
    /// With --jsonl: use the compiled parser whose spec was made from a template of that file name.
    #[arg(long, requires = "jsonl")]
    models: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if arguments.jsonl {
        return match (&arguments.templates, arguments.models) {
            (Some(folder), _) => interpreted(folder),
            (None, true) => input::lines(|line| {
                let file = input::string(line, "template")?;
                let parser = compiled(file)?;
                let case = Case::read(line)?;
                Ok(case.answer_dyn(parser))
            }),
            (None, false) => Err(Failure::Input("--jsonl needs --templates DIR or --models".to_owned())),
        };
    }
    let mut options = Options::new();
    if let Some(path) = &arguments.tools {
        let tools = Tools::from_json(&input::text(path)?).map_err(|e| Failure::file(path, e))?;
        options = options.tools(&tools);
    }
    if let Some(prompt) = &arguments.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let mut output = Vec::new();
    if let Some(name) = &arguments.model {
        let parser = crate::models::by_name(name).ok_or_else(|| {
            Failure::Input(format!("no parser is called {name:?}; `unjinja list` shows those that there are"))
        })?;
        std::io::stdin().read_to_end(&mut output)?;
        return print(&parser.parse((&output).into(), &options));
    }
    let spec = match (&arguments.template, &arguments.spec) {
        (Some(path), _) => analysed(path).map_err(Failure::Input)?,
        (None, Some(path)) => FormatSpec::from_toml(&input::text(path)?, &path.display().to_string())
            .map_err(|e| Failure::Input(e.to_string()))?,
        (None, None) => {
            return Err(Failure::Input("say whose output this is: --template, --spec or --model".to_owned()));
        }
    };
    let lowered = Lowered::new(&spec).map_err(|e| Failure::Input(e.to_string()))?;
    std::io::stdin().read_to_end(&mut output)?;
    print(&unjinja_runtime::parse(lowered.interpreter(&spec), &output, &options))
}

fn print(message: &Message) -> Done {
    let text = serde_json::to_string_pretty(message).map_err(std::io::Error::from)?;
    let mut out = std::io::stdout();
    writeln!(out, "{text}")?;
    for diagnostic in &message.diagnostics {
        eprintln!("note: {diagnostic}");
    }
    Ok(())
}

/// The compiled parser whose spec was made from a template of that file name.
pub(crate) fn compiled(file: &str) -> Result<&'static dyn ChatParser, String> {
    crate::models::by_file(file)
        .ok_or_else(|| format!("no parser is compiled in whose spec was made from a template file {file:?}"))
}

/// The spec of a template, ready for the back ends.
pub(crate) fn lowered(path: &Path) -> Result<(FormatSpec, Lowered), String> {
    let spec = analysed(path)?;
    let lowered = Lowered::new(&spec).map_err(|e| e.to_string())?;
    Ok((spec, lowered))
}

pub(crate) fn analysed(path: &Path) -> Result<FormatSpec, String> {
    let text = input::text(path).map_err(|e| e.to_string())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let spec = crate::log::analyze_text(&text, &Naming::of_file(&file)).map_err(|e| e.to_string())?;
    // A template that we know has its overlay applied.
    match crate::models::overlay(&spec.template.sha256) {
        Some(overlay) => {
            let overlay = Overlay::from_toml(overlay, "the overlay of this template").map_err(|e| e.to_string())?;
            overlay.apply(&spec).map_err(|e| e.to_string())
        }
        None => Ok(spec),
    }
}

fn interpreted(folder: &Path) -> Done {
    let mut known: HashMap<String, Result<(FormatSpec, Lowered), String>> = HashMap::new();
    input::lines(|line| {
        let name = input::string(line, "template")?;
        let path = input::in_folder(folder, name)?;
        let made = known.entry(name.to_owned()).or_insert_with(|| lowered(&path));
        let (spec, lowered) = made.as_ref().map_err(Clone::clone)?;
        let case = Case::read(line)?;
        Ok(case.answer(lowered.interpreter(spec)))
    })
}

/// One line of cases.
struct Case {
    output: String,
    chunk: Option<usize>,
    options: Options,
}

impl Case {
    fn read(line: &Value) -> Result<Self, String> {
        let flag = |key: &str, default: bool| match line.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(on)) => Ok(*on),
            Some(other) => Err(format!("`{key}` is to be true or false, but is {other}")),
        };
        let output = input::string(line, "output")?.to_owned();
        let tools = line.get("tools").unwrap_or(&Value::Null);
        let tools = Tools::from_openai(tools).map_err(|e| format!("`tools`: {e}"))?;
        let mut options = Options::new()
            .tools(&tools)
            .parallel_tool_calls(flag("parallel_tool_calls", true)?)
            .extract_reasoning(flag("extract_reasoning", true)?)
            .json_response(line.get("json_schema").is_some_and(|schema| !schema.is_null()));
        if let Some(Value::Bool(on)) = line.get("enable_thinking") {
            options = options.thinking(*on);
        }
        match line.get("generation_prompt") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => options = options.generation_prompt(text),
            Some(other) => return Err(format!("`generation_prompt` is to be a text, but is {other}")),
        }
        let chunk = match line.get("chunk") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()) {
                Some(n) if n > 0 => Some(n),
                _ => return Err(format!("`chunk` is to be a number of bytes of at least 1, but is {value}")),
            },
        };
        Ok(Self { output, chunk, options })
    }

    fn answer(&self, machine: impl Machine) -> Map<String, Value> {
        let mut message = Message::default();
        match self.chunk {
            None => message = unjinja_runtime::parse(machine, &self.output, &self.options),
            Some(chunk) => {
                let mut stream = Stream::new(machine, &self.options);
                for piece in self.output.as_bytes().chunks(chunk) {
                    stream.push(piece, |event| message.apply(&event));
                }
                stream.finish(|event| message.apply(&event));
            }
        }
        row(&message)
    }

    fn answer_dyn(&self, parser: &dyn ChatParser) -> Map<String, Value> {
        let Some(chunk) = self.chunk else { return row(&parser.parse(self.output.as_str().into(), &self.options)) };
        let mut message = Message::default();
        let mut stream = parser.stream(&self.options);
        for piece in self.output.as_bytes().chunks(chunk) {
            stream.push_bytes(piece, &mut |event| message.apply(&event));
        }
        stream.finish(&mut |event| message.apply(&event));
        row(&message)
    }
}

fn row(message: &Message) -> Map<String, Value> {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id.as_deref().unwrap_or(""), "name": call.name, "arguments": call.arguments}))
        .collect();
    let diagnostics: Vec<String> = message.diagnostics.iter().map(ToString::to_string).collect();
    let message = json!({
        "content": message.content,
        "reasoning_content": message.reasoning_content,
        "tool_calls": calls,
    });
    Map::from_iter([("message".to_owned(), message), ("diagnostics".to_owned(), json!(diagnostics))])
}

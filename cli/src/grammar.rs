//! `unjinja grammar`: the grammar that a sampler can hold a model to.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions, ToolChoice, Wider};
use unjinja_runtime::Tools;

use crate::failure::{Done, Failure};
use crate::whose::{self, Whose};
use crate::{Switch, input, output, visible};

/// The arguments of `grammar`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    whose: Whose,
    /// The tools offered: a file in OpenAI's form. Without it: any tool with any arguments.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// `auto`, `required`, `none`, or the name of a tool.
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    tool_choice: String,
    /// Allow one call at most.
    #[arg(long)]
    no_parallel: bool,
    /// What the template's thinking switch was set to.
    #[arg(long, value_enum)]
    thinking: Option<Switch>,
    /// What the prompt already wrote of the assistant's turn.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// A file with the JSON schema that the answer must have.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Write a railroad diagram of the rules, as SVG.
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    diagram: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: crate::Format,
    /// Read lines of cases, write lines `{"id", "grammar", "lazy", "triggers", "preserved_tokens"}`.
    #[arg(long, conflicts_with_all = ["model", "template", "spec", "overlay", "tools", "thinking", "generation_prompt", "schema", "format", "no_parallel", "tool_choice"])]
    jsonl: bool,
    /// With --jsonl: analyse the templates of this folder.
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
            (Some(folder), _) => whose::lines_of_folder(folder, |line, parser| {
                let (tools, options) = request(line)?;
                parser.grammar(&tools, &options).map(|grammar| row(&grammar)).map_err(|e| e.to_string())
            }),
            (None, true) => input::lines(|line| {
                let file = input::string(line, "template")?;
                let parser = whose::of_file(file)?;
                let (tools, options) = request(line)?;
                parser.grammar(&tools, &options).map(|grammar| row(&grammar)).map_err(|e| e.to_string())
            }),
            (None, false) => Err(Failure::Input("--jsonl needs --templates DIR or --models".to_owned())),
        };
    }
    let tools = match &arguments.tools {
        Some(path) => Some(input::tools(path)?),
        None => None,
    };
    let options = options(arguments)?;
    let found = |error: GrammarError| Failure::Found(error.to_string());
    let parser = arguments.whose.parser()?;
    let grammar = unjinja_grammar::grammar(parser.program(), tools.as_ref(), &options).map_err(found)?;
    if let Some(path) = &arguments.diagram {
        std::fs::write(path, crate::diagram::svg(&grammar.text)).map_err(|e| Failure::file(path, e))?;
    }
    print(&grammar, arguments.format)
}

fn options(arguments: &Arguments) -> Result<GrammarOptions, Failure> {
    let mut options =
        GrammarOptions::new().tool_choice(choice(&arguments.tool_choice)).parallel_tool_calls(!arguments.no_parallel);
    if let Some(switch) = arguments.thinking {
        options = options.thinking(switch == Switch::On);
    }
    if let Some(prompt) = &arguments.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    if let Some(path) = &arguments.schema {
        options = options.response_schema(input::json(path)?);
    }
    Ok(options)
}

fn choice(text: &str) -> ToolChoice {
    match text {
        "auto" => ToolChoice::Auto,
        "required" => ToolChoice::Required,
        "none" => ToolChoice::None,
        name => ToolChoice::Named(name.to_owned()),
    }
}

fn print(grammar: &Grammar, format: crate::Format) -> Done {
    if format == crate::Format::Json {
        return output::json(&row(grammar));
    }
    let mut out = std::io::stdout().lock();
    let (lazy, whole) = ("from a trigger on", "the whole turn");
    writeln!(out, "# holds for: {}", if grammar.lazy { lazy } else { whole })?;
    for trigger in &grammar.triggers {
        writeln!(out, "# trigger, a {}: {}", trigger.kind(), quoted(&json!(trigger.value())))?;
    }
    for (what, texts) in [("preserved tokens", &grammar.preserved_tokens), ("stops", &grammar.stops)] {
        if !texts.is_empty() {
            writeln!(out, "# {what}: {}", quoted(&json!(texts)))?;
        }
    }
    if !grammar.prefill.is_empty() {
        writeln!(out, "# to be accepted first, for the prompt wrote it: {}", quoted(&json!(grammar.prefill)))?;
    }
    if let Some(reasoning) = &grammar.reasoning {
        let open = if reasoning.open { ", open at the beginning" } else { "" };
        writeln!(
            out,
            "# reasoning: from {} to {}{open}",
            quoted(&json!(reasoning.start)),
            quoted(&json!(reasoning.end))
        )?;
    }
    for Wider { tool, what } in &grammar.widened {
        let tool = if tool.is_empty() { "the response" } else { tool };
        writeln!(out, "{}", visible::line(&format!("# wider than the schema of {tool}: {what}")))?;
    }
    if grammar.text.is_empty() {
        writeln!(out, "# nothing is to be constrained")?;
    }
    out.write_all(grammar.text.as_bytes())?;
    Ok(())
}

/// A value as JSON that a terminal may show.
fn quoted(value: &Value) -> String {
    visible::line(&value.to_string())
}

fn row(grammar: &Grammar) -> Map<String, Value> {
    let triggers: Vec<Value> =
        grammar.triggers.iter().map(|trigger| json!({"type": trigger.kind(), "value": trigger.value()})).collect();
    let widened: Vec<Value> = grammar
        .widened
        .iter()
        .map(|w| json!({"tool": w.tool, "path": w.what.path, "keyword": w.what.keyword, "why": w.what.why}))
        .collect();
    let reasoning = grammar
        .reasoning
        .as_ref()
        .map(|reasoning| json!({"start": reasoning.start, "end": reasoning.end, "open": reasoning.open}));
    Map::from_iter([
        ("grammar".to_owned(), json!(grammar.text)),
        ("lazy".to_owned(), json!(grammar.lazy)),
        ("triggers".to_owned(), json!(triggers)),
        ("preserved_tokens".to_owned(), json!(grammar.preserved_tokens)),
        ("stops".to_owned(), json!(grammar.stops)),
        ("prefill".to_owned(), json!(grammar.prefill)),
        ("reasoning".to_owned(), json!(reasoning)),
        ("widened".to_owned(), json!(widened)),
    ])
}

/// What a line of cases asks for.
fn request(line: &Value) -> Result<(Tools, GrammarOptions), String> {
    let tools = Tools::from_openai(line.get("tools").unwrap_or(&Value::Null)).map_err(|e| format!("`tools`: {e}"))?;
    let choice = match line.get("tool_choice") {
        None | Some(Value::Null) => ToolChoice::Auto,
        Some(Value::String(text)) => choice(text),
        // OpenAI's way to name a tool.
        Some(Value::Object(named)) => {
            let function = named.get("function").unwrap_or(&Value::Null);
            let name = function.get("name").or_else(|| named.get("name")).and_then(Value::as_str);
            ToolChoice::Named(name.ok_or("`tool_choice` names no function")?.to_owned())
        }
        Some(other) => return Err(format!("`tool_choice` is to be a text or to name a function, but is {other}")),
    };
    let parallel = line.get("parallel_tool_calls").and_then(Value::as_bool).unwrap_or(true);
    let mut options = GrammarOptions::new().tool_choice(choice).parallel_tool_calls(parallel);
    if let Some(on) = line.get("enable_thinking").and_then(Value::as_bool) {
        options = options.thinking(on);
    }
    if let Some(prompt) = line.get("generation_prompt").and_then(Value::as_str) {
        options = options.generation_prompt(prompt);
    }
    if let Some(schema) = line.get("json_schema").filter(|schema| !schema.is_null()) {
        options = options.response_schema(schema.clone());
    }
    Ok((tools, options))
}

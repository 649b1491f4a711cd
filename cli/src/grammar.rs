//! `unjinja grammar`: prints the grammar to which a sampler can constrain a model. Standard output is the grammar alone, so
//! that an engine can read it from a file; what else the engine has to be told is printed to standard error.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use unjinja_grammar::{
    Grammar, GrammarError, GrammarExt, GrammarOptions, SpecialToken, Target, Trigger, UnknownTarget, WhiteSpace, Wider,
};
use unjinja_runtime::{ChatParser, Tools};

use crate::arguments::{Engine, Format, Switch};
use crate::failure::{Done, Failure};
use crate::parser_args::{self, ReaderArgs};
use crate::tool_choice::{self, ChoiceArgs};
use crate::ui::Ui;
use crate::{input, output, visible};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    reader: ReaderArgs,
    /// The engine for which the grammar is written.
    #[arg(long = "engine", value_name = "ENGINE", value_enum, default_value = "gbnf")]
    target: Engine,
    /// A special token that the grammar names as a token instead of spelling its text: its text, or TEXT=ID with its number in
    /// the vocabulary. May be given several times; GBNF spells all tokens. Without it, a grammar for llguidance names the tokens that
    /// `tokenizer.json` beside the template has.
    #[arg(long = "special-token", value_name = "TEXT[=ID]", value_parser = special_token)]
    special_tokens: Vec<SpecialToken>,
    /// The tools that are offered: a JSON file in OpenAI's form. Without it: any tool with any arguments.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// The value of the template's thinking switch.
    #[arg(long, value_enum)]
    thinking: Option<Switch>,
    /// The part of the assistant's turn that the prompt already contains.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// A file with a JSON schema that the answer must match.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Let objects have members that their schemas do not name, where the schemas have `properties` and do not say.
    #[arg(long)]
    open_objects: bool,
    /// Allow more white space than one blank and what the template writes.
    #[arg(long)]
    free_white_space: bool,
    /// The number of characters of text that may come before a call that is demanded.
    #[arg(long, value_name = "CHARACTERS", default_value_t = 0)]
    text_before: u32,
    /// The number of characters of reasoning that may come before a call that is demanded.
    #[arg(long, value_name = "CHARACTERS")]
    max_reasoning: Option<u32>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Read cases, one JSON object per line; write lines `{"id", "grammar", "lazy", "triggers", "preserved_tokens"}`. A
    /// line may name an engine in `for`, and special tokens with their numbers in `special_tokens`.
    #[arg(long, conflicts_with_all = ["model", "template", "spec", "overlay", "target", "special_tokens", "tools", "thinking", "generation_prompt", "schema", "open_objects", "free_white_space", "text_before", "max_reasoning", "format", "no_parallel", "tool_choice"])]
    jsonl: bool,
    /// With --jsonl: analyse the templates in this folder, with their overlays.
    #[arg(long, value_name = "DIR", requires = "jsonl", conflicts_with = "models")]
    templates: Option<PathBuf>,
    /// With --jsonl: use the supported model whose template has the file name that the line gives.
    #[arg(long, requires = "jsonl")]
    models: bool,
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    if arguments.jsonl {
        return match (&arguments.templates, arguments.models) {
            (Some(folder), _) => parser_args::lines_of_folder(folder, |line, parser| {
                let (tools, options) = request(line)?;
                answer(parser, &tools, &options)
            }),
            (None, true) => parser_args::lines_of_models(|line, parser| {
                let (tools, options) = request(line)?;
                answer(parser, &tools, &options)
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
    let model = arguments.reader.loaded()?.model().map_err(|error| Failure::Found(error.to_string()))?;
    let grammar = match &tools {
        Some(tools) => model.grammar(tools, &options),
        None => model.grammar_for_any(&options),
    };
    let grammar = grammar.map_err(found)?;
    if options.lacks_tokens() && model.named_tokens().is_empty() && !grammar.preserved_tokens.is_empty() {
        let next = "put the model's tokenizer.json beside the template, or give --special-token";
        ui.remark(&format!(
            "llguidance keeps tokens apart from text, and they are not known here: they are spelled; {next}"
        ));
    }
    print(&grammar, arguments.format, ui)
}

/// The answer to a line.
fn answer(parser: &dyn ChatParser, tools: &Tools, options: &GrammarOptions) -> Result<Value, String> {
    let grammar = parser.grammar(tools, options).map_err(|e| e.to_string())?;
    Ok(json!(Document::new(&grammar)))
}

fn options(arguments: &Arguments) -> Result<GrammarOptions, Failure> {
    let mut options = GrammarOptions::new()
        .target(arguments.target.into())
        .special_tokens(arguments.special_tokens.iter().cloned())
        .tool_choice(arguments.choice.choice())
        .parallel_tool_calls(arguments.choice.parallel())
        .open_objects(arguments.open_objects)
        .text_before(arguments.text_before);
    if arguments.free_white_space {
        options = options.white_space(WhiteSpace::Free);
    }
    if let Some(most) = arguments.max_reasoning {
        options = options.max_reasoning(most);
    }
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

fn print(grammar: &Grammar, format: Format, ui: Ui) -> Done {
    if format == Format::Json {
        return output::json(&Document::new(grammar));
    }
    for line in notes(grammar) {
        ui.remark(&line);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(grammar.text.as_bytes())?;
    if !grammar.text.is_empty() && !grammar.text.ends_with('\n') {
        writeln!(out)?;
    }
    Ok(())
}

/// What whoever uses the grammar has to know, one line each.
fn notes(grammar: &Grammar) -> Vec<String> {
    let (lazy, whole) = ("the turn from a trigger on", "the whole turn");
    let mut notes = vec![format!("constrains: {}", if grammar.lazy { lazy } else { whole })];
    let triggers = grammar.triggers.iter();
    notes.extend(triggers.map(|trigger| format!("trigger ({}): {}", trigger.kind(), quoted(&json!(trigger.value())))));
    for (what, texts) in [("preserved tokens", &grammar.preserved_tokens), ("stops", &grammar.stops)] {
        if !texts.is_empty() {
            notes.push(format!("{what}: {}", quoted(&json!(texts))));
        }
    }
    if !grammar.prefill.is_empty() {
        let prefill = quoted(&json!(grammar.prefill));
        notes.push(format!("feed to the grammar first, because the prompt contains it: {prefill}"));
    }
    if let Some(reasoning) = &grammar.reasoning {
        let [start, end] = [&reasoning.start, &reasoning.end].map(|marker| quoted(&json!(marker)));
        let open = if reasoning.open { ", open from the beginning" } else { "" };
        notes.push(format!("reasoning: from {start} to {end}{open}"));
    }
    for Wider { tool, what } in &grammar.widened {
        let tool = if tool.is_empty() { "the response" } else { tool };
        notes.push(visible::line(&format!("not enforced from the schema of {tool}: {what}")));
    }
    if grammar.text.is_empty() {
        notes.push("there is nothing to constrain".to_owned());
    }
    notes
}

/// A special token from `TEXT` or `TEXT=ID`. A text may hold the character `=`. If it ends in `=` and a word, the word is taken
/// for the id.
fn special_token(given: &str) -> Result<SpecialToken, String> {
    let word = |id: &str| !id.is_empty() && id.chars().all(|char| char.is_alphanumeric() || "+-._".contains(char));
    let token = match given.rsplit_once('=') {
        Some((text, id)) if word(id) => {
            let id =
                id.parse().map_err(|_| format!("{id:?} is no id of a token: write a number from 0 to {}", u32::MAX))?;
            SpecialToken::with_id(text, id)
        }
        _ => SpecialToken::new(given),
    };
    if token.text().is_empty() { Err("a token has a text".to_owned()) } else { Ok(token) }
}

/// A value as JSON, safe for a terminal.
fn quoted(value: &Value) -> String {
    visible::line(&value.to_string())
}

/// A grammar and what a sampler needs with it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'g> {
    /// In the language of the engine: GBNF, a structural tag as JSON, or Lark; empty if nothing is to be constrained.
    grammar: &'g str,
    /// It holds from a trigger on, not from the beginning.
    lazy: bool,
    /// The triggers of a lazy grammar.
    triggers: Vec<TriggerLine<'g>>,
    /// Markers that a detokenizer must keep.
    preserved_tokens: &'g [String],
    /// Texts that end the turn.
    stops: &'g [String],
    /// What the grammar must accept first, because the prompt contains it.
    prefill: &'g str,
    /// Reasoning, if the model may write it before what the grammar holds for.
    reasoning: Option<ReasoningMarkers<'g>>,
    /// The parts of the schemas that the grammar does not enforce.
    widened: Vec<WiderLine<'g>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TriggerLine<'g> {
    /// `word`: a text. `pattern`: a regular expression whose capture group marks where the grammar begins.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The text or the pattern.
    value: &'g str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReasoningMarkers<'g> {
    /// What opens reasoning.
    start: &'g str,
    /// What closes it.
    end: &'g str,
    /// It is open at the beginning.
    open: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WiderLine<'g> {
    /// The tool; empty for the response schema.
    tool: &'g str,
    /// Where in the schema.
    path: &'g str,
    /// The keyword.
    keyword: &'g str,
    /// Why the grammar accepts more.
    why: &'g str,
}

impl<'g> Document<'g> {
    fn new(grammar: &'g Grammar) -> Self {
        let trigger = |one: &'g Trigger| TriggerLine { kind: one.kind(), value: one.value() };
        let wider = |Wider { tool, what }: &'g Wider| WiderLine {
            tool,
            path: &what.path,
            keyword: &what.keyword,
            why: &what.why,
        };
        let reasoning = grammar.reasoning.as_ref();
        Self {
            grammar: &grammar.text,
            lazy: grammar.lazy,
            triggers: grammar.triggers.iter().map(trigger).collect(),
            preserved_tokens: &grammar.preserved_tokens,
            stops: &grammar.stops,
            prefill: &grammar.prefill,
            reasoning: reasoning.map(|r| ReasoningMarkers { start: &r.start, end: &r.end, open: r.open }),
            widened: grammar.widened.iter().map(wider).collect(),
        }
    }
}

/// The tools and options of a case.
fn request(line: &Value) -> Result<(Tools, GrammarOptions), String> {
    let tools = Tools::from_openai(line.get("tools").unwrap_or(&Value::Null)).map_err(|e| format!("`tools`: {e}"))?;
    let choice = tool_choice::of_line(line)?;
    let parallel = line.get("parallel_tool_calls").and_then(Value::as_bool).unwrap_or(true);
    let mut options = GrammarOptions::new().tool_choice(choice).parallel_tool_calls(parallel);
    if let Some(engine) = line.get("for").filter(|engine| !engine.is_null()) {
        let name = engine.as_str().ok_or_else(|| format!("`for` must be the name of an engine, but is {engine}"))?;
        options = options.target(name.parse::<Target>().map_err(|error: UnknownTarget| format!("`for`: {error}"))?);
    }
    if let Some(tokens) = line.get("special_tokens").filter(|tokens| !tokens.is_null()) {
        options = options.special_tokens(special_tokens(tokens)?);
    }
    if let Some(on) = line.get("enable_thinking").and_then(Value::as_bool) {
        options = options.thinking(on);
    }
    if let Some(prompt) = line.get("generation_prompt").and_then(Value::as_str) {
        options = options.generation_prompt(prompt);
    }
    options = options.open_objects(line.get("open_objects").and_then(Value::as_bool).unwrap_or(false));
    if line.get("free_white_space").and_then(Value::as_bool) == Some(true) {
        options = options.white_space(WhiteSpace::Free);
    }
    if let Some(most) = characters(line, "text_before")? {
        options = options.text_before(most);
    }
    if let Some(most) = characters(line, "max_reasoning")? {
        options = options.max_reasoning(most);
    }
    if let Some(schema) = line.get("json_schema").filter(|schema| !schema.is_null()) {
        options = options.response_schema(schema.clone());
    }
    Ok((tools, options))
}

/// A number of characters, if a line has it.
fn characters(line: &Value, key: &str) -> Result<Option<u32>, String> {
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let wrong = |value: &Value| format!("`{key}` must be a number of characters, but is {value}");
    let value = line.get(key).filter(|value| !value.is_null());
    value.map(|value| number(value).ok_or_else(|| wrong(value))).transpose()
}

/// Special tokens: an object with their texts and numbers. A number may be null.
fn special_tokens(tokens: &Value) -> Result<Vec<SpecialToken>, String> {
    let wrong = |found: &Value| format!("`special_tokens` must be an object of texts and numbers, but has {found}");
    let token = |(text, id): (&String, &Value)| match (id, id.as_u64().map(u32::try_from)) {
        (Value::Null, _) => Ok(SpecialToken::new(text)),
        (_, Some(Ok(id))) => Ok(SpecialToken::with_id(text, id)),
        (id, _) => Err(wrong(id)),
    };
    tokens.as_object().ok_or_else(|| wrong(tokens))?.iter().map(token).collect()
}

//! `unjinja explain`: shows what the analysis of a template saw and concluded, what a spec means, and how each byte of an
//! output is read. It prints to the terminal, as JSON, or as one self-contained page.

mod html;
mod text;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_dynamic::Input;
use unjinja_dynamic::explain::{ExplainOptions, Explanation, ParserOutcome};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::{input, log, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A template or a spec.
    #[arg(required_unless_present_any = ["spec", "model"], conflicts_with_all = ["spec", "model"])]
    path: Option<PathBuf>,
    #[command(flatten)]
    parser: ParserArgs,
    /// A model's output: show how each of its bytes is read; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The output is not complete yet: show what is held back.
    #[arg(long, requires = "output")]
    partial: bool,
    /// The tools that were offered to the model: a JSON file in OpenAI's form.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// The part of the assistant's turn that the prompt already contains.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// Print only these parts.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    show: Vec<text::Section>,
    /// Write everything as an HTML page to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    if let Some(output) = &arguments.output {
        input::one_stdin(arguments.path.as_deref(), output, "the model's output")?;
    }
    let tools = arguments.tools.as_deref().map(input::tools).transpose()?;
    let output = arguments.output.as_deref().map(read_output).transpose()?;
    let mut options = ExplainOptions::new().over(!arguments.partial);
    if let Some(output) = &output {
        options = options.output(output);
    }
    if let Some(tools) = &tools {
        options = options.tools(tools);
    }
    if let Some(prompt) = &arguments.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let explanation = explained(arguments, &options)?;
    if let Some(path) = &arguments.html {
        let page = html::page(&explanation)?;
        std::fs::write(path, page).map_err(|e| Failure::file(path, e))?;
    }
    print(&explanation, arguments)?;
    match (explanation.outcome, explanation.reason) {
        (ParserOutcome::Failed, Some(reason)) => Err(Failure::Found(reason)),
        _ => Ok(()),
    }
}

/// The explanation of the template or the spec that the arguments name.
fn explained(arguments: &Arguments, options: &ExplainOptions<'_>) -> Result<Explanation, Failure> {
    let loader = arguments.parser.loader();
    if let Some(input) = arguments.parser.named_input() {
        return Ok(loader.explain(input, options)?);
    }
    let path = arguments.path.as_ref().ok_or_else(|| Failure::Input("name a template or a spec".to_owned()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(loader.explain_observed(Input::file(path), options, &mut |made| log::comparison(&file, made))?)
}

/// A file, or standard input for `-`.
fn read_output(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return std::fs::read(path).map_err(|e| Failure::file(path, e));
    }
    let mut output = Vec::new();
    std::io::stdin().read_to_end(&mut output)?;
    Ok(output)
}

fn print(explanation: &Explanation, arguments: &Arguments) -> Done {
    if arguments.format == Format::Json {
        return output::json(explanation);
    }
    let mut out = anstream::stdout().lock();
    if arguments.html.is_some() {
        return Ok(writeln!(out, "{}", text::summary(explanation))?);
    }
    Ok(text::write(explanation, &arguments.show, &mut out)?)
}

//! `unjinja explain`: shows what the analysis of a template saw and concluded, what a spec means, and how each byte of an
//! output is read. It prints to the terminal, as JSON, or as one self-contained page.

mod html;
mod model;
mod text;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_analyzer::trace::Comparison;
use unjinja_dynamic::{Input, LoadError, Loaded};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::{input, log, output};
use model::{Explanation, FileKind, Outcome, Sources};

/// The arguments of `explain`.
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

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if let Some(output) = &arguments.output {
        input::one_stdin(arguments.path.as_deref(), output, "the model's output")?;
    }
    let tools = arguments.tools.as_deref().map(input::tools).transpose()?;
    let output = arguments.output.as_deref().map(read_output).transpose()?;
    let mut comparisons = Vec::new();
    let (file, kind, spec) = spec(arguments, &mut comparisons)?;
    let explanation = Explanation::new(&Sources {
        file,
        kind,
        comparisons: &comparisons,
        spec,
        tools: tools.as_ref(),
        generation_prompt: arguments.generation_prompt.as_deref(),
        output: output.as_deref(),
        over: !arguments.partial,
    });
    if let Some(path) = &arguments.html {
        std::fs::write(path, html::page(&explanation)).map_err(|e| Failure::file(path, e))?;
    }
    print(&explanation, arguments)?;
    match (explanation.outcome, explanation.reason) {
        (Outcome::Failed, Some(reason)) => Err(Failure::Found(reason)),
        _ => Ok(()),
    }
}

/// What was loaded, or why no spec was found.
type Found = Result<Loaded, String>;

/// The file that is explained, what it is, and its spec.
fn spec(arguments: &Arguments, comparisons: &mut Vec<Comparison>) -> Result<(String, FileKind, Found), Failure> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let loader = arguments.parser.loader().analyse_anew();
    if let Some(named) = arguments.parser.named()? {
        let file = arguments.parser.spec().map(name);
        let file = file.unwrap_or_else(|| format!("{}.toml", named.bare.template.name));
        return Ok((file, FileKind::Spec, Ok(named)));
    }
    let path = arguments.path.as_ref().ok_or_else(|| Failure::Input("name a template or a spec".to_owned()))?;
    if path.extension().is_some_and(|e| e == "toml") {
        return Ok((name(path), FileKind::Spec, Ok(loader.load(Input::spec(path))?)));
    }
    let source = input::template(path)?;
    let file = source.file();
    let observe = &mut |comparison: &Comparison| {
        log::comparison(&file, comparison);
        comparisons.push(comparison.clone());
    };
    let found = match loader.load_observed(Input::source(source), observe) {
        Ok(loaded) => Ok(loaded),
        Err(error @ (LoadError::Template { .. } | LoadError::Analysis { .. })) => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    Ok((file, FileKind::Template, found))
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

//! `unjinja explain`: what the analysis of a template saw and concluded, what a spec means, and what each byte of an
//! output is taken for. In the terminal, as JSON, and as one page that needs nothing else.

mod html;
mod model;
mod text;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_analyzer::trace::Comparison;
use unjinja_build::{Source, SourceExt};
use unjinja_spec::FormatSpec;

use crate::failure::{Done, Failure};
use crate::{Format, input, log, output, whose};
use model::{Explanation, Kind, Outcome, Sources};

/// The arguments of `explain`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A template or a spec.
    path: PathBuf,
    /// Corrections to merge over the spec; of a template that we know, ours by default.
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
    /// A model's output, to be shown by what each of its bytes is taken for; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The output is not over yet: show what is held back.
    #[arg(long, requires = "output")]
    partial: bool,
    /// The tools offered: a file in OpenAI's form.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// What the prompt already wrote of the assistant's turn.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// Print these parts only.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    show: Vec<text::Part>,
    /// Write everything as one page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let (path, overlay) = (&arguments.path, arguments.overlay.as_deref());
    if let Some(output) = &arguments.output {
        input::one_stdin(Some(path), output, "the model's output")?;
    }
    let tools = arguments.tools.as_deref().map(input::tools).transpose()?;
    let output = arguments.output.as_deref().map(read_output).transpose()?;
    let mut comparisons = Vec::new();
    let (file, kind, spec) = if path.extension().is_some_and(|e| e == "toml") {
        let found = whose::read_bare(path)?;
        let spec = whose::with_overlay(found.clone(), overlay, &path.with_extension("overlay.toml"))?;
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), Kind::Spec, Ok((found, spec)))
    } else {
        let source = input::template(path)?;
        let spec = match analysed(&source, &mut comparisons) {
            Ok(found) => Ok((found.clone(), whose::corrected(found, overlay, &source)?)),
            Err(reason) => Err(reason),
        };
        (source.file(), Kind::Template, spec)
    };
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

/// A file, or standard input for `-`.
fn read_output(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return std::fs::read(path).map_err(|e| Failure::file(path, e));
    }
    let mut output = Vec::new();
    std::io::stdin().read_to_end(&mut output)?;
    Ok(output)
}

/// The spec of a template; or why there is none.
fn analysed(source: &Source, comparisons: &mut Vec<Comparison>) -> Result<FormatSpec, String> {
    let naming = source.naming("");
    let observe = &mut |comparison: &Comparison| {
        log::comparison(&naming.file, comparison);
        comparisons.push(comparison.clone());
    };
    unjinja_build::analyze_source_traced(source, &naming, observe).map_err(|e| e.to_string())
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

//! `unjinja explain`: what the analysis of a template saw and concluded, what a spec means, and what each byte of an
//! output is taken for. In the terminal, as JSON, and as one page that needs nothing else.

mod html;
mod model;
mod text;
pub(crate) mod visible;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_analyzer::Naming;
use unjinja_analyzer::trace::Comparison;
use unjinja_runtime::Tools;
use unjinja_spec::{FormatSpec, Overlay};

use crate::failure::{Done, Failure};
use crate::{Format, input, log};
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
    /// Write everything as one page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Whether to colour.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Whether to colour.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    /// Where a terminal reads it and `NO_COLOR` is not set.
    Auto,
    Always,
    Never,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let path = &arguments.path;
    let text = input::text(path)?;
    let tools = match &arguments.tools {
        Some(path) => Some(Tools::from_json(&input::text(path)?).map_err(|e| Failure::file(path, e))?),
        None => None,
    };
    let output = match &arguments.output {
        Some(path) => Some(read_output(path)?),
        None => None,
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kind = if path.extension().is_some_and(|e| e == "toml") { Kind::Spec } else { Kind::Template };
    let mut comparisons = Vec::new();
    let found = match kind {
        Kind::Spec => {
            Ok(FormatSpec::from_toml(&text, &path.display().to_string()).map_err(|e| Failure::Input(e.to_string()))?)
        }
        Kind::Template => analysed(&text, &file, &mut comparisons),
    };
    let spec = match found {
        Ok(found) => {
            let spec = overlaid(&found, kind, arguments.overlay.as_deref())?;
            Ok((found, spec))
        }
        Err(reason) => Err(reason),
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
fn analysed(text: &str, file: &str, comparisons: &mut Vec<Comparison>) -> Result<FormatSpec, String> {
    let observe = &mut |comparison: &Comparison| {
        log::comparison(file, comparison);
        comparisons.push(comparison.clone());
    };
    unjinja_build::analyze_text_traced(text, &Naming::of_file(file), observe).map_err(|e| e.to_string())
}

/// The spec with the overlay over it that is given, or with ours.
fn overlaid(spec: &FormatSpec, kind: Kind, given: Option<&Path>) -> Result<FormatSpec, Failure> {
    let overlay = match (given, kind) {
        (Some(path), _) => Overlay::from_toml(&input::text(path)?, &path.display().to_string()),
        (None, Kind::Spec) => return Ok(spec.clone()),
        (None, Kind::Template) => match crate::models::overlay(&spec.template.sha256) {
            Some(text) => Overlay::from_toml(text, "the overlay of this template"),
            None => return Ok(spec.clone()),
        },
    };
    overlay.and_then(|overlay| overlay.apply(spec)).map_err(|e| Failure::Input(e.to_string()))
}

fn print(explanation: &Explanation, arguments: &Arguments) -> Done {
    if arguments.format == Format::Json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, explanation).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    let choice = match arguments.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    let mut out = anstream::AutoStream::new(std::io::stdout().lock(), choice);
    if arguments.html.is_some() {
        return Ok(writeln!(out, "{}", text::summary(explanation))?);
    }
    Ok(text::write(explanation, &mut out)?)
}

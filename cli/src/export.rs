//! `unjinja export`: makes a response template of a chat template for a reader, tries it with random conversations, and prints
//! it or writes it into a `tokenizer_config.json`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use unjinja_analyzer::{SourceExt, verify};
use unjinja_export::lint::{Finding, lint_response_template};
use unjinja_export::response_template::{Dialect, Example, Export, Loss, export, with_template, written_json};
use unjinja_spec::Problem;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::ui::Ui;
use crate::{input, output, visible};

/// The readers of response templates.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// `tokenizer.parse_response` and `transformers serve`.
    Transformers,
    /// `vllm serve --tool-call-parser hf --reasoning-parser hf`.
    Vllm,
    /// SGLang's parser `response_template`.
    Sglang,
}

impl Reader {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Reader::Transformers => Dialect::Transformers,
            Reader::Vllm => Dialect::Vllm,
            Reader::Sglang => Dialect::Sglang,
        }
    }
}

/// The arguments of `export`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The chat template.
    template: PathBuf,
    /// Who is to read the response template: the readers take different ones.
    #[arg(long = "for", value_enum, value_name = "READER")]
    reader: Reader,
    /// Store the response template in this tokenizer_config.json; everything else in it stays as it is.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// How many random conversations are tried.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// The seed of the conversations; the same seed gives the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    #[command(flatten)]
    parser: ParserArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let source = input::template(&arguments.template)?;
    let spec = arguments.parser.spec_for(&source)?.spec;
    if !spec.status.makes_parser() {
        let next = format!("unjinja explain {}", output::argument(&arguments.template));
        return Err(Failure::Found(format!("{} is not supported: {next} says why", source.file())));
    }
    let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
    let verification = verify(&template, &spec, arguments.count, arguments.seed);
    let export = export(&spec, arguments.reader.dialect(), &verification).map_err(|e| Failure::Found(e.to_string()))?;
    if let Some(path) = &arguments.write {
        let config = input::text(path)?;
        let changed = with_template(&config, &export.json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let cause = "this is no JSON object, so nothing is written".to_owned();
            let name = path.display().to_string();
            Problem::at(&name, &config, (line, column), cause, "correct the marked place, or what comes before it")
        })?;
        std::fs::write(path, changed).map_err(|error| Failure::file(path, error))?;
    }
    match (arguments.format, &arguments.write) {
        (Format::Json, _) => output::json(&document(&export))?,
        (Format::Human, None) => output::json(&export.json)?,
        (Format::Human, Some(path)) => ui.remark(&format!("the response template was written to {}", path.display())),
    }
    if arguments.format == Format::Human {
        tell(&export, ui);
        let findings = lint_response_template(&export.json, &template, &spec, &verification, &[export.dialect]);
        tell_findings(&findings, arguments.write.as_deref(), ui);
    }
    match export.losses.len() {
        0 => Ok(()),
        1 => Err(Failure::Found(format!("{} does not read everything: 1 loss", export.dialect.title()))),
        losses => Err(Failure::Found(format!("{} does not read everything: {losses} losses", export.dialect.title()))),
    }
}

/// The result for people, on standard error: standard output is the template alone.
fn tell(export: &Export, ui: Ui) {
    let reader = export.dialect.title();
    ui.remark(&format!("{reader}: {} of {} random conversations came back", export.held, export.tried));
    for Loss { kind, count, example } in &export.losses {
        let times = if *count > 0 { format!(" ({count} conversations)") } else { String::new() };
        ui.remark(&format!("  lost: {kind}{times}"));
        let Some(Example { output, in_pieces, expected, read }) = example else { continue };
        let read = match read {
            Ok(reading) => reading.to_json().to_string(),
            Err(error) => format!("error: {error}"),
        };
        let output = format!("{output:?}{}", if *in_pieces { ", in small pieces" } else { "" });
        let rows = [("output", output), ("written", written_json(expected).to_string()), ("read", read)];
        for (name, text) in rows {
            ui.remark(&format!("    {name:7} {}", visible::line(&text)));
        }
    }
    for note in &export.notes {
        ui.remark(&format!("  note: {note}"));
    }
}

/// What `unjinja lint` says of the file in which the response template is stored.
fn tell_findings(findings: &[Finding], written: Option<&Path>, ui: Ui) {
    for finding in findings {
        let text = format!("  lint: {}[{}]: {}", finding.severity.name(), finding.rule.id, finding.message);
        ui.remark(&visible::line(&text));
    }
    if let (false, Some(path)) = (findings.is_empty(), written) {
        ui.remark(&format!("  unjinja lint {} shows an output for each", output::argument(path)));
    }
}

/// The result as JSON.
fn document(export: &Export) -> Value {
    let losses: Vec<Value> = export.losses.iter().map(loss).collect();
    json!({
        "reader": export.dialect.name(), "response_template": export.json, "tried": export.tried, "held": export.held,
        "losses": losses, "notes": export.notes,
    })
}

fn loss(loss: &Loss) -> Value {
    let example = loss.example.as_ref().map(|example| {
        let (read, error) = match &example.read {
            Ok(reading) => (reading.to_json(), Value::Null),
            Err(error) => (Value::Null, Value::from(error.to_string())),
        };
        json!({
            "output": example.output, "in_pieces": example.in_pieces, "written": written_json(&example.expected),
            "read": read, "error": error,
        })
    });
    json!({"kind": loss.kind.name(), "sentence": loss.kind.sentence(), "conversations": loss.count, "example": example})
}

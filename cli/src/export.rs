//! `unjinja export`: makes a response template of a chat template, tries it with random conversations, and prints
//! it or writes it into a `tokenizer_config.json`. Templates for training are in `training`.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use unjinja_analyzer::{SourceExt, verify_after_results};
use unjinja_export::response_template::{Example, Export, Loss, LossDocument, READER, Reading, export, with_template};
use unjinja_lint::{Finding, FindingDocument, lint_response_template};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::ui::Ui;
use crate::{input, output, visible};

mod arguments;
mod training;

pub(crate) use arguments::Arguments;
use arguments::{Purpose, write};

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    if arguments.purpose == Purpose::Training {
        return training::run(arguments, ui);
    }
    if arguments.keep_prefix {
        return Err(Failure::Input("--keep-prefix changes a chat template; it needs --for training".to_owned()));
    }
    let source = input::template(&arguments.template)?;
    let spec = arguments.parser.spec_for(&source)?.spec;
    if !spec.status.makes_parser() {
        let next = format!("unjinja explain {}", output::argument(&arguments.template));
        return Err(Failure::Found(format!("{} is not supported: {next} says why", source.file())));
    }
    let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
    let verification =
        verify_after_results(&template, &spec, arguments.count.unwrap_or(200), arguments.seed.unwrap_or(1));
    let export = export(&spec, &verification).map_err(|e| Failure::Found(e.to_string()))?;
    if let Some(path) = &arguments.store_in {
        write(path, |config| with_template(config, &export.json))?;
    }
    let found = lint_response_template(&export.json, &template, &spec, &verification);
    match (arguments.format, &arguments.store_in) {
        (Format::Json, _) => output::json(&Document::new(&export, &found))?,
        (Format::Human, None) => output::json(&export.json)?,
        (Format::Human, Some(path)) => ui.remark(&format!("the response template was written to {}", path.display())),
    }
    if arguments.format == Format::Human {
        tell(&export, ui);
        tell_findings(&found, arguments.store_in.as_deref(), ui);
    }
    match export.losses.len() {
        0 => Ok(()),
        1 => Err(Failure::Found(format!("{READER} does not read everything: 1 loss"))),
        losses => Err(Failure::Found(format!("{READER} does not read everything: {losses} losses"))),
    }
}

/// The result for people, on standard error: standard output is the template alone.
fn tell(export: &Export, ui: Ui) {
    ui.remark(&format!("{READER}: {} of {} random conversations came back", export.held, export.tried));
    for Loss { kind, count, example } in &export.losses {
        let times = if *count > 0 { format!(" ({count} conversations)") } else { String::new() };
        ui.remark(&format!("  lost: {kind}{times}"));
        let Some(Example { output, in_pieces, expected, read }) = example else { continue };
        let read = match read {
            Ok(reading) => reading.to_json().to_string(),
            Err(error) => format!("error: {error}"),
        };
        let output = format!("{output:?}{}", if *in_pieces { ", in small pieces" } else { "" });
        let rows = [("output", output), ("written", Reading::from(expected).to_json().to_string()), ("read", read)];
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

/// A response template, and what random conversations say of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'e> {
    /// The response template.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
    response_template: &'e Value,
    /// How many random conversations were tried.
    tried: u32,
    /// How many the reader reads as they were written.
    held: u32,
    /// What the language of response templates cannot express of the format.
    losses: Vec<LossDocument<'e>>,
    /// What a user should know, and no response template can change.
    notes: &'e [String],
    /// What `unjinja lint` says of the response template, as it prints it.
    findings: Vec<FindingDocument<'e>>,
}

impl<'e> Document<'e> {
    fn new(export: &'e Export, found: &'e [Finding]) -> Self {
        Self {
            response_template: &export.json,
            tried: export.tried,
            held: export.held,
            losses: export.losses.iter().map(LossDocument::new).collect(),
            notes: &export.notes,
            findings: found.iter().map(FindingDocument::new).collect(),
        }
    }
}

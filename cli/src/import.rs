//! `unjinja import`: makes a format spec of a response template, or says why none can be made.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use unjinja_analyzer::{SourceExt, sha256, verify};
use unjinja_dynamic::{Input, Loader};
use unjinja_export::response_template::{Problems, ResponseTemplate, completed, find};
use unjinja_spec::{FormatSpec, TemplateInfo};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::ui::Ui;
use crate::{input, log, output};

/// The arguments of `import`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A response template, or a tokenizer_config.json that has one.
    file: PathBuf,
    /// The chat template that the response template belongs to: what it says of prompts and tokens is taken over, and the
    /// spec is tried with random conversations of it.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let text = input::text(&arguments.file)?;
    let name = arguments.file.display().to_string();
    let document = input::parse_json(&name, &text)?;
    let Some(json) = find(&document) else {
        return Err(Failure::Input(format!("{name}: there is no response template in this file")));
    };
    let template = ResponseTemplate::from_json(json).map_err(|problems| refused(&name, problems, Failure::InputAll))?;
    let mut spec = template
        .to_spec(TemplateInfo {
            name: "imported".to_owned(),
            file: arguments.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: sha256(&text),
            ..TemplateInfo::default()
        })
        .map_err(|problems| refused(&name, problems, Failure::FoundAll))?;
    let mut figure = None;
    if let Some(path) = &arguments.template {
        let source = input::template(path)?;
        let loader = Loader::new().analyse_anew().only_given_overlays();
        spec = completed(spec, log::load(&loader, Input::source(source.clone()))?.spec);
        let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
        let verification = verify(&template, &spec, 200, 1);
        spec.evidence.round_trips = verification.round_trips();
        spec.evidence.covered = verification.covered();
        figure = Some((verification.held, verification.tried));
    }
    match arguments.format {
        Format::Json => output::json(&of(&spec, figure))?,
        Format::Human => write!(std::io::stdout().lock(), "{}", spec.to_toml())?,
    }
    let Some((held, tried)) = figure else { return Ok(()) };
    ui.remark(&format!("{held} of {tried} random conversations of the template came back"));
    if held < tried {
        Err(Failure::Found("the spec does not read all that the template renders".to_owned()))
    } else {
        Ok(())
    }
}

/// The problems, each with the file that has it.
fn refused(name: &str, problems: Problems, failure: fn(Vec<String>) -> Failure) -> Failure {
    failure(problems.0.iter().map(|problem| format!("{name}: {problem}")).collect())
}

fn of(spec: &FormatSpec, figure: Option<(u32, u32)>) -> Value {
    json!({"spec": spec, "tried": figure.map(|(_, tried)| tried), "held": figure.map(|(held, _)| held)})
}

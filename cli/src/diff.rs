//! `unjinja diff`: lists the changes between two specs, and says which of them break parsers.

use std::path::PathBuf;

use clap::Args;
use unjinja_dynamic::{Input, Loader};
use unjinja_spec::{FormatSpec, diff};

use crate::failure::{Done, Failure};
use crate::input;
use crate::report::{Changed, FailOn, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;

/// The arguments of `diff`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The old spec.
    old: PathBuf,
    /// The new spec.
    new: PathBuf,
    /// Apply the overlays next to the specs (NAME.overlay.toml) before comparing.
    #[arg(long)]
    overlays: bool,
    /// With which differences the exit code is 1.
    #[arg(long, value_enum, value_name = "EFFECT", default_value = "informational")]
    fail_on: FailOn,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ReportFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let loader = Loader::new().without_known_formats();
    let loader = if arguments.overlays { loader } else { loader.only_given_overlays() };
    let read = |path: &PathBuf| -> Result<FormatSpec, Failure> { Ok(loader.load(Input::spec(path))?.spec) };
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let changes = diff(&old, &new);
    let outcome = match changes.is_empty() {
        true => Outcome::Unchanged,
        false => Outcome::Changed(Changed::new(changes, &input::text(&arguments.old)?)),
    };
    let row = Row { name: new.template.name.clone(), template: None, file: Some(arguments.old.clone()), outcome };
    let report = Report { rows: vec![row], hints: Vec::new(), fix: None };
    report.print(arguments.format, ui)?;
    if report.rows.iter().any(|row| arguments.fail_on.includes(&row.outcome)) {
        return Err(Failure::Found("the specs differ".to_owned()));
    }
    Ok(())
}

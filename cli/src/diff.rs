//! `unjinja diff`: what changed between two specs, and whether it breaks.

use std::path::PathBuf;

use clap::Args;
use unjinja_spec::diff;

use crate::failure::{Done, Failure};
use crate::report::{Changed, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;
use crate::{input, whose};

/// The arguments of `diff`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The old spec.
    old: PathBuf,
    /// The new spec.
    new: PathBuf,
    /// Merge the overlays that stand beside the specs (NAME.overlay.toml) before comparing.
    #[arg(long)]
    overlays: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ReportFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let read = |path: &PathBuf| {
        if arguments.overlays {
            return whose::read(path, None);
        }
        whose::read_bare(path)
    };
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let changes = diff(&old, &new);
    let outcome = match changes.is_empty() {
        true => Outcome::Unchanged,
        false => Outcome::Changed(Changed::new(changes, &input::text(&arguments.old)?)),
    };
    let row = Row { name: new.template.name.clone(), template: None, file: Some(arguments.old.clone()), outcome };
    let report = Report { rows: vec![row], mend: None };
    report.print(arguments.format, ui)?;
    match report.differences() {
        0 => Ok(()),
        _ => Err(Failure::Found("the specs differ".to_owned())),
    }
}

//! `unjinja diff`: lists the changes between two specs, and says which of them break parsers. Of two templates it also says whether they
//! render alike, and whether their parsers read alike.

mod templates;

use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_build::SourceExt;
use unjinja_dynamic::{Input, Loaded, Loader};
use unjinja_export::compare::{CompareOptions, TemplateComparison, compare};
use unjinja_spec::{Effect, diff};

use crate::failure::{Done, Failure};
use crate::report::{Changed, FailOn, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;
use crate::{input, log, output};

/// The arguments of `diff`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The old spec or template.
    old: PathBuf,
    /// The new spec or template.
    new: PathBuf,
    /// Apply the overlays next to the files (NAME.overlay.toml) before comparing.
    #[arg(long)]
    overlays: bool,
    /// With which differences the exit code is 1. That templates render differently is informational, and that a parser reads a turn
    /// differently is breaking.
    #[arg(long, value_enum, value_name = "EFFECT", default_value = "informational")]
    fail_on: FailOn,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ReportFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let loader = Loader::new().without_known_formats().analyse_anew();
    let loader = if arguments.overlays { loader } else { loader.only_given_overlays() };
    let (old, new) = (loaded(&loader, &arguments.old)?, loaded(&loader, &arguments.new)?);
    let compared = templates(&old, &new)?;
    let mut changes = diff(&old.spec, &new.spec);
    if compared.is_some() {
        // Two templates have two names.
        changes.retain(|change| !change.key.starts_with("template.") && !change.key.starts_with("evidence."));
    }
    let outcome = match changes.is_empty() {
        true => Outcome::Unchanged,
        false => Outcome::Changed(Changed::new(changes, &text_of(&old, &arguments.old)?)),
    };
    let row = Row { name: new.spec.template.name.clone(), template: None, file: Some(arguments.old.clone()), outcome };
    let report = Report { rows: vec![row], hints: Vec::new(), fix: None };
    print(&report, compared.as_ref(), arguments, ui)?;
    if let Some(severity) = compared.as_ref().and_then(severity)
        && arguments.fail_on.reaches(severity)
    {
        return Err(Failure::Found("the templates differ".to_owned()));
    }
    if report.rows.iter().any(|row| arguments.fail_on.includes(&row.outcome)) {
        let what = if compared.is_some() { "the specs of the templates differ" } else { "the specs differ" };
        return Err(Failure::Found(what.to_owned()));
    }
    Ok(())
}

/// A spec, or that of a template.
fn loaded(loader: &Loader, path: &Path) -> Result<Loaded, Failure> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Ok(loader.load(Input::spec(path))?);
    }
    Ok(log::load(loader, Input::source(input::template(path)?))?)
}

/// The comparison of two templates; `None` if one of the files is a spec.
fn templates(old: &Loaded, new: &Loaded) -> Result<Option<TemplateComparison>, Failure> {
    let (Some(before), Some(after)) = (&old.source, &new.source) else { return Ok(None) };
    let parsed = |source: &unjinja_build::Source| source.template().map_err(|error| Failure::Input(error.to_string()));
    let options = CompareOptions::new().specs(old.spec.clone(), new.spec.clone());
    Ok(Some(compare(&parsed(before)?, &parsed(after)?, &options)))
}

/// The text in which the lines of keys are: that of a spec. A template has no lines for them.
fn text_of(loaded: &Loaded, path: &Path) -> Result<String, Failure> {
    if loaded.source.is_some() { Ok(String::new()) } else { input::text(path) }
}

/// How bad it is that templates differ; `None` if they render and read alike.
fn severity(compared: &TemplateComparison) -> Option<Effect> {
    match (compared.read_alike(), compared.render_alike()) {
        (false, _) => Some(Effect::Breaking),
        (true, false) => Some(Effect::Informational),
        (true, true) => None,
    }
}

fn print(report: &Report, compared: Option<&TemplateComparison>, arguments: &Arguments, ui: Ui) -> Done {
    let Some(compared) = compared else { return report.print(arguments.format, ui) };
    if arguments.format == ReportFormat::Json {
        let mut document = report.document();
        document["templates"] = compared.to_json();
        return output::json(&document);
    }
    report.print(arguments.format, ui)?;
    templates::print(compared, arguments.format, &arguments.new)
}

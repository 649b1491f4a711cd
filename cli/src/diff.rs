//! `unjinja diff`: lists the changes between two specs, and says which of them break parsers. Of two templates it also says whether they
//! render alike, and whether their parsers read alike.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use unjinja_build::SourceExt;
use unjinja_dynamic::{Input, Loaded, Loader};
use unjinja_lint::Severity;
use unjinja_lint::compare::{CompareOptions, RenderComparison, Rendered, TemplateComparison, compare};
use unjinja_spec::{Effect, diff};

use crate::failure::{Done, Failure};
use crate::findings::{Finding, Group};
use crate::report::{Changed, FailOn, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;
use crate::{input, log, output};

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
    Ok(log::load(loader, Input::file(path))?)
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
    match (compared.read.alike, compared.render.alike) {
        (false, _) => Some(Effect::Breaking),
        (true, false) => Some(Effect::Informational),
        (true, true) => None,
    }
}

fn print(report: &Report, compared: Option<&TemplateComparison>, arguments: &Arguments, ui: Ui) -> Done {
    let Some(compared) = compared else { return report.print(None, arguments.format, ui) };
    if arguments.format == ReportFormat::Json {
        let mut document = report.document();
        document.templates = Some(compared);
        return output::json(&document);
    }
    // An annotation is about a difference.
    let tells_all = arguments.format != ReportFormat::Github;
    let findings = [
        (compared.render.alike, renders(compared, &arguments.new)),
        (compared.read.alike, reads(compared, &arguments.new)),
    ];
    let findings = findings.into_iter().filter(|(alike, _)| tells_all || !alike).map(|(_, finding)| finding).collect();
    report.print(Some(Group { name: "templates".to_owned(), findings }), arguments.format, ui)
}

/// Whether the templates render alike, with the smallest conversation that comes out different.
fn renders(compared: &TemplateComparison, file: &Path) -> Finding {
    let RenderComparison { tried, differing, space, .. } = &compared.render;
    let assumed = match compared.render.assumed_tokens.as_slice() {
        [] => String::new(),
        names => format!("; only one file says the text of {}, which is taken for both", names.join(", ")),
    };
    let space = match space {
        0 => String::new(),
        all if all == differing => ", all in white space only".to_owned(),
        some => format!(", {some} of them in white space only"),
    };
    let message = match compared.render.alike {
        true => format!("the templates render alike: {tried} conversations{assumed}"),
        false => format!("the templates render differently: {differing} of {tried} conversations{space}{assumed}"),
    };
    let text = |rendered: &Rendered| match rendered {
        Rendered::Text(text) => text.clone(),
        Rendered::Error(error) => format!("fails: {error}"),
    };
    let details = compared.render.difference.as_ref().map_or_else(Vec::new, |difference| {
        let conversation = difference.conversation.to_string();
        vec![("conversation", conversation), ("old", text(&difference.old)), ("new", text(&difference.new))]
    });
    Finding { details, ..Finding::of_file(Severity::Note, "renders", file, message) }
}

/// Whether the parsers read alike, with the shortest turns that they read differently.
fn reads(compared: &TemplateComparison, file: &Path) -> Finding {
    let readings = compared.read.turns.each();
    let [old, new] = readings;
    let turns = format!(
        "{} of {} turns of the old template by the new parser, {} of {} of the new one by the old",
        old.alike, old.tried, new.alike, new.tried
    );
    let (severity, how) =
        if compared.read.alike { (Severity::Note, "alike") } else { (Severity::Error, "differently") };
    let message = format!("their parsers read {how}: alike are {turns}");
    let problems = compared.problems.each().into_iter().zip(["no old", "no new"]);
    let mut details: Vec<(&str, String)> =
        problems.filter_map(|(problem, which)| Some((which, problem.clone()?))).collect();
    for (readings, [writer, reader]) in readings.into_iter().zip([["by old", "by new"], ["by new", "by old"]]) {
        if let Some(difference) = &readings.difference {
            details.push(("turn", difference.output.clone()));
            details.push((writer, json!(difference.own).to_string()));
            details.push((reader, json!(difference.other).to_string()));
        }
    }
    Finding { details, ..Finding::of_file(severity, "reads", file, message) }
}

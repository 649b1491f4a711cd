//! `unjinja list`: lists the supported models, or the specs of a folder.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use unjinja_dynamic::{Input, Loader, known_overlay, known_specs};
use unjinja_spec::{FormatSpec, ReasoningMode, RoundTrips, Status, ToolFormat};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::ui::{FAINT, NAME, paint};
use crate::visible;
use crate::{gaps, output};

/// Lists the specs of a folder: as a Markdown table, or as JSON.
pub(crate) fn specs(folder: &Path, format: Format) -> Done {
    let specs = unjinja_dynamic::specs_in(folder)?;
    if specs.is_empty() {
        return Err(Failure::file(folder, "the folder holds no spec; `unjinja analyze TEMPLATES -o DIR` writes specs"));
    }
    if format == Format::Human {
        let table = unjinja_codegen::table(specs.iter().map(|(_, loaded)| loaded.entry()));
        std::io::stdout().write_all(table.as_bytes())?;
        return Ok(());
    }
    let rows = specs.iter().map(|(_, loaded)| {
        let FormatSpec { template, reasoning, evidence, .. } = &loaded.spec;
        let reasons = reasoning.mode != ReasoningMode::None;
        SpecRow {
            name: &template.name,
            source: &template.source,
            file: &template.file,
            sha256: &template.sha256,
            calls: loaded.spec.tools.format,
            reasoning: reasons.then_some(Markers { start: &reasoning.start, end: &reasoning.end }),
            status: loaded.spec.status,
            gaps: &loaded.spec.gaps,
            overlay: !loaded.corrections.is_empty(),
            round_trips: evidence.round_trips,
        }
    });
    output::json(&Document::Specs(rows.collect()))
}

/// The supported models, or with `--specs` the specs of a folder.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Document<'a> {
    /// The supported models.
    Models(Vec<ModelRow<'a>>),
    /// The specs of the folder.
    Specs(Vec<SpecRow<'a>>),
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelRow<'a> {
    /// Name of the spec.
    name: &'a str,
    /// Where the template comes from.
    source: &'a str,
    /// Ids on the Hub of the models that have it; `{size}` stands for any size.
    models: &'a [String],
    /// File names of the template.
    files: Vec<&'a str>,
    /// SHA-256 of the template's text.
    sha256: &'a str,
    /// How much of what the template renders the spec describes; no parser is made from an unsupported one.
    status: Status,
    /// What is missing, one sentence each; empty if the format is supported.
    gaps: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SpecRow<'a> {
    /// Name of the spec.
    name: &'a str,
    /// Where the template comes from.
    source: &'a str,
    /// File name of the template.
    file: &'a str,
    /// SHA-256 of the template's text.
    sha256: &'a str,
    /// The family of the wire format.
    calls: ToolFormat,
    /// The markers of reasoning; null if the format has none.
    reasoning: Option<Markers<'a>>,
    /// How much of what the template renders the spec describes; no parser is made from an unsupported one.
    status: Status,
    /// What is missing, one sentence each; empty if the format is supported.
    gaps: &'a [String],
    /// Whether an overlay is applied to it.
    overlay: bool,
    /// Random conversations that were rendered and parsed back.
    round_trips: RoundTrips,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Markers<'a> {
    /// What opens reasoning; empty if only its end is marked.
    start: &'a str,
    /// What closes it.
    end: &'a str,
}

/// Prints the overlay of a supported model.
pub(crate) fn overlay(name: &str) -> Done {
    let spec = Loader::new().load(Input::known(name))?.bare;
    let no_overlay = || Failure::Input(format!("{} needs no overlay, so there is none", spec.template.name));
    let text = known_overlay(&spec).ok_or_else(no_overlay)?;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Lists the supported models.
pub(crate) fn models(format: Format) -> Done {
    let loader = Loader::new();
    let specs = known_specs().into_iter().map(|bare| Ok(loader.load(Input::known(bare.template.name))?.spec));
    let specs = specs.collect::<Result<Vec<FormatSpec>, Failure>>()?;
    if format == Format::Json {
        let rows = specs.iter().map(|spec| ModelRow {
            name: &spec.template.name,
            source: &spec.template.source,
            models: &spec.template.models,
            files: std::iter::once(&spec.template.file).chain(&spec.template.also).map(String::as_str).collect(),
            sha256: &spec.template.sha256,
            status: spec.status,
            gaps: &spec.gaps,
        });
        return output::json(&Document::Models(rows.collect()));
    }
    let mut out = anstream::stdout().lock();
    let width = specs.iter().map(|spec| spec.template.name.len()).max().unwrap_or(0);
    for spec in &specs {
        let template = &spec.template;
        let space = " ".repeat(width - template.name.len() + 2);
        let missing = match gaps::status(spec) {
            missing if missing.is_empty() => missing,
            missing => format!("  {missing}"),
        };
        writeln!(
            out,
            "{}{space}{}{missing}",
            paint(NAME, &template.name),
            paint(FAINT, &visible::lines(&template.of_models()))
        )?;
    }
    Ok(())
}

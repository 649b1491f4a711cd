//! `unjinja list`: lists the supported models, or the specs of a folder.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_dynamic::{Input, Loader, known_overlay, known_specs};
use unjinja_spec::{FormatSpec, ReasoningMode};

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
        let spec = &loaded.spec;
        let reasons = spec.reasoning.mode != ReasoningMode::None;
        let reasoning = reasons.then(|| json!({"start": spec.reasoning.start, "end": spec.reasoning.end}));
        let (template, trips) = (&spec.template, spec.evidence.round_trips);
        json!({
            "name": template.name, "source": template.source, "file": template.file, "sha256": template.sha256,
            "calls": spec.tools.format.name(), "reasoning": reasoning, "status": spec.status, "gaps": spec.gaps,
            "overlay": !loaded.corrections.is_empty(),
            "round_trips": {"tried": trips.tried, "held": trips.held},
        })
    });
    output::json(&rows.collect::<Vec<Value>>())
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
        let rows = specs.iter().map(|spec| {
            let template = &spec.template;
            let files: Vec<&String> = std::iter::once(&template.file).chain(&template.also).collect();
            json!({
                "name": template.name, "source": template.source, "files": files, "sha256": template.sha256,
                "status": spec.status, "gaps": spec.gaps,
            })
        });
        return output::json(&rows.collect::<Vec<Value>>());
    }
    let mut out = anstream::stdout().lock();
    let width = specs.iter().map(|spec| spec.template.name.len()).max().unwrap_or(0);
    for spec in &specs {
        let template = &spec.template;
        let source = if template.source.is_empty() { &template.file } else { &template.source };
        let space = " ".repeat(width - template.name.len() + 2);
        let missing = match gaps::status(spec) {
            missing if missing.is_empty() => missing,
            missing => format!("  {missing}"),
        };
        writeln!(out, "{}{space}{}{missing}", paint(NAME, &template.name), paint(FAINT, &visible::lines(source)))?;
    }
    Ok(())
}

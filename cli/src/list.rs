//! `unjinja list`: lists the supported models, or the specs of a folder.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_spec::{FormatSpec, ReasoningMode};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::with_built_in_overlay;
use crate::ui::{FAINT, NAME, paint};
use crate::visible;
use crate::{gaps, models, output};

/// Lists the specs of a folder: as a Markdown table, or as JSON.
pub(crate) fn specs(folder: &Path, format: Format) -> Done {
    let unreadable = |e: unjinja_codegen::SpecsError| Failure::Input(e.to_string());
    let specs = unjinja_codegen::read_specs(folder).map_err(unreadable)?;
    if specs.is_empty() {
        return Err(Failure::file(folder, "the folder holds no spec; `unjinja analyze TEMPLATES -o DIR` writes specs"));
    }
    if format == Format::Human {
        std::io::stdout().write_all(unjinja_codegen::table(folder).map_err(unreadable)?.as_bytes())?;
        return Ok(());
    }
    let rows = specs.iter().map(|(path, spec)| {
        let reasons = spec.reasoning.mode != ReasoningMode::None;
        let reasoning = reasons.then(|| json!({"start": spec.reasoning.start, "end": spec.reasoning.end}));
        let (template, trips) = (&spec.template, spec.evidence.round_trips);
        json!({
            "name": template.name, "source": template.source, "file": template.file, "sha256": template.sha256,
            "calls": spec.tools.format.name(), "reasoning": reasoning, "status": spec.status, "gaps": spec.gaps,
            "overlay": path.with_extension("overlay.toml").exists(),
            "round_trips": {"tried": trips.tried, "held": trips.held},
        })
    });
    output::json(&rows.collect::<Vec<Value>>())
}

/// Prints the overlay of a supported model.
pub(crate) fn overlay(name: &str) -> Done {
    let template = models::find(name).map_err(Failure::Input)?.template;
    let no_overlay = || Failure::Input(format!("{} needs no overlay, so there is none", template.name));
    let text = models::overlay(&template.sha256).ok_or_else(no_overlay)?;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Lists the supported models.
pub(crate) fn models(format: Format) -> Done {
    let specs = models::all().into_iter().map(|bare| Ok(with_built_in_overlay(bare)?.spec));
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

//! `unjinja list`: lists the supported models, or the specs of a folder.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_spec::ReasoningMode;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::corrected_model;
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
    let info = models::find(name).map_err(Failure::Input)?.info();
    let no_overlay = || Failure::Input(format!("{} needs no overlay, so there is none", info.name));
    let text = models::overlay(&info.sha256).ok_or_else(no_overlay)?;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Lists the supported models.
pub(crate) fn models(format: Format) -> Done {
    let parsers = models::all();
    if format == Format::Json {
        let rows = parsers.iter().map(|parser| {
            let facts = parser.info();
            let spec = corrected_model(&facts.name)?;
            Ok(json!({
                "name": facts.name, "source": facts.source, "files": facts.files, "sha256": facts.sha256,
                "status": spec.status, "gaps": spec.gaps,
            }))
        });
        return output::json(&rows.collect::<Result<Vec<Value>, Failure>>()?);
    }
    let mut out = anstream::stdout().lock();
    let width = parsers.iter().map(|parser| parser.info().name.len()).max().unwrap_or(0);
    for parser in parsers {
        let facts = parser.info();
        let source =
            if facts.source.is_empty() { facts.files.first().map_or("", |file| &**file) } else { &facts.source };
        let space = " ".repeat(width - facts.name.len() + 2);
        let missing = match gaps::status(&corrected_model(&facts.name)?) {
            missing if missing.is_empty() => missing,
            missing => format!("  {missing}"),
        };
        writeln!(out, "{}{space}{}{missing}", paint(NAME, &facts.name), paint(FAINT, &visible::lines(source)))?;
    }
    Ok(())
}

//! `unjinja list`: the models whose parsers are compiled in, or the specs of a folder.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_spec::ReasoningMode;

use crate::Format;
use crate::failure::{Done, Failure};
use crate::output;
use crate::ui::{FAINT, NAME, paint};
use crate::visible;

/// Lists the specs of a folder: as a Markdown table, or as JSON.
pub(crate) fn specs(folder: &Path, format: Format) -> Done {
    let unreadable = |e: unjinja_codegen::SpecsError| Failure::Input(e.to_string());
    let specs = unjinja_codegen::read_specs(folder).map_err(unreadable)?;
    if specs.is_empty() {
        return Err(Failure::file(folder, "the folder holds no spec; `unjinja analyze TEMPLATES -o DIR` writes some"));
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
            "calls": spec.tools.format.name(), "reasoning": reasoning, "unsupported": spec.unsupported,
            "overlay": path.with_extension("overlay.toml").exists(),
            "round_trips": {"tried": trips.tried, "held": trips.held},
        })
    });
    output::json(&rows.collect::<Vec<Value>>())
}

/// Lists the compiled parsers.
pub(crate) fn models(format: Format) -> Done {
    let parsers = crate::models::all();
    if format == Format::Json {
        let rows = parsers.iter().map(|parser| {
            let facts = parser.info();
            json!({"name": facts.name, "source": facts.source, "files": facts.files, "sha256": facts.sha256})
        });
        return output::json(&rows.collect::<Vec<Value>>());
    }
    let mut out = anstream::stdout().lock();
    let width = parsers.iter().map(|parser| parser.info().name.len()).max().unwrap_or(0);
    for parser in parsers {
        let facts = parser.info();
        let source =
            if facts.source.is_empty() { facts.files.first().map_or("", |file| &**file) } else { &facts.source };
        let space = " ".repeat(width - facts.name.len() + 2);
        writeln!(out, "{}{space}{}", paint(NAME, &facts.name), paint(FAINT, &visible::lines(source)))?;
    }
    Ok(())
}

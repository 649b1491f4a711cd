//! `unjinja list`: the models whose parsers are compiled in.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use unjinja_spec::ReasoningMode;

use crate::analyze;
use crate::failure::{Done, Failure};

/// Prints the Markdown table of a folder of specs.
pub(crate) fn table(folder: &Path) -> Done {
    let specs = unjinja_codegen::read_specs(folder).map_err(|e| Failure::Input(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "| spec | template of | calls | reasoning | round trips |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (path, spec) in specs {
        let overlay = if path.with_extension("overlay.toml").exists() { " (overlay)" } else { "" };
        let calls = match &spec.unsupported {
            Some(_) => "unsupported",
            None => analyze::format_name(spec.tools.format),
        };
        let (start, end) = (spec.reasoning.start.trim(), spec.reasoning.end.trim());
        let reasoning = match spec.reasoning.mode {
            ReasoningMode::None => String::new(),
            _ if start.is_empty() => format!("… `{}`", cell(end)),
            _ => format!("`{}` … `{}`", cell(start), cell(end)),
        };
        let trips = spec.evidence.round_trips;
        let source = if spec.template.source.is_empty() { &spec.template.file } else { &spec.template.source };
        let name = &spec.template.name;
        writeln!(
            out,
            "| `{name}`{overlay} | {} | {calls} | {reasoning} | {} of {} |",
            cell(source),
            trips.held,
            trips.tried
        )?;
    }
    Ok(())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Runs the command.
pub(crate) fn run(as_json: bool) -> Done {
    let mut out = std::io::stdout().lock();
    let parsers = crate::models::all();
    if as_json {
        let rows: Vec<Value> = parsers
            .iter()
            .map(|parser| {
                let facts = parser.facts();
                json!({"name": facts.name, "source": facts.source, "files": facts.files, "sha256": facts.sha256})
            })
            .collect();
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    let width = parsers.iter().map(|parser| parser.facts().name.len()).max().unwrap_or(0);
    for parser in parsers {
        let facts = parser.facts();
        let source = if facts.source.is_empty() { facts.files.first().copied().unwrap_or("") } else { facts.source };
        writeln!(out, "{:width$}  {source}", facts.name)?;
    }
    Ok(())
}

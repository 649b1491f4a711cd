//! `unjinja list`: the models whose parsers are compiled in.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::failure::{Done, Failure};

/// Prints the Markdown table of a folder of specs.
pub(crate) fn table(folder: &Path) -> Done {
    let table = unjinja_codegen::table(folder).map_err(|e| Failure::Input(e.to_string()))?;
    std::io::stdout().write_all(table.as_bytes())?;
    Ok(())
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

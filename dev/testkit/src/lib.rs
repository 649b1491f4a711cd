//! Helpers that the tests, the fuzz targets and the benchmarks share.
//!
//! - [`corpus`]: finds the corpus of released templates, which is not part of the project; [`released_template`]: the template of a
//!   committed spec in it.
//! - [`analyses`]: the folder in which tests keep the analyses of templates.
//! - [`conversations`]: conversations of every kind, in six scripts and of any length.
//! - [`expect`]: compares what a test found with a committed file, and rewrites the file where `UPDATE_EXPECT` is set.
//! - [`random`]: random numbers, texts and values that are the same on every machine.
//! - `grammars` (a feature): requests for grammars, and calls that grammars refuse.
//! - `turns` (a feature): the turns of the corpus that call tools, and whether grammars accept them.
//! - `workloads` (a feature): outputs of many shapes and sizes in every wire format, for benchmarks and tests.
//! - [`python`]: virtual environments with packages of PyPI.
//! - [`sample`]: a part of the inputs of a test that would take minutes.
//! - [`skip`]: says that something is missing on this machine, so that a test does not do all its work.
//! - [`commands`]: runs the command line in a folder of its own and records what it printed.
//!
//! Nothing here knows a model or a format. The crate is not published: published crates name it as a development
//! dependency by its path, without a version, and `cargo package` leaves such a dependency out.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

mod analyses;
pub mod commands;
pub mod conversations;
pub mod expect;
#[cfg(feature = "grammars")]
pub mod grammars;
pub mod python;
pub mod random;
mod sampling;
mod skips;
#[cfg(feature = "turns")]
pub mod turns;
#[cfg(feature = "workloads")]
pub mod workloads;

pub use analyses::analyses;
pub use sampling::{sample, share, whole};
pub use skips::skip;

/// Why a test could not continue.
pub type Failure = Box<dyn Error>;

/// The root folder of the project.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder of the corpus: `$UNJINJA_CORPUS`, else `../shared/corpus` next to the project. `None` where there is no
/// corpus; the test is then counted as skipped.
///
/// # Errors
///
/// There is no corpus, and `CI=true` demands one.
pub fn corpus() -> Result<Option<PathBuf>, Failure> {
    let path = std::env::var_os("UNJINJA_CORPUS").map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if path.join("conversations.json").is_file() {
        return Ok(Some(path));
    }
    skip(format_args!("no corpus at {} (set UNJINJA_CORPUS to its folder)", path.display()), ("CI", "true"))?;
    Ok(None)
}

/// Every string inside a TOML value, in its order, without empty ones. Damaged test inputs are made from the markers of
/// a spec, which are found this way without naming its keys.
pub fn texts_of(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) if !text.is_empty() => vec![text.clone()],
        toml::Value::Array(values) => values.iter().flat_map(texts_of).collect(),
        toml::Value::Table(table) => table.values().flat_map(texts_of).collect(),
        _ => Vec::new(),
    }
}

/// The text of the template with this SHA-256, in whichever folder of the corpus and under whichever name it is: the tables of sources
/// have the SHA-256 of each file in their last column.
///
/// # Errors
///
/// The corpus has no such template, or cannot be read.
pub fn released_template(corpus: &Path, sha256: &str) -> Result<String, Failure> {
    for folder in ["", "wild", "wide", "late"] {
        let folder = corpus.join(folder);
        for line in fs::read_to_string(folder.join("SOURCES.tsv"))?.lines() {
            if let Some((file, _)) = line.split_once('\t')
                && line.ends_with(sha256)
            {
                return Ok(fs::read_to_string(folder.join("templates").join(file))?);
            }
        }
    }
    Err(format!("no template of the corpus has the SHA-256 {sha256}").into())
}

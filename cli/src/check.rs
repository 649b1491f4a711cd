//! `unjinja check`: makes the specs again and compares; the answer to "did a template change, and does it matter?".

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use unjinja_spec::{Change, FormatSpec, Overlay, diff};

use crate::Format;
use crate::analyze;
use crate::failure::{Done, Failure};
use crate::input;

/// The arguments of `check`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Template files, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The folder of the committed specs.
    #[arg(long, value_name = "DIR")]
    specs: PathBuf,
    /// A table of `file<TAB>source` lines that says where templates come from.
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// Write what is missing or different.
    #[arg(long)]
    write: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// What became of one spec.
enum Outcome {
    Unchanged,
    New,
    /// The committed file cannot be read, or says the same in other bytes, or something else.
    Changed(Vec<Change>),
    Broken(String),
    Gone,
    /// Keys of an overlay that change nothing, and problems with it.
    Overlay(Vec<String>),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let folder = &arguments.specs;
    if !folder.is_dir() {
        return Err(Failure::file(folder, "there is no such folder of specs"));
    }
    let made = analyze::all(&arguments.paths, arguments.sources.as_deref())?;
    let mut rows: Vec<(String, Outcome)> = Vec::new();
    for spec in &made.specs {
        let name = spec.template.name.clone();
        let path = folder.join(format!("{name}.toml"));
        let outcome = compare(&path, spec);
        if arguments.write && !matches!(outcome, Outcome::Unchanged) {
            std::fs::write(&path, spec.to_toml()).map_err(|e| Failure::file(&path, e))?;
        }
        rows.push((name.clone(), outcome));
        let overlay = folder.join(format!("{name}.overlay.toml"));
        if overlay.exists() {
            let problems = idle(&overlay, spec)?;
            if !problems.is_empty() {
                rows.push((format!("{name}.overlay"), Outcome::Overlay(problems)));
            }
        }
    }
    for (file, problem) in made.problems {
        rows.push((file, Outcome::Broken(problem)));
    }
    for name in spec_names(folder)? {
        if !made.specs.iter().any(|spec| spec.template.name == name) {
            rows.push((name, Outcome::Gone));
        }
    }
    print(&rows, arguments.format)?;
    let different = rows.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Unchanged)).count();
    if different == 0 || arguments.write {
        return Ok(());
    }
    let paths: Vec<String> = arguments.paths.iter().map(|path| path.display().to_string()).collect();
    let sources = arguments.sources.as_ref().map_or(String::new(), |path| format!(" --sources {}", path.display()));
    Err(Failure::Found(format!(
        "{different} differences; to take them over: unjinja check {} --specs {}{sources} --write",
        paths.join(" "),
        folder.display(),
    )))
}

fn compare(path: &Path, spec: &FormatSpec) -> Outcome {
    let Ok(old) = std::fs::read_to_string(path) else { return Outcome::New };
    if old == spec.to_toml() {
        return Outcome::Unchanged;
    }
    match FormatSpec::from_toml(&old, &path.display().to_string()) {
        Ok(old) => Outcome::Changed(diff(&old, spec)),
        Err(error) => Outcome::Broken(error.to_string()),
    }
}

fn idle(path: &Path, spec: &FormatSpec) -> Result<Vec<String>, Failure> {
    let text = input::text(path)?;
    let overlay = match Overlay::from_toml(&text, &path.display().to_string()) {
        Ok(overlay) => overlay,
        Err(error) => return Ok(vec![error.to_string()]),
    };
    let mut problems: Vec<String> = overlay
        .idle(spec)
        .into_iter()
        .map(|key| {
            format!("line {}: `{}` changes nothing: the analysis finds it by itself; remove it", key.line, key.key)
        })
        .collect();
    if let Err(error) = overlay.apply(spec) {
        problems.push(error.to_string());
    }
    Ok(problems)
}

fn spec_names(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Failure::file(folder, e))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        match name.strip_suffix(".toml") {
            Some(stem) if !stem.ends_with(".overlay") => names.push(stem.to_owned()),
            _ => {}
        }
    }
    names.sort();
    Ok(names)
}

fn print(rows: &[(String, Outcome)], format: Format) -> Done {
    let mut out = std::io::stdout().lock();
    if format == Format::Json {
        let rows: Vec<Value> = rows.iter().map(|(name, outcome)| row(name, outcome)).collect();
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    for (name, outcome) in rows {
        match outcome {
            Outcome::Unchanged => {}
            Outcome::New => writeln!(out, "{name}: new")?,
            Outcome::Gone => writeln!(out, "{name}: gone: no template gives this spec any more")?,
            Outcome::Broken(problem) => writeln!(out, "{name}: {problem}")?,
            Outcome::Overlay(problems) => {
                for problem in problems {
                    writeln!(out, "{name}: {problem}")?;
                }
            }
            Outcome::Changed(changes) => {
                writeln!(out, "{name}: changed{}", if changes.is_empty() { " in form only" } else { "" })?;
                for change in changes {
                    writeln!(out, "  {}", change.to_string().replace('\n', "\n  "))?;
                }
            }
        }
    }
    let same = rows.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Unchanged)).count();
    writeln!(out, "{same} of {} unchanged", rows.len())?;
    Ok(())
}

fn row(name: &str, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Unchanged => json!({"name": name, "outcome": "unchanged"}),
        Outcome::New => json!({"name": name, "outcome": "new"}),
        Outcome::Gone => json!({"name": name, "outcome": "gone"}),
        Outcome::Broken(problem) => json!({"name": name, "outcome": "broken", "problem": problem}),
        Outcome::Overlay(problems) => json!({"name": name, "outcome": "overlay", "problems": problems}),
        Outcome::Changed(changes) => json!({"name": name, "outcome": "changed", "changes": changes}),
    }
}

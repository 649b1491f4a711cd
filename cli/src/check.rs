//! `unjinja check`: makes the specs again and compares; the answer to "did a template change, and does it matter?".

use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_build::name_of;
use unjinja_spec::{FormatSpec, Overlay, diff};

use crate::failure::{Done, Failure};
use crate::report::{Changed, Idle, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;
use crate::{analyze, input, output};

/// The arguments of `check`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Templates: files, folders of them, or `-`. Specs whose template is gone are looked for only where a folder is named.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The folder of the committed specs.
    #[arg(long, value_name = "DIR")]
    specs: PathBuf,
    /// Where templates come from: a manifest as `fetch` reads it, or a table of `file<TAB>source` lines.
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// Write what is missing or different, and remove what is gone. Overlays are left to people.
    #[arg(long)]
    write: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ReportFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let folder = &arguments.specs;
    if !folder.is_dir() {
        return Err(Failure::file(folder, "there is no such folder of specs"));
    }
    let mut made = analyze::all(&arguments.paths, arguments.sources.as_deref(), ui)?;
    for spec in &mut made.specs {
        keep_models(folder, spec);
    }
    let template = |file: &str| made.paths.get(file).cloned();
    // A template that does not work any more leaves its spec as it is.
    let broken: Vec<String> = made.problems.iter().map(|(file, _)| name_of(file)).collect();
    let mut rows = Vec::new();
    for spec in &made.specs {
        let name = spec.template.name.clone();
        let path = folder.join(format!("{name}.toml"));
        let outcome = compare(&path, spec);
        let overlay = folder.join(format!("{name}.overlay.toml"));
        if overlay.exists()
            && let Some(outcome) = idle(&overlay, spec)?
        {
            rows.push(Row { name: name.clone(), template: None, file: Some(overlay), outcome });
        }
        rows.push(Row { name, template: template(&spec.template.file), file: Some(path), outcome });
    }
    for (file, problem) in &made.problems {
        let outcome = Outcome::Broken(problem.clone());
        rows.push(Row { name: file.clone(), template: template(file), file: None, outcome });
    }
    if arguments.paths.iter().any(|path| path.is_dir()) {
        for (name, path) in spec_files(folder)? {
            if !broken.contains(&name) && !made.specs.iter().any(|spec| spec.template.name == name) {
                rows.push(Row { name, template: None, file: Some(path), outcome: Outcome::Gone });
            }
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if arguments.write {
        mend(&rows, &made.specs)?;
    }
    let is_different = |row: &&Row| !matches!(row.outcome, Outcome::Unchanged);
    let command = rows.iter().any(|row| row.outcome.is_mended_by_writing()).then(|| command(arguments));
    let report = Report { rows, mend: command.filter(|_| !arguments.write) };
    report.print(arguments.format, ui)?;
    let left = match arguments.write {
        true => report.rows.iter().filter(is_different).filter(|row| !row.outcome.is_mended_by_writing()).count(),
        false => report.differences(),
    };
    if left == 0 {
        return Ok(());
    }
    let differences = if left == 1 { "1 difference".to_owned() } else { format!("{left} differences") };
    let message = match (&report.mend, arguments.write) {
        (Some(command), _) => format!("{differences}; to take them over: {command}"),
        (None, true) => format!("{differences} left, which only a person can mend"),
        (None, false) => format!("{differences}, which only a person can mend"),
    };
    Err(if made.unreadable { Failure::Input(message) } else { Failure::Found(message) })
}

/// The command that takes all differences over.
fn command(arguments: &Arguments) -> String {
    let mut command = "unjinja check".to_owned();
    for path in &arguments.paths {
        command.push(' ');
        command.push_str(&output::argument(path));
    }
    command.push_str(&format!(" --specs {}", output::argument(&arguments.specs)));
    if let Some(path) = &arguments.sources {
        command.push_str(&format!(" --sources {}", output::argument(path)));
    }
    command + " --write"
}

fn mend(rows: &[Row], specs: &[FormatSpec]) -> Done {
    for row in rows {
        let Some(path) = &row.file else { continue };
        if matches!(row.outcome, Outcome::Gone) {
            std::fs::remove_file(path).map_err(|e| Failure::file(path, e))?;
        } else if row.outcome.is_mended_by_writing()
            && let Some(spec) = specs.iter().find(|spec| spec.template.name == row.name)
        {
            std::fs::write(path, spec.to_toml()).map_err(|e| Failure::file(path, e))?;
        }
    }
    Ok(())
}

fn compare(path: &Path, spec: &FormatSpec) -> Outcome {
    let old = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Outcome::New,
        Err(error) => return Outcome::Unreadable(format!("{}: {error}", path.display())),
    };
    if old == spec.to_toml() {
        return Outcome::Unchanged;
    }
    match FormatSpec::migrate(&old, &path.display().to_string()) {
        Ok(before) => {
            let before = FormatSpec { spec_version: before.from, ..before.spec };
            Outcome::Changed(Changed::new(diff(&before, spec), &old))
        }
        Err(error) => Outcome::Unreadable(error.to_string()),
    }
}

/// Takes over the models that people listed in the committed spec: no analysis finds them.
fn keep_models(folder: &Path, spec: &mut FormatSpec) {
    let path = folder.join(format!("{}.toml", spec.template.name));
    // A file that cannot be read is reported where it is compared.
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    if let Ok(committed) = FormatSpec::migrate(&text, &path.display().to_string()) {
        spec.template.models = committed.spec.template.models;
    }
}

/// What an overlay does not do.
fn idle(path: &Path, spec: &FormatSpec) -> Result<Option<Outcome>, Failure> {
    let text = input::text(path)?;
    let overlay = match Overlay::from_toml(&text, &path.display().to_string()) {
        Ok(overlay) => overlay,
        Err(error) => return Ok(Some(Outcome::Broken(error.to_string()))),
    };
    let keys: Vec<Idle> = overlay.idle(spec).into_iter().map(|key| Idle { line: key.line, key: key.key }).collect();
    if !keys.is_empty() {
        return Ok(Some(Outcome::Idle(keys)));
    }
    Ok(overlay.apply(spec).err().map(|error| Outcome::Broken(error.to_string())))
}

/// The specs of a folder, by name; an overlay without a spec counts as one.
fn spec_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Failure::file(folder, e))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(stem) = file.strip_suffix(".toml") {
            let name = stem.strip_suffix(".overlay").unwrap_or(stem).to_owned();
            files.push((name, path));
        }
    }
    files.sort();
    Ok(files)
}

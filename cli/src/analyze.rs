//! `unjinja analyze`: specs from templates, one line a template.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use unjinja_analyzer::Naming;
use unjinja_spec::{FormatSpec, ReasoningMode};

use crate::failure::{Done, Failure};
use crate::input;

/// What became of a set of templates.
pub(crate) struct Analysed {
    /// The specs, one for each distinct template text.
    pub specs: Vec<FormatSpec>,
    /// Templates without a spec, each with the reason.
    pub problems: Vec<(String, String)>,
    unreadable: bool,
}

/// Analyses the templates that paths name.
pub(crate) fn all(paths: &[PathBuf], sources: Option<&Path>) -> Result<Analysed, Failure> {
    let files = input::templates(paths)?;
    let sources = match sources {
        Some(path) => read_sources(&input::text(path)?),
        None => HashMap::new(),
    };
    let progress = progress(files.len());
    let mut analysed = Analysed { specs: Vec::new(), problems: Vec::new(), unreadable: false };
    for path in &files {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        progress.set_message(file.clone());
        progress.inc(1);
        let text = match input::text(path) {
            Ok(text) => text,
            Err(failure) => {
                analysed.unreadable = true;
                analysed.problems.push((file, failure.to_string()));
                continue;
            }
        };
        let naming = Naming { name: String::new(), source: sources.get(&file).cloned().unwrap_or_default(), file };
        match crate::log::analyze_text(&text, &naming) {
            Ok(spec) => match analysed.specs.iter_mut().find(|known| known.template.sha256 == spec.template.sha256) {
                Some(known) => known.template.also.push(naming.file),
                None => analysed.specs.push(spec),
            },
            Err(error) => analysed.problems.push((naming.file, error.to_string())),
        }
    }
    progress.finish_and_clear();
    Ok(analysed)
}

/// Runs the command.
pub(crate) fn run(paths: &[PathBuf], out: Option<&Path>, sources: Option<&Path>, as_json: bool) -> Done {
    if let Some(folder) = out {
        std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    }
    let Analysed { specs, problems, unreadable } = all(paths, sources)?;
    let mut stdout = std::io::stdout().lock();
    for spec in &specs {
        if let Some(folder) = out {
            let path = folder.join(format!("{}.toml", spec.template.name));
            std::fs::write(&path, spec.to_toml()).map_err(|e| Failure::file(&path, e))?;
        }
        if !as_json {
            writeln!(stdout, "{}", line(spec))?;
            if out.is_none() && specs.len() == 1 {
                writeln!(stdout, "\n{}", spec.to_toml().trim_end())?;
            }
        }
    }
    if as_json {
        let specs = serde_json::to_value(&specs).map_err(std::io::Error::from)?;
        let problems: Vec<Value> =
            problems.iter().map(|(file, problem)| json!({"file": file, "problem": problem})).collect();
        serde_json::to_writer_pretty(&mut stdout, &json!({"specs": specs, "problems": problems}))
            .map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    let text: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
    let text = text.join("\nerror: ");
    Err(if unreadable { Failure::Input(text) } else { Failure::Found(text) })
}

fn progress(count: usize) -> ProgressBar {
    if count < 4 || crate::log::is_on() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// What was found, on one line.
fn line(spec: &FormatSpec) -> String {
    let tools = spec.tools.format.name();
    let reasoning = match spec.reasoning.mode {
        ReasoningMode::None => "no reasoning".to_owned(),
        _ if spec.reasoning.start.trim().is_empty() => format!("reasoning up to {}", spec.reasoning.end.trim()),
        _ => format!("reasoning {}…{}", spec.reasoning.start.trim(), spec.reasoning.end.trim()),
    };
    let trips = spec.evidence.round_trips;
    match &spec.unsupported {
        Some(reason) => format!("{:45} unsupported: {reason}", spec.template.name),
        None => format!(
            "{:45} {tools:16} {reasoning}; {} of {} round trips, {} renders",
            spec.template.name, trips.held, trips.tried, spec.evidence.renders
        ),
    }
}

/// The lines of a table: file, a tab, where it comes from.
fn read_sources(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?.to_owned(), cells.next()?.to_owned()))
        })
        .collect()
}

//! `unjinja fetch`: downloads templates from the Hugging Face Hub: of models, or those of a manifest. It writes a file only after the
//! whole answer has been recognised as a chat template.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use serde::Serialize;
use unjinja_analyzer::sha256;
use unjinja_build::Source;
use unjinja_spec::nearest;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::hub::{Fetched, Hub};
use crate::manifest::{Entry, Location, Manifest};
use crate::ui::{BAD, FAINT, GOOD, NAME, Ui, WARNING, paint};
use crate::{output, visible};

/// How many templates are downloaded at the same time.
const AT_ONCE: usize = 4;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Models on the Hub, as OWNER/NAME, with #NAME for one of several templates; or names or file names in the manifest. Without any,
    /// all of the manifest.
    names: Vec<String>,
    /// The manifest: it lists templates, their models and their file names.
    #[arg(long, value_name = "FILE", default_value = "sources.toml")]
    manifest: PathBuf,
    /// The folder for the templates. Without it, models on the Hub go to the Hub's cache, where every command finds them by their ids.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write nothing; exit with 1 if a template differs from the file in the folder.
    #[arg(long, requires = "out")]
    check: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// The result for one template.
enum Outcome {
    New(Fetched),
    Changed(Fetched),
    Unchanged(Fetched),
    /// The manifest says that it is not on the Hub.
    Skipped(String),
    Failed(String),
}

impl Outcome {
    fn name(&self) -> &'static str {
        match self {
            Outcome::New(_) => "new",
            Outcome::Changed(_) => "changed",
            Outcome::Unchanged(_) => "unchanged",
            Outcome::Skipped(_) => "skipped",
            Outcome::Failed(_) => "failed",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let (models, names): (Vec<&String>, Vec<&String>) = arguments.names.iter().partition(|name| name.contains('/'));
    let mut entries = Vec::new();
    if models.is_empty() || !names.is_empty() {
        if arguments.out.is_none() {
            let next = "name the folder with --out, or a model on the Hub as OWNER/NAME";
            return Err(Failure::Input(format!("templates of a manifest are written to a folder: {next}")));
        }
        entries = chosen(Manifest::read(&arguments.manifest)?, &names, &arguments.manifest)?;
    }
    for id in models {
        entries.push(Entry::of_model(id)?);
    }
    let hub = Hub::from_env().map_err(Failure::Input)?;
    if let (Some(out), false) = (&arguments.out, arguments.check) {
        std::fs::create_dir_all(out).map_err(|e| Failure::file(out, e))?;
    }
    let outcomes = all(&hub, &entries, arguments, ui);
    print(&entries, &outcomes, arguments)?;
    let failed = entries.iter().zip(&outcomes).filter_map(|(entry, outcome)| match outcome {
        Outcome::Failed(problem) => Some(format!("{}: {problem}", entry.name)),
        _ => None,
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        return Err(Failure::FoundAll(failed));
    }
    let stale = outcomes.iter().filter(|o| matches!(o, Outcome::New(_) | Outcome::Changed(_))).count();
    if arguments.check && stale > 0 {
        let (manifest, out) = (&arguments.manifest, arguments.out.as_deref().unwrap_or(Path::new(".")));
        let command =
            format!("unjinja fetch --manifest {} --out {}", output::argument(manifest), output::argument(out));
        return Err(Failure::Found(format!(
            "{stale} templates differ from those on the Hub; to download them: {command}"
        )));
    }
    Ok(())
}

/// The entries that the names choose, in the order of the manifest.
fn chosen(mut manifest: Manifest, names: &[&String], path: &Path) -> Result<Vec<Entry>, Failure> {
    let is = |entry: &Entry, name: &str| entry.name == *name || entry.save_as == *name;
    for name in names {
        if manifest.entries.iter().any(|entry| is(entry, name)) {
            continue;
        }
        let near = nearest(name, manifest.entries.iter().map(|entry| entry.name.as_str()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(Failure::file(path, format!("it lists no template called {name:?}{hint}")));
    }
    manifest.entries.retain(|entry| names.is_empty() || names.iter().any(|name| is(entry, name)));
    Ok(manifest.entries)
}

/// Downloads all entries. Returns the results in the same order.
fn all(hub: &Hub, entries: &[Entry], arguments: &Arguments, ui: Ui) -> Vec<Outcome> {
    let progress = ui.progress(entries.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(entries.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = entries.get(index) else { break };
                    progress.set_message(entry.name.clone());
                    let outcome = one(hub, entry, arguments);
                    progress.inc(1);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, outcome));
                    }
                }
            });
        }
    });
    progress.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Downloads one template, and writes it unless `--check` is given.
fn one(hub: &Hub, entry: &Entry, arguments: &Arguments) -> Outcome {
    let wanted = match &entry.location {
        Location::Hub(wanted) => wanted,
        Location::Elsewhere(reason) => return Outcome::Skipped(reason.clone()),
    };
    // The cache of the Hub then has all that the other commands read of a model.
    let Some(out) = &arguments.out else {
        let before = Source::read_one(&entry.source).ok();
        return match hub.model(wanted) {
            Err(problem) => Outcome::Failed(problem),
            Ok(fetched) => match before {
                None => Outcome::New(fetched),
                Some(before) if before.text == fetched.source.text => Outcome::Unchanged(fetched),
                Some(_) => Outcome::Changed(fetched),
            },
        };
    };
    let fetched = match hub.fetch(wanted) {
        Ok(fetched) => fetched,
        Err(problem) => return Outcome::Failed(problem),
    };
    let path = out.join(&entry.save_as);
    let old = std::fs::read(&path).ok();
    if old.as_deref() == Some(fetched.source.text.as_bytes()) {
        return Outcome::Unchanged(fetched);
    }
    if !arguments.check
        && let Err(error) = write(&path, &fetched.source.text)
    {
        return Outcome::Failed(format!("{}: {error}", path.display()));
    }
    if old.is_some() { Outcome::Changed(fetched) } else { Outcome::New(fetched) }
}

/// Writes a file completely or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("jinja.part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

fn print(entries: &[Entry], outcomes: &[Outcome], arguments: &Arguments) -> Done {
    if arguments.format == Format::Json {
        let rows = entries.iter().zip(outcomes).map(|(entry, outcome)| Row::new(entry, outcome));
        return output::json(&rows.collect::<Vec<_>>());
    }
    let mut out = anstream::stdout().lock();
    for (entry, outcome) in entries.iter().zip(outcomes) {
        let name = paint(NAME, &entry.name);
        match outcome {
            Outcome::New(fetched) | Outcome::Changed(fetched) => {
                let what = paint(if matches!(outcome, Outcome::New(_)) { GOOD } else { WARNING }, outcome.name());
                let from = paint(FAINT, &visible::line(&format!("{}, {}", entry.source, fetched.file)));
                match arguments.out {
                    Some(_) => writeln!(out, "{name}: {what}: {} {from}", visible::line(&entry.save_as))?,
                    None => writeln!(out, "{name}: {what} in the Hub's cache {from}")?,
                }
            }
            Outcome::Unchanged(_) => {}
            Outcome::Skipped(reason) => writeln!(out, "{name}: not fetched: {}", visible::line(reason))?,
            Outcome::Failed(_) => writeln!(out, "{name}: {}", paint(BAD, "failed"))?,
        }
    }
    let count = |name: &str| outcomes.iter().filter(|outcome| outcome.name() == name).count();
    let counts = ["new", "changed", "unchanged", "skipped", "failed"].map(|name| format!("{} {name}", count(name)));
    let counts: Vec<String> = counts.into_iter().filter(|text| !text.starts_with("0 ")).collect();
    writeln!(out, "{}", counts.join(", "))?;
    Ok(())
}

/// What became of one template.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row<'f> {
    /// Name of the spec.
    name: &'f str,
    /// The file in the folder.
    save_as: &'f str,
    /// Where the template comes from, for people.
    source: &'f str,
    /// What the folder held before: `new`, `changed`, `unchanged`. Or `skipped`: the manifest says why it is not fetched. Or `failed`.
    outcome: &'static str,
    /// The model's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<&'f str>,
    /// The revision that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'f str>,
    /// The model's file that holds the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'f str>,
    /// The commit that the revision is.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'f str>,
    /// SHA-256 of the template's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Why it was skipped or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'f str>,
}

impl<'f> Row<'f> {
    fn new(entry: &'f Entry, outcome: &'f Outcome) -> Self {
        let wanted = match &entry.location {
            Location::Hub(wanted) => Some(wanted),
            Location::Elsewhere(_) => None,
        };
        let (fetched, problem) = match outcome {
            Outcome::New(fetched) | Outcome::Changed(fetched) | Outcome::Unchanged(fetched) => (Some(fetched), None),
            Outcome::Skipped(problem) | Outcome::Failed(problem) => (None, Some(problem.as_str())),
        };
        Self {
            name: &entry.name,
            save_as: &entry.save_as,
            source: &entry.source,
            outcome: outcome.name(),
            repo: wanted.map(|wanted| wanted.repo.as_str()),
            revision: wanted.map(|wanted| wanted.revision.as_str()),
            file: fetched.map(|fetched| fetched.file.as_str()),
            commit: fetched.map(|fetched| fetched.commit.as_str()),
            sha256: fetched.map(|fetched| sha256(&fetched.source.text)),
            problem,
        }
    }
}

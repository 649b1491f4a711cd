//! The manifest of templates, `sources.toml`: where each comes from and under which name it is kept. `fetch` gets them
//! by it, `analyze` and `check` say by it whose they are.
//!
//! It must never guess: a key that it does not know is an error, and so is a name that leads out of a folder.

use std::collections::HashMap;
use std::path::{Component, Path};

use serde::Deserialize;
use toml::Spanned;
use unjinja_render::SpecialTokens;

use crate::failure::Failure;
use crate::input;

/// The templates of a manifest, in its order.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub entries: Vec<Entry>,
}

/// One template.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name of its spec.
    pub name: String,
    /// The file that it is kept in.
    pub save_as: String,
    /// Where it comes from, for people.
    pub source: String,
    /// What its model's special tokens are, where the manifest says it: a `.jinja` file does not.
    pub tokens: SpecialTokens,
    /// Where it is to be had.
    pub place: Place,
}

/// What a manifest or a table says of a template's file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// Where it comes from, for people.
    pub source: String,
    /// What its model's special tokens are.
    pub tokens: SpecialTokens,
}

/// Where a template is to be had.
#[derive(Debug)]
pub(crate) enum Place {
    /// On the Hub.
    Hub(OnHub),
    /// Not by this command, and why.
    Elsewhere(String),
}

/// A template on the Hub.
#[derive(Clone, Debug)]
pub(crate) struct OnHub {
    /// The model's id.
    pub repo: String,
    /// A branch, a tag or a commit.
    pub revision: String,
    /// The model's file; where it is not said, the one in which it keeps its template.
    pub file: Option<String>,
    /// Which of the file's named templates.
    pub template: Option<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    source: Vec<WrittenEntry>,
}

/// One `[[source]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    name: Spanned<String>,
    repo: Option<String>,
    revision: Option<String>,
    file: Option<String>,
    template: Option<String>,
    save_as: Option<String>,
    source: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    not_fetched: Option<String>,
}

impl Manifest {
    /// Reads a manifest; all problems at once.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let parsed: Result<Written, _> = toml::from_str(&text);
        let written = parsed.map_err(|error| Failure::file(path, error.to_string().trim_end()))?;
        let (mut entries, mut problems): (Vec<Entry>, Vec<String>) = (Vec::new(), Vec::new());
        for one in written.source {
            let line = text[..one.name.span().start.min(text.len())].matches('\n').count() + 1;
            let name = one.name.get_ref().clone();
            let entry = entry(one).and_then(|entry| match entries.iter().find(|other| other.clashes(&entry)) {
                Some(other) => Err(vec![format!("it has the name or the file `{}` of another", other.save_as)]),
                None => Ok(entry),
            });
            match entry {
                Ok(entry) => entries.push(entry),
                Err(causes) => {
                    problems.extend(causes.iter().map(|cause| format!("{}:{line}: `{name}`: {cause}", path.display())));
                }
            }
        }
        if entries.is_empty() && problems.is_empty() {
            problems.push(format!("{}: it lists nothing: a template is a table [[source]]", path.display()));
        }
        if problems.is_empty() { Ok(Self { entries }) } else { Err(Failure::Input(problems.join("\nerror: "))) }
    }
}

impl Entry {
    fn clashes(&self, other: &Entry) -> bool {
        self.name == other.name || self.save_as == other.save_as
    }
}

/// What an entry says, or all that is wrong with it.
fn entry(written: WrittenEntry) -> Result<Entry, Vec<String>> {
    let WrittenEntry { name, repo, revision, file, template, save_as, source, bos_token, eos_token, not_fetched } =
        written;
    let name = name.into_inner();
    let mut problems = Vec::new();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        problems.push("the name of a spec is lower-case letters, digits and `_`".to_owned());
    }
    let save_as = save_as.unwrap_or_else(|| format!("{name}.jinja"));
    if !save_as.ends_with(".jinja") || !is_inside(&save_as) || save_as.contains(['/', '\\']) {
        problems.push(format!("`save_as` is to be the name of a .jinja file, without folders, but is {save_as:?}"));
    }
    if let Some(repo) = &repo
        && (!is_inside(repo) || repo.split('/').count() > 2 || repo.contains(['\\', '#', '?', ' ']))
    {
        problems.push(format!("`repo` is to be a model's id, as in \"Qwen/Qwen3-0.6B\", but is {repo:?}"));
    }
    if let Some(file) = &file {
        if !is_inside(file) {
            problems.push(format!("`file` is to be a file of the model, but is {file:?}"));
        } else if !file.ends_with(".json") && !file.ends_with(".jinja") {
            problems.push(format!("`file` is to be a .jinja or .json file, but is {file:?}; weights are not fetched"));
        }
    }
    if let Some(template) = template.as_ref().filter(|template| !is_inside(template)) {
        problems.push(format!("`template` is to be the name of a template, but is {template:?}"));
    }
    if revision.as_deref().is_some_and(|revision| revision.trim().is_empty()) {
        problems.push("`revision` is empty: leave it out, and it is `main`".to_owned());
    }
    let label = match (&repo, &template) {
        (Some(repo), Some(template)) => format!("{repo} ({template})"),
        (Some(repo), None) => repo.clone(),
        (None, _) => String::new(),
    };
    let place = match (not_fetched, repo) {
        (Some(reason), _) => {
            if revision.is_some() || file.is_some() || template.is_some() {
                problems.push("what is not fetched has no `revision`, `file` or `template` there".to_owned());
            }
            Place::Elsewhere(reason)
        }
        (None, Some(repo)) => {
            Place::Hub(OnHub { repo, revision: revision.unwrap_or_else(|| "main".to_owned()), file, template })
        }
        (None, None) => {
            problems.push("it needs a `repo`, or `not_fetched` with the reason".to_owned());
            Place::Elsewhere(String::new())
        }
    };
    let tokens = SpecialTokens { bos: bos_token, eos: eos_token };
    let entry = Entry { name, save_as, source: source.unwrap_or(label), tokens, place };
    if problems.is_empty() { Ok(entry) } else { Err(problems) }
}

/// Whether a relative path of plain names.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// What is said of templates, by their files' names: in a manifest, or in a table of `file<TAB>source` lines.
pub(crate) fn sources(path: &Path) -> Result<HashMap<String, Said>, Failure> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        let said = |entry: Entry| (entry.save_as, Said { source: entry.source, tokens: entry.tokens });
        return Ok(Manifest::read(path)?.entries.into_iter().map(said).collect());
    }
    let text = input::text(path)?;
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        let (file, source) = (cells.next()?.to_owned(), cells.next()?.to_owned());
        Some((file, Said { source, ..Said::default() }))
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    /// The committed manifest names each committed spec's template, and says of it what the spec says.
    #[test]
    fn every_spec_has_its_source() -> Result<(), Box<dyn Error>> {
        let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generated");
        let manifest = Manifest::read(&generated.join("sources.toml")).map_err(|failure| failure.to_string())?;
        let mut files: Vec<String> = manifest.entries.iter().map(|entry| entry.save_as.clone()).collect();
        for (path, spec) in unjinja_codegen::read_specs(&generated.join("specs"))? {
            let template = spec.template;
            let place = path.display();
            let entry = manifest.entries.iter().find(|entry| entry.name == template.name);
            let entry = entry.ok_or_else(|| format!("{place}: the manifest has no entry of this name"))?;
            assert_eq!((&entry.save_as, &entry.source), (&template.file, &template.source), "{place}");
            for file in [vec![template.file], template.also].concat() {
                let at = files.iter().position(|known| *known == file);
                files.remove(at.ok_or_else(|| format!("{place}: the manifest saves nothing as {file}"))?);
            }
        }
        assert!(files.is_empty(), "no spec is made of {files:?}");
        Ok(())
    }
}

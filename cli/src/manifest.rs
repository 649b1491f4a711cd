//! The manifest of templates, `sources.toml`: where each template comes from and in which file it is kept. `fetch` reads it
//! to download the templates; `analyze` and `check` read it to record where a template comes from.
//!
//! Reading is strict: an unknown key is an error, and so is a name that leads out of a folder.

use std::collections::HashMap;
use std::path::{Component, Path};

use serde::Deserialize;
use toml::Spanned;
use unjinja_render::SpecialTokens;

use crate::failure::Failure;
use crate::input;

/// The templates of a manifest, in the order of the file.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub entries: Vec<Entry>,
}

/// One template.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name of its spec.
    pub name: String,
    /// The name of the file that it is kept in.
    pub save_as: String,
    /// Where it comes from, for people.
    pub source: String,
    /// The special tokens of its model, if the manifest gives them: a `.jinja` file cannot.
    pub tokens: SpecialTokens,
    /// Where it can be downloaded.
    pub location: Location,
}

/// What a manifest or a table says about one template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    /// Where it comes from, for people.
    pub source: String,
    /// The special tokens of its model.
    pub tokens: SpecialTokens,
}

/// Where a template can be downloaded.
#[derive(Debug)]
pub(crate) enum Location {
    Hub(OnHub),
    /// Not by this command; the reason.
    Elsewhere(String),
}

/// A template on the Hub.
#[derive(Clone, Debug)]
pub(crate) struct OnHub {
    /// The model's id.
    pub repo: String,
    /// A branch, a tag or a commit.
    pub revision: String,
    /// The file of the model; by default the one in which models usually keep their template.
    pub file: Option<String>,
    /// The name of the template, if the file holds several.
    pub template: Option<String>,
}

impl OnHub {
    /// The template of a model. `id` is `OWNER/NAME`, with `#NAME` for one of several templates.
    pub(crate) fn of(id: &str) -> Self {
        let (repo, template) = id.split_once('#').map_or((id, None), |(repo, name)| (repo, Some(name.to_owned())));
        Self { repo: repo.to_owned(), revision: "main".to_owned(), file: None, template }
    }

    /// A file name for the template.
    pub(crate) fn file_name(&self) -> String {
        let variant = self.template.iter().flat_map(|name| ["-", name]).collect::<String>();
        format!("{}{variant}.jinja", self.repo.replace('/', "-"))
    }
}

/// The file, as TOML spells it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    source: Vec<WrittenEntry>,
}

/// One table `[[source]]`.
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
    /// Reads a manifest. The error lists all problems.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let parsed: Result<Written, _> = toml::from_str(&text);
        let written = parsed.map_err(|error| Failure::file(path, error.to_string().trim_end()))?;
        let (mut entries, mut problems): (Vec<Entry>, Vec<String>) = (Vec::new(), Vec::new());
        for one in written.source {
            let line = text[..one.name.span().start.min(text.len())].matches('\n').count() + 1;
            let name = one.name.get_ref().clone();
            let entry = entry(one).and_then(|entry| match entries.iter().find(|other| other.clashes(&entry)) {
                Some(other) => Err(vec![format!("another entry has the same name or file, `{}`", other.save_as)]),
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
            problems.push(format!("{}: the manifest is empty; each template is a table [[source]]", path.display()));
        }
        if problems.is_empty() { Ok(Self { entries }) } else { Err(Failure::InputAll(problems)) }
    }
}

impl Entry {
    /// The template of a model on the Hub, by its id, without a manifest.
    pub(crate) fn of_model(id: &str) -> Result<Self, Failure> {
        let wanted = OnHub::of(id);
        if !is_id(&wanted.repo) || wanted.template.as_ref().is_some_and(|template| !is_inside(template)) {
            return Err(Failure::Input(format!("{id}: this is not the id of a model, such as Qwen/Qwen3-0.6B")));
        }
        let (save_as, tokens) = (wanted.file_name(), SpecialTokens::default());
        Ok(Self { name: id.to_owned(), save_as, source: id.to_owned(), tokens, location: Location::Hub(wanted) })
    }

    fn clashes(&self, other: &Entry) -> bool {
        self.name == other.name || self.save_as == other.save_as
    }
}

/// Reads one entry, or finds all that is wrong with it.
fn entry(written: WrittenEntry) -> Result<Entry, Vec<String>> {
    let WrittenEntry { name, repo, revision, file, template, save_as, source, bos_token, eos_token, not_fetched } =
        written;
    let name = name.into_inner();
    let mut problems = Vec::new();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        problems.push("a spec's name consists of lower-case letters, digits and `_`".to_owned());
    }
    let save_as = save_as.unwrap_or_else(|| format!("{name}.jinja"));
    if !save_as.ends_with(".jinja") || !is_inside(&save_as) || save_as.contains(['/', '\\']) {
        problems.push(format!("`save_as` must be the name of a .jinja file without folders, but is {save_as:?}"));
    }
    if let Some(repo) = repo.as_ref().filter(|repo| !is_id(repo)) {
        problems.push(format!("`repo` must be a model's id such as \"Qwen/Qwen3-0.6B\", but is {repo:?}"));
    }
    if let Some(file) = &file {
        if !is_inside(file) {
            problems.push(format!("`file` must be a file of the model, but is {file:?}"));
        } else if !file.ends_with(".json") && !file.ends_with(".jinja") {
            problems
                .push(format!("`file` must be a .jinja or .json file, but is {file:?}; weights are not downloaded"));
        }
    }
    if let Some(template) = template.as_ref().filter(|template| !is_inside(template)) {
        problems.push(format!("`template` must be the name of a template, but is {template:?}"));
    }
    if revision.as_deref().is_some_and(|revision| revision.trim().is_empty()) {
        problems.push("`revision` is empty: leave it out to use `main`".to_owned());
    }
    let label = match (&repo, &template) {
        (Some(repo), Some(template)) => format!("{repo} ({template})"),
        (Some(repo), None) => repo.clone(),
        (None, _) => String::new(),
    };
    let location = match (not_fetched, repo) {
        (Some(reason), _) => {
            if revision.is_some() || file.is_some() || template.is_some() {
                problems.push("an entry with `not_fetched` cannot have `revision`, `file` or `template`".to_owned());
            }
            Location::Elsewhere(reason)
        }
        (None, Some(repo)) => {
            Location::Hub(OnHub { repo, revision: revision.unwrap_or_else(|| "main".to_owned()), file, template })
        }
        (None, None) => {
            problems.push("`repo` is missing; if the template is not on the Hub, say why in `not_fetched`".to_owned());
            Location::Elsewhere(String::new())
        }
    };
    let tokens = SpecialTokens { bos: bos_token, eos: eos_token, ..SpecialTokens::default() };
    let entry = Entry { name, save_as, source: source.unwrap_or(label), tokens, location };
    if problems.is_empty() { Ok(entry) } else { Err(problems) }
}

/// Whether a text can be the id of a model.
fn is_id(repo: &str) -> bool {
    is_inside(repo) && repo.split('/').count() <= 2 && !repo.contains(['\\', '#', '?', ' '])
}

/// Whether a path is relative and consists of plain names, so that it cannot leave its folder.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Reads what a manifest, or a table of `file<TAB>source` lines, says about templates. The keys are file names.
pub(crate) fn sources(path: &Path) -> Result<HashMap<String, Listed>, Failure> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        let listed = |entry: Entry| (entry.save_as, Listed { source: entry.source, tokens: entry.tokens });
        return Ok(Manifest::read(path)?.entries.into_iter().map(listed).collect());
    }
    let text = input::text(path)?;
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        let (file, source) = (cells.next()?.to_owned(), cells.next()?.to_owned());
        Some((file, Listed { source, ..Listed::default() }))
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    /// The committed manifest lists the template of each committed spec, with the same source.
    #[test]
    fn every_spec_has_its_source() -> Result<(), Box<dyn Error>> {
        let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generated");
        let manifest = Manifest::read(&generated.join("sources.toml")).map_err(|failure| failure.to_string())?;
        let mut files: Vec<String> = manifest.entries.iter().map(|entry| entry.save_as.clone()).collect();
        for (path, loaded) in unjinja_dynamic::specs_in(generated.join("specs"))? {
            let template = loaded.spec.template;
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

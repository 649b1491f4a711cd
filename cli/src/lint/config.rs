//! The configuration of `unjinja lint`: a file `unjinja-lint.toml` in the folder of a template or in one above it, or the file
//! that `--config` names. It says which rules are allowed and which are denied.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use unjinja_export::lint::Rule;

use crate::failure::Failure;
use crate::input;

/// The name of the file.
const NAME: &str = "unjinja-lint.toml";

/// What the file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    path: Vec<WrittenPath>,
}

/// What it says of a file or a folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPath {
    path: PathBuf,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// What becomes of findings of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They are not reported.
    Allow,
    /// They are errors.
    Deny,
}

/// Verdicts about rules, of all templates or of some.
struct Verdicts {
    /// A file or a folder; `None` for all.
    path: Option<PathBuf>,
    rules: Vec<(Rule, Verdict)>,
}

/// The configuration that applies to a template.
#[derive(Default)]
pub(super) struct Config(Vec<Verdicts>);

impl Config {
    /// The file that `--config` names, or the first `unjinja-lint.toml` from the template's folder upwards; empty without one.
    pub(super) fn of(template: &Path, named: Option<&Path>) -> Result<Config, Failure> {
        if let Some(path) = named {
            return Config::read(path);
        }
        if input::is_stdin(template) {
            return Ok(Config::default());
        }
        let whole = std::path::absolute(template).unwrap_or_else(|_| template.to_owned());
        let found = whole.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| path.is_file());
        found.map_or_else(|| Ok(Config::default()), |path| Config::read(&path))
    }

    fn read(path: &Path) -> Result<Config, Failure> {
        let written: Written = toml::from_str(&input::text(path)?).map_err(|error| Failure::file(path, error))?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = whole.parent().unwrap_or(Path::new(""));
        let mut all = vec![Verdicts { path: None, rules: rules(path, &written.allow, &written.deny)? }];
        for one in written.path {
            all.push(Verdicts { path: Some(folder.join(one.path)), rules: rules(path, &one.allow, &one.deny)? });
        }
        Ok(Config(all))
    }

    /// What is said of a rule for this template. What is said of a path counts more than what is said of all, and a later table
    /// more than an earlier one.
    pub(super) fn verdict(&self, template: &Path, rule: Rule) -> Option<Verdict> {
        let whole = std::path::absolute(template).unwrap_or_else(|_| template.to_owned());
        let applies = |verdicts: &&Verdicts| verdicts.path.as_ref().is_none_or(|path| whole.starts_with(path));
        let of_rule =
            |verdicts: &Verdicts| verdicts.rules.iter().find(|(one, _)| *one == rule).map(|(_, verdict)| *verdict);
        self.0.iter().rev().filter(applies).find_map(of_rule)
    }
}

/// The rules of two lists. Every unknown name is reported.
fn rules(path: &Path, allow: &[String], deny: &[String]) -> Result<Vec<(Rule, Verdict)>, Failure> {
    let both = allow.iter().find(|name| deny.contains(name));
    if let Some(name) = both {
        return Err(Failure::file(path, format!("`{name}` is both allowed and denied; remove one of them")));
    }
    let lists = [(allow, Verdict::Allow), (deny, Verdict::Deny)];
    let named = lists.into_iter().flat_map(|(names, verdict)| names.iter().map(move |name| (name, verdict)));
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for (name, verdict) in named {
        match Rule::named(name) {
            Some(rule) => found.push((rule, verdict)),
            None => unknown.push(format!("`{name}`")),
        }
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    let names = unknown.join(", ");
    Err(Failure::file(
        path,
        format!("no rule is called {names}; correct the name, or remove it (docs/lint.md lists the rules)"),
    ))
}

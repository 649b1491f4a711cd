//! The configuration of `unjinja lint`: a file `unjinja-lint.toml` in the folder of a template or in one above it, or the file
//! that `--config` names. It says which rules are allowed and which are denied.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;
use toml::Spanned;
use unjinja_lint::Rule;
use unjinja_spec::Problem;

use crate::failure::Failure;
use crate::input;
use crate::ui::Ui;

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
    path: Spanned<String>,
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

/// The configurations of many templates. Each file is read once.
pub(super) struct Configs<'a> {
    /// The file that `--config` names.
    named: Option<&'a Path>,
    ui: Ui,
    read: RefCell<BTreeMap<PathBuf, Rc<Config>>>,
}

impl<'a> Configs<'a> {
    pub(super) fn new(named: Option<&'a Path>, ui: Ui) -> Self {
        Self { named, ui, read: RefCell::default() }
    }

    /// The file that `--config` names, or the first `unjinja-lint.toml` from the template's folder upwards; empty without one.
    pub(super) fn of(&self, template: &Path) -> Result<Rc<Config>, Failure> {
        let found = match self.named {
            Some(path) => Some(path.to_owned()),
            None if input::is_stdin(template) => None,
            None => {
                let folders = whole(template);
                folders.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| path.is_file())
            }
        };
        let Some(path) = found else { return Ok(Rc::default()) };
        if let Some(config) = self.read.borrow().get(&path) {
            return Ok(Rc::clone(config));
        }
        let config = Rc::new(Config::read(&path, self.ui)?);
        self.read.borrow_mut().insert(path, Rc::clone(&config));
        Ok(config)
    }
}

/// A path from the root and without `..`, so that paths can be compared. Links are not followed: what counts is how a path is named.
fn whole(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

impl Config {
    fn read(path: &Path, ui: Ui) -> Result<Config, Failure> {
        let text = input::text(path)?;
        let written: Written = toml::from_str(&text).map_err(|error| Failure::file(path, error))?;
        let file = whole(path);
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut all = vec![Verdicts { path: None, rules: rules(path, &written.allow, &written.deny)? }];
        for one in written.path {
            let pattern = one.path.get_ref();
            let place = place(&text, &one.path.span());
            if let Some((cause, next)) = wrong_path(pattern) {
                return Err(Problem::at(&path.display().to_string(), &text, place, cause, next).into());
            }
            let about = folder.join(pattern);
            if !about.exists() {
                let (line, column) = place;
                ui.remark(&format!(
                    "{}:{line}:{column}: remark: the folder of this file has no {pattern:?}, so the table is about no template",
                    path.display()
                ));
            }
            all.push(Verdicts { path: Some(about), rules: rules(path, &one.allow, &one.deny)? });
        }
        Ok(Config(all))
    }

    /// What is said of a rule for this template. What is said of a path counts more than what is said of all, and a later table
    /// more than an earlier one.
    pub(super) fn verdict(&self, template: &Path, rule: Rule) -> Option<Verdict> {
        let template = whole(template);
        let applies = |verdicts: &&Verdicts| verdicts.path.as_ref().is_none_or(|path| template.starts_with(path));
        let of_rule =
            |verdicts: &Verdicts| verdicts.rules.iter().find(|(one, _)| *one == rule).map(|(_, verdict)| *verdict);
        self.0.iter().rev().filter(applies).find_map(of_rule)
    }
}

/// Why a path of the file can name no template, and what to write; `None` if it can.
fn wrong_path(path: &str) -> Option<(&'static str, &'static str)> {
    const RELATIVE: &str =
        "write a file or a folder as it is named from the folder of this file, such as \"old\" or \"old/chat.jinja\"";
    let leads_out = |part: Component<'_>| matches!(part, Component::ParentDir);
    if path.is_empty() {
        return Some((
            "the path is empty",
            "write \".\" for the whole folder of this file, or put the rules at the top of the file",
        ));
    }
    if Path::new(path).has_root() || path.starts_with('~') {
        return Some(("this path is absolute, and paths are relative to the folder of this file", RELATIVE));
    }
    if Path::new(path).components().any(leads_out) {
        let cause = "this path leads out of the folder of this file, and the file counts for this folder only";
        return Some((cause, "write it without `..`, or put an unjinja-lint.toml into the folder above"));
    }
    if path.contains(['*', '?']) {
        return Some(("paths have no wildcards, so this one names no template", RELATIVE));
    }
    None
}

/// The line and the column of a value, from 1.
fn place(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
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
            None => unknown.push(match Rule::similar(name)[..] {
                [rule] => format!("`{name}` (did you mean `{}`?)", rule.id),
                _ => format!("`{name}`"),
            }),
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

//! Reads a spec in three stages: the syntax of TOML, then keys and types, then the markers that the named formats need.
//!
//! Each stage reports everything that it finds. A later stage is silent about a table in which an earlier stage found a
//! problem, because its findings would only follow from that problem.

use std::ops::Range;

use crate::check::{self, Finding};
use crate::document::{Node, Value};
use crate::error::{Problem, SpecError, SpecFile};
use crate::fault::{Fault, FaultKind};
use crate::model::{FormatSpec, SPEC_VERSION};
use crate::read::{self, Scope, Shape};
use crate::text;
use crate::write;

impl FormatSpec {
    /// Reads a spec. `file_name` is only for messages.
    ///
    /// # Errors
    /// All problems that can be found at once, each with line, column, key, cause and next step: syntax
    /// errors; unknown, missing and mistyped keys; markers that the named formats need.
    ///
    /// ```
    /// use unjinja_spec::FormatSpec;
    ///
    /// let error = FormatSpec::from_toml("spec_version = 1\ntools.formt = 'none'\n", "a.toml").unwrap_err();
    /// let keys: Vec<&str> = error.problems.iter().map(|problem| problem.key.as_str()).collect();
    /// assert_eq!(keys, ["template", "tools.formt"]);
    /// assert!(error.to_string().contains("did you mean `format`?"));
    /// ```
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, SpecError> {
        let source = SpecFile { file: file_name.to_owned(), text: text.to_owned() };
        let root = Node::parse(&source)?;
        from_document(&root, &source)
    }

    /// The spec as TOML: keys in the order of the model, in one layout, with the same bytes on every machine.
    /// [`FormatSpec::from_toml`] gives the same spec back.
    #[must_use]
    pub fn to_toml(&self) -> String {
        write::toml(&Node::from_serialize(self))
    }

    /// Every key that a spec may have, dotted, in the order of the model: `template.name`, `tools.arguments.start`.
    /// Keys of a generation prompt begin with `generation_prompt[]`.
    ///
    /// ```
    /// let keys = unjinja_spec::FormatSpec::keys();
    /// assert!(keys.iter().any(|key| key == "tools.per_call_start"));
    /// assert!(keys.iter().any(|key| key == "generation_prompt[].text"));
    /// ```
    #[must_use]
    pub fn keys() -> Vec<String> {
        let shape = read::shape_of::<FormatSpec>();
        let holds_keys = |key: &str| shape.iter().any(|(table, _)| table == key || *table == format!("{key}[]"));
        let keys = shape.iter().flat_map(|(table, names)| names.iter().map(|name| text::join(table, name)));
        keys.filter(|key| !holds_keys(key)).collect()
    }

    /// Checks a spec that was built in code as [`FormatSpec::from_toml`] checks one that was read.
    ///
    /// # Errors
    /// All problems, with places in the text that [`FormatSpec::to_toml`] writes.
    pub fn check(&self) -> Result<(), SpecError> {
        let file = format!("{}.toml", self.template.name);
        Self::from_toml(&self.to_toml(), &file).map(drop)
    }
}

/// Reads and checks a whole spec. `source` is the file that the places in the document refer to.
pub(crate) fn from_document(root: &Node, source: &SpecFile) -> Result<FormatSpec, SpecError> {
    if let Some(problem) = other_version(root, source) {
        return Err(SpecError { problems: vec![problem] });
    }
    let (spec, faults) = read::read::<FormatSpec>(root, Scope::Whole);
    let mut problems = explain(&faults, root, source);
    if let Some(spec) = &spec {
        let findings = check::check(spec);
        let open = findings.iter().filter(|finding| !faults.iter().any(|fault| touches(fault, finding)));
        problems.extend(open.map(|finding| {
            let span = finding_span(finding, root);
            source.problem(span, &finding.key, &finding.cause, &finding.next_step)
        }));
    }
    match (spec, SpecError::from_problems(problems)) {
        (Some(spec), None) => Ok(spec),
        (_, Some(error)) => Err(error),
        (None, None) => Err(SpecError {
            problems: vec![source.problem(
                None,
                "",
                "this is not a format spec",
                "write it anew with `unjinja analyze`",
            )],
        }),
    }
}

/// The problem of a spec of another version. It is the only one reported, because the keys may mean anything there.
fn other_version(root: &Node, source: &SpecFile) -> Option<Problem> {
    let node = root.get("spec_version")?;
    let Value::Integer(version) = node.value else {
        return None;
    };
    if version == i128::from(SPEC_VERSION) {
        return None;
    }
    let cause =
        format!("this spec has version {version} of the spec language; this unjinja reads version {SPEC_VERSION}");
    Some(source.problem(node.span.clone(), "spec_version", cause, "write the spec anew with `unjinja analyze`"))
}

/// Whether a finding may be a consequence of a fault, because both concern the same part of the spec.
fn touches(fault: &Fault, finding: &Finding) -> bool {
    let part = |key: &str| key.split(['.', '[']).next().unwrap_or_default().to_owned();
    let part_at_fault = part(fault.key.as_deref().unwrap_or_default());
    part_at_fault == "status"
        || part_at_fault == part(&finding.key)
        || finding.near.iter().any(|key| part(key) == part_at_fault)
}

/// The place of a finding: its key, else a related key, else the table that it belongs to.
fn finding_span(finding: &Finding, root: &Node) -> Option<Range<usize>> {
    let keys = std::iter::once(finding.key.as_str()).chain(finding.near.iter().copied());
    keys.filter_map(|key| root.at(key)?.span.clone()).next().or_else(|| enclosing_span(&finding.key, root))
}

/// The place of the innermost table around a key; if no table has one, the first place in the file.
fn enclosing_span(key: &str, root: &Node) -> Option<Range<usize>> {
    let mut key = key;
    while let Some((table, _)) = key.rsplit_once(['.', '[']) {
        if let Some(span) = root.at(table).and_then(|node| node.span.clone()) {
            return Some(span);
        }
        key = table;
    }
    // Only a merged overlay has parts without a place. The first line of the overlay is then the best that is known.
    root.any_span().filter(|_| has_placeless(root))
}

fn has_placeless(root: &Node) -> bool {
    root.entries().iter().any(|(_, node)| node.span.is_none())
}

/// Faults as problems.
pub(crate) fn explain(faults: &[Fault], root: &Node, source: &SpecFile) -> Vec<Problem> {
    if faults.is_empty() {
        return Vec::new();
    }
    let shape = read::shape_of::<FormatSpec>();
    let explain_one = |fault: &Fault| {
        let key = fault.key.clone().unwrap_or_default();
        let (cause, next) = words(fault, &key, &shape);
        let span = fault.span.clone().or_else(|| enclosing_span(&key, root));
        source.problem(span, key, cause, next)
    };
    let mut problems: Vec<Problem> = faults.iter().map(explain_one).collect();
    if faults.len() >= read::MAX_FAULTS {
        let end = source.text.trim_end().len();
        let cause = format!("there may be more than these {} problems", faults.len());
        problems.push(source.problem(Some(end..end), "", cause, "correct these first"));
    }
    problems
}

/// Cause and next step of a fault.
fn words(fault: &Fault, key: &str, shape: &Shape) -> (String, String) {
    match &fault.kind {
        FaultKind::Missing { field } => {
            let table = key.strip_suffix(field).unwrap_or_default();
            let table = table.trim_end_matches('.');
            let whole = shape.iter().find(|(path, _)| path == key);
            let next = match whole {
                Some((_, keys)) => format!("add the table `[{key}]`; its keys are {}", list(keys)),
                None => format!("add `{field} = …` {}", text::in_table(table)),
            };
            (format!("`{key}` is missing"), next)
        }
        FaultKind::Unknown { name, known } => {
            let table = parent(key, name);
            let cause = format!("unknown key `{}` {}", text::visible(&read::shorten(name)), text::in_table(&table));
            (cause, did_you_mean(name, known, shape))
        }
        FaultKind::Variant { name, known } => {
            let cause = format!("{} is not a value of `{key}`", text::quote(&read::shorten(name)));
            let mut next = format!("write one of {}", list(known));
            if let Some(near) = text::nearest(name, known.iter().copied()) {
                next = format!("did you mean `{near}`? The values are {}", list(known));
            }
            (cause, next)
        }
        FaultKind::Type { found, wanted } => {
            (format!("`{key}` must be {wanted}, not {found}"), format!("write {wanted} there"))
        }
        FaultKind::Other(message) => {
            (format!("`{key}` cannot be read: {}", text::visible(message)), format!("correct `{key}`"))
        }
    }
}

/// The table of a dotted key that ends in `name`.
fn parent(key: &str, name: &str) -> String {
    let table = key.strip_suffix(text::key(name).as_str());
    table.unwrap_or_default().trim_end_matches('.').to_owned()
}

/// A hint for an unknown key: a similar key of the same table, or the same key of another table.
fn did_you_mean(name: &str, known: &[&'static str], shape: &Shape) -> String {
    if let Some(near) = text::nearest(name, known.iter().copied()) {
        return format!("did you mean `{near}`? The keys here are {}", list(known));
    }
    let elsewhere: Vec<String> = shape
        .iter()
        .filter(|(_, keys)| keys.contains(&name))
        .map(|(path, _)| match path.strip_suffix("[]") {
            Some(array) => format!("[[{array}]]"),
            None => text::table_name(path),
        })
        .collect();
    if elsewhere.is_empty() {
        return format!("remove it; the keys here are {}", list(known));
    }
    format!("`{name}` is a key of {}: move it there", elsewhere.join(" and of "))
}

/// Names in back quotes, with commas.
fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

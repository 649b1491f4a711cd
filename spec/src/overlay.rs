//! Overlays: files next to a spec that set keys which a template cannot show by being rendered, with a reason for each.
//!
//! A key that changes nothing is idle: the analysis finds the same, and the key can be removed. Overlays are written by
//! people; nothing here writes one.

use serde::Serialize;

use crate::comments::{self, Comment};
use crate::document::{Node, Value};
use crate::error::{Problem, SpecError, SpecFile};
use crate::model::FormatSpec;
use crate::parse;
use crate::read::{self, Scope};
use crate::status::Status;
use crate::text;

/// Keys that an overlay cannot set: facts about the template and about the analysis.
const FACTS: &[&str] = &["spec_version", "template.file", "template.sha256", "template.also", "evidence"];

/// Corrections to an analysed spec.
///
/// Tables are merged into the spec's tables key by key. Everything else, arrays included, replaces the value in the
/// spec. `status = "supported"` takes back the verdict of the analysis, and its `gaps` unless the overlay sets these too.
///
/// ```
/// use unjinja_spec::{FormatSpec, Overlay, ReasoningMode};
///
/// let spec = FormatSpec::from_toml(&format!(
///     "spec_version = 1\n[template]\nname = 'sample'\nfile = 'sample.jinja'\nsha256 = '{}'\n",
///     "0".repeat(64),
/// ), "sample.toml")?;
/// let overlay = Overlay::from_toml(
///     "[reasoning]\n\
///      mode = 'tag_based' # The template never renders reasoning; the model card documents it.\n\
///      end = '</think>' # As above.\n\
///      start = '' # As above.\n",
///     "sample.overlay.toml",
/// )?;
/// let corrected = overlay.apply(&spec)?;
/// assert_eq!(corrected.reasoning.mode, ReasoningMode::TagBased);
/// assert_eq!(overlay.idle(&spec)[0].key, "reasoning.start");
/// # Ok::<(), unjinja_spec::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Overlay {
    source: SpecFile,
    root: Node,
    keys: Vec<Leaf>,
}

/// A key that an overlay sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OverlayKey {
    /// The key, dotted from the top of the spec.
    pub key: String,
    /// Its line in the overlay, from 1.
    pub line: usize,
    /// The comment that says why, on one line.
    pub why: String,
}

/// A key that an overlay sets, with a document that sets only this key.
#[derive(Clone, Debug)]
struct Leaf {
    shown: OverlayKey,
    alone: Node,
}

impl Overlay {
    /// Reads an overlay. `file_name` is only for messages.
    ///
    /// Each key needs a reason: a comment on its line, or comment lines directly above it.
    ///
    /// # Errors
    /// All problems that can be found at once: syntax errors, unknown and mistyped keys, keys that are facts
    /// about the template or the analysis, keys without a reason.
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, SpecError> {
        let source = SpecFile { file: file_name.to_owned(), text: text.to_owned() };
        let root = Node::parse(&source)?;
        let (_, faults) = read::read::<FormatSpec>(&root, Scope::Part);
        let mut problems = parse::explain(&faults, &root, &source);
        let mut keys = Vec::new();
        let comments = comments::comments(&source.text);
        collect(&root, &mut Vec::new(), &mut |path, node| match leaf(path, node, &source, &comments) {
            Ok(leaf) => keys.insert(keys.partition_point(|known: &Leaf| known.shown.line <= leaf.shown.line), leaf),
            Err(problem) => problems.push(*problem),
        });
        match SpecError::from_problems(problems) {
            None => Ok(Self { source, root, keys }),
            Some(error) => Err(error),
        }
    }

    /// The spec with the overlay's keys set. `tokens.preserved` then lists the tags of the markers that result.
    ///
    /// # Errors
    /// The problems that [`FormatSpec::from_toml`] would find in the result, with places in the overlay.
    pub fn apply(&self, spec: &FormatSpec) -> Result<FormatSpec, SpecError> {
        let mut merged = parse::from_document(&merged(spec, &self.root), &self.source)?;
        // The analysis listed the tags of its own markers. The overlay may bring others, and drop some of them.
        let analysed = spec.marker_tags();
        merged.tokens.preserved.retain(|token| !analysed.contains(token.as_str()));
        merged.tokens.preserved = merged.preserved_tokens();
        Ok(merged)
    }

    /// The keys that the overlay sets, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &OverlayKey> {
        self.keys.iter().map(|leaf| &leaf.shown)
    }

    /// The keys that change nothing in `spec`, because the analysis found the same.
    #[must_use]
    pub fn idle(&self, spec: &FormatSpec) -> Vec<OverlayKey> {
        let changes_nothing = |leaf: &&Leaf| {
            let (with, _) = read::read::<FormatSpec>(&merged(spec, &leaf.alone), Scope::Whole);
            with.as_ref() == Some(spec)
        };
        let idle = self.keys.iter().filter(changes_nothing);
        idle.map(|leaf| leaf.shown.clone()).collect()
    }
}

/// The document of `spec` with `over` merged into it.
fn merged(spec: &FormatSpec, over: &Node) -> Node {
    let mut tree = Node::from_serialize(spec);
    tree.merge(over);
    let is_supported = |node: &Node| matches!(&node.value, Value::String(text) if text == Status::Supported.name());
    if let Value::Table(entries) = &mut tree.value
        && over.get("status").is_some_and(is_supported)
        && over.get("gaps").is_none()
    {
        entries.retain(|(key, _)| key != "gaps");
    }
    tree
}

/// Visits every key whose value is merged as a whole: every value that is not a table, and empty tables.
fn collect<'n>(node: &'n Node, path: &mut Vec<&'n str>, visit: &mut impl FnMut(&[&'n str], &'n Node)) {
    for (key, inner) in node.entries() {
        path.push(key);
        if inner.entries().is_empty() {
            visit(path, inner);
        } else {
            collect(inner, path, visit);
        }
        path.pop();
    }
}

fn leaf(path: &[&str], node: &Node, source: &SpecFile, comments: &[Comment]) -> Result<Leaf, Box<Problem>> {
    let key = path.iter().fold(String::new(), |path, name| text::join(&path, name));
    let span = node.key_span.clone().or(node.span.clone());
    let is_fact = |fact: &&&str| key == **fact || key.starts_with(&format!("{fact}."));
    if let Some(fact) = FACTS.iter().find(is_fact) {
        let cause = format!("an overlay cannot set `{key}`: it is a fact about the template or its analysis");
        let next = format!("remove `{fact}` from the overlay; `unjinja analyze` writes it");
        return Err(Box::new(source.problem(span, key, cause, next)));
    }
    let start = span.clone().unwrap_or(0..0).start;
    let end = node.span.clone().map_or(start, |span| span.end.max(start));
    let (first, _) = text::line_and_column(&source.text, start);
    let (last, _) = text::line_and_column(&source.text, end);
    let why = reason(first, last, comments);
    if why.is_empty() {
        let cause = format!("`{key}` gives no reason");
        let next = "say in a comment on the line above why the analysis cannot find this by itself";
        return Err(Box::new(source.problem(span, key, cause, next)));
    }
    let alone = path
        .iter()
        .rev()
        .fold(node.clone(), |inner, name| Node::placeless(Value::Table(vec![((*name).to_owned(), inner)])));
    let line = first;
    Ok(Leaf { shown: OverlayKey { key, line, why }, alone })
}

/// The reason for the key on the lines `first..=last`: the comment block directly above, then the comments on the
/// lines.
fn reason(first: usize, last: usize, comments: &[Comment]) -> String {
    let mut top = first;
    while comments.iter().any(|comment| comment.alone && comment.line + 1 == top) {
        top -= 1;
    }
    let words: Vec<&str> = comments
        .iter()
        .filter(|comment| (top..=last).contains(&comment.line))
        .map(|comment| comment.text.as_str())
        .filter(|text| !text.is_empty())
        .collect();
    words.join(" ")
}

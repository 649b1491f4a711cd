//! Semantic diff: which keys differ between two specs, and whether a parser that was built from the old one still reads
//! the output that the new one describes. `rules.rs` decides that; this file finds and orders the changes.

use std::fmt;

use serde::Serialize;

use crate::document::{Node, Value};
use crate::effect::Effect;
use crate::error::SpecFile;
use crate::model::FormatSpec;
use crate::read::{self, Shape};
use crate::rules;
use crate::text;
use crate::write;

/// A key that differs between two specs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// The key, dotted from the top of the spec. Generation prompts are named by their switch:
    /// `generation_prompt[thinking=false].text`.
    pub key: String,
    /// The old value as TOML; absent if the old spec lacks the key.
    pub old: Option<String>,
    /// The new value as TOML; absent if the new spec lacks the key.
    pub new: Option<String>,
    /// What it means for a parser built from the old spec.
    pub effect: Effect,
    /// Why.
    pub why: String,
}

/// What changed from `old` to `new`, in the order of the model.
///
/// ```
/// use unjinja_spec::{diff, worst, Effect, FormatSpec};
///
/// let mut old = FormatSpec::from_toml(&format!(
///     "spec_version = 1\n[template]\nname = 'sample'\nfile = 'sample.jinja'\nsha256 = '{}'\n\
///      [tools]\nformat = 'json_native'\nper_call_start = '<call>'\nname_field = 'name'\nargs_field = 'arguments'\n",
///     "0".repeat(64),
/// ), "sample.toml")?;
/// let mut new = old.clone();
/// new.tools.per_call_start = "<call>\n".to_owned();
/// assert_eq!(worst(&diff(&old, &new)), Some(Effect::Compatible));
/// new.tools.per_call_start = "[CALL]".to_owned();
/// assert_eq!(worst(&diff(&old, &new)), Some(Effect::Breaking));
/// # Ok::<(), unjinja_spec::SpecError>(())
/// ```
#[must_use]
pub fn diff(old: &FormatSpec, new: &FormatSpec) -> Vec<Change> {
    let old_keys = flatten(old);
    let new_keys = flatten(new);
    let shape = read::shape_of::<FormatSpec>();
    let mut keys: Vec<&String> = old_keys.iter().map(|(key, _)| key).collect();
    for (key, _) in &new_keys {
        if !old_keys.iter().any(|(known, _)| known == key) {
            keys.push(key);
        }
    }
    let labels: Vec<&str> = keys.iter().filter_map(|key| label(key)).collect();
    let mut ranked: Vec<_> = keys.iter().map(|key| (rank(key, &shape, &labels), *key)).collect();
    ranked.sort_unstable();
    let get = |keys: &[(String, Node)], key: &str| {
        let found = keys.iter().find(|(name, _)| name == key);
        found.map(|(_, node)| node.clone())
    };
    let changes = ranked.into_iter().filter_map(|(_, key)| {
        let (before, after) = (get(&old_keys, key), get(&new_keys, key));
        if before == after {
            return None;
        }
        let (effect, why) = rules::judge(&rules::Case {
            key,
            old: before.as_ref().map(|node| &node.value),
            new: after.as_ref().map(|node| &node.value),
            old_spec: old,
            new_spec: new,
        });
        Some(Change {
            key: key.clone(),
            old: before.as_ref().map(write::inline),
            new: after.as_ref().map(write::inline),
            effect,
            why,
        })
    });
    changes.collect()
}

/// The line of a spec's file, from 1, that sets the key of a [`Change`]. If the file does not set it: the line of the
/// first key of its table, else 1. For a file that is not TOML, 1.
///
/// ```
/// let text = "spec_version = 1\n\n[tools]\nformat = 'json_native'\nper_call_start = '<call>'\n";
/// assert_eq!(unjinja_spec::line_of(text, "tools.per_call_start"), 5);
/// assert_eq!(unjinja_spec::line_of(text, "tools.per_call_end"), 4);
/// assert_eq!(unjinja_spec::line_of(text, "reasoning.mode"), 1);
/// ```
#[must_use]
pub fn line_of(text: &str, key: &str) -> usize {
    let source = SpecFile { file: String::new(), text: text.to_owned() };
    let Ok(root) = Node::parse(&source) else { return 1 };
    let mut keys = Vec::new();
    enter(&root, "", &mut keys);
    let table = key.rfind('.').map(|end| &key[..=end]);
    let exact = keys.iter().find(|(name, _)| name == key);
    let near = || table.and_then(|table| keys.iter().find(|(name, _)| name.starts_with(table)));
    let span = exact.or_else(near).and_then(|(_, node)| node.key_span.clone().or(node.span.clone()));
    span.map_or(1, |span| text::line_and_column(&source.text, span.start).0)
}

/// The worst effect of some changes; `None` without changes.
#[must_use]
pub fn worst(changes: &[Change]) -> Option<Effect> {
    changes.iter().map(|change| change.effect).max()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let old = self.old.as_deref().unwrap_or("(absent)");
        let new = self.new.as_deref().unwrap_or("(absent)");
        writeln!(f, "{}: {}", self.effect, self.key)?;
        writeln!(f, "  - {old}")?;
        writeln!(f, "  + {new}")?;
        write!(f, "  {}", self.why)
    }
}

/// The keys of a spec as [`Change`] names them, each with its value as TOML.
///
/// ```
/// # let spec = unjinja_spec::FormatSpec::from_toml(&format!(
/// #     "spec_version = 1\n[template]\nname = 'sample'\nfile = 'sample.jinja'\nsha256 = '{}'\n[turn]\nend = '<end>'\n",
/// #     "0".repeat(64),
/// # ), "sample.toml")?;
/// let end = unjinja_spec::values(&spec).into_iter().find(|(key, _)| key == "turn.end");
/// assert_eq!(end.map(|(_, value)| value).as_deref(), Some(r#""<end>""#));
/// # Ok::<(), unjinja_spec::SpecError>(())
/// ```
#[must_use]
pub fn values(spec: &FormatSpec) -> Vec<(String, String)> {
    flatten(spec).into_iter().map(|(key, node)| (key, write::inline(&node))).collect()
}

/// The keys of a spec with their values. An array is one value, except for the generation prompts: each of them is
/// identified by its switch, not by its position.
fn flatten(spec: &FormatSpec) -> Vec<(String, Node)> {
    let mut keys = Vec::new();
    enter(&Node::from_serialize(spec), "", &mut keys);
    keys
}

fn enter(node: &Node, path: &str, keys: &mut Vec<(String, Node)>) {
    for (name, inner) in node.entries() {
        let path = crate::text::join(path, name);
        match &inner.value {
            Value::Array(prompts) if path == "generation_prompt" => enter_prompts(prompts, &path, keys),
            Value::Table(_) => enter(inner, &path, keys),
            _ => keys.push((path, inner.clone())),
        }
    }
}

fn enter_prompts(prompts: &[Node], path: &str, keys: &mut Vec<(String, Node)>) {
    let mut seen: Vec<String> = Vec::new();
    for prompt in prompts {
        let switch = prompt.get("thinking").map_or("unset".to_owned(), write::inline);
        let mut label = format!("{path}[thinking={switch}]");
        let same = seen.iter().filter(|known| **known == label).count();
        seen.push(label.clone());
        if same > 0 {
            label = format!("{path}[thinking={switch}, {}]", same + 1);
        }
        let fields = prompt.entries().iter().filter(|(name, _)| name != "thinking");
        keys.extend(fields.map(|(name, node)| (format!("{label}.{name}"), node.clone())));
    }
}

/// The beginning of a key up to the end of its array index.
fn label(key: &str) -> Option<&str> {
    key.find(']').map(|end| &key[..=end])
}

/// The position of each part of a key in its table: keys of a table before its tables, as in the file, and
/// items of an array in the order in which the specs list them.
fn rank(key: &str, shape: &Shape, labels: &[&str]) -> Vec<(bool, usize, usize)> {
    let mut path = String::new();
    let mut ranks = Vec::new();
    let item = label(key).and_then(|mine| labels.iter().position(|label| *label == mine));
    for part in key.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        let table = shape.iter().find(|(table, _)| *table == path);
        let place = table.and_then(|(_, fields)| fields.iter().position(|field| *field == name));
        path = crate::text::join(&path, name);
        if !index.is_empty() {
            path.push_str("[]");
        }
        let is_table = shape.iter().any(|(table, _)| *table == path);
        ranks.push((is_table, place.unwrap_or(usize::MAX), item.unwrap_or_default()));
    }
    ranks
}

//! A spec as a TOML document: keys and values, each with its place in the file that it was read from.
//!
//! Reading, writing, overlays and the diff work on this document. It knows no key of the model, so a new key
//! needs no change here.

use std::ops::Range;

use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{SpecError, SpecFile};
use crate::text;

/// A value and its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// The place of its key, if it was read from a file and has a key.
    pub(crate) key_span: Option<Range<usize>>,
    /// The place of the value, if it was read from a file; for a table, the place of its header.
    pub(crate) span: Option<Range<usize>>,
}

/// A TOML value. Tables keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A string.
    String(String),
    /// An integer. A number too large for the type becomes the largest one, which no key accepts.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A date or time, as text.
    Datetime(String),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Vec<(String, Node)>),
}

/// Nodes are equal if their values are; their places do not count.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Node {
    /// A value that was not read from a file.
    pub(crate) fn placeless(value: Value) -> Self {
        Self { value, key_span: None, span: None }
    }

    /// Parses a file. Every syntax error becomes a problem.
    pub(crate) fn parse(source: &SpecFile) -> Result<Self, SpecError> {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        let problems = errors.iter().map(|error| {
            let cause = format!("not valid TOML: {}", text::visible(error.message()));
            let next = "correct the syntax here; what follows may then read differently";
            source.problem(error.span(), "", cause, next)
        });
        match SpecError::from_problems(problems.collect()) {
            Some(error) => Err(error),
            None => Ok(Self::placeless(from_table(table.into_inner()))),
        }
    }

    /// The document of something that serialises as a table.
    pub(crate) fn from_serialize<T: Serialize>(value: &T) -> Self {
        // The model is plain data whose integers fit TOML's, so this cannot fail; a test writes every shape.
        let table = toml::Table::try_from(value);
        debug_assert!(table.is_ok(), "{table:?}");
        Self::placeless(from_toml(toml::Value::Table(table.unwrap_or_default())))
    }

    /// The entries of a table; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The entry `key` of a table.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The entry at a dotted key as messages write it: `tools.format`, `generation_prompt[0].text`,
    /// `alternatives."turn.end"`.
    pub(crate) fn at(&self, dotted: &str) -> Option<&Node> {
        let mut node = self;
        let mut rest = dotted;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix('"') {
                let (key, after) = quoted.split_once('"')?;
                node = node.get(key)?;
                rest = after.strip_prefix('.').unwrap_or(after);
                continue;
            }
            let (key, after) = rest.split_once('.').unwrap_or((rest, ""));
            let (name, index) = key.split_once('[').unwrap_or((key, ""));
            node = node.get(name)?;
            if let Some(index) = index.strip_suffix(']') {
                let Value::Array(items) = &node.value else { return None };
                node = items.get(index.parse::<usize>().ok()?)?;
            }
            rest = after;
        }
        Some(node)
    }

    /// Merges `over` into this document: tables key by key; everything else is replaced.
    pub(crate) fn merge(&mut self, over: &Node) {
        match (&mut self.value, &over.value) {
            (Value::Table(mine), Value::Table(theirs)) => {
                for (key, node) in theirs {
                    match mine.iter_mut().find(|(name, _)| name == key) {
                        Some((_, old)) => old.merge(node),
                        None => mine.push((key.clone(), node.clone())),
                    }
                }
                self.key_span = over.key_span.clone().or(self.key_span.take());
                self.span = over.span.clone().or(self.span.take());
            }
            _ => *self = over.clone(),
        }
    }

    /// The first place in the file that this document or a value in it has.
    pub(crate) fn any_span(&self) -> Option<Range<usize>> {
        let children: Vec<&Node> = match &self.value {
            Value::Table(entries) => entries.iter().map(|(_, node)| node).collect(),
            Value::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        };
        let inner = children.into_iter().filter_map(Node::any_span);
        inner.chain(self.span.clone()).min_by_key(|span| span.start)
    }
}

fn from_spanned(value: Spanned<DeValue<'_>>) -> Node {
    let span = Some(value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.unwrap_or(i128::MAX))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(value) => Value::Datetime(value.to_string()),
        DeValue::Array(items) => Value::Array(items.into_iter().map(from_spanned).collect()),
        DeValue::Table(table) => from_table(table),
    };
    Node { value, key_span: None, span }
}

fn from_table(table: DeTable<'_>) -> Value {
    let entries = table.into_iter().map(|(key, value)| {
        let mut node = from_spanned(value);
        node.key_span = Some(key.span());
        (key.into_inner().into_owned(), node)
    });
    Value::Table(entries.collect())
}

fn from_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::Integer(number.into()),
        toml::Value::Float(number) => Value::Float(number),
        toml::Value::Boolean(value) => Value::Boolean(value),
        toml::Value::Datetime(value) => Value::Datetime(value.to_string()),
        toml::Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| Node::placeless(from_toml(item))).collect())
        }
        toml::Value::Table(table) => {
            Value::Table(table.into_iter().map(|(key, value)| (key, Node::placeless(from_toml(value)))).collect())
        }
    }
}

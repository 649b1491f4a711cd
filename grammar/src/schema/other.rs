//! Where references lead, and whether alternatives exclude each other.

use std::collections::HashMap;

use serde_json::Value;

use super::Schemas;
use super::facts::{ANY, OBJECT, types_of};

/// How many values are looked through for anchors.
const SEARCHED: usize = 200_000;
/// How many alternatives are compared with each other.
const COMPARED: usize = 64;

impl<'s> Schemas<'s, '_> {
    /// The schema that a reference leads to.
    pub(super) fn target(&mut self, reference: &str) -> Option<&'s Value> {
        let root = self.root;
        let anchors = self.anchors.get_or_insert_with(|| anchors(root));
        if anchors.inner_bases {
            // Each such part of the document has references of its own.
            return None;
        }
        let anchors = &anchors.named;
        if let Some(pointer) = reference.strip_prefix('#')
            && (pointer.is_empty() || pointer.starts_with('/'))
        {
            return pointed(root, pointer);
        }
        if let Some(&schema) = anchors.get(reference) {
            return Some(schema);
        }
        let (base, pointer) = reference.split_once('#')?;
        let base: &'s Value = anchors.get(base).copied()?;
        pointed(base, pointer)
    }

    /// Whether no value fits two of these schemas, as far as their types, constants and required constant properties
    /// tell.
    pub(super) fn exclude_each_other(&mut self, types: u8, schemas: &'s [Value]) -> bool {
        if schemas.len() > COMPARED {
            return false;
        }
        let marks: Vec<Mark<'s>> = schemas.iter().map(|schema| self.mark(types, schema)).collect();
        marks.iter().enumerate().all(|(at, one)| marks[at + 1..].iter().all(|other| one.excludes(other)))
    }

    fn mark(&mut self, types: u8, schema: &'s Value) -> Mark<'s> {
        let mut schema = schema;
        let mut mark = Mark { types, values: None, properties: Vec::new() };
        // References one behind the other; other ways to join are not looked through.
        for _ in 0..8 {
            let Value::Object(keywords) = schema else {
                mark.types = if schema == &Value::Bool(false) { 0 } else { mark.types };
                return mark;
            };
            mark.types &= keywords.get("type").and_then(types_of).unwrap_or(ANY);
            mark.values = mark.values.or(constants(schema));
            if let (Some(Value::Array(required)), Some(Value::Object(properties))) =
                (keywords.get("required"), keywords.get("properties"))
            {
                let required = required.iter().filter_map(Value::as_str);
                mark.properties.extend(required.filter_map(|name| Some((name, constants(properties.get(name)?)?))));
            }
            let Some(target) = keywords.get("$ref").and_then(Value::as_str).and_then(|name| self.target(name)) else {
                break;
            };
            schema = target;
        }
        if mark.types != OBJECT {
            // What is no object fits as well.
            mark.properties.clear();
        }
        mark
    }
}

/// What tells a schema from others.
struct Mark<'s> {
    types: u8,
    values: Option<&'s [Value]>,
    /// Properties that must be there and have one of these values.
    properties: Vec<(&'s str, &'s [Value])>,
}

impl Mark<'_> {
    fn excludes(&self, other: &Self) -> bool {
        let apart = |one: &[Value], other: &[Value]| {
            one.len().saturating_mul(other.len()) < 10_000
                && !one.iter().any(|value| other.iter().any(|same| super::check::may_be_equal(value, same)))
        };
        self.types & other.types == 0
            || self.values.zip(other.values).is_some_and(|(one, other)| apart(one, other))
            || self.properties.iter().any(|(name, values)| {
                other.properties.iter().any(|(same, others)| name == same && apart(values, others))
            })
    }
}

fn constants(schema: &Value) -> Option<&[Value]> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

/// What a JSON pointer points at, as a reference writes it: percent signs stand for bytes.
fn pointed<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    root.pointer(pointer).or_else(|| root.pointer(&unescaped(pointer)?))
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The schemas of a document that references can name.
#[derive(Debug)]
pub(super) struct Anchors<'s> {
    /// By anchor, and the root by its id.
    named: HashMap<String, &'s Value>,
    /// Whether some schema inside has an id, from which references in it start.
    inner_bases: bool,
}

/// Keywords with values inside, not schemas. (A property of such a name is then not looked through.)
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

fn anchors(root: &Value) -> Anchors<'_> {
    let mut found = Anchors { named: HashMap::new(), inner_bases: false };
    let mut pending = vec![root];
    for _ in 0..SEARCHED {
        match pending.pop() {
            Some(value @ Value::Object(members)) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(keyword) {
                        found.named.entry(format!("#{name}")).or_insert(value);
                    }
                }
                if let Some(Value::String(id)) = members.get("$id") {
                    found.inner_bases |= !std::ptr::eq(value, root);
                    found.named.entry(id.clone()).or_insert(value);
                }
                // What stands in values is no schema.
                let schemas = members.iter().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str()));
                pending.extend(schemas.map(|(_, member)| member).rev());
            }
            Some(Value::Array(items)) => pending.extend(items.iter().rev()),
            Some(_) => {}
            None => break,
        }
    }
    found
}

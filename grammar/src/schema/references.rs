//! Resolves the references of a document.

use std::collections::HashMap;

use serde_json::Value;

/// At most so many values of a document are searched for anchors.
const SEARCHED: usize = 200_000;

/// The references of a document.
#[derive(Debug)]
pub(super) struct References<'s> {
    root: &'s Value,
    /// Schemas by anchor and id; collected at the first reference.
    anchors: Option<Anchors<'s>>,
}

impl<'s> References<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, anchors: None }
    }

    /// The schema that a reference refers to.
    pub(super) fn target(&mut self, reference: &str) -> Option<&'s Value> {
        let root = self.root;
        let anchors = self.anchors.get_or_insert_with(|| anchors(root));
        if anchors.inner_bases {
            // References inside a schema with an id of its own are relative to that id; these are not supported.
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
}

/// The value at a JSON pointer, which may be percent-encoded.
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
struct Anchors<'s> {
    /// Schemas by anchor, and the root by its id.
    named: HashMap<String, &'s Value>,
    /// Whether a schema inside the document has an id of its own.
    inner_bases: bool,
}

/// Keywords that contain values, not schemas. (A property with such a name is not searched either.)
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
                // Values are not searched: what looks like a schema there is none.
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

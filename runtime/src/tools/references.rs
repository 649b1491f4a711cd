//! Resolves the references of a JSON schema. The parser, grammars and generated types all ask here, so that they agree on
//! which schema a `$ref` names.
//!
//! Schemas are untrusted: only a limited part of a document is searched for anchors, and nothing here follows a reference
//! that a target contains. A chain of references may be a circle, so a caller counts how many it follows.

use std::borrow::Cow;

use serde_json::Value;

use super::members::member;
use crate::sorting::sort_by;

/// How many values of a document are searched for anchors.
const SEARCHED: usize = 200_000;

/// Keywords that contain values, not schemas. (A property with such a name is not searched either.)
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// Which schema each reference of a document names: `#`, `#/$defs/NAME`, the same with percent escapes (`#/%24defs/NAME`),
/// `#ANCHOR` of an `$anchor`, and any of these after the `$id` of the document.
///
/// ```
/// use serde_json::json;
/// use unjinja_runtime::References;
///
/// let schema = json!({"$defs": {"city": {"$anchor": "city", "type": "string"}}});
/// let references = References::of(&schema);
/// for name in ["#/$defs/city", "#/%24defs/city", "#city"] {
///     assert_eq!(references.target(&schema, name), Some(&schema["$defs"]["city"]), "{name}");
/// }
/// assert_eq!(references.target(&schema, "other.json#city"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct References {
    /// The references that name a schema by an anchor or an id, each with the pointer to it; ordered by the reference.
    named: Vec<(String, String)>,
    /// Whether a schema inside the document has an id of its own.
    inner_bases: bool,
}

/// A schema with its references.
pub(super) type Document<'s> = (&'s Value, &'s References);

impl References {
    /// The references of a document.
    pub fn of(root: &Value) -> Self {
        let mut search = Search { visited: Vec::new(), found: Self::default() };
        search.run(root);
        // The first schema with a name counts.
        sort_by(&mut search.found.named, |(one, _), (other, _)| one.cmp(other));
        search.found.named.dedup_by(|(later, _), (first, _)| later == first);
        search.found
    }

    /// The schema that a reference names; `None` if `root`, the document, has no such schema. References inside a document in
    /// which another schema has an `$id` of its own are relative to that id. This is not supported: nothing is found then.
    pub fn target<'s>(&self, root: &'s Value, reference: &str) -> Option<&'s Value> {
        root.pointer(&self.pointer(root, reference)?)
    }

    /// The JSON pointer to the schema that a reference names. Otherwise like [`target`](Self::target).
    pub fn pointer<'r>(&'r self, root: &Value, reference: &'r str) -> Option<Cow<'r, str>> {
        if self.inner_bases {
            return None;
        }
        let found = self.find(root, reference);
        found.or_else(|| Some(self.find(root, &unescaped(reference)?)?.into_owned().into()))
    }

    /// The same, without percent escapes.
    fn find<'r>(&'r self, root: &Value, reference: &'r str) -> Option<Cow<'r, str>> {
        if let Some(named) = self.named(reference) {
            return Some(Cow::Borrowed(named));
        }
        let (base, pointer) = reference.split_once('#')?;
        let is_pointer = pointer.is_empty() || pointer.starts_with('/');
        // Only the document itself has an id here.
        let in_document = base.is_empty() || self.named(base).is_some();
        if !in_document {
            return None;
        }
        if is_pointer {
            return root.pointer(pointer).map(|_| Cow::Borrowed(pointer));
        }
        self.named(reference.get(base.len()..)?).map(Cow::Borrowed)
    }

    fn named(&self, reference: &str) -> Option<&str> {
        let at = self.named.binary_search_by(|(name, _)| name.as_str().cmp(reference)).ok()?;
        Some(&self.named[at].1)
    }
}

/// A search for anchors and ids.
struct Search<'s> {
    /// The values that were visited or will be, each with the number of the value that contains it and its place there.
    visited: Vec<(usize, Place<'s>)>,
    found: References,
}

/// The place of a value in the value that contains it.
enum Place<'s> {
    Member(&'s str),
    Item(usize),
}

impl<'s> Search<'s> {
    fn run(&mut self, root: &'s Value) {
        let mut pending = vec![(root, 0)];
        self.visited.push((0, Place::Item(0)));
        for _ in 0..SEARCHED {
            match pending.pop() {
                Some((Value::Object(members), at)) => {
                    for keyword in ["$anchor", "$dynamicAnchor"] {
                        if let Some(Value::String(name)) = member(members, keyword) {
                            self.found.named.push((format!("#{name}"), self.pointer_of(at)));
                        }
                    }
                    if let Some(Value::String(id)) = member(members, "$id") {
                        self.found.inner_bases |= at != 0;
                        self.found.named.push((id.clone(), self.pointer_of(at)));
                    }
                    // Values are not searched: what looks like a schema there is not one.
                    let schemas = members.iter().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str()));
                    for (keyword, schema) in schemas.rev() {
                        self.visit(schema, at, Place::Member(keyword), &mut pending);
                    }
                }
                Some((Value::Array(items), at)) => {
                    for (index, item) in items.iter().enumerate().rev() {
                        self.visit(item, at, Place::Item(index), &mut pending);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
    }

    /// Plans to search a value that may contain schemas.
    fn visit(&mut self, value: &'s Value, within: usize, place: Place<'s>, pending: &mut Vec<(&'s Value, usize)>) {
        if matches!(value, Value::Object(_) | Value::Array(_)) {
            pending.push((value, self.visited.len()));
            self.visited.push((within, place));
        }
    }

    /// The JSON pointer to the value that was visited with this number.
    fn pointer_of(&self, mut at: usize) -> String {
        let mut places = Vec::new();
        while at != 0 {
            let (within, place) = &self.visited[at];
            places.push(place);
            at = *within;
        }
        let mut pointer = String::new();
        for place in places.iter().rev() {
            pointer.push('/');
            match place {
                Place::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
                Place::Item(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}

/// A reference without percent escapes; `None` if it has none, or if they are not valid.
fn unescaped(reference: &str) -> Option<String> {
    let mut parts = reference.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.as_bytes().split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest);
    }
    String::from_utf8(bytes).ok().filter(|text| text != reference)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_of_a_reference_leads_to_its_schema() {
        let root = json!({
            "$id": "https://example.org/tool",
            "$defs": {"a/b~c%d": {}, "x": [{"$anchor": "here"}], "é": {"$dynamicAnchor": "moves"}},
            "properties": {"$id": {"type": "string"}, "$anchor": {"type": "string"}},
            "enum": [{"$anchor": "value"}],
        });
        let references = References::of(&root);
        for (reference, pointer) in [
            ("#", Some("")),
            ("#/$defs/a~1b~0c%d", Some("/$defs/a~1b~0c%d")),
            ("#/$defs/a~1b~0c%25d", Some("/$defs/a~1b~0c%d")),
            ("#/%24defs/x", Some("/$defs/x")),
            ("#/%24defs/x/0", Some("/$defs/x/0")),
            ("#/$defs/%C3%A9", Some("/$defs/é")),
            ("#here", Some("/$defs/x/0")),
            ("#h%65re", Some("/$defs/x/0")),
            ("#moves", Some("/$defs/é")),
            ("https://example.org/tool", Some("")),
            ("https://example.org/tool#", Some("")),
            ("https://example.org/tool#here", Some("/$defs/x/0")),
            ("https://example.org/tool#/%24defs/x", Some("/$defs/x")),
            ("#there", None),
            ("#value", None),
            ("#/$defs/y", None),
            ("other.json#/$defs/x", None),
            ("other.json", None),
            ("#/%", None),
            ("#/%+4defs/x", None),
            ("#/%E9", None),
            ("", None),
        ] {
            assert_eq!(references.pointer(&root, reference).as_deref(), pointer, "{reference}");
            let target = pointer.and_then(|pointer| root.pointer(pointer));
            assert_eq!(references.target(&root, reference), target, "{reference}");
        }
    }

    #[test]
    fn the_first_schema_with_an_anchor_counts_and_inner_ids_leave_nothing_certain() {
        let twice = json!({"allOf": [{"$anchor": "a", "type": "null"}], "anyOf": [{"$anchor": "a"}]});
        assert_eq!(References::of(&twice).target(&twice, "#a"), Some(&twice["allOf"][0]));
        let inner = json!({"$defs": {"a": {"$id": "b", "$ref": "#/c"}}, "c": {}});
        assert_eq!(References::of(&inner).target(&inner, "#/c"), None);
    }

    #[test]
    fn only_a_limited_part_of_a_document_is_searched() {
        let mut items: Vec<Value> = vec![json!([]); SEARCHED];
        items.push(json!({"$anchor": "late"}));
        let root = json!({"a": {"$anchor": "early"}, "b": items});
        let references = References::of(&root);
        assert!(references.target(&root, "#early").is_some() && references.target(&root, "#late").is_none());
    }
}

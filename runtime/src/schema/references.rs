//! Which schema of a document a reference names.
//!
//! Schemas are untrusted: only a limited part of a document is searched for anchors, and nothing here follows a reference
//! that a target contains. A chain of references may be a circle, so a caller counts how many it follows.

use serde_json::Value;

use super::limits::{MAX_RESOURCES, MAX_SEARCHED};
use super::members::member;
use super::walk::Walk;

/// Keywords that contain values, not schemas. (A property with such a name is not searched either.)
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// Which schema each reference of a document names: `#`, `#/$defs/NAME`, the same with percent escapes (`#/%24defs/NAME`),
/// `#ANCHOR` of an `$anchor`, and any of these after the `$id` of a schema in the document.
///
/// A schema with an `$id` is a resource of its own: references in it are relative to that id. A reference does not say from
/// where it is looked up, so it names a schema only if a single resource of the document has one for it.
///
/// ```
/// use serde_json::json;
/// use unjinja_runtime::schema::References;
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
    /// The document, and the schemas in it that have an id: each with its id, which may be empty, and the pointer to it.
    resources: Vec<(String, String)>,
    /// The anchors, each with the number of its resource and the pointer to its schema; ordered by name.
    anchors: Vec<(String, usize, String)>,
}

impl References {
    /// The references of a document.
    pub fn of(root: &Value) -> Self {
        let found = Self { resources: vec![Default::default()], anchors: Vec::new() };
        let mut search = Search { walk: Walk::through(root), resource_of: vec![0], found };
        search.run();
        search.found.anchors.sort_unstable();
        search.found
    }

    /// The schema that a reference names; `None` if `root`, the document, has no such schema or several.
    pub fn target<'s>(&self, root: &'s Value, reference: &str) -> Option<&'s Value> {
        let find = |reference: &str| Some(self.find(root, reference)?.0);
        find(reference).or_else(|| find(&unescaped(reference)?))
    }

    /// The JSON pointer to the schema that a reference names. Otherwise like [`target`](Self::target).
    pub fn pointer(&self, root: &Value, reference: &str) -> Option<String> {
        let find = |reference: &str| Some(self.find(root, reference)?.1.concat());
        find(reference).or_else(|| find(&unescaped(reference)?))
    }

    /// The schema that a reference without percent escapes names, and the two halves of the pointer to it.
    fn find<'s, 'r>(&'r self, root: &'s Value, reference: &'r str) -> Option<(&'s Value, [&'r str; 2])> {
        if self.resources.len() > MAX_RESOURCES {
            return None;
        }
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut found = None;
        for (number, (id, at)) in self.resources.iter().enumerate() {
            if !is_named(id, base) {
                continue;
            }
            let halves = if fragment.is_empty() || fragment.starts_with('/') {
                [at.as_str(), fragment]
            } else if let Some(anchor) = self.anchor(fragment, number) {
                [anchor, ""]
            } else {
                continue;
            };
            if let Some(target) = root.pointer(halves[0]).and_then(|resource| resource.pointer(halves[1]))
                && found.replace((target, halves)).is_some()
            {
                return None;
            }
        }
        found
    }

    /// The pointer to the first schema of a resource that has this anchor.
    fn anchor(&self, name: &str, resource: usize) -> Option<&str> {
        let from = self.anchors.partition_point(|(known, ..)| known.as_str() < name);
        let mut same = self.anchors[from..].iter().take_while(|(known, ..)| known == name);
        same.find(|(_, of, _)| *of == resource).map(|(.., at)| at.as_str())
    }
}

/// Whether the part of a reference before `#` names the resource with this id.
fn is_named(id: &str, base: &str) -> bool {
    let relative = || !base.contains(':') && id.strip_suffix(base).is_some_and(|before| before.ends_with('/'));
    base.is_empty() || id == base || relative()
}

struct Search<'s> {
    walk: Walk<'s>,
    /// The number of the resource of each value, by the number of the value.
    resource_of: Vec<usize>,
    found: References,
}

impl Search<'_> {
    fn run(&mut self) {
        for _ in 0..MAX_SEARCHED {
            let Some((value, at)) = self.walk.next() else { break };
            if let Value::Object(members) = value {
                if let Some(Value::String(id)) = member(members, "$id") {
                    self.identify(id, at);
                }
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = member(members, keyword) {
                        self.anchor(name, at);
                    }
                }
            }
            // Values are not searched: what looks like a schema there is not one.
            self.walk.enter(value, at, &VALUES);
            self.resource_of.resize(self.walk.known(), self.resource_of[at]);
        }
    }

    /// Notes the `$id` of a value.
    fn identify(&mut self, id: &str, at: usize) {
        match id.split_once('#') {
            // An anchor in drafts before 2019-09.
            Some(("", name)) => self.anchor(name, at),
            _ if at == 0 => self.found.resources[0].0.push_str(without_fragment(id)),
            _ if self.found.resources.len() > MAX_RESOURCES => {}
            _ => {
                self.resource_of[at] = self.found.resources.len();
                self.found.resources.push((without_fragment(id).to_owned(), self.walk.pointer(at)));
            }
        }
    }

    fn anchor(&mut self, name: &str, at: usize) {
        self.found.anchors.push((name.to_owned(), self.resource_of[at], self.walk.pointer(at)));
    }
}

/// An id without `#` and what follows it.
fn without_fragment(id: &str) -> &str {
    id.split('#').next().unwrap_or(id)
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
            "$defs": {"a/b~c%d": {}, "x": [{"$anchor": "here"}], "é": {"$dynamicAnchor": "moves"}, "old": {"$id": "#old"}},
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
            ("tool", Some("")),
            ("tool#here", Some("/$defs/x/0")),
            ("ool", None),
            ("", Some("")),
            ("#old", Some("/$defs/old")),
        ] {
            assert_eq!(references.pointer(&root, reference).as_deref(), pointer, "{reference}");
            let target = pointer.and_then(|pointer| root.pointer(pointer));
            assert_eq!(references.target(&root, reference), target, "{reference}");
        }
    }

    #[test]
    fn the_first_schema_with_an_anchor_counts() {
        let twice = json!({"allOf": [{"$anchor": "a", "type": "null"}], "anyOf": [{"$anchor": "a"}]});
        assert_eq!(References::of(&twice).target(&twice, "#a"), Some(&twice["allOf"][0]));
    }

    #[test]
    fn a_reference_that_two_resources_have_a_schema_for_names_none() {
        let root = json!({
            "$id": "https://example.org/schemas/tool",
            "$defs": {
                "a": {"$id": "a", "$anchor": "here", "$defs": {"x": {}, "y": {"$anchor": "in_a"}}},
                "b": {"$id": "https://example.org/schemas/b#", "$anchor": "here", "$defs": {"x": {}}},
                "c": {"$anchor": "in_root"},
            },
        });
        let references = References::of(&root);
        for (reference, pointer) in [
            ("#", None),
            ("#here", None),
            ("#in_a", Some("/$defs/a/$defs/y")),
            ("#in_root", Some("/$defs/c")),
            ("#/$defs/x", None),
            ("#/$defs/y", Some("/$defs/a/$defs/y")),
            ("#/$defs/c", Some("/$defs/c")),
            ("a", Some("/$defs/a")),
            ("a#here", Some("/$defs/a")),
            ("a#/$defs/x", Some("/$defs/a/$defs/x")),
            ("b", Some("/$defs/b")),
            ("b#/%24defs/x", Some("/$defs/b/$defs/x")),
            ("https://example.org/schemas/b", Some("/$defs/b")),
            ("https://example.org/schemas/b#in_a", None),
            ("https://example.org/schemas/tool#in_root", Some("/$defs/c")),
            ("https://example.com/schemas/b", None),
        ] {
            assert_eq!(references.pointer(&root, reference).as_deref(), pointer, "{reference}");
        }
    }

    #[test]
    fn only_a_limited_part_of_a_document_is_searched() {
        let mut items: Vec<Value> = vec![json!([]); MAX_SEARCHED];
        items.push(json!({"$anchor": "late"}));
        let root = json!({"a": {"$anchor": "early"}, "b": items});
        let references = References::of(&root);
        assert!(references.target(&root, "#early").is_some() && references.target(&root, "#late").is_none());
        let resources: Vec<Value> = (0..2 * MAX_RESOURCES).map(|at| json!({"$id": format!("r{at}")})).collect();
        let root = json!({"$defs": resources});
        assert_eq!(References::of(&root).target(&root, "r0"), None);
    }
}

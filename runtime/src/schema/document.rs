//! The resolver: which schemas speak about the same value. A schema does so with its own keywords, through the references in it,
//! and through the schemas that it combines.

use serde_json::{Map, Value};

use super::limits::MAX_SCHEMAS;
use super::members::member;
use super::references::References;

/// The keywords whose value names another schema. In one document a dynamic reference names the same schema as `$ref` would.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The keyword with this name, if its value names another schema.
pub fn reference_keyword(name: &str) -> Option<&'static str> {
    REFERENCES.into_iter().find(|keyword| *keyword == name)
}

/// A JSON schema in which references are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Document<'s, 'r> {
    root: &'s Value,
    references: &'r References,
}

/// A reference in a schema.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'s> {
    /// The keyword.
    pub keyword: &'static str,
    /// The text of the reference; empty if it is not a text.
    pub name: &'s str,
    /// The schema that it names. `None` if the document has no such schema.
    pub target: Option<&'s Value>,
}

impl<'s, 'r> Document<'s, 'r> {
    /// A schema with [its references](References::of).
    pub fn new(root: &'s Value, references: &'r References) -> Self {
        Self { root, references }
    }

    /// What a keyword with this value refers to.
    pub fn reference(self, keyword: &'static str, value: &'s Value) -> Reference<'s> {
        let name = value.as_str();
        let target = name.and_then(|name| self.references.target(self.root, name));
        Reference { keyword, name: name.unwrap_or_default(), target }
    }

    /// The references of one schema of this document. Those of the schemas that it names are not followed.
    pub fn references_of(self, schema: &'s Map<String, Value>) -> impl Iterator<Item = Reference<'s>> {
        REFERENCES.into_iter().filter_map(move |keyword| Some(self.reference(keyword, member(schema, keyword)?)))
    }

    /// The schemas that a value must fit to fit this one: itself, those that its references name, and those in `allOf`. Each
    /// schema that references name comes once.
    ///
    /// ```
    /// use serde_json::json;
    /// use unjinja_runtime::schema::{Document, References};
    ///
    /// let root = json!({
    ///     "$ref": "#/$defs/place",
    ///     "$defs": {"place": {"allOf": [{"$ref": "#"}, {"required": ["city"]}]}},
    /// });
    /// let references = References::of(&root);
    /// let all = Document::new(&root, &references).conjuncts(&root);
    /// assert_eq!(all.filter(|subschema| subschema.schema.contains_key("required")).count(), 1);
    /// ```
    pub fn conjuncts(self, schema: &'s Value) -> Subschemas<'s, 'r> {
        Subschemas {
            document: self,
            start: schema,
            is_new: true,
            last: None,
            open: Vec::new(),
            followed: Vec::new(),
            alternatives: false,
            left: MAX_SCHEMAS,
        }
    }

    /// The same, and the alternatives of these schemas: in `anyOf`, `oneOf`, `then` and `else`.
    pub fn subschemas(self, schema: &'s Value) -> Subschemas<'s, 'r> {
        Subschemas { alternatives: true, ..self.conjuncts(schema) }
    }
}

/// How a schema takes part in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A value that fits the whole fits this schema.
    Always,
    /// This schema is an alternative, or a part of one.
    Alternative,
}

/// A schema that speaks about the same value as another one.
#[derive(Clone, Copy, Debug)]
pub struct Subschema<'s> {
    /// The schema.
    pub schema: &'s Map<String, Value>,
    /// How it takes part.
    pub role: Role,
}

/// Schemas that speak about the same value: each one before those that it refers to or combines.
#[derive(Debug)]
pub struct Subschemas<'s, 'r> {
    document: Document<'s, 'r>,
    start: &'s Value,
    /// Whether the start is still to come. Most schemas refer to nothing and combine nothing, so that `open` takes no memory.
    is_new: bool,
    /// The schema that came last. What it refers to is looked up when the next one is asked for: often none is.
    last: Option<Subschema<'s>>,
    /// Schemas that come later, the next one last.
    open: Vec<(&'s Value, Role)>,
    /// The schemas that references named.
    followed: Vec<&'s Value>,
    alternatives: bool,
    /// How many more schemas may come.
    left: usize,
}

impl<'s> Subschemas<'s, '_> {
    /// Whether schemas are missing because there are too many.
    pub fn is_cut_short(&self) -> bool {
        self.left == 0
    }

    /// Plans to visit what a schema refers to and combines.
    fn plan(&mut self, Subschema { schema, role }: Subschema<'s>) {
        let from = self.open.len();
        for target in self.document.references_of(schema).filter_map(|reference| reference.target) {
            let is_known = |known: &&Value| std::ptr::eq(*known, target);
            if !is_known(&self.start) && !self.followed.iter().any(is_known) {
                self.followed.push(target);
                self.open.push((target, role));
            }
        }
        for (keyword, role) in [("allOf", role), ("anyOf", Role::Alternative), ("oneOf", Role::Alternative)] {
            if (keyword == "allOf" || self.alternatives)
                && let Some(Value::Array(parts)) = member(schema, keyword)
            {
                self.open.extend(parts.iter().map(|part| (part, role)));
            }
        }
        if self.alternatives {
            let branches = ["then", "else"].into_iter().filter_map(|keyword| member(schema, keyword));
            self.open.extend(branches.map(|part| (part, Role::Alternative)));
        }
        self.open[from..].reverse();
    }
}

impl<'s> Iterator for Subschemas<'s, '_> {
    type Item = Subschema<'s>;

    #[inline(never)]
    fn next(&mut self) -> Option<Subschema<'s>> {
        if let Some(last) = self.last.take() {
            self.plan(last);
        }
        loop {
            let (value, role) = match std::mem::take(&mut self.is_new) {
                true => (self.start, Role::Always),
                false => self.open.pop()?,
            };
            if let Value::Object(schema) = value {
                self.left = self.left.checked_sub(1)?;
                self.last = Some(Subschema { schema, role });
                return self.last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The titles of the subschemas, with those that are alternatives in brackets.
    fn titles(root: &Value) -> (Vec<String>, bool) {
        let references = References::of(root);
        let mut subschemas = Document::new(root, &references).subschemas(root);
        let mut titles = Vec::new();
        for subschema in &mut subschemas {
            let title = subschema.schema.get("title").and_then(Value::as_str).unwrap_or_default();
            let mut references = Document::new(root, &references).references_of(subschema.schema);
            let dangling =
                references.find(|reference| reference.target.is_none()).map_or("", |reference| reference.name);
            titles.push(match subschema.role {
                Role::Always => format!("{title}{dangling}"),
                Role::Alternative => format!("({title}{dangling})"),
            });
        }
        (titles, subschemas.is_cut_short())
    }

    #[test]
    fn subschemas_come_in_order_each_once() {
        let root = json!({
            "title": "root",
            "else": {"title": "else"},
            "oneOf": [{"title": "one", "$ref": "#/$defs/b"}],
            "anyOf": [{"title": "any", "allOf": [{"title": "all in any"}]}, true],
            "allOf": [{"title": "all", "$dynamicRef": "#a"}, {"title": "all 2", "$recursiveRef": "#"}, 3],
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"title": "a", "$dynamicAnchor": "a", "$ref": "#/$defs/none"},
                "b": {"title": "b", "allOf": [{"$ref": "#/$defs/b"}]},
            },
        });
        let expected =
            ["root", "a#/$defs/none", "all", "all 2", "(any)", "(all in any)", "(one)", "(b)", "()", "(else)"];
        assert_eq!(titles(&root), (expected.map(str::to_owned).to_vec(), false));
        let references = References::of(&root);
        let all = Document::new(&root, &references).conjuncts(&root);
        assert!(all.map(|subschema| subschema.role).eq([Role::Always; 4]));
    }

    #[test]
    fn too_many_parts_are_cut_short() {
        let exactly = |count: usize| json!({"allOf": vec![json!({}); count - 1]});
        for (count, cut) in [(1, false), (MAX_SCHEMAS - 1, false), (MAX_SCHEMAS + 1, true), (3 * MAX_SCHEMAS, true)] {
            let (found, is_cut) = titles(&exactly(count));
            assert_eq!((found.len(), is_cut), (count.min(MAX_SCHEMAS), cut), "{count}");
        }
    }
}

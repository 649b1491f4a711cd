//! Finds the JSON types that a tool's schema allows for each argument.
//!
//! Schemas are untrusted: references may go in circles, and alternatives may multiply. Each schema is analysed within a
//! budget. If the budget is used up the type is unknown, which is always safe.

use serde_json::{Map, Value};

use super::document::Document;
use super::limits::{MAX_DEPTH, MAX_SCHEMAS};
use super::members::member;
use super::references::References;
use super::types::Types;

#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// Ordered by name.
    named: Vec<(String, Types)>,
    /// The type of arguments that the schema does not name.
    others: Types,
    references: References,
}

impl Arguments {
    /// Analyses the schema of an arguments object.
    pub(crate) fn of(parameters: &Value) -> Self {
        let references = References::of(parameters);
        let document = Document::new(parameters, &references);
        let (mut found, mut resolver) = (Self::default(), Resolver::new(document));
        for subschema in document.subschemas(parameters) {
            found.add(subschema.schema, &mut resolver);
        }
        found.references = references;
        found
    }

    fn add<'s>(&mut self, schema: &'s Map<String, Value>, resolver: &mut Resolver<'s, '_>) {
        if let Some(Value::Object(properties)) = member(schema, "properties") {
            for (name, property) in properties {
                let types = resolver.types(property);
                match self.find(name) {
                    Ok(at) => self.named[at].1 = either(self.named[at].1, types),
                    Err(at) => self.named.insert(at, (name.clone(), types)),
                }
            }
        }
        if let Some(others @ Value::Object(_)) = member(schema, "additionalProperties")
            && member(schema, "patternProperties").is_none()
            && self.others.is_unknown()
        {
            self.others = resolver.types(others);
        }
    }

    pub(crate) fn types(&self, argument: &str) -> Types {
        self.find(argument).map_or(self.others, |at| self.named[at].1)
    }

    /// Whether the schema names an argument, or names none at all.
    pub(crate) fn may_have(&self, argument: &str) -> bool {
        self.named.is_empty() || self.find(argument).is_ok()
    }

    pub(crate) fn names(&self, argument: &str) -> bool {
        self.find(argument).is_ok()
    }

    /// Whether the schema names an argument that begins with this text.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let (Ok(at) | Err(at)) = self.named.binary_search_by(|(name, _)| name.as_bytes().cmp(text));
        self.named.get(at).is_some_and(|(name, _)| name.as_bytes().starts_with(text))
    }

    /// Whether the schema has a place for an argument: names it, says what others are, or names none at all.
    pub(crate) fn has_place_for(&self, argument: &str) -> bool {
        self.may_have(argument) || self.others != Types::UNKNOWN
    }

    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// The position of a name, or the one where it has to be inserted.
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.named.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

/// The types that a schema of a document allows.
pub(super) fn types_at<'s>(document: Document<'s, 's>, schema: &'s Value) -> Types {
    Resolver::new(document).types(schema)
}

struct Resolver<'s, 'r> {
    document: Document<'s, 'r>,
    /// The references that are being followed, so that none is followed inside itself.
    path: Vec<&'s str>,
    /// The maximum number of further schemas.
    budget: usize,
}

/// The types that one schema allows; `None` if it does not say.
type Says = Option<Types>;

impl<'s, 'r> Resolver<'s, 'r> {
    fn new(document: Document<'s, 'r>) -> Self {
        Self { document, path: Vec::new(), budget: MAX_SCHEMAS }
    }

    fn types(&mut self, schema: &'s Value) -> Types {
        self.resolve(schema).filter(|&types| types != Types::ANY).unwrap_or(Types::UNKNOWN)
    }

    fn resolve(&mut self, value: &'s Value) -> Says {
        let schema = value.as_object()?;
        if !self.spend() {
            return None;
        }
        let mut says = member(schema, "type").and_then(declared);
        if let Some(Value::Array(values)) = member(schema, "enum") {
            says = both(says, union(values.iter().map(|value| Some(type_of(value)))));
        }
        if let Some(value) = member(schema, "const") {
            says = both(says, Some(type_of(value)));
        }
        for reference in self.document.references_of(schema) {
            if let Some(target) = reference.target.filter(|_| !self.path.contains(&reference.name)) {
                self.path.push(reference.name);
                says = both(says, self.resolve(target));
                self.path.pop();
            }
        }
        // Most schemas combine nothing. The path stays empty then, and nothing is allocated.
        let combines = ["anyOf", "oneOf", "allOf"].into_iter().any(|key| member(schema, key).is_some());
        if combines {
            self.path.push("");
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = member(schema, key) {
                let parts: Vec<Says> = parts.iter().filter_map(|part| self.alternative(part)).collect();
                says = both(says, union(parts.into_iter()));
            }
        }
        if let Some(Value::Array(parts)) = member(schema, "allOf") {
            for part in parts {
                let part = self.resolve(part);
                says = both(says, part);
            }
        }
        if combines {
            self.path.pop();
        }
        match member(schema, "nullable") {
            Some(Value::Bool(true)) => says.map(|types| types | Types::NULL),
            _ => says,
        }
    }

    /// The types of an alternative. An alternative that leads back to itself adds nothing.
    fn alternative(&mut self, schema: &'s Value) -> Option<Says> {
        let mut references = schema.as_object().into_iter().flat_map(|schema| self.document.references_of(schema));
        let circular = references.any(|reference| self.path.contains(&reference.name));
        (!circular && schema != &Value::Bool(false)).then(|| self.resolve(schema))
    }

    /// Charges the budget with one schema. Returns whether that schema may be read.
    fn spend(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0 && self.path.len() < MAX_DEPTH
    }
}

/// The types that the keyword `type` names: one name or a list of names.
pub fn declared(value: &Value) -> Option<Types> {
    match value {
        Value::String(name) => named(name),
        Value::Array(names) => union(names.iter().map(|name| name.as_str().and_then(named))),
        _ => None,
    }
}

/// The type with that name. Names that are usual in other languages are understood as well.
fn named(name: &str) -> Says {
    const NAMES: [(&[&str], Types); 7] = [
        (&["string", "str"], Types::STRING),
        (&["integer", "int"], Types::INTEGER),
        (&["number", "float", "double"], Types::NUMBER),
        (&["boolean", "bool"], Types::BOOLEAN),
        (&["null", "none"], Types::NULL),
        (&["object", "dict"], Types::OBJECT),
        (&["array", "list", "tuple"], Types::ARRAY),
    ];
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    NAMES.into_iter().find(|(names, _)| is(names)).map(|(_, types)| types)
}

/// The type of a value.
pub fn type_of(value: &Value) -> Types {
    match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(number) if number.is_f64() => Types::NUMBER,
        Value::Number(_) => Types::INTEGER,
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    }
}

/// Any of these. If one is unknown, all together are.
fn union(mut parts: impl Iterator<Item = Says>) -> Says {
    let first = parts.next()??;
    parts.try_fold(first, |types, part| Some(types | part?))
}

/// Both of these. If they exclude each other, the first one counts.
fn both(first: Says, second: Says) -> Says {
    match (first, second) {
        (Some(first), Some(second)) if first.intersects(second) => Some(first & second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

/// Two schemas for the same argument, from two alternatives for the whole object.
fn either(first: Types, second: Types) -> Types {
    if first.is_unknown() || second.is_unknown() { Types::UNKNOWN } else { first | second }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn types(schema: Value) -> Types {
        let parameters = json!({"type": "object", "properties": {"a": schema}, "$defs": {
            "Text": {"type": "string"},
            "Loop": {"$ref": "#/$defs/Loop"},
            "Tree": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Tree"}]},
            "Odd/Name": {"type": "boolean"},
            "Named": {"$anchor": "named", "type": "string"},
            "Ping": {"$ref": "#/$defs/Pong"},
            "Pong": {"anyOf": [{"$ref": "#/$defs/Ping"}, {"type": "null"}]},
        }, "definitions": {"Old": {"type": "array"}}});
        Arguments::of(&parameters).types("a")
    }

    #[test]
    fn resolves_what_schemas_say() {
        for (schema, expected) in [
            (json!({"type": "string"}), Types::STRING),
            (json!({"type": "STRING"}), Types::STRING),
            (json!({"type": "float"}), Types::NUMBER),
            (json!({"type": ["null", "integer"]}), Types::NULL | Types::INTEGER),
            (json!({"type": ["string", "null"], "enum": ["a", "b"]}), Types::STRING),
            (json!({"type": "string", "enum": [1]}), Types::STRING),
            (json!({"enum": ["a", 1, null]}), Types::STRING | Types::INTEGER | Types::NULL),
            (json!({"enum": []}), Types::UNKNOWN),
            (json!({"const": 1.5}), Types::NUMBER),
            (json!({"const": true}), Types::BOOLEAN),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), Types::STRING | Types::NULL),
            (json!({"oneOf": [{"type": "string"}, {"enum": [[1]]}]}), Types::STRING | Types::ARRAY),
            (json!({"anyOf": [{"type": "string"}, {}]}), Types::UNKNOWN),
            (json!({"anyOf": [{"type": "string"}, true]}), Types::UNKNOWN),
            (json!({"anyOf": [{"type": "string"}, false]}), Types::STRING),
            (json!({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]}), Types::INTEGER),
            (json!({"allOf": [{"type": "number"}, {"type": "integer"}]}), Types::INTEGER),
            (json!({"allOf": [{"minLength": 1}, {"$ref": "#/$defs/Text"}]}), Types::STRING),
            (json!({"$ref": "#/$defs/Text"}), Types::STRING),
            (json!({"$ref": "#/definitions/Old"}), Types::ARRAY),
            (json!({"$ref": "#/$defs/Odd~1Name"}), Types::BOOLEAN),
            (json!({"$ref": "#/%24defs/Text"}), Types::STRING),
            (json!({"$ref": "#named"}), Types::STRING),
            (json!({"$dynamicRef": "#named"}), Types::STRING),
            (json!({"$recursiveRef": "#"}), Types::OBJECT),
            (json!({"$ref": "#/$defs/None", "$dynamicRef": "#named"}), Types::STRING),
            (json!({"$ref": "#/$defs/Loop"}), Types::UNKNOWN),
            (json!({"$ref": "#/$defs/Tree"}), Types::INTEGER),
            (json!({"$ref": "#/$defs/Ping"}), Types::NULL),
            (json!({"$ref": "#/$defs/None"}), Types::UNKNOWN),
            (json!({"$ref": "other.json#/x"}), Types::UNKNOWN),
            (json!({"$ref": "#"}), Types::OBJECT),
            (json!({"type": "string", "nullable": true}), Types::STRING | Types::NULL),
            (json!({"nullable": true}), Types::UNKNOWN),
            (json!({}), Types::UNKNOWN),
            (json!(true), Types::UNKNOWN),
            (json!({"type": "whatever"}), Types::UNKNOWN),
            (json!({"type": 3}), Types::UNKNOWN),
            (json!({"type": ["string", "number", "boolean", "null", "object", "array"]}), Types::UNKNOWN),
        ] {
            assert_eq!(types(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn finds_the_properties_wherever_they_stand() {
        for (parameters, expected) in [
            (json!({"additionalProperties": {"type": "integer"}}), Types::INTEGER),
            (json!({"additionalProperties": {"type": "integer"}, "patternProperties": {"b": {}}}), Types::UNKNOWN),
            (json!({"additionalProperties": false}), Types::UNKNOWN),
            (json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "null"}}}}}), Types::NULL),
            (json!({"allOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["a"]}]}), Types::NULL),
            (
                json!({"oneOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"a": {"type": "string"}}}]}),
                Types::NULL | Types::STRING,
            ),
            (json!({"if": {}, "then": {"properties": {"a": {"type": "array"}}}}), Types::ARRAY),
            (json!({"allOf": [{"$ref": "#"}], "properties": {"a": {"type": "array"}}}), Types::ARRAY),
            (json!("nonsense"), Types::UNKNOWN),
            (Value::Null, Types::UNKNOWN),
        ] {
            assert_eq!(Arguments::of(&parameters).types("a"), expected, "{parameters}");
        }
    }

    #[test]
    fn a_hostile_schema_ends() {
        let mut defs = Map::new();
        for at in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            defs.insert(format!("d{at}"), json!({"anyOf": [next, next, next], "properties": {"a": next}}));
        }
        let parameters = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert_eq!(Arguments::of(&parameters).types("a"), Types::UNKNOWN);
        let wrap = |key: &str, value: Value| Value::Object(Map::from_iter([(key.to_owned(), value)]));
        let mut deep = json!({"type": "string"});
        for _ in 0..100_000 {
            deep = wrap("anyOf", Value::Array(vec![deep]));
        }
        let parameters = wrap("properties", wrap("a", deep));
        assert_eq!(Arguments::of(&parameters).types("a"), Types::UNKNOWN);
        // Dropping such a deep value would recurse inside serde_json.
        std::mem::forget(parameters);
    }
}

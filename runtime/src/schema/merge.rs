//! Schemas with `allOf`: the one schema that they amount to, if that is simple.

use std::fmt;

use serde_json::{Map, Value};

use super::document::{Document, reference_keyword};
use super::limits::MAX_DEPTH;

/// Keywords that say which values fit in a way that a Rust type can follow, apart from references. Other keywords are
/// annotations and limits.
const SHAPES: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "nullable",
];

/// Why the parts of a schema are not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmerged {
    /// Only objects with members are merged, and a part has this keyword.
    Keyword(&'static str),
    /// A reference names no schema of the document.
    Dangling,
    /// A part is `false`, or is not a schema.
    NoSchema,
    /// There are too many parts, or they are nested too deeply.
    TooLarge,
}

impl fmt::Display for Unmerged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyword(keyword) => write!(out, "`{keyword}` cannot be merged with other schemas"),
            Self::Dangling => out.write_str("a reference leads to no schema of the document"),
            Self::NoSchema => out.write_str("a part of `allOf` is not an object"),
            Self::TooLarge => out.write_str("`allOf` is too large or nested too deeply"),
        }
    }
}

impl std::error::Error for Unmerged {}

/// Whether a schema shapes the value beyond its references.
pub fn is_shaped_beyond_its_reference(schema: &Map<String, Value>) -> bool {
    SHAPES.iter().any(|&keyword| schema.contains_key(keyword))
}

/// One schema without `allOf` for the values that fit all parts of this one.
///
/// If one part only shapes the value, it is that part, and a reference stays a reference. Else all parts are objects:
/// `properties` and `required` are joined, and a member that several parts describe has an `allOf` of these descriptions.
/// `additionalProperties: false` of a part is dropped: it would exclude the members of the others, which nobody means.
///
/// ```
/// use serde_json::json;
/// use unjinja_runtime::schema::{Document, References, merged};
///
/// let root = json!({
///     "allOf": [{"$ref": "#/$defs/place"}, {"properties": {"days": {"type": "integer"}}}],
///     "$defs": {"place": {"properties": {"city": {"type": "string"}}, "required": ["city"]}},
/// });
/// let references = References::of(&root);
/// let merged = merged(Document::new(&root, &references), &root)?;
/// let properties = json!({"city": {"type": "string"}, "days": {"type": "integer"}});
/// assert_eq!(merged, json!({"type": "object", "properties": properties, "required": ["city"]}));
/// # Ok::<(), unjinja_runtime::schema::Unmerged>(())
/// ```
///
/// # Errors
/// The parts are more than the members of one object.
pub fn merged<'s>(document: Document<'s, '_>, schema: &'s Value) -> Result<Value, Unmerged> {
    let mut own = Vec::new();
    collect(schema, &mut own, MAX_DEPTH)?;
    if let [only] = own.as_slice() {
        return Ok(Value::Object(only.clone()));
    }
    let mut merged = Map::new();
    let mut subschemas = document.conjuncts(schema);
    for subschema in &mut subschemas {
        if document.references_of(subschema.schema).any(|reference| reference.target.is_none()) {
            return Err(Unmerged::Dangling);
        }
        add(subschema.schema, &mut merged)?;
    }
    if subschemas.is_cut_short() {
        return Err(Unmerged::TooLarge);
    }
    merged.insert("type".to_owned(), "object".into());
    Ok(Value::Object(merged))
}

/// The parts that shape the value: the schema itself, its reference if it has other shapes as well, and those in `allOf`.
fn collect(schema: &Value, parts: &mut Vec<Map<String, Value>>, depth: usize) -> Result<(), Unmerged> {
    let depth = depth.checked_sub(1).ok_or(Unmerged::TooLarge)?;
    let Value::Object(schema) = schema else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(Unmerged::NoSchema) };
    };
    let (mut own, mut references) = (Map::new(), Map::new());
    for (keyword, value) in schema.iter().filter(|(keyword, _)| *keyword != "allOf") {
        let is_reference = reference_keyword(keyword).is_some();
        if is_reference { &mut references } else { &mut own }.insert(keyword.clone(), value.clone());
    }
    if is_shaped_beyond_its_reference(&own) {
        parts.extend((!references.is_empty()).then_some(references));
        parts.push(own);
    } else if !references.is_empty() {
        own.extend(references);
        parts.push(own);
    }
    let all = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    all.into_iter().try_for_each(|part| collect(part, parts, depth))
}

/// Adds the members of an object's schema to another one.
fn add(part: &Map<String, Value>, merged: &mut Map<String, Value>) -> Result<(), Unmerged> {
    for (key, value) in part {
        let refuse = || SHAPES.into_iter().find(|shape| shape == key).map_or(Ok(()), |key| Err(Unmerged::Keyword(key)));
        match (key.as_str(), value) {
            ("type", value) if value == "object" => {}
            ("allOf", Value::Array(parts)) => {
                if parts.iter().any(|part| !part.is_object() && part != &Value::Bool(true)) {
                    return Err(Unmerged::NoSchema);
                }
            }
            ("properties", Value::Object(members)) => {
                let known = merged.entry("properties").or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(known) = known else { return refuse() };
                for (name, schema) in members {
                    match known.get_mut(name) {
                        None => _ = known.insert(name.clone(), schema.clone()),
                        Some(other) if other == schema => {}
                        Some(other) => {
                            let both = vec![other.take(), schema.clone()];
                            *other = Value::Object(Map::from_iter([("allOf".to_owned(), Value::Array(both))]));
                        }
                    }
                }
            }
            ("required", Value::Array(names)) => {
                let known = merged.entry("required").or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(known) = known else { return refuse() };
                known.extend(names.iter().cloned());
            }
            ("additionalProperties", Value::Bool(_)) => {}
            ("description" | "default", value) => _ = merged.entry(key).or_insert_with(|| value.clone()),
            _ => refuse()?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::references::References;
    use super::*;

    fn of(schema: &Value) -> Result<Value, Unmerged> {
        let doubled: Map<String, Value> = (0..40)
            .map(|at| {
                let next = json!({"$ref": format!("#/$defs/doubled{}", at + 1)});
                (format!("doubled{at}"), json!({"allOf": [next, next], "properties": {"a": {}}}))
            })
            .collect();
        let mut root = json!({"$defs": {
            "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "circle": {"allOf": [{"$ref": "#/$defs/circle"}, {"properties": {"x": true}}]},
            "doubled40": true,
        }});
        root["$defs"].as_object_mut().expect("an object").extend(doubled);
        merged(Document::new(&root, &References::of(&root)), schema)
    }

    #[test]
    fn one_part_stays_what_it_is() {
        let schema = json!({"description": "where", "allOf": [{"$ref": "#/$defs/place"}]});
        assert_eq!(of(&schema), Ok(json!({"$ref": "#/$defs/place"})));
        assert_eq!(of(&json!({"type": "string", "allOf": [{"minLength": 2}]})), Ok(json!({"type": "string"})));
    }

    #[test]
    fn objects_become_one_object() {
        let schema = json!({
            "properties": {"days": {"type": "integer"}, "city": {"minLength": 1}},
            "required": ["days"],
            "allOf": [{"$ref": "#/$defs/place"}, {"allOf": [{"properties": {"x": true}, "additionalProperties": false}]}],
        });
        let city = json!({"allOf": [{"minLength": 1}, {"type": "string"}]});
        let expected = json!({
            "type": "object",
            "properties": {"days": {"type": "integer"}, "city": city, "x": true},
            "required": ["days", "city"],
        });
        assert_eq!(of(&schema), Ok(expected));
        let with_reference = of(&json!({"$ref": "#/$defs/place", "properties": {"x": true}}));
        assert_eq!(
            with_reference.map(|merged| merged["properties"].clone()),
            Ok(json!({"x": true, "city": {"type": "string"}}))
        );
        let circle = of(&json!({"properties": {}, "allOf": [{"$ref": "#/$defs/circle"}]}));
        assert_eq!(circle, Ok(json!({"type": "object", "properties": {"x": true}})));
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        let mut deep = json!({"properties": {}});
        for _ in 0..MAX_DEPTH {
            deep = json!({"allOf": [deep, {"properties": {}}]});
        }
        for (schema, expected) in [
            (json!({"type": "string", "allOf": [{"enum": ["a"]}]}), Unmerged::Keyword("type")),
            (json!({"properties": {}, "allOf": [{"enum": ["a"]}]}), Unmerged::Keyword("enum")),
            (json!({"properties": 1, "allOf": [{"required": []}]}), Unmerged::Keyword("properties")),
            (json!({"properties": {}, "allOf": [{"$ref": "#/$defs/nothing"}]}), Unmerged::Dangling),
            (json!({"properties": {}, "allOf": [false]}), Unmerged::NoSchema),
            (deep, Unmerged::TooLarge),
        ] {
            assert_eq!(of(&schema), Err(expected), "{schema}");
        }
    }

    /// Forty schemas, each of which names the next one twice.
    #[test]
    fn a_schema_that_is_named_often_is_read_once() {
        let merged = of(&json!({"properties": {}, "allOf": [{"$ref": "#/$defs/doubled0"}]}));
        assert_eq!(merged, Ok(json!({"type": "object", "properties": {"a": {}}})));
    }
}

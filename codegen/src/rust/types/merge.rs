//! Schemas with `allOf`: the one schema that they amount to, if that is simple.

use serde_json::{Map, Value};
use unjinja_runtime::References;

/// Keywords that say which values fit in a way that a Rust type can follow. Other keywords are annotations and limits.
const SHAPES: [&str; 12] = [
    "$ref",
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
/// How deep `allOf` and references in it may nest.
const DEPTH: usize = 32;

/// Whether a schema says more than a reference next to it.
pub(super) fn says_more_than_its_reference(schema: &Map<String, Value>) -> bool {
    SHAPES.iter().any(|&key| key != "$ref" && schema.contains_key(key))
}

/// One schema without `allOf` that is fulfilled by what fulfils all parts of this one. `None` if the parts are more than
/// the members of one object.
pub(super) fn all_of(root: &Value, references: &References, schema: &Map<String, Value>) -> Option<Value> {
    let mut parts = Vec::new();
    collect(schema, &mut parts, DEPTH)?;
    // One part that says something, and descriptions around it. A reference stays one, so its type keeps its name.
    if let [only] = parts.as_slice() {
        return Some(Value::Object(only.clone()));
    }
    let mut merged = Map::new();
    for part in &parts {
        add((root, references), part, &mut merged, DEPTH)?;
    }
    merged.insert("type".to_owned(), "object".into());
    Some(Value::Object(merged))
}

/// The parts that say something about the value: the schema itself and those in `allOf`.
fn collect(schema: &Map<String, Value>, parts: &mut Vec<Map<String, Value>>, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let mut own = schema.clone();
    let all = own.remove("allOf");
    let reference = own.contains_key("$ref") && says_more_than_its_reference(&own);
    if let Some(target) = own.remove("$ref").filter(|_| reference) {
        parts.push(Map::from_iter([("$ref".to_owned(), target)]));
    } else if let Some(target) = schema.get("$ref") {
        own.insert("$ref".to_owned(), target.clone());
    }
    if SHAPES.iter().any(|&key| own.contains_key(key)) {
        parts.push(own);
    }
    for part in all.as_ref().and_then(Value::as_array).into_iter().flatten() {
        match part {
            Value::Object(part) => collect(part, parts, depth)?,
            Value::Bool(true) => {}
            _ => return None,
        }
    }
    Some(())
}

/// Adds the members of an object's schema to another one.
fn add(
    document: (&Value, &References),
    part: &Map<String, Value>,
    merged: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    let (root, references) = document;
    let depth = depth.checked_sub(1)?;
    for (key, value) in part {
        match key.as_str() {
            "type" if value == "object" => {}
            "$ref" => {
                let target = references.target(root, value.as_str()?)?.as_object()?;
                let mut parts = Vec::new();
                collect(target, &mut parts, depth)?;
                for part in &parts {
                    add(document, part, merged, depth)?;
                }
            }
            "properties" => {
                let properties =
                    merged.entry("properties").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
                for (name, schema) in value.as_object()? {
                    if properties.get(name).is_some_and(|known| known != schema) {
                        return None;
                    }
                    properties.insert(name.clone(), schema.clone());
                }
            }
            "required" => {
                let names = merged.entry("required").or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?;
                names.extend(value.as_array()?.iter().cloned());
            }
            // A part that is closed would exclude the members of the others, which nobody means.
            "additionalProperties" if value.is_boolean() => {}
            "description" | "default" => {
                merged.entry(key).or_insert_with(|| value.clone());
            }
            key if SHAPES.contains(&key) => return None,
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(schema: Value) -> Option<Value> {
        let root = json!({"$defs": {
            "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "circle": {"allOf": [{"$ref": "#/$defs/circle"}, {"properties": {}}]},
        }});
        all_of(&root, &References::of(&root), schema.as_object().unwrap())
    }

    #[test]
    fn one_part_stays_what_it_is() {
        let schema = json!({"description": "where", "allOf": [{"$ref": "#/$defs/place"}]});
        assert_eq!(merged(schema), Some(json!({"$ref": "#/$defs/place"})));
        assert_eq!(merged(json!({"type": "string", "allOf": [{"minLength": 2}]})), Some(json!({"type": "string"})));
    }

    #[test]
    fn objects_become_one_object() {
        let schema = json!({
            "properties": {"days": {"type": "integer"}},
            "required": ["days"],
            "allOf": [{"$ref": "#/$defs/place"}, {"allOf": [{"properties": {"x": true}, "additionalProperties": false}]}],
        });
        let expected = json!({
            "type": "object",
            "properties": {"days": {"type": "integer"}, "city": {"type": "string"}, "x": true},
            "required": ["days", "city"],
        });
        assert_eq!(merged(schema), Some(expected));
        let both = json!({"$ref": "#/$defs/place", "properties": {"x": true}});
        assert_eq!(merged(both).unwrap()["properties"], json!({"city": {"type": "string"}, "x": true}));
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        for schema in [
            json!({"type": "string", "allOf": [{"enum": ["a"]}]}),
            json!({"properties": {"city": {"type": "integer"}}, "allOf": [{"$ref": "#/$defs/place"}]}),
            json!({"properties": {}, "allOf": [{"$ref": "#/$defs/circle"}]}),
            json!({"properties": {}, "allOf": [{"$ref": "#/$defs/nothing"}]}),
            json!({"properties": {}, "allOf": [false]}),
        ] {
            assert_eq!(merged(schema.clone()), None, "{schema}");
        }
    }
}

//! Whether the alternatives of a `oneOf` exclude each other. If they do, it means the same as `anyOf`, which a grammar can
//! express.

use serde_json::{Map, Value};
use unjinja_runtime::schema::Subschema;

use super::Schemas;
use super::check::may_be_equal;
use super::types::{ANY, OBJECT, types_of};

/// The maximum number of alternatives that are compared with each other.
const COMPARED: usize = 64;
/// The maximum number of schemas that are read for one alternative.
const READ: usize = 8;

impl<'s> Schemas<'s, '_> {
    /// Whether no value fits two of these schemas. This is decided by their types, constants and required properties
    /// with constant values.
    pub(super) fn exclude_each_other(&mut self, types: u8, schemas: &'s [Value]) -> bool {
        if schemas.len() > COMPARED {
            return false;
        }
        let marks: Vec<Mark<'s>> = schemas.iter().map(|schema| self.mark(types, schema)).collect();
        marks.iter().enumerate().all(|(at, one)| marks[at + 1..].iter().all(|other| one.excludes(other)))
    }

    fn mark(&mut self, types: u8, schema: &'s Value) -> Mark<'s> {
        let types = if schema == &Value::Bool(false) { 0 } else { types };
        let mut mark = Mark { types, values: None, properties: Vec::new() };
        for Subschema { schema: keywords, .. } in self.document().conjuncts(schema).take(READ) {
            mark.types &= keywords.get("type").and_then(types_of).unwrap_or(ANY);
            mark.values = mark.values.or(constants(keywords));
            if let (Some(Value::Array(required)), Some(Value::Object(properties))) =
                (keywords.get("required"), keywords.get("properties"))
            {
                let required = required.iter().filter_map(Value::as_str);
                mark.properties
                    .extend(required.filter_map(|name| Some((name, constants(properties.get(name)?.as_object()?)?))));
            }
        }
        if mark.types != OBJECT {
            // Values that are not objects fit as well, so the properties distinguish nothing.
            mark.properties.clear();
        }
        mark
    }
}

struct Mark<'s> {
    types: u8,
    values: Option<&'s [Value]>,
    /// Required properties that have one of these values.
    properties: Vec<(&'s str, &'s [Value])>,
}

impl Mark<'_> {
    fn excludes(&self, other: &Self) -> bool {
        let apart = |one: &[Value], other: &[Value]| {
            one.len().saturating_mul(other.len()) < 10_000
                && !one.iter().any(|value| other.iter().any(|same| may_be_equal(value, same)))
        };
        self.types & other.types == 0
            || self.values.zip(other.values).is_some_and(|(one, other)| apart(one, other))
            || self.properties.iter().any(|(name, values)| {
                other.properties.iter().any(|(same, others)| name == same && apart(values, others))
            })
    }
}

fn constants(schema: &Map<String, Value>) -> Option<&[Value]> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

//! The members of JSON objects, in little code: what reads the tree of an object is compiled here, once, and not inlined into
//! each place that reads a schema.

use serde_json::{Map, Value};

/// The members of an object, in its order.
#[inline(never)]
pub fn members(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    object.iter().collect()
}

/// The member with this name.
#[inline(never)]
pub fn member<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    object.get(name)
}

//! What a grammar needs to know about the tools: their arguments, which are required, and in which order they may come.
//! This file reads schemas and makes no rules.

use serde_json::Value;
use unjinja_runtime::schema::{Document, References, Role};
use unjinja_runtime::{Tool, Tools, Types};

use crate::key_order::Sorting;
use crate::schema::says_open;
use crate::values::schema_of;

/// Which arguments of a call are written, as far as it matters. Its meaning depends on the [`Order`].
pub(super) type Written = u32;

/// With [`Order::Schema`]: the written arguments are not in the schema's order.
const NOT_OWN: Written = 1 << 31;
/// With [`Order::Schema`]: the written arguments are not in the order in which the template sorts them.
const NOT_SORTED: Written = 1 << 30;

/// The maximum number of arguments that may come in any order, each once. Each subset needs a rule.
const MAX_FREE_ORDER: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct ToolRules {
    pub(super) name: String,
    pub(super) parameters: Value,
    references: References,
    pub(super) properties: Vec<Property>,
    /// Whether arguments that the schema does not name are allowed.
    pub(super) open: bool,
    pub(super) order: Order,
    /// The places of the required arguments in the order in which the template sorts them, by their places in the schema.
    /// `None` if it does not sort.
    sorted: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) types: Types,
    pub(super) required: bool,
}

/// In which order tagged arguments may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// In any order, each once.
    Any,
    /// In any order; optional arguments may be repeated.
    Required,
    /// Required arguments in the schema's order or in that of the template; optional ones anywhere, and they may be
    /// repeated.
    Schema,
}

impl ToolRules {
    pub(super) fn new(tools: &Tools, tool: &Tool, sorting: Option<Sorting>, open_objects: bool) -> Self {
        let references = References::of(&tool.parameters);
        let found = NamedArguments::of(Document::new(&tool.parameters, &references), &tool.parameters);
        let properties: Vec<Property> = found
            .properties
            .into_iter()
            .map(|Named { name, schema, .. }| Property {
                types: tools.argument_types(&tool.name, name),
                required: found.required.contains(&name),
                name: name.to_owned(),
                schema,
            })
            .collect();
        let required = properties.iter().filter(|property| property.required);
        let required: Vec<&str> = required.map(|property| property.name.as_str()).collect();
        let sorted = sorting.map(|sorting| sorting.places(&required));
        let order = if properties.len() <= MAX_FREE_ORDER {
            Order::Any
        } else if required.len() <= MAX_FREE_ORDER {
            Order::Required
        } else {
            Order::Schema
        };
        let (name, parameters) = (tool.name.clone(), arguments_schema(tool));
        let open = !found.closed && (open_objects || !found.named || found.says_open);
        Self { name, parameters, references, properties, open, order, sorted }
    }

    /// A tool about which nothing is known.
    pub(super) fn any() -> Self {
        Self {
            name: "any".to_owned(),
            parameters: Value::Bool(true),
            references: References::default(),
            properties: Vec::new(),
            open: true,
            order: Order::Any,
            sorted: None,
        }
    }

    /// The arguments that are written after this one. `None` if it may not come now.
    pub(super) fn with_written(&self, written: Written, property: usize) -> Option<Written> {
        let required = self.properties[property].required;
        let before = |n: usize| self.properties[..n].iter().filter(|p| p.required).count();
        match self.order {
            Order::Any => bit(written, property),
            Order::Required if required => bit(written, before(property)),
            Order::Schema if required => {
                let (place, count) = (before(property), (written & !(NOT_OWN | NOT_SORTED)) as usize);
                let sorted = self.sorted.as_ref().and_then(|places| places.get(place).copied());
                let own = if place == count { 0 } else { NOT_OWN };
                let sorted = if sorted == Some(count) { 0 } else { NOT_SORTED };
                let written = written | own | sorted;
                (written & NOT_OWN == 0 || written & NOT_SORTED == 0).then_some(written + 1)
            }
            Order::Required | Order::Schema => Some(written),
        }
    }

    pub(super) fn is_complete(&self, written: Written) -> bool {
        let required = self.properties.iter().filter(|property| property.required).count();
        match self.order {
            Order::Any => {
                self.properties.iter().enumerate().all(|(at, property)| !property.required || written & (1 << at) != 0)
            }
            Order::Required => written.count_ones() as usize == required,
            Order::Schema => (written & !(NOT_OWN | NOT_SORTED)) as usize == required,
        }
    }

    /// The schema of the arguments, in which references are looked up.
    pub(super) fn document(&self) -> Document<'_, '_> {
        Document::new(&self.parameters, &self.references)
    }

    pub(super) fn has_required(&self) -> bool {
        self.properties.iter().any(|property| property.required)
    }
}

fn bit(written: Written, at: usize) -> Option<Written> {
    (written & (1 << at) == 0).then_some(written | 1 << at)
}

#[derive(Default)]
struct NamedArguments<'s> {
    properties: Vec<Named<'s>>,
    required: Vec<&'s str>,
    closed: bool,
    /// Whether a schema has `properties`.
    named: bool,
    /// Whether a schema says that there may be others.
    says_open: bool,
}

struct Named<'s> {
    name: &'s str,
    schema: Value,
    /// Whether `schema` holds always, and not only in an alternative.
    role: Role,
}

impl<'s> NamedArguments<'s> {
    fn of(document: Document<'s, '_>, schema: &'s Value) -> Self {
        let mut found = Self::default();
        let mut subschemas = document.subschemas(schema);
        for subschema in &mut subschemas {
            if let Some(Value::Object(properties)) = subschema.schema.get("properties") {
                properties.into_iter().for_each(|(name, schema)| found.add(name, schema, subschema.role));
            }
            found.named |= subschema.schema.get("properties").is_some();
            found.says_open |= says_open(subschema.schema) || subschema.schema.get("patternProperties").is_some();
            // Arguments that only some alternatives name are optional.
            if subschema.role == Role::Always {
                let required = subschema.schema.get("required").and_then(Value::as_array).into_iter().flatten();
                found.required.extend(required.filter_map(Value::as_str));
                found.closed |= subschema.schema.get("additionalProperties") == Some(&Value::Bool(false));
            }
        }
        // Missing schemas may name further arguments.
        found.closed &= !subschemas.is_cut_short();
        found.says_open |= subschemas.is_cut_short();
        found
    }

    /// Adds what one schema says about an argument.
    fn add(&mut self, name: &'s str, schema: &Value, role: Role) {
        let Some(known) = self.properties.iter_mut().find(|known| known.name == name) else {
            return self.properties.push(Named { name, schema: schema.clone(), role });
        };
        let join = |known: &mut Named<'_>, keyword| {
            if known.schema != *schema {
                known.schema = schema_of(keyword, vec![known.schema.take(), schema.clone()].into());
            }
        };
        match (known.role, role) {
            (Role::Always, Role::Always) => join(known, "allOf"),
            (Role::Alternative, Role::Alternative) => join(known, "anyOf"),
            // What holds always is all that is certain.
            (Role::Alternative, Role::Always) => *known = Named { name, schema: schema.clone(), role },
            (Role::Always, Role::Alternative) => {}
        }
    }
}

/// The schema of a tool's arguments. They are always an object, even if the schema does not say so.
pub(super) fn arguments_schema(tool: &Tool) -> Value {
    let mut parameters = tool.parameters.clone();
    if let Some(schema) = parameters.as_object_mut()
        && !schema.contains_key("type")
        && !schema.contains_key("$ref")
    {
        schema.insert("type".to_owned(), "object".into());
    }
    parameters
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(parameters: Value) -> ToolRules {
        let tools = Tools::new(vec![Tool::new("f", parameters)]).unwrap_or_default();
        let tool = tools.iter().next().unwrap_or_else(|| unreachable!("one tool"));
        ToolRules::new(&tools, tool, None, false)
    }

    #[test]
    fn the_arguments_are_those_that_the_parser_knows() {
        let rules = rules(json!({
            "properties": {"a": {"type": "integer"}, "b": {}},
            "required": ["a"],
            "allOf": [{"properties": {"a": {"maximum": 5}}, "additionalProperties": false}, {"$dynamicRef": "#more"}],
            "anyOf": [{"properties": {"a": {"minimum": 1}, "d": {"const": 1}}, "required": ["d"]},
                {"properties": {"d": {"const": 2}}}],
            "then": {"properties": {"e": {"type": "null"}}},
            "$defs": {"m": {"$dynamicAnchor": "more", "properties": {"c": {"type": "string"}}, "required": ["c"]}},
        }));
        let found: Vec<(&str, Value, bool)> = rules
            .properties
            .iter()
            .map(|property| (property.name.as_str(), property.schema.clone(), property.required))
            .collect();
        let expected = [
            ("a", json!({"allOf": [{"type": "integer"}, {"maximum": 5}]}), true),
            ("b", json!({}), false),
            ("c", json!({"type": "string"}), true),
            ("d", json!({"anyOf": [{"const": 1}, {"const": 2}]}), false),
            ("e", json!({"type": "null"}), false),
        ];
        assert_eq!(found, expected);
        assert!(!rules.open);
    }

    /// Forty schemas, each of which names the next one three times.
    #[test]
    fn what_is_named_often_is_read_once() {
        let mut defs = serde_json::Map::new();
        for at in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            let name = format!("p{at}");
            defs.insert(format!("d{at}"), json!({"anyOf": [next, next, next], "properties": {name: {"enum": []}}}));
        }
        let rules = rules(json!({"$ref": "#/$defs/d0", "$defs": defs}));
        assert_eq!(rules.properties.len(), 40);
    }
}

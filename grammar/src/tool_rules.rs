//! What a grammar needs to know about the tools: their arguments, which are required, and in which order they may come.
//! This file reads schemas and makes no rules.

use serde_json::Value;
use unjinja_runtime::{References, Tool, Tools, Types};

use super::key_order::Sorting;
use super::values::schema_of;
use crate::small::{self, List};

/// Which arguments of a call are written, as far as it matters. Its meaning depends on the [`Order`].
pub(super) type Written = u32;

/// With [`Order::Schema`]: the arguments so far are not in the schema's order.
const NOT_OWN: Written = 1 << 31;
/// With [`Order::Schema`]: the arguments so far are not in the order in which the template sorts them.
const NOT_SORTED: Written = 1 << 30;

/// Up to so many arguments may come in any order, each once. Each subset needs a rule.
const MAX_FREE_ORDER: usize = 4;

/// A tool, as the grammar sees it.
#[derive(Clone, Debug)]
pub(super) struct ToolRules {
    pub(super) name: String,
    pub(super) parameters: Value,
    /// The references of the parameters.
    references: References,
    pub(super) properties: Vec<Property>,
    /// Whether arguments that the schema does not name are allowed.
    pub(super) open: bool,
    pub(super) order: Order,
    /// The places of the required arguments in the order in which the template sorts them, by their places in the schema.
    /// `None` if it does not sort.
    sorted: Option<Vec<usize>>,
}

/// An argument that a schema names.
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
    pub(super) fn new(tools: &Tools, tool: &Tool, sorting: Option<&dyn Sorting>) -> Self {
        let mut found = NamedArguments::default();
        let references = References::of(&tool.parameters);
        found.collect((&tool.parameters, &references), &tool.parameters, 0);
        let properties: Vec<Property> = found
            .properties
            .into_iter()
            .map(|(name, schema)| Property {
                types: tools.argument_types(&tool.name, &name),
                required: found.required.contains(&name),
                name,
                schema,
            })
            .list();
        let required = properties.iter().filter(|property| property.required);
        let required: Vec<&str> = required.map(|property| property.name.as_str()).list();
        let sorted = sorting.map(|sorting| sorting.places(&required));
        let order = if properties.len() <= MAX_FREE_ORDER {
            Order::Any
        } else if required.len() <= MAX_FREE_ORDER {
            Order::Required
        } else {
            Order::Schema
        };
        let (name, parameters) = (tool.name.clone(), arguments_schema(tool));
        Self { name, parameters, references, properties, open: !found.closed, order, sorted }
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

    /// Whether all required arguments are written.
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

    /// The schema that the `$ref` of one of the tool's schemas names.
    pub(super) fn referred(&self, schema: &Value) -> Option<&Value> {
        referred((&self.parameters, &self.references), schema)
    }

    pub(super) fn has_required(&self) -> bool {
        self.properties.iter().any(|property| property.required)
    }
}

fn bit(written: Written, at: usize) -> Option<Written> {
    (written & (1 << at) == 0).then_some(written | 1 << at)
}

/// The arguments that a schema names.
#[derive(Default)]
struct NamedArguments {
    properties: Vec<(String, Value)>,
    required: Vec<String>,
    closed: bool,
}

/// References and combinations of schemas are followed at most so deep.
const DEPTH: usize = 16;

impl NamedArguments {
    fn collect(&mut self, document: Document<'_>, schema: &Value, depth: usize) {
        if depth > DEPTH {
            return;
        }
        for (name, schema) in
            schema.get("properties").and_then(Value::as_object).map(small::members).unwrap_or_default()
        {
            if !self.properties.iter().any(|(known, _)| known == name) {
                self.properties.push((name.clone(), schema.clone()));
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        self.required.extend(required.filter_map(Value::as_str).map(str::to_owned));
        self.closed |= schema.get("additionalProperties") == Some(&Value::Bool(false));
        if let Some(target) = referred(document, schema) {
            self.collect(document, target, depth + 1);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.collect(document, part, depth + 1);
        }
        // Arguments that only some alternatives name are optional.
        for key in ["anyOf", "oneOf"] {
            for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                let mut inner = Self::default();
                inner.collect(document, part, depth + 1);
                for (name, schema) in inner.properties {
                    match self.properties.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) if *known != schema => {
                            *known = schema_of("anyOf", vec![known.take(), schema].into());
                        }
                        Some(_) => {}
                        None => self.properties.push((name, schema)),
                    }
                }
            }
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

/// A schema with its references.
type Document<'s> = (&'s Value, &'s References);

/// The schema that the `$ref` of a schema names, if it is in the same document.
fn referred<'s>((root, references): Document<'s>, schema: &Value) -> Option<&'s Value> {
    references.target(root, schema.get("$ref")?.as_str()?)
}

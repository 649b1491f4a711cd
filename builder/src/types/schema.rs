//! The schemas of tools in the forms that `typify` reads reliably: every object, list of values and choice is a definition
//! with a name of its own, and keywords that no Rust type can follow are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use unjinja_runtime::schema::{
    Document, MAX_DEPTH, MAX_SCHEMAS, Reference, References, Unmerged, extend_pointer, is_shaped_beyond_its_reference,
    merged,
};
use unjinja_runtime::{Tool, Tools};

use super::error::{TypesError, TypesProblem};
use super::names::{Names, doc, type_name};
use super::pointer;

const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];
/// Formats of numbers that Rust has a type for.
const FORMATS: [&str; 12] =
    ["int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "float", "double"];

/// A tool, and the name of its variant and of the struct of its arguments.
pub(super) struct Variant {
    pub name: String,
    pub tool: String,
    pub description: String,
}

#[derive(Clone)]
pub(super) struct Definition {
    pub name: String,
    pub doc: String,
    /// A schema in which every reference is `#/definitions/NAME`.
    pub schema: Value,
    /// A struct without members that takes members all the same.
    pub open: bool,
    /// Where the schema is: the tool, and its path in the tool.
    pub tool: String,
    pub path: String,
}

/// The variants and the types of all tools.
///
/// # Errors
/// Two tools would get the same variant, or a schema is not valid. Lists all such places.
pub(super) fn define(tools: &Tools) -> Result<(Vec<Variant>, Vec<Definition>), TypesError> {
    let (mut out, mut variants, mut roots) = (Output::default(), Vec::<Variant>::new(), Vec::new());
    for tool in tools {
        if variants.iter().any(|variant| variant.tool == tool.name) {
            continue; // The same tool once more.
        }
        let name = type_name(&tool.name);
        if let Some(other) = variants.iter().find(|variant| variant.name == name) {
            let cause = format!("its variant would be `{name}`, as that of the tool `{}`", other.tool);
            out.problems.push(TypesProblem::new(&tool.name, "", cause, "rename one of the two tools"));
            continue;
        }
        out.names.take(&name);
        roots.push((tool, name.clone()));
        variants.push(Variant { name, tool: tool.name.clone(), description: tool.description.clone() });
    }
    for (tool, name) in roots {
        Resolver::new(tool, &name, &mut out).arguments(&name);
    }
    out.problems.extend(circles(&out.definitions));
    match out.problems.is_empty() {
        true => Ok((variants, out.definitions)),
        false => Err(TypesError { problems: out.problems }),
    }
}

#[derive(Default)]
struct Output {
    definitions: Vec<Definition>,
    names: Names,
    problems: Vec<TypesProblem>,
}

/// Reads the schema of one tool.
struct Resolver<'o> {
    tool: &'o Tool,
    references: References,
    /// The name of the struct of the arguments. Other types of the tool begin with it.
    prefix: String,
    out: &'o mut Output,
    /// The types of schemas that references lead to, by their JSON pointer; and whether these schemas allow null.
    named: BTreeMap<String, (String, bool)>,
    /// The pointers of the schemas that references lead to, and that are being read in place of the reference.
    followed: Vec<String>,
    /// How many more schemas may be looked at. References are followed where they occur, so a small schema can become a large
    /// one.
    budget: usize,
    depth: usize,
}

enum Name {
    Exactly(String),
    /// If it needs a name at all; with a number if the name is taken.
    Suggested(String),
}

impl Name {
    fn text(&self) -> &str {
        let (Name::Exactly(name) | Name::Suggested(name)) = self;
        name
    }
}

struct Shape {
    /// The schema of its values other than null.
    schema: Value,
    nullable: bool,
}

impl Shape {
    fn any() -> Self {
        Self { schema: json!({}), nullable: false }
    }

    fn of(schema: Value) -> Self {
        Self { schema, nullable: false }
    }

    fn is_any(&self) -> bool {
        self.schema.as_object().is_some_and(Map::is_empty)
    }
}

impl<'o> Resolver<'o> {
    fn new(tool: &'o Tool, prefix: &str, out: &'o mut Output) -> Self {
        let named = BTreeMap::from([(String::new(), (prefix.to_owned(), false))]);
        let references = References::of(&tool.parameters);
        Self {
            tool,
            references,
            prefix: prefix.to_owned(),
            out,
            named,
            followed: Vec::new(),
            budget: MAX_SCHEMAS,
            depth: 0,
        }
    }

    fn arguments(&mut self, name: &str) {
        let schema = &self.tool.parameters;
        let Some(object) = schema.as_object() else {
            return self.problem("", "the schema of the arguments is no object", "write {\"type\": \"object\", …}");
        };
        if object.get("type").is_some_and(|found| !types_of(found).contains(&"object")) {
            let next = "write \"type\": \"object\": the arguments of a call are an object";
            return self.problem("/type", "the arguments are no object", next);
        }
        let has_members =
            object.get("properties").and_then(Value::as_object).is_some_and(|members| !members.is_empty());
        let others = ["$ref", "allOf", "anyOf", "oneOf", "additionalProperties"];
        if !has_members && !others.iter().any(|&key| object.contains_key(key)) {
            return self.define(name, "", closed_and_empty(), true);
        }
        let shape = self.shape(schema, "", Name::Exactly(name.to_owned()));
        if !self.is_defined(name) {
            self.define(name, "", shape.schema, false);
        }
    }

    /// The schema of a member, an item or another value, with its description and default.
    fn value(&mut self, schema: &Value, at: &str, name: String) -> Value {
        let shape = self.shape(schema, at, Name::Suggested(name));
        let nullable = shape.nullable && !shape.is_any();
        let mut value = if nullable { json!({"oneOf": [shape.schema, {"type": "null"}]}) } else { shape.schema };
        if let Some(value) = value.as_object_mut() {
            if let Some(text) = schema.get("description").and_then(Value::as_str).filter(|text| !text.trim().is_empty())
            {
                value.insert("description".to_owned(), doc(text, String::new).into());
            }
            // Null as a default means that the schema has no default.
            if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
                value.insert("default".to_owned(), default.clone());
            }
        }
        value
    }

    fn shape(&mut self, schema: &Value, at: &str, name: Name) -> Shape {
        let Some(spent) = self.budget.checked_sub(1) else { return Shape::any() };
        self.budget = spent;
        if spent == 0 {
            self.problem("", "the schema is too large for types", "make it smaller, or do without `types`");
        }
        if self.depth == MAX_DEPTH {
            self.problem("", "the schema is nested too deeply for types", "make it flatter, or do without `types`");
            return Shape::any();
        }
        self.depth += 1;
        let shape = self.read(schema, at, name);
        self.depth -= 1;
        shape
    }

    /// The same, within the limits.
    fn read(&mut self, schema: &Value, at: &str, name: Name) -> Shape {
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(_) => return Shape::any(),
            _ => {
                self.problem(at, "this is no JSON schema", "write an object such as {\"type\": \"string\"}");
                return Shape::any();
            }
        };
        let tool = self.tool;
        let document = Document::new(&tool.parameters, &self.references);
        let reference = document.references_of(object).next();
        if object.contains_key("allOf") || reference.is_some() && is_shaped_beyond_its_reference(object) {
            return match merged(document, schema) {
                Ok(merged) => self.shape(&merged, at, name),
                Err(why) => {
                    let subschemas = document.conjuncts(schema);
                    let dangling = subschemas
                        .flat_map(|subschema| document.references_of(subschema.schema))
                        .find(|reference| reference.target.is_none());
                    if let Some(reference) = dangling.filter(|_| why == Unmerged::Dangling) {
                        self.leads_nowhere(reference, at);
                    }
                    Shape::any()
                }
            };
        }
        if let Some(reference) = reference {
            return self.reference(reference, at, name);
        }
        let mut shape = if let Some(value) = object.get("const") {
            self.listed(&[value], at, name)
        } else if let Some(values) = object.get("enum") {
            match values.as_array().filter(|values| !values.is_empty()) {
                Some(values) => self.listed(&values.iter().collect::<Vec<_>>(), at, name),
                None => {
                    self.problem(
                        &format!("{at}/enum"),
                        "this is no list of values",
                        "write at least one value in brackets",
                    );
                    Shape::any()
                }
            }
        } else if let (Some((key, alternatives)), None) = (alternatives(object), object.get("properties")) {
            self.alternatives(object, alternatives, (at, key), name)
        } else {
            self.typed(object, at, name)
        };
        shape.nullable |= allows_null(object);
        shape
    }

    /// A reference. Its target gets a type if it needs one. Otherwise it is read as if it were written here.
    fn reference(&mut self, reference: Reference<'_>, at: &str, name: Name) -> Shape {
        let tool = self.tool;
        let pointer = self.references.pointer(&tool.parameters, reference.name);
        let target = pointer.and_then(|pointer| Some((tool.parameters.pointer(&pointer)?, pointer)));
        let Some((target, pointer)) = target else {
            self.leads_nowhere(reference, at);
            return Shape::any();
        };
        let pointer = pointer.as_str();
        if let Some((name, nullable)) = self.named.get(pointer) {
            return Shape { schema: reference_to(name), nullable: *nullable };
        }
        if !needs_a_type(target) && !self.followed.iter().any(|followed| followed == pointer) {
            self.followed.push(pointer.to_owned());
            let shape = self.shape(target, pointer, name);
            self.followed.pop();
            return shape;
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let name = self.out.names.take_free(&format!("{}{}", self.prefix, type_name(last)));
        let nullable = target.as_object().is_some_and(allows_null);
        self.named.insert(pointer.to_owned(), (name.clone(), nullable));
        let shape = self.shape(target, pointer, Name::Exactly(name.clone()));
        if shape.schema == reference_to(&name) && !self.is_defined(&name) {
            self.problem(pointer, "this schema leads back to itself", "let it say which values it allows");
            return Shape::any();
        }
        if !self.is_defined(&name) {
            self.define(&name, pointer, shape.schema, false);
        }
        Shape { schema: reference_to(&name), nullable }
    }

    fn leads_nowhere(&mut self, reference: Reference<'_>, at: &str) {
        let next = "refer to a schema in the same tool: \"#/$defs/NAME\"";
        self.problem(&format!("{at}/{}", reference.keyword), "this leads to no schema of the tool", next);
    }

    fn listed(&mut self, values: &[&Value], at: &str, name: Name) -> Shape {
        let mut seen: Vec<&Value> = Vec::new();
        for &value in values {
            if !value.is_null() && !seen.contains(&value) {
                seen.push(value);
            }
        }
        let names: BTreeSet<String> = seen.iter().filter_map(|value| value.as_str()).map(type_name).collect();
        let kind = if !seen.is_empty() && seen.iter().all(|value| value.is_string()) {
            // Values that would get the same variant, such as operators, stay texts.
            if names.len() < seen.len() {
                return Shape::of(json!({"type": "string"}));
            }
            "string"
        } else if !seen.is_empty() && seen.iter().all(|value| value.is_i64()) {
            "integer"
        } else if !seen.is_empty() && seen.iter().all(|value| value.is_boolean()) {
            return Shape::of(json!({"type": "boolean"}));
        } else {
            return Shape::any();
        };
        Shape::of(self.define_as(name, at, json!({"type": kind, "enum": seen})))
    }

    /// A choice between schemas, which `key` lists in the schema at a place.
    fn alternatives(
        &mut self,
        base: &Map<String, Value>,
        list: &[Value],
        (at, key): (&str, &str),
        name: Name,
    ) -> Shape {
        let place = |position: usize| format!("{at}/{key}/{position}");
        let mut nullable = false;
        let mut shapes: Vec<Value> = Vec::new();
        let mut real: Vec<(usize, Value)> = Vec::new();
        for (position, alternative) in list.iter().enumerate() {
            let mut alternative = alternative.clone();
            if let Some(object) = alternative.as_object_mut() {
                if is_null_only(object) {
                    nullable = true;
                    continue;
                }
                if let (false, Some(kind)) = (is_shaped_beyond_its_reference(object), base.get("type")) {
                    object.insert("type".to_owned(), kind.clone());
                }
            }
            real.push((position, alternative));
        }
        if let [(position, only)] = real.as_slice() {
            let mut shape = self.shape(only, &place(*position), name);
            shape.nullable |= nullable;
            return shape;
        }
        for (position, alternative) in &real {
            let label = alternative.get("title").and_then(Value::as_str).filter(|title| !title.trim().is_empty());
            let label = label.map_or_else(|| format!("Variant{}", position + 1), type_name);
            let inner = Name::Suggested(format!("{}{label}", name.text()));
            let shape = self.shape(alternative, &place(*position), inner);
            if shape.is_any() {
                return Shape::any();
            }
            nullable |= shape.nullable;
            // A choice that lists itself allows nothing more by that.
            let itself = matches!(&name, Name::Exactly(name) if shape.schema == reference_to(name));
            if !itself && !shapes.contains(&shape.schema) {
                shapes.push(shape.schema);
            }
        }
        if shapes.is_empty() {
            return Shape { nullable, ..Shape::any() };
        }
        // The first one that fits is taken, so those that demand more come first.
        shapes.sort_by_key(|shape| std::cmp::Reverse(self.demands(shape)));
        let schema = match shapes.as_slice() {
            [only] => only.clone(),
            _ => self.define_as(name, at, json!({"oneOf": shapes})),
        };
        Shape { schema, nullable }
    }

    /// How much a value of a schema must have, to put alternatives into order.
    fn demands(&self, schema: &Value) -> usize {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(DEFINITIONS));
        let definition = self.out.definitions.iter().find(|definition| Some(definition.name.as_str()) == name);
        let schema = definition.map_or(schema, |definition| &definition.schema);
        let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let listed = schema.get("enum").is_some() || schema.get("type").is_some_and(|kind| kind == "integer");
        2 * required + usize::from(closed || listed)
    }

    /// A schema that is recognised by its type.
    fn typed(&mut self, object: &Map<String, Value>, at: &str, name: Name) -> Shape {
        let found = match object.get("type") {
            Some(found) => types_of(found),
            None if object.contains_key("properties") || object.contains_key("additionalProperties") => vec!["object"],
            None if object.contains_key("items") => vec!["array"],
            None => return Shape::any(),
        };
        if found.is_empty() || found.iter().any(|kind| !TYPES.contains(kind)) {
            let written = object.get("type").map(Value::to_string).unwrap_or_default();
            let next = format!("write one of {}", TYPES.map(|kind| format!("\"{kind}\"")).join(", "));
            self.problem(&format!("{at}/type"), format!("JSON schemas have no type {written}"), next);
            return Shape::any();
        }
        let kinds: Vec<&str> = found.into_iter().filter(|&kind| kind != "null").collect();
        match kinds.as_slice() {
            [] => Shape::any(),
            ["string" | "boolean"] => Shape::of(json!({"type": kinds[0]})),
            [kind @ ("integer" | "number")] => Shape::of(number(kind, object)),
            ["array"] => {
                let mut schema = json!({"type": "array"});
                if let Some(items) =
                    object.get("items").filter(|items| !items.is_array() && !object.contains_key("prefixItems"))
                {
                    schema["items"] = self.value(items, &format!("{at}/items"), format!("{}Item", name.text()));
                }
                Shape::of(schema)
            }
            ["object"] => self.object(object, at, name),
            several => {
                let of_type = |kind: &&str| {
                    let mut one = object.clone();
                    one.insert("type".to_owned(), (*kind).into());
                    one.insert("title".to_owned(), (*kind).into());
                    Value::Object(one)
                };
                let list: Vec<Value> = several.iter().map(of_type).collect();
                self.alternatives(&Map::new(), &list, (at, "type"), name)
            }
        }
    }

    fn object(&mut self, object: &Map<String, Value>, at: &str, name: Name) -> Shape {
        let others = object.get("additionalProperties").filter(|_| !object.contains_key("patternProperties"));
        let members = match object.get("properties") {
            None => &Map::new(),
            Some(Value::Object(members)) => members,
            Some(_) => {
                let next = "write {\"NAME\": {\"type\": …}, …}";
                self.problem(&format!("{at}/properties"), "this is no object", next);
                return Shape::any();
            }
        };
        if members.is_empty() {
            return match others {
                Some(Value::Bool(false)) => Shape::of(self.define_as(name, at, closed_and_empty())),
                Some(others @ Value::Object(_)) => {
                    let inner =
                        self.value(others, &format!("{at}/additionalProperties"), format!("{}Value", name.text()));
                    Shape::of(json!({"type": "object", "additionalProperties": inner}))
                }
                _ => Shape::of(json!({"type": "object"})),
            };
        }
        let mut read = Map::new();
        for (member, schema) in members {
            let inner = format!("{}{}", name.text(), type_name(member));
            let mut member_at = format!("{at}/properties");
            extend_pointer(&mut member_at, member);
            read.insert(member.clone(), self.value(schema, &member_at, inner));
        }
        let mut schema = json!({"type": "object", "properties": read});
        match object.get("required").map(|names| (names.as_array(), names)) {
            None | Some((_, Value::Null)) => {}
            Some((Some(names), _)) if names.iter().all(Value::is_string) => {
                schema["required"] =
                    names.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>().into_iter().collect();
            }
            Some(_) => self.problem(&format!("{at}/required"), "this is no list of names", "write [\"NAME\", …]"),
        }
        match others {
            Some(Value::Bool(false)) => schema["additionalProperties"] = false.into(),
            Some(others @ Value::Object(_)) => {
                let inner = format!("{}Value", name.text());
                schema["additionalProperties"] = self.value(others, &format!("{at}/additionalProperties"), inner);
            }
            _ => {}
        }
        Shape::of(self.define_as(name, at, schema))
    }

    /// Defines a type, and returns a reference to it.
    fn define_as(&mut self, name: Name, at: &str, schema: Value) -> Value {
        let name = match name {
            Name::Exactly(name) => name,
            Name::Suggested(name) => self.out.names.take_free(&name),
        };
        self.define(&name, at, schema, false);
        reference_to(&name)
    }

    fn define(&mut self, name: &str, at: &str, schema: Value, open: bool) {
        let path = pointer::shown(at);
        let description = match at {
            "" => Some(self.tool.description.as_str()).filter(|text| !text.trim().is_empty()),
            at => self.tool.parameters.pointer(at).and_then(|schema| schema.get("description")).and_then(Value::as_str),
        };
        let tool = self.tool.name.clone();
        let doc = doc(description.unwrap_or_default(), || match at {
            "" => format!("The arguments of `{tool}`."),
            _ => format!("The values of `{tool}` at `{path}`."),
        });
        self.out.definitions.push(Definition { name: name.to_owned(), doc, schema, open, tool, path });
    }

    fn is_defined(&self, name: &str) -> bool {
        self.out.definitions.iter().any(|definition| definition.name == name)
    }

    fn problem(&mut self, at: &str, cause: impl Into<String>, next: impl Into<String>) {
        let problem = TypesProblem::new(&self.tool.name, pointer::shown(at), cause, next);
        if !self.out.problems.contains(&problem) {
            self.out.problems.push(problem);
        }
    }
}

/// Choices that lead back to themselves without a value between. To read such a type would never end.
fn circles(definitions: &[Definition]) -> Vec<TypesProblem> {
    let next = |name: &str| -> Vec<&str> {
        let definition = definitions.iter().find(|definition| definition.name == name);
        let schema = definition.map(|definition| &definition.schema);
        let alternatives = schema.and_then(|schema| schema.get("oneOf")).and_then(Value::as_array);
        let all = alternatives.into_iter().flatten().chain(schema);
        all.filter_map(|one| one.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)).collect()
    };
    let in_circle = |definition: &&Definition| {
        let (mut seen, mut queue) = (BTreeSet::new(), next(&definition.name));
        while let Some(name) = queue.pop() {
            if seen.insert(name) {
                queue.extend(next(name));
            }
        }
        seen.contains(definition.name.as_str())
    };
    let problem = |definition: &Definition| {
        let Definition { tool, path, .. } = definition;
        TypesProblem::new(tool, path, "this schema leads back to itself", "let it say which values it allows")
    };
    definitions.iter().filter(in_circle).map(problem).collect()
}

const DEFINITIONS: &str = "#/definitions/";

fn reference_to(name: &str) -> Value {
    json!({"$ref": format!("{DEFINITIONS}{name}")})
}

fn closed_and_empty() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// The types that `type` lists. An entry that is not a text becomes one that is not a type.
fn types_of(found: &Value) -> Vec<&str> {
    match found {
        Value::Array(list) => list.iter().map(|kind| kind.as_str().unwrap_or_default()).collect(),
        one => vec![one.as_str().unwrap_or_default()],
    }
}

fn alternatives(object: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    ["anyOf", "oneOf"].into_iter().find_map(|key| Some((key, object.get(key)?.as_array()?.as_slice())))
}

/// Whether a schema itself allows null, without its references.
fn allows_null(object: &Map<String, Value>) -> bool {
    object.get("nullable") == Some(&Value::Bool(true))
        || object.get("type").is_some_and(|found| types_of(found).contains(&"null"))
        || object.get("enum").and_then(Value::as_array).is_some_and(|values| values.contains(&Value::Null))
        || alternatives(object)
            .is_some_and(|(_, list)| list.iter().any(|one| one.as_object().is_some_and(is_null_only)))
}

fn is_null_only(object: &Map<String, Value>) -> bool {
    object.get("type").is_some_and(|kind| kind == "null")
        || object.get("const") == Some(&Value::Null)
        || object.get("enum").and_then(Value::as_array).is_some_and(|values| values == &[Value::Null])
}

/// Whether the target of a reference becomes a type of its own.
fn needs_a_type(schema: &Value) -> bool {
    let keys = ["properties", "enum", "const", "anyOf", "oneOf", "allOf"];
    keys.iter().any(|&key| schema.get(key).is_some())
}

/// A number. Of its limits only the sign is kept: it decides between `u64` and `i64`.
fn number(kind: &str, object: &Map<String, Value>) -> Value {
    let mut schema = json!({"type": kind});
    if let Some(format) = object.get("format").and_then(Value::as_str).filter(|format| FORMATS.contains(format)) {
        schema["format"] = format.into();
    }
    let lowest = ["minimum", "exclusiveMinimum"].into_iter().filter_map(|key| object.get(key)?.as_f64());
    if kind == "integer" && lowest.fold(f64::NEG_INFINITY, f64::max) >= 0.0 {
        schema["minimum"] = 0.into();
    }
    schema
}

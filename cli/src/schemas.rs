//! The JSON schemas in `docs/json`: what `--format json` prints, by its types and their doc comments. `UPDATE_EXPECT=1` writes them.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use unjinja_dynamic::explain::Explanation;
use unjinja_runtime::Event;
use unjinja_server::openai::{ChatCompletion, ChatCompletionChunk};
use unjinja_spec::FormatSpec;
use unjinja_testkit::{Failure, expect, root};

use crate::{analyze, codegen, export, grammar, lint, list, parse, render, report, verify};

/// Specs have a schema of their own.
pub(crate) fn list_of_specs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"$ref": "spec.schema.json"}})
}

#[test]
fn the_documents_are_those_of_the_types() -> Result<(), Failure> {
    same::<FormatSpec>("spec", "A format spec as JSON: the keys of its TOML")?;
    same::<analyze::Document<'_>>("analyze", "unjinja analyze --format json")?;
    same::<report::Document<'_>>("check", "unjinja check --format json, unjinja diff --format json")?;
    same::<Vec<verify::Row<'_>>>("verify", "unjinja verify --format json: template by template")?;
    same::<export::Document<'_>>("export", "unjinja export --format json")?;
    same::<render::Document>("render", "unjinja render --format json")?;
    same::<parse::ParsedDocument<'_>>("parse", "unjinja parse --format json")?;
    same::<Event<'_>>("parse-event", "unjinja parse --stream --format json: one line")?;
    same::<ChatCompletion>("parse-completion", "unjinja parse --format openai")?;
    same::<ChatCompletionChunk>("parse-chunk", "unjinja parse --stream --format openai: one line")?;
    same::<grammar::Document<'_>>("grammar", "unjinja grammar --format json")?;
    same::<codegen::Document>("codegen", "unjinja codegen --format json")?;
    #[cfg(feature = "fetch")]
    same::<Vec<crate::fetch::Row<'_>>>("fetch", "unjinja fetch --format json: template by template")?;
    same::<Vec<lint::Document<'_>>>("lint", "unjinja lint --format json: template by template")?;
    same::<list::Document<'_>>("list", "unjinja list --format json")?;
    same::<Explanation>("explain", "unjinja explain --format json")
}

/// Compares the schema of a type with the committed one.
fn same<T: JsonSchema>(name: &str, title: &str) -> Result<(), Failure> {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(closed));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), json!(format!("https://github.com/unjinja/unjinja/docs/json/{name}.schema.json")));
    schema.insert("title".to_owned(), json!(title));
    let text = in_lines(schema.as_value(), 0) + "\n";
    expect::file(&root().join(format!("docs/json/{name}.schema.json")), &text)
}

/// A schema as text, with one line for each object that holds no other: one for each field.
fn in_lines(value: &Value, depth: usize) -> String {
    let holds_objects = |value: &Value| match value {
        Value::Object(_) => true,
        value => value.as_array().is_some_and(|items| items.iter().any(Value::is_object)),
    };
    let (space, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
    match value {
        Value::Object(fields) if fields.values().any(holds_objects) => {
            let line = |(name, field)| format!("{inner}{}: {}", json!(name), in_lines(field, depth + 1));
            format!("{{\n{}\n{space}}}", fields.iter().map(line).collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(items) if holds_objects(value) => {
            let line = |item| format!("{inner}{}", in_lines(item, depth + 1));
            format!("[\n{}\n{space}]", items.iter().map(line).collect::<Vec<_>>().join(",\n"))
        }
        flat => flat.to_string(),
    }
}

/// What is printed has no fields but those of its type. Nobody reads it with default values, and the examples of doc comments are
/// about Rust.
fn closed(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    for key in ["default", "format"] {
        schema.remove(key);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let prose = text.split("```").next().unwrap_or_default();
        *text = prose.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

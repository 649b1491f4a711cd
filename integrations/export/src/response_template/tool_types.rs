//! The types of arguments, from the schemas of the offered tools. Where a template reads an argument as text, its schema says
//! what the text means.

use serde_json::Value as Json;

use super::error::{ErrorKind, ReadError};
use super::json::{self, JsonError};
use super::number;
use super::text::strip;
use super::value::{Dict, Value};

/// Parameters by name, each with the types that its schema declares.
type Parameters = Vec<(String, Vec<String>)>;

/// The types that each tool declares for its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolTypes {
    /// The tools by name, and their parameters by name. A tool that is offered twice is the last one.
    tools: Vec<(String, Parameters)>,
}

impl ToolTypes {
    /// The types of tools in OpenAI's form, with or without `function` around each.
    pub(crate) fn new(tools: &[Json]) -> Self {
        let mut all: Vec<(String, Parameters)> = Vec::new();
        for tool in tools {
            let function = tool.get("function").unwrap_or(tool);
            let Some(name) = function.get("name").and_then(Json::as_str) else { continue };
            let parameters = function.get("parameters").unwrap_or(&Json::Null);
            let properties = parameters.get("properties").and_then(Json::as_object);
            let declared = |(key, schema): (&String, &Json)| (key.clone(), types(schema));
            let properties = properties.into_iter().flatten().map(declared).collect();
            all.retain(|(known, _)| known != name);
            all.push((name.to_owned(), properties));
        }
        Self { tools: all }
    }

    /// Whether no tools were offered.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Gives the arguments of a call, or of a list of calls, the types that their tools declare.
    pub(crate) fn give(&self, value: &mut Value) -> Result<(), ReadError> {
        if let Value::List(items) = value {
            return items.iter_mut().try_for_each(|item| self.give(item));
        }
        let Some(function) = (match value {
            Value::Dict(call) => call.get_mut("function"),
            _ => None,
        }) else {
            return Ok(());
        };
        let Some(name) = function.get("name").and_then(Value::as_text).map(str::to_owned) else { return Ok(()) };
        let Value::Dict(function) = function else { return Ok(()) };
        let Some(Value::Dict(arguments)) = function.get_mut("arguments") else { return Ok(()) };
        let Some((_, declared)) = self.tools.iter().find(|(known, _)| *known == name) else { return Ok(()) };
        give_arguments(arguments, declared)
    }
}

fn give_arguments(arguments: &mut Dict, declared: &[(String, Vec<String>)]) -> Result<(), ReadError> {
    for (key, argument) in arguments.iter_mut() {
        let Some((_, types)) = declared.iter().find(|(name, _)| name == key) else { continue };
        match argument {
            Value::Text(text) => *argument = cast(text, types)?,
            Value::List(items) if !types.is_empty() && !types.iter().any(|name| name == "array") => {
                for item in items {
                    if let Value::Text(text) = item {
                        *item = cast(text, types)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The value of a text by the first of the types that fits; the text itself if none does.
fn cast(text: &str, types: &[String]) -> Result<Value, ReadError> {
    for name in types {
        if let Some(value) = cast_to(text, name)? {
            return Ok(value);
        }
    }
    Ok(Value::Text(text.to_owned()))
}

fn cast_to(text: &str, name: &str) -> Result<Option<Value>, ReadError> {
    let whole = |number: &f64| number.is_finite() && number.fract() == 0.0;
    Ok(match name {
        "integer" => match number::int(text) {
            Some(digits) => Some(Value::Int(digits)),
            None => number::float(text).filter(whole).map(|number| Value::Int(number::int_of_float(number))),
        },
        "number" => {
            let number = number::float(text).filter(|number| number.is_finite());
            number.map(|number| match whole(&number) && !text.contains('.') {
                true => Value::Int(number::int_of_float(number)),
                false => Value::Float(number),
            })
        }
        "boolean" => match strip(text).to_lowercase().as_str() {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        "null" => matches!(strip(text), "null" | "None").then_some(Value::Null),
        "object" | "array" => match json::loads(text) {
            Ok(value @ Value::Dict(_)) if name == "object" => Some(value),
            Ok(value @ Value::List(_)) if name == "array" => Some(value),
            Err(JsonError::Depth) => {
                return Err(ReadError::new(ErrorKind::Depth, "the JSON of an argument is nested too deep"));
            }
            _ => None,
        },
        _ => None,
    })
}

/// The types that a schema declares, in order.
fn types(schema: &Json) -> Vec<String> {
    let mut all: Vec<String> = match schema.get("type") {
        Some(Json::String(name)) => vec![name.clone()],
        Some(Json::Array(names)) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    for union in ["anyOf", "oneOf"] {
        for choice in schema.get(union).and_then(Json::as_array).into_iter().flatten() {
            all.extend(types(choice));
        }
    }
    if schema.get("nullable").and_then(Json::as_bool) == Some(true) && !all.iter().any(|name| name == "null") {
        all.push("null".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(schema: &Json, text: &str) -> String {
        let tools = [serde_json::json!({"name": "f", "parameters": {"properties": {"a": schema}}})];
        let call = serde_json::json!({"function": {"name": "f", "arguments": {"a": text}}});
        let mut value = Value::from(&call);
        match ToolTypes::new(&tools).give(&mut value) {
            Ok(()) => value.get("function").and_then(|f| f.get("arguments")?.get("a")).map(Value::to_string),
            Err(error) => Some(error.to_string()),
        }
        .unwrap_or_default()
    }

    #[test]
    fn texts_get_the_declared_types() {
        let cases = [
            (serde_json::json!({"type": "integer"}), "3.0", "3"),
            (serde_json::json!({"type": "integer"}), "3.5", "\"3.5\""),
            (serde_json::json!({"type": "number"}), "1e3", "1000"),
            (serde_json::json!({"type": "number"}), "2.0", "2.0"),
            (serde_json::json!({"type": "number"}), "9007199254740993", "9007199254740992"),
            (serde_json::json!({"type": "boolean"}), " True", "true"),
            (serde_json::json!({"type": ["integer", "string"]}), " 5", "5"),
            (serde_json::json!({"type": ["string", "integer"]}), "5", "5"),
            (serde_json::json!({"anyOf": [{"type": "null"}, {"type": "array"}]}), "[1, \"a\"]", "[1, \"a\"]"),
            (serde_json::json!({"enum": [1, 2]}), "2", "\"2\""),
        ];
        for (schema, text, expected) in cases {
            assert_eq!(cast(&schema, text), expected, "{schema} {text}");
        }
    }
}

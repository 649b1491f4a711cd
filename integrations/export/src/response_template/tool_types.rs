//! The types of arguments, from the schemas of the offered tools. Where a template reads an argument as text, its schema says
//! what the text means.

use serde_json::Value as Json;

use super::dialect::Dialect;
use super::error::{ErrorKind, ReadError};
use super::json::{self, JsonError};
use super::number;
use super::text::strip;
use super::value::{Dict, Value};

/// How many references of a schema SGLang follows.
const MOST_REFERENCES: u32 = 16;

/// Parameters by name, each with the types that its schema declares.
type Parameters = Vec<(String, Vec<String>)>;

/// The types that each tool declares for its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolTypes {
    dialect: Option<Dialect>,
    /// The tools by name, and their parameters by name. A tool that is offered twice is the last one.
    tools: Vec<(String, Parameters)>,
}

impl ToolTypes {
    /// The types of tools in OpenAI's form, with or without `function` around each.
    pub(crate) fn new(tools: &[Json], dialect: Dialect) -> Self {
        let mut all: Vec<(String, Parameters)> = Vec::new();
        for tool in tools {
            let function = tool.get("function").unwrap_or(tool);
            let Some(name) = function.get("name").and_then(Json::as_str) else { continue };
            let parameters = function.get("parameters").unwrap_or(&Json::Null);
            let properties = parameters.get("properties").and_then(Json::as_object);
            let declared = |(key, schema): (&String, &Json)| {
                let schema = if dialect == Dialect::Sglang { followed(schema, parameters) } else { schema };
                (key.clone(), types(schema, dialect))
            };
            let properties = properties.into_iter().flatten().map(declared).collect();
            all.retain(|(known, _)| known != name);
            all.push((name.to_owned(), properties));
        }
        Self { dialect: Some(dialect), tools: all }
    }

    /// Whether no tools were offered.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether a tool was offered.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|(known, _)| known == name)
    }

    /// Gives the arguments of a call, or of a list of calls, the types that their tools declare. `is_json` says that the
    /// arguments were read as JSON, in which a string is a string.
    pub(crate) fn give(&self, value: &mut Value, is_json: bool) -> Result<(), ReadError> {
        if let Value::List(items) = value {
            return items.iter_mut().try_for_each(|item| self.give(item, is_json));
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
        self.give_arguments(arguments, declared, is_json)
    }

    fn give_arguments(
        &self,
        arguments: &mut Dict,
        declared: &[(String, Vec<String>)],
        is_json: bool,
    ) -> Result<(), ReadError> {
        let keeps_strings = self.dialect.is_some_and(Dialect::keeps_declared_strings);
        for (key, argument) in arguments.iter_mut() {
            let Some((_, types)) = declared.iter().find(|(name, _)| name == key) else { continue };
            let has = |name: &str| types.iter().any(|known| known == name);
            if types.is_empty() || keeps_strings && is_json && has("string") {
                continue;
            }
            match argument {
                Value::Text(text) => *argument = self.cast(text, types)?,
                Value::List(items) if !has("array") => {
                    for item in items {
                        if let Value::Text(text) = item {
                            *item = self.cast(text, types)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The value of a text by the first of the types that fits; the text itself if none does.
    fn cast(&self, text: &str, types: &[String]) -> Result<Value, ReadError> {
        let keeps_strings = self.dialect.is_some_and(Dialect::keeps_declared_strings);
        let as_text = || Ok(Value::Text(text.to_owned()));
        let mut allowed: Vec<&str> = types.iter().map(String::as_str).collect();
        if keeps_strings && allowed.contains(&"string") && allowed.iter().any(|name| *name != "string") {
            let Ok(value) = json::loads(text) else { return as_text() };
            if strip(text) != text {
                return as_text();
            }
            allowed.retain(|name| json_types(&value).contains(name));
        }
        for name in allowed {
            if let Some(value) = self.cast_to(text, name)? {
                return Ok(value);
            }
        }
        as_text()
    }

    fn cast_to(&self, text: &str, name: &str) -> Result<Option<Value>, ReadError> {
        let keeps_strings = self.dialect.is_some_and(Dialect::keeps_declared_strings);
        let whole = |number: &f64| number.is_finite() && number.fract() == 0.0;
        Ok(match name {
            "integer" => match number::int(text) {
                Some(digits) => Some(Value::Int(digits)),
                None => number::float(text).filter(whole).map(|number| Value::Int(number::int_of_float(number))),
            },
            "number" => {
                if let (true, Some(digits)) = (keeps_strings, number::int(text)) {
                    return Ok(Some(Value::Int(digits)));
                }
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
                Err(JsonError::Depth) if !keeps_strings => {
                    return Err(ReadError::new(ErrorKind::Depth, "the JSON of an argument is nested too deep"));
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// The types that a schema declares, in order.
fn types(schema: &Json, dialect: Dialect) -> Vec<String> {
    let mut all: Vec<String> = match schema.get("type") {
        Some(Json::String(name)) => vec![name.clone()],
        Some(Json::Array(names)) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    for union in ["anyOf", "oneOf"] {
        for choice in schema.get(union).and_then(Json::as_array).into_iter().flatten() {
            all.extend(types(choice, dialect));
        }
    }
    if all.is_empty() && dialect == Dialect::Sglang {
        // This reader concludes the type from the values that are allowed.
        let values = schema.get("enum").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        for value in values.iter().chain(schema.get("const")) {
            let name = json_types(&Value::from(value)).first().copied().unwrap_or_default();
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
    }
    if schema.get("nullable").and_then(Json::as_bool) == Some(true) && !all.iter().any(|name| name == "null") {
        all.push("null".to_owned());
    }
    all
}

/// The schema that a schema only refers to, within the parameters of its tool. This repeats what SGLang does, which knows JSON
/// pointers and no other references; [`unjinja_runtime::schema`] knows more.
fn followed<'s>(mut schema: &'s Json, parameters: &'s Json) -> &'s Json {
    for _ in 0..MOST_REFERENCES {
        let target =
            schema.get("$ref").and_then(Json::as_str).and_then(|path| parameters.pointer(path.strip_prefix('#')?));
        let only =
            schema.get("allOf").and_then(Json::as_array).filter(|all| all.len() == 1).and_then(|all| all.first());
        match target.or(only) {
            Some(next) if schema.get("type").is_none() => schema = next,
            _ => break,
        }
    }
    schema
}

/// The names of a value's types in a schema.
fn json_types(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Int(_) => &["integer", "number"],
        Value::Float(_) => &["number"],
        Value::Text(_) => &["string"],
        Value::List(_) => &["array"],
        Value::Dict(_) => &["object"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(dialect: Dialect, schema: Json, text: &str) -> String {
        let tools = [serde_json::json!({"name": "f", "parameters": {"properties": {"a": schema}}})];
        let call = serde_json::json!({"function": {"name": "f", "arguments": {"a": text}}});
        let mut value = Value::from(&call);
        match ToolTypes::new(&tools, dialect).give(&mut value, false) {
            Ok(()) => value.get("function").and_then(|f| f.get("arguments")?.get("a")).map(Value::to_string),
            Err(error) => Some(error.to_string()),
        }
        .unwrap_or_default()
    }

    #[test]
    fn texts_get_the_declared_types() {
        let cases = [
            (serde_json::json!({"type": "integer"}), "3.0", "3", "3"),
            (serde_json::json!({"type": "integer"}), "3.5", "\"3.5\"", "\"3.5\""),
            (serde_json::json!({"type": "number"}), "1e3", "1000", "1000"),
            (serde_json::json!({"type": "number"}), "2.0", "2.0", "2.0"),
            (serde_json::json!({"type": "number"}), "9007199254740993", "9007199254740992", "9007199254740993"),
            (serde_json::json!({"type": "boolean"}), " True", "true", "true"),
            (serde_json::json!({"type": ["integer", "string"]}), " 5", "5", "\" 5\""),
            (serde_json::json!({"type": ["string", "integer"]}), "5", "5", "5"),
            (
                serde_json::json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
                "[1, \"a\"]",
                "[1, \"a\"]",
                "[1, \"a\"]",
            ),
            (serde_json::json!({"enum": [1, 2]}), "2", "\"2\"", "2"),
        ];
        for (schema, text, transformers, sglang) in cases {
            assert_eq!(cast(Dialect::Transformers, schema.clone(), text), transformers, "{schema} {text}");
            assert_eq!(cast(Dialect::Sglang, schema.clone(), text), sglang, "{schema} {text}");
        }
    }
}

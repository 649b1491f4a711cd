//! Templates in JSON: `tokenizer_config.json`, `chat_template.json` and their kin. It reads what three keys say and
//! must never need any other.

use std::path::Path;

use super::names::MODEL_FILES;
use super::{Source, SourceError, SpecialTokens};
use serde_json::{Map, Value};

/// The key that holds a template, or several with names.
const KEY: &str = "chat_template";

/// The templates in the text of a JSON file.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<Source>, SourceError> {
    let fail = |problem: String| SourceError::new(path, problem);
    let value: Value = serde_json::from_str(text).map_err(|error| fail(format!("the file is no JSON: {error}")))?;
    let Value::Object(object) = &value else {
        return Err(fail(format!("the file is JSON, but {}, no object with a `{KEY}`", kind(&value))));
    };
    let tokens = tokens_of(object);
    let source = |variant: Option<&str>, text: &str| Source {
        path: path.to_owned(),
        variant: variant.map(str::to_owned),
        text: text.to_owned(),
        tokens: tokens.clone(),
    };
    let sources = match object.get(KEY) {
        None | Some(Value::Null) => return Err(without(path, object)),
        Some(Value::String(text)) => vec![source(None, text)],
        // A processor's, by name.
        Some(Value::Object(named)) => {
            let named = named.iter().map(|(name, template)| match template {
                Value::String(text) => Ok(source(Some(name), text)),
                other => Err(fail(format!("`{KEY}.{name}` is to be a template's text, but is {}", kind(other)))),
            });
            named.collect::<Result<Vec<Source>, SourceError>>()?
        }
        // A tokenizer's, as a list of names and texts.
        Some(Value::Array(named)) => {
            let named = named.iter().enumerate().map(|(index, entry)| {
                let field = |key: &str| match entry.get(key) {
                    Some(Value::String(text)) => Ok(text),
                    Some(other) => Err(fail(format!("`{KEY}[{index}].{key}` is to be a text, but is {}", kind(other)))),
                    None => {
                        Err(fail(format!("`{KEY}[{index}]` has no `{key}`: each entry holds `name` and `template`")))
                    }
                };
                Ok(source(Some(field("name")?), field("template")?))
            });
            named.collect::<Result<Vec<Source>, SourceError>>()?
        }
        Some(other) => {
            let wanted = "a template's text or a list of named ones";
            return Err(fail(format!("`{KEY}` is to be {wanted}, but is {}", kind(other))));
        }
    };
    if sources.is_empty() {
        return Err(SourceError::without_template(path, format!("`{KEY}` is empty: it lists no template")));
    }
    for (index, source) in sources.iter().enumerate() {
        if sources[..index].iter().any(|other| other.variant == source.variant) {
            let name = source.variant.as_deref().unwrap_or_default();
            return Err(fail(format!("`{KEY}` lists two templates called `{name}`")));
        }
    }
    Ok(sources)
}

/// The special tokens that the text of a `tokenizer_config.json` says.
pub(super) fn tokens(text: &str) -> Option<SpecialTokens> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.as_object().map(tokens_of)
}

fn tokens_of(object: &Map<String, Value>) -> SpecialTokens {
    let token = |key: &str| match object.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(token)) => token.get("content").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    SpecialTokens { bos: token("bos_token"), eos: token("eos_token") }
}

/// That a file holds no template, and what it holds.
fn without(path: &Path, object: &Map<String, Value>) -> SourceError {
    const SHOWN: usize = 8;
    let mut keys: Vec<String> = object.keys().take(SHOWN).map(|key| format!("`{key}`")).collect();
    match object.len() {
        0 => keys.push("nothing".to_owned()),
        count if count > SHOWN => keys.push(format!("{} more keys", count - SHOWN)),
        _ => {}
    }
    let mut problem = format!("it holds no `{KEY}`, but {}", keys.join(", "));
    let beside = MODEL_FILES.iter().map(|own| path.with_file_name(own)).find(|other| other != path && other.is_file());
    match beside {
        Some(beside) => problem.push_str(&format!("; there is also {}", beside.display())),
        None => problem.push_str("; many models keep it in a chat_template.jinja beside it"),
    }
    SourceError::without_template(path, problem)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

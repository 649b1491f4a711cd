//! Reads templates from `tokenizer_config.json`, `chat_template.json` and files like them. It uses the keys
//! `chat_template`, those of special tokens (`bos_token`, every other `*_token`, `model_specific_special_tokens`,
//! `extra_special_tokens`, `additional_special_tokens`) and `added_tokens_decoder`, and must not depend on any other.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::SourceError;
use crate::names::MODEL_FILES;
use crate::source::{Source, SpecialTokens};

/// The key whose value is one template or several named ones.
const KEY: &str = "chat_template";

/// The key whose value is a list of special tokens without a role.
const LISTED: &str = "additional_special_tokens";

/// The key whose value names the special tokens that only this model has, or lists special tokens without a role.
const OWN: &str = "extra_special_tokens";

/// The key under which `save_pretrained` names the special tokens that only this model has.
const SAVED: &str = "model_specific_special_tokens";

/// The tokens that every tokenizer may have.
const STANDARD: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The text of a `tokenizer_config.json` with the tokens of the `special_tokens_map.json` next to it. transformers reads that file
/// unless the other one has `added_tokens_decoder`; then its tokens come first.
pub(crate) fn with_map(config: &str, map: &str) -> Option<String> {
    let mut config: Map<String, Value> =
        if config.is_empty() { Map::new() } else { serde_json::from_str(config).ok()? };
    if config.contains_key("added_tokens_decoder") {
        return None;
    }
    let map: Map<String, Value> = serde_json::from_str(map).ok()?;
    for (name, token) in map {
        if STANDARD.contains(&name.as_str()) || !config.contains_key(&name) {
            // Objects are tokens here, with or without a type.
            let text = token.get("content").cloned().filter(|_| name.ends_with("_token"));
            config.insert(name, text.unwrap_or(token));
        }
    }
    Some(Value::Object(config).to_string())
}

/// The templates in a JSON file with this text.
pub(crate) fn read(path: &Path, text: &str) -> Result<Vec<Source>, SourceError> {
    let fail = |problem: String| SourceError::invalid(path, problem);
    let value: Value =
        serde_json::from_str(text).map_err(|error| fail(format!("the file is not valid JSON: {error}")))?;
    let Value::Object(object) = &value else {
        return Err(fail(format!("the file is {} in JSON; expected an object with the key `{KEY}`", kind(&value))));
    };
    let (tokens, special_tokens) = (tokens_of(object), special_tokens_of(object));
    let source = |variant: Option<&str>, text: &str| Source {
        path: path.to_owned(),
        variant: variant.map(str::to_owned),
        text: text.to_owned(),
        tokens: tokens.clone(),
        special_tokens: special_tokens.clone(),
    };
    let sources = match object.get(KEY) {
        None | Some(Value::Null) => return Err(without(path, object)),
        Some(Value::String(text)) => vec![source(None, text)],
        // `chat_template.json` of a processor: an object from names to texts.
        Some(Value::Object(named)) => {
            let named = named.iter().map(|(name, template)| match template {
                Value::String(text) => Ok(source(Some(name), text)),
                other => Err(fail(format!("`{KEY}.{name}` must be a string with a template, but is {}", kind(other)))),
            });
            named.collect::<Result<Vec<Source>, SourceError>>()?
        }
        // `tokenizer_config.json`: a list of objects with `name` and `template`.
        Some(Value::Array(named)) => {
            let named = named.iter().enumerate().map(|(index, entry)| {
                let field = |key: &str| match entry.get(key) {
                    Some(Value::String(text)) => Ok(text),
                    Some(other) => {
                        Err(fail(format!("`{KEY}[{index}].{key}` must be a string, but is {}", kind(other))))
                    }
                    None => {
                        Err(fail(format!("`{KEY}[{index}]` has no `{key}`; each entry needs `name` and `template`")))
                    }
                };
                Ok(source(Some(field("name")?), field("template")?))
            });
            named.collect::<Result<Vec<Source>, SourceError>>()?
        }
        Some(other) => {
            let expected = "a string with a template, or a list of named templates";
            return Err(fail(format!("`{KEY}` must be {expected}, but is {}", kind(other))));
        }
    };
    if sources.is_empty() {
        return Err(SourceError::no_template(path, format!("`{KEY}` is empty: it lists no template")));
    }
    for (index, source) in sources.iter().enumerate() {
        if sources[..index].iter().any(|other| other.variant == source.variant) {
            let name = source.variant.as_deref().unwrap_or_default();
            return Err(fail(format!("`{KEY}` lists two templates called `{name}`")));
        }
    }
    Ok(sources)
}

/// The special tokens in the text of a `tokenizer_config.json`: those with a role, and all of them.
pub(crate) fn tokens(text: &str) -> Option<(SpecialTokens, Option<Vec<String>>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.as_object().map(|object| (tokens_of(object), special_tokens_of(object)))
}

/// A token is a string, or an object with the string in `content`.
fn token_text(token: &Value) -> Option<String> {
    token.as_str().or_else(|| token.get("content").and_then(Value::as_str)).map(str::to_owned)
}

fn tokens_of(object: &Map<String, Value>) -> SpecialTokens {
    let token = |key: &str| object.get(key).and_then(token_text);
    SpecialTokens { bos: token("bos_token"), eos: token("eos_token"), others: other_tokens_of(object) }
}

/// The tokens other than `bos_token` and `eos_token` that a tokenizer hands to its template, by the rule of transformers 5.24:
/// those with a usual name, every other `*_token` that is a text or an object with a type, and those that the model names itself.
fn other_tokens_of(object: &Map<String, Value>) -> Map<String, Value> {
    let standard = |name: &str| STANDARD.contains(&name);
    let (texts, typed): (Vec<_>, Vec<_>) = object
        .iter()
        .filter(|(name, token)| {
            name.ends_with("_token") && !standard(name) && (token.is_string() || token.get("__type").is_some())
        })
        .partition(|(_, token)| token.is_string());
    let own = object.get(OWN).and_then(Value::as_object).into_iter().flatten();
    let named: Vec<_> = texts.into_iter().chain(own).collect();
    // What is named in another way comes before what was saved.
    let saved = object.get(SAVED).and_then(Value::as_object).filter(|_| named.is_empty()).into_iter().flatten();
    let usual = object.iter().filter(|(name, _)| standard(name) && !matches!(name.as_str(), "bos_token" | "eos_token"));
    let all = usual.chain(typed).chain(named).chain(saved);
    let texts = all.filter_map(|(name, token)| Some((name.clone(), token_text(token)?)));
    texts.map(|(name, text)| (name, text.into())).collect()
}

/// The added tokens that are marked as special, and those that are listed as such.
fn special_tokens_of(object: &Map<String, Value>) -> Option<Vec<String>> {
    let added = object.get("added_tokens_decoder").and_then(Value::as_object);
    // Later versions of transformers write the same list under the other key.
    let lists = [LISTED, OWN].into_iter().filter_map(|key| object.get(key)?.as_array());
    let mut listed = lists.flatten().peekable();
    if added.is_none() && listed.peek().is_none() {
        return None;
    }
    let is_special = |token: &&Value| token.get("special").and_then(Value::as_bool) == Some(true);
    let added = added.into_iter().flat_map(|added| added.values()).filter(is_special);
    let mut tokens: Vec<String> = added.chain(listed).filter_map(token_text).collect();
    tokens.sort_unstable();
    tokens.dedup();
    Some(tokens)
}

/// The error for a file without a template: it lists the keys that the file has, and where the template may be.
fn without(path: &Path, object: &Map<String, Value>) -> SourceError {
    const SHOWN: usize = 8;
    let mut keys: Vec<String> = object.keys().take(SHOWN).map(|key| format!("`{key}`")).collect();
    if object.len() > SHOWN {
        keys.push(format!("{} more", object.len() - SHOWN));
    }
    let held = if keys.is_empty() { "the object is empty".to_owned() } else { format!("it has {}", keys.join(", ")) };
    let mut problem = format!("the file has no template under `{KEY}`: {held}");
    let sibling = MODEL_FILES.iter().map(|own| path.with_file_name(own)).find(|other| other != path && other.is_file());
    match sibling {
        Some(sibling) => problem.push_str(&format!("; try {} next to it", sibling.display())),
        None => problem.push_str("; many models keep the template in a file chat_template.jinja next to it"),
    }
    SourceError::no_template(path, problem)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

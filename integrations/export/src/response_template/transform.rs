//! The `transform` of a field: JSON in which strings such as `{content.name}` are replaced by what a region holds.

use serde_json::Value as Json;

use super::error::{ErrorKind, ReadError};
use super::schema::Transform;
use super::value::{Dict, Value};

/// Reads a transform. The error is the text of a string that has more than a placeholder.
pub(crate) fn from_json(json: &Json) -> Result<Transform, String> {
    Ok(match json {
        Json::Object(map) => {
            let entries = map.iter().map(|(key, json)| Ok((key.clone(), from_json(json)?)));
            Transform::Dict(entries.collect::<Result<_, String>>()?)
        }
        Json::Array(items) => Transform::List(items.iter().map(from_json).collect::<Result<_, _>>()?),
        Json::String(text) => match placeholder(text) {
            Some((path, range)) if range == (0, text.len()) => {
                let mut keys = path.split('.').map(str::to_owned);
                Transform::Placeholder(keys.next().unwrap_or_default(), keys.collect())
            }
            Some(_) => return Err(text.clone()),
            None => Transform::Literal(Value::Text(text.clone())),
        },
        other => Transform::Literal(Value::from(other)),
    })
}

/// The first placeholder of a text: its path, and its range.
fn placeholder(text: &str) -> Option<(&str, (usize, usize))> {
    let is_path = |path: &str| {
        path.split('.').all(|name| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_'))
    };
    text.match_indices('{').find_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        let path = &text[start + 1..end];
        is_path(path).then_some((path, (start, end + 1)))
    })
}

/// The value that a transform makes of the names in a scope.
pub(crate) fn apply(transform: &Transform, scope: &Dict) -> Result<Value, ReadError> {
    Ok(match transform {
        Transform::Literal(value) => value.clone(),
        Transform::List(items) => Value::List(items.iter().map(|item| apply(item, scope)).collect::<Result<_, _>>()?),
        Transform::Dict(entries) => {
            let mut dict = Dict::default();
            for (key, transform) in entries {
                dict.set(key, apply(transform, scope)?);
            }
            Value::Dict(dict)
        }
        Transform::Placeholder(name, keys) => {
            let Some(mut value) = scope.get(name) else {
                let message = format!("the transform asks for {name:?}, which the region does not have");
                return Err(ReadError::new(ErrorKind::Key, message));
            };
            for key in keys {
                let wrong = |message: String| ReadError::new(ErrorKind::Value, message);
                let Value::Dict(dict) = value else {
                    let found = value.type_name();
                    return Err(wrong(format!("the transform asks for the key {key:?} of a value that is a {found}")));
                };
                value = dict
                    .get(key)
                    .ok_or_else(|| wrong(format!("the transform asks for the key {key:?}, which is missing")))?;
            }
            value.clone()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_one_placeholder_or_has_none() {
        let cases = [
            ("{content}", Ok(Transform::Placeholder("content".into(), vec![]))),
            ("{a.b_c}", Ok(Transform::Placeholder("a".into(), vec!["b_c".into()]))),
            ("call {name}", Err("call {name}".to_owned())),
            ("{ no }", Ok(Transform::Literal(Value::Text("{ no }".into())))),
            ("{}{a.}", Ok(Transform::Literal(Value::Text("{}{a.}".into())))),
        ];
        for (text, expected) in cases {
            assert_eq!(from_json(&Json::from(text)), expected, "{text}");
        }
    }
}

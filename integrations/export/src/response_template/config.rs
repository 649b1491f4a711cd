//! Response templates in files: the key `response_template` of a `tokenizer_config.json`, or a file that is a template.
//!
//! A configuration is changed as text. Everything else in it stays as it is, byte for byte: its numbers need not fit into the
//! numbers of a JSON library, and its maintainer wants to see one change.

use std::fmt;
use std::ops::Range;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// The key of response templates in a configuration.
const KEY: &str = "response_template";

/// The response template of a document: the value of its key, or the document itself if it has fields of one.
///
/// ```
/// let config = serde_json::json!({"eos_token": "</s>", "response_template": {"fields": {}}});
/// assert!(unjinja_export::response_template::find(&config).is_some());
/// assert!(unjinja_export::response_template::find(&serde_json::json!({"eos_token": "</s>"})).is_none());
/// ```
#[must_use]
pub fn find(document: &Json) -> Option<&Json> {
    let is_template = document.get("fields").is_some();
    document.get(KEY).filter(|template| !template.is_null()).or(is_template.then_some(document))
}

/// The text of a configuration with this response template in it, as a new key at the end or in place of the old one.
///
/// ```
/// use unjinja_export::response_template::with_template;
///
/// let config = "{\n  \"model_max_length\": 1000000000000000019884624838656\n}\n";
/// assert_eq!(
///     with_template(config, &serde_json::json!({"fields": {}}))?,
///     "{\n  \"model_max_length\": 1000000000000000019884624838656,\n  \"response_template\": {\n    \"fields\": {}\n  }\n}\n"
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// The text is not a JSON object.
pub fn with_template(config: &str, template: &Json) -> Result<String, serde_json::Error> {
    with_key(config, KEY, template)
}

/// The text of a configuration with this chat template in it, in the same way.
///
/// ```
/// use unjinja_export::response_template::with_chat_template;
///
/// let config = "{\n  \"chat_template\": \"old\",\n  \"eos_token\": \"</s>\"\n}\n";
/// let expected = "{\n  \"chat_template\": \"new\",\n  \"eos_token\": \"</s>\"\n}\n";
/// assert_eq!(with_chat_template(config, "new")?, expected);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// The text is not a JSON object.
pub fn with_chat_template(config: &str, template: &str) -> Result<String, serde_json::Error> {
    with_key(config, "chat_template", &Json::from(template))
}

fn with_key(config: &str, name: &str, value: &Json) -> Result<String, serde_json::Error> {
    let members = members(config)?;
    let indent = indent(config);
    let written = indented(value, &indent)?;
    let new = |range: Range<usize>, text: &str| {
        let text = if config.contains("\r\n") { text.replace('\n', "\r\n") } else { text.to_owned() };
        format!("{}{text}{}", &config[..range.start], &config[range.end..])
    };
    // Of several keys of this name, readers take the last.
    if let Some((_, value)) = members.iter().rev().find(|(key, _)| key == name) {
        return Ok(new(value.clone(), &written));
    }
    Ok(match members.last() {
        Some((_, last)) => new(last.end..last.end, &format!(",\n{indent}\"{name}\": {written}")),
        None => format!("{{\n{indent}\"{name}\": {written}\n}}\n"),
    })
}

/// The keys of an object in their order, and where their values are.
fn members(config: &str) -> Result<Vec<(String, Range<usize>)>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(config);
    let members = reader.deserialize_map(Members)?;
    reader.end()?;
    let range = |value: &RawValue| {
        // The value is a part of the text.
        let start = value.get().as_ptr() as usize - config.as_ptr() as usize;
        start..start + value.get().len()
    };
    Ok(members.into_iter().map(|(key, value)| (key, range(value))).collect())
}

/// Reads an object as a list, in which a key may occur twice.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// The white space before the first member, if it is on a line of its own.
fn indent(config: &str) -> String {
    let Some((before, _)) = config.split_once('"') else { return "  ".to_owned() };
    let line = before.rsplit('\n').next().unwrap_or_default();
    match line.trim().is_empty() && !line.is_empty() {
        true => line.to_owned(),
        false => "  ".to_owned(),
    }
}

/// A value over several lines, each but the first with an indentation before it.
fn indented(value: &Json, indent: &str) -> Result<String, serde_json::Error> {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut out, formatter))?;
    Ok(String::from_utf8_lossy(&out).replace('\n', &format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_template_changes() -> Result<(), serde_json::Error> {
        let template = serde_json::json!({"start_anchor": "<a>"});
        let cases = [
            ("{}", "{\n  \"response_template\": {\n    \"start_anchor\": \"<a>\"\n  }\n}\n"),
            (
                "{\n    \"a\": {\"response_template\": 1},\n    \"b\": \"}\\\"\"\n}",
                "{\n    \"a\": {\"response_template\": 1},\n    \"b\": \"}\\\"\",\n    \"response_template\": {\n        \"start_anchor\": \"<a>\"\n    }\n}",
            ),
            (
                "{\"response_template\": {\"x\": [1, {\"y\": 2}]}, \"z\": 1e400}",
                "{\"response_template\": {\n    \"start_anchor\": \"<a>\"\n  }, \"z\": 1e400}",
            ),
            // Line ends stay as they are, and the last of two equal keys counts.
            (
                "{\r\n  \"response_template\": 1,\r\n  \"response_template\": 2\r\n}",
                "{\r\n  \"response_template\": 1,\r\n  \"response_template\": {\r\n    \"start_anchor\": \"<a>\"\r\n  }\r\n}",
            ),
        ];
        for (config, expected) in cases {
            assert_eq!(with_template(config, &template)?, expected);
        }
        assert!(with_template("[]", &template).is_err());
        assert!(with_template("{\"a\": }", &template).is_err());
        Ok(())
    }
}

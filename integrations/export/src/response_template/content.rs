//! The content parsers: what the text of a region becomes. Each function does what the function of transformers with the same
//! purpose does, including what one would not expect of it.

use std::sync::LazyLock;

use super::call_list;
use super::error::{ErrorKind, ReadError};
use super::json::{self, JsonError};
use super::number;
use super::pattern::Pattern;
use super::schema::{Content, Field, JsonArgs, KvArgs, XmlArgs};
use super::text::strip;
use super::transform;
use super::value::{Dict, Value};

/// The characters around the number of a string, while JSON is being corrected.
const MARKS: (char, char) = ('\u{1}', '\u{2}');

/// A text in quotes, or a key without quotes. Of a text in quotes, no line break is escaped.
static QUOTED_OR_KEY: LazyLock<Option<Pattern>> =
    LazyLock::new(|| Pattern::new(r#""(?:\\[^\n]|[^"\\])*"|(?<=[{,])(?P<before>\s*)(?P<key>\w+)(?P<after>\s*):"#).ok());

/// The value of a field: what its region holds, transformed. `captures` are the named groups of its markers.
pub(crate) fn of_field(body: &str, field: &Field, captures: &[(String, String)]) -> Result<Value, ReadError> {
    let value = of_text(Some(body), &field.content)?;
    let Some(template) = &field.transform else { return Ok(value) };
    let mut scope = Dict::default();
    for (name, text) in captures {
        scope.set(name, Value::Text(text.clone()));
    }
    if !field.transform_each {
        scope.set("content", value);
        return transform::apply(template, &scope);
    }
    let wrong = |what: &str, found: &Value| {
        let message = format!("`transform_each` needs {what}, but there is a {}", found.type_name());
        Err(ReadError::new(ErrorKind::Value, message))
    };
    let Value::List(items) = value else { return wrong("a list", &value) };
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        let Value::Dict(members) = &item else { return wrong("dictionaries in its list", &item) };
        let mut scope = scope.clone();
        for (key, value) in members.iter() {
            scope.set(key, value.clone());
        }
        out.push(transform::apply(template, &scope)?);
    }
    Ok(Value::List(out))
}

/// The value of a text; `None` is the text of a group that took no part in a match.
pub(crate) fn of_text(text: Option<&str>, content: &Content) -> Result<Value, ReadError> {
    let missing = |kind| ReadError::new(kind, "a tag has no value");
    let plain = |strips: bool| {
        let text = text.ok_or_else(|| missing(ErrorKind::Attribute))?;
        Ok(if strips { strip(text) } else { text })
    };
    let wrong = |text: &str, what: &str| ReadError::new(ErrorKind::Value, format!("{text:?} is not {what}"));
    match content {
        Content::Text { strip } => plain(*strip).map(|text| Value::Text(text.to_owned())),
        Content::Int { strip } => {
            let text = plain(*strip)?;
            number::int(text).map(Value::Int).ok_or_else(|| wrong(text, "an integer"))
        }
        Content::Float { strip } => {
            let text = plain(*strip)?;
            number::float(text).map(Value::Float).ok_or_else(|| wrong(text, "a number"))
        }
        Content::Bool { strip } => {
            let text = plain(*strip)?.to_lowercase();
            Ok(Value::Bool(text == "true" || text == "1"))
        }
        Content::Json(args) => of_json(text.ok_or_else(|| missing(ErrorKind::Type))?, args),
        Content::XmlInline(args) => of_tags(text.ok_or_else(|| missing(ErrorKind::Type))?, args),
        Content::KvLines(args) => of_lines(text.ok_or_else(|| missing(ErrorKind::Attribute))?, args),
        Content::CallList => call_list::read(text.ok_or_else(|| missing(ErrorKind::Type))?),
    }
}

fn of_json(text: &str, args: &JsonArgs) -> Result<Value, ReadError> {
    if !args.string_delims.is_empty() && text.contains([MARKS.0, MARKS.1]) {
        return Err(ReadError::new(ErrorKind::Value, "the text holds one of the characters U+0001 and U+0002"));
    }
    let corrected = corrected(text, args)?;
    match json::loads(&corrected) {
        Ok(value) => Ok(value),
        Err(JsonError::Depth) => Err(ReadError::new(ErrorKind::Depth, "the JSON is nested too deep")),
        Err(_) if args.allow_non_json => Ok(Value::Text(if args.strip { strip(text) } else { text }.to_owned())),
        Err(JsonError::Syntax(at)) => {
            let message = format!("this is not JSON from byte {at} on: {}", shortened(&corrected));
            Err(ReadError::new(ErrorKind::Value, message))
        }
        Err(JsonError::Digits) => Err(ReadError::new(ErrorKind::Value, "an integer of the JSON has too many digits")),
    }
}

/// JSON with quotes around its strings and keys.
fn corrected(text: &str, args: &JsonArgs) -> Result<String, ReadError> {
    let mut working = text.to_owned();
    let mut strings: Vec<String> = Vec::new();
    for (_, _, pattern) in &args.string_delims {
        working = replaced(&working, pattern, "a string", |found| {
            strings.push(found.first().map(|(_, inside)| inside.clone())?);
            Some(format!("{}{}{}", MARKS.0, strings.len() - 1, MARKS.1))
        })?;
    }
    if let (true, Some(pattern)) = (args.unquoted_keys, &*QUOTED_OR_KEY) {
        working = replaced(&working, pattern, "a key", |found| match found {
            [(_, before), (_, key), (_, after)] => Some(format!("{before}\"{key}\"{after}:")),
            _ => None,
        })?;
    }
    for (number, string) in strings.into_iter().enumerate() {
        let mark = format!("{}{number}{}", MARKS.0, MARKS.1);
        working = working.replace(&mark, &Value::Text(string).to_string());
    }
    Ok(working)
}

/// The text with each match replaced by what is made of the match's groups; `None` leaves it as it is.
fn replaced(
    text: &str,
    pattern: &Pattern,
    what: &str,
    mut new: impl FnMut(&[(String, String)]) -> Option<String>,
) -> Result<String, ReadError> {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for found in pattern.search_all(text).map_err(|_| ReadError::ran_away(what))? {
        out.push_str(&text[done..found.range.start]);
        out.push_str(new(&found.captures).as_deref().unwrap_or(&text[found.range.clone()]));
        done = found.range.end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

fn of_tags(text: &str, args: &XmlArgs) -> Result<Value, ReadError> {
    let mut out = Dict::default();
    let mut merged: Vec<String> = Vec::new();
    let found = args.tag_pattern.pattern.search_all(text).map_err(|_| ReadError::ran_away("the tags"))?;
    for tag in found {
        let group = |name: &str| tag.captures.iter().find(|(group, _)| group == name).map(|(_, text)| text.as_str());
        let Some(key) = group("key") else {
            return Err(ReadError::new(ErrorKind::Value, "a tag has no name"));
        };
        let value = sub_value(group("value"), args.value_parser.as_ref())?;
        let is_merged = merged.iter().any(|known| known == key);
        match out.get_mut(key) {
            Some(Value::List(items)) if args.merge_duplicates && is_merged => items.push(value),
            Some(first) if args.merge_duplicates => {
                *first = Value::List(vec![std::mem::replace(first, Value::Null), value]);
                merged.push(key.to_owned());
            }
            _ => out.set(key, value),
        }
    }
    Ok(Value::Dict(out))
}

fn of_lines(text: &str, args: &KvArgs) -> Result<Value, ReadError> {
    let plain = |text| if args.strip { strip(text) } else { text };
    let mut out = Dict::default();
    for line in text.split(args.line_sep.as_str()) {
        let Some((key, value)) = plain(line).split_once(args.kv_sep.as_str()) else { continue };
        out.set(plain(key), sub_value(Some(plain(value)), args.value_parser.as_ref())?);
    }
    Ok(Value::Dict(out))
}

fn sub_value(text: Option<&str>, parser: Option<&Content>) -> Result<Value, ReadError> {
    match (parser, text) {
        (Some(parser), text) => of_text(text, parser),
        (None, Some(text)) => Ok(Value::Text(text.to_owned())),
        (None, None) => Ok(Value::Null),
    }
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response_template::ResponseTemplate;

    /// What a region with this text holds, by the field `f` of a template.
    fn read(field: serde_json::Value, text: &str) -> String {
        let json = serde_json::json!({"start_anchor": "<a>", "fields": {"f": field}});
        let template = match ResponseTemplate::from_json(&json) {
            Ok(template) => template,
            Err(problems) => return problems.to_string(),
        };
        match of_field(text, &template.fields[0], &[]) {
            Ok(value) => value.to_string(),
            Err(error) => format!("{:?}: {error}", error.kind),
        }
    }

    #[test]
    fn json_in_the_forms_of_models_is_read() {
        let args = serde_json::json!({"unquoted_keys": true, "string_delims": [["<|\"|>", "<|\"|>"]]});
        let field = serde_json::json!({"content": "json", "content_args": args});
        let text = "{city:<|\"|>a, b: \"c\"<|\"|>,n:{x:1,é:[true]}}";
        assert_eq!(read(field.clone(), text), r#"{"city": "a, b: \"c\"", "n": {"x": 1, "é": [true]}}"#);
        assert_eq!(read(field.clone(), "{a: 1}"), "{\"a\": 1}");
        let quoted = r#"{ a :"x,b:\"c,d:", e: 1}"#;
        assert_eq!(read(field, quoted), r#"{"a": "x,b:\"c,d:", "e": 1}"#);
    }

    #[test]
    fn tags_and_lines_are_read() {
        let args = serde_json::json!({
            "tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</>",
            "merge_duplicates": true,
            "value_parser": {"name": "json", "args": {"allow_non_json": true}}
        });
        let tags = serde_json::json!({"content": "xml-inline", "content_args": args});
        assert_eq!(read(tags.clone(), "<a>1</><b> x </><a>[2]</><a>3</>"), r#"{"a": [1, [2], 3], "b": "x"}"#);
        assert_eq!(read(tags, "<a>[1]</><a>[2]</>"), r#"{"a": [[1], [2]]}"#);
        let lines = serde_json::json!({"content": "kv-lines"});
        assert_eq!(read(lines, " a: 1:2 \nno\n b :x"), r#"{"a": "1:2", "b": "x"}"#);
    }
}

//! JSON pointers into the schema of a tool's arguments.

use serde_json::Value;

/// The pointer that a reference amounts to, if it leads to a schema in `root`: `#/$defs/NAME`, with any percent escapes, or
/// `#ANCHOR`.
pub(super) fn of(root: &Value, reference: &str) -> Option<String> {
    let text = unescaped(reference.strip_prefix('#')?)?;
    let pointer = if text.is_empty() || text.starts_with('/') { text } else { anchor(root, &text, "")? };
    root.pointer(&pointer).map(|_| pointer)
}

/// The pointer of a member of the value at a pointer.
pub(super) fn below(pointer: &str, member: &str) -> String {
    format!("{pointer}/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// The path that people read, from a JSON pointer into the schema of the arguments.
pub(super) fn shown(pointer: &str) -> String {
    let mut path = "parameters".to_owned();
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
        if key.chars().all(|c| c.is_ascii_digit()) && plain {
            path.push_str(&format!("[{key}]"));
        } else if plain {
            path.push_str(&format!(".{key}"));
        } else {
            path.push_str(&format!("[{key:?}]"));
        }
    }
    path
}

/// The schema with this `$anchor`, at a pointer or below it.
fn anchor(value: &Value, name: &str, at: &str) -> Option<String> {
    match value {
        Value::Object(members) if members.get("$anchor").is_some_and(|found| found == name) => Some(at.to_owned()),
        Value::Object(members) => members.iter().find_map(|(key, member)| anchor(member, name, &below(at, key))),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| anchor(item, name, &format!("{at}/{index}")))
        }
        _ => None,
    }
}

/// The text without percent escapes.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_become_pointers() {
        let root = json!({"$defs": {"a/b~c%d": {}, "x": [{"$anchor": "here"}]}});
        for (reference, pointer) in [
            ("#", Some("")),
            ("#/$defs/a~1b~0c%25d", Some("/$defs/a~1b~0c%d")),
            ("#/%24defs/x", Some("/$defs/x")),
            ("#here", Some("/$defs/x/0")),
            ("#there", None),
            ("#/$defs/y", None),
            ("other.json#/$defs/x", None),
            ("#/%", None),
        ] {
            assert_eq!(of(&root, reference).as_deref(), pointer, "{reference}");
        }
    }

    #[test]
    fn pointers_are_shown_as_paths() {
        assert_eq!(shown(""), "parameters");
        let pointer = below("/properties/a/anyOf/1/properties", "b c/d");
        assert_eq!(shown(&pointer), "parameters.properties.a.anyOf[1].properties[\"b c/d\"]");
    }
}

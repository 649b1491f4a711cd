//! JSON pointers into the schema of a tool's arguments.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_shown_as_paths() {
        assert_eq!(shown(""), "parameters");
        assert_eq!(
            shown("/properties/a/anyOf/1/properties/b c~1d"),
            "parameters.properties.a.anyOf[1].properties[\"b c/d\"]"
        );
    }
}

//! The message that a parser reports, and the comparison of two of them.

use serde_json::Value;

/// What a parser reported, with all deltas appended.
#[derive(Default, Clone)]
pub struct Heard {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<Called>,
}

/// One call: its name, and its arguments as JSON text.
#[derive(Default, Clone)]
pub struct Called {
    pub name: String,
    pub arguments: String,
}

impl Heard {
    /// The call with this index; added if it is new.
    pub fn call(&mut self, index: usize) -> &mut Called {
        while self.calls.len() <= index {
            self.calls.push(Called::default());
        }
        &mut self.calls[index]
    }

    /// The first difference from the expected message, if there is one. White space at the ends of texts is ignored,
    /// and arguments are compared as JSON values.
    pub fn differs(&self, meant: &Heard) -> Option<String> {
        let mut found = Vec::new();
        for (what, heard, meant) in
            [("reasoning", &self.reasoning, &meant.reasoning), ("content", &self.content, &meant.content)]
        {
            if let Some(how) = texts(heard.trim(), meant.trim()) {
                found.push(format!("{what} {how}"));
            }
        }
        if self.calls.len() == meant.calls.len() {
            for (index, (heard, meant)) in self.calls.iter().zip(&meant.calls).enumerate() {
                if heard.name != meant.name {
                    found.push(format!("call {index} is named `{}`", short(&heard.name)));
                    break;
                }
                if let Some(how) = arguments(&heard.arguments, &meant.arguments) {
                    found.push(format!("call {index}: arguments {how}"));
                    break;
                }
            }
        } else {
            found.push(format!("{} calls of {}", self.calls.len(), meant.calls.len()));
        }
        (!found.is_empty()).then(|| found.join("; "))
    }
}

fn texts(heard: &str, meant: &str) -> Option<String> {
    if heard == meant {
        return None;
    }
    if heard.is_empty() {
        return Some("missing".into());
    }
    if meant.is_empty() {
        return Some(format!("not empty: `{}`", short(heard)));
    }
    let at = heard.bytes().zip(meant.bytes()).take_while(|(a, b)| a == b).count();
    let at = (0..=at).rev().find(|at| heard.is_char_boundary(*at)).unwrap_or(0);
    if at == heard.len() {
        return Some(format!("ends after {at} of {} bytes", meant.len()));
    }
    Some(format!("differs at byte {at}: `{}`", short(&heard[at..])))
}

fn arguments(heard: &str, meant: &str) -> Option<String> {
    let Ok(value) = serde_json::from_str::<Value>(heard) else {
        let form = if heard.is_empty() { "missing".into() } else { format!("no JSON: {} bytes", heard.len()) };
        return Some(form);
    };
    let meant: Value = serde_json::from_str(meant).unwrap_or_default();
    if value == meant {
        return None;
    }
    let (Value::Object(value), Value::Object(meant)) = (&value, &meant) else {
        return Some("no object".into());
    };
    if let Some((key, _)) = value.iter().find(|(key, _)| !meant.contains_key(*key)) {
        return Some(format!("have another key `{}`", short(key)));
    }
    for (key, meant) in meant {
        match (value.get(key), meant) {
            (None, _) => return Some(format!("lack `{key}`")),
            (Some(Value::String(heard)), Value::String(meant)) if heard != meant => {
                return Some(format!("`{key}` {}", texts(heard, meant).unwrap_or_default()));
            }
            (Some(Value::String(_)), meant) if !meant.is_string() => return Some(format!("`{key}` became a string")),
            (Some(heard), meant) if heard != meant => return Some(format!("`{key}` has another value")),
            _ => {}
        }
    }
    None
}

/// The beginning of a text, on one line of a table.
fn short(text: &str) -> String {
    let text: String = text.chars().take(24).collect();
    text.replace('\n', "\\n").replace('`', "'").replace('|', "¦")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &str, arguments: &str) -> Heard {
        Heard {
            content: content.into(),
            calls: vec![Called { name: "f".into(), arguments: arguments.into() }],
            ..Heard::default()
        }
    }

    #[test]
    fn white_space_at_the_ends_and_the_order_of_keys_do_not_count() {
        let meant = message("a b", r#"{"x": 1, "y": [2.5]}"#);
        assert_eq!(message("\na b ", r#"{"y":[2.5],"x":1}"#).differs(&meant), None);
    }

    #[test]
    fn every_difference_is_told() {
        let meant = message("a b", r#"{"x": 1}"#);
        for (heard, how) in [
            (message("a", r#"{"x":1}"#), "content ends after 1 of 3 bytes"),
            (message("a c", r#"{"x":1}"#), "content differs at byte 2: `c`"),
            (message("a b", r#"{"x":"1"}"#), "call 0: arguments `x` became a string"),
            (message("a b", r#"{"x":1"#), "call 0: arguments no JSON: 6 bytes"),
            (message("a b", r#"{"x":2}"#), "call 0: arguments `x` has another value"),
            (message("a b", "{}"), "call 0: arguments lack `x`"),
            (Heard { content: "a b".into(), ..Heard::default() }, "0 calls of 1"),
            (Heard { reasoning: "r".into(), ..meant.clone() }, "reasoning not empty: `r`"),
        ] {
            assert_eq!(heard.differs(&meant).as_deref(), Some(how));
        }
    }
}

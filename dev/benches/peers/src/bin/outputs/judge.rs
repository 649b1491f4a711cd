//! Compares a message with the expected one. White space at the ends of texts does not count. Arguments are values;
//! where a call was cut short, what is open is closed before they are compared.

use serde_json::Value;
use unjinja_peers::message::Heard;

/// What differs; `None` if the message is the expected one.
pub fn differs(meant: &Heard, not_asserted: &[String], heard: &Heard) -> Option<&'static str> {
    let asserted = |field: &str| !not_asserted.iter().any(|known| known == field);
    let names = |message: &Heard| message.calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    if asserted("tool_calls") && names(meant) != names(heard) {
        return Some("calls");
    }
    let mut calls = meant.calls.iter().zip(&heard.calls);
    if !calls.all(|(meant, heard)| Arguments::of(&meant.arguments) == Arguments::of(&heard.arguments)) {
        return Some("arguments");
    }
    [("reasoning_content", &meant.reasoning, &heard.reasoning), ("content", &meant.content, &heard.content)]
        .into_iter()
        .find(|(field, meant, heard)| asserted(field) && meant.trim() != heard.trim())
        .map(|(field, _, _)| field)
}

/// Arguments as a value; as text without white space if they are not JSON even when closed.
enum Arguments {
    Json(Value),
    Text(String),
}

impl Arguments {
    fn of(text: &str) -> Self {
        let whole = if text.trim().is_empty() { "{}" } else { text };
        let value = serde_json::from_str(whole).or_else(|_| serde_json::from_str(&closed(text)));
        value.map_or_else(|_| Self::Text(text.split_whitespace().collect()), Self::Json)
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(a), Self::Json(b)) => same(a, b),
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => false,
        }
    }
}

/// Whether two values are equal; `1` and `1.0` are.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

/// JSON that was cut short, with its open string, lists and objects closed.
fn closed(text: &str) -> String {
    let mut open = Vec::new();
    let (mut inside, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ if inside => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    let quote = if inside { "\"" } else { "" };
    text.chars().chain(quote.chars()).chain(open.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use unjinja_peers::message::Called;

    use super::*;

    fn call(arguments: &str) -> Heard {
        let calls = vec![Called { name: "f".into(), arguments: arguments.into() }];
        Heard { content: "a".into(), calls, ..Heard::default() }
    }

    #[test]
    fn arguments_are_compared_as_values() {
        for (meant, heard, differs_in) in [
            (r#"{"x": 1, "y": [2]}"#, r#"{"y":[2.0],"x":1}"#, None),
            ("{}", "", None),
            (r#"{"x": ["a\""]}"#, r#"{"x": ["a\"" "#, None),
            (r#"{"x": "a"}"#, r#"{"x": "a"#, None),
            ("f( x )", "f(x)", None),
            (r#"{"x": 1}"#, r#"{"x": "1"}"#, Some("arguments")),
            ("{}", "f(x)", Some("arguments")),
        ] {
            assert_eq!(differs(&call(meant), &[], &call(heard)), differs_in, "{meant} {heard}");
        }
    }

    #[test]
    fn fields_that_the_source_does_not_give_are_not_compared() {
        let meant = call("{}");
        let heard = Heard { content: " a\n".into(), ..Heard::default() };
        assert_eq!(differs(&meant, &[], &heard), Some("calls"));
        assert_eq!(differs(&meant, &["tool_calls".into()], &heard), None);
        let heard = Heard { content: "b".into(), ..heard };
        assert_eq!(differs(&meant, &["tool_calls".into()], &heard), Some("content"));
        assert_eq!(differs(&meant, &["tool_calls".into(), "content".into()], &heard), None);
    }
}

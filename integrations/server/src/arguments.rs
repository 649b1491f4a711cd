//! Arguments that may be cut short or malformed, on their way to a client that takes nothing but objects, in a stream in which
//! nothing can be taken back.
//!
//! What a client assembles must be the object that [`object`] makes of the whole text. So a piece is sent only up to the last place
//! at which the text can be closed.

use serde_json::{Map, Value};
use unjinja_runtime::close_json;
use unjinja_runtime::literals::{StablePrefix, StableText};

/// The member that holds the text of malformed arguments where an object is demanded.
pub(crate) const UNPARSED: &str = "unparsed";

/// The maximum depth of arguments. Readers of JSON refuse what nests deeper than about 128.
const DEEPEST: usize = 100;

/// The arguments as an object. Text that is not JSON goes into a member [`UNPARSED`].
fn object(arguments: &str) -> String {
    if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return arguments.to_owned();
    }
    let mut prefix = StablePrefix::new(DEEPEST);
    prefix.push(arguments);
    if !prefix.is_over() {
        return close_json(arguments);
    }
    let (kept, rest) = arguments.split_at(prefix.kept());
    let closed = close_json(kept);
    let start = closed.strip_suffix('}').unwrap_or("{");
    let comma = if start.trim() == "{" { "" } else { ", " };
    format!("{start}{comma}\"{UNPARSED}\": {}}}", Value::from(rest))
}

/// The arguments of a call that is being streamed.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentStream(StableText);

impl ArgumentStream {
    pub(crate) fn new() -> Self {
        Self(StableText::new(DEEPEST))
    }

    /// Takes the next piece and returns what can be sent.
    pub(crate) fn push(&mut self, piece: &str) -> &str {
        self.0.push(piece)
    }

    /// The call is over. Returns what is still to be sent.
    pub(crate) fn finish(self) -> String {
        self.0.finish(object)
    }
}

#[cfg(test)]
mod tests {
    use unjinja_testkit::random::Random;

    use super::*;

    const TEXTS: [&str; 14] = [
        r#"{"city": "Paris", "days": [1, -2.50e+3, true], "deep": {"a": {"b": [null, {}]}}}"#,
        r#"{"text": "a\"b\\c\u00e9\ud83d\ude00 日本 😀", "": ""}"#,
        "{\n  \"a\" : 1 ,\n  \"b\" : [ ]\n}\n",
        "{}",
        "",
        "  ",
        r#"{"a": 01}"#,
        r#"{"a": flase, "b": 1}"#,
        "{\"a\": \"line\nbreak\"}",
        r#"{"a": "\ud83d x", "b": "\q"}"#,
        r#"{"a": 1} and more"#,
        r#"[1, 2]"#,
        "Paris",
        r#"{"a": 1]"#,
    ];

    /// Sends a text in random pieces.
    fn streamed(text: &str, random: &mut Random) -> String {
        let mut stream = ArgumentStream::new();
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = (1 + random.below(7)..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(at);
            out.push_str(stream.push(piece));
            rest = tail;
        }
        out + &stream.finish()
    }

    #[test]
    fn what_is_sent_in_pieces_is_the_object() {
        let mut random = Random::new(7);
        for text in TEXTS {
            for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
                let cut = &text[..end];
                let whole = object(cut);
                assert_eq!(streamed(cut, &mut random), whole, "{cut:?}");
                let value: Value = serde_json::from_str(&whole).unwrap();
                assert!(value.is_object(), "{cut:?} -> {whole}");
            }
        }
    }

    #[test]
    fn malformed_arguments_keep_their_text() {
        for (text, expected) in [
            (r#"{"path": "/tmp", "all": flase}"#, r#"{"path": "/tmp", "all": null, "unparsed": "flase}"}"#),
            (r#"{"a": {"b": x}}"#, r#"{"a": {"b": null}, "unparsed": "x}}"}"#),
            (r#"{"a": 1} and"#, r#"{"a": 1, "unparsed": "} and"}"#),
            ("Paris", r#"{"unparsed": "Paris"}"#),
            ("[1]", r#"{"unparsed": "[1]"}"#),
            ("", "{}"),
            (r#"{"a": "b"#, r#"{"a": "b"}"#),
        ] {
            assert_eq!(object(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_that_nest_too_deep_keep_their_text() {
        let text = format!("{{\"a\": {}{}}}", "[".repeat(500), "]".repeat(500));
        let mut random = Random::new(1);
        let whole = object(&text);
        assert_eq!(streamed(&text, &mut random), whole);
        let value: Map<String, Value> = serde_json::from_str(&whole).unwrap();
        assert_eq!(value[UNPARSED].as_str().map(str::len), Some(1000 + 1 - (DEEPEST - 1)));
    }

    #[test]
    fn arguments_stream() {
        let mut stream = ArgumentStream::new();
        assert_eq!(stream.push(r#"{"city": "Par"#), r#"{"city": "Par"#);
        assert_eq!(stream.push(r#"is", "da"#), r#"is""#);
        assert_eq!(stream.push(r#"ys": 2}"#), r#", "days": 2"#);
        assert_eq!(stream.finish(), "}");
    }
}

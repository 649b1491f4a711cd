//! Quotes in the strings of call expressions. Models often forget to escape them.

/// How far a quote looks ahead, in bytes. A longer name or white space is not read to its end.
const FAR: usize = 64;

/// Whether a quote ends a string that is an argument of a call expression, as what follows it shows; `None` if it takes more
/// text to tell.
///
/// It does not if text follows: a word, another quote, or a comma and one of these. The name of the next argument is not text.
/// `broken`: the string already had a quote in it that was not escaped. Then a bracket may belong to it too, so that the call
/// has to end after the bracket.
pub(super) fn ends_string(rest: &[u8], broken: bool) -> Option<bool> {
    let text = behind_blanks(rest)?;
    match text[0] {
        b')' | b']' | b'}' if broken => {
            let next = text[1..].iter().find(|byte| !matches!(byte, b' ' | b'\t'))?;
            Some(matches!(next, b',' | b')' | b']' | b'}' | b'<' | b'\r' | b'\n') && *next != text[0])
        }
        b',' => {
            let next = behind_blanks(&text[1..])?;
            match is_name(next)? {
                false if is_text(next[0]) => is_name_of_words(next),
                _ => Some(true),
            }
        }
        byte if broken => Some(byte == b'<'),
        byte if is_text(byte) => is_name(text),
        _ => Some(true),
    }
}

/// Whether text continues with this byte.
fn is_text(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'"' | b'\'' | b'.' | b'!' | b'?' | b'+')
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte == b'-' || byte >= 0x80 || byte.is_ascii_alphanumeric()
}

pub(super) fn behind_blanks(text: &[u8]) -> Option<&[u8]> {
    let blanks = text.iter().take(FAR).take_while(|byte| byte.is_ascii_whitespace()).count();
    text.get(blanks..).filter(|rest| !rest.is_empty())
}

/// Whether this is the name of an argument and what comes before its value.
pub(super) fn is_name(text: &[u8]) -> Option<bool> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'=:,()[]{}<>".contains(byte);
    let name = text.iter().take(FAR).take_while(|byte| !ends(byte));
    match name.count() {
        0 => Some(false),
        FAR => Some(true),
        count => behind_blanks(&text[count..]).map(|rest| matches!(rest[0], b'=' | b':')),
    }
}

/// Whether these words are the name of an argument. Words of a sentence look alike, so a literal must follow.
fn is_name_of_words(text: &[u8]) -> Option<bool> {
    let ends = |byte: &u8| b"\"'=:,()[]{}<>.;?!\r\n".contains(byte);
    let Some(end) = text.iter().take(FAR).position(ends) else { return (text.len() >= FAR).then_some(false) };
    if !matches!(text[end], b'=' | b':') {
        return Some(false);
    }
    let value = behind_blanks(&text[end + 1..])?;
    let words = ["True", "False", "None", "true", "false", "null"];
    let is_whole = |word: &&str| value.starts_with(word.as_bytes());
    let is_begun = |word: &&str| word.as_bytes().starts_with(value);
    match value[0] {
        b'"' | b'\'' | b'-' | b'[' | b'{' | b'0'..=b'9' => Some(true),
        _ if words.iter().any(is_whole) => Some(true),
        _ => (!words.iter().any(is_begun)).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::ends_string;

    #[test]
    fn a_quote_ends_a_string_before_what_may_follow_one() {
        for rest in [
            ")",
            " )",
            "\n)",
            "]",
            ", b=1",
            ",b = 1",
            " b=1",
            ", )",
            "<|end|>",
            "}",
            " größe=1",
            "; b",
            ", a/b.c=1",
            ",$x = 1",
            ", max results=5",
            ", the last day: \"x\"",
            ", is it so=None",
        ] {
            assert_eq!(ends_string(rest.as_bytes(), false), Some(true), "{rest:?}");
        }
        for rest in [
            "hi\"",
            " hi there",
            ", hi there.",
            ", press a=b",
            ", press a = now",
            "\"",
            "+ 1",
            ", \"b\"",
            ". x",
            ", b(",
        ] {
            assert_eq!(ends_string(rest.as_bytes(), false), Some(false), "{rest:?}");
        }
    }

    #[test]
    fn in_a_broken_string_the_call_must_end_behind_a_bracket() {
        for rest in [")]", "})", "), g(b=1)", ")\n", ")<|end|>", "]\n", ", b=1"] {
            assert_eq!(ends_string(rest.as_bytes(), true), Some(true), "{rest:?}");
        }
        for rest in [")\"", ") or", "))", "].x", " b=1", ")."] {
            assert_eq!(ends_string(rest.as_bytes(), true), Some(false), "{rest:?}");
        }
    }

    #[test]
    fn a_quote_waits_for_what_it_takes_to_tell() {
        for rest in ["", " ", ",", ", ", ", b", ", b ", " b", ", hi there", ", a b=", ", a b=Tru"] {
            assert_eq!(ends_string(rest.as_bytes(), false), None, "{rest:?}");
        }
        assert_eq!(ends_string(b")", true), None);
        assert_eq!(ends_string(&b"a".repeat(64), false), Some(true));
        assert_eq!(ends_string(&b" ".repeat(65), false), Some(true));
    }
}

//! Special tokens: texts that a tokenizer keeps apart from all other text, so that prose does not contain them by chance.

/// Whether a text begins with a special token, by its form: `<|end|>`, `<|tool_call>`, `<tool_call|>`, `<｜end｜>`, `[CALL]`.
/// A tag such as `<tool_call>` may occur in prose, so it does not count as one.
pub fn is_special_token(text: &[u8]) -> bool {
    let bars: [&[u8]; 2] = [b"|", "｜".as_bytes()];
    match text {
        [b'<', rest @ ..] => {
            let end = rest.iter().position(|byte| matches!(byte, b'>' | b'<') || byte.is_ascii_whitespace());
            let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let name = name.strip_prefix(b"/").unwrap_or(name);
            bars.iter().any(|bar| name.starts_with(bar) || name.ends_with(bar))
        }
        [b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| *byte == b']').unwrap_or(0);
            let name = rest[..end].strip_prefix(b"/").unwrap_or(&rest[..end]);
            name.len() > 1 && name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'))
        }
        // Brackets that face outwards, around a name: `]<]name[>[`.
        [left, b'<', inner, ..] => left == inner && matches!(left, b']' | b')' | b'}'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_known_by_their_form() {
        for text in [
            "<|end|>",
            "<|tool_call>",
            "<tool_call|>x",
            "<｜end｜>",
            "</｜DSML｜invoke>",
            "[CALL]",
            "[/INST]",
            "]<]own[>[",
        ] {
            assert!(is_special_token(text.as_bytes()), "{text}");
        }
        for text in ["<tool_call>", "</think>", "[1]", "[A]", "[x]", "a <|b|>", "< |", "{", ""] {
            assert!(!is_special_token(text.as_bytes()), "{text}");
        }
    }
}

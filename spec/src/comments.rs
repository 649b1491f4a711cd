//! Finds the comments of a TOML file. The TOML parser drops them, but overlays need them: they hold the reasons.
//!
//! The scan only knows strings and comments. It expects a file that the TOML parser accepted.

/// A comment of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Whether nothing else is on its line.
    pub(crate) alone: bool,
    /// Its text, without `#`.
    pub(crate) text: String,
}

/// Where the scan is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// A string that ends at `quote` times `width`.
    String {
        quote: u8,
        width: usize,
    },
}

/// All comments of a file, in order.
pub(crate) fn comments(source: &str) -> Vec<Comment> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let mut inside = Inside::Nothing;
    while let Some(&byte) = bytes.get(at) {
        let run = bytes[at..].iter().take_while(|b| **b == byte).count();
        let mut step = 1;
        match (inside, byte) {
            (_, b'\n') => {
                line += 1;
                line_start = at + 1;
            }
            (Inside::Nothing, b'#') => {
                let text = &source[at..];
                let text = &text[..text.find('\n').unwrap_or(text.len())];
                found.push(Comment {
                    line,
                    alone: source[line_start..at].trim_matches('\u{FEFF}').trim().is_empty(),
                    text: text.trim_start_matches('#').trim().to_owned(),
                });
                step = text.len();
            }
            (Inside::Nothing, quote @ (b'"' | b'\'')) => {
                let width = if run >= 3 { 3 } else { 1 };
                if run == 2 {
                    step = 2; // an empty string
                } else {
                    step = width;
                    inside = Inside::String { quote, width };
                }
            }
            (Inside::String { quote: b'"', .. }, b'\\') if bytes.get(at + 1) != Some(&b'\n') => step = 2,
            (Inside::String { quote, width }, byte) if byte == quote && run >= width => {
                // The string may end with up to two quotes directly before the three that close it.
                step = if width == 3 { run.min(5) } else { 1 };
                inside = Inside::Nothing;
            }
            (Inside::String { .. }, b'"' | b'\'') => step = run,
            _ => {}
        }
        at += step;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hide_their_number_signs() {
        let source = "# one\na = \"x # \\\" # no\" # two\nb = '''\n# no '' \n''''' # three\nc = \"\" # four\n\
                      d = [ # five\n  '#', # six\n]\ne = \"\"\"\\\n  # no \\\\\"\"\"#seven";
        let found = comments(source);
        let texts: Vec<&str> = found.iter().map(|comment| comment.text.as_str()).collect();
        assert_eq!(texts, ["one", "two", "three", "four", "five", "six", "seven"]);
        assert!(found[0].alone && !found[1].alone);
        assert_eq!(found[2].line, 5);
    }
}

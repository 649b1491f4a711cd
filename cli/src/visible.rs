//! Makes text from templates and models safe to show: characters that are invisible, move the cursor or reverse the text
//! are written as escapes.

/// How one character is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The character itself.
    Char(char),
    /// The end of a line.
    Newline,
    Escape(String),
}

/// How a character is shown.
pub(crate) fn shown(c: char) -> Shown {
    match c {
        '\n' => Shown::Newline,
        '\t' => Shown::Escape("\\t".to_owned()),
        '\r' => Shown::Escape("\\r".to_owned()),
        c if unjinja_spec::is_hidden(c) => Shown::Escape(format!("\\u{{{:x}}}", u32::from(c))),
        c => Shown::Char(c),
    }
}

/// A text on one line: line ends are shown as `↵`.
pub(crate) fn line(text: &str) -> String {
    write(text, "↵")
}

/// A text of several lines.
pub(crate) fn lines(text: &str) -> String {
    write(text, "\n")
}

fn write(text: &str, newline: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match shown(c) {
            Shown::Char(c) => out.push(c),
            Shown::Newline => out.push_str(newline),
            Shown::Escape(escape) => out.push_str(&escape),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_gets_through() {
        assert_eq!(line("a\n\tb\u{1b}[31m\u{202e}c é 😀"), "a↵\\tb\\u{1b}[31m\\u{202e}c é 😀");
        assert_eq!(lines("a\nb\r\u{7f}\u{85}\u{2028}\u{feff}"), "a\nb\\r\\u{7f}\\u{85}\\u{2028}\\u{feff}");
    }
}

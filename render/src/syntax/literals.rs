//! String literals as Python reads them. minijinja has other escapes (JSON's), so the parser reads the source text of each
//! literal again with this.

/// The value of one or more adjacent string literals; `None` if `written` is something else.
///
/// Python joins adjacent literals: `'a' "b"` is `ab`.
pub(crate) fn python_literals(written: &str) -> Option<String> {
    let mut rest = written.trim();
    let mut text = String::new();
    while let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find_map(|(i, c)| {
            let ends = !escaped && c == quote;
            escaped = !escaped && c == '\\';
            ends.then_some(i)
        })?;
        unescape(rest.get(1..end)?, &mut text)?;
        rest = rest.get(end + 1..)?.trim_start();
    }
    rest.is_empty().then_some(text)
}

/// Appends `body` with Python's escape sequences replaced. An unknown escape is kept, including its backslash. `None` for
/// an incomplete escape or one that names no character.
fn unescape(body: &str, text: &mut String) -> Option<()> {
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let escape = chars.next()?;
        let replacement = match escape {
            '\n' => continue,
            '\\' | '\'' | '"' => escape,
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '0'..='7' => {
                let mut code = escape.to_digit(8)?;
                for _ in 0..2 {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => code = code * 8 + digit,
                        None => break,
                    }
                    chars.next();
                }
                char::from_u32(code)?
            }
            'x' | 'u' | 'U' => {
                let digits = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let mut code = 0;
                for _ in 0..digits {
                    code = code * 16 + chars.next()?.to_digit(16)?;
                }
                char::from_u32(code)?
            }
            other => {
                text.push('\\');
                other
            }
        };
        text.push(replacement);
    }
    Some(())
}

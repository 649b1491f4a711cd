//! Characters and strings as Python sees them: white space, printable characters, HTML escapes.

use crate::error::Outcome;
use crate::labels::Encoding;
use crate::run::Run;
use crate::value::types::Text;

/// `str.isspace` of one character.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// `str.isprintable` of one character. Unassigned code points count as printable, other than in Python.
pub(crate) fn printable(c: char) -> bool {
    if c == ' ' {
        return true;
    }
    let code = c as u32;
    let format = matches!(code,
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0x110bd | 0x110cd
        | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe007f);
    let private = matches!(code, 0xe000..=0xf8ff | 0xf_0000..);
    let nothing = matches!(code, 0xfdd0..=0xfdef) || code & 0xfffe == 0xfffe;
    !(c.is_control() || c.is_whitespace() || format || private || nothing)
}

/// HTML-escapes a text, unless it is safe already.
pub(crate) fn escape(run: &Run, text: &Text) -> Outcome<Text> {
    if text.safe {
        return Ok(text.clone());
    }
    run.make(text.s.len().saturating_mul(2))?;
    let escaped = text.mapped(
        run,
        Encoding::Escape,
        |b| b"&<>\"'".contains(&b),
        |c, out| match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        },
    )?;
    Ok(Text { safe: true, ..escaped })
}

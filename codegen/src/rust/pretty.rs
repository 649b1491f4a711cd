//! Formats generated items as readable Rust source.

use proc_macro2::TokenStream;

/// Formats generated items as Rust source.
///
/// # Errors
/// The tokens are not valid Rust items.
pub fn format(tokens: TokenStream) -> Result<String, syn::Error> {
    Ok(spaced(&filled(&prettyplease::unparse(&syn::parse2(tokens)?))))
}

const WIDTH: usize = 120;

/// Puts several short elements of a list on one line; prettyplease writes one a line.
fn filled(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let (mut in_text, mut room) = (false, 0);
    for line in source.lines() {
        let body = line.trim_start();
        let begins_text = body.contains("r#\"");
        in_text = (in_text || begins_text) && !body.contains("\"#");
        if in_text || !is_short_element(body) {
            room = 0;
        } else if body.len() < room {
            out.truncate(out.len() - 1);
            out.push(' ');
            out.push_str(body);
            out.push('\n');
            room -= body.len() + 1;
            continue;
        } else {
            room = WIDTH.saturating_sub(line.len());
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Whether a line is one element of a list of texts, actions or rows.
fn is_short_element(line: &str) -> bool {
    let Some(element) = line.strip_suffix(',') else { return false };
    let is_row = || element.starts_with('[') && element.bytes().all(|byte| b"[], 0123456789".contains(&byte));
    let is_text = |text: &str| text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    let text = element.strip_prefix("text(").and_then(|text| text.strip_suffix(')'));
    is_row() || is_text(text.unwrap_or(element)) || element.strip_prefix("Action::").is_some_and(is_word)
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Puts a blank line between items; prettyplease does not.
fn spaced(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut previous = "";
    for line in source.lines() {
        let body = line.trim_start();
        let depth = line.len() - body.len();
        let begins = ["/// ", "#[", "pub fn ", "fn ", "impl ", "pub mod ", "pub const ", "const "];
        let begins = depth <= 4 && begins.iter().any(|start| body.starts_with(start));
        let attached = previous.is_empty()
            || previous.ends_with('{')
            || previous.trim_start().starts_with("///")
            || previous.trim_start().starts_with("#[");
        // No blank line between short constants.
        let short = previous.ends_with(';') && body.starts_with("const ");
        if begins && !attached && !short && (depth == 0 || body.starts_with("fn ") || body == "#[inline]") {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        previous = line;
    }
    out
}

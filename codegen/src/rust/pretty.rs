//! Formats generated items as readable Rust source.

use proc_macro2::TokenStream;

/// Formats generated items as Rust source.
///
/// # Errors
/// The tokens are not valid Rust items.
pub fn format(tokens: TokenStream) -> Result<String, syn::Error> {
    Ok(spaced(&prettyplease::unparse(&syn::parse2(tokens)?)))
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

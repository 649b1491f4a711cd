//! Names of types, and texts of documentation comments.

use std::collections::BTreeSet;

use heck::ToUpperCamelCase;
use proc_macro2::TokenStream;

/// The names of the types that were given away.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.0.insert(name.to_owned())
    }

    /// Takes a name, or the name with the first free number from 2 on.
    pub(super) fn take_free(&mut self, name: &str) -> String {
        let name = type_name(name);
        let numbered = (2..).map(|number| type_name(&format!("{name}{number}")));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| self.take(name));
        free.unwrap_or(name)
    }
}

/// The name of a type, from any text: `get_weather` becomes `GetWeather`. Idempotent: `typify` normalises names again, so
/// `type_name(type_name(text)) == type_name(text)`.
pub(super) fn type_name(text: &str) -> String {
    let mut name = text.to_owned();
    for _ in 0..8 {
        let next = type_name_once(&name);
        if next == name {
            break;
        }
        name = next;
    }
    name
}

fn type_name_once(text: &str) -> String {
    let words: String =
        text.chars().filter(|&c| c != '\'').map(|c| if unicode_ident::is_xid_continue(c) { c } else { '-' }).collect();
    let mut name = words.to_upper_camel_case();
    if !name.chars().next().is_some_and(unicode_ident::is_xid_start) {
        name.insert(0, 'X');
    }
    if syn::parse_str::<syn::Ident>(&name).is_err() {
        name.push('_');
    }
    name
}

/// A documentation comment from a description, which may be any text. Indented lines and fences would be code, which
/// `cargo test` compiles.
pub(super) fn doc(description: &str, otherwise: impl FnOnce() -> String) -> String {
    let text = description.trim();
    if text.is_empty() {
        return format!(" {}", otherwise());
    }
    let lines = text.lines().map(|line| {
        let line = line.trim().replace('<', "\\<");
        let fence = ["```", "~~~"].iter().any(|fence| line.starts_with(fence));
        if fence { format!(" \\{line}") } else { format!(" {line}") }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A path as one text without spaces, for attributes that take a path as a text.
pub(super) fn path(tokens: &TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_stay_what_they_are() {
        for (text, expected) in [
            ("get_weather", "GetWeather"),
            ("getWeather", "GetWeather"),
            ("HTTPServer v2", "HttpServerV2"),
            ("3d.view", "X3dView"),
            ("self", "Self_"),
            ("", "X"),
            ("+", "X"),
            ("天気", "天気"),
            ("x²", "X"),
            ("don't", "Dont"),
        ] {
            let name = type_name(text);
            assert_eq!(name, expected, "{text}");
            assert_eq!(type_name_once(&name), name);
        }
        let mut names = Names::default();
        let free: Vec<String> = ["unit", "Unit", "unit_2", "unit"].map(|name| names.take_free(name)).into();
        assert_eq!(free, ["Unit", "Unit2", "Unit22", "Unit3"]);
        // One-letter words make one word when they are read again.
        assert_eq!(type_name("get_a_b"), "GetAb");
    }

    #[test]
    fn a_description_holds_no_code() {
        let text = "The weather.\n\n    let code = 1;\n```\nfenced\n```\nVec<T>";
        assert_eq!(doc(text, String::new), " The weather.\n \n let code = 1;\n \\```\n fenced\n \\```\n Vec\\<T>");
        assert_eq!(doc(" \n", || "Otherwise.".to_owned()), " Otherwise.");
    }
}

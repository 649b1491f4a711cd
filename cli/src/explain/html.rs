//! The explanation as one HTML page: its JSON, and the scripts and styles that draw it, which are those of the page in `site/`. Text
//! from a template or an output is only in the JSON, where it cannot end the element that holds it. The page asks for nothing outside
//! itself: its policy allows these scripts and styles alone, by their hashes.

use std::io;

use unjinja_analyzer::sha256;

use unjinja_dynamic::explain::Explanation;

const STYLE: &str = include_str!("page/page.css");

/// The modules, each after those that it imports.
const MODULES: [&str; 8] = [
    include_str!("page/dom.js"),
    include_str!("page/picture.js"),
    include_str!("page/table.js"),
    include_str!("page/comparisons.js"),
    include_str!("page/states.js"),
    include_str!("page/turn.js"),
    include_str!("page/output.js"),
    include_str!("page/desktop.js"),
];

pub(crate) fn page(explanation: &Explanation) -> io::Result<String> {
    let data = in_script(&serde_json::to_string(explanation)?);
    let script = script();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>unjinja explain</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page is drawn by a script. `unjinja explain` prints the same.</noscript>\n\
         <script type=\"application/json\" id=\"explanation\">{data}</script>\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n",
        policy_hash(&script),
        policy_hash(STYLE),
    ))
}

/// The modules as one: their names are unique, so imports and exports can go.
fn script() -> String {
    let lines = MODULES.iter().flat_map(|module| module.lines());
    let kept = lines.filter(|line| !line.starts_with("import "));
    kept.flat_map(|line| [line.strip_prefix("export ").unwrap_or(line), "\n"]).collect()
}

/// JSON for an element `script`: nothing in it looks like markup, and nothing is hidden.
fn in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&') || unjinja_spec::is_hidden(c) {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// A hash as a content security policy has it: SHA-256 in base64.
fn policy_hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Six bits are a digit of base64, four are a digit of the hexadecimal hash.
    let bits = sha256(text).chars().filter_map(|digit| digit.to_digit(16)).collect::<Vec<_>>();
    let digits = bits.chunks(3).flat_map(|three| {
        let value = (0..3).fold(0, |value, at| (value << 4) | three.get(at).copied().unwrap_or_default());
        [value >> 6, value & 63].into_iter().take(if three.len() == 1 { 1 } else { 2 })
    });
    let mut hash = String::from("sha256-");
    hash.extend(digits.filter_map(|value| DIGITS.get(value as usize)).map(|digit| char::from(*digit)));
    while hash.len() % 4 != "sha256-".len() % 4 {
        hash.push('=');
    }
    hash
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_hash_is_that_of_a_policy() {
        // Of the empty text.
        assert_eq!(policy_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn a_text_in_a_script_is_no_markup() {
        assert_eq!(in_script(r#"["</script>&\u2028","😀"]"#), r#"["\u003c/script\u003e\u0026\u2028","😀"]"#);
        assert_eq!(in_script("\u{e0041}\u{202e}"), r"\udb40\udc41\u202e");
    }

    /// Modules are put one after the other, so what they declare must have different names, and imports must be of one line.
    #[test]
    fn modules_can_be_joined() {
        let mut names = BTreeSet::new();
        for line in MODULES.iter().flat_map(|module| module.lines()) {
            assert!(!line.starts_with("import ") || line.ends_with("\";"), "{line}");
            assert!(!line.starts_with("export {") && !line.starts_with("export default"), "{line}");
            let declared = line.strip_prefix("export ").unwrap_or(line);
            let words: Vec<&str> = declared.split([' ', '(', '=']).collect();
            if let ["const" | "let" | "function" | "class", name, ..] = words[..] {
                assert!(names.insert(name), "{name} is declared twice");
            }
        }
        assert!(names.len() > 20, "{names:?}");
    }

    /// The characters that the page writes as escapes are those of `is_hidden`.
    #[test]
    fn hidden_characters_are_the_same_in_the_page() {
        let dom = MODULES[0];
        let ranges = dom.lines().filter_map(|line| line.trim().strip_prefix("String.raw`"));
        let ranges: String = ranges.map(|line| line.trim_end_matches("`,")).collect();
        let code = |text: &str| u32::from_str_radix(text.trim_start_matches("\\u{").trim_end_matches('}'), 16);
        let mut hidden = BTreeSet::new();
        for range in ranges.replace("}\\", "},\\").split(',') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            hidden.extend(code(from).unwrap_or_default()..=code(to).unwrap_or_default());
        }
        for c in '\0'..=char::MAX {
            assert_eq!(hidden.contains(&u32::from(c)), unjinja_spec::is_hidden(c), "{c:?}");
        }
    }
}

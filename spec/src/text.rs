//! Helpers for text that people read: escapes, quoted strings, TOML keys, line and column, similar names. Nothing that
//! they return holds a control character or an invisible one.

/// Whether `c` is better written as an escape, because a reader could not see it or would see something else: control
/// characters, white space other than the space, direction marks, characters without width.
///
/// ```
/// assert!("\u{1B}\n\u{202E}\u{200B}".chars().all(unjinja_spec::is_hidden));
/// assert!(!"é｜ 😀".chars().any(unjinja_spec::is_hidden));
/// ```
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' // fillers
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' // zero width, direction marks
            | '\u{2028}'..='\u{202E}' // line separators, embeddings, overrides
            | '\u{2060}'..='\u{206F}' // joiners, isolates
            | '\u{3164}' | '\u{FFA0}'
            | '\u{FE00}'..='\u{FE0F}' // variation selectors
            | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}') // tags
}

/// Appends `c` as a TOML basic string writes it.
fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_hidden(c) => {
            let code = u32::from(c);
            if code <= 0xFFFF {
                out.push_str(&format!("\\u{code:04X}"));
            } else {
                out.push_str(&format!("\\U{code:08X}"));
            }
        }
        c => out.push(c),
    }
}

/// `text` as a TOML basic string on one line, quotes included.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    out.push('"');
    out
}

/// `text` with hidden characters escaped and everything else unchanged.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            push_escaped(&mut out, c);
        } else {
            out.push(c);
        }
    }
    out
}

/// `key` as TOML writes it: bare where that is allowed, else quoted.
pub(crate) fn key(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { quote(key) }
}

/// The dotted key of `name` in the table `path`; the top of the file is the empty path.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { key(name) } else { format!("{path}.{}", key(name)) }
}

/// How messages name the table `path`, if nothing follows it.
pub(crate) fn table_name(path: &str) -> String {
    if path.is_empty() {
        "the top of the file".to_owned()
    } else if let Some((array, "")) = path.rsplit_once(']') {
        let array = array.rsplit_once('[').map_or(array, |(name, _)| name);
        format!("[[{array}]]")
    } else {
        format!("[{path}]")
    }
}

/// How messages say that something is in the table `path`.
pub(crate) fn in_table(path: &str) -> String {
    if path.is_empty() { "at the top of the file".to_owned() } else { format!("in {}", table_name(path)) }
}

/// Line and column of the byte `offset`, both from 1; columns count characters.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[line_start..].chars().filter(|c| *c != '\u{FEFF}').count();
    (before.matches('\n').count() + 1, column + 1)
}

/// The name of `known` that someone may have meant by `name`: the one that the fewest edits lead to, of those that
/// up to a third of the name's characters lead to.
///
/// ```
/// assert_eq!(unjinja_spec::nearest("seperator", ["separator", "start"]), Some("separator"));
/// assert_eq!(unjinja_spec::nearest("colour", ["separator", "start"]), None);
/// ```
#[must_use]
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let allowed = (name.chars().count().min(64) / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) that make `a` into `b`; capped for long texts.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(65).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(65).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let replace = last[j] + usize::from(from != to);
            let mut best = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_others_are_not() {
        assert_eq!(quote("a\n\"\\\t"), r#""a\n\"\\\t""#);
        assert_eq!(quote("｜▁é \u{202E}\u{200B}\u{2028}\u{A0}\u{1B}"), r#""｜▁é \u202E\u200B\u2028\u00A0\u001B""#);
        assert_eq!(quote("\u{E0041}"), r#""\U000E0041""#);
    }

    #[test]
    fn near_names_are_found() {
        let known = ["per_call_start", "per_call_end", "separator"];
        assert_eq!(nearest("per_call_strat", known), Some("per_call_start"));
        assert_eq!(nearest("seperator", known), Some("separator"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn places_count_characters() {
        assert_eq!(line_and_column("a\né = 1", 5), (2, 3));
        assert_eq!(line_and_column("\u{FEFF}a", 3), (1, 1));
        assert_eq!(line_and_column("a", 99), (1, 2));
    }
}

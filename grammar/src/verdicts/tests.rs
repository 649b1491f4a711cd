//! Verdicts against a validator that reads whole values, and by hand.

use std::sync::Arc;

use serde_json::{Value, json};
use unjinja_testkit::random::Random;

use super::*;
use crate::{Builder, compile_schema};

mod cases;
mod random;

/// Something that a judge found: kind and path, and the whole.
type Found = (VerdictKind, String, String);

fn told(found: Vec<Violation>, into: &mut Vec<Found>) {
    into.extend(found.into_iter().map(|violation| {
        let text = format!("{violation:?}");
        (violation.kind, violation.path, text)
    }));
}

/// What a judge finds in a text that comes in pieces, and after how many bytes the first of it was certain.
fn judged(table: &Arc<Table>, text: &str, cuts: impl Fn(usize) -> bool) -> (Vec<Found>, Option<usize>) {
    let mut judge = Judge::new(Arc::clone(table), 1000);
    let (mut all, mut first, mut from) = (Vec::new(), None, 0);
    for at in 1..=text.len() {
        if text.is_char_boundary(at) && (at == text.len() || cuts(at)) {
            told(judge.read(&text[from..at]), &mut all);
            from = at;
            if !all.is_empty() {
                first = first.or(Some(at));
            }
        }
    }
    told(judge.finish(), &mut all);
    (all, first)
}

/// What is found in a text, and that it is the same however the text is cut.
fn find(table: &Arc<Table>, text: &str) -> (Vec<Found>, Option<usize>) {
    let bytewise = judged(table, text, |_| true);
    for step in [2, 3, 7, usize::MAX] {
        let (found, first) = judged(table, text, |at| at % step == 0);
        assert_eq!(found, bytewise.0, "cut every {step}: {text}");
        assert!(first >= bytewise.1, "{text}");
    }
    bytewise
}

/// The same value with white space, and with all its text in escapes.
fn spellings(value: &Value) -> [String; 3] {
    let plain = value.to_string();
    let mut escaped = String::new();
    let (mut inside, mut backslash) = (false, false);
    for character in plain.chars() {
        let quote = character == '"' && !backslash;
        inside ^= quote;
        if inside && !quote && !backslash && character != '\\' {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
        // A `\u` escape is left as it is: its digits are no characters of the text.
        backslash = !backslash && character == '\\';
    }
    let escaped = if plain.contains("\\u") { plain.clone() } else { escaped };
    [format!("{value:#}"), escaped, plain]
}

/// Whether a grammar of the schema checks everything.
fn is_exact(schema: &Value) -> bool {
    compile_schema(&mut Builder::new(), "it", schema).is_ok_and(|(_, widened)| widened.is_empty())
}

/// The schemas that the grammars are tested with: no valid value has a verdict, and where a grammar is exact, every invalid
/// value has one.
#[test]
fn the_schemas_of_the_grammars() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dev/gbnf/tests/schemas");
    let Ok(files) = std::fs::read_dir(folder) else {
        return assert!(std::env::var_os("CI").is_none(), "the schemas are missing");
    };
    let (mut valid, mut invalid) = (0, 0);
    for file in files {
        let file = file.unwrap_or_else(|error| unreachable!("{error}")).path();
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| unreachable!("{error}"));
        let cases: Value = serde_json::from_str(&text).unwrap_or_else(|error| unreachable!("{error}"));
        for case in cases.as_array().into_iter().flatten() {
            let schema = &case["schema"];
            let table = Arc::new(Table::of(schema));
            for value in case["valid"].as_array().into_iter().flatten() {
                for text in spellings(value) {
                    assert_eq!(find(&table, &text).0, [], "{}: {schema}: {text}", file.display());
                    valid += 1;
                }
            }
            let exact = is_exact(schema);
            for value in case["invalid"].as_array().into_iter().flatten() {
                let found = spellings(value).map(|text| !find(&table, &text).0.is_empty());
                assert!(found[0] == found[1] && found[1] == found[2], "{schema}: {value}");
                assert!(found[0] || !exact, "{}: {schema}: {value}", file.display());
                invalid += usize::from(found[0]);
            }
        }
    }
    assert!(valid > 1500 && invalid > 400, "{valid} {invalid}");
}

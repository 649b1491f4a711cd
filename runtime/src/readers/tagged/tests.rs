//! Typed values at every cut.

use serde_json::Value;

use super::*;
use crate::readers::json::testkit::{Random, json_samples};

fn writer(types: Types, python: bool) -> TaggedReader {
    let mut writer = TaggedReader::default();
    writer.restart(types, python);
    writer
}

/// Writes in pieces; gives the JSON and whether there was a mismatch.
fn write(types: Types, python: bool, text: &[u8], step: usize) -> (String, bool) {
    let mut writer = writer(types, python);
    let mut out = Vec::new();
    for piece in text.chunks(step.max(1)) {
        writer.feed(piece, &mut out);
    }
    writer.finish(&mut out);
    (String::from_utf8(out).unwrap(), writer.mismatch())
}

fn check(types: Types, python: bool, text: &str, json: &str, mismatch: bool) {
    serde_json::from_str::<Value>(json).unwrap();
    for step in [1, 2, 3, 5, text.len()] {
        let got = write(types, python, text.as_bytes(), step);
        assert_eq!(got, (json.to_owned(), mismatch), "{text:?} as {types:?} by {step}");
    }
}

#[test]
fn strings_stay_strings() {
    for (text, json) in [
        ("", r#""""#),
        ("5123123", r#""5123123""#),
        ("null", r#""null""#),
        (" {\"a\": 1}\n", r#"" {\"a\": 1}\n""#),
        ("\"quoted\"", r#""\"quoted\"""#),
        ("é 日本 😀 \u{1} \\", "\"é 日本 😀 \\u0001 \\\\\""),
    ] {
        check(Types::STRING, false, text, json, false);
        check(Types::STRING, true, text, json, false);
    }
}

#[test]
fn other_types_are_read_and_keep_their_spelling() {
    for (types, text, json, mismatch) in [
        (Types::INTEGER, "1", "1", false),
        (Types::INTEGER, " -12\n", "-12", false),
        (Types::INTEGER, "1.0", "1.0", false),
        (Types::INTEGER, "1.5", "1.5", true),
        (Types::INTEGER, "1e3", "1e3", true),
        (Types::INTEGER, "one", "\"one\"", true),
        (Types::INTEGER, "1_000", "\"1_000\"", true),
        (Types::INTEGER, "", "\"\"", true),
        (Types::INTEGER, "\"5\"", "\"5\"", true),
        (Types::INTEGER, "[1]", "[1]", true),
        (Types::INTEGER, "True", "\"True\"", true),
        (Types::INTEGER | Types::NULL, "None", "null", false),
        (Types::NUMBER, "1.50", "1.50", false),
        (Types::NUMBER, "7", "7", false),
        (Types::NUMBER, "12345678901234567890.10", "12345678901234567890.10", false),
        (Types::BOOLEAN, "true", "true", false),
        (Types::BOOLEAN, "False", "false", false),
        (Types::BOOLEAN, "yes", "\"yes\"", true),
        (Types::BOOLEAN, "1", "1", true),
        (Types::NULL, "None", "null", false),
        (Types::OBJECT, "\n{\"a\" : 1.50}\n", "{\"a\" : 1.50}", false),
        (Types::OBJECT, "{'a': [1, None]}", "{\"a\": [1, null]}", false),
        (Types::OBJECT, "{'a': ", "\"{'a': \"", true),
        (Types::OBJECT, "{\"a\": 1} x", "\"{\\\"a\\\": 1} x\"", true),
        (Types::ARRAY, "('a',)", "[\"a\"]", false),
        (Types::ARRAY, "'a'", "\"'a'\"", true),
        (Types::ARRAY | Types::INTEGER, "3", "3", false),
    ] {
        check(types, false, text, json, mismatch);
    }
    check(Types::INTEGER, true, "1_000", "1000", false);
    check(Types::INTEGER, true, "True", "true", true);
}

#[test]
fn strings_among_others_are_the_rest() {
    let nullable = Types::STRING | Types::NULL;
    let mixed = Types::STRING | Types::INTEGER | Types::OBJECT;
    for (types, python, text, json) in [
        (nullable, false, "null", "null"),
        (nullable, false, " null ", "null"),
        (nullable, false, "nulls", "\"nulls\""),
        (nullable, false, "nul", "\"nul\""),
        (nullable, false, "12", "\"12\""),
        (nullable, false, "None", "\"None\""),
        (nullable, true, "None", "null"),
        (nullable, true, "Nones", "\"Nones\""),
        (nullable, true, "'x'", "\"'x'\""),
        (nullable, true, "True", "\"True\""),
        (nullable, false, "", "\"\""),
        (nullable, false, " \n", "\" \\n\""),
        (mixed, false, "12", "12"),
        (mixed, false, "12 apples", "\"12 apples\""),
        (mixed, false, "1.0", "\"1.0\""),
        (mixed, false, "007", "\"007\""),
        (mixed, false, "{\"a\": 1}", "{\"a\": 1}"),
        (mixed, false, "{\"a\": 1}}", "\"{\\\"a\\\": 1}}\""),
        (mixed, false, "{'a': 1}", "\"{'a': 1}\""),
        (mixed, true, "{'a': 1}", "{\"a\": 1}"),
        (mixed, false, "[1]", "\"[1]\""),
        (mixed, false, "\"12\"", "\"\\\"12\\\"\""),
        (mixed, false, "true", "\"true\""),
        (Types::ANY, false, "\"12\"", "\"\\\"12\\\"\""),
        (Types::UNKNOWN, false, "\"foo\"", "\"foo\""),
        (Types::UNKNOWN, false, "\"foo\" bar", "\"\\\"foo\\\" bar\""),
        (Types::UNKNOWN, false, "1.50", "1.50"),
        (Types::UNKNOWN, false, "True", "\"True\""),
        (Types::UNKNOWN, true, "True", "true"),
        (Types::UNKNOWN, true, "{'a': (1,)}", "{\"a\": [1]}"),
        (Types::UNKNOWN, true, "it's", "\"it's\""),
        (Types::UNKNOWN, true, "'foo'", "\"foo\""),
        (Types::UNKNOWN, false, "'foo'", "\"'foo'\""),
        (Types::UNKNOWN, false, "", "\"\""),
        (Types::UNKNOWN, true, "", "\"\""),
        (Types::UNKNOWN, false, "-", "\"-\""),
        (Types::UNKNOWN, false, "[1, 2", "\"[1, 2\""),
        (Types::UNKNOWN, true, "hello", "\"hello\""),
        (Types::UNKNOWN, true, "nan", "\"nan\""),
    ] {
        check(types, python, text, json, false);
    }
}

#[test]
fn json_comes_through_untouched_where_nothing_is_known() {
    for sample in json_samples() {
        for python in [false, true] {
            check(Types::UNKNOWN, python, &format!("\n{sample} "), &sample, false);
        }
    }
}

#[test]
fn a_string_flows_as_soon_as_it_can_be_nothing_else() {
    for (types, python, text, after) in [
        (Types::STRING, false, "12", "\"12"),
        (Types::STRING | Types::NULL, false, "nulx", "\"nulx"),
        (Types::STRING | Types::NULL, false, "h", "\"h"),
        (Types::STRING | Types::NULL, false, "1", "\"1"),
        (Types::STRING | Types::NULL, true, "Nox", "\"Nox"),
        (Types::UNKNOWN, true, "Hel", "\"Hel"),
        (Types::UNKNOWN, true, "-in", "\"-in"),
        (Types::STRING | Types::OBJECT, false, "{x", "\"{x"),
        (Types::UNKNOWN, false, "the", "\"the"),
        (Types::UNKNOWN, false, "12 a", "\"12 a"),
        (Types::UNKNOWN, false, "[1] x", "\"[1] x"),
        (Types::UNKNOWN, false, "<", "\"<"),
    ] {
        let mut writer = writer(types, python);
        let mut out = Vec::new();
        for byte in text.bytes() {
            writer.feed(&[byte], &mut out);
        }
        let got = String::from_utf8(out).unwrap();
        assert_eq!(got, after, "{text}");
    }
}

#[test]
fn what_breaks_off_is_the_beginning_of_a_value() {
    for (types, python, text, json, closed) in [
        (Types::STRING, false, "", "", "{}"),
        (Types::STRING, false, "it's \"", r#""it's \""#, r#""it's \"""#),
        (Types::OBJECT, false, "{\"a\": [1", "{\"a\": [1", "{\"a\": [1]}"),
        (Types::OBJECT, false, "{'a': [Tr", "{\"a\": [tr", "{\"a\": [true]}"),
        (Types::INTEGER, false, "-1", "-1", "-1"),
        (Types::INTEGER, false, "x", "\"x", "\"x\""),
        (Types::BOOLEAN, false, "Tru", "tru", "true"),
        (Types::UNKNOWN, false, "12", "12", "12"),
        (Types::UNKNOWN, false, "nu", "\"nu", "\"nu\""),
        (Types::UNKNOWN, false, " [1, ", "[1, ", "[1]"),
        (Types::UNKNOWN, true, "{'a", "{\"a", "{}"),
        (Types::UNKNOWN, false, "abc", "\"abc", "\"abc\""),
    ] {
        let mut writer = writer(types, python);
        let mut out = Vec::new();
        for byte in text.bytes() {
            writer.feed(&[byte], &mut out);
        }
        writer.abort(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, json, "{text}");
        assert_eq!(crate::readers::json::close(&out), closed, "{text}");
    }
}

#[test]
fn invalid_utf8_is_replaced_and_noted() {
    for (types, text, json) in [
        (Types::STRING, b"a\xffb\xc3".as_slice(), "\"a\u{fffd}b\u{fffd}\""),
        (Types::UNKNOWN, b"[\"\xe2\x82\"]", "[\"\u{fffd}\"]"),
        (Types::UNKNOWN, b"\xf0\x9f\x98x", "\"\u{fffd}x\""),
    ] {
        for step in [1, 2, 3, 9] {
            let mut writer = writer(types, false);
            let mut out = Vec::new();
            text.chunks(step).for_each(|piece| writer.feed(piece, &mut out));
            writer.finish(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), json);
            assert!(writer.invalid_utf8());
        }
    }
}

#[test]
fn whatever_comes_one_valid_value_goes_out_at_every_cut() {
    let mut random = Random::new(5);
    let samples = json_samples();
    for round in 0..60_000 {
        let mut bytes = if round % 2 == 0 { random.bytes(30) } else { samples[random.below(19)].clone().into_bytes() };
        for _ in 0..random.below(3) {
            random.damage(&mut bytes);
        }
        let all =
            [Types::STRING, Types::INTEGER, Types::NUMBER, Types::BOOLEAN, Types::NULL, Types::OBJECT, Types::ARRAY];
        let types = all.into_iter().filter(|_| random.below(2) == 0).fold(Types::UNKNOWN, |types, one| types | one);
        let python = random.below(2) == 0;
        let whole = write(types, python, &bytes, bytes.len());
        let step = 1 + random.below(6);
        assert_eq!(write(types, python, &bytes, step), whole, "{types:?} {:?}", String::from_utf8_lossy(&bytes));
        if let Err(error) = serde_json::from_str::<Value>(&whole.0) {
            assert!(error.to_string().contains("out of range"), "{types:?} {:?}", String::from_utf8_lossy(&bytes));
        }
        if whole.0.starts_with('"') && types == Types::STRING {
            let text: String = serde_json::from_str(&whole.0).unwrap();
            assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn types_are_named() {
    assert_eq!(format!("{:?}", Types::STRING | Types::NUMBER | Types::NULL), "STRING | NUMBER | NULL");
    assert_eq!(format!("{:?}", Types::INTEGER), "INTEGER");
    assert_eq!(format!("{:?}", Types::UNKNOWN), "UNKNOWN");
}

#[test]
fn a_restarted_writer_is_new() {
    let mut writer = writer(Types::UNKNOWN, true);
    let mut out = Vec::new();
    writer.feed(b"{'a': [", &mut out);
    writer.restart(Types::INTEGER, false);
    writer.feed(b"5", &mut out);
    writer.finish(&mut out);
    assert_eq!(out, b"5");
}

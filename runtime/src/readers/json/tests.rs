//! The scanner and its siblings against `serde_json`, at every cut, and on random bytes.

use serde_json::Value;

use super::*;
use crate::byte_set::{ByteSet, Pairs};
use testkit::{Random, json_samples};

/// Scans in pieces; gives the end of the value, whether it ended, and whether it was malformed.
fn scan(bytes: &[u8], step: usize) -> (usize, bool, bool) {
    let mut scanner = Scanner::new();
    let mut at = 0;
    for piece in bytes.chunks(step.max(1)) {
        match scanner.feed(piece) {
            Progress::More => at += piece.len(),
            Progress::Done(n) => {
                at += n;
                assert_eq!(scanner.feed(b"}"), Progress::Done(0));
                return (at, true, scanner.malformed());
            }
            Progress::Stop(_) | Progress::Wait(_) => panic!("nothing was asked for"),
        }
    }
    let done = scanner.finish();
    (at, done, scanner.malformed())
}

#[test]
fn passes_json_and_stops_at_its_end() {
    for sample in json_samples() {
        for tail in ["", " ", "</x>", "]", "}", ",\"a\"", "\n<|end|>"] {
            let text = format!("{sample}{tail}");
            for step in [1, 2, 3, 7, text.len()] {
                assert_eq!(scan(text.as_bytes(), step), (sample.len(), true, false), "{text} by {step}");
            }
        }
    }
}

/// Where the scanner stops in a value, before `first` with one of `seconds` after it.
fn stops(text: &[u8], first: u8, seconds: &[u8], step: usize) -> Vec<usize> {
    let pairs = Pairs::NONE.with(first, &ByteSet::of(seconds));
    let begins = Begins { firsts: ByteSet::of(&[first]), pairs };
    let (mut scanner, mut found) = (Scanner::new(), Vec::new());
    let (mut at, mut from, mut held) = (0, 0, 0);
    while at < text.len() {
        let end = (at + held + step).min(text.len());
        match scanner.feed_until(&text[at..end], from - at, &begins) {
            Progress::More => at = end,
            Progress::Done(count) => at += count,
            Progress::Wait(count) => {
                at += count;
                from = from.max(at);
                held = end - at;
                continue;
            }
            Progress::Stop(count) => {
                at += count;
                // At the end of a piece it is not known yet what follows.
                if text.get(at + 1).is_none_or(|next| seconds.contains(next)) {
                    found.push(at);
                }
                from = at + 1;
            }
        }
        from = from.max(at);
        held = 0;
    }
    assert!(scanner.finish() && !scanner.malformed());
    found
}

/// Brackets too, wherever one of them may begin a marker.
#[test]
fn stops_before_what_may_be_a_marker_outside_of_strings() {
    let text = br#"{"a]b<c": [[1], ["]<", true]], "d": {"e": {}}  }"#;
    for first in *b"]}[{<" {
        let outside = |at: &usize| !(1..8).contains(at) && !(17..20).contains(at);
        let follows = |at: &usize| text.get(at + 1).is_none_or(|next| b"]} ,".contains(next));
        let expected: Vec<usize> =
            (0..text.len()).filter(|at| text[*at] == first && outside(at) && follows(at)).collect();
        for step in [1, 2, 3, text.len()] {
            assert_eq!(stops(text, first, b"]} ,", step), expected, "{} by {step}", char::from(first));
        }
    }
}

#[test]
fn stops_within_and_around_numbers_wherever_they_are_cut() {
    let text = b"[1.5, -2.25e+3, 40E-7,\n -0.125, 6]";
    for first in *b".-+E5\n" {
        let expected: Vec<usize> = (0..text.len()).filter(|at| text[*at] == first).collect();
        for step in 1..=text.len() {
            assert_eq!(stops(text, first, b"0123456789,e+- ", step), expected, "{} by {step}", char::from(first));
        }
    }
}

#[test]
fn every_cut_in_two_is_like_the_whole() {
    for sample in json_samples() {
        for cut in 0..=sample.len() {
            let (head, tail) = sample.as_bytes().split_at(cut);
            let mut scanner = Scanner::new();
            let end = match scanner.feed(head) {
                Progress::Done(n) => n,
                _ => match scanner.feed(tail) {
                    Progress::Done(n) => head.len() + n,
                    _ => sample.len() * usize::from(scanner.finish()),
                },
            };
            assert_eq!((end, scanner.malformed()), (sample.len(), false), "{sample} at {cut}");
        }
    }
}

#[test]
fn goes_on_to_the_closing_bracket_of_what_is_malformed() {
    for (text, end) in [
        (r#"{'a': 1} x"#, 8),
        (r#"{"a": [1, 2,], "b": "}"} x"#, 24),
        (r#"{"a" 1, "b": {"c": "]}"}}}"#, 25),
        (r#"{"a": nul, "b": [}]] x"#, 19),
        ("{\"a\": \"x\ny\"} x", 12),
        (r#"{"a": "\q}"} x"#, 12),
        (r#"{"a": "\ud83d"} x"#, 15),
        (r#"{"a": "\ude00"} x"#, 15),
        (r#"{"a": "\u12g}"} x"#, 15),
        (r#"{"a": 01} x"#, 9),
        (r#"{"a": 1.} x"#, 9),
        (r#"{"a": -} x"#, 8),
        (r#"[1}"#, 3),
        ("nulx y", 4),
        ("True y", 4),
        ("1.2.3 y", 5),
        ("'a'", 0),
        ("}", 0),
        ("<", 0),
    ] {
        for step in [1, 2, 5, text.len()] {
            assert_eq!(scan(text.as_bytes(), step), (end, true, true), "{text} by {step}");
        }
    }
}

/// Reads in pieces, and mends. Gives the JSON with what follows it, and whether the value is malformed.
fn mended(text: &str, step: usize) -> (String, bool) {
    let (bytes, mut scanner, mut out) = (text.as_bytes(), Scanner::new(), Vec::new());
    let (mut at, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + step).min(bytes.len());
        while at < end {
            let (count, waits) = match scanner.feed_until(&bytes[at..end], 0, &Begins::NOTHING) {
                Progress::More => (end - at, true),
                Progress::Done(_) => (bytes.len() - at, true),
                Progress::Wait(count) => (count, true),
                Progress::Stop(count) => (count, false),
            };
            out.extend_from_slice(&bytes[at..at + count]);
            at += count;
            if waits {
                break;
            }
            at += scanner.mend(&bytes[at..end], &mut out);
        }
    }
    out.extend_from_slice(&bytes[at..]);
    (String::from_utf8_lossy(&out).into_owned(), scanner.malformed())
}

#[test]
fn mends_what_is_surely_meant() {
    let blanks = " ".repeat(MOST_BLANKS);
    for (text, expected) in [
        (r#"{"a": 1,}"#, r#"{"a": 1}"#),
        (r#"[1 , ] x"#, r#"[1  ] x"#),
        ("{\"a\": [1, 2,\t\n],\n}", "{\"a\": [1, 2\t\n]\n}"),
        (&format!("[1,{blanks}]"), &format!("[1{blanks}]")),
        ("[None, True,False]", "[null, true,false]"),
        (r#"{"a":None}"#, r#"{"a":null}"#),
        ("{'a': 'b'}", r#"{"a": "b"}"#),
        (r#"['it\'s', 'it's', '', 'é'é']"#, r#"["it\u0027s", "it's", "", "é'é"]"#),
        (r#"['"', '\"', '\q', '\n\u00e9']"#, r#"["\"", "\"", "\\q", "\n\u00e9"]"#),
        ("['a\nb', 'c' , 'd']", r#"["a\nb", "c" , "d"]"#),
        ("{a: {b_1:1, c-d: 'e'}}", r#"{"a": {"b_1":1, "c-d": "e"}}"#),
        ("{nullable: 1, 'b': [{}, {c: [],},]}", r#"{"nullable": 1, "b": [{}, {"c": []}]}"#),
    ] {
        for step in 1..=text.len() {
            assert_eq!(mended(text, step), (expected.to_owned(), false), "{text} by {step}");
        }
    }
}

#[test]
fn what_is_not_sure_is_malformed_and_unchanged() {
    let (blanks, key) = (" ".repeat(MOST_BLANKS + 1), "k".repeat(65));
    for text in [
        "[1,,]",
        "[,]",
        "[1,}",
        &format!("[1,{blanks}]"),
        &format!("{{{key}: 1}}"),
        "[NaN, Infinity, Nothing, none, TRUE, Truely, None1]",
        "{null: 1}",
        "{None: 1}",
        "{a b: 1}",
        "{a : 1}",
        "{1: 2}",
        r#"{"a": b}"#,
        "[a]",
        "None",
        "'a'",
        r#"{"a": 1 "b": 2}"#,
        r#"{"a" 'b'}"#,
    ] {
        for step in 1..=text.len() {
            assert_eq!(mended(text, step), (text.to_owned(), true), "{text} by {step}");
        }
    }
}

#[test]
fn a_key_in_single_quotes_ends_with_its_line() {
    for (text, expected) in [("{'a\nb': 1} x", "{\"a\nb': 1} x"), ("{'\"a\": 1} x", "{\"\"a\": 1} x")] {
        for step in 1..=text.len() {
            assert_eq!(mended(text, step), (expected.to_owned(), true), "{text} by {step}");
        }
    }
}

#[test]
fn what_is_mended_is_json_or_malformed_at_every_cut() {
    let samples = json_samples();
    let mut random = Random::new(31);
    let mut valid = 0;
    for round in 0..60_000 {
        let mut bytes = samples[round % samples.len()].replace('"', ["\"", "'"][round % 2]).into_bytes();
        for _ in 0..random.below(3) {
            random.damage(&mut bytes);
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let (json, malformed) = mended(&text, text.len().max(1));
        let (step, other) = (1 + random.below(9), 1 + random.below(3));
        assert_eq!(mended(&text, step), (json.clone(), malformed), "{text:?} by {step}");
        assert_eq!(mended(&text, other), (json.clone(), malformed), "{text:?} by {other}");
        valid += usize::from(!malformed && serde_json::from_str::<Value>(&json).is_ok());
        // A text that is not whole, or that something follows, is no JSON, but not malformed either.
        if serde_json::from_str::<Value>(&text).is_ok() {
            assert_eq!(json, text);
        }
    }
    assert!(valid > 10_000, "{valid}");
}

#[test]
fn a_value_cut_short_is_neither_complete_nor_malformed() {
    for sample in json_samples() {
        let scalar = !matches!(sample.as_bytes()[0], b'{' | b'[' | b'"');
        for end in (0..sample.len()).filter(|&end| !scalar || sample[..end].parse::<f64>().is_err()) {
            let (_, done, malformed) = scan(&sample.as_bytes()[..end], 4);
            assert!(!done && !malformed, "{}", &sample[..end]);
        }
    }
}

#[test]
fn tells_the_kind() {
    for (text, kind) in [
        ("{", JsonKind::Object),
        ("[", JsonKind::Array),
        ("\"", JsonKind::String),
        ("-", JsonKind::Number),
        ("1", JsonKind::Number),
        ("t", JsonKind::Boolean),
        ("n", JsonKind::Null),
        ("N", JsonKind::Other),
    ] {
        let mut scanner = Scanner::new();
        scanner.feed(b" \n");
        assert_eq!(scanner.kind(), None);
        scanner.feed(text.as_bytes());
        assert_eq!(scanner.kind(), Some(kind));
    }
}

#[test]
fn agrees_with_serde_json_on_damaged_text() {
    let samples = json_samples();
    let mut random = Random::new(7);
    for round in 0..60_000 {
        let mut bytes = samples[round % samples.len()].clone().into_bytes();
        for _ in 0..random.below(3) {
            random.damage(&mut bytes);
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let (end, done, malformed) = scan(text.as_bytes(), 1 + random.below(9));
        let fits = done && !malformed && text[end..].bytes().all(is_space);
        match serde_json::from_str::<Value>(&text) {
            Ok(_) => assert!(fits, "{text:?}"),
            Err(error) if error.to_string().contains("out of range") => {}
            Err(_) => assert!(!fits, "{text:?}"),
        }
    }
}

#[test]
fn random_bytes_give_the_same_at_every_cut() {
    let mut random = Random::new(11);
    for _ in 0..20_000 {
        let bytes = random.bytes(40);
        let whole = scan(&bytes, bytes.len());
        for step in 1..6 {
            assert_eq!(scan(&bytes, step), whole, "{:?} by {step}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn depth_is_counted_and_not_recursed() {
    for (depth, malformed) in [(1000, false), (MAX_DEPTH, false), (MAX_DEPTH + 1, true), (1_000_000, true)] {
        let text = "[".repeat(depth) + &"]".repeat(depth) + "]";
        assert_eq!(scan(text.as_bytes(), 4096), (2 * depth, true, malformed));
    }
    let open = "{\"a\":[".repeat(MAX_DEPTH);
    assert!(close(&open).ends_with("]}]}"));
}

#[test]
fn a_reset_scanner_is_new() {
    let mut scanner = Scanner::new();
    scanner.feed(b"[[{\"a\": '");
    scanner.reset();
    assert!(!scanner.malformed() && scanner.kind().is_none());
    assert_eq!(scanner.feed(b"[1]"), Progress::Done(3));
}

#[test]
fn every_prefix_closes_to_valid_json() {
    for sample in json_samples() {
        for (end, _) in sample.char_indices().chain([(sample.len(), ' ')]) {
            let closed = close(&sample[..end]);
            let parsed = serde_json::from_str::<Value>(&closed);
            assert!(parsed.is_ok(), "{} -> {closed}", &sample[..end]);
        }
        assert_eq!(close(&sample), sample);
    }
}

#[test]
fn closes_as_documented() {
    for (text, expected) in [
        ("", "{}"),
        ("  \n", "{}"),
        ("{", "{}"),
        (r#"{"a"#, "{}"),
        (r#"{"a""#, r#"{"a": null}"#),
        (r#"{"a":"#, r#"{"a":null}"#),
        (r#"{"a": 1, "b"#, r#"{"a": 1}"#),
        (r#"{"a": 1, "#, r#"{"a": 1}"#),
        (r#"{"a": 1 ,"#, r#"{"a": 1 }"#),
        (r#"{"a": [1, [2, {"#, r#"{"a": [1, [2, {}]]}"#),
        (r#"{"a": "x\"#, r#"{"a": "x"}"#),
        (r#"{"a": "x\u00"#, r#"{"a": "x"}"#),
        (r#"{"a": "x\ud83d"#, r#"{"a": "x"}"#),
        (r#"{"a": "x\ud83d\ude"#, r#"{"a": "x"}"#),
        (r#"{"a": "\ud83d\ude00"#, r#"{"a": "\ud83d\ude00"}"#),
        (r#"{"a": "\ud83d x"#, "{\"a\": \"\u{fffd} x\"}"),
        (r#"{"a": "\d+\uzz"#, r#"{"a": "\\d+\\uzz"}"#),
        ("{\"a\": \"x\ny", r#"{"a": "x\ny"}"#),
        (r#"{"a": -"#, r#"{"a": -0}"#),
        (r#"{"a": 1."#, r#"{"a": 1.0}"#),
        (r#"{"a": 1e"#, r#"{"a": 1e0}"#),
        (r#"{"a": 1e+"#, r#"{"a": 1e+0}"#),
        (r#"{"a": nu"#, r#"{"a": null}"#),
        (r#"{"a": True, "b": 1}"#, r#"{"a": null}"#),
        (r#"{"a": 1]"#, r#"{"a": 1}"#),
        (r#"{"a": 1}} x"#, r#"{"a": 1}"#),
        ("fal", "false"),
        ("[1,", "[1]"),
    ] {
        assert_eq!(close(text), expected, "{text}");
    }
}

#[test]
fn whatever_is_closed_is_valid_json() {
    let samples = json_samples();
    let mut random = Random::new(23);
    for round in 0..60_000 {
        let mut bytes = samples[round % samples.len()].clone().into_bytes();
        for _ in 0..random.below(4) {
            random.damage(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let closed = close(&text);
        if let Err(error) = serde_json::from_str::<Value>(&closed) {
            assert!(error.to_string().contains("out of range"), "{text:?} -> {closed:?}: {error}");
        }
    }
}

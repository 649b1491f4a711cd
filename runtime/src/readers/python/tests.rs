//! The translator against what Python says, at every cut, and on random bytes.

use serde_json::Value;

use super::*;
use crate::readers::json::testkit::{Random, json_samples};

/// Translates in pieces; gives the output, the end of the literal, whether it ended, and whether it was malformed.
fn translate(bytes: &[u8], step: usize) -> (Vec<u8>, usize, bool, bool) {
    let mut translator = Translator::new();
    let mut out = Vec::new();
    let mut end = 0;
    for piece in bytes.chunks(step.max(1)) {
        match translator.feed(piece, &mut out) {
            Progress::More => end += piece.len(),
            Progress::Done(n) => {
                assert_eq!(translator.feed(b"1", &mut out), Progress::Done(0));
                return (out, end + n, true, translator.malformed());
            }
            Progress::Stop(_) | Progress::Wait(_) => panic!("nothing was asked for"),
        }
    }
    let done = translator.finish(&mut out);
    (out, end, done, translator.malformed())
}

const FITTING: &[(&str, &str)] = &[
    ("{}", "{}"),
    ("[ ]", "[]"),
    ("()", "[]"),
    ("''", "\"\""),
    ("\"\"", "\"\""),
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("true", "true"),
    ("null", "null"),
    ("1", "1"),
    ("+1", "1"),
    ("-0", "-0"),
    ("1_000_000", "1000000"),
    ("00", "0"),
    ("0x1F", "31"),
    ("-0b101", "-5"),
    ("0o17", "15"),
    ("1.50", "1.50"),
    ("1.", "1.0"),
    (".5", "0.5"),
    ("-.5e-3", "-0.5e-3"),
    ("1E+10", "1E+10"),
    ("[-1, -2.5, -0, [-30], -7]", "[-1, -2.5, -0, [-30], -7]"),
    ("12345678901234567890123", "12345678901234567890123"),
    ("{'a': 1, 'b': [True, None], }", r#"{"a": 1, "b": [true, null]}"#),
    ("{'a':{'b':()},'c':(1,),}", r#"{"a": {"b": []}, "c": [1]}"#),
    ("{1: 'a', True: 'b', None: 2.0, -1.5: {}}", r#"{"1": "a", "true": "b", "null": 2.0, "-1.5": {}}"#),
    (r#"{"a": "it's", 'b': 'say "hi"'}"#, r#"{"a": "it's", "b": "say \"hi\""}"#),
    (r"'it\'s \\ \n\t\r\a\v\0 \x41\xe9 é \u00e9 \U0001F600 \101 \1z'", {
        r#""it's \\ \n\t\r\u0007\u000b\u0000 Aé é é 😀 A \u0001z""#
    }),
    (r"'\ud83d\ude00'", "\"😀\""),
    (r#""\ud83d\ude00 \/""#, "\"😀 /\""),
    (r"'\d+ \. \/'", r#""\\d+ \\. \\/""#),
    ("'one \\\ntwo'", "\"one two\""),
    (r"r'\d\'+'", r#""\\d\\'+""#),
    ("b'\\x80'", "\"\u{80}\""),
    ("u'x'", "\"x\""),
    ("['''it's\n\"''here\"''', \"\"\"\"x\"\"\"]", r#"["it's\n\"''here\"", "\"x"]"#),
    ("['', \"\", '''''']", r#"["", "", ""]"#),
    ("{'code': 'if (a) { return \"}\"; }'}", r#"{"code": "if (a) { return \"}\"; }"}"#),
];

#[test]
fn translates_every_literal_at_every_cut() {
    for &(python, json) in FITTING {
        serde_json::from_str::<Value>(json).unwrap();
        for tail in ["", " ", "\n</x>", "}", ")"] {
            let text = format!("{python}{tail}");
            for step in [1, 2, 3, 5, text.len()] {
                let (out, end, done, malformed) = translate(text.as_bytes(), step);
                assert_eq!(String::from_utf8(out).unwrap(), json, "{text} by {step}");
                assert_eq!((end, done, malformed), (python.len(), true, false), "{text} by {step}");
            }
        }
    }
}

#[test]
fn reads_json_as_well() {
    for sample in json_samples() {
        let (out, _, done, malformed) = translate(sample.as_bytes(), 3);
        assert!(done && !malformed, "{sample}");
        let (mine, theirs): (Value, Value) =
            (serde_json::from_slice(&out).unwrap(), serde_json::from_str(&sample).unwrap());
        assert_eq!(mine, theirs, "{sample}");
    }
}

#[test]
fn mends_and_flags_what_is_no_python() {
    for (python, json) in [
        ("{'a' 1, 'b': , 'c'}", r#"{"a": 1, "b": null, "c": null}"#),
        ("{'a': 1 'b': 2]", r#"{"a": 1, "b": 2}"#),
        ("[1,,2)", "[1, 2]"),
        ("{a: b}", r#"{"a": "b"}"#),
        ("{(1, 2): 3}", r#"{"": [1, 2], "3": null}"#),
        ("[nan, -inf, Infinity]", "[null, null, null]"),
        ("[007, 1j, 1__0, 1.2.3]", r#"[7, "1j", "1__0", "1.2.3"]"#),
        ("['a\nb']", r#"["a\nb"]"#),
        (r"['\ud83d', '\udc00x', '\xg', '\N{DASH}']", {
            "[\"\u{fffd}\", \"\u{fffd}x\", \"\u{fffd}g\", \"\\\\N{DASH}\"]"
        }),
        ("[f'x', 'a' 'b']", r#"["x", "a", "b"]"#),
        ("[1 # c\n]", r#"[1, "c"]"#),
        ("hello", "\"hello\""),
    ] {
        for step in [1, 2, 100] {
            let (out, _, done, malformed) = translate(format!("{python} ").as_bytes(), step);
            assert_eq!(String::from_utf8(out).unwrap(), json, "{python} by {step}");
            assert!(done && malformed, "{python}");
        }
    }
    for text in ["", "  ", ")", "<x>", ":"] {
        let (out, ..) = translate(text.as_bytes(), 1);
        assert!(out.is_empty(), "{text}");
    }
}

#[test]
fn a_literal_cut_short_is_the_beginning_of_its_json() {
    for (python, json) in [
        ("{'a': 1, 'b': Tr", r#"{"a": 1, "b": tr"#),
        ("{'a': No", r#"{"a": nu"#),
        ("{'a': 1_00", r#"{"a": 100"#),
        ("{'a': -", r#"{"a": -"#),
        ("{'a': +", r#"{"a": "#),
        ("{'a': 'it\\", r#"{"a": "it"#),
        ("{'a': '", r#"{"a": ""#),
        ("{'a", r#"{"a"#),
        ("{12", "{"),
        ("-", "-"),
        ("Fal", "fal"),
    ] {
        let (out, _, done, malformed) = translate(python.as_bytes(), 2);
        assert_eq!(String::from_utf8(out).unwrap(), json, "{python}");
        assert!(!done && !malformed, "{python}");
    }
    for &(python, _) in FITTING {
        for (end, _) in python.char_indices() {
            let (out, ..) = translate(&python.as_bytes()[..end], 7);
            let closed = crate::readers::json::close(std::str::from_utf8(&out).unwrap());
            assert!(serde_json::from_str::<Value>(&closed).is_ok(), "{} -> {closed}", &python[..end]);
        }
    }
}

/// Also where the text ends before the token does.
#[test]
fn a_token_that_is_nothing_is_flagged_wherever_it_is_cut() {
    for (text, malformed) in [
        ("[12", false),
        ("[1e+5", false),
        ("[12zz3", true),
        ("[-1%2", true),
        ("[Tru", false),
        ("[Trie", true),
        ("[x", false),
    ] {
        for step in 1..=text.len() {
            assert_eq!(translate(text.as_bytes(), step).3, malformed, "{text} by {step}");
        }
    }
}

#[test]
fn whatever_comes_the_output_is_json_at_every_cut() {
    let mut random = Random::new(3);
    for round in 0..60_000 {
        let mut bytes = if round % 2 == 0 {
            random.bytes(40)
        } else {
            let mut bytes = FITTING[random.below(FITTING.len())].0.as_bytes().to_vec();
            for _ in 0..random.below(4) {
                random.damage(&mut bytes);
            }
            bytes
        };
        bytes.push(b' ');
        let whole = translate(&bytes, bytes.len());
        let step = 1 + random.below(6);
        assert_eq!(translate(&bytes, step), whole, "{:?} by {step}", String::from_utf8_lossy(&bytes));
        let (out, _, done, _) = whole;
        let out = String::from_utf8_lossy(&out).into_owned();
        if done
            && !out.is_empty()
            && let Err(error) = serde_json::from_str::<Value>(&out)
        {
            assert!(error.to_string().contains("out of range"), "{:?} -> {out}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_reset_translator_is_new() {
    let mut translator = Translator::new();
    let mut out = Vec::new();
    translator.feed(b"{'a': [1, 'x\\ud83d", &mut out);
    translator.reset();
    out.clear();
    assert_eq!(translator.feed(b"['b']", &mut out), Progress::Done(5));
    assert_eq!((out.as_slice(), translator.malformed()), (b"[\"b\"]".as_slice(), false));
}

/// Translates an argument of a call expression in pieces; gives the output, what follows the value, and whether it was
/// malformed. What the translator does not take comes again with the next piece.
fn translate_argument(text: &str, step: usize) -> (String, String, bool) {
    let mut translator = Translator::new();
    translator.read_arguments(false);
    let (mut out, mut from) = (Vec::new(), 0);
    for to in (0..text.len()).step_by(step).skip(1).chain([text.len()]) {
        match translator.feed_part(&text.as_bytes()[from..to], to == text.len(), &mut out) {
            Progress::More => from = to,
            Progress::Stop(n) | Progress::Wait(n) => from += n,
            Progress::Done(n) => {
                from += n;
                break;
            }
        }
    }
    translator.finish(&mut out);
    (String::from_utf8(out).unwrap(), text[from..].to_owned(), translator.malformed())
}

#[test]
fn a_quote_without_a_backslash_belongs_to_an_argument() {
    for (text, json, rest, malformed) in [
        (r#""Paris", days=3)"#, r#""Paris""#, ", days=3)", false),
        (r#""say "hi" now")"#, r#""say \"hi\" now""#, ")", true),
        (r#""say "hi"", days=3)"#, r#""say \"hi\"""#, ", days=3)", true),
        (r#"'it's fine', days=3)"#, r#""it's fine""#, ", days=3)", true),
        (r#""print("hi")")]"#, r#""print(\"hi\")""#, ")]", true),
        (r#""a", b", days=3)"#, r#""a\", b""#, ", days=3)", true),
        (r#""x"<|end|>"#, r#""x""#, "<|end|>", false),
        (r#""x"]"#, r#""x""#, "]", false),
        (r#""x" days=3)"#, r#""x""#, " days=3)", false),
        (r#""x""#, r#""x""#, "", false),
        (r#""")"#, r#""""#, ")", false),
    ] {
        for step in 1..=text.len() {
            let found = translate_argument(text, step);
            assert_eq!(found, (json.to_owned(), rest.to_owned(), malformed), "{text:?} in pieces of {step}");
        }
    }
}

#[test]
fn a_set_becomes_an_array() {
    for (text, json) in [
        ("{'x', 'y'}", r#"["x", "y"]"#),
        ("{'x'}", r#"["x"]"#),
        (r#"{"x",}"#, r#"["x"]"#),
        ("{1, 2.5}", "[1, 2.5]"),
        ("{True, x}", r#"[true, "x"]"#),
        ("{'a': {'x', 'y'}, 'b': [{1}, {2: 3}]}", r#"{"a": ["x", "y"], "b": [[1], {"2": 3}]}"#),
        ("{'x', {'y'}}", r#"["x", ["y"]]"#),
    ] {
        for step in 1..=text.len() {
            let (out, end, done, malformed) = translate(text.as_bytes(), step);
            assert_eq!(std::str::from_utf8(&out), Ok(json), "{text:?} in pieces of {step}");
            assert!(done && malformed && end == text.len(), "{text:?} in pieces of {step}");
        }
    }
}

#[test]
fn the_first_key_of_a_dict_is_not_held_back_for_ever() {
    let text = format!("{{'{}'", "a".repeat(2 * LONGEST_HELD));
    let mut translator = Translator::new();
    let mut out = Vec::new();
    for piece in text.as_bytes().chunks(16) {
        translator.feed(piece, &mut out);
        assert!(translator.held.len() <= LONGEST_HELD + 1);
    }
    assert!(out.len() > LONGEST_HELD);
}

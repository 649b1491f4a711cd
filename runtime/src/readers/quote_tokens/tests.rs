//! The translator on what is written with quote tokens, at every cut, and on random bytes.

use serde_json::Value;

use super::*;
use crate::readers::json::MAX_DEPTH;
use crate::readers::json::testkit::{Random, json_samples};

const QUOTE: &str = "<|\"|>";

/// Translates in pieces; gives the output, the end of the value, whether it ended, and whether it was malformed.
fn translate(quote: &str, pieces: &[&[u8]]) -> (String, usize, bool, bool) {
    let mut translator = Translator::default();
    let mut out = Vec::new();
    let mut end = 0;
    for piece in pieces {
        let from = out.len();
        let progress = translator.feed(quote.as_bytes(), piece, &mut out);
        assert!(std::str::from_utf8(&out[from..]).is_ok(), "whole characters");
        match progress {
            Progress::More => end += piece.len(),
            Progress::Done(n) => {
                assert!(n <= piece.len());
                assert_eq!(translator.feed(quote.as_bytes(), b"1", &mut out), Progress::Done(0));
                return (String::from_utf8(out).unwrap(), end + n, true, translator.malformed());
            }
            Progress::Stop(_) | Progress::Wait(_) => panic!("nothing was asked for"),
        }
    }
    let done = translator.finish(quote.as_bytes(), &mut out);
    (String::from_utf8(out).unwrap(), end, done, translator.malformed())
}

fn by(quote: &str, bytes: &[u8], step: usize) -> (String, usize, bool, bool) {
    translate(quote, &bytes.chunks(step.max(1)).collect::<Vec<_>>())
}

/// Translates the whole, which comes out the same at every cut.
fn at_every_cut(quote: &str, bytes: &[u8]) -> (String, usize, bool, bool) {
    let whole = translate(quote, &[bytes]);
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(translate(quote, &[left, right]), whole, "{:?} at {cut}", String::from_utf8_lossy(bytes));
    }
    for step in 1..4 {
        assert_eq!(by(quote, bytes, step), whole, "{:?} by {step}", String::from_utf8_lossy(bytes));
    }
    whole
}

fn is_json(json: &str) -> bool {
    match serde_json::from_str::<Value>(json) {
        Ok(_) => true,
        Err(error) => error.to_string().contains("out of range"),
    }
}

/// Values, and their JSON; `~` is the quote token.
const FITTING: &[(&str, &str)] = &[
    ("{}", "{}"),
    ("[ ]", "[]"),
    ("~~", r#""""#),
    ("~Paris~", r#""Paris""#),
    ("true", "true"),
    ("False", "false"),
    ("None", "null"),
    ("null", "null"),
    ("True", "true"),
    ("0", "0"),
    ("-12.50e+3", "-12.50e+3"),
    ("[-1,-2.5,-0,[-30],-7]", "[-1, -2.5, -0, [-30], -7]"),
    ("12345678901234567890123", "12345678901234567890123"),
    ("{city:~Paris~,days:3}", r#"{"city": "Paris", "days": 3}"#),
    ("{a:{b:[1,~x~,{c:null}],d:~~},e:[[],[[]],{}]}", {
        r#"{"a": {"b": [1, "x", {"c": null}], "d": ""}, "e": [[], [[]], {}]}"#
    }),
    ("{ a : ~x~ ,\n\tb\n: [ 1 , true ] , }", r#"{"a": "x", "b": [1, true]}"#),
    ("{~a key~:1,~b:}~ : 2}", r#"{"a key": 1, "b:}": 2}"#),
    ("{ two  words :1,New York, NY:2,é.b-c$:3,a~b:4,<x>:5,:6}", {
        r#"{"two  words": 1, "New York, NY": 2, "é.b-c$": 3, "a<|\"|>b": 4, "<x>": 5, "": 6}"#
    }),
    ("{<:1,<|:2,<|\":3}", r#"{"<": 1, "<|": 2, "<|\"": 3}"#),
    ("~say \"hi\", it's {a:[1]} \\n \\\\ \n\t\r\0~", { r#""say \"hi\", it's {a:[1]} \\n \\\\ \n\t\r\u0000""# }),
    ("~a<b <| <|\" <|\"| <<|\"|<~", r#""a<b <| <|\" <|\"| <<|\"|<""#),
    ("~<~", r#""<""#),
    ("~<|\"|~", r#""<|\"|""#),
    ("~é, 日本, 😀~", r#""é, 日本, 😀""#),
    ("{code:~fn main() { println!(\"{}\"); }\n~}", r#"{"code": "fn main() { println!(\"{}\"); }\n"}"#),
    (r#"{"a": "x\n\"\u00e9\ud83d\ude00\/", b:"<|"}"#, r#"{"a": "x\n\"é😀/", "b": "<|"}"#),
];

#[test]
fn translates_every_value_at_every_cut() {
    for quote in [QUOTE, "<escape>", "«»", "``", "'"] {
        for &(text, json) in FITTING {
            // What is about the usual token or its bytes says nothing about others.
            if quote != QUOTE && (text.contains('<') || text.contains('\'') || json.contains('<')) {
                continue;
            }
            let text = text.replace('~', quote);
            assert!(is_json(json), "{json}");
            for tail in ["", " ", "\n</x>", "}", ",b:1", "]", ")"] {
                let (out, end, done, malformed) = at_every_cut(quote, format!("{text}{tail}").as_bytes());
                assert_eq!(out, json, "{text}{tail}");
                assert_eq!((end, done, malformed), (text.len(), true, false), "{text}{tail}");
            }
        }
    }
}

#[test]
fn reads_json_as_well() {
    for sample in json_samples() {
        let (out, end, done, malformed) = at_every_cut(QUOTE, sample.as_bytes());
        assert!(done && !malformed && end == sample.len(), "{sample}");
        let (mine, theirs): (Value, Value) =
            (serde_json::from_str(&out).unwrap(), serde_json::from_str(&sample).unwrap());
        assert_eq!(mine, theirs, "{sample}");
    }
}

#[test]
fn mends_and_flags_what_breaks_the_rules() {
    for (text, json) in [
        ("hello", r#""hello""#),
        ("tru", r#""tru""#),
        ("Nonesuch", r#""Nonesuch""#),
        ("-", r#""-""#),
        ("[007, 1., .5, +1, 1e, nan]", r#"["007", "1.", ".5", "+1", "1e", "nan"]"#),
        ("{at:12:30,on:2024-01-05,by:a@b.c/d?e=\"f\"}", {
            r#"{"at": "12:30", "on": "2024-01-05", "by": "a@b.c/d?e=\"f\""}"#
        }),
        ("{unit:°C}", r#"{"unit": "°C"}"#),
        ("{a:x~y~}", r#"{"a": "x", "y": null}"#),
        ("[x~y~]", r#"["x", "y"]"#),
        ("{a}", r#"{"a": null}"#),
        ("{a:1 b:2]", r#"{"a": 1, "b": 2}"#),
        ("{a:,b:}", r#"{"a": null, "b": null}"#),
        ("{~a~ 1,~b~~c~,~d~}", r#"{"a": 1, "b": "c", "d": null}"#),
        ("[1,,2}", "[1, 2]"),
        ("[1:2 (3)]", r#"["1:2 (3)"]"#),
        ("{to:New York, NY, days:3}", r#"{"to": "New York, NY", "days": 3}"#),
        ("{to:New York days:3}", r#"{"to": "New York days:3"}"#),
        ("{to:a, b , c:d}", r#"{"to": "a, b", "c": "d"}"#),
        ("{to:see http://x.y/z, }", r#"{"to": "see http://x.y/z"}"#),
        ("[New York, Paris ]", r#"["New York", "Paris"]"#),
        ("New York (NY)", r#""New York (NY)""#),
        ("{a:'x',b:'it's' ,c:['\\s*\\w+']}", r#"{"a": "x", "b": "it's", "c": ["\\s*\\w+"]}"#),
        ("{a:'x'~,b:'y'~}", r#"{"a": "x", "b": "y"}"#),
        ("{a=~x~,b=c:1,~d~=2}", r#"{"a": "x", "b=c": 1, "d": 2}"#),
        ("[<x, <<|\"x, <~a~]", r#"["<x", "<", "<|\"x", "<", "a"]"#),
        ("{a:<|turn>4,b:2<|turn>:3,c<|turn>}", r#"{"a": "<|turn>4", "b": 2, "<|turn>": 3, "c<|turn>": null}"#),
        ("{{a:1}", r#"{"{a": 1}"#),
        ("{,a:1,,b:2}", r#"{"a": 1, "b": 2}"#),
        ("{a::1}", r#"{"a": 1}"#),
        ("[\"a\nb\", \"\\q\\ud83d\"]", "[\"a\\nb\", \"\\\\q\u{fffd}\"]"),
    ] {
        let (out, end, done, malformed) = at_every_cut(QUOTE, format!("{}}}", text.replace('~', QUOTE)).as_bytes());
        assert_eq!(out, json, "{text}");
        assert!(is_json(json) && done && malformed, "{text}");
        assert_eq!(end, text.replace('~', QUOTE).len(), "{text}");
    }
    for (text, end) in [(")", 0), (" ,", 1), ("<x>", 1), ("<|\"x", 3), (":", 0), ("}", 0), ("\u{1}", 0)] {
        assert_eq!(at_every_cut(QUOTE, text.as_bytes()), (String::new(), end, true, true), "{text}");
    }
}

#[test]
fn what_is_no_utf8_is_replaced_and_flagged() {
    for (bytes, json) in [
        (b"<|\"|>a\xff\xc3<|\"|>".as_slice(), "\"a\u{fffd}\u{fffd}\""),
        (b"{\xe2\x82:\"\xf0\x9f\"}", "{\"\u{fffd}\": \"\u{fffd}\"}"),
        (b"[\x80, x\xc3]", "[\"\u{fffd}\", \"x\u{fffd}\"]"),
    ] {
        assert_eq!(at_every_cut(QUOTE, bytes), (json.to_owned(), bytes.len(), true, true));
    }
}

#[test]
fn a_value_cut_short_is_the_beginning_of_its_json() {
    for (text, json) in [
        ("", ""),
        (" ", ""),
        ("<|", ""),
        ("~", "\""),
        ("~ab<|\"", r#""ab<|\""#),
        ("{a:1,b:Tr", r#"{"a": 1, "b": tr"#),
        ("{a:No", r#"{"a": nu"#),
        ("{a:-", r#"{"a": -"#),
        ("{a:12", r#"{"a": 12"#),
        ("{a:hello", r#"{"a": "hello"#),
        ("{a b ", r#"{"a b"#),
        ("{a:\"x\\", r#"{"a": "x"#),
        ("Fal", "fal"),
        ("1.", "1."),
    ] {
        let (out, _, done, _) = at_every_cut(QUOTE, text.replace('~', QUOTE).as_bytes());
        assert_eq!((out.as_str(), done), (json, false), "{text}");
    }
    assert_eq!(at_every_cut(QUOTE, b"hello"), ("\"hello\"".to_owned(), 5, true, true));
    assert_eq!(at_every_cut(QUOTE, "~é".replace('~', QUOTE).as_bytes()[..6].as_ref()).0, "\"\u{fffd}");
    for &(text, _) in FITTING {
        let text = text.replace('~', QUOTE);
        for end in 0..text.len() {
            let (out, ..) = by(QUOTE, &text.as_bytes()[..end], 7);
            assert!(is_json(&crate::readers::json::close(&out)), "{:?} -> {out}", &text.as_bytes()[..end]);
        }
    }
}

#[test]
fn strings_are_written_as_they_come() {
    let text = "a<b <|\"| é😀 <<|\"|<|\"x".repeat(20);
    for quote in [QUOTE, "<<|", "aab"] {
        let (mut translator, mut out) = (Translator::default(), Vec::new());
        translator.feed(quote.as_bytes(), quote.as_bytes(), &mut out);
        let mut given = 0;
        for byte in text.replace(quote, "").bytes() {
            if translator.feed(quote.as_bytes(), &[byte], &mut out) != Progress::More {
                break;
            }
            given += 1;
            let written: Value =
                serde_json::from_str(&crate::readers::json::close(str::from_utf8(&out).unwrap())).unwrap();
            assert!(given - written.as_str().unwrap().len() < quote.len() + 3);
        }
    }
}

/// After a key and a colon it begins a string, not a list.
#[test]
fn a_quote_token_may_begin_with_a_bracket_where_there_are_no_lists() {
    let json = r#"{"a": "x [1]", "b": {"c": {"d": "y"}, "e": ""}}"#;
    let text = "{a:~x [1]~,b:{c:{d:~y~},e:~~}}".replace('~', "[QUOTE]");
    assert_eq!(at_every_cut("[QUOTE]", text.as_bytes()), (json.to_owned(), text.len(), true, false));
    for step in 1..text.len() {
        assert_eq!(by("[QUOTE]", text.as_bytes(), step).0, json, "by {step}");
    }
}

#[test]
fn a_quote_token_that_repeats_itself_is_found() {
    for quote in ["aab", "abab", "<<|", "<|<|>", "''''"] {
        let alphabet: Vec<char> = quote.chars().collect();
        let mut random = Random::new(41);
        for _ in 0..3_000 {
            let text: String = (0..random.below(12)).map(|_| alphabet[random.below(alphabet.len())]).collect();
            let wire = format!("{quote}{text}{quote}");
            let end = quote.len() + wire[quote.len()..].find(quote).unwrap();
            let json = serde_json::to_string(&wire[quote.len()..end]).unwrap();
            assert_eq!(at_every_cut(quote, wire.as_bytes()), (json, end + quote.len(), true, false), "{wire}");
        }
    }
}

#[test]
fn what_is_held_is_bounded() {
    let number = "1".repeat(MAX_NUMBER);
    assert_eq!(by(QUOTE, format!("[{number}]").as_bytes(), 1000).0, format!("[{number}]"));
    let (out, _, done, malformed) = by(QUOTE, format!("[{number}1]").as_bytes(), 1000);
    assert_eq!((out, done, malformed), (format!("[\"{number}1\"]"), true, true));
    for (spaces, kept) in [(MAX_KEY_SPACE, MAX_KEY_SPACE), (1000, MAX_KEY_SPACE)] {
        let text = format!("{{a{}b:1}}", " ".repeat(spaces));
        let (out, _, done, malformed) = at_every_cut(QUOTE, text.as_bytes());
        assert_eq!((out, done, malformed), (format!("{{\"a{}b\": 1}}", " ".repeat(kept)), true, spaces > kept));
    }
}

#[test]
fn depth_takes_no_stack() {
    let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    for (depth, fits) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
        let (out, end, done, malformed) = by(QUOTE, &deep(depth), 4096);
        assert_eq!((out.into_bytes() == deep(depth), end, done, malformed), (true, 2 * depth, true, !fits));
    }
}

#[test]
fn whatever_comes_the_output_is_json_at_every_cut() {
    let mut random = Random::new(5);
    let quotes =
        [QUOTE, QUOTE, "<escape>", "\"", "\"\"\"", "'", "«", "<<|", "", "e", " '", "{|", "::", "]}", "..", "-", "--"];
    for round in 0..60_000 {
        let quote = quotes[random.below(quotes.len())];
        let mut bytes = Vec::new();
        if round % 2 == 0 {
            for _ in 0..1 + random.below(6) {
                bytes.extend(random.bytes(8));
                bytes.extend_from_slice(&quote.as_bytes()[..random.below(2) * quote.len()]);
            }
        } else {
            bytes.extend(FITTING[random.below(FITTING.len())].0.replace('~', quote).into_bytes());
            for _ in 0..random.below(4) {
                random.damage(&mut bytes);
            }
        }
        bytes.push(b' ');
        let whole = if round % 16 < 2 { at_every_cut(quote, &bytes) } else { translate(quote, &[&bytes]) };
        let step = 1 + random.below(6);
        assert_eq!(by(quote, &bytes, step), whole, "{quote} {:?} by {step}", String::from_utf8_lossy(&bytes));
        let (out, end, done, malformed) = whole;
        let text = String::from_utf8_lossy(&bytes);
        assert!(end <= bytes.len());
        if done {
            assert!(is_json(&out) || (out.is_empty() && malformed), "{quote} {text:?} -> {out}");
        } else {
            assert!(is_json(&crate::readers::json::close(&out)), "{quote} {text:?} -> {out}");
        }
    }
}

#[test]
fn a_quote_token_that_changes_breaks_nothing_else() {
    let mut random = Random::new(7);
    let quotes = [QUOTE, "<", "<|", "", "«»", "<|\"|><|\"|>"];
    for _ in 0..20_000 {
        let (mut translator, mut out) = (Translator::default(), Vec::new());
        let mut done = false;
        for _ in 0..random.below(8) {
            let mut bytes = random.bytes(6);
            bytes.extend_from_slice(&QUOTE.as_bytes()[..random.below(6)]);
            done |= translator.feed(quotes[random.below(6)].as_bytes(), &bytes, &mut out) != Progress::More;
        }
        done |= translator.finish(quotes[random.below(6)].as_bytes(), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(!done || out.is_empty() || is_json(&out), "{out}");
    }
}

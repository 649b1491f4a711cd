//! What loads, what does not and where; what is accepted, and where a text is rejected.

use unjinja_gbnf::{Grammar, Limits};

/// A grammar that fails: its text, line, column and what the message must contain.
const WRONG: &[(&str, usize, usize, &str)] = &[
    ("", 1, 1, "no rule `root`"),
    ("a ::= \"x\"", 1, 10, "no rule `root`"),
    ("root ::= a\n", 1, 10, "`a` is not defined"),
    ("root ::= \"x\" a\n\n# a\nb ::= a", 1, 14, "`a` is not defined"),
    ("root ::= \"x\"\nroot ::= \"y\"", 2, 1, "defined twice"),
    ("root = \"x\"", 1, 6, "`::=`"),
    ("ro_ot ::= \"x\"", 1, 3, "`::=`"),
    ("root ::= a_b", 1, 11, "a line's end"),
    ("::= \"x\"", 1, 1, "name"),
    ("root ::= \"x", 1, 12, "ends inside a literal"),
    ("root ::= [a-z", 1, 14, "ends inside a literal or a class"),
    ("root ::= []", 1, 10, "without a code point"),
    ("root ::= \"\\/\"", 1, 11, "escape"),
    ("root ::= \"\\'\"", 1, 11, "escape"),
    ("root ::= [a\\-z]", 1, 12, "escape"),
    ("root ::= \"\\x4\"", 1, 13, "hexadecimal"),
    ("root ::= \"\\u12\"", 1, 13, "hexadecimal"),
    ("root ::= \"\\x+1\"", 1, 13, "hexadecimal"),
    ("root ::= \"\\U0000é\"", 1, 13, "hexadecimal"),
    ("root ::= (\"a\"", 1, 14, "`)`"),
    ("root ::= \"a\")", 1, 13, "a line's end"),
    ("root ::= *", 1, 10, "nothing comes before"),
    ("root ::= \"a\" | +", 1, 16, "nothing comes before"),
    ("root ::= \"\"*", 1, 12, "nothing comes before"),
    ("root ::= \"a\"{,3}", 1, 14, "an integer"),
    ("root ::= \"a\"{3", 1, 15, "`}`"),
    ("root ::= \"a\"{3 4}", 1, 16, "`}`"),
    ("root ::= \"a\"{4,3}", 1, 13, "lower"),
    ("root ::= \"a\"\n  \"b\"", 2, 3, "name"),
    ("root ::= \"a\" |\n \"b\"\n | \"c\"", 3, 2, "name"),
    ("root ::= <think>", 1, 10, "token terminal"),
    ("root ::= !<think>", 1, 10, "token terminal"),
    ("root ::= root \"a\" | \"b\"", 1, 1, "left-recursive"),
    ("root ::= a\na ::= \"x\"? b\nb ::= a \"y\" | \"z\"", 1, 10, "left-recursive"),
    ("root ::= (\"a\"?)*", 1, 16, "left-recursive"),
    ("root ::= \"a\"{0,2000}", 1, 13, "takes fewer than 2000"),
    ("root ::= \"a\"{2000}", 1, 13, "takes fewer than 2000"),
    ("root ::= \"a\"{2001,}", 1, 13, "more than the engine takes"),
    ("root ::= (\"a\" [b]{0,50}){0,50}", 1, 25, "takes fewer than 2000"),
    ("root ::= \"a\"{50}{50}", 1, 17, "takes fewer than 2000"),
    // Names that the engine meets for the first time inside of the group count like rules made of it.
    ("root ::= (a b c){500}\na ::= \"\"\nb ::= \"\"\nc ::= \"\"", 1, 17, "takes fewer than 2000"),
    ("root ::= \"a\0\"", 1, 12, "NUL"),
];

#[test]
fn what_the_engine_refuses_is_an_error_with_a_place() {
    for &(text, line, column, message) in WRONG {
        let error = Grammar::parse(text).err().unwrap_or_else(|| panic!("it loads: {text:?}"));
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
        assert!(error.message.contains(message), "{text:?}: {error}");
    }
    let deep = format!("root ::= {}\"a\"{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Grammar::parse(&deep).is_err());
    let big = format!("root ::= {}", "a{1999} ".repeat(100_000));
    assert!(Grammar::parse(&big).is_err());
}

/// A grammar, what it accepts, and what it rejects at which byte.
type Texts = (&'static str, &'static [&'static str], &'static [(&'static str, usize)]);

const TEXTS: &[Texts] = &[
    ("root ::= \"abc\"", &["abc"], &[("", 0), ("ab", 2), ("abd", 2), ("abcd", 3)]),
    ("root ::= \"\"", &[""], &[("a", 0)]),
    ("root ::= | \"a\"", &["", "a"], &[("b", 0)]),
    ("root::=\"a\"#comment\n\n# more\r\n", &["a"], &[]),
    ("root ::=\n  \"a\" |\n  (\n \"b\"\n \"c\" )", &["a", "bc"], &[("b", 1)]),
    ("root ::= \"\\x41\\u00e9\\U0001F600\\t\\r\\n\\\\\\\"\\[\\]\"", &["Aé😀\t\r\n\\\"[]"], &[]),
    ("root ::= [a-c-]", &["a", "c", "-"], &[("d", 0)]),
    ("root ::= [\\x5E\\]\\[a]", &["^", "]", "["], &[("\\", 0)]),
    ("root ::= [^a-c\\n]+", &["d", "é\u{10FFFF}"], &[("da", 1), ("\n", 0)]),
    ("root ::= [\\x00-\\x7F] | [^a] \"b\"", &["x", "éb"], &[("\0", 0)]),
    ("root ::= .", &["x", "\n", "😀"], &[("", 0), ("xx", 1)]),
    ("root ::= \"ab\"{2,3} \"c\"", &["ababc", "abababc"], &[("abc", 2), ("abababab", 6)]),
    ("root ::= \"a\"{2} [b]{2,} x?\nx ::= \"c\"+", &["aabb", "aabbbbccc"], &[("aab", 3), ("ab", 1), ("aaa", 2)]),
    ("root ::= \"a\"{0,1999}", &["", "aaaa"], &[("b", 0)]),
    ("root ::= \"a\"{0,2001} \"b\"", &["aaab"], &[("aa", 2)]),
    ("root ::= \"a\"{0} \"b\"{0,0} \"c\"", &["c"], &[("a", 0)]),
    ("root ::= a{0,50}\na ::= \"a\" [b]{0,50}", &["", "a", "abbabba"], &[("b", 0)]),
    ("root ::= \"(\" root \")\" | \"x\"", &["x", "((x))"], &[("((x)", 4), ("x)", 1)]),
    // Ambiguous, nullable, and frames that close where they open.
    ("root ::= a a \"x\"\na ::= \"\" | \"y\" | b\nb ::= \"y\"?", &["x", "yx", "yyx"], &[("yyy", 2)]),
    ("root ::= e e \"x\" e\ne ::= f f\nf ::= \"y\"?", &["x", "yyyyxyy", "xy"], &[("yyyyy", 4), ("xyyy", 3)]),
    ("root ::= s\ns ::= \"a\" s \"b\" s | \"\"", &["", "ab", "aabbab"], &[("b", 0), ("aab", 3), ("abb", 2)]),
    ("root ::= (\"a\" | \"ab\") (\"c\" | \"bcd\")", &["ac", "abc", "abcd", "abbcd"], &[("abd", 2)]),
];

#[test]
fn texts_are_accepted_or_rejected_at_a_place() {
    for &(grammar, accepted, rejected) in TEXTS {
        let parsed = Grammar::parse(grammar).unwrap_or_else(|error| panic!("{grammar:?}: {error}"));
        for &text in accepted {
            assert_eq!(parsed.check(text), Ok(()), "{grammar:?} {text:?}");
            let mut bytes = parsed.recogniser();
            text.bytes().for_each(|byte| bytes.push_bytes(&[byte]).unwrap());
            assert!(bytes.complete() && bytes.offset() == text.len(), "{grammar:?} {text:?}");
        }
        for &(text, offset) in rejected {
            let error = parsed.check(text).unwrap_err();
            assert_eq!(error.offset, offset, "{grammar:?} {text:?}: {error}");
            let mut bytes = parsed.recogniser();
            let by_byte = text.bytes().try_for_each(|byte| bytes.push_bytes(&[byte])).and_then(|()| bytes.finish());
            assert_eq!(by_byte.unwrap_err().offset, offset, "{grammar:?} {text:?}");
        }
    }
}

#[test]
fn a_rejection_says_what_was_expected() {
    let grammar = "root ::= \"<call>\" name [^a\\]-]* | \"<think>\" | [0-9a\"]\nname ::= \"get\" | \"set\"";
    let grammar = Grammar::parse(grammar).unwrap();
    for (text, message) in [
        ("x", r#"at byte 0: 'x' where "<call>" or "<think>" or [0-9a"] was expected (in root)"#),
        ("<cal", r#"at byte 4: the end where "l>" was expected (in root)"#),
        ("<call>\u{7f}", r#"at byte 6: '\u{7f}' where "get" or "set" was expected (in name)"#),
        ("<call>geta", r#"at byte 9: 'a' where [^a\]\-] or the end was expected (in root)"#),
        ("1é", r#"at byte 1: 'é' where the end was expected"#),
    ] {
        assert_eq!(sorted(&grammar.check(text).unwrap_err().to_string()), sorted(message), "{text:?}");
    }
    let mut recogniser = grammar.recogniser();
    let first = recogniser.push("<x").unwrap_err();
    assert_eq!(recogniser.push("call>").unwrap_err(), first, "a text that was rejected stays so");
    assert_eq!((recogniser.complete(), recogniser.finish()), (false, Err(first)));
}

/// The words of a message in any order: which expectation is listed first does not matter.
fn sorted(message: &str) -> Vec<&str> {
    let mut words: Vec<&str> = message.split(' ').collect();
    words.sort_unstable();
    words
}

#[test]
fn a_part_of_a_code_point_is_judged_by_what_it_can_become() {
    let grammar = Grammar::parse("root ::= [é-ü] | \"漢\" | [^\\x00-\\x7F]").unwrap();
    let only = Grammar::parse("root ::= [é-ü] | \"漢\"").unwrap();
    for (bytes, any, few) in [
        (&[0xC3][..], true, true),
        (&[0xC3, 0xA9], true, true),
        (&[0xC3, 0xA8], true, false),
        (&[0xC4], true, false),
        (&[0xE6], true, true),
        (&[0xE6, 0xBC], true, true),
        (&[0xE6, 0xBB], true, false),
        (&[0xF0], true, false),
        (&[0xF0, 0x9F, 0x98], true, false),
        (&[0xFF], false, false),
        (&[0x80], false, false),
        (&[0xC3, 0x41], false, false),
        (&[0xE0, 0x80], false, false),
    ] {
        for (grammar, expected) in [(&grammar, any), (&only, few)] {
            let mut recogniser = grammar.recogniser();
            assert_eq!(recogniser.push_bytes(bytes).is_ok(), expected, "{bytes:02X?}");
            assert_eq!(recogniser.complete(), expected && std::str::from_utf8(bytes).is_ok(), "{bytes:02X?}");
        }
    }
}

#[test]
fn long_texts_and_hard_grammars_end_soon() {
    let options = format!("root ::= {}", "\"x\"? ".repeat(300));
    let nested = "root ::= \"[\" root? \"]\"";
    let ambiguous = "root ::= (a | b)*\na ::= \"x\" | \"xx\"\nb ::= \"x\" b | \"x\"";
    let string = "root ::= \"\\\"\" char* \"\\\"\"\nchar ::= [^\"\\\\] | \"\\\\\" [\"\\\\nu]";
    for (grammar, text) in [
        (options.as_str(), "x".repeat(300)),
        (nested, "[".repeat(32_768) + &"]".repeat(32_768)),
        (ambiguous, "x".repeat(500)),
        (string, format!("\"{}\"", "a\\n".repeat(21_845))),
        ("root ::= \"a\"{0,500} \"a\"{0,500}", "a".repeat(1_000)),
    ] {
        let parsed = Grammar::parse(grammar).unwrap();
        assert_eq!(parsed.check(&text), Ok(()), "{grammar:.40}");
    }
}

#[test]
fn random_sentences_are_sentences() {
    let json = "root ::= value\nvalue ::= object | array | string | \"-\"? [0-9]+ | \"true\" | \"null\"\n\
                object ::= \"{\" (string \":\" value (\",\" string \":\" value)*)? \"}\"\n\
                array ::= \"[\" (value (\",\" value)*)? \"]\"\nstring ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"n])* \"\\\"\"";
    let grammars = TEXTS
        .iter()
        .map(|text| text.0)
        .chain([json, "root ::= \"a\" root \"b\" | \"c\" dead | \"\"\ndead ::= \"x\" dead"]);
    for grammar in grammars {
        let parsed = Grammar::parse(grammar).unwrap();
        let (mut seed, mut sentences) = (1, std::collections::HashSet::new());
        for _ in 0..200 {
            let sentence = parsed.sample(&mut seed, Limits { length: 200, depth: 20 }).unwrap();
            assert_eq!(parsed.check(&sentence), Ok(()), "{grammar:?} {sentence:?}");
            sentences.insert(sentence);
        }
        assert!(grammar != json || sentences.len() > 60, "{} different ones", sentences.len());
    }
    assert_eq!(Grammar::parse("root ::= \"x\" root").unwrap().sample(&mut 1, Limits::default()), None);
}

/// Found by fuzzing.
#[test]
fn nothing_is_drawn_from_a_range_that_runs_backwards() {
    let grammar = Grammar::parse("root ::= \"a\" [x-0c]").unwrap();
    for seed in 0..64 {
        assert_eq!(grammar.sample(&mut { seed }, Limits::default()).as_deref(), Some("ac"));
    }
    assert_eq!(Grammar::parse("root ::= [x-0]").unwrap().sample(&mut 1, Limits::default()), None);
}

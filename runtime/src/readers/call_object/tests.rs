//! Call objects of every shape, at every cut.

use super::*;
use crate::program::{list, text};
use crate::readers::json::testkit::Random;

const FLAT: CallShape = CallShape {
    function_field: text(""),
    name_field: text("name"),
    args_field: text("arguments"),
    id_field: text("id"),
    name_is_key: false,
    python: false,
    keys: list(&[]),
    strict: false,
    announced: false,
    args_as_text: false,
};
fn nested() -> CallShape {
    CallShape { function_field: text("function"), ..FLAT }
}

fn by_key() -> CallShape {
    CallShape { name_field: text(""), args_field: text(""), id_field: text(""), name_is_key: true, ..FLAT }
}

fn strict() -> CallShape {
    CallShape { strict: true, ..FLAT }
}

fn python() -> CallShape {
    CallShape { python: true, ..FLAT }
}

/// What a reader said of some bytes.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Said {
    parts: String,
    end: Progress,
    malformed: bool,
}

/// Reads in pieces. Parts are written as `name(arguments)#id`, in the order of their coming.
fn read(shape: &CallShape, bytes: &[u8], step: usize) -> Said {
    let mut object = CallObject::default();
    object.reset(shape.python);
    let (mut parts, mut arguments) = (String::new(), String::new());
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut end = Progress::More;
    let (mut from, mut to) = (0, 0);
    while end == Progress::More && (from < to || to < bytes.len()) {
        if from == to {
            to = (to + step.max(1)).min(bytes.len());
        }
        // A character that is cut waits for the rest of it.
        let whole = if to < bytes.len() { crate::utf8::whole_characters(&bytes[from..to]) } else { to - from };
        let piece = &bytes[from..from + whole];
        let (part, count) = object.next(shape, piece, usize::MAX, &Begins::NOTHING);
        let before = from;
        from += count;
        match part {
            // The rest waits for text that does not come.
            CallProgress::More if from < to && whole == bytes.len() - before => {
                if object.passes_on() {
                    arguments.push_str(&lossy(&bytes[from..]));
                }
                from = bytes.len();
            }
            CallProgress::More if from < to => to = (to + step.max(1)).min(bytes.len()),
            CallProgress::More => {}
            CallProgress::Done => end = Progress::Done(from),
            CallProgress::Mismatch => end = Progress::Stop(from),
            CallProgress::Name(head) => {
                assert!(parts.is_empty() || parts.ends_with('#'), "one name");
                if let Some(id) = object.id() {
                    parts.push_str(&format!("#{}#", lossy(id)));
                }
                parts.push_str(&lossy(object.name()));
                let stands = |(from, to): (usize, usize)| &bytes[before + from..before + to];
                if let Some(head) = head {
                    assert_eq!((stands(head.name), head.id.map(stands)), (object.name(), object.id()));
                }
                let rest = &piece[count..];
                let rest = object.usual_rest(shape, rest, &Begins::NOTHING);
                if let Some(rest) = rest {
                    let stands = |(start, end): (usize, usize)| lossy(&bytes[from + start..from + end]);
                    arguments.push_str(&stands(rest.arguments));
                    if let Some(id) = rest.id {
                        assert_eq!(object.id().map(lossy), Some(stands(id)));
                        parts.push_str(&format!("#{}#", stands(id)));
                    }
                    from += rest.taken;
                    assert_eq!(rest.done, object.is_done());
                    if rest.done {
                        end = Progress::Done(from);
                    }
                }
            }
            CallProgress::Id => parts.push_str(&format!("#{}#", lossy(object.id().expect("an id")))),
            CallProgress::Arguments(count) => {
                assert!(!parts.is_empty() && count > 0);
                arguments.push_str(&lossy(&bytes[from - count..from]));
            }
            CallProgress::Written => {
                assert!(!parts.is_empty() && !object.written().is_empty());
                arguments.push_str(&lossy(object.written()));
            }
            CallProgress::Stop => unreachable!("nothing was asked for"),
        }
    }
    if end == Progress::More && object.finish() {
        arguments.push_str(&lossy(object.written()));
    }
    if matches!(end, Progress::Stop(_)) {
        assert!(!object.named() && parts.is_empty());
    }
    Said { parts: format!("{parts}({arguments})"), end, malformed: object.malformed() }
}

fn check(shape: &CallShape, text: &str, parts: &str, end: Progress, malformed: bool) {
    for step in [1, 2, 3, 5, 8, text.len()] {
        let said = read(shape, text.as_bytes(), step);
        assert_eq!(said, Said { parts: parts.to_owned(), end, malformed }, "{text} by {step}");
    }
}

#[test]
fn long_translations_come_in_pieces_of_whole_characters() {
    for shift in 0..3 {
        let text = format!("{}{}", "x".repeat(shift), "\u{e9}\u{20ac}".repeat(PIECE / 2));
        let said = |step| read(&python(), format!("{{'name': 'f', 'arguments': {{'a': '{text}'}}}}").as_bytes(), step);
        let whole = said(usize::MAX);
        assert_eq!(whole.parts, format!("f({{\"a\": \"{text}\"}})"));
        assert_eq!(said(PIECE + 1), whole);
    }
}

#[test]
fn reads_every_shape_in_every_order() {
    let other = CallShape {
        name_field: text("tool_name"),
        args_field: text("parameters"),
        id_field: text("tool_call_id"),
        ..FLAT
    };
    for (shape, text, parts) in [
        (FLAT, r#"{"name": "f", "arguments": {"a": 1.50}}"#, r#"f({"a": 1.50})"#),
        (FLAT, r#"{"arguments": {"a": 1}, "name": "f"}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"name":"f","arguments":{},"id":"c1"}"#, "f#c1#({})"),
        (FLAT, r#"{"id": 7, "name": "f", "arguments": [1]}"#, "#7#f([1])"),
        (FLAT, r#"{"name": "f", "id": null}"#, "f()"),
        (FLAT, r#"{"name": "f"}"#, "f()"),
        (FLAT, r#"{"name": "f", "arguments": null}"#, "f()"),
        (FLAT, r#"{"arguments": null, "name": "f"}"#, "f()"),
        (FLAT, r#"{"name": "f", "arguments": ""}"#, "f()"),
        (FLAT, r#"{"x": [{"name": "no"}], "name": "f", "y": "}", "arguments": {}}"#, "f({})"),
        (
            FLAT,
            r#"{"name": "f", "arguments": "{\"a\": \"\\n\\u00e9 \u00e9 \ud83d\ude00\"}"}"#,
            "f({\"a\": \"\\n\\u00e9 é 😀\"})",
        ),
        (FLAT, r#"{"arguments": " {} ", "name": "f"}"#, "f( {} )"),
        (
            FLAT,
            "{\n  \"name\" : \"né_日😀\" ,\n  \"arguments\" : { \"é\" : \"日😀\" }\n}",
            "né_日😀({ \"é\" : \"日😀\" })",
        ),
        (FLAT, r#"{"n\u0061me": "\u0066", "arguments": {}}"#, "f({})"),
        (other, r#"{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}"#, r#"#0#f({"a": 1})"#),
        (nested(), r#"{"type": "function", "function": {"name": "f", "arguments": {"a": {}}}, "id": "c"}"#, {
            r#"f#c#({"a": {}})"#
        }),
        (nested(), r#"{"id": "c", "function": {"arguments": {}, "name": "f"}, "index": 0}"#, "#c#f({})"),
        (nested(), r#"{"name": "g", "function": {"id": "c", "name": "f"}}"#, "#c#f()"),
        (by_key(), r#"{"f": {"a": "}"}}"#, r#"f({"a": "}"})"#),
        (by_key(), r#"{"name": {}}"#, "name({})"),
        (strict(), r#"{"id": "c", "arguments": {}, "name": "f", "x": 1}"#, "#c#f({})"),
        // Short members that the format does not know may come before the name.
        (strict(), r#"{"title": "x", "n": 1, "ok": true, "name": "f", "arguments": {}}"#, "f({})"),
        // Other usual keys hold the arguments too, if the value is an object and nothing else was read for them.
        (FLAT, r#"{"name": "f", "parameters": {"a": 1}}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"input": {"a": 1}, "name": "f"}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"name": "f", "input": "x", "arguments": {"a": 1}}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"name": "f", " arguments": {"a": 1}, "id ": "c"}"#, r#"f#c#({"a": 1})"#),
        (python(), "{'name': 'f', 'arguments': {'a': True, 'b': 'it\\'s', 'c': (1, None)}}", {
            r#"f({"a": true, "b": "it's", "c": [1, null]})"#
        }),
        (python(), r#"{"name": "f", "arguments": {"a": true}, }"#, r#"f({"a": true})"#),
        (python(), "{'arguments': None, 'id': 'c', 'name': 'f'}", "#c#f()"),
        (python(), "{'name': 'f', 'arguments': '{\"a\": 1}'}", r#"f({"a": 1})"#),
        (python(), "{'name': 'f', 'arguments': 1}", "f(1)"),
    ] {
        for tail in ["", "]", " {\"name\""] {
            check(&shape, &format!("{text}{tail}"), parts, Progress::Done(text.len()), false);
        }
    }
}

#[test]
fn says_where_it_is_no_call() {
    let long = format!(r#"{{"name": "{}""#, "x".repeat(257));
    let long_member = format!(r#"{{"type": "{}", "name": "f"}}"#, "x".repeat(150));
    let long_key = format!(r#"{{"{}""#, "x".repeat(257));
    for (shape, text, at) in [
        (FLAT, "x", 0),
        (FLAT, " [", 1),
        (FLAT, "{x", 1),
        (FLAT, "{'", 1),
        (FLAT, "{1: 2}", 1),
        (FLAT, "{}", 1),
        (FLAT, r#"{"a": 1}"#, 7),
        (FLAT, r#"{"a" 1}"#, 5),
        (FLAT, r#"{"a":, "name": "f"}"#, 5),
        (FLAT, r#"{"a": 1 "name""#, 8),
        (FLAT, r#"{"a": 1]"#, 7),
        (FLAT, r#"{"name": 1}"#, 9),
        (FLAT, r#"{"name": {}}"#, 9),
        (FLAT, r#"{"name": ""}"#, 10),
        (FLAT, r#"{"name": "a\nb"}"#, 12),
        (FLAT, "{\"name\": \"a\nb\"}", 11),
        (FLAT, long.as_str(), 266),
        (FLAT, long_key.as_str(), 258),
        (nested(), r#"{"function": "f"}"#, 13),
        (nested(), r#"{"function": {}}"#, 15),
        (nested(), r#"{"name": "f", "arguments": {}}"#, 29),
        (by_key(), r#"{"": 1}"#, 2),
        (by_key(), r#"{"f"}"#, 4),
        (strict(), r#"{"nx": {"a": 1}}"#, 7),
        (strict(), r#"{"names": ["f"]}"#, 10),
        (strict(), r#"{"type": 1}"#, 10),
        (strict(), long_member.as_str(), 134),
    ] {
        check(&shape, text, "()", Progress::Stop(at), false);
    }
}

#[test]
fn a_named_call_goes_on_whatever_comes() {
    for (shape, text, parts) in [
        (FLAT, r#"{"name": "f" "arguments": {"a": 1}}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"name": "f", arguments: {"a": 1}}"#, "f()"),
        (FLAT, r#"{"name": "f", "arguments" {"a": 1}}"#, r#"f({"a": 1})"#),
        (FLAT, r#"{"name": "f", "arguments": }"#, "f()"),
        (FLAT, r#"{"name": "f", "arguments": {'a': 1}}"#, "f({\"a\": 1})"),
        (FLAT, r#"{"name": "f", "arguments": {"a": tru}}"#, r#"f({"a": tru})"#),
        (FLAT, r#"{"name": "f", "arguments": nope}"#, "f(nope)"),
        (FLAT, r#"{"name": "f", "arguments": "{\"a\": "}"#, r#"f({"a": )"#),
        (FLAT, r#"{"name": "f", "arguments": "hello"}"#, "f(hello)"),
        (FLAT, r#"{"name": "f", "name": "g", "arguments": {}, "arguments": {"b": 1}}"#, "f({})"),
        (FLAT, r#"{"name": "f",}"#, "f()"),
        (FLAT, r#"{"name": "f", ], "arguments": {}}"#, "f({})"),
        (FLAT, r#"{"name": "f", [{"}": 1}], "arguments": {}}"#, "f({})"),
        (FLAT, r#"{"name": "f", "id": {}}"#, "f()"),
        (by_key(), r#"{"f": {}, "g": {}}"#, "f({})"),
        (FLAT, "{\"x\": \"a\nb\", \"name\": \"f\"}", "f()"),
    ] {
        check(&shape, text, parts, Progress::Done(text.len()), true);
    }
}

#[test]
fn a_call_cut_short_gives_what_came() {
    for (shape, text, parts) in [
        (FLAT, r#"{"name": "f", "arguments": {"a": [1, "#, r#"f({"a": [1, )"#),
        (FLAT, r#"{"name": "f", "arguments": nu"#, "f(nu)"),
        (FLAT, r#"{"name": "f", "arguments": "{\"a"#, r#"f({"a)"#),
        (FLAT, r#"{"name": "f", "argum"#, "f()"),
        (FLAT, r#"{"arguments": {}, "na"#, "()"),
        (python(), "{'name': 'f', 'arguments': {'a': Tr", r#"f({"a": tr)"#),
    ] {
        check(&shape, text, parts, Progress::More, false);
    }
}

#[test]
fn arguments_flow_once_the_name_is_known() {
    let mut object = CallObject::default();
    let mut parts = Vec::new();
    for piece in [r#"{"name": "f", "arguments": {"a": "#, "1, \"b", "\": \"x\"}", "}"] {
        let mut from = 0;
        loop {
            let (part, count) = object.next(&FLAT, &piece.as_bytes()[from..], usize::MAX, &Begins::NOTHING);
            from += count;
            match part {
                CallProgress::More | CallProgress::Done => break,
                CallProgress::Arguments(count) => parts.push(&piece[from - count..from]),
                CallProgress::Name(_) => parts.push("name"),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(parts, ["name", r#"{"a": "#, r#"1, "b"#, r#"": "x"}"#]);
}

#[test]
fn invalid_utf8_is_passed_on_for_what_it_is() {
    let text = b"{\"arguments\": {\"a\": \"\xff\"}, \"name\": \"f\xc3\"}";
    for step in [1, 2, 3, 50] {
        let said = read(&FLAT, text, step);
        assert_eq!(said.parts, "f\u{fffd}({\"a\": \"\u{fffd}\"})");
    }
}

#[test]
fn whatever_comes_it_says_the_same_at_every_cut() {
    const TEXTS: [&str; 6] = [
        r#"{"name": "f", "arguments": {"a": [1, "x"]}, "id": "c1"}"#,
        r#"{"arguments": "{\"a\": 1}", "id": 12, "name": "f"}"#,
        r#"{"id": "c", "function": {"arguments": null, "name": "f"}}"#,
        "{'name': 'f', 'arguments': {'a': (True, None), 'é': '\\u00e9'}}",
        r#"{"f": {"a": {}}}"#,
        r#"{"x": {"name": 1}, "name": "né😀", "arguments": nope}"#,
    ];
    let mut random = Random::new(17);
    for round in 0..60_000 {
        let mut bytes = TEXTS[round % TEXTS.len()].as_bytes().to_vec();
        for _ in 0..random.below(4) {
            random.damage(&mut bytes);
        }
        if random.below(8) == 0 {
            bytes = [b"{\"name\": \"f\"".as_slice(), &random.bytes(40)].concat();
        }
        let shape = vec![FLAT, nested(), by_key(), strict(), python()].swap_remove(random.below(5));
        let whole = read(&shape, &bytes, bytes.len());
        let step = 1 + random.below(7);
        assert_eq!(read(&shape, &bytes, step), whole, "{:?} by {step}", String::from_utf8_lossy(&bytes));
    }
}

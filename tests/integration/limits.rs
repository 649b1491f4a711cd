//! The limits of a parser. Each is a constant or an option and has a documented outcome; it is tested at the limit and
//! beyond it.

use unjinja::abi::{MAX_HELD, MAX_NAME, MAX_SPACE};
use unjinja::{ChatParser, DiagnosticKind, Event, Message, Options, Tools, parse};
use unjinja_app::{bare_json, qwen3, xml_parameters};

fn read(parser: &dyn ChatParser, output: &str) -> Message {
    parser.parse(output.into(), &Options::new().thinking(false))
}

/// The most bytes held back at any time while an output was pushed byte by byte.
fn held(parser: &dyn ChatParser, output: &str, options: &Options) -> (usize, Message) {
    let (mut stream, mut told, mut most) = (parser.stream(options), 0, 0);
    let mut message = Message::default();
    for (at, piece) in output.as_bytes().chunks(1).enumerate() {
        stream.push_bytes(piece, &mut |event| {
            if let Event::Content(text) | Event::Reasoning(text) = &event {
                told += text.len();
            }
            message.apply(&event);
        });
        most = most.max((at + 1).saturating_sub(told));
    }
    stream.finish(&mut |event| message.apply(&event));
    (most, message)
}

#[test]
fn a_name_has_so_many_bytes_and_a_longer_one_is_text() {
    for (length, is_call) in [(1, true), (MAX_NAME, true), (MAX_NAME + 1, false), (100_000, false)] {
        let name = "n".repeat(length);
        let output = format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>");
        let message = read(&qwen3::Parser, &output);
        assert_eq!(message.tool_calls.len(), usize::from(is_call), "{length}");
        assert_eq!(message.content, if is_call { "" } else { &output }, "{length}");
        let output = format!("<tool_call>\n<function={name}>\n</function>\n</tool_call>");
        let message = read(&xml_parameters::Parser, &output);
        assert_eq!(message.tool_calls.len(), usize::from(is_call), "{length}");
        assert_eq!(message.content, if is_call { "" } else { &output }, "{length}");
    }
}

#[test]
fn a_call_is_not_announced_for_so_long_and_then_it_is_incomplete() {
    for (length, waits) in [(1, true), (MAX_HELD - 100, true), (MAX_HELD, false), (2 * MAX_HELD, false)] {
        let output = format!("<tool_call>\n{{\"name\": \"now\"{}}}\n</tool_call>", "x".repeat(length));
        let options = Options::new().thinking(false);
        let whole = qwen3::parse(&output, &options);
        let complete: Vec<bool> = whole.tool_calls.iter().map(|call| call.complete).collect();
        assert_eq!(complete, if waits { vec![] } else { vec![false] }, "{length}");
        assert_eq!(whole.content == output, waits, "{length}");
        for size in [7, 1000, 50_000] {
            let (mut stream, mut message) = (qwen3::stream(&options), Message::default());
            output.as_bytes().chunks(size).for_each(|piece| stream.push(piece, |event| message.apply(&event)));
            stream.finish(|event| message.apply(&event));
            assert_eq!(message, whole, "{length} by {size}");
        }
    }
}

#[test]
fn a_name_has_no_white_space_within_however_it_is_cut() {
    for (name, is_call) in [("now", true), (" now ", true), ("now then", false), ("n\now", false), ("now t", false)] {
        let output = format!("<tool_call>\n<function={name}>\n</function>\n</tool_call>");
        for size in [1, 2, 3, 4, 7, output.len()] {
            let mut stream = xml_parameters::stream(&Options::new().thinking(false));
            let mut message = Message::default();
            output.as_bytes().chunks(size).for_each(|piece| stream.push(piece, |event| message.apply(&event)));
            stream.finish(|event| message.apply(&event));
            let names: Vec<&str> = message.tool_calls.iter().map(|call| &*call.name).collect();
            let expected: Vec<&str> = is_call.then(|| name.trim()).into_iter().collect();
            assert_eq!(names, expected, "{name:?} by {size}");
            assert_eq!(message.content, if is_call { "" } else { &output }, "{name:?} by {size}");
        }
    }
}

#[test]
fn so_much_is_held_back_and_more_is_text() {
    // The arguments come before the name; until the name is known, this may not be a call.
    let tools = Tools::from_json(r#"[{"name": "f"}]"#).unwrap();
    let options = Options::new().tools(&tools);
    for (length, is_call) in [(1000, true), (MAX_HELD - 1000, true), (MAX_HELD + 1000, false), (4 * MAX_HELD, false)] {
        let output = format!("{{\"parameters\": {{\"a\": \"{}\"}}, \"name\": \"f\"}}", "x".repeat(length));
        let (most, message) = held(&bare_json::Parser, &output, &options);
        assert_eq!(message.tool_calls.len(), usize::from(is_call), "{length}");
        assert_eq!(message.content, if is_call { "" } else { &output }, "{length}");
        assert!(most <= MAX_HELD + 64, "{most} bytes were held back");
    }
}

/// A call in reasoning waits for what confirms it, or shows that it is quoted.
#[test]
fn so_much_of_a_call_in_reasoning_is_held_back_and_a_longer_one_is_a_call() {
    const MOST: usize = 64 * 1024;
    for (length, is_quoted) in [(1000, true), (MOST - 1000, true), (MOST + 1000, false), (4 * MOST, false)] {
        let code = "x".repeat(length);
        let call = format!("<tool_call>\n{{\"name\": \"run\", \"arguments\": {{\"code\": \"{code}\"}}}}\n</tool_call>");
        let output = format!("<think>\nI could write {call} and so on.\n</think>\n\nHi.");
        let (mut stream, mut message) = (qwen3::stream(&Options::new()), Message::default());
        let (mut read, mut begun) = (0, None);
        for piece in output.as_bytes().chunks(64) {
            stream.push(piece, |event| message.apply(&event));
            read += piece.len();
            begun = begun.or((!message.tool_calls.is_empty()).then_some(read));
        }
        stream.finish(|event| message.apply(&event));
        assert_eq!(message.tool_calls.is_empty(), is_quoted, "{length}");
        assert_eq!(begun.is_none(), is_quoted, "{length}");
        assert!(begun.is_none_or(|begun| (MOST..MOST + 128).contains(&begun)), "{length}: a call after {begun:?}");
        if is_quoted {
            let reasoning = format!("I could write {call} and so on.");
            assert_eq!((message.reasoning_content, message.content.as_str()), (reasoning, "Hi."), "{length}");
        } else {
            assert_eq!(message.tool_calls[0].arguments, format!("{{\"code\": \"{code}\"}}"), "{length}");
        }
    }
}

#[test]
fn so_much_white_space_stands_between_markers_and_more_is_text() {
    for (length, fits) in [(0, true), (MAX_SPACE, true), (MAX_SPACE + 1, false)] {
        let space = " ".repeat(length);
        let output = format!("<tool_call>\n<function=now>{space}</function>\n</tool_call>");
        let message = read(&xml_parameters::Parser, &output);
        assert_eq!(
            message.tool_calls.iter().filter(|call| call.complete).count(),
            usize::from(fits),
            "{length}: {message:?}"
        );
        assert_eq!(message.content.contains(&space), !fits || length == 0, "{length}: {message:?}");
    }
}

/// A member that the format does not know waits for the end of its call, unless it is too long to keep.
#[test]
fn so_much_of_an_unknown_member_is_kept_and_more_is_delivered() {
    for (length, waits) in [(1_000, true), (100_000, false)] {
        let text = "x".repeat(length);
        let output =
            format!("<tool_call>\n{{\"name\": \"now\", \"why\": \"{text}\", \"arguments\": {{}}}}\n</tool_call>");
        let mut stream = qwen3::stream(&Options::new().thinking(false));
        let (mut message, mut inside, mut ended) = (Message::default(), 0, false);
        for piece in output.as_bytes().chunks(512) {
            stream.push(piece, |event| {
                ended |= matches!(event, Event::ToolCallEnd { .. });
                if let Event::Content(text) = &event {
                    inside += if ended { 0 } else { text.len() };
                }
                message.apply(&event);
            });
        }
        stream.finish(|event| message.apply(&event));
        assert_eq!(inside == 0, waits, "{length}");
        assert!(length - inside.min(length) < 40_000, "{length}: {inside} bytes were delivered");
        assert_eq!(message.content, format!("\"why\": \"{text}\""), "{length}");
    }
}

#[test]
fn values_nest_a_hundred_thousand_deep_and_deeper_ones_are_malformed() {
    for (depth, is_well) in [(1000, true), (99_000, true), (100_001, false), (1_000_000, false)] {
        let value = format!("{{\"a\": {}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let output = format!("<tool_call>\n{{\"name\": \"now\", \"arguments\": {value}}}\n</tool_call>");
        let message = read(&qwen3::Parser, &output);
        let told = message.diagnostics.iter().any(|told| told.kind == DiagnosticKind::MalformedArguments);
        assert_eq!(!told, is_well, "{depth}: {:?}", message.diagnostics);
        assert_eq!(message.tool_calls.len(), 1, "{depth}");
        // Well-formed or not, the arguments arrive unchanged, and no stack overflows.
        assert!(message.tool_calls[0].arguments.starts_with(&value[..1000]), "{depth}");
    }
}

#[test]
fn there_may_be_any_number_of_calls() {
    let call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n";
    let count = 20_000;
    let message = read(&qwen3::Parser, &call.repeat(count));
    assert_eq!(message.tool_calls.len(), count);
    assert!(message.tool_calls.iter().all(|call| call.complete && call.name == "now"));
    // Where only one call is allowed, the others are text, and a diagnostic says so for each.
    let one = parse(qwen3::Parser, call.repeat(3).as_str(), &Options::new().thinking(false).parallel_tool_calls(false));
    let told = one.diagnostics.iter().filter(|told| told.kind == DiagnosticKind::ParallelCall).count();
    assert_eq!((one.tool_calls.len(), told, one.content.trim()), (1, 2, call.repeat(2).trim()));
}

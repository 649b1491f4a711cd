//! Promises of a stream that a finished message does not show: when a piece is reported, what is held back, and what
//! `reset` hands back.

use unjinja::{Event, Options, Stream};
use unjinja_app::qwen3;

/// What one push reports, as text.
fn push(stream: &mut Stream<qwen3::Parser>, text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    stream.push(text, |event| {
        seen.push(match event {
            Event::Content(text) => format!("content {text}"),
            Event::Reasoning(text) => format!("reasoning {text}"),
            Event::ToolCallStart { name, .. } => format!("call {name}"),
            Event::ToolCallArguments { json, .. } => format!("arguments {json}"),
            Event::ToolCallEnd { complete, .. } => format!("end {complete}"),
            other => format!("{other:?}"),
        });
    });
    seen
}

#[test]
fn text_is_held_back_only_while_it_may_be_a_marker() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    assert_eq!(push(&mut stream, "a < b"), ["content a < b"]);
    assert_eq!(push(&mut stream, " <tool"), ["content  "]);
    assert_eq!(push(&mut stream, "box"), ["content <toolbox"]);
}

#[test]
fn a_call_is_announced_when_its_name_is_complete_and_arguments_stream() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    assert!(push(&mut stream, "<tool_call>\n{\"name\": \"no").is_empty());
    assert_eq!(push(&mut stream, "w\""), ["call now"]);
    assert_eq!(push(&mut stream, ", \"arguments\": {\"text\": \"ab"), ["arguments {\"text\": \"ab"]);
    assert_eq!(push(&mut stream, "cd"), ["arguments cd"]);
    assert_eq!(push(&mut stream, "\"}}\n</tool_call>"), ["arguments \"}", "end true"]);
}

#[test]
fn reset_hands_back_what_was_held_and_begins_anew() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    push(&mut stream, "said <tool_call>\n{\"na");
    assert_eq!(stream.reset(), b"<tool_call>\n{\"na");
    assert_eq!(push(&mut stream, "new"), ["content new"]);
}

#[test]
fn finish_settles_everything_once() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    push(&mut stream, "<tool_call>\n{\"na");
    let mut text = String::new();
    stream.finish(|event| {
        if let Event::Content(more) = event {
            text.push_str(more)
        }
    });
    assert_eq!(text, "<tool_call>\n{\"na");
    stream.finish(|event| panic!("{event:?} after the end"));
}

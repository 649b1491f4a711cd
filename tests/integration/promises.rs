//! Promises about streaming that a finished message does not show: when a piece is reported, what is held back, and what
//! `reset` returns.

use crate::support::{Failure, own_models, own_parser};
use unjinja::abi::Machine;
use unjinja::abi::is_special_token;
use unjinja::testing::Case;
use unjinja::{Diagnostic, DiagnosticKind, Event, Message, Options, Stream, Tools, Unparsed};
use unjinja_app::{args_marker, qwen3, section_tags, xml_parameters};

/// What one push reports, as text.
fn push<M: Machine>(stream: &mut Stream<M>, text: &str) -> Vec<String> {
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
fn a_call_is_announced_with_its_first_argument_and_arguments_stream() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    assert!(push(&mut stream, "<tool_call>\n{\"name\": \"no").is_empty());
    assert!(push(&mut stream, "w\", \"arguments\": ").is_empty());
    assert_eq!(push(&mut stream, "{\"text\": \"ab"), ["call now", "arguments {\"text\": \"ab"]);
    assert_eq!(push(&mut stream, "cd"), ["arguments cd"]);
    assert_eq!(push(&mut stream, "\"}}\n</tool_call>"), ["arguments \"}", "end true"]);
}

#[test]
fn a_call_after_whose_name_something_else_follows_is_none() {
    let mut stream = qwen3::stream(&Options::new().thinking(false).unparsed(Unparsed::Separate));
    let mut message = Message::default();
    for piece in [
        "Hm. <tool_call>\n{\"name\": \"now\"",
        " I stop.\n</tool_call>\n<tool_call>\n{\"name\": \"now\"",
        "}\n</tool_call>",
    ] {
        stream.push(piece, |event| message.apply(&event));
    }
    stream.finish(|event| message.apply(&event));
    assert_eq!((message.content.as_str(), message.tool_calls.len()), ("Hm. ", 1), "{message:?}");
    assert_eq!(message.tool_calls[0].arguments, "{}");
    assert_eq!(message.unparsed, "<tool_call>\n{\"name\": \"now\" I stop.\n</tool_call>", "{message:?}");
}

#[test]
fn a_call_in_reasoning_is_announced_as_soon_as_it_is_confirmed() {
    let call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
    // Text after the end of the turn confirms it. Another call does not: the closer of reasoning may follow both.
    for (next, count) in [(call, 0), ("<|im_end|>\n<|im_start|>user\nhi", 1)] {
        let mut stream = qwen3::stream(&Options::new());
        assert_eq!(push(&mut stream, "<think>\nHm.\n"), ["reasoning Hm."]);
        assert!(push(&mut stream, call).is_empty());
        let seen = push(&mut stream, next);
        let calls = seen.iter().filter(|seen| *seen == "call now").count();
        assert_eq!(calls, count, "{next:?}: {seen:?}");
        let mut message = Message::default();
        stream.finish(|event| message.apply(&event));
        assert_eq!(message.tool_calls.len(), 2 - count * 2, "{next:?}");
    }
}

#[test]
fn a_brace_that_closes_nothing_comes_after_its_call() {
    let mut stream = qwen3::stream(&Options::new().thinking(false));
    let seen = push(&mut stream, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}}\n</tool_call>");
    let seen: Vec<&String> = seen.iter().filter(|seen| !seen.starts_with("Diagnostic")).collect();
    assert_eq!(seen, ["call now", "arguments {}", "end true", "content }"]);
}

#[test]
fn a_bracket_in_arguments_waits_only_while_it_may_open_another_call() {
    let mut stream = args_marker::stream(&Options::new());
    assert_eq!(push(&mut stream, "[TOOL_CALLS]f[ARGS]{\"a\": "), ["call f", "arguments {\"a\": "]);
    assert_eq!(push(&mut stream, "[1"), ["arguments [1"]);
    assert_eq!(push(&mut stream, ", ["), ["arguments , "]);
    // It is held back, and so is the next one; the byte after them decides.
    assert_eq!(push(&mut stream, "["), ["arguments ["]);
    assert_eq!(push(&mut stream, "2]"), ["arguments [2]"]);
    assert!(push(&mut stream, "[").is_empty());
    let last = push(&mut stream, "TOOL_CALLS]g[ARGS]{}");
    assert!(last[0].contains("MalformedArguments"), "{last:?}");
    assert_eq!(last[1..], ["end true", "call g", "arguments {}"]);
    // A brace too many would belong to the call.
    assert_eq!(push(&mut stream, "x"), ["end true", "content x"]);
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

#[test]
fn a_push_after_the_end_begins_a_new_turn() {
    let mut stream = qwen3::stream(&Options::new().thinking(true));
    push(&mut stream, "<think>\nHm.\n</think>\n\nRain.");
    stream.finish(|_| {});
    assert_eq!(push(&mut stream, "<think>\nWell"), ["reasoning Well"]);
    stream.finish(|_| {});
    // The same where the first turn ended in reasoning.
    assert_eq!(push(&mut stream, "So"), ["content So"]);
}

#[test]
fn a_turn_end_is_syntax_at_the_very_end_and_what_follows_one_is_broken_markup() -> Result<(), Failure> {
    let mut tried = 0;
    for model in own_models()? {
        let (spec, name) = (&model.spec, &model.spec.template.name);
        let parser = own_parser(&spec.template.file)?;
        let end = spec.turn.end.trim();
        if end.is_empty() || !spec.content.start.is_empty() {
            continue;
        }
        tried += 1;
        let case = |output: String| Case::new(output).name(name).generation_prompt(&spec.turn.assistant_start);
        // The prompt did not open reasoning. Where only the end of reasoning has a marker, it ends before the answer.
        let before = if spec.reasoning.start.trim().is_empty() { spec.reasoning.end.as_str() } else { "" };
        case(format!("{before}Rain.{}", spec.turn.end)).content("Rain.").run(parser);
        case(format!("{before}Rain.{end}")).content("Rain.").run(parser);
        let inside = format!("Rain.{end} Or not.");
        if is_special_token(end.as_bytes()) {
            // What follows the end of the turn is broken markup, with all that it has. It is delivered as content.
            case(format!("{before}{inside}{end}"))
                .content(format!("{inside}{end}"))
                .diagnostic(DiagnosticKind::AfterEnd)
                .run(parser);
        } else {
            case(format!("{before}{inside}{}", spec.turn.end)).content(inside).run(parser);
        }
    }
    assert!(tried > 12, "{tried} templates are too few to show anything");
    Ok(())
}

/// The diagnostics of an output, the same at every cut.
fn diagnostics<M: Machine + Clone>(parser: &M, output: &str, options: &Options) -> Vec<Diagnostic> {
    let read = |cut: usize| {
        let mut message = Message::default();
        let mut stream = Stream::new(parser.clone(), options);
        let (head, tail) = output.as_bytes().split_at(cut);
        for piece in [head, tail] {
            stream.push(piece, |event| message.apply(&event));
        }
        stream.finish(|event| message.apply(&event));
        message.diagnostics
    };
    let whole = read(0);
    (1..=output.len()).for_each(|cut| assert_eq!(read(cut), whole, "{output:?} cut at {cut}"));
    whole
}

/// Where each diagnostic points, and what it says was expected.
fn places(diagnostics: &[Diagnostic]) -> Vec<(DiagnosticKind, Option<usize>, &str)> {
    diagnostics.iter().map(|one| (one.kind, one.at, one.expected.as_str())).collect()
}

#[test]
fn a_diagnostic_says_where_and_what_was_expected() {
    let options = Options::new();
    let output = "</think>Look:<｜calls▁begin｜><｜call▁begin｜>a{b<｜call▁end｜> and <｜sep｜>.";
    let found = diagnostics(&section_tags::Parser, output, &options);
    assert_eq!(
        places(&found),
        [
            (DiagnosticKind::AbandonedCall, output.find("<｜calls"), "a function's name"),
            (DiagnosticKind::StrayMarker, output.find("<｜sep"), ""),
        ]
    );
    assert_eq!(found[0].detail, "<｜calls▁begin｜>");

    let output = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>";
    let found = diagnostics(&xml_parameters::Parser, output, &options.clone().thinking(false));
    let missing = (DiagnosticKind::MissingMarker, output.find("</function>"), "`</parameter>`");
    assert_eq!(places(&found), [missing]);
    assert_eq!((found[0].call, found[0].detail.as_str()), (Some(0), "a"));
}

#[test]
fn what_is_wrong_with_a_request_is_reported_once() -> Result<(), Failure> {
    let tools = r#"[{"name": "f"}, {"name": "g"}, {"name": "f"}]"#;
    let options = Options::new().tools(&Tools::from_json(tools)?).thinking(false);
    let found = diagnostics(&qwen3::Parser, "Done.", &options);
    assert_eq!(places(&found), [(DiagnosticKind::RepeatedTool, None, "")]);
    assert_eq!(found[0].detail, "f");
    Ok(())
}

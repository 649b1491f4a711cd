use super::*;
use crate::abi::{Flow, Found, Io, Machine, Marker, Markers, ModelInfo, Program, StateId};
use crate::message::{Channel, Event};

/// A subject that reports what it is told to, so that the case builder itself is tested.
struct Fixed(fn(&[&[u8]], Sink<'_>));

type Sink<'s> = &'s mut dyn FnMut(Event<'_>);

impl Subject for Fixed {
    fn batch(&self, output: &[u8], options: &Options) -> Message {
        let mut message = Message::default();
        self.feed(&[output], options, &mut |event| message.apply(&event));
        message
    }

    fn feed(&self, pieces: &[&[u8]], _: &Options, sink: &mut dyn FnMut(Event<'_>)) {
        (self.0)(pieces, sink);
    }
}

const ECHO: Fixed = Fixed(|pieces, sink| {
    let text = String::from_utf8_lossy(&pieces.concat()).into_owned();
    if !text.is_empty() {
        sink(Event::Content(&text));
    }
});

const CALL: Fixed = Fixed(|_, sink| {
    sink(Event::ToolCallStart { index: 0, name: "f", id: Some("7") });
    sink(Event::ToolCallArguments { index: 0, json: r#"{"a": "# });
    sink(Event::ToolCallArguments { index: 0, json: "1.0}" });
    sink(Event::ToolCallEnd { index: 0, complete: true });
});

#[test]
fn counts_the_runs_of_a_case_that_holds() {
    assert_eq!(Case::new("héllo").content("héllo").check(&ECHO).unwrap(), 1 + 5 + 4 + 32);
    assert_eq!(Case::new("").check(&ECHO).unwrap(), 1 + 4 + 32);
    Case::new("x").call("f", json!({"a": 1.0})).call_id("7").run(&CALL);
    Case::new("x").call_text("f", r#"{"a": 1.0}"#).run(&CALL);
    Case::new("x").call_begins("f", r#"{"a": "#).lenient().run(&CALL);
    Case::new("x").content(" x ").lenient().run(&ECHO);
}

#[test]
fn says_what_is_not_as_expected() {
    for (case, says) in [
        (Case::new("x").content("y"), "content\n    expected \"y\"\n    found    \"x\""),
        (Case::new("x").content("x").reasoning("r"), "reasoning\n    expected \"r\"\n    found    \"\""),
        (Case::new("x").content("x ").call("f", json!({})), "tool calls\n    expected [\"f\"]\n    found    []"),
        (
            Case::new("x").content("x").diagnostic(DiagnosticKind::ParallelCall),
            "diagnostics\n    expected [ParallelCall]\n    found    []",
        ),
    ] {
        let message = case.check(&ECHO).unwrap_err().to_string();
        assert!(message.contains(says) && message.contains("whole"), "{message}");
    }
    let call = || Case::new("x").name("name of the case");
    for (case, says) in [
        (call().call("g", json!({"a": 1.0})), "name of call 0"),
        (call().call("f", json!({"a": 2})), "arguments of call 0\n    expected {\"a\":2}\n    found    {\"a\": 1.0}"),
        (call().call_text("f", "{}"), "arguments of call 0"),
        (call().call_begins("f", "{}").lenient(), "expected {}…"),
        (call().call("f", json!({"a": 1.0})).call_id("8"), "id of call 0"),
        (call().call("f", json!({"a": 1.0})).incomplete(), "expected incomplete\n    found    complete"),
    ] {
        let message = case.check(&CALL).unwrap_err().to_string();
        assert!(message.contains(says) && message.starts_with("name of the case: "), "{message}");
    }
}

#[test]
fn names_the_cut_that_is_read_otherwise() {
    // Loses what follows the first piece.
    let first = Fixed(|pieces, sink| {
        let text = pieces.first().map(|piece| String::from_utf8_lossy(piece).into_owned()).unwrap_or_default();
        if !text.is_empty() {
            sink(Event::Content(&text));
        }
    });
    let message = Case::new("abc").content("abc").check(&first).unwrap_err().to_string();
    assert!(message.contains("cut after byte 1") && message.contains("\"a┃bc\""), "{message}");
    assert!(message.contains("against batch"), "{message}");
    // The same message in another order of events.
    let order = Fixed(|pieces, sink| {
        let mut events = [Event::Content("c"), Event::Reasoning("r")];
        if pieces.len() == 3 {
            events.reverse();
        }
        events.into_iter().for_each(sink);
    });
    let message = Case::new("abc").content("c").reasoning("r").check(&order).unwrap_err().to_string();
    assert!(message.contains("byte by byte") && message.contains("event 0, against the whole"), "{message}");
}

#[test]
fn finds_events_out_of_order() {
    let start = |index| Event::ToolCallStart { index, name: "f", id: None };
    let end = |index| Event::ToolCallEnd { index, complete: true };
    for (events, says) in [
        (vec![start(1), end(1)], "calls numbered from 0"),
        (vec![start(0), start(1), end(1)], "the end of the call that is open"),
        (vec![start(0)], "an end of every call"),
        (vec![start(0), Event::Content("x"), end(0)], "no text inside a call"),
        (vec![start(0), end(0), Event::ToolCallArguments { index: 0, json: "{}" }], "of the open call only"),
        (vec![end(0)], "an end of the open call only"),
        (vec![Event::Content("")], "no empty fragments"),
    ] {
        struct Events<'e>(Vec<Event<'e>>);
        impl Subject for Events<'_> {
            fn batch(&self, _: &[u8], options: &Options) -> Message {
                let mut message = Message::default();
                self.feed(&[], options, &mut |event| message.apply(&event));
                message
            }
            fn feed(&self, _: &[&[u8]], _: &Options, sink: &mut dyn FnMut(Event<'_>)) {
                self.0.iter().cloned().for_each(sink);
            }
        }
        let subject = Events(events);
        let run = Transcript::of(&subject, b"x", &Cut::Whole, &Options::new());
        let problems: Vec<String> = run.problems.iter().map(|problem| problem.expected.clone()).collect();
        assert!(problems.iter().any(|problem| problem.contains(says)), "{says}: {problems:?}");
    }
}

#[test]
fn cuts_lose_nothing() {
    let text = "naïve 😀 text of some length, with more than a few words".as_bytes();
    let random = (0..50).map(|seed| Cut::Random { seed });
    for cut in [Cut::Whole, Cut::At(3), Cut::At(900), Cut::Chunks(0), Cut::Chunks(7)].into_iter().chain(random) {
        assert_eq!(cut.pieces(text).concat(), text, "{cut}");
    }
    assert_ne!(Cut::Random { seed: 1 }.pieces(text), Cut::Random { seed: 2 }.pieces(text));
    assert_eq!(Cut::At(3).show(text), r#""na\xc3┃\xafve 😀 text of some length, with more than a few words""#);
}

/// The bracket that closes the arguments looks like the beginning of a stop, wherever the output is cut.
#[test]
fn a_stop_may_begin_with_a_bracket_that_closes() {
    static NAME: Markers = Markers::expected(const { &[Marker::new(":")] });
    static STOPS: Markers = Markers::expected(const { &[Marker::new("}<")] });
    static END: Markers = Markers::expected(const { &[Marker::new("!")] });
    #[derive(Clone)]
    struct Toy;
    impl Machine for Toy {
        fn program(&self) -> &Program {
            static PROGRAM: Program = Program::new(ModelInfo::EMPTY, &[], StateId(3)).starting_in(StateId(0));
            &PROGRAM
        }
        fn step(&self, state: StateId, io: &mut Io<'_>) -> Flow {
            let found = match state.0 {
                0 => {
                    io.speculate_here(StateId(3));
                    io.name(&NAME)
                }
                1 => io.json_arguments(&STOPS),
                2 => io.expect(&END),
                _ => io.text(Channel::Content, Markers::NONE),
            };
            match (state.0, found) {
                (_, Found::Wait) => return Flow::Wait,
                (0, Found::Marker(_)) => io.start_call(),
                (1, Found::Done) => {}
                (2, Found::Marker(_)) => io.end_call(),
                _ => return Flow::Mismatch,
            }
            Flow::Go(StateId(state.0 + 1))
        }
        fn end(&self, _: StateId, _: &mut Io<'_>) -> bool {
            true
        }
    }
    let arguments = json!({"a": {"b": [1, {}]}, "c": "}<"});
    Case::new(format!("f:{arguments}!so be it")).call("f", arguments).content("so be it").run(&Toy);
}

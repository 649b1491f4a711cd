//! What each byte of an output is taken for, on turns that the sample templates render and on damaged copies of them:
//! every byte is taken for one thing, and the bytes of content and reasoning spell the message.

use std::error::Error;
use std::path::Path;

use unjinja_analyzer::{Naming, verify};
use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_runtime::Interpreter;
use unjinja_runtime::trace::{Reading, Span, Taken};
use unjinja_runtime::{Diagnostic, DiagnosticKind, Message, Options, Stream, Unparsed, parse};
use unjinja_spec::{CallIdPosition, FormatSpec, ToolFormat};

type Failure = Box<dyn Error>;

/// A template, its spec, and turns that it renders.
struct Subject {
    name: String,
    spec: FormatSpec,
    parser: Interpreter,
    turns: Vec<unjinja_analyzer::Rendered>,
}

fn subjects() -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for path in unjinja_build::templates_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)?;
        let spec = unjinja_build::analyze_text(&text, &Naming::of_file(&name))?;
        let template = Template::parse(&name, &text)?;
        let turns = verify(&template, &spec, 24, 7).turns;
        subjects.push(Subject { name, parser: interpreter(&spec)?, spec, turns });
    }
    assert!(subjects.len() >= 25, "{} templates", subjects.len());
    Ok(subjects)
}

/// The bytes of an output that are taken for something, put together.
fn spelled<'o>(reading: &Reading, output: &'o [u8], taken: Taken) -> Vec<u8> {
    let of = |span: &Span| -> &'o [u8] { &output[span.start..span.end] };
    reading.spans.iter().filter(|span| span.taken == taken).flat_map(of).copied().collect()
}

fn check(subject: &Subject, output: &[u8], options: &Options, over: bool) -> Result<Reading, Failure> {
    let reading = subject.parser.read(output, options, over);
    let mut at = 0;
    for span in &reading.spans {
        assert!(span.start == at && span.end > at, "{}: {at}: {:?} in {:?}", subject.name, span, shown(output));
        at = span.end;
    }
    assert_eq!(at, output.len(), "{}: {:?}", subject.name, shown(output));
    let machine = subject.parser.clone();
    let options = &options.clone().unparsed(Unparsed::Separate);
    let expected = match over {
        true => parse(machine, output, options),
        false => {
            let mut message = Message::default();
            Stream::new(machine, options).push(output, |event| message.apply(&event));
            message
        }
    };
    assert_eq!(reading.message, expected, "{}: {:?}", subject.name, shown(output));
    if reading.prompt == 0 {
        for (taken, text) in [(Taken::Content, &expected.content), (Taken::Reasoning, &expected.reasoning_content)] {
            let found = spelled(&reading, output, taken);
            assert_eq!(String::from_utf8_lossy(&found), *text, "{}: {:?}", subject.name, shown(output));
        }
        // What passes through untouched is spelled by its bytes. An object whose very outline is broken is syntax where
        // it cannot be told what its reader took, or continues after that.
        let malformed = |index| {
            let is_malformed = |d: &Diagnostic| d.kind == DiagnosticKind::MalformedArguments && d.call == Some(index);
            expected.diagnostics.iter().any(is_malformed)
        };
        let tools = &subject.spec.tools;
        let one_value = matches!(tools.format, ToolFormat::JsonNative | ToolFormat::TagWithJson);
        for (index, call) in expected.tool_calls.iter().enumerate().filter(|_| one_value && !tools.uses_python_dicts) {
            let mine = reading.spans.iter().filter(|s| s.call == Some(index) && s.taken == Taken::Arguments);
            let bytes: Vec<u8> = mine.flat_map(|span| &output[span.start..span.end]).copied().collect();
            let found = String::from_utf8_lossy(&bytes);
            // What a string may not hold is written as its escape, until more is wrong.
            let is_escaped = malformed(index) && unescaped(&found).trim_end() == unescaped(&call.arguments).trim_end();
            let same = found == call.arguments || is_escaped || found.starts_with('"') || call.arguments == "{}";
            let same =
                same || (malformed(index) && (found.is_empty() || words(&found).starts_with(&words(&call.arguments))));
            // A comma waits for what follows it, and is delivered at the end.
            let same = same || (!call.complete && found == call.arguments.trim_end().trim_end_matches(',').trim_end());
            assert!(
                !over || same,
                "{}: call {index} of {:?}: {found:?}, not {:?}",
                subject.name,
                shown(output),
                call.arguments
            );
        }
    }
    Ok(reading)
}

/// The letters and digits of JSON without its escapes, also where it was mended.
fn words(json: &str) -> String {
    let json = json.replace("None", "null").replace("True", "true").replace("False", "false");
    let (mut words, mut rest) = (String::new(), json.chars());
    while let Some(char) = rest.next() {
        match char {
            '\\' if rest.next() == Some('u') => drop(rest.nth(3)),
            '\\' => {}
            char => words.extend(Some(char).filter(|char| char.is_alphanumeric())),
        }
    }
    words
}

/// JSON with control characters and single quotes in the place of their escapes, without backslashes.
fn unescaped(json: &str) -> String {
    let escape = |code: u8| serde_json::Value::from(char::from(code).to_string()).to_string();
    let json = (0..b' ').fold(json.to_owned(), |json, code| {
        json.replace(escape(code).trim_matches('"'), &char::from(code).to_string())
    });
    json.replace("\\u0027", "'").replace('\\', "")
}

fn shown(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn options(subject: &Subject, turn: &unjinja_analyzer::Rendered) -> Options {
    Options::new().tools(&turn.tools).generation_prompt(&subject.spec.turn.assistant_start)
}

#[test]
fn rendered_turns_are_taken_for_what_they_are() -> Result<(), Failure> {
    let mut calls = 0;
    for subject in subjects()? {
        let tools = &subject.spec.tools;
        assert!(!subject.turns.is_empty(), "{}", subject.name);
        for turn in &subject.turns {
            let output = turn.body.as_bytes();
            let reading = check(&subject, output, &options(&subject, turn), true)?;
            // Prose may look like the beginning of a call; no call may stop fitting.
            let given_up = reading.stops.iter().find(|stop| stop.call.is_some());
            assert!(given_up.is_none(), "{}: {given_up:?} in {:?}", subject.name, turn.body);
            for (index, call) in reading.message.tool_calls.iter().enumerate() {
                calls += 1;
                let of = |taken: Taken| -> Vec<String> {
                    let mine = reading.spans.iter().filter(|span| span.call == Some(index) && span.taken == taken);
                    mine.map(|span| turn.body[span.start..span.end].to_owned()).collect()
                };
                let place = format!("{}: call {index} of {:?}", subject.name, turn.body);
                if tools.call_id.position == CallIdPosition::InName {
                    assert!(of(Taken::FunctionName).concat().contains(&call.name), "{place}");
                } else {
                    assert_eq!(of(Taken::FunctionName), [call.name.as_str()], "{place}");
                }
                if let Some(id) = call.id.as_ref().filter(|_| tools.call_id.position != CallIdPosition::InName) {
                    assert_eq!(of(Taken::CallId), [id.as_str()], "{place}");
                }
            }
        }
    }
    assert!(calls > 200, "{calls} calls");
    Ok(())
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// A copy that is cut, doubled in part, lacks a piece, or holds bytes of another place.
fn damaged(output: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = output.to_vec();
    for _ in 0..1 + random.below(2) {
        let (a, b) = (random.below(out.len() + 1), random.below(out.len() + 1));
        let range = a.min(b)..a.max(b).min(a.min(b) + 40);
        match random.below(5) {
            0 => out.truncate(a),
            1 => drop(out.drain(range)),
            2 => {
                let piece = out[range.clone()].to_vec();
                out.splice(range.end..range.end, piece);
            }
            3 => {
                let odd: [&[u8]; 6] = [b"\xFF", b"<", b"</", b"{\"", b"\n", "é".as_bytes()];
                let piece = odd[random.below(odd.len())];
                out.splice(range.start..range.start, piece.iter().copied());
            }
            _ => {
                let piece = output[range.start.min(output.len())..range.end.min(output.len())].to_vec();
                let at = random.below(out.len() + 1);
                out.splice(at..at, piece);
            }
        }
    }
    out
}

#[test]
fn damaged_turns_are_covered_too() -> Result<(), Failure> {
    let (mut stopped, mut held) = (0, 0);
    for subject in subjects()? {
        // What is drawn for a template does not depend on the templates before it.
        let mut random = Random::new(11);
        for turn in &subject.turns {
            let options = options(&subject, turn);
            for _ in 0..12 {
                let output = damaged(turn.body.as_bytes(), &mut random);
                let reading = check(&subject, &output, &options, true)?;
                stopped += usize::from(!reading.stops.is_empty());
                for stop in &reading.stops {
                    assert!(stop.at <= output.len() && stop.held_from.is_none_or(|from| from <= stop.at), "{stop:?}");
                }
                let incomplete = |m: &Message| m.diagnostics.iter().any(|d| d.kind == DiagnosticKind::IncompleteCall);
                if incomplete(&reading.message) {
                    let place = format!("{}: {:?}", subject.name, shown(&output));
                    assert!(reading.stops.iter().any(|stop| stop.call.is_some()), "{place}");
                }
                // The same, where more may come: what is held back is what was not handed out.
                let reading = check(&subject, &output, &options, false)?;
                held += usize::from(reading.spans.iter().any(|span| span.taken == Taken::Held));
            }
        }
    }
    assert!(stopped > 500 && held > 500, "{stopped} stopped, {held} held");
    Ok(())
}

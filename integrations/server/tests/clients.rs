//! Asks for whole and streamed answers with both official Python clients: what each of them assembles equals the message.
//!
//! A small HTTP server in this file replays turns: outputs of the cases, and events that no case has. The clients come from
//! PyPI, into a virtual environment below cargo's target folder. Where that is not possible, the test is skipped; with the
//! environment variable `CI=true` it fails instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use unjinja_runtime::{Diagnostic, DiagnosticKind, Event, Message};
use unjinja_server::anthropic::{EventWriter, MessagesRequest, ResponseBuilder};
use unjinja_server::openai::{ChatCompletion, ChatRequest, ChunkWriter, ReasoningName};
use unjinja_server::responses::{ResponseEvent, ResponseWriter, ResponsesRequest};
use unjinja_server::{CallIdShape, CallIds, Finish, Usage, sse};
use unjinja_testkit::random::Random;
use unjinja_testkit::sample;

use crate::python;
use crate::support::{Failure, models, outputs, responses, stream, take_ids};

/// Sends the events of a turn.
type Replay = dyn Fn(&mut dyn FnMut(&Event<'_>)) + Send + Sync;

/// A turn that the server replays.
struct ReplayedTurn {
    name: String,
    finish: Finish,
    ids: CallIds,
    reasoning: ReasoningName,
    send: Box<Replay>,
}

const USAGE: Usage = Usage { input: 11, output: 7, cached: None, reasoning: None };

impl ReplayedTurn {
    fn new(name: impl Into<String>, send: impl Fn(&mut dyn FnMut(&Event<'_>)) + Send + Sync + 'static) -> Self {
        let ids = CallIds::new(CallIdShape::Free);
        let reasoning = ReasoningName::ReasoningContent;
        Self { name: name.into(), finish: Finish::Stop, ids, reasoning, send: Box::new(send) }
    }

    fn message(&self) -> Message {
        let mut message = Message::default();
        (self.send)(&mut |event| message.apply(event));
        message
    }

    fn completion(&self) -> ChatCompletion {
        let whole = ChatCompletion::new("m", self.message(), &mut self.ids.clone(), &self.finish).usage(USAGE);
        whole.reasoning(self.reasoning).diagnostics()
    }

    fn chunks(&self, include_usage: bool, out: &mut dyn FnMut(String)) {
        let mut writer = ChunkWriter::new("m", self.ids.clone()).reasoning(self.reasoning).diagnostics(true);
        writer = writer.include_usage(include_usage);
        (self.send)(&mut |event| writer.event(event).iter().for_each(|chunk| out(chunk.to_sse())));
        writer.finish(&self.finish, Some(USAGE)).iter().for_each(|chunk| out(chunk.to_sse()));
        out(sse::DONE.to_owned());
    }

    fn events(&self, request: &ResponsesRequest) -> Vec<ResponseEvent> {
        let mut writer = ResponseWriter::new("m", self.ids.clone(), request).diagnostics(true);
        let mut events = writer.start();
        (self.send)(&mut |event| events.extend(writer.event(event)));
        events.extend(writer.finish(&self.finish, Some(USAGE)));
        events
    }

    fn writer(&self) -> EventWriter {
        EventWriter::new("m", self.ids.clone().prefix("toolu_")).diagnostics(true)
    }

    fn blocks(&self, out: &mut dyn FnMut(String)) {
        let mut writer = self.writer();
        writer.start(None).iter().for_each(|event| out(event.to_sse()));
        (self.send)(&mut |event| writer.event(event).iter().for_each(|event| out(event.to_sse())));
        writer.finish(&self.finish, USAGE).iter().for_each(|event| out(event.to_sse()));
    }

    fn response(&self) -> Value {
        let mut builder = ResponseBuilder::new(self.writer());
        (self.send)(&mut |event| builder.event(event));
        serde_json::to_value(builder.finish(&self.finish, USAGE)).unwrap_or_default()
    }
}

/// Turns of our own templates, and turns that no case has.
fn turns() -> Result<Vec<ReplayedTurn>, Failure> {
    let mut turns = Vec::new();
    for model in sample(models()?, 4) {
        for output in outputs(&model.name)?.into_iter().take(2) {
            let (parser, seed) = (model.parser.clone(), turns.len() as u64);
            let name = format!("{}: {}", model.name, output.text);
            let mut turn = ReplayedTurn::new(name, move |sink| {
                stream(&parser, &output, &mut Random::new(seed), sink);
            });
            turn.ids = CallIds::of(&model.spec);
            turns.push(turn);
        }
    }
    let call = |arguments: &'static str, complete: bool| {
        move |sink: &mut dyn FnMut(&Event<'_>)| {
            sink(&Event::Reasoning("Hm"));
            sink(&Event::Content("Look:"));
            sink(&Event::ToolCallStart { index: 0, name: "get_weather", id: None });
            for json in arguments.split_inclusive(' ') {
                sink(&Event::ToolCallArguments { index: 0, json });
            }
            sink(&Event::ToolCallEnd { index: 0, complete });
            for call in [0, 1] {
                sink(&Event::Diagnostic(Diagnostic::new(DiagnosticKind::UnknownTool, Some(call), "x").at(call)));
            }
            sink(&Event::Unparsed("</call>"));
            sink(&Event::Unparsed("</calls>"));
        }
    };
    for (arguments, complete) in [
        (r#"{"city": "Paris", "on": true}"#, true),
        (r#"{"city": "Par"#, false),
        (r#"{"city": "Paris", "da"#, false),
        ("", false),
        (r#"{"city": Paris, "a": 1}"#, true),
        (r#"{"city": "Paris"} and more"#, true),
    ] {
        let mut turn = ReplayedTurn::new(format!("{arguments} {complete}"), call(arguments, complete));
        turn.reasoning = ReasoningName::Reasoning;
        turn.finish = if complete { Finish::Stop } else { Finish::Length };
        turns.push(turn);
    }
    turns.push(ReplayedTurn::new("nothing", |_| {}));
    Ok(turns)
}

/// Serves one request. A client that went away is not a failure of the server.
fn serve(mut connection: TcpStream, turns: &[ReplayedTurn]) -> Result<(), Failure> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (number, route) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let turn = turns.get(number.parse::<usize>()?).ok_or("no such turn")?;
    match route.split('?').next() {
        Some("v1/chat/completions") => match ChatRequest::from_json(&body) {
            Err(error) => send_json(&mut connection, error.status(), &serde_json::to_value(&error)?),
            Ok(request) if request.request.stream => {
                send_stream(&mut connection, |out| turn.chunks(request.include_usage, out))
            }
            Ok(_) => send_json(&mut connection, 200, &serde_json::to_value(turn.completion())?),
        },
        Some("v1/messages") => match MessagesRequest::from_json(&body) {
            Err(error) => send_json(&mut connection, error.status(), &serde_json::to_value(error.anthropic())?),
            Ok(request) if request.request.stream => send_stream(&mut connection, |out| turn.blocks(out)),
            Ok(_) => send_json(&mut connection, 200, &turn.response()),
        },
        Some("v1/responses") => match ResponsesRequest::from_json(&body) {
            Err(error) => send_json(&mut connection, error.status(), &serde_json::to_value(&error)?),
            Ok(request) => {
                let mut events = turn.events(&request);
                match request.request.stream {
                    true => send_stream(&mut connection, |out| events.iter().for_each(|event| out(event.to_sse()))),
                    false => {
                        let last = events.pop().ok_or("no event")?;
                        send_json(&mut connection, 200, &last.data["response"])
                    }
                }
            }
        },
        _ => send_json(&mut connection, 404, &json!({"error": {"message": path}})),
    }
}

fn send_json(connection: &mut TcpStream, status: u16, body: &Value) -> Result<(), Failure> {
    let body = body.to_string();
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    Ok(())
}

fn send_stream(connection: &mut TcpStream, events: impl FnOnce(&mut dyn FnMut(String))) -> Result<(), Failure> {
    write!(connection, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    let mut result = Ok(());
    events(&mut |text| {
        if result.is_ok() {
            result = connection.write_all(text.as_bytes());
        }
    });
    Ok(result?)
}

#[test]
fn the_official_clients_assemble_the_message() -> Result<(), Failure> {
    let Some(python) = python::with_clients()? else { return Ok(()) };
    let turns = Arc::new(turns()?);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let served = turns.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let turns = served.clone();
            std::thread::spawn(move || {
                if let Err(error) = serve(connection, &turns) {
                    eprintln!("server: {error}");
                }
            });
        }
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients.py");
    let mut command = Command::new(python);
    // A proxy of this machine is not asked for an address of its own.
    command.arg(script).arg(&address).arg(turns.len().to_string()).env("NO_PROXY", "127.0.0.1");
    let output = command.output()?;
    let said = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut answers, mut refused) = (0, Vec::new());
    for line in said.lines() {
        let answer: Value = serde_json::from_str(line)?;
        match answer["turn"].as_u64() {
            Some(turn) => check(&turns[usize::try_from(turn)?], answer)?,
            None => refused.push(answer),
        }
        answers += 1;
    }
    assert_eq!(answers, 6 * turns.len() + 3);
    let told = |at: usize, key: &str| refused[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!((&refused[0]["error"], told(0, "param")), (&json!(400), "n".to_owned()));
    assert_eq!((&refused[1]["error"], told(1, "param")), (&json!(400), "background".to_owned()));
    assert_eq!((&refused[2]["error"], told(2, "kind")), (&json!(400), "invalid_request_error".to_owned()));
    assert!(told(2, "message").starts_with("container: "), "{refused:?}");
    Ok(())
}

/// Compares what a client assembled with the message.
fn check(turn: &ReplayedTurn, mut answer: Value) -> Result<(), Failure> {
    let message = turn.message();
    let place = format!("{} in {answer}", turn.name);
    let mut found = answer["message"].take();
    if answer["client"] == "responses" {
        let reason = if turn.finish == Finish::Length { "incomplete" } else { "completed" };
        assert_eq!(
            (&answer["reason"], &answer["usage"]),
            (&json!(reason), &json!([USAGE.input, USAGE.output])),
            "{place}"
        );
        responses(&message, &found, &place);
        return Ok(());
    }
    let ids = take_ids(&mut found);
    assert_eq!(ids.len(), message.tool_calls.len(), "{place}");
    for (call, id) in message.tool_calls.iter().zip(&ids) {
        assert!(call.id.as_ref().is_none_or(|written| written == id), "{place}");
    }
    assert_eq!(answer["usage"], json!([USAGE.input, USAGE.output]), "{place}");
    if answer["client"] == "openai" {
        let whole = serde_json::to_value(turn.completion())?;
        let mut expected = whole["choices"][0]["message"].clone();
        expected.as_object_mut().ok_or("no message")?.remove("refusal");
        take_ids(&mut expected);
        assert_eq!(found, expected, "{place}");
        assert_eq!(answer["reason"], whole["choices"][0]["finish_reason"], "{place}");
        // The message itself, and not only the form that we give it.
        assert_eq!(found["content"].as_str().unwrap_or_default(), message.content, "{place}");
        for (at, call) in message.tool_calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": call.arguments});
            assert_eq!(found["tool_calls"][at]["function"], function, "{place}");
        }
    } else {
        let mut whole = turn.response();
        take_ids(&mut whole);
        assert_eq!(found["content"], whole["content"], "{place}");
        assert_eq!(answer["reason"], whole["stop_reason"], "{place}");
        let blocks = found["content"].as_array().ok_or("no content")?;
        let texts = |kind: &str| blocks.iter().filter_map(|block| block[kind].as_str()).collect::<String>();
        assert_eq!((texts("text"), texts("thinking")), (message.content, message.reasoning_content), "{place}");
    }
    Ok(())
}

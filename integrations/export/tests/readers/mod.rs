//! Compares our executor of response templates with transformers: the same templates, prompts, outputs, cuts and tools go
//! through both, and fields, events and errors must be the same. The readers of vLLM and SGLang are asked to read what is exported.
//!
//! transformers is installed from PyPI into a virtual environment below cargo's target folder; where that is not possible, the
//! test is counted as skipped, and with `UNJINJA_READERS=required` it fails. vLLM and SGLang are asked where
//! `UNJINJA_READERS_SOURCES` names a folder with their sources, as `.ci/readers` makes it.

mod cases;
mod others;
mod python;
mod servers;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use cases::{Case, Cases};
use python::{Reader, Real};
use serde_json::{Value as Json, json};
use unjinja_export::response_template::{ErrorKind, Event, Executor, READER, ReadError, ResponseTemplate};
use unjinja_testkit::Failure;

// One test for all that asks a reader: each test is a process of its own, and the environment is made once.
#[test]
#[ignore = "installs transformers and asks it thousands of times: .ci/readers runs it"]
fn the_real_readers_do_the_same() -> Result<(), Failure> {
    let page = unjinja_testkit::root().join("docs/response-templates.md");
    if let Some(mut reader) = Reader::start(Real::Transformers)? {
        let (table, is_whole) = others::compare(&mut reader)?;
        if is_whole {
            unjinja_testkit::expect::part(&page, "templates of others", &table)?;
        }
        refuses_the_same(&mut reader)?;
        reads_the_same(&mut reader)?;
    }
    if let Some(table) = servers::table()? {
        unjinja_testkit::expect::part(&page, "figures of the servers", &table)?;
    }
    Ok(())
}

fn refuses_the_same(reader: &mut Reader) -> Result<(), Failure> {
    for case in &cases::refused()? {
        let request = json!({"template": case.template, "prompt": "", "chunks": ["x"], "tools": []});
        let is_refused = reader.ask(&request)?.get("refused").is_some();
        assert_eq!(is_refused, !case.stricter, "{}", case.template);
    }
    Ok(())
}

fn reads_the_same(reader: &mut Reader) -> Result<(), Failure> {
    let mut cases = Cases::load(reader)?.all();
    cases.extend(cases::after_results()?);
    let mut tally: BTreeMap<&str, u32> = BTreeMap::new();
    let mut different: Vec<String> = Vec::new();
    let requests: Vec<Json> = cases
        .iter()
        .map(|case| json!({"template": case.template, "prompt": case.prompt, "chunks": case.chunks, "tools": case.tools}))
        .collect();
    let mut known = HashMap::new();
    for ((case, request), real) in cases.iter().zip(&requests).zip(reader.ask_all(&requests)?) {
        let template = known
            .entry(case.template.to_string())
            .or_insert_with(|| ResponseTemplate::from_json(&case.template))
            .as_ref();
        let ours = match template.map(|template| run(template, case)) {
            Ok(Ok((fields, events))) => json!({"fields": fields, "events": events}),
            Ok(Err(error)) => error_of(&error),
            Err(problems) => json!({"refused": problems.to_string()}),
        };
        let (real, ours) = (without_messages(real), without_messages(ours));
        *tally.entry(what(&real)).or_default() += 1;
        if ours != real {
            different.push(format!("{}: {request}\n  real {real}\n  ours {ours}", case.name));
        }
    }
    writeln!(std::io::stderr(), "{READER}: {tally:?}, {} different", different.len())?;
    let shown: Vec<&String> = different.iter().take(12).collect();
    assert!(different.is_empty(), "{} differ, first of them:\n{shown:#?}", different.len());
    assert!(tally.get("read").is_some_and(|count| *count > 500), "too few cases: {tally:?}");
    Ok(())
}

#[test]
fn wrong_templates_are_refused_with_their_place() -> Result<(), Failure> {
    let refused = cases::refused()?;
    for case in &refused {
        let Err(problems) = ResponseTemplate::from_json(&case.template) else {
            return Err(format!("this is not refused: {}", case.template).into());
        };
        let places: Vec<&str> = problems.0.iter().map(|problem| problem.place.as_str()).collect();
        assert!(places.contains(&case.place.as_str()), "{places:?} instead of {:?}: {}", case.place, case.template);
    }
    Ok(())
}

/// What our executor makes of a case.
fn run(template: &ResponseTemplate, case: &Case) -> Result<(String, Vec<Json>), ReadError> {
    let mut executor = Executor::new(template, &case.prompt, &case.tools)?;
    let mut events: Vec<Event> = executor.initial_events().to_vec();
    for chunk in &case.chunks {
        events.extend(executor.feed(chunk)?);
    }
    let (fields, last) = executor.finish()?;
    events.extend(last);
    Ok((fields.to_string(), events.iter().map(event).collect()))
}

fn event(event: &Event) -> Json {
    match event {
        Event::Open { field } => json!(["open", field]),
        Event::Chunk { field, text, is_dirty } => json!(["chunk", field, text, is_dirty]),
        Event::Close { field, value } => json!(["close", field, value.to_string()]),
    }
}

fn error_of(error: &ReadError) -> Json {
    let kind = match error.kind {
        ErrorKind::Value => "ValueError",
        ErrorKind::Key => "KeyError",
        ErrorKind::Type => "TypeError",
        ErrorKind::Attribute => "AttributeError",
        ErrorKind::Depth => "RecursionError",
        _ => "none of a reader",
    };
    json!({"error": kind, "message": error.to_string()})
}

/// An answer without the words of its errors, which are ours.
fn without_messages(mut answer: Json) -> Json {
    if answer.get("refused").is_some() {
        return json!({"refused": true});
    }
    if let Some(map) = answer.as_object_mut() {
        map.remove("message");
    }
    answer
}

fn what(answer: &Json) -> &'static str {
    match (answer.get("refused"), answer.get("error")) {
        (Some(_), _) => "refused",
        (_, Some(_)) => "error",
        _ => "read",
    }
}

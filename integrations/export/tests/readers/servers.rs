//! What vLLM's and SGLang's own readers make of exported response templates. Both have copies of an older reader, which give the
//! reasoning another name; `docs/response-templates.md` says how an export is changed for them, and has the table.

use std::fmt::Write;

use serde_json::{Value as Json, json};
use unjinja_analyzer::verify_after_results;
use unjinja_export::response_template::{ReadCall, Reading, attempts, export};
use unjinja_render::Template;
use unjinja_testkit::Failure;

use super::python::{Reader, Real};
use crate::exports::specs;

/// How many conversations of each model are tried.
const CONVERSATIONS: u32 = 12;

/// Asks both servers to read the exports of all supported models. Nothing where their sources are not there.
pub fn table() -> Result<Option<String>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(None) };
    let mut table = String::from(
        "| reader | refuses the export of | conversations that came back of the others |\n|---|---:|---:|\n",
    );
    for (real, title) in [(Real::Vllm, "vLLM 0.33, Python front end"), (Real::Sglang, "SGLang 0.5.23")] {
        let Some(mut reader) = Reader::start(real)? else { return Ok(None) };
        let (mut models, mut refused, mut held, mut tried) = (0, 0, 0, 0);
        for spec in specs()? {
            let text = unjinja_testkit::released_template(&corpus, &spec.template.sha256)?;
            let verification =
                verify_after_results(&Template::parse(&spec.template.file, &text)?, &spec, CONVERSATIONS, 1);
            let template = for_servers(export(&spec, &verification)?.json);
            models += 1;
            let question = json!({"template": template, "prompt": "", "chunks": ["x"], "tools": []});
            if reader.ask(&question)?.get("refused").is_some() {
                refused += 1;
                continue;
            }
            let turns: Vec<_> = verification.turns.iter().map(|turn| attempts(&spec, turn)).collect();
            let requests: Vec<Json> = turns
                .iter()
                .flatten()
                .map(|attempt| json!({"template": template, "prompt": attempt.prompt, "chunks": attempt.pieces, "tools": attempt.tools}))
                .collect();
            let mut answers = reader.ask_all(&requests)?.into_iter();
            let came_back: Vec<bool> = verification
                .turns
                .iter()
                .zip(&turns)
                .map(|(turn, attempts)| {
                    let all: Vec<Json> = answers.by_ref().take(attempts.len()).collect();
                    all.iter().all(|answer| reading(answer).is_some_and(|reading| reading.is_same(&turn.message)))
                })
                .collect();
            tried += came_back.len();
            held += came_back.iter().filter(|came_back| **came_back).count();
        }
        writeln!(table, "| {title} | {refused} of {models} | {held} of {tried} |")?;
        assert!(models > 50 && refused * 4 < models && held * 10 > tried * 9, "{table}");
    }
    Ok(Some(table))
}

/// An export as the servers take it.
fn for_servers(mut template: Json) -> Json {
    if let Some(fields) = template.get_mut("fields").and_then(Json::as_object_mut) {
        if let Some(reasoning) = fields.remove("reasoning_content") {
            fields.insert("thinking".to_owned(), reasoning);
        }
        if let Some(content) = fields.get_mut("content").and_then(Json::as_object_mut) {
            content.remove("join");
        }
    }
    template
}

/// What a server gives its user; `None` if it refuses or fails.
fn reading(answer: &Json) -> Option<Reading> {
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let call = |call: &Json| Some(ReadCall { name: text(&call[0])?, arguments: text(&call[1])? });
    Some(Reading {
        reasoning: text(&answer["reasoning"])?,
        content: text(&answer["content"])?,
        calls: answer["calls"].as_array()?.iter().map(call).collect::<Option<_>>()?,
    })
}

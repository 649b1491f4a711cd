//! Sentences that XGrammar and llguidance drew, each under its own form of a grammar: llama.cpp accepts them under the GBNF of the
//! same request.
//!
//! The test `masks` of `dev/grammar-engines` writes them to the file that `UNJINJA_SENTENCES` names; `.ci/engines` does that. Where
//! there is no such file, the test is skipped.

mod support;

use std::fmt::Write;
use std::fs;

use serde::Deserialize;
use support::{Failure, Verdict};
use unjinja_engine::Engine;
use unjinja_generated::by_name;
use unjinja_grammar::GrammarExt;
use unjinja_testkit::grammars::{requests, tools};

#[derive(Deserialize)]
struct Sentence {
    model: String,
    request: String,
    drawn_by: String,
    text: String,
}

#[test]
fn sentences_of_other_engines_are_accepted() -> Result<(), Failure> {
    let Some(text) = std::env::var_os("UNJINJA_SENTENCES").and_then(|path| fs::read_to_string(path).ok()) else {
        unjinja_testkit::skip(
            "no sentences of other engines: run .ci/engines before .ci/engine",
            ("UNJINJA_ENGINES", "required"),
        )?;
        return Ok(());
    };
    let (engine, tools) = (Engine::new()?, tools()?);
    let requests = requests(&tools);
    let (mut accepted, mut wrong) = (0, String::new());
    for line in text.lines() {
        let sentence: Sentence = serde_json::from_str(line)?;
        let name = format!("{}, {}", sentence.model, sentence.request);
        let parser = by_name(&sentence.model).ok_or_else(|| format!("no model {name}"))?;
        let request = requests.iter().find(|(what, ..)| *what == sentence.request);
        let (_, offered, options) = request.ok_or_else(|| format!("no request {name}"))?;
        let grammar = match offered {
            Some(tools) => parser.grammar(tools, options),
            None => parser.grammar_for_any(options),
        }?;
        let mut session = engine.load(&grammar.text).map_err(|_| format!("{name}: does not load"))?;
        match Verdict::of_engine(&mut session, &sentence.text) {
            Verdict::Complete => accepted += 1,
            verdict => writeln!(wrong, "{name}, of {}: {verdict:?} of {:?}", sentence.drawn_by, sentence.text)?,
        }
    }
    println!("{accepted} sentences of xgrammar and llguidance are accepted");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(accepted > 200, "{accepted} sentences");
    Ok(())
}

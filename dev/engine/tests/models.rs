//! The grammars of every model load in the engine, and the engine and the recogniser agree about random sentences of
//! them.

mod support;

use std::fmt::Write;

use support::{Both, Failure, Verdict, damage};
use unjinja_engine::Engine;
use unjinja_gbnf::Limits;
use unjinja_generated::all;
use unjinja_grammar::{Grammar, GrammarError, GrammarExt};
use unjinja_testkit::grammars::{requests, tools};
use unjinja_testkit::random::Random;

/// For each grammar: the number of sentences and of damaged sentences.
const OF_EACH: usize = 6;

#[test]
fn grammars_of_models_are_read_alike() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let tools = tools()?;
    let mut random = Random::new(3);
    let (mut grammars, mut texts, mut biggest, mut wrong) = (0, 0, 0, String::new());
    for parser in all() {
        for (what, offered, options) in requests(&tools) {
            let name = format!("{}, {what}", parser.info().name);
            let grammar: Result<Grammar, GrammarError> = match offered {
                Some(tools) => parser.grammar(tools, &options),
                None => parser.grammar_for_any(&options),
            };
            let grammar = match grammar {
                // The format has no calls.
                Err(GrammarError::NoCalls) => continue,
                grammar => grammar.map_err(|error| format!("{name}: {error}"))?,
            };
            if grammar.text.is_empty() {
                continue;
            }
            let both = match Both::load(&engine, &grammar.text) {
                Ok(Some(both)) => both,
                Ok(None) => return Err(format!("{name}: does not load\n{}", grammar.text).into()),
                Err(why) => return Err(format!("{name}: {why}\n{}", grammar.text).into()),
            };
            grammars += 1;
            biggest = biggest.max(grammar.text.len());
            let mut seed = grammars;
            for _ in 0..OF_EACH {
                let sentence =
                    both.grammar.sample(&mut seed, Limits { length: 300, depth: 40 }).ok_or("no sentence")?;
                match both.read(&sentence) {
                    Ok(Verdict::Complete) => {}
                    Ok(verdict) => writeln!(wrong, "{name}: {verdict:?} of a sentence {sentence:?}")?,
                    Err(why) => writeln!(wrong, "{name}: {why}")?,
                }
                if let Err(why) = both.read(&damage::damaged(&sentence, &mut random)) {
                    writeln!(wrong, "{name}: {why}")?;
                }
                texts += 2;
            }
        }
    }
    println!("{grammars} grammars load, the biggest of {biggest} bytes; {texts} texts are read alike");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(grammars > 350, "{grammars} grammars");
    Ok(())
}

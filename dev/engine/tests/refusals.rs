//! What a grammar must refuse: the engine and the recogniser refuse it, for every model.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;
use support::{Both, Failure, Verdict};
use unjinja_engine::Engine;
use unjinja_gbnf::{Grammar as Rules, Limits};
use unjinja_generated::all;
use unjinja_grammar::{Grammar, GrammarExt, GrammarOptions, ToolChoice};
use unjinja_runtime::{ChatParser, Options, Tools};
use unjinja_testkit::grammars::Refusals;

/// The number of texts for each row and model.
const TEXTS: usize = 8;
/// The length in code points of a turn with one call, and with several.
const SHORT: usize = 120;
const LONG: usize = 800;

fn required() -> GrammarOptions {
    GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false)
}

/// Random turns under a grammar, of about this length.
fn turns(grammar: &Grammar, length: usize) -> Result<impl Iterator<Item = String>, Failure> {
    let rules = Rules::parse(&grammar.text)?;
    let mut seed = 11;
    Ok(std::iter::repeat_with(move || rules.sample(&mut seed, Limits { length, depth: 40 })).map_while(|turn| turn))
}

/// The models with tool calls.
fn models() -> Result<Vec<&'static dyn ChatParser>, Failure> {
    let any = Tools::from_openai(
        &json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]),
    )?;
    Ok(all().iter().copied().filter(|parser| parser.grammar(&any, &required()).is_ok()).collect())
}

#[test]
fn what_the_schema_does_not_allow_is_refused() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let table = Refusals::read()?;
    let asked = table.asked()?;
    let (mut accepted, mut refused, mut wrong) = (0, BTreeMap::<&str, usize>::new(), String::new());
    for parser in models()? {
        let name = &*parser.info().name;
        let grammar = parser.grammar(&asked, &required())?;
        let both = Both::load(&engine, &grammar.text).map_err(|why| format!("{name}: {why}"))?;
        let both = both.ok_or_else(|| format!("{name}: does not load"))?;
        for turn in turns(&grammar, SHORT)?.take(TEXTS) {
            match both.read(&turn)? {
                Verdict::Complete => accepted += 1,
                verdict => writeln!(wrong, "{name}: its own: {verdict:?} of {turn:?}")?,
            }
        }
        for row in &table.refused {
            let changed = parser.grammar(&table.changed(row)?, &required())?;
            for turn in turns(&changed, SHORT)?.take(TEXTS) {
                match both.read(&turn)? {
                    Verdict::Complete => writeln!(wrong, "{name}: {}: accepted {turn:?}", row.why)?,
                    _ => *refused.entry(&row.why).or_default() += 1,
                }
            }
        }
    }
    println!("{accepted} right calls are accepted, {} wrong ones refused", refused.values().sum::<usize>());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(accepted > 200 && refused.len() == table.refused.len(), "{accepted} accepted, {refused:?}");
    Ok(())
}

#[test]
fn what_follows_the_turn_is_refused() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let asked = Refusals::read()?.asked()?;
    let options = Options::new().tools(&asked);
    let (mut second, mut after, mut wrong) = (0, 0, String::new());
    for parser in models()? {
        let name = &*parser.info().name;
        let one = parser.grammar(&asked, &required())?;
        let both = Both::load(&engine, &one.text).map_err(|why| format!("{name}: {why}"))?;
        let both = both.ok_or_else(|| format!("{name}: does not load"))?;
        // Turns with several calls, if the format has them. Most grammars are lazy, so the whole text is calls.
        let auto = GrammarOptions::new().parallel_tool_calls(false);
        let single = parser.grammar(&asked, &auto)?;
        let single = Both::load(&engine, &single.text).map_err(|why| format!("{name}: {why}"))?;
        let single = single.ok_or_else(|| format!("{name}: does not load"))?;
        let several = parser.grammar(&asked, &auto.parallel_tool_calls(true))?;
        let calls = |turn: &String| parser.parse(turn.as_str().into(), &options).tool_calls.len() > 1;
        for turn in turns(&several, LONG)?.take(20 * TEXTS).filter(calls).take(TEXTS) {
            match single.read(&turn)? {
                Verdict::Complete => writeln!(wrong, "{name}: a second call: accepted {turn:?}")?,
                _ => second += 1,
            }
        }
        for turn in turns(&one, SHORT)?.take(TEXTS) {
            for stop in &one.stops {
                let text = format!("{}{stop}\nAnd more.", turn.strip_suffix(stop.as_str()).unwrap_or(&turn));
                match both.read(&text)? {
                    Verdict::Refused(_) => after += 1,
                    verdict => writeln!(wrong, "{name}: after the turn's end: {verdict:?} of {text:?}")?,
                }
            }
        }
    }
    println!("{second} turns with a second call and {after} that continue are refused");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(second > 100 && after > 100, "{second} with a second call, {after} that continue");
    Ok(())
}

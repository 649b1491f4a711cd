//! What a grammar must refuse: the engines refuse it, for every model.

mod support;

use std::collections::BTreeMap;

use support::{All, Engines, Failure, differences, models};
use unjinja_grammar::{GrammarOptions, ToolChoice};
use unjinja_runtime::{ChatParser, Options};
use unjinja_testkit::grammars::Refusals;

/// The number of texts for each row and model.
const TEXTS: usize = 8;
/// The length in code points of a turn with one call, and with several.
const SHORT: usize = 120;
const LONG: usize = 800;

fn required() -> GrammarOptions {
    GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false)
}

#[test]
fn what_the_schema_does_not_allow_is_refused() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let table = Refusals::read()?;
    let asked = table.asked()?;
    let (mut accepted, mut refused, mut wrong) = (0, BTreeMap::<&str, usize>::new(), String::new());
    for parser in &models()? {
        let name = &*parser.info().name;
        let Some(grammar) = All::make(&engines, parser, Some(&asked), &required())? else { continue };
        for turn in grammar.sentences(11, SHORT).take(TEXTS) {
            wrong.extend(differences(name, &turn, grammar.accept(&turn), true));
            accepted += 1;
        }
        for row in &table.refused {
            let changed = All::make(&engines, parser, Some(&table.changed(row)?), &required())?;
            for turn in changed.ok_or("no grammar")?.sentences(11, SHORT).take(TEXTS) {
                wrong.extend(differences(&format!("{name}: {}", row.why), &turn, grammar.accept(&turn), false));
                *refused.entry(&row.why).or_default() += 1;
            }
        }
    }
    println!("{accepted} right calls are accepted, {} wrong ones refused", refused.values().sum::<usize>());
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(accepted > 200 && refused.len() == table.refused.len(), "{accepted} accepted, {refused:?}");
    Ok(())
}

#[test]
fn what_follows_the_turn_is_refused() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let asked = Refusals::read()?.asked()?;
    let options = Options::new().tools(&asked);
    let (mut second, mut after, mut wrong) = (0, 0, String::new());
    for parser in &models()? {
        let name = &*parser.info().name;
        let Some(one) = All::make(&engines, parser, Some(&asked), &required())? else { continue };
        // Where the model decides, the GBNF is mostly lazy, so that its sentences are calls and nothing else.
        let auto = GrammarOptions::new().parallel_tool_calls(false);
        let single = All::make(&engines, parser, Some(&asked), &auto)?.ok_or("no grammar")?;
        let several =
            All::make(&engines, parser, Some(&asked), &auto.parallel_tool_calls(true))?.ok_or("no grammar")?;
        let calls = |turn: &String| parser.parse(turn.as_str().into(), &options).tool_calls.len() > 1;
        for turn in several.sentences(11, LONG).take(20 * TEXTS).filter(calls).take(TEXTS) {
            wrong.extend(differences(&format!("{name}: a second call"), &turn, single.accept(&turn), false));
            second += 1;
        }
        for turn in one.sentences(11, SHORT).take(TEXTS) {
            for stop in &one.gbnf.stops {
                let text = format!("{}{stop}\nAnd more.", turn.strip_suffix(stop.as_str()).unwrap_or(&turn));
                wrong.extend(differences(&format!("{name}: after the end"), &text, one.accept(&text), false));
                after += 1;
            }
        }
    }
    println!("{second} turns with a second call and {after} that continue are refused");
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(second > 100 && after > 100, "{second} with a second call, {after} that continue");
    Ok(())
}

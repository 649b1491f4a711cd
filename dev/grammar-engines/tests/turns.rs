//! The turns of the corpus in the engines: every turn with calls that a supported template writes is accepted as a whole.

mod support;

use std::cell::RefCell;

use support::{Engines, Failure};
use unjinja_grammar::Target;
use unjinja_grammar_engines::Verdict;
use unjinja_testkit::turns;

#[test]
fn xgrammar_accepts_turns_with_calls() -> Result<(), Failure> {
    let engines = Engines::new()?;
    accepted(Target::XGrammar, |tag| engines.xgrammar.compile(tag), |compiled, text| Ok(compiled.read(text)))
}

#[test]
fn llguidance_accepts_turns_with_calls() -> Result<(), Failure> {
    let engines = Engines::new()?;
    accepted(Target::Llguidance, |lark| engines.llguidance.compile(lark), |compiled, text| compiled.read(text))
}

fn accepted<C>(
    target: Target,
    compile: impl Fn(&str) -> Result<C, String>,
    read: impl Fn(&C, &str) -> Result<Verdict, String>,
) -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    // Turns in a row often have the same grammar.
    let last: RefCell<Option<(String, C)>> = RefCell::new(None);
    let judged = turns::judge_for(target, &corpus, |grammar, output| {
        let mut last = last.borrow_mut();
        if last.as_ref().is_none_or(|(text, _)| *text != grammar.text) {
            *last = Some((grammar.text.clone(), compile(&grammar.text)?));
        }
        let (_, compiled) = last.as_ref().ok_or("no grammar")?;
        Ok(match read(compiled, output) {
            Ok(Verdict::Complete) => None,
            Ok(verdict) => Some(format!("{verdict:?} of {output:?}")),
            Err(why) => Some(format!("{why:.500} in {output:?}")),
        })
    })?;
    println!("{target}: {judged}");
    assert!(judged.accepted > 3_500, "{judged}");
    assert!(judged.new.is_empty(), "turns that the engine refuses:\n{}", judged.new.join("\n"));
    Ok(())
}

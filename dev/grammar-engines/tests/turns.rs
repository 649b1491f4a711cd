//! The turns of the corpus in the engines: every turn with calls that a supported template writes is accepted as a whole.

mod support;

use support::{Engines, Failure};
use unjinja_grammar::Target;
use unjinja_grammar_engines::Verdict;
use unjinja_testkit::turns;

#[test]
fn xgrammar_accepts_turns_with_calls() -> Result<(), Failure> {
    accepted(Target::XGrammar, |engines, grammar, text| Ok(engines.xgrammar.compile(grammar)?.read(text)))
}

#[test]
fn llguidance_accepts_turns_with_calls() -> Result<(), Failure> {
    accepted(Target::Llguidance, |engines, grammar, text| engines.llguidance.compile(grammar)?.read(text))
}

fn accepted(target: Target, read: impl Fn(&Engines, &str, &str) -> Result<Verdict, String>) -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let engines = Engines::new()?;
    let judged = turns::judge_for(target, &corpus, |grammar, output| {
        Ok(match read(&engines, &grammar.text, output) {
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

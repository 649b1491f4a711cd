//! The turns of the corpus in the engine: every turn with calls that a supported template writes is accepted, from its
//! trigger on.

mod support;

use support::cases::triggers;
use support::{Failure, Verdict};
use unjinja_engine::Engine;
use unjinja_testkit::turns;

#[test]
fn turns_with_calls_are_accepted() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let engine = Engine::new()?;
    let judged = turns::judge(&corpus, |grammar, output| {
        let session = match grammar.lazy {
            true => engine.load_lazy(&grammar.text, &triggers(grammar)),
            false => engine.load(&grammar.text),
        };
        let Ok(mut session) = session else { return Ok(Some(format!("does not load\n{}", grammar.text))) };
        // The prompt's part of the turn comes before any trigger.
        let text = if grammar.lazy { output.to_owned() } else { format!("{}{output}", grammar.prefill) };
        Ok(match Verdict::of_engine(&mut session, &text) {
            Verdict::Complete if session.waits() => Some(format!("none of {:?} in {text:?}", grammar.triggers)),
            Verdict::Complete => None,
            verdict => Some(format!("{verdict:?} of {text:?}")),
        })
    })?;
    println!("{judged}");
    assert!(judged.accepted > 3_500, "{judged}");
    assert!(judged.new.is_empty(), "turns that the engine refuses:\n{}", judged.new.join("\n"));
    Ok(())
}

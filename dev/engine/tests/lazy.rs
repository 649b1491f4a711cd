//! How the engine starts a lazy grammar: the rows of `lazy.toml`.

mod support;

use serde::Deserialize;
use support::{Failure, Verdict};
use unjinja_engine::{Engine, Trigger};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    lazy: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    grammar: String,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    waits: Vec<String>,
    #[serde(default)]
    accepts: Vec<String>,
    #[serde(default)]
    refuses: Vec<Stop>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    text: String,
    at: usize,
}

#[test]
fn triggers_hold_to_the_table() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let mut wrong = Vec::new();
    for row in toml::from_str::<Table>(include_str!("lazy.toml"))?.lazy {
        let words = row.words.into_iter().map(Trigger::Word);
        let triggers: Vec<Trigger> = words.chain(row.patterns.into_iter().map(Trigger::Pattern)).collect();
        let waits = row.waits.iter().map(|text| (text, Verdict::Complete, true));
        let accepted = row.accepts.iter().map(|text| (text, Verdict::Complete, false));
        let refused = row.refuses.iter().map(|stop| (&stop.text, Verdict::Refused(stop.at), false));
        for (text, verdict, waits) in waits.chain(accepted).chain(refused) {
            let session = engine.load_lazy(&row.grammar, &triggers);
            let mut session = session.map_err(|_| format!("{}: does not load", row.why))?;
            let found = (Verdict::of_engine(&mut session, text), session.waits());
            if found != (verdict, waits) {
                wrong.push(format!("{}: {text:?}: {found:?}, not {:?}", row.why, (verdict, waits)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} do not hold:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn a_grammar_that_does_not_load_is_refused() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let word = [Trigger::Word("x".to_owned())];
    assert!(engine.load_lazy("root ::= a", &word).is_err());
    assert!(engine.load_lazy("root ::= \"x\"", &[Trigger::Pattern("(".to_owned())]).is_err());
    assert!(engine.load_lazy("root ::= \"x\"", &word).is_ok());
    Ok(())
}

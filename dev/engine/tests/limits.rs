//! Which grammars the engine accepts: the rows of `limits.toml`. The recogniser must accept the same.

mod support;

use serde::Deserialize;
use support::{Failure, Verdict};
use unjinja_engine::Engine;
use unjinja_gbnf::Grammar;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    grammar: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    text: String,
    outcome: Outcome,
    /// Why the recogniser refuses a grammar that this engine loads.
    stricter: Option<String>,
    #[serde(default)]
    accepts: Vec<Text>,
    #[serde(default)]
    unfinished: Vec<Text>,
    #[serde(default)]
    refuses: Vec<Stop>,
}

#[derive(Deserialize, Debug, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Loads,
    Fails,
    /// The engine hangs.
    Hangs,
}

/// A text, written out or as a repetition.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Written(String),
    Repeated { repeat: String, times: usize },
}

impl Text {
    fn text(&self) -> String {
        match self {
            Self::Written(text) => text.clone(),
            Self::Repeated { repeat, times } => repeat.repeat(*times),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    text: Text,
    at: usize,
}

impl Row {
    /// The texts, each with the byte that is refused, if any, and whether it is complete.
    fn texts(&self) -> impl Iterator<Item = (String, Verdict)> {
        let accepted = self.accepts.iter().map(|text| (text.text(), Verdict::Complete));
        let unfinished = self.unfinished.iter().map(|text| (text.text(), Verdict::Unfinished));
        let refused = self.refuses.iter().map(|stop| (stop.text.text(), Verdict::Refused(stop.at)));
        accepted.chain(unfinished).chain(refused)
    }
}

fn rows() -> Result<Vec<Row>, Failure> {
    Ok(toml::from_str::<Table>(include_str!("limits.toml"))?.grammar)
}

#[test]
fn the_engine_holds_to_the_table() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let mut wrong = Vec::new();
    for row in rows()?.iter().filter(|row| row.outcome != Outcome::Hangs) {
        let loads = if engine.load(&row.text).is_ok() { Outcome::Loads } else { Outcome::Fails };
        if loads != row.outcome {
            wrong.push(format!("{}: {loads:?}, not {:?}", row.why, row.outcome));
            continue;
        }
        for (text, expected) in row.texts() {
            let mut session = engine.load(&row.text).map_err(|_| "loaded once only")?;
            let found = Verdict::of_engine(&mut session, &text);
            if found != expected {
                wrong.push(format!("{}: {text:.40?}: {found:?}, not {expected:?}", row.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows do not hold:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn the_recogniser_holds_to_the_table() -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for row in rows()? {
        let grammar = match (Grammar::parse(&row.text), row.outcome == Outcome::Loads && row.stricter.is_none()) {
            (Ok(grammar), true) => grammar,
            (Err(_), false) => continue,
            (Ok(_), false) => {
                wrong.push(format!("{}: loads", row.why));
                continue;
            }
            (Err(error), true) => {
                wrong.push(format!("{}: {error}", row.why));
                continue;
            }
        };
        for (text, expected) in row.texts() {
            let found = Verdict::of_recogniser(&grammar, &text);
            if found != expected {
                wrong.push(format!("{}: {text:.40?}: {found:?}, not {expected:?}", row.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows do not hold:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

//! The corpus in the engine: every grammar loads, every output that was written under a grammar is accepted from its
//! trigger on, byte by byte, and the recogniser agrees about every output and about damaged copies of it.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;

use support::cases::{cases, constrained, triggers};
use support::{Both, Failure, Verdict, damage};
use unjinja_engine::Engine;
use unjinja_testkit::random::Random;

const DAMAGES: usize = 10_000;

#[test]
fn outputs_are_accepted() -> Result<(), Failure> {
    let Some(cases) = cases()? else { return Ok(()) };
    let engine = Engine::new()?;
    let (mut loaded, mut lazy, mut accepted, mut wrong) = (0, 0, 0, String::new());
    for parsed in &cases {
        let case = &parsed.case;
        for (which, grammar) in parsed.grammars()? {
            let session = if grammar.lazy {
                engine.load_lazy(&grammar.text, &triggers(&grammar))
            } else {
                engine.load(&grammar.text)
            };
            let Ok(mut session) = session else {
                writeln!(wrong, "{} {which}: does not load\n{}", case.id, grammar.text)?;
                continue;
            };
            loaded += 1;
            if !case.held {
                continue;
            }
            // The prompt's part of the turn comes before any trigger.
            let text = if grammar.lazy { case.output.clone() } else { format!("{}{}", grammar.prefill, case.output) };
            match Verdict::of_engine(&mut session, &text) {
                Verdict::Complete if session.waits() => {
                    writeln!(wrong, "{} {which}: none of {:?} in {text:?}", case.id, grammar.triggers)?;
                }
                Verdict::Complete => {
                    accepted += 1;
                    lazy += usize::from(grammar.lazy);
                }
                verdict => writeln!(wrong, "{} {which}: {verdict:?} of {text:?}", case.id)?,
            }
        }
    }
    println!(
        "{loaded} grammars of {} cases load; {accepted} outputs are accepted, {lazy} from a trigger on",
        cases.len()
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(accepted >= 200 && lazy >= 100, "{accepted} accepted, {lazy} from a trigger on");
    Ok(())
}

#[test]
fn outputs_are_read_alike() -> Result<(), Failure> {
    let Some(cases) = cases()? else { return Ok(()) };
    let engine = Engine::new()?;
    let (mut texts, mut counts, mut wrong) = (Vec::new(), Counts::default(), String::new());
    for parsed in &cases {
        let case = &parsed.case;
        for (which, grammar) in parsed.grammars()? {
            let both = Both::load(&engine, &grammar.text).map_err(|why| format!("{} {which}: {why}", case.id))?;
            let both = both.ok_or_else(|| format!("{} {which}: does not load\n{}", case.id, grammar.text))?;
            // Without a trigger in it, an output proves nothing about a lazy grammar.
            let text = constrained(&engine, &grammar, &case.output)?.unwrap_or_else(|| case.output.clone());
            counts.add(both.read(&text), &format!("{} {which}", case.id), &mut wrong)?;
            texts.push((format!("{} {which}", case.id), both, text));
        }
    }
    println!("outputs: {counts:?}");
    let mut random = Random::new(1);
    let mut counts = Counts::default();
    for number in 0..DAMAGES {
        let (id, both, text) = &texts[number % texts.len()];
        counts.add(both.read(&damage::damaged(text, &mut random)), id, &mut wrong)?;
    }
    println!("damaged: {counts:?}");
    assert!(wrong.is_empty(), "{wrong}");
    // Every kind of answer must have occurred.
    assert_eq!(counts.0.values().sum::<usize>(), DAMAGES);
    assert!(counts.0.len() == 3 && counts.0.values().all(|&count| count > DAMAGES / 50), "{counts:?}");
    Ok(())
}

/// How often each answer was given.
#[derive(Debug, Default)]
struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn add(&mut self, read: Result<Verdict, String>, id: &str, wrong: &mut String) -> Result<(), Failure> {
        let kind = match read {
            Ok(Verdict::Complete) => "complete",
            Ok(Verdict::Unfinished) => "unfinished",
            Ok(Verdict::Refused(_)) => "refused",
            Err(why) => return Ok(writeln!(wrong, "{id}: {why}")?),
        };
        *self.0.entry(kind).or_default() += 1;
        Ok(())
    }
}

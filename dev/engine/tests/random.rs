//! The engine and the recogniser agree about random grammars and random texts.

mod support;

use std::fmt::Write;

use support::{Both, Failure, Verdict, damage, grammars};
use unjinja_engine::Engine;
use unjinja_gbnf::Limits;
use unjinja_testkit::random::Random;

const GRAMMARS: usize = 2_000;
/// For each grammar: the number of sentences, damaged sentences, and texts.
const OF_EACH: usize = 6;

#[test]
fn random_grammars_are_read_alike() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let mut random = Random::new(5);
    let (mut loaded, mut counts, mut wrong) = (0, [0; 3], String::new());
    for number in 0..GRAMMARS {
        let text = grammars::grammar(&mut random);
        let both = match Both::load(&engine, &text) {
            Ok(Some(both)) => both,
            Ok(None) => continue,
            Err(why) => {
                writeln!(wrong, "{why}\n{text}")?;
                continue;
            }
        };
        loaded += 1;
        let mut seed = number as u64;
        for _ in 0..OF_EACH {
            let sentence = both.grammar.sample(&mut seed, Limits { length: 20, depth: 12 }).unwrap_or_default();
            for text in [damage::damaged(&sentence, &mut random), grammars::text(&mut random), sentence] {
                match both.read(&text) {
                    Ok(Verdict::Complete) => counts[0] += 1,
                    Ok(Verdict::Unfinished) => counts[1] += 1,
                    Ok(Verdict::Refused(_)) => counts[2] += 1,
                    Err(why) => writeln!(wrong, "{why}\n{}", both.text())?,
                }
            }
        }
    }
    let [complete, unfinished, refused] = counts;
    println!(
        "{loaded} of {GRAMMARS} grammars load; texts: {complete} complete, {unfinished} unfinished, {refused} refused"
    );
    assert!(wrong.is_empty(), "{wrong}");
    // Every kind of answer must have occurred.
    assert!(loaded > GRAMMARS / 2 && counts.iter().all(|&count| count > GRAMMARS), "{loaded} load, {counts:?}");
    Ok(())
}

#[test]
fn damaged_grammars_are_refused_alike() -> Result<(), Failure> {
    let engine = Engine::new()?;
    let mut random = Random::new(6);
    let (mut loaded, mut wrong) = (0, String::new());
    for _ in 0..GRAMMARS {
        let text = grammars::grammar(&mut random);
        let text = grammars::damaged(&text, &mut random);
        match Both::load(&engine, &text) {
            Ok(both) => loaded += usize::from(both.is_some()),
            Err(why) => writeln!(wrong, "{why}\n{text}")?,
        }
    }
    println!("{loaded} of {GRAMMARS} damaged grammars load");
    assert!(wrong.is_empty(), "{wrong}");
    assert!((GRAMMARS / 10..GRAMMARS * 9 / 10).contains(&loaded), "{loaded} load");
    Ok(())
}

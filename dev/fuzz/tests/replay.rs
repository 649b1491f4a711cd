//! Checks the properties without a fuzzer, with the same inputs on every run: all seeds, all inputs that a fuzzer once found, and
//! copies of seeds with a few changed bytes.

use std::fs;
use std::path::Path;
use std::time::Instant;

use unjinja::testing::{Cut, Random};
use unjinja_fuzz::seeds::{Failure, seeds};
use unjinja_fuzz::{TARGETS, Target, models, prose};
use unjinja_testkit::{sample, whole};

/// How many damaged copies of seeds are tried for each target.
fn copies(target: &Target) -> usize {
    let all = match target.name {
        "analyze" => 40,
        "specs" => 200,
        "schemas" => 1000,
        "render" => 2000,
        _ => 5000,
    };
    if whole() { all } else { all / 4 }
}

/// Replays all seeds, all former findings, and damaged copies.
fn replay(name: &str) -> Result<(), Failure> {
    let target = TARGETS.iter().find(|target| target.name == name).ok_or("no such target")?;
    let seeds = seeds(name)?;
    assert!(seeds.len() >= 10, "{} seeds are too few to show anything", seeds.len());
    let started = Instant::now();
    for (number, seed) in sample(seeds.iter().enumerate(), 3) {
        run(target, seed, &format!("seed {number}"));
    }
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(name);
    if found.exists() {
        for entry in fs::read_dir(found)? {
            let path = entry?.path();
            run(target, &fs::read(&path)?, &path.display().to_string());
        }
    }
    for number in 0..copies(target) {
        let mut random = Random::new(number as u64);
        let seed = &seeds[random.below(seeds.len())];
        let other = &seeds[random.below(seeds.len())];
        run(target, &damaged(seed, other, target.longest, &mut random), &format!("damaged copy {number}"));
    }
    println!("{name}: {} seeds, {} copies, {:?}", seeds.len(), copies(target), started.elapsed());
    Ok(())
}

/// Checks a property; if it does not hold, names the input.
fn run(target: &Target, input: &[u8], whose: &str) {
    let held = std::panic::catch_unwind(|| (target.run)(input));
    assert!(held.is_ok(), "{}: {whose} does not hold: {}", target.name, input.escape_ascii());
}

/// A copy of a seed with a few bytes changed, removed, repeated, or inserted from another seed.
fn damaged(seed: &[u8], other: &[u8], longest: usize, random: &mut Random) -> Vec<u8> {
    let mut text = seed.to_vec();
    for _ in 0..=random.below(4) {
        let from = random.below(text.len() + 1);
        let to = (from + 1 + random.below(16)).min(text.len());
        match random.below(5) {
            0 => drop(text.drain(from..to)),
            1 => text[from..to].iter_mut().take(1).for_each(|byte| *byte = random.below(256) as u8),
            2 => {
                let again = text[from..to].to_vec();
                let at = random.below(text.len() + 1);
                text.splice(at..at, again);
            }
            3 => drop(text.splice(from..from, b"\"\\{}[]<>\n*/#'%(".iter().copied().skip(random.below(15)).take(1))),
            _ => {
                let start = random.below(other.len() + 1);
                let piece = &other[start..(start + random.below(32)).min(other.len())];
                text.splice(from..from, piece.iter().copied());
            }
        }
    }
    text.truncate(longest);
    text
}

#[test]
fn any_output_through_any_model() -> Result<(), Failure> {
    replay("outputs")
}

#[test]
fn any_markers_through_their_model() -> Result<(), Failure> {
    replay("markers")
}

#[test]
fn any_marker_in_a_sentence() -> Result<(), Failure> {
    replay("prose")
}

/// Every marker of every format, with each text that may follow.
#[test]
fn no_marker_in_a_sentence_is_more_than_text() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for model in models::all() {
        for marker in prose::markers(&model.spec) {
            for after in prose::AFTER {
                let sentence = format!("Write {marker}{after} there.");
                if prose::opens_reasoning(model, &sentence) {
                    continue;
                }
                tried += 1;
                wrong.extend(prose::check(model, &sentence, &Cut::Chunks(1)).err());
            }
        }
    }
    assert!(tried > 1000, "{tried} sentences are too few to show anything");
    assert!(wrong.is_empty(), "{} of {tried} do not come back:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn any_template_rendered() -> Result<(), Failure> {
    replay("render")
}

#[test]
fn any_template_analysed() -> Result<(), Failure> {
    replay("analyze")
}

#[test]
fn any_spec() -> Result<(), Failure> {
    replay("specs")
}

#[test]
fn any_schema() -> Result<(), Failure> {
    replay("schemas")
}

#[test]
fn any_value() -> Result<(), Failure> {
    replay("values")
}

#[test]
fn any_file() -> Result<(), Failure> {
    replay("sources")
}

#[test]
fn every_target_is_a_fuzz_target_and_replayed() -> Result<(), Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (manifest, tests) = (fs::read_to_string(here.join("Cargo.toml"))?, include_str!("replay.rs"));
    for target in &TARGETS {
        assert!(here.join("targets").join(format!("{}.rs", target.name)).is_file(), "{}", target.name);
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        assert!(tests.contains(&format!("replay(\"{}\")", target.name)), "{}", target.name);
    }
    Ok(())
}

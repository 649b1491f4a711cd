//! 2,000 specs from three seeds: what fails is what `known.tsv` says, no more and no less.

use std::collections::BTreeMap;

use unjinja_synth::trial::{TESTED, Trial, known, trials};

fn counts(text: &str) -> BTreeMap<&str, u32> {
    text.lines().filter_map(|line| line.rsplit_once('\t')).filter_map(|(key, n)| Some((key, n.parse().ok()?))).collect()
}

#[test]
fn analysis_gives_back_what_was_synthesised() {
    let all: Vec<Trial> = TESTED.iter().flat_map(|&(seed, count)| trials(seed, 0..count)).collect();
    let failed = all.iter().filter(|trial| trial.failure.is_some()).count();
    println!("{} specs, {} came back", all.len(), all.len() - failed);
    assert_eq!(all.len(), 2000);
    let now = known(&all);
    let (now, before) = (counts(&now), counts(include_str!("../known.tsv")));
    let mut changes = Vec::new();
    for key in now.keys().chain(before.keys().filter(|key| !now.contains_key(**key))) {
        let (was, is) = (before.get(key).unwrap_or(&0), now.get(key).unwrap_or(&0));
        if was != is {
            let verdict = if is > was { "worse" } else { "better" };
            changes.push(format!("{verdict}: {key}: {was} before, {is} now"));
        }
    }
    assert!(
        changes.is_empty(),
        "what fails has changed:\n{}\nlook with `cargo run -p unjinja-synth -- --seed 1 --count 667 --show-one`; if it is \
         right, write `cargo run -p unjinja-synth -- --known > synth/known.tsv`",
        changes.join("\n")
    );
}

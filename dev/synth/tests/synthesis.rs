//! Runs trials from three seeds: 250, and 2,000 where the tests run whole. The failures must be exactly those in `known.tsv`;
//! of the 250, no others.

use std::collections::BTreeMap;

use unjinja_synth::draw::draw;
use unjinja_synth::rng::Rng;
use unjinja_synth::same::differences;
use unjinja_synth::trial::{TESTED, Trial, known, trials};
use unjinja_testkit::whole;

fn counts(text: &str) -> BTreeMap<&str, u32> {
    text.lines().filter_map(|line| line.rsplit_once('\t')).filter_map(|(key, n)| Some((key, n.parse().ok()?))).collect()
}

#[test]
fn analysis_gives_back_what_was_synthesised() {
    let part = if whole() { 1 } else { 8 };
    let all: Vec<Trial> = TESTED.iter().flat_map(|&(seed, count)| trials(seed, 0..count.div_ceil(part))).collect();
    let failed = all.iter().filter(|trial| trial.failure.is_some()).count();
    println!("{} specs, {} came back", all.len(), all.len() - failed);
    assert_eq!(all.len(), if whole() { 2000 } else { 252 });
    let now = known(&all);
    let (now, before) = (counts(&now), counts(include_str!("../known.tsv")));
    let mut changes = Vec::new();
    for key in now.keys().chain(before.keys().filter(|key| !now.contains_key(**key))) {
        let (was, is) = (before.get(key).unwrap_or(&0), now.get(key).unwrap_or(&0));
        // A part of the trials may lack known failures.
        if is > was || (whole() && is < was) {
            let verdict = if is > was { "worse" } else { "better" };
            changes.push(format!("{verdict}: {key}: {was} before, {is} now"));
        }
    }
    assert!(
        changes.is_empty(),
        "what fails has changed:\n{}\nlook with `cargo run -p unjinja-synth -- --seed 1 --count 667 --show-one`; if it is \
         right, write `cargo run -p unjinja-synth -- --known > dev/synth/known.tsv`",
        changes.join("\n")
    );
}

/// Changes every marker of a spec in turn; the comparison must notice each change.
#[test]
fn comparison_sees_a_change_of_any_marker() {
    for number in 0..300 {
        let drawn = draw(&mut Rng::new(number));
        assert!(differences(&drawn, &drawn.spec).is_empty(), "{number}: a spec differs from itself");
        let mut changed = 0;
        for at in 0.. {
            let mut got = drawn.spec.clone();
            let tools = &mut got.tools;
            let markers: [&mut String; 24] = [
                &mut got.turn.user_start,
                &mut got.turn.assistant_start,
                &mut got.turn.end,
                &mut got.reasoning.start,
                &mut got.reasoning.end,
                &mut got.content.start,
                &mut got.content.end,
                &mut tools.section_start,
                &mut tools.section_end,
                &mut tools.per_call_start,
                &mut tools.per_call_end,
                &mut tools.function.name_prefix,
                &mut tools.function.name_suffix,
                &mut tools.function.close,
                &mut tools.arguments.name_prefix,
                &mut tools.arguments.value_suffix,
                &mut tools.arguments.type_prefix,
                &mut tools.arguments.type_suffix,
                &mut tools.arguments.close_prefix,
                &mut tools.arguments.close_suffix,
                &mut tools.arguments.separator,
                &mut got.content.label,
                &mut tools.call_id.prefix,
                &mut tools.call_id.suffix,
            ];
            let Some(marker) = markers.into_iter().nth(at) else { break };
            if marker.trim().is_empty() {
                continue;
            }
            let core = marker.trim().to_owned();
            *marker = marker.replace(&core, &format!("{core}!"));
            changed += 1;
            assert!(!differences(&drawn, &got).is_empty(), "{number}: {core:?} changed, and nobody saw it");
        }
        assert!(changed > 1);
    }
}

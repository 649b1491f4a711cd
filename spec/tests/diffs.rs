//! What a change means: each case is an overlay over `base.toml`, whose expectation is the diff both ways.

use std::path::Path;
use std::sync::LazyLock;

use unjinja_spec::{Effect, FormatSpec, MarkerKey, Overlay, diff, worst};
use unjinja_testkit::expect;
use unjinja_testkit::random::Random;

/// The names of the markers that may have alternatives: the keys of the model's one map.
static MARKERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let keys = MarkerKey::ALL.iter().filter(|key| key.may_have_alternatives());
    keys.map(|key| key.as_str()).collect()
});

fn show(old: &FormatSpec, new: &FormatSpec) -> String {
    let changes = diff(old, new);
    changes.iter().map(|change| format!("{change}\n")).collect()
}

#[test]
fn changes_are_judged() -> Result<(), Box<dyn std::error::Error>> {
    let base = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    expect::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diffs"), "toml", |name, text| {
        // Reasons are the subject of the overlays' tests; here every key gets one.
        let text: String = text.lines().map(|line| format!("{line} # a case\n")).collect();
        match Overlay::from_toml(&text, name).and_then(|overlay| overlay.apply(&base)) {
            Ok(new) => Ok(format!("=== forth\n{}=== back\n{}", show(&base, &new), show(&new, &base))),
            Err(error) => Ok(error.to_string()),
        }
    })
}

#[test]
fn a_spec_does_not_differ_from_itself_and_from_others_it_does() -> Result<(), Box<dyn std::error::Error>> {
    let mut last: Option<FormatSpec> = None;
    for seed in 0..200 {
        let spec: FormatSpec = Random::new(seed).value(&MARKERS)?;
        assert_eq!(diff(&spec, &spec), []);
        if let Some(last) = &last {
            assert!(!diff(last, &spec).is_empty());
        }
        last = Some(spec);
    }
    Ok(())
}

#[test]
fn the_gravest_effect_counts() {
    assert!(Effect::Breaking > Effect::Compatible && Effect::Compatible > Effect::Informational);
    assert_eq!(worst(&[]), None);
}

#[test]
fn every_key_has_a_rule() -> Result<(), Box<dyn std::error::Error>> {
    for seed in 0..400 {
        let old: FormatSpec = Random::new(seed).value(&MARKERS)?;
        let mut new: FormatSpec = Random::new(seed + 1000).value(&MARKERS)?;
        // So that the rules of tools and reasoning are reached, not only those of the modes.
        new.tools.format = old.tools.format;
        new.reasoning.mode = old.reasoning.mode;
        for change in diff(&old, &new) {
            assert!(!change.why.starts_with("no rule"), "add a rule for {}", change.key);
        }
    }
    Ok(())
}

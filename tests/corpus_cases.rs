//! Every case of the corpus through the committed specs, interpreted and compiled, at every cut. What does not hold
//! yet is listed in `corpus_known_failures.txt`; the list may only shrink.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use support::{Failure, corpus, corpus_cases, models};

const KNOWN: &str = include_str!("corpus_known_failures.txt");

#[test]
fn every_case_is_read_as_expected_interpreted_and_compiled() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let models = models()?;
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for line in KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, reason) = line.split_once(": ").ok_or_else(|| format!("a failure without a reason: {line}"))?;
        known.insert(name, reason);
    }
    let (mut failures, mut failed, mut formats, mut held) = (Vec::new(), BTreeSet::new(), BTreeMap::new(), 0);
    for row in corpus_cases(&corpus)? {
        let Some(model) = models.iter().find(|model| model.is_for(&row.template)) else {
            if !known.contains_key(row.template.as_str()) {
                failures.push(format!("{}: {} has no supported spec", row.id, row.template));
            }
            failed.insert(row.template);
            continue;
        };
        let compiled = unjinja_generated::by_file(&row.template).ok_or("the spec is not compiled in")?;
        let interpreted = row.case.check(&model.lowered.interpreter(&model.spec));
        let results = [("interpreted", interpreted), ("compiled", row.case.check(compiled))];
        let problems: Vec<String> =
            results.into_iter().filter_map(|(how, result)| Some(format!("{how}: {}", result.err()?))).collect();
        if problems.is_empty() {
            held += 1;
            formats.entry(format!("{:?}", model.spec.tools.format)).or_insert_with(BTreeSet::new).insert(row.template);
            continue;
        }
        if !known.contains_key(row.id.as_str()) {
            failures.extend(problems);
        }
        failed.insert(row.id);
    }
    let mended: Vec<&&str> = known.keys().filter(|name| !failed.contains(**name)).collect();
    assert!(failures.is_empty(), "{} are new ({held} cases held):\n{}", failures.len(), failures.join("\n"));
    assert!(mended.is_empty(), "these hold now; take them out of tests/corpus_known_failures.txt: {mended:?}");
    assert!(held > 0, "no case was run");
    Ok(())
}

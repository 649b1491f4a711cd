//! Reads every case of the corpus with the parser of its committed spec, interpreted and compiled, cut at every place. Known
//! failures are listed in `corpus_known_failures.txt`; the list may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Failure, corpus, corpus_cases, models};
use unjinja_spec::ToolFormat;

const KNOWN: &str = include_str!("../corpus_known_failures.txt");

#[test]
fn every_case_is_read_as_expected_interpreted_and_compiled() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let models = models()?;
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for line in KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, reason) = line.split_once(": ").ok_or_else(|| format!("a failure without a reason: {line}"))?;
        known.insert(name, reason);
    }
    let (mut failures, mut failed, mut held, mut runs) = (Vec::new(), BTreeSet::new(), 0, 0);
    for row in corpus_cases(&corpus)? {
        let Some(model) = models.iter().find(|model| model.is_for(&row.template)) else {
            if !known.contains_key(row.template.as_str()) {
                failures.push(format!("{}: {} has no supported spec", row.id, row.template));
            }
            failed.insert(row.template);
            continue;
        };
        let compiled = unjinja_generated::by_file(&row.template).ok_or("the spec is not compiled in")?;
        let interpreted = row.case.check(&model.parser);
        let mut problems = Vec::new();
        for (how, result) in [("interpreted", interpreted), ("compiled", row.case.check(compiled))] {
            match result {
                Ok(times) => runs += times,
                Err(mismatch) => problems.push(format!("{how}: {mismatch}")),
            }
        }
        if problems.is_empty() {
            held += 1;
            continue;
        }
        if !known.contains_key(row.id.as_str()) {
            failures.extend(problems);
        }
        failed.insert(row.id);
    }
    let mended: Vec<&str> = known.into_keys().filter(|name| !failed.contains(*name)).collect();
    assert!(failures.is_empty(), "{} are new ({held} cases held):\n{}", failures.len(), failures.join("\n"));
    assert!(mended.is_empty(), "these hold now; remove them from tests/corpus_known_failures.txt: {mended:?}");
    assert!(held > 0 && runs > 100 * held, "{held} cases held in {runs} runs: too few to show anything");
    Ok(())
}

#[test]
fn every_classic_format_is_supported_by_several_models() -> Result<(), Failure> {
    let models = models()?;
    let count = |format: ToolFormat| models.iter().filter(|model| model.spec.tools.format == format).count();
    assert!(models.len() >= 24, "{} models", models.len());
    assert_eq!(models.len(), unjinja_generated::all().len(), "every supported spec is compiled in");
    for (format, wanted) in [(ToolFormat::JsonNative, 10), (ToolFormat::TagWithJson, 4), (ToolFormat::TagWithTagged, 5)]
    {
        assert!(count(format) >= wanted, "{format:?}: {} of {wanted} models", count(format));
    }
    Ok(())
}

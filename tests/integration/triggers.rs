//! The triggers of lazy grammars.

use crate::support::grammar::{load, refuses, sentences};
use crate::support::{Failure, models, own_models, root};
use std::collections::BTreeSet;
use unjinja::{GrammarOptions, Tools, Trigger};

/// llama.cpp ends a request with an error where a trigger matches what the grammar refuses. What a trigger leaves open is white space.
#[test]
fn what_a_trigger_matches_is_accepted() -> Result<(), Failure> {
    let tools = Tools::from_json(&std::fs::read_to_string(root().join("tests/cases/tools.json"))?)?;
    let mut all = models()?;
    all.extend(own_models()?);
    all.retain(|model| model.spec.tools.format != unjinja_spec::ToolFormat::None);
    let (mut accepted, mut problems) = (0, BTreeSet::new());
    for model in &all {
        for offered in [None, Some(&tools)] {
            let grammar = unjinja_grammar::grammar(model.parser.program(), offered, &GrammarOptions::new())?;
            let rules = load(&grammar)?;
            for trigger in &grammar.triggers {
                let Trigger::Pattern(pattern) = trigger else { continue };
                let pattern = fancy_regex::Regex::new(pattern)?;
                for sentence in sentences(&rules, 5, 6) {
                    // The end of what the pattern takes from the beginning on, where the grammar begins.
                    let taken = |text: &str| -> Result<Option<usize>, Failure> {
                        let found = pattern.captures(text)?.and_then(|found| found.get(1));
                        Ok(found.filter(|group| group.start() == 0).map(|group| group.end()))
                    };
                    let Some(end) = taken(&sentence)? else { continue };
                    for at in (1..end).filter(|at| sentence.is_char_boundary(*at)) {
                        for space in [" ", "\n", "\n    ", "\n        ", "\t"] {
                            let (before, after) = (sentence[..at].trim_end(), sentence[at..].trim_start());
                            let spaced = [before, space, after].concat();
                            let matched = spaced != sentence && taken(&spaced)?.is_some_and(|end| end > before.len());
                            if matched && let Some(why) = refuses(&grammar, &rules, &spaced)? {
                                problems.insert(format!("{}: {why}\n    {pattern:?}", model.spec.template.name));
                            }
                            accepted += usize::from(matched);
                        }
                    }
                }
            }
        }
    }
    let shown: Vec<String> = problems.iter().take(20).cloned().collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), shown.join("\n"));
    assert!(accepted > 300, "{accepted} accepted");
    Ok(())
}

//! Our own templates with byte-level tokenizers that are made for them. The markers of a template are special tokens, added
//! tokens, or no tokens at all.

use std::fs;

use unjinja_analyzer::render_calls;
use unjinja_render::Template;
use unjinja_testkit::random::Random;
use unjinja_testkit::{root, sample, whole};

use crate::Failure;
use crate::byte_level::{learnt, of_bytes};
use crate::checks::Report;
use crate::feed::Specials;
use crate::turns::{Model, own};
use crate::vocabulary::Vocabulary;

/// Which of the markers of a template are tokens.
const KINDS: [fn(usize) -> Option<bool>; 4] =
    [|_| Some(true), |number| Some(number % 2 == 0), |number| (number % 2 == 0).then_some(true), |_| None];

/// Tokenizers for a template, one of bytes and one that learnt from its turns for each kind.
fn vocabularies(model: &Model) -> Result<Vec<Vocabulary>, Failure> {
    let texts: Vec<String> = model.turns.iter().map(|turn| turn.text.clone()).collect();
    let mut found = Vec::new();
    for kind in KINDS {
        let markers = model.spec.tokens.preserved.iter().chain(&model.spec.tokens.other).enumerate();
        let added: Vec<_> = markers.filter_map(|(number, marker)| Some((marker.clone(), kind(number)?))).collect();
        found.extend([of_bytes(&added)?, learnt(&texts, &added)?]);
    }
    Ok(found)
}

#[test]
fn turns_of_our_templates_by_tokens() -> Result<(), Failure> {
    let (mut report, models, mut random) = (Report::default(), own()?, Random::new(18));
    let models: Vec<Model> = sample(models, 4).collect();
    for model in &models {
        let file = &model.spec.template.file;
        let template = Template::parse(file, &fs::read_to_string(root().join("templates").join(file))?)?;
        let call = render_calls(&template, &model.spec, &[("note", r#"{"text": "Placeholder"}"#)]);
        for vocabulary in vocabularies(model)? {
            for specials in [Specials::Marked, Specials::All] {
                for turn in &model.turns {
                    report.try_turn(model, turn, &vocabulary, specials)?;
                    report.try_mixed(model, turn, &vocabulary, specials, &mut random)?;
                }
                report.try_page(model, &vocabulary, specials)?;
            }
            if let Some(call) = &call {
                report.try_value(model, call, &vocabulary)?;
            }
        }
    }
    let problems = std::mem::take(&mut report.problems);
    println!("{} templates: {report:?}", models.len());
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(12)].join("\n")
    );
    // A sample has a part of them.
    let part = if whole() { 1 } else { 5 };
    assert!(
        part * report.turns > 5_000 && part * report.split > 10_000 && part * report.across > 1_000,
        "too few turns: {report:?}"
    );
    assert!(
        part * report.counted > 5_000 && part * report.pages > 100 && part * report.exact_pages > 60,
        "too little: {report:?}"
    );
    assert!(part * report.values > 50, "{report:?}");
    Ok(())
}

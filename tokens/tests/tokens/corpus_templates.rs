//! Released templates with the tokenizers of their models.

use std::fs;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::random::Random;
use unjinja_testkit::{corpus, sample};
use unjinja_tokens::Encoder;

use crate::Failure;
use crate::checks::Report;
use crate::feed::Specials;
use crate::released::released;
use crate::turns;

#[test]
fn turns_of_released_templates_by_the_tokens_of_their_models() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (mut problems, mut random) = (Vec::new(), Random::new(18));
    for tokenizer in released()? {
        let mut report = Report::default();
        for template in &tokenizer.templates {
            let model = turns::released(&corpus, template)?;
            assert!(!model.turns.is_empty(), "{template} has no turns in the corpus");
            for specials in [Specials::Marked, Specials::All] {
                for turn in &model.turns {
                    report.try_turn(&model, turn, &tokenizer.vocabulary, specials)?;
                    report.try_mixed(&model, turn, &tokenizer.vocabulary, specials, &mut random)?;
                }
                report.try_page(&model, &tokenizer.vocabulary, specials)?;
            }
        }
        problems.append(&mut report.problems);
        println!("{}, {} templates: {report:?}", tokenizer.name, tokenizer.templates.len());
        assert!(report.turns > 0 && report.counted > 0, "{}: {report:?}", tokenizer.name);
    }
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(12)].join("\n")
    );
    Ok(())
}

#[test]
fn conversations_give_the_ids_of_the_library() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let conversations: Value = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    for tokenizer in released()? {
        let mut compared = 0;
        for template in sample(&tokenizer.templates, 2) {
            let (folder, file) = template.split_once('/').ok_or("no folder")?;
            let folder = if folder == "templates" { folder.to_owned() } else { format!("{folder}/templates") };
            let model = Model::from_file(corpus.join(folder).join(file))?;
            let encoder = Encoder::new(model, tokenizer.vocabulary.again()?);
            for conversation in conversations.as_array().into_iter().flatten() {
                // What a template refuses has no ids.
                let Ok(encoded) = encoder.encode(&Conversation::from_context(&conversation["context"])) else {
                    continue;
                };
                assert!(encoded.spelled().is_empty(), "{template}, {}: {:?}", conversation["name"], encoded.spelled());
                let expected = tokenizer.vocabulary.ids(encoded.text())?;
                assert_eq!(encoded.ids(), expected, "{template}, {}: {}", conversation["name"], encoded.text());
                compared += 1;
            }
        }
        println!("{}: {compared} conversations", tokenizer.name);
        assert!(compared > 15, "{}: {compared}", tokenizer.name);
    }
    Ok(())
}

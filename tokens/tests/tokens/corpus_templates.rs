//! Released templates with the tokenizers of their models.

use unjinja_testkit::corpus;
use unjinja_testkit::random::Random;

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

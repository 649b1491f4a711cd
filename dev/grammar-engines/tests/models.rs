//! The grammars of every model compile in both engines. Sentences of the GBNF are accepted by both and read by the parser, and
//! damaged sentences are judged alike by all three.

#[path = "../../engine/tests/support/damage.rs"]
mod damage;
mod support;

use std::time::{Duration, Instant};

use support::{All, Engines, Failure, demands_calls, differences, models};
use unjinja_gbnf::Recogniser;
use unjinja_runtime::{ChatParser, Options};
use unjinja_testkit::grammars::{requests, tools};
use unjinja_testkit::random::Random;

/// For each grammar: the number of sentences and of damaged sentences.
const OF_EACH: usize = 6;

#[test]
fn grammars_of_models_are_read_alike() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let tools = tools()?;
    let mut random = Random::new(3);
    let (mut grammars, mut sentences, mut damaged, mut read, mut longer, mut wrong) =
        (0, 0, [0, 0], 0, 0, String::new());
    let (mut making, mut biggest) = (Duration::ZERO, [0, 0, 0]);
    for parser in &models()? {
        for (what, offered, options) in requests(&tools) {
            let name = format!("{}, {what}", parser.info().name);
            let began = Instant::now();
            let Some(all) = All::make(&engines, parser, offered, &options).map_err(|why| format!("{name}: {why}"))?
            else {
                continue;
            };
            making += began.elapsed();
            grammars += 1;
            for (biggest, text) in biggest.iter_mut().zip([&all.gbnf.text, &all.tag, &all.lark]) {
                *biggest = text.len().max(*biggest);
            }
            let told = Options::new().generation_prompt(&all.gbnf.prefill);
            for sentence in all.sentences(grammars as u64, 300).take(OF_EACH) {
                wrong.extend(differences(&name, &sentence, all.accept(&sentence), true));
                sentences += 1;
                let told = match offered {
                    Some(tools) => told.clone().tools(tools),
                    None => told.clone(),
                };
                let calls = parser.parse(sentence.as_str().into(), &told).tool_calls.len();
                if demands_calls(&parser.info().name, what) {
                    read += 1;
                    if calls == 0 {
                        wrong.push_str(&format!("{name}: the parser finds no call in {sentence:?}\n"));
                    }
                }
                // Before its trigger, a lazy grammar allows everything.
                if !all.gbnf.lazy {
                    let text = damage::damaged(&sentence, &mut random);
                    let mut recogniser: Recogniser<'_> = all.rules.recogniser();
                    let expected = recogniser.push(&text).is_ok() && recogniser.complete();
                    damaged[usize::from(expected)] += 1;
                    let accepted = all.accept(&text);
                    match !expected && all.longer && differences(&name, &text, accepted.clone(), true).is_none() {
                        true => longer += 1,
                        false => wrong.extend(differences(&name, &text, accepted, expected)),
                    }
                }
            }
        }
    }
    let [refused, fine] = damaged;
    println!(
        "{grammars} grammars compile in both engines, in {making:.1?}; the biggest has {biggest:?} bytes as GBNF, tag and Lark\n\
         {sentences} sentences are accepted, {read} of them read as calls; of damaged ones all refuse {refused} and accept {fine}; \
         GBNF alone counts the characters of {longer}"
    );
    assert!(longer * 50 < refused, "{longer} of {refused}");
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(grammars > 350 && refused > 500, "{grammars} grammars, {refused} refused");
    Ok(())
}

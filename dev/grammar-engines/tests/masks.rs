//! Sentences that are drawn with the masks of one engine are accepted by the other two and read by the parser.
//!
//! Here, `dev/gbnf` replaces llama.cpp: `dev/engine` proves that both judge the same grammars alike. Where
//! `UNJINJA_SENTENCES` names a file, the sentences that GBNF accepts are written to it, and the test `sentences` of `dev/engine`
//! gives them to llama.cpp itself.

mod support;

use std::fs;

use serde_json::json;
use support::{All, Engines, Failure, demands_calls, markers, models};
use unjinja_grammar::{GrammarOptions, ToolChoice, WhiteSpace};
use unjinja_grammar_engines::Verdict;
use unjinja_runtime::{ChatParser, Options, Tools};
use unjinja_testkit::grammars::{requests, tools};
use unjinja_testkit::random::Random;

/// For each grammar: the number of sentences that each engine draws.
const OF_EACH: usize = 2;

#[test]
fn sentences_of_one_engine_are_accepted_by_the_others() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let tools = tools()?;
    let (mut drawn, mut given_up, mut read, mut fenced, mut asked, mut wrong) = ([0, 0], 0, 0, 0, 0, String::new());
    let (mut written, mut longer, mut excluded) = (String::new(), 0, 0);
    for parser in &models()? {
        let endings = markers(parser);
        // What is drawn for one model does not depend on the others.
        let (mut random, before) = (Random::new(17), drawn[0]);
        // Only grammars for the whole turn can be compared.
        for (what, offered, options) in requests(&tools) {
            let name = format!("{}, {what}", parser.info().name);
            let Some(all) = All::make(&engines, parser, offered, &options)? else { continue };
            if all.gbnf.lazy || what == "no tool" {
                continue;
            }
            for sentence in all.sentences((drawn[0] - before) as u64, 200).take(OF_EACH) {
                // Free text never runs into a marker by chance. So the sentences begin like those of the GBNF.
                let chars = sentence.chars().count();
                let begin: String = sentence.chars().take(chars * 3 / 5 + random.below(chars / 3 + 1)).collect();
                let length = random.below(20);
                let found = [
                    all.xgrammar.sample(&begin, length, &endings, |most| random.below(most)),
                    all.llguidance.sample(&begin, length, &endings, |most| random.below(most)),
                ];
                for (engine, found) in found.into_iter().enumerate() {
                    let by = ["xgrammar", "llguidance"][engine];
                    let text = match found {
                        Ok(Some(text)) => text,
                        Ok(None) => {
                            given_up += 1;
                            continue;
                        }
                        Err(why) => {
                            wrong.push_str(&format!("{name}: {by}: {why:.400} after {begin:?}\n"));
                            continue;
                        }
                    };
                    drawn[engine] += 1;
                    let mut recogniser = all.rules.recogniser();
                    let gbnf = recogniser.push(&text).is_ok() && recogniser.complete();
                    if gbnf {
                        let row = json!({"model": parser.info().name, "request": what, "drawn_by": by, "text": text});
                        written.push_str(&format!("{row}\n"));
                    }
                    let other = match engine {
                        0 => all.llguidance.read(&text)?,
                        _ => all.xgrammar.read(&text),
                    };
                    let others = other == Verdict::Complete;
                    if others && !gbnf && all.longer {
                        longer += 1;
                    } else if gbnf && engine == 1 && ends_with_marker(&text, other, &endings) {
                        excluded += 1;
                    } else if !gbnf || !others {
                        wrong.push_str(&format!("{name}: of {by}: gbnf {gbnf}, the other {other:?}: {text:?}\n"));
                    }
                    if demands_calls(&parser.info().name, what) {
                        read += 1;
                        let told = Options::new().generation_prompt(&all.gbnf.prefill);
                        let told = if let Some(tools) = offered { told.tools(tools) } else { told };
                        let is_read = !parser.parse(text.as_str().into(), &told).tool_calls.is_empty();
                        if !is_read && opens_a_fence(&text) {
                            fenced += 1;
                        } else if !is_read && begins_user_turn(&parser.info().user_start, &text) {
                            asked += 1;
                        } else if !is_read {
                            wrong.push_str(&format!("{name}: of {by}: the parser finds no call in {text:?}\n"));
                        }
                    }
                }
            }
        }
    }
    if let Some(path) = std::env::var_os("UNJINJA_SENTENCES") {
        fs::write(path, written)?;
    }
    let [xgrammar, llguidance] = drawn;
    println!(
        "{xgrammar} sentences of xgrammar and {llguidance} of llguidance are accepted by the other two, {} of {read} are read as calls, \
         {fenced} are examples in a code fence, {asked} follow the start of a user's turn; {given_up} were not completed; GBNF \
         alone counts the characters of {longer}, XGrammar alone excludes a marker of {excluded}",
        read - fenced - asked
    );
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(xgrammar > 100 && llguidance > 100, "{drawn:?}");
    assert!(fenced * 50 < read, "{fenced} of {read}");
    assert!(asked * 50 < read, "{asked} of {read}");
    assert!((longer + excluded) * 50 < xgrammar + llguidance, "{longer} and {excluded} of {drawn:?}");
    Ok(())
}

/// A quote that closes an attribute begins no string, so white space may follow it in every engine.
#[test]
fn white_space_may_follow_an_attribute() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let tool =
        json!({"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}});
    let tools = Tools::from_openai(&json!([tool]))?;
    let options = GrammarOptions::new().tool_choice(ToolChoice::Required).white_space(WhiteSpace::Free);
    let (attribute, mut count) = ("=\"now\"", 0);
    for parser in &models()? {
        let Some(all) = All::make(&engines, parser, Some(&tools), &options)? else { continue };
        let Some(text) = all.sentences(5, 200).take(20).find(|text| text.matches(attribute).count() == 1) else {
            continue;
        };
        for blank in [" ", "\n", " \n "] {
            let text = text.replace(attribute, &format!("{attribute}{blank}"));
            let mut recogniser = all.rules.recogniser();
            if !(recogniser.push(&text).is_ok() && recogniser.complete()) {
                continue;
            }
            count += 1;
            assert_eq!(all.xgrammar.read(&text), Verdict::Complete, "{}: {text:?}", parser.info().name);
            assert_eq!(all.llguidance.read(&text), Ok(Verdict::Complete), "{}: {text:?}", parser.info().name);
        }
    }
    assert!(count > 2, "{count} texts");
    Ok(())
}

/// Whether what does not fit is a marker, or what follows it. XGrammar's free text excludes a marker also where it counts only if something
/// follows.
fn ends_with_marker(text: &str, verdict: Verdict, markers: &[String]) -> bool {
    let Verdict::Refused(at) = verdict else { return false };
    let has = |text: &[u8]| markers.iter().any(|marker| text.ends_with(marker.as_bytes()));
    // The byte that does not fit belongs to the marker, or to what follows.
    let begins = markers.iter().flat_map(|next| (0..next.len()).map(|length| &next.as_bytes()[..length]));
    let fitted = &text.as_bytes()[..at];
    has(&text.as_bytes()[..=at])
        || begins.filter_map(|begin| fitted.strip_suffix(begin)).any(|before| has(before.trim_ascii_end()))
}

/// Whether a text has the start of a user's turn. A parser takes what follows it for text after the end of the turn, and the grammar of a
/// format with several messages in a turn allows any role in a header: the page about grammars names this gap.
fn begins_user_turn(start: &str, text: &str) -> bool {
    let start = start.trim();
    !start.is_empty() && text.contains(start)
}

/// Whether a Markdown code fence opens in a text. A parser takes the calls in it for examples, even where the arguments of a call hold
/// the end of the fence. A grammar knows no fences: the page about grammars names this gap.
fn opens_a_fence(text: &str) -> bool {
    text.starts_with("```") || text.contains("\n```")
}

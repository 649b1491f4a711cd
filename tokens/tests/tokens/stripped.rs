//! Outputs from which a server has removed the special tokens: the diagnostic comes where calls were lost, and nowhere else.

use std::collections::BTreeMap;

use unjinja::{ChatParser, DiagnosticKind, Message};
use unjinja_testkit::corpus;

use crate::Failure;
use crate::byte_level::of_bytes;
use crate::released::released;
use crate::turns::{self, Model, own};
use crate::vocabulary::Vocabulary;

/// What became of turns whose special tokens were removed.
#[derive(Debug, Default)]
struct Tally {
    /// Turns that lost calls.
    lost: usize,
    /// Turns that lost calls, and say so.
    told: usize,
    /// Turns that lost nothing.
    kept: usize,
    /// Turns that lost calls without a word, by template: how many, and the first.
    silent: BTreeMap<String, (usize, String)>,
    /// Turns that lost nothing and complain.
    wrong: Vec<String>,
}

impl Tally {
    fn read(&mut self, model: &Model, vocabulary: &Vocabulary) -> Result<(), Failure> {
        for turn in &model.turns {
            let whole = model.parser.parse(turn.text.as_str().into(), &turn.options);
            let tokens = vocabulary.encode(&turn.text)?;
            let kept = tokens.iter().filter(|token| token.added.as_ref().is_none_or(|added| !added.1));
            let text = String::from_utf8(kept.flat_map(|token| token.bytes.iter().copied()).collect())?;
            let mut message = model.parser.parse(text.as_str().into(), &turn.options);
            message.note_missing(model.parser.program(), &turn.options);
            let told = message.diagnostics.iter().any(|found| found.kind == DiagnosticKind::StrippedTokens);
            if has_lost(&whole, &message) {
                self.lost += 1;
                self.told += usize::from(told);
                if !told {
                    self.silent.entry(model.name.clone()).or_insert((0, format!("{text:?}: {message:?}"))).0 += 1;
                }
            } else {
                self.kept += 1;
                if told {
                    self.wrong.push(format!("{}: {text:?}: {message:?}", model.name));
                }
            }
        }
        Ok(())
    }
}

/// Whether all calls are lost. Where some are left, markers were seen.
fn has_lost(whole: &Message, message: &Message) -> bool {
    !whole.tool_calls.is_empty() && message.tool_calls.is_empty()
}

#[test]
fn turns_of_our_templates_without_their_special_tokens() -> Result<(), Failure> {
    let mut found = Tally::default();
    for model in own()? {
        let markers = model.spec.tokens.preserved.iter().chain(&model.spec.tokens.other);
        let added: Vec<_> = markers.map(|marker| (marker.clone(), true)).collect();
        found.read(&model, &of_bytes(&added)?)?;
    }
    println!("{found:#?}");
    assert!(found.wrong.is_empty(), "{:#?}", found.wrong);
    assert!(found.lost > 100 && found.told * 10 > found.lost * 9, "{found:#?}");
    Ok(())
}

/// A call that the request forbids becomes content: its tokens are there.
#[test]
fn a_forbidden_call_lacks_no_tokens() -> Result<(), Failure> {
    let mut forbidden = 0;
    for model in own()? {
        for turn in &model.turns {
            let options = turn.options.clone().callable(Vec::<String>::new());
            let mut message = model.parser.parse(turn.text.as_str().into(), &options);
            message.note_missing(model.parser.program(), &options);
            let has = |kind| message.diagnostics.iter().any(|found| found.kind == kind);
            forbidden += usize::from(has(DiagnosticKind::ForbiddenCall));
            assert!(!has(DiagnosticKind::StrippedTokens), "{}: {:?}: {message:?}", model.name, turn.text);
        }
    }
    assert!(forbidden > 100, "{forbidden}");
    Ok(())
}

#[test]
fn turns_of_released_templates_without_their_special_tokens() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut found = Tally::default();
    for tokenizer in released()? {
        for template in &tokenizer.templates {
            found.read(&turns::released(&corpus, template)?, &tokenizer.vocabulary)?;
        }
    }
    println!("{found:#?}");
    assert!(found.wrong.is_empty(), "{:#?}", found.wrong);
    assert!(found.lost == found.told, "{found:#?}");
    Ok(())
}

//! What the model writes, beside what the training templates of TRL mark, which `dev/token-oracles` writes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Model};
use unjinja_spec::tags;
use unjinja_testkit::sample;
use unjinja_tokens::{EncodeOptions, Encoder, SpelledTokens};

use crate::Failure;
use crate::byte_level::of_bytes;
use crate::rows::oracles;

/// How the masks of a template compare.
#[derive(Debug, Default)]
struct MaskCounts {
    same: usize,
    /// Masks that differ in white space at the end of a turn only.
    but_for_space: usize,
    /// TRL marks more than the model writes: what the prompt has of a turn.
    trl_has_more: usize,
    other: usize,
    example: String,
}

#[test]
fn masks_are_those_of_trl() -> Result<(), Failure> {
    let Some(oracles) = oracles("masks/masks.jsonl")? else { return Ok(()) };
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in fs::read_to_string(oracles.join("masks/masks.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let template = row["training"].as_str().unwrap_or_default().to_owned();
        rows.entry(template).or_default().push(row);
    }
    let mut total = BTreeMap::new();
    for (path, rows) in rows {
        let name = path.rsplit('/').next().unwrap_or_default();
        let source = fs::read_to_string(oracles.join("masks/templates").join(name))?;
        let model = Model::from_template(&source)?;
        let added: Vec<_> = tags(&source).into_iter().map(|tag| (tag.to_owned(), true)).collect();
        let encoder = Encoder::new(model, of_bytes(&added)?.again()?);
        let compared: &mut MaskCounts = total.entry(name.to_owned()).or_default();
        for row in sample(&rows, 5) {
            compared.compare(&encoder, row)?;
        }
    }
    for (name, compared) in &total {
        println!("{name}: {compared:?}");
    }
    let sum = |of: fn(&MaskCounts) -> usize| total.values().map(of).sum::<usize>();
    let (same, space, more, other) =
        (sum(|c| c.same), sum(|c| c.but_for_space), sum(|c| c.trl_has_more), sum(|c| c.other));
    println!("same {same}, but for white space {space}, TRL has more {more}, other {other}");
    // What TRL marks beyond ours is the line break after the end of a turn, and what the prompt writes: `<think>`, a role. In the
    // other direction only the template of Gemma differs: the token that opens a result is what ends its turn.
    let named = |(name, counts): (&String, &MaskCounts)| counts.other == 0 || name.contains("gemma");
    assert!(total.iter().all(named), "{total:#?}");
    assert!(same > 90 && 20 * other < same + space + more, "{total:#?}");
    Ok(())
}

impl MaskCounts {
    fn compare(&mut self, encoder: &Encoder, row: &Value) -> Result<(), Failure> {
        let options = EncodeOptions::new().spelled_tokens(SpelledTokens::Trusted);
        let encoded = encoder.encode_with(&Conversation::from_context(&row["context"]), &options)?;
        let text = row["text"].as_str().unwrap_or_default();
        if encoded.text() != text {
            self.other += 1;
            self.example = format!("another text: {:?}", encoded.text());
            return Ok(());
        }
        let number = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or_default();
        let theirs: Vec<Range<usize>> =
            row["mask"].as_array().into_iter().flatten().map(|range| number(&range[0])..number(&range[1])).collect();
        let mut by_byte = vec![(false, false); text.len()];
        theirs.iter().cloned().flatten().for_each(|at| by_byte[at].0 = true);
        for (range, by_model) in encoded.ranges().iter().zip(encoded.assistant_mask()) {
            range.clone().filter(|_| by_model).for_each(|at| by_byte[at].1 = true);
        }
        let differ: Vec<usize> = (0..text.len()).filter(|&at| by_byte[at].0 != by_byte[at].1).collect();
        let bytes = text.as_bytes();
        if differ.is_empty() {
            self.same += 1;
            return Ok(());
        }
        let (first, last) = (differ[0], differ[differ.len() - 1]);
        if differ.iter().all(|&at| bytes[at].is_ascii_whitespace()) {
            self.but_for_space += 1;
        } else if differ.iter().all(|&at| by_byte[at].0) {
            self.trl_has_more += 1;
        } else {
            self.other += 1;
        }
        if self.example.is_empty() || differ.iter().any(|&at| by_byte[at].1) {
            let from = first.saturating_sub(20);
            let to = (last + 20).min(text.len()).min(first + 120);
            let who = if by_byte[first].1 { "ours" } else { "TRL" };
            self.example = format!("only {who} at {} of {:?}", first - from, String::from_utf8_lossy(&bytes[from..to]));
        }
        Ok(())
    }
}

//! The ids that transformers makes of conversations, which `dev/token-oracles` writes. Ours are the same.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::{corpus, sample};
use unjinja_tokens::{EncodeOptions, Encoder, SpelledTokens};

use crate::Failure;
use crate::rows::{oracles, with_added};

/// What was compared.
#[derive(Debug, Default)]
struct IdCounts {
    /// Conversations that spell no control token.
    plain: usize,
    /// Conversations that spell some, encoded as if they were trusted.
    trusted: usize,
    /// Those of them in which something became text.
    spelled: usize,
    /// Conversations for which the class of transformers does not do what `tokenizer.json` says.
    by_class: usize,
    problems: Vec<String>,
}

#[test]
fn ids_are_those_of_transformers() -> Result<(), Failure> {
    let (Some(oracles), Some(corpus)) = (oracles("ids.jsonl")?, corpus()?) else { return Ok(()) };
    let mut rows: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for line in fs::read_to_string(oracles.join("ids.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let key = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        rows.entry((key("template"), key("tokenizer"))).or_default().push(row);
    }
    let (mut compared, mut models) = (IdCounts::default(), BTreeMap::new());
    for ((template, tokenizer), rows) in sample(rows, 3) {
        let model = match models.get(&template) {
            Some(model) => Model::clone(model),
            None => {
                let model = Model::from_template(&fs::read_to_string(corpus.join(&template))?)?;
                models.insert(template.clone(), model.clone());
                model
            }
        };
        let folder = oracles.join("tokenizers").join(&tokenizer);
        let encoder = Encoder::new(model, with_added(&folder, &rows[0]["added"])?);
        for row in &rows {
            compared.compare(&encoder, row, &format!("{template}, {tokenizer}, {}", row["conversation"]))?;
        }
    }
    let problems = std::mem::take(&mut compared.problems);
    println!("{compared:?}");
    let mut by_tokenizer: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in &problems {
        *by_tokenizer.entry(problem.split(", ").nth(1).unwrap_or_default()).or_default() += 1;
    }
    println!("{by_tokenizer:?}");
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(20)].join("\n")
    );
    assert!(compared.plain > 400 && compared.trusted > 10 && compared.spelled > 10, "{compared:?}");
    Ok(())
}

impl IdCounts {
    fn compare(&mut self, encoder: &Encoder, row: &Value, place: &str) -> Result<(), Failure> {
        let conversation = Conversation::from_context(&row["context"]);
        let ids =
            |row: &Value| -> Vec<u64> { row.as_array().into_iter().flatten().filter_map(Value::as_u64).collect() };
        let (mut expected, by_file) = (ids(&row["ids"]), ids(&row["file_ids"]));
        let options = EncodeOptions::new().spelled_tokens(SpelledTokens::Trusted);
        let encoded = encoder.encode_with(&conversation, &options)?;
        if encoded.text() != row["text"].as_str().unwrap_or_default() {
            self.problems.push(format!("{place}: another text: {:?}", encoded.text()));
            return Ok(());
        }
        // Some classes of transformers build the tokenizer anew, and do not do what its file says.
        if encoded.ids().iter().map(|&id| u64::from(id)).eq(by_file.iter().copied()) {
            self.by_class += 1;
            expected = by_file;
        }
        let mut check = |encoded: &unjinja_tokens::Encoded, how: &str| {
            let found: Vec<u64> = encoded.ids().iter().map(|&id| id.into()).collect();
            if found == expected {
                return;
            }
            let at = found.iter().zip(&expected).position(|(found, expected)| found != expected).unwrap_or_default();
            let from = encoded.ranges().get(at).map_or(0, |range| range.start);
            let rest: String = encoded.text()[from..].chars().take(40).collect();
            let tail = |ids: &[u64]| ids.iter().skip(at).take(4).copied().collect::<Vec<_>>();
            self.problems.push(format!(
                "{place}, {how}: {:?}, expected {:?} at {rest:?}",
                tail(&found),
                tail(&expected)
            ));
        };
        check(&encoded, "trusted");
        let encoded = encoder.encode(&conversation)?;
        if encoded.spelled().is_empty() {
            check(&encoded, "plain");
            self.plain += 1;
        } else {
            self.spelled += 1;
        }
        self.trusted += usize::from(row["plain"] == false);
        Ok(())
    }
}

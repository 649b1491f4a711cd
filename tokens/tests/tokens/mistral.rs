//! Ids and masks of conversations beside those of mistral-common, which `dev/token-oracles/mistral.py` writes. The chat templates are
//! those that mistral-common makes for its tokenizers.
//!
//! Both prompts are compared from one control token to the next: what both write must have the same ids and the same mask.

use std::collections::BTreeMap;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Model};
use unjinja_tokens::{Encoder, Vocabulary};

use crate::Failure;
use crate::rows::{self, OraclePart, Tally, flags, flags_of_ids, oracles, other_flags, parts, text};

#[test]
fn ids_and_masks_are_those_of_mistral_common() -> Result<(), Failure> {
    let Some(oracles) = oracles("mistral/mistral.jsonl")? else { return Ok(()) };
    let folder = oracles.join("mistral");
    let (mut encoders, mut tally) = (BTreeMap::new(), Tally::default());
    for row in rows::rows(&folder.join("mistral.jsonl"))? {
        let name = text(&row, "tokenizer").to_owned();
        let place = format!("{name}, conversation {}", row["conversation"]);
        if !encoders.contains_key(&name) {
            let model = Model::from_file(folder.join(format!("{name}.jinja")))?;
            let encoder = Encoder::new(model, Vocabulary::from_folder(folder.join(&name))?);
            encoders.insert(name.clone(), encoder);
        }
        let Some(encoder) = encoders.get(&name) else { continue };
        let encoded = encoder.encode(&Conversation::from_context(&row["context"]))?;
        let same_text = encoded.text() == text(&row, "template_text");
        if !same_text || encoded.ids() != rows::ids(&row["template_ids"]) || !encoded.spelled().is_empty() {
            tally.unexplained(format!("{place}: not what transformers gives: {:?}", encoded.text()));
            continue;
        }
        let mask = encoded.assistant_mask();
        let template_mask = flags_of_ids(&encoded, &flags(&row["template_mask"], encoded.text().len()));
        // v2 takes the calls of the past out of the conversation, but not the blank before the answer that followed them.
        let only_blanks = (0..mask.len()).filter(|&at| mask[at] != template_mask[at]).all(|at| {
            encoded.ranges().get(at).and_then(|range| encoded.text().get(range.clone())).is_some_and(|text| text == " ")
        });
        let has_calls = row["context"]["messages"].to_string().contains("tool_calls");
        let is_shorter = template_mask != mask && only_blanks && has_calls && name.starts_with("v2");
        if is_shorter {
            tally.count("masks, without the blank before an answer whose calls the template leaves out", || {
                place.clone()
            });
        } else if template_mask != mask {
            let differ = other_flags(&encoded, &template_mask);
            tally
                .unexplained(format!("{place}: another mask of the template's text: {differ} in {:?}", encoded.text()));
        }
        let ids = rows::ids(&row["ids"]);
        let their_mask = flags(&row["mask_of_ids"], ids.len());
        let whole = row["agrees"] == true;
        if whole && (encoded.ids(), &mask) != (&ids[..], &their_mask) && !is_shorter {
            tally.unexplained(format!("{place}: the ids or the mask differ: {:?}", encoded.text()));
        }
        let kind = if whole { "conversations, the same" } else { "conversations, other ids" };
        tally.count(kind, || place.clone());
        let vocabulary = encoder.vocabulary();
        let ours = parts(vocabulary, encoded.ids(), &mask, &|_| true);
        let theirs = parts(vocabulary, &ids, &their_mask, &|_| true);
        if ours.len() != theirs.len() {
            tally.unexplained(format!("{place}: {} parts, not {}", ours.len(), theirs.len()));
            continue;
        }
        for (our, their) in ours.iter().zip(&theirs) {
            one(our, their, &mut tally, &place);
        }
    }
    tally.check("mistral")
}

fn one(our: &OraclePart, their: &OraclePart, tally: &mut Tally, place: &str) {
    let all = |part: &OraclePart| (part.mask.iter().all(|flag| *flag), part.mask.iter().any(|flag| *flag));
    if all(our) != all(their) {
        tally.unexplained(format!("{place}: the masks of {:?} differ", our.text));
    }
    let example = || format!("{:?}, not {:?}", our.text, their.text);
    if our.ids == their.ids {
        tally.count("parts, the same", || our.text.clone());
    } else if our.text == their.text {
        tally.count("parts, cut in another way by the converted tokenizer", example);
    } else if results(&our.text).is_some_and(|ours| Some(ours) == results(&their.text)) {
        tally.count("parts, another text: a result that is JSON is a string for the template", example);
    } else {
        tally.unexplained(format!("{place}: {:?}, not {:?}", our.text, their.text));
    }
}

/// Results as JSON. Those that are strings with JSON are that JSON.
fn results(text: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(text.trim().strip_prefix("[TOOL_RESULTS]")?).ok()?;
    let items = match &mut value {
        Value::Array(items) => items.iter_mut().collect(),
        item => vec![item],
    };
    for item in items {
        if let Some(read) = item["content"].as_str().and_then(|text| serde_json::from_str(text).ok()) {
            item["content"] = read;
        }
    }
    Some(value)
}

//! Ids and masks of conversations beside those of openai-harmony, which `dev/token-oracles/harmony.py` writes.
//!
//! The template of gpt-oss does not write all that harmony writes. So the prompts are compared message by message: what both write must
//! have the same ids and the same mask, and what one of them writes is named.

use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::corpus;
use unjinja_tokens::{Encoder, Vocabulary};

use crate::Failure;
use crate::rows::{self, OraclePart, Tally, common_places, flags, flags_of_ids, oracles, other_flags, parts, text};

/// What the prompt writes of a turn.
const HEADER: &str = "<|start|>assistant";

#[test]
fn ids_and_masks_are_those_of_harmony() -> Result<(), Failure> {
    let (Some(oracles), Some(corpus)) = (oracles("harmony/harmony.jsonl")?, corpus()?) else { return Ok(()) };
    let model = Model::from_file(corpus.join("templates/openai-gpt-oss-120b.jinja"))?;
    let encoder = Encoder::new(model, Vocabulary::from_folder(oracles.join("tokenizers/gptoss"))?);
    let mut tally = Tally::default();
    for row in rows::rows(&oracles.join("harmony/harmony.jsonl"))? {
        let place = format!("conversation {}", row["conversation"]);
        let encoded = encoder.encode(&Conversation::from_context(&row["context"]))?;
        let same_text = encoded.text() == text(&row, "template_text");
        if !same_text || encoded.ids() != rows::ids(&row["template_ids"]) || !encoded.spelled().is_empty() {
            tally.unexplained(format!("{place}: not what transformers gives: {:?}", encoded.text()));
            continue;
        }
        let template_mask = flags_of_ids(&encoded, &flags(&row["template_mask"], encoded.text().len()));
        if template_mask != encoded.assistant_mask() {
            let differ = other_flags(&encoded, &template_mask);
            tally
                .unexplained(format!("{place}: another mask of the template's text: {differ} in {:?}", encoded.text()));
        }
        let ids = rows::ids(&row["ids"]);
        let mask = mask_of_ids(encoder.vocabulary(), &ids, &flags(&row["mask"], text(&row, "text").len()));
        let whole = row["template_agrees"] == true;
        if whole && (encoded.ids(), encoded.assistant_mask()) != (&ids[..], mask.clone()) {
            tally.unexplained(format!("{place}: the ids or the mask differ: {:?}", encoded.text()));
        }
        let kind = if whole { "conversations, the same" } else { "conversations, another text" };
        tally.count(kind, || place.clone());
        let is_head = |token: &str| token == "<|start|>";
        let theirs = parts(encoder.vocabulary(), &ids, &mask, &is_head);
        let ours = parts(encoder.vocabulary(), encoded.ids(), &encoded.assistant_mask(), &is_head);
        compare(&ours, &theirs, &mut tally, &place);
    }
    tally.check("harmony")
}

/// For each id whether its first byte has the flag.
fn mask_of_ids(vocabulary: &Vocabulary, ids: &[u32], of_bytes: &[bool]) -> Vec<bool> {
    let mut at = 0;
    let flag = |id: &u32| {
        let flag = of_bytes.get(at).copied().unwrap_or_default();
        at += vocabulary.bytes(*id).map_or(0, <[u8]>::len);
        flag
    };
    ids.iter().map(flag).collect()
}

/// A message in the form that both write.
fn common(part: &OraclePart) -> String {
    let text = part.text.replace(" <|constrain|>json", " json");
    match text.strip_prefix("<|start|>developer").and_then(|text| text.strip_suffix("<|end|>")) {
        Some(text) => text.trim_end().to_owned(),
        None => text.replace("assistant<|channel|>commentary<|message|>", "assistant<|channel|>analysis<|message|>"),
    }
}

fn compare(ours: &[OraclePart], theirs: &[OraclePart], tally: &mut Tally, place: &str) {
    let pairs =
        common_places(&ours.iter().map(common).collect::<Vec<_>>(), &theirs.iter().map(common).collect::<Vec<_>>());
    let (mut our_next, mut their_next) = (0, 0);
    for (our, their) in pairs.into_iter().chain([(ours.len(), theirs.len())]) {
        let missing = theirs.get(their_next..their).unwrap_or_default();
        let added = ours.get(our_next..our).unwrap_or_default();
        missing.iter().for_each(|part| alone(part, "the template", tally, place));
        added.iter().for_each(|part| alone(part, "harmony", tally, place));
        if let (Some(our), Some(their)) = (ours.get(our), theirs.get(their)) {
            one(our, their, missing.len() + added.len() > 0, tally, place);
        }
        (our_next, their_next) = (our + 1, their + 1);
    }
}

/// A message that one of them leaves out.
fn alone(part: &OraclePart, without: &str, tally: &mut Tally, place: &str) {
    let text = &part.text;
    if text.starts_with("<|start|>assistant<|channel|>analysis") {
        tally.count(&format!("messages, left out by {without}: reasoning"), || text.clone());
    } else if text.starts_with("<|start|>assistant<|channel|>commentary<|message|>") {
        tally.count(&format!("messages, left out by {without}: a preamble"), || text.clone());
    } else {
        tally.unexplained(format!("{place}: left out by {without}: {text:?}"));
    }
}

/// A message that both write.
fn one(our: &OraclePart, their: &OraclePart, left_out: bool, tally: &mut Tally, place: &str) {
    let category = if our.text == their.text {
        "messages, the same"
    } else if their.text.contains("<|constrain|>") {
        "messages, another text: a call without <|constrain|>"
    } else if their.text.starts_with("<|start|>developer") {
        "messages, another text: instructions with line breaks after them"
    } else {
        "messages, another text: a preamble in the channel analysis"
    };
    if our.text == their.text && our.ids != their.ids {
        tally.unexplained(format!("{place}: the ids of {:?} differ", our.text));
    }
    // The header is the prompt's in the first message of a turn, which may be another one.
    let body = |part: &OraclePart| part.text.strip_prefix(HEADER).map_or(0, |_| 2);
    let masks = (our.mask.get(body(our)..), their.mask.get(body(their)..));
    let all = |mask: Option<&[bool]>| mask.map(|mask| (mask.iter().all(|flag| *flag), mask.iter().any(|flag| *flag)));
    if all(masks.0) != all(masks.1) {
        tally.unexplained(format!("{place}: the masks of {:?} differ", our.text));
    }
    let heads = (our.mask.get(..body(our)), their.mask.get(..body(their)));
    if heads != (heads.1, heads.1) {
        if left_out && (heads.0 == Some(&[false, false]) || heads.1 == Some(&[false, false])) {
            tally.count("masks, another header: another message comes first in the turn", || our.text.clone());
        } else {
            tally.unexplained(format!("{place}: the masks of the header of {:?} differ", our.text));
        }
    }
    tally.count(category, || our.text.clone());
}

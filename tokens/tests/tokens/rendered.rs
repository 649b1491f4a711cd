//! Which tokens the renderers of the package `renderers` take for written by the model and for text of a message, and how they continue a
//! conversation, beside our masks, labels and bridges. `dev/token-oracles/renderers_fixtures.py` writes what they say.
//!
//! Some renderers write another text than the template. The tokens that both have in common are compared there.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::corpus;
use unjinja_tokens::{Bridge, Encoded, Encoder, TokenPart, TokensError};

use crate::Failure;
use crate::rows::{self, Tally, common_places, flags, oracles, text, with_added};

#[test]
fn masks_labels_and_bridges_are_those_of_renderers() -> Result<(), Failure> {
    let (Some(oracles), Some(corpus)) = (oracles("renderers/rendered.jsonl")?, corpus()?) else { return Ok(()) };
    let (mut tally, mut encoders) = (Tally::default(), BTreeMap::new());
    for row in rows::rows(&oracles.join("renderers/rendered.jsonl"))? {
        let place = format!("{}, {}", text(&row, "renderer"), text(&row, "conversation"));
        if let Some(error) = row["error"].as_str() {
            tally.count("conversations, refused by the renderer", || format!("{place}: {error}"));
            continue;
        }
        let key = format!("{} {} {}", row["template"], row["tokenizer"], row["added"]);
        if !encoders.contains_key(&key) {
            let vocabulary = with_added(&oracles.join("tokenizers").join(text(&row, "tokenizer")), &row["added"])?;
            let source = fs::read_to_string(corpus.join(text(&row, "template")))?;
            encoders.insert(key.clone(), Encoder::new(Model::from_template(&source)?, vocabulary));
        }
        let Some(encoder) = encoders.get(&key) else { continue };
        let conversation = Conversation::from_context(&row["context"]);
        let encoded = match encoder.encode(&conversation) {
            Ok(encoded) => encoded,
            Err(error) => {
                tally.unexplained(format!("{place}: {error}"));
                continue;
            }
        };
        let same = encoded.ids() == rows::ids(&row["ids"]);
        let alone =
            encoder.vocabulary().tokenizer().encode(encoded.text(), false).map_err(|error| error.to_string())?;
        match (encoded.text() == text(&row, "text"), same, row["template_agrees"] == true) {
            (true, true, _) => tally.count("conversations, the same ids", || place.clone()),
            (true, false, _) if alone.get_ids() == encoded.ids() => {
                tally.count("conversations, the renderer cuts the text in another way than the tokenizer", || {
                    place.clone()
                });
            }
            (false, false, false) => {
                tally.count("conversations, the renderer writes another text than the template", || place.clone())
            }
            _ => tally.unexplained(format!("{place}: {:?}, not {:?}", encoded.text(), text(&row, "text"))),
        }
        compare(&encoded, &row, &mut tally, &place);
        bridge(encoder, &conversation, &row, &mut tally, &place)?;
    }
    tally.check("rendered")
}

/// A token that both have.
struct Both<'e> {
    text: &'e str,
    ours: bool,
    theirs: bool,
}

fn compare(encoded: &Encoded, row: &Value, tally: &mut Tally, place: &str) {
    let ids = rows::ids(&row["ids"]);
    let (sampled, content) = (flags(&row["sampled"], ids.len()), flags(&row["content"], ids.len()));
    let pairs = common_places(encoded.ids(), &ids);
    let text_of =
        |at: usize| encoded.ranges().get(at).and_then(|range| encoded.text().get(range.clone())).unwrap_or_default();
    let mask = encoded.assistant_mask();
    let both =
        |(ours, theirs): &(usize, usize)| Both { text: text_of(*ours), ours: mask[*ours], theirs: sampled[*theirs] };
    let masks: Vec<Both<'_>> = pairs.iter().map(both).collect();
    differences(&masks, "mask", row, tally, place);
    let messages = &row["context"]["messages"];
    let of_others = |(_, theirs): &&(usize, usize)| {
        let message = row["message_of_token"][*theirs].as_u64().and_then(|at| usize::try_from(at).ok());
        message.is_some_and(|at| messages[at]["role"] != "assistant")
    };
    let both = |(ours, theirs): &(usize, usize)| {
        let part = encoded.labels()[*ours].part;
        let ours_is_text = matches!(part, TokenPart::Content | TokenPart::ToolResult);
        Both { text: text_of(*ours), ours: ours_is_text, theirs: content[*theirs] }
    };
    let labels: Vec<Both<'_>> = pairs.iter().filter(of_others).map(both).collect();
    differences(&labels, "label", row, tally, place);
}

fn differences(both: &[Both<'_>], what: &str, row: &Value, tally: &mut Tally, place: &str) {
    let mut runs: Vec<(bool, String, usize)> = Vec::new();
    for (at, each) in both.iter().enumerate().filter(|(_, each)| each.ours != each.theirs) {
        match runs.last_mut() {
            Some((ours, text, end)) if *ours == each.ours && *end == at => {
                text.push_str(each.text);
                *end = at + 1;
            }
            _ => runs.push((each.ours, each.text.to_owned(), at + 1)),
        }
    }
    if runs.is_empty() {
        tally.count(&format!("{what}s, the same"), || place.to_owned());
    }
    for (ours, text, end) in runs {
        let around: String =
            both[end.saturating_sub(8)..(end + 4).min(both.len())].iter().map(|each| each.text).collect();
        match run_reason(what, self::text(row, "renderer"), ours, &text) {
            Some(reason) => tally.count(&format!("{what}s, {reason}"), || format!("{text:?}: {place} in {around:?}")),
            None => {
                let who = if ours { "only ours" } else { "only theirs" };
                tally.unexplained(format!("{what}: {who} {text:?}: {place} in {around:?}"));
            }
        }
    }
}

/// Why tokens are marked by one of them alone.
fn run_reason(what: &str, renderer: &str, ours: bool, run: &str) -> Option<&'static str> {
    Some(match (what, renderer, ours) {
        ("mask", "gpt-oss", true) if run.contains("<|channel|>") => {
            "renderers take the header of a channel for the prompt's"
        }
        ("mask", "glm-4.5", true) if run == "\n" => "renderers take the line break after the prompt for the prompt's",
        ("mask", "glm-4.5", false) if matches!(run, "<|user|>" | "<|observation|>") => {
            "renderers count the token that opens the next message, which ends a turn of GLM"
        }
        ("mask", "minimax-m2", true) if run == "\n\n" => {
            "one token has a line break of the header and one of the model"
        }
        ("mask", _, false) if run.starts_with("<think>") => "the prompt of the template writes <think>",
        ("label", "kimi-k2", true) if run == "find_place" => "the name of the function is part of a result for us",
        ("label", "gemma4", false) if run.starts_with("|\"|>") || run.starts_with("<|\"|>") => {
            "renderers count the quotes around a result"
        }
        ("label", "minimax-m2", false) if run.starts_with('>') => "a token that begins with markup is markup for us",
        ("label", "gpt-oss", false) if "# Instructions\n\n".contains(run.trim()) => {
            "renderers count the heading of instructions"
        }
        _ => return None,
    })
}

/// The prompt that follows the last turn.
fn bridge(
    encoder: &Encoder,
    conversation: &Conversation,
    row: &Value,
    tally: &mut Tally,
    place: &str,
) -> Result<(), Failure> {
    let Some(bridge) = row["bridge"].as_object() else { return Ok(()) };
    let ids = rows::ids(&row["ids"]);
    let Some(last) = row["sampled"].as_array().and_then(|ranges| ranges.last()) else { return Ok(()) };
    let at = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or_default();
    let (start, end) = (at(&last[0]), at(&last[1]));
    let (Some(prompt), Some(sampled)) = (ids.get(..start), ids.get(start..end)) else { return Ok(()) };
    // Their messages are in no form of a template.
    let messages = conversation.messages();
    let before = messages.get(..messages.len().saturating_sub(1)).unwrap_or_default();
    let mut before = Conversation::new(before.to_vec());
    for (name, value) in row["context"].as_object().into_iter().flatten() {
        if !value.is_null() && !matches!(name.as_str(), "messages" | "add_generation_prompt") {
            before = before.variable(name, value.clone());
        }
    }
    // The renderer may think where the template's default is not to.
    let variants = [before.clone(), before.clone().thinking(true), before.clone().thinking(false)];
    let is_its = |variant: &&Conversation| encoder.encode(variant).is_ok_and(|encoded| encoded.ids() == prompt);
    let before = variants.iter().find(is_its).cloned().unwrap_or(before);
    let same_prompt = encoder.encode(&before).is_ok_and(|encoded| encoded.ids() == prompt);
    let ours = encoder.bridge(&before, sampled, &bridge["messages"]);
    let theirs = rows::ids(&bridge["ids"]);
    let whole = |ids: &[u32]| [prompt, sampled, ids].concat();
    let reason = match (&ours, theirs.is_empty(), text(row, "renderer")) {
        (Ok(ours), false, _) if whole(&ours.ids) == theirs => "the same",
        (Err(TokensError::Rewritten(_)), true, _) => "refused by both",
        (Ok(_), true, "glm-4.5") => "renderers refuse what might be rewritten, and is not",
        (Ok(_), false, "gemma4" | "deepseek-v3") if !same_prompt || is_longer(&ours, &theirs, &whole) => {
            "the template's prompt has reasoning or an empty block, that of the renderer has not"
        }
        (Err(TokensError::Rewritten(_)), false, "gemma4" | "deepseek-v3") => {
            "the template writes a block of reasoning into the prompt, or takes it out of the history"
        }
        _ => "?",
    };
    let example = || {
        let ours = ours.as_ref().map(|ours| bytes(encoder, &whole(&ours.ids)[start..])).map_err(ToString::to_string);
        format!("{place}: {ours:?}, theirs {:?}", theirs.get(start..).map(|ids| bytes(encoder, ids)))
    };
    if reason == "?" {
        tally.unexplained(example());
    } else {
        tally.count(&format!("bridges, {reason}"), example);
    }
    Ok(())
}

/// Whether ours is theirs and a block that the template's prompt has at its end.
fn is_longer(ours: &Result<Bridge, TokensError>, theirs: &[u32], whole: &dyn Fn(&[u32]) -> Vec<u32>) -> bool {
    ours.as_ref().is_ok_and(|ours| whole(&ours.ids).starts_with(theirs))
}

fn bytes(encoder: &Encoder, ids: &[u32]) -> String {
    let bytes: Vec<u8> =
        ids.iter().flat_map(|id| encoder.vocabulary().bytes(*id).unwrap_or_default().to_vec()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

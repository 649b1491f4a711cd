//! Who wrote a control token where labels cannot tell: the prompt is rendered again with other letters in the conversation. Nothing here
//! knows ids.

use std::collections::BTreeSet;

use serde_json::Value;
use unjinja_dynamic::authors::Spelled;
use unjinja_dynamic::{Conversation, LabelledPrompt, Model};

/// The letter that takes the place of each byte of a token. No token consists of it.
const LETTER: char = 'x';

/// The first of these tokens for which it cannot be told that the conversation wrote it. The conversation wrote a token if the prompt has
/// other letters where the conversation has them, and is the same text elsewhere.
pub(crate) fn not_by_conversation<'t>(
    model: &Model,
    prompt: &LabelledPrompt,
    tokens: &'t [Spelled],
) -> Option<&'t Spelled> {
    let first = tokens.first()?;
    let mut texts: Vec<&str> =
        tokens.iter().map(|found| found.token.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    // Tags that were written into a message when it was handed over are not the conversation's.
    let tags = prompt.written.iter().flat_map(|written| {
        let content = &prompt.context["messages"][written.message]["content"];
        let content = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
        written.ranges.iter().filter_map(|range| content.get(range.clone()))
    });
    if let Some(tag) = tags.into_iter().find(|tag| texts.iter().any(|text| tag.contains(text) || text.contains(tag))) {
        return tokens.iter().find(|found| tag.contains(found.token.as_str())).or(Some(first));
    }
    let mut context = prompt.context.clone();
    for (name, value) in context.as_object_mut().into_iter().flatten() {
        if !name.ends_with("_token") {
            replace(value, &texts);
        }
    }
    let Ok(again) = model.render(&Conversation::from_context(&context)) else { return Some(first) };
    let same = |(old, new): (u8, u8)| old == new || char::from(new) == LETTER;
    if again.len() != prompt.text.len() || !prompt.text.bytes().zip(again.bytes()).all(same) {
        return Some(first);
    }
    let replaced = |found: &Spelled| again.get(found.range.clone()) == Some(&letters(&found.token));
    tokens.iter().find(|found| !replaced(found))
}

/// Other letters in place of each of these texts, in values and in keys.
fn replace(value: &mut Value, texts: &[&str]) {
    match value {
        Value::String(text) => *text = replaced(text, texts),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, texts)),
        Value::Object(fields) => {
            for (key, mut field) in std::mem::take(fields) {
                replace(&mut field, texts);
                fields.insert(replaced(&key, texts), field);
            }
        }
        _ => {}
    }
}

fn replaced(text: &str, texts: &[&str]) -> String {
    texts.iter().fold(text.to_owned(), |text, token| text.replace(token, &letters(token)))
}

fn letters(token: &str) -> String {
    std::iter::repeat_n(LETTER, token.len()).collect()
}

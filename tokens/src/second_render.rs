//! Who wrote a control token where labels alone do not tell: the prompt is rendered again with other letters in the conversation. Nothing
//! here knows ids.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use unjinja_dynamic::authors::Spelled;
use unjinja_dynamic::{Conversation, LabelledPrompt, Model};
use unjinja_render::{Encoding, Origin};

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
    let Some(again) = with_other_letters(model, prompt, &texts_of(tokens)) else { return Some(first) };
    tokens.iter().find(|found| !is_replaced(&again, found))
}

/// Of the tokens that labels give to the template, those that the conversation spells too.
pub(crate) fn spelled_too(prompt: &LabelledPrompt, mut tokens: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let text = |range: &Range<usize>| prompt.text.get(range.clone()).unwrap_or_default();
    let texts: BTreeSet<&str> = tokens.iter().map(text).collect();
    let spelled: BTreeSet<&str> = texts.into_iter().filter(|text| spells(prompt, text)).collect();
    tokens.retain(|range| spelled.contains(text(range)));
    tokens
}

/// Of these tokens, which labels give to the template and the conversation spells too, those that it writes for a text of the
/// conversation which spells them: such as `content.replace('</think>', '<kept>').replace('<kept>', '</think>')`. The error is a token
/// for which that cannot be told.
pub(crate) fn echoed<'t>(
    model: &Model,
    prompt: &LabelledPrompt,
    tokens: &'t [Spelled],
) -> Result<Vec<&'t Spelled>, &'t Spelled> {
    if tokens.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(again) = with_other_letters(model, prompt, &texts_of(tokens)) {
        return Ok(tokens.iter().filter(|found| is_replaced(&again, found)).collect());
    }
    // With other letters the prompt is another one. What the template put into a text of the conversation may then be an answer to it.
    let put_in = |found: &&Spelled| {
        let changed = prompt.labels.spans().iter().filter(|span| match &span.origin {
            Origin::Field(field) => field.encodings.contains(&Encoding::Replace),
            Origin::Template => false,
        });
        changed.into_iter().any(|span| span.range.end == found.range.start || span.range.start == found.range.end)
    };
    tokens.iter().find(put_in).map_or(Ok(Vec::new()), Err)
}

/// The texts of tokens, each once, long ones first.
fn texts_of<'t>(tokens: impl IntoIterator<Item = &'t Spelled>) -> Vec<&'t str> {
    let texts: BTreeSet<&str> = tokens.into_iter().map(|found| found.token.as_str()).collect();
    let mut texts: Vec<&str> = texts.into_iter().collect();
    texts.sort_by_key(|text| Reverse(text.len()));
    texts
}

/// Whether the conversation has a text, in a value or a key.
fn spells(prompt: &LabelledPrompt, text: &str) -> bool {
    fn has(value: &Value, text: &str) -> bool {
        match value {
            Value::String(value) => value.contains(text),
            Value::Array(items) => items.iter().any(|item| has(item, text)),
            Value::Object(fields) => fields.iter().any(|(key, field)| key.contains(text) || has(field, text)),
            _ => false,
        }
    }
    let given = prompt.context.as_object().into_iter().flatten().filter(|(name, _)| !name.ends_with("_token"));
    // Without tags that were written into messages, if there are any: that needs a copy.
    given.into_iter().any(|(_, value)| has(value, text))
        && (prompt.written.is_empty() || other_letters(prompt, &[text]) != prompt.context)
}

/// The prompt of a conversation that has other letters in place of these texts, if it differs in letters alone.
fn with_other_letters(model: &Model, prompt: &LabelledPrompt, texts: &[&str]) -> Option<String> {
    let context = other_letters(prompt, texts);
    let again = model.render(&Conversation::from_context(&context).clock(prompt.clock)).ok()?;
    let same = |(old, new): (u8, u8)| old == new || char::from(new) == LETTER;
    (again.len() == prompt.text.len() && prompt.text.bytes().zip(again.bytes()).all(same)).then_some(again)
}

fn is_replaced(again: &str, found: &Spelled) -> bool {
    again.get(found.range.clone()) == Some(&letters(&found.token))
}

/// The conversation with other letters in place of these texts. The tokenizer's special tokens are not the conversation's, and neither are
/// tags that were written into a message when it was handed over.
fn other_letters(prompt: &LabelledPrompt, texts: &[&str]) -> Value {
    let mut context = prompt.context.clone();
    for (name, value) in context.as_object_mut().into_iter().flatten() {
        if !name.ends_with("_token") {
            replace(value, texts);
        }
    }
    for written in &prompt.written {
        let content = &prompt.context["messages"][written.message]["content"];
        let (content, pointer) = match content.as_str() {
            Some(content) => (content, ""),
            None => (content[0]["text"].as_str().unwrap_or_default(), "/0/text"),
        };
        let mut changed = replaced(content, texts);
        // Other letters are as many bytes.
        for tag in &written.ranges {
            if let Some(text) = content.get(tag.clone()) {
                changed.replace_range(tag.clone(), text);
            }
        }
        if let Some(text) = context.pointer_mut(&format!("/messages/{}/content{pointer}", written.message)) {
            *text = changed.into();
        }
    }
    context
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

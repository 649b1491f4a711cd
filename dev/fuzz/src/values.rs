//! Any text as the value of an argument: truncated JSON, and Python literals.

use serde::de::IgnoredAny;
use unjinja::{close_json, python_to_json};

/// Whether a text is JSON, however deep it nests and however large its numbers are.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Checks the property for this text.
///
/// # Errors
/// The property that does not hold.
pub fn check(text: &str) -> Result<(), String> {
    for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
        let begun = &text[..end];
        let closed = close_json(begun);
        if !is_json(&closed) {
            return Err(format!("closed, {begun:?} is no JSON: {closed:?}"));
        }
        if is_json(begun) && value(begun).is_some() && value(begun) != value(&closed) {
            return Err(format!("closed, {begun:?} is another value: {closed:?}"));
        }
    }
    if let Some((json, length)) = python_to_json(text) {
        if !text.is_char_boundary(length) {
            return Err(format!("a literal of {length} bytes ends inside a character: {text:?}"));
        }
        if !is_json(&json) {
            return Err(format!("{:?} became no JSON: {json:?}", &text[..length]));
        }
        let again = python_to_json(&text[..length]);
        if again != Some((json, length)) {
            return Err(format!("{:?} alone is another value: {again:?}", &text[..length]));
        }
    }
    Ok(())
}

fn value(json: &str) -> Option<serde_json::Value> {
    serde_json::from_str(json).ok()
}

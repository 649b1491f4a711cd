//! Finds the tokens of a text among those of a whole output, of which markup, reasoning and calls are tokens too.

use std::collections::VecDeque;

use serde_json::Value;

/// The tokens that no text had yet.
#[derive(Debug, Default)]
pub(super) struct TokenQueue {
    tokens: VecDeque<Value>,
    /// What they add up to, and how much of it belongs to a text before.
    text: String,
    used: usize,
    /// What the model wrote last was a call.
    in_call: bool,
}

impl TokenQueue {
    /// The model wrote these tokens, each an object with its text as `token`. What follows says what they are.
    pub(super) fn push(&mut self, tokens: Vec<Value>) {
        if self.in_call {
            *self = Self { in_call: true, ..Self::default() };
        }
        self.text.extend(tokens.iter().map(text_of));
        self.tokens.extend(tokens);
    }

    /// The last tokens are of a call.
    pub(super) fn call(&mut self) {
        self.in_call = true;
    }

    /// The tokens of a text, in order. A token that was part of a text before is not given again; none are if the text is not found.
    pub(super) fn take(&mut self, text: &str) -> Vec<Value> {
        self.in_call = false;
        let Some(begin) = self.find(text) else { return Vec::new() };
        let end = begin + text.len();
        let (mut at, mut taken) = (0, Vec::new());
        while let Some(token) = self.tokens.front() {
            let next = at + text_of(token).len();
            if next > end {
                break;
            }
            let is_new = next > begin && at >= self.used;
            let token = self.tokens.pop_front();
            taken.extend(token.filter(|_| is_new));
            at = next;
        }
        // The text ends within a token, which is this text's.
        if at < end
            && let Some(token) = self.tokens.front().filter(|_| at >= self.used)
        {
            taken.push(token.clone());
        }
        self.text.drain(..at);
        self.used = end - at;
        taken
    }

    /// Where the text is, best at the beginning of a token: markup is often one.
    fn find(&self, text: &str) -> Option<usize> {
        let mut at = 0;
        for token in &self.tokens {
            if at >= self.used && self.text[at..].starts_with(text) {
                return Some(at);
            }
            at += text_of(token).len();
        }
        self.text[self.used..].find(text).map(|found| self.used + found)
    }
}

fn text_of(token: &Value) -> &str {
    token["token"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pushed(queue: &mut TokenQueue, tokens: &[&str]) {
        queue.push(tokens.iter().map(|token| json!({"token": token})).collect());
    }

    fn taken(queue: &mut TokenQueue, text: &str) -> String {
        queue.take(text).iter().map(text_of).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_text_gets_its_tokens_and_no_markup() {
        let mut queue = TokenQueue::default();
        pushed(&mut queue, &["<think>", "\n", "I ", "think", "</think>", "\n\n", "th", "ink", " é"]);
        assert_eq!(taken(&mut queue, "I think"), "I |think");
        assert_eq!(taken(&mut queue, "think"), "th|ink");
        // White space at the beginning of a token was markup.
        assert_eq!(taken(&mut queue, "é"), " é");
        assert_eq!(taken(&mut queue, "é"), "");
    }

    #[test]
    fn a_token_of_two_texts_is_given_once() {
        let mut queue = TokenQueue::default();
        pushed(&mut queue, &["Hello", ", world"]);
        assert_eq!([taken(&mut queue, "Hello, "), taken(&mut queue, "world")], ["Hello|, world", ""]);
        pushed(&mut queue, &["!"]);
        assert_eq!(taken(&mut queue, "!"), "!");
    }

    #[test]
    fn tokens_of_calls_are_dropped() {
        let mut queue = TokenQueue::default();
        pushed(&mut queue, &["<call>", "Yes"]);
        queue.call();
        pushed(&mut queue, &["</call>", "Yes"]);
        queue.call();
        assert_eq!(taken(&mut queue, "Yes"), "Yes");
        assert!(queue.tokens.is_empty());
    }
}

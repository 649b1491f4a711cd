//! The special tokens that a template writes. They are variables that no client sets: the model's tokenizer gives their texts, and a
//! template can come without it. This file finds out what its prompts then lack.

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Model};

use crate::needs::TemplateNeeds;

/// The variables, and a text for each that no template contains.
const TOKENS: [(&str, &str); 2] = [("bos_token", "\u{e000}bos\u{e001}"), ("eos_token", "\u{e000}eos\u{e001}")];

/// How the prompts of a model begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// With this text, if the template writes the token that begins a text (BOS); empty if the tokenizer has none.
    Text(String),
    /// The template writes BOS there, and its text is not known.
    Unknown,
}

impl Beginning {
    /// The prompt for the upstream, and whether the upstream is to put BOS before it. `adds_bos` says that the upstream does so
    /// anyway.
    pub(crate) fn hand_over(&self, prompt: String, adds_bos: bool) -> (String, bool) {
        match self {
            Self::Unknown => (prompt, true),
            Self::Text(bos) => match prompt.strip_prefix(bos.as_str()) {
                Some(rest) if adds_bos && !bos.is_empty() => (rest.to_owned(), true),
                _ => (prompt, false),
            },
        }
    }
}

/// What is known of the special tokens that a template writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub beginning: Beginning,
    /// The tokens that prompts lack, because their texts are not known and the template writes them in other places than the beginning.
    pub lost: Vec<String>,
}

impl Tokens {
    pub(crate) fn of(model: &Model, needs: &TemplateNeeds) -> Self {
        let known = model.parsed_template().map(|template| template.tokens().clone()).unwrap_or_default();
        let mut tokens = Self { beginning: Beginning::Text(known.bos.clone().unwrap_or_default()), lost: Vec::new() };
        if model.knows_tokens() {
            return tokens;
        }
        let unknown = [known.bos.is_none(), known.eos.is_none()];
        let unknown: Vec<_> =
            TOKENS.into_iter().zip(unknown).filter(|(_, unknown)| *unknown).map(|(token, _)| token).collect();
        let prompt = conversations(needs).iter().rev().find_map(|messages| render(model, messages, &unknown));
        // A template that refuses both may write what it reads, and BOS comes first.
        let prompt = prompt.unwrap_or_else(|| {
            let reads = model.parsed_template().map(|template| template.variables()).unwrap_or_default();
            unknown.iter().filter(|(name, _)| reads.contains(*name)).map(|(_, text)| *text).collect()
        });
        for (name, text) in unknown {
            let begins = name == "bos_token" && prompt.starts_with(text);
            if begins {
                tokens.beginning = Beginning::Unknown;
            }
            if prompt.matches(text).count() > usize::from(begins) {
                tokens.lost.push(name.to_owned());
            }
        }
        tokens
    }
}

/// The special tokens without which the template renders no conversation.
pub(crate) fn missing(model: &Model, needs: &TemplateNeeds) -> Vec<String> {
    let empty = TOKENS.map(|(name, _)| (name, ""));
    // A template that refuses a conversation for other reasons says nothing about tokens.
    let all = conversations(needs);
    let stuck: Vec<&Value> = all
        .iter()
        .filter(|messages| render(model, messages, &[]).is_none() && render(model, messages, &empty).is_some())
        .collect();
    let missing = |token: &&str| {
        let others: Vec<_> = empty.into_iter().filter(|(other, _)| other != token).collect();
        stuck.iter().any(|messages| render(model, messages, &others).is_none())
    };
    TOKENS.map(|(name, _)| name).into_iter().filter(missing).map(str::to_owned).collect()
}

/// A short conversation, and one with an answer of the assistant.
fn conversations(needs: &TemplateNeeds) -> [Value; 2] {
    let said = |role: &str| json!({"role": role, "content": needs.content.value("Hello")});
    [json!([said("user")]), json!([said("user"), said("assistant"), said("user")])]
}

fn render(model: &Model, messages: &Value, tokens: &[(&str, &str)]) -> Option<String> {
    let mut context = json!({"messages": messages, "add_generation_prompt": true});
    tokens.iter().for_each(|(name, text)| context[*name] = (*text).into());
    model.render(&Conversation::from_context(&context)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_one_bos() {
        let handed = |beginning: Beginning, adds_bos| beginning.hand_over("<s>Hi".to_owned(), adds_bos);
        let known = || Beginning::Text("<s>".to_owned());
        assert_eq!(handed(known(), false), ("<s>Hi".to_owned(), false));
        assert_eq!(handed(known(), true), ("Hi".to_owned(), true));
        // A tokenizer without the token.
        assert_eq!(handed(Beginning::Text(String::new()), true), ("<s>Hi".to_owned(), false));
        assert_eq!(handed(Beginning::Unknown, false), ("<s>Hi".to_owned(), true));
    }
}

//! `/v1/completions`, as vLLM, SGLang and TGI have it.

use serde::Deserialize;
use serde_json::{Value, json};
use unjinja_dynamic::Target;

use super::piece::{Ask, Piece, Trouble, ended, event, token, with_likely};
use crate::finish::Usage;

/// Settings that would change the form of the answer.
const DROPPED: [&str; 7] = ["best_of", "echo", "input", "messages", "prompt_logprobs", "return_token_ids", "suffix"];

/// The body of the request. `gives_ids` says that the upstream gives the ids of what it writes.
pub(super) fn body(ask: &Ask, choice: usize, model: &str, max_tokens: u64, gives_ids: bool) -> Value {
    let mut body = ask.settings(&DROPPED, choice);
    let own = json!({
        "model": model,
        "prompt": ask.prompt(),
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": max_tokens,
        // The markers of a format are special tokens: the parser has to see them.
        "skip_special_tokens": false,
        "spaces_between_special_tokens": false,
        "add_special_tokens": ask.adds_bos,
    });
    body.extend(own.as_object().cloned().unwrap_or_default());
    if let Some(likely) = ask.likely() {
        body.insert("logprobs".to_owned(), likely.into());
    }
    let stops = ask.stop_texts(gives_ids);
    if !stops.is_empty() {
        body.insert("stop".to_owned(), stops.into());
    }
    if gives_ids {
        body.insert("return_token_ids".to_owned(), true.into());
        let own = ask.stop_ids(gives_ids).into_iter().map(Value::from);
        let asked = body.get("stop_token_ids").and_then(Value::as_array);
        let all: Vec<Value> = asked.into_iter().flatten().cloned().chain(own).collect();
        body.insert("stop_token_ids".to_owned(), all.into());
    }
    if let Some(grammar) = ask.grammar.as_ref().filter(|grammar| !grammar.text.is_empty()) {
        body.extend(constraint(ask.engine, &grammar.text));
    }
    Value::Object(body)
}

/// The fields that hold a grammar.
fn constraint(engine: Target, grammar: &str) -> Vec<(String, Value)> {
    let field = |name: &str, value: Value| (name.to_owned(), value);
    match engine {
        // vLLM and SGLang both take a structural tag as a response format.
        Target::XGrammar => {
            let tag = serde_json::from_str(grammar).unwrap_or(Value::Null);
            vec![field("response_format", tag)]
        }
        // vLLM takes Lark in the one field, SGLang in the other. Each ignores the field of the other.
        Target::Llguidance => {
            vec![field("structured_outputs", json!({"grammar": grammar})), field("ebnf", grammar.into())]
        }
        _ => vec![field("structured_outputs", json!({"grammar": grammar}))],
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    text: Option<String>,
    token_ids: Option<Vec<u32>>,
    finish_reason: Option<String>,
    logprobs: Option<Value>,
    /// The text that ended the output, or the number of a token: vLLM's name for it.
    stop_reason: Option<Value>,
    /// SGLang's name for it.
    matched_stop: Option<Value>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

/// Reads an event, or a whole answer.
pub(super) fn read(data: &[u8]) -> Result<Piece, Trouble> {
    let Some(Chunk { choices, usage }) = event(data, "choices")? else {
        return Ok(Piece { last: true, ..Piece::default() });
    };
    let mut piece = Piece { usage: usage.and_then(tokens), ..Piece::default() };
    if let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or_default() == 0) {
        piece.text = choice.text.unwrap_or_default();
        piece.ids = choice.token_ids.unwrap_or_default();
        piece.logprobs = choice.logprobs.as_ref().map(logprobs).unwrap_or_default();
        let by = [&choice.stop_reason, &choice.matched_stop].into_iter().flatten().find_map(Value::as_str);
        // Before the end, some servers send an empty text.
        let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
        piece.finish = reason.map(|reason| ended(&reason, by)).transpose()?;
    }
    Ok(piece)
}

/// The probabilities of tokens: a list each for the tokens, for their probabilities, and for the likely alternatives to each.
fn logprobs(lists: &Value) -> Vec<Value> {
    let likely = |at: usize| {
        let likely = lists["top_logprobs"][at].as_object().into_iter().flatten();
        likely.map(|(text, logprob)| token(text, logprob.as_f64())).collect()
    };
    let tokens = lists["tokens"].as_array().into_iter().flatten().enumerate();
    let read = |(at, text): (usize, &Value)| {
        let own = token(text.as_str()?, lists["token_logprobs"][at].as_f64());
        Some(with_likely(own, likely(at)))
    };
    tokens.filter_map(read).collect()
}

fn tokens(usage: Tokens) -> Option<Usage> {
    let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
    Some(Usage { cached, ..Usage::new(usage.prompt_tokens?, usage.completion_tokens?) })
}

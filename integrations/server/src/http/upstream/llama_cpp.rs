//! `/completion` of llama.cpp's server.

use serde::Deserialize;
use serde_json::{Value, json};
use unjinja_dynamic::Grammar;
use unjinja_runtime::Trigger;

use super::piece::{Ask, Piece, Trouble, ended, event, token, with_likely};
use crate::finish::Usage;

/// llama.cpp's numbers for triggers: a word, and a pattern that is searched in the text. Number 3 would be a pattern that has to
/// match all of the text, and would not fire after an answer.
const WORD: u8 = 1;
const PATTERN: u8 = 2;

/// Settings that would change the form of the answer.
const DROPPED: [&str; 7] =
    ["input_prefix", "input_suffix", "messages", "n_cmpl", "n_probs", "response_fields", "return_tokens"];

/// The body of the request. `gives_ids` says that the upstream gives the ids of what it writes.
pub(super) fn body(ask: &Ask, choice: usize, gives_ids: bool) -> Value {
    let mut body = ask.settings(&DROPPED, choice);
    let own = json!({
        "prompt": ask.prompt(),
        "stream": true,
        "cache_prompt": true,
        "stop": ask.stop_texts(gives_ids),
    });
    body.extend(own.as_object().cloned().unwrap_or_default());
    if gives_ids {
        body.insert("return_tokens".to_owned(), true.into());
    }
    if let Some(most) = ask.max_tokens {
        body.insert("n_predict".to_owned(), most.into());
    }
    if let Some(likely) = ask.likely() {
        body.insert("n_probs".to_owned(), likely.into());
    }
    let mut preserved = ask.preserved.clone();
    if let Some(grammar) = ask.grammar.as_ref().filter(|grammar| !grammar.text.is_empty()) {
        body.insert("grammar".to_owned(), grammar.text.as_str().into());
        if grammar.lazy {
            body.insert("grammar_lazy".to_owned(), true.into());
            body.insert("grammar_triggers".to_owned(), grammar.triggers.iter().map(trigger).collect());
        }
        if !grammar.prefill.is_empty() {
            // llama.cpp begins to read the grammar with this text, but not if it takes the grammar for the client's own.
            body.insert("generation_prompt".to_owned(), grammar.prefill.as_str().into());
            body.insert("grammar_type".to_owned(), "tool_calls".into());
        }
        preserved.extend(words(grammar).filter(|word| !ask.preserved.contains(word)));
    }
    // Without this, special tokens do not appear in the text.
    body.insert("preserved_tokens".to_owned(), preserved.into());
    Value::Object(body)
}

/// A trigger word that is one token has to be preserved, or the server refuses the request.
fn words(grammar: &Grammar) -> impl Iterator<Item = String> {
    let words = grammar.triggers.iter().filter(|trigger| matches!(trigger, Trigger::Word(_)));
    words.map(|trigger| trigger.value().to_owned()).chain(grammar.preserved_tokens.iter().cloned())
}

fn trigger(trigger: &Trigger) -> Value {
    let kind = match trigger {
        Trigger::Word(_) => WORD,
        Trigger::Pattern(_) => PATTERN,
    };
    json!({"type": kind, "value": trigger.value()})
}

#[derive(Deserialize)]
struct Chunk {
    content: String,
    #[serde(default)]
    tokens: Vec<u32>,
    stop: Option<bool>,
    stop_type: Option<String>,
    stopping_word: Option<String>,
    tokens_evaluated: Option<u64>,
    tokens_predicted: Option<u64>,
    timings: Option<Timings>,
    #[serde(default)]
    completion_probabilities: Vec<Value>,
}

#[derive(Deserialize)]
struct Timings {
    /// The tokens of the prompt that were kept from a request before it.
    cache_n: Option<u64>,
}

/// Reads an event, or a whole answer.
pub(super) fn read(data: &[u8]) -> Result<Piece, Trouble> {
    let Some(chunk) = event::<Chunk>(data, "content")? else { return Ok(Piece { last: true, ..Piece::default() }) };
    let last = chunk.stop == Some(true);
    let reason = chunk.stop_type.as_deref().unwrap_or_default();
    let cached = chunk.timings.and_then(|timings| timings.cache_n);
    let usage = chunk.tokens_evaluated.zip(chunk.tokens_predicted).filter(|_| last);
    Ok(Piece {
        text: chunk.content,
        ids: chunk.tokens,
        finish: last.then(|| ended(reason, chunk.stopping_word.as_deref())).transpose()?,
        usage: usage.map(|(input, output)| Usage { cached, ..Usage::new(input, output) }),
        // A whole answer has them all once more at its end, where a stream has none.
        logprobs: chunk.completion_probabilities.iter().filter_map(logprobs).collect(),
        last,
    })
}

/// The probability of a token, and of the likely alternatives to it: OpenAI's form, but for the number of each token.
fn logprobs(value: &Value) -> Option<Value> {
    let read = |value: &Value| Some(token(value["token"].as_str()?, value["logprob"].as_f64()));
    let likely = value["top_logprobs"].as_array().into_iter().flatten().filter_map(read).collect();
    Some(with_likely(read(value)?, likely))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use unjinja_dynamic::Target;

    use super::*;
    use crate::http::guard::Trace;

    fn asked(grammar: Option<Grammar>) -> Value {
        let ask = Ask {
            any_name: false,
            model: "m".to_owned(),
            prompt: "Hi".to_owned(),
            ids: None,
            adds_bos: true,
            stops: vec!["<end>".to_owned()],
            max_tokens: Some(5),
            settings: Map::from_iter([("top_k".to_owned(), json!(3)), ("messages".to_owned(), json!([]))]),
            grammar,
            engine: Target::Gbnf,
            logprobs: None,
            preserved: vec!["<call>".to_owned()],
            trace: Trace::default(),
        };
        body(&ask, 0, false)
    }

    fn grammar(triggers: Vec<Trigger>, prefill: &str) -> Grammar {
        Grammar {
            text: "root ::= \"x\"".to_owned(),
            lazy: !triggers.is_empty(),
            triggers,
            preserved_tokens: vec!["<other>".to_owned(), "<call>".to_owned()],
            stops: Vec::new(),
            prefill: prefill.to_owned(),
            reasoning: None,
            widened: Vec::new(),
        }
    }

    #[test]
    fn without_a_grammar() {
        let expected = json!({
            "prompt": "Hi", "stream": true, "cache_prompt": true, "stop": ["<end>"], "n_predict": 5, "top_k": 3,
            "preserved_tokens": ["<call>"],
        });
        assert_eq!(asked(None), expected);
        // A grammar that constrains nothing is not sent.
        assert_eq!(
            asked(Some(Grammar { text: String::new(), ..grammar(vec![Trigger::of_word("<a>")], "") })),
            expected
        );
    }

    #[test]
    fn a_lazy_grammar_has_triggers_by_number() {
        let pattern = Trigger::Pattern(r"(?:^|\n)(<a>)[\s\S]*".into());
        let body = asked(Some(grammar(vec![Trigger::of_word("<call>"), pattern, Trigger::of_word("<b>")], "")));
        assert_eq!((&body["grammar"], &body["grammar_lazy"]), (&json!("root ::= \"x\""), &json!(true)));
        let triggers = json!([
            {"type": 1, "value": "<call>"}, {"type": 2, "value": r"(?:^|\n)(<a>)[\s\S]*"}, {"type": 1, "value": "<b>"},
        ]);
        assert_eq!(body["grammar_triggers"], triggers);
        // Words are preserved, and what is asked for already is not asked for twice.
        assert_eq!(body["preserved_tokens"], json!(["<call>", "<b>", "<other>"]));
        assert_eq!((body.get("generation_prompt"), body.get("grammar_type")), (None, None));
    }

    #[test]
    fn a_grammar_for_the_whole_turn_begins_with_what_the_prompt_has() {
        let body = asked(Some(grammar(Vec::new(), "<think>\n")));
        assert_eq!((&body["generation_prompt"], &body["grammar_type"]), (&json!("<think>\n"), &json!("tool_calls")));
        assert_eq!((body.get("grammar_lazy"), body.get("grammar_triggers")), (None, None));
    }
}

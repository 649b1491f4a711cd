//! What llama.cpp's server does for one request to `/completion`, with a random model: it reads the fields of the request as that
//! server does, samples under the grammar, and ends at a stop text, at a token that ends the text, or at the limit.

use std::collections::HashMap;
use std::num::NonZeroU32;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::logit_bias::LlamaLogitBias;
use serde::Deserialize;
use unjinja_engine::{RandomModel, Trigger};

use super::Failure;

/// Maximum number of tokens that are read, from the end of a prompt. The meaning of a prompt is nothing to a random model.
const PROMPT: usize = 64;

/// The most tokens of an answer, if the request names no limit.
const ANSWER: usize = 4096;

/// The fields of a request that matter. Others are ignored, as llama.cpp does.
#[derive(Clone, Deserialize)]
pub struct GenerateRequest {
    prompt: String,
    #[serde(default)]
    pub stream: bool,
    #[serde(default)]
    stop: Vec<String>,
    n_predict: Option<usize>,
    #[serde(default)]
    seed: u32,
    #[serde(default)]
    grammar: String,
    #[serde(default)]
    grammar_lazy: bool,
    #[serde(default)]
    grammar_triggers: Vec<RequestTrigger>,
    #[serde(default)]
    grammar_type: String,
    #[serde(default)]
    generation_prompt: String,
    #[serde(default)]
    preserved_tokens: Vec<String>,
    /// Texts of tokens, and how much likelier they are made.
    #[serde(default)]
    logit_bias: HashMap<String, f32>,
}

#[derive(Clone, Deserialize)]
struct RequestTrigger {
    #[serde(rename = "type")]
    kind: u8,
    value: String,
}

/// How an answer ended: llama.cpp's `stop_type`, the stop text, and the number of tokens of prompt and answer.
pub struct End {
    pub stop_type: &'static str,
    pub stopping_word: String,
    pub evaluated: usize,
    pub predicted: usize,
}

/// Writes an answer. `piece` gets each part of it, and says whether anybody still reads.
pub fn generate(
    model: &RandomModel,
    ask: &GenerateRequest,
    mut piece: impl FnMut(String) -> bool,
) -> Result<End, Failure> {
    let backend = unjinja_engine::backend().map_err(|error| error.to_string())?;
    let most = ask.n_predict.unwrap_or(ANSWER);
    let prompt = model.tokens(&ask.prompt);
    let read = &prompt[prompt.len().saturating_sub(PROMPT)..];
    let size = u32::try_from(read.len() + most + 1)?;
    let parameters = LlamaContextParams::default().with_n_ctx(NonZeroU32::new(size)).with_n_threads(1);
    let mut context = model.llama().new_context(backend, parameters.with_n_threads_batch(1))?;
    let mut batch = LlamaBatch::new(read.len().max(1), 1);
    batch.add_sequence(read, 0, false)?;
    let mut sampler = sampler(model, ask)?;
    let mut output = Output { bytes: Vec::new(), stops: &ask.stop };
    let end = |stop_type, stopping_word: &str, predicted| End {
        stop_type,
        stopping_word: stopping_word.to_owned(),
        evaluated: prompt.len(),
        predicted,
    };
    for at in 0..most {
        context.decode(&mut batch)?;
        let token = next(&context, &mut sampler, batch.n_tokens() - 1)?;
        if model.llama().vocab().is_eog(token) {
            piece(output.rest());
            return Ok(end("eos", "", at + 1));
        }
        match model.special(token) {
            // llama.cpp writes the texts of other special tokens only if it is told so.
            Some(text) if ask.preserved_tokens.iter().any(|preserved| preserved == text) => {
                output.bytes.extend(text.as_bytes());
            }
            Some(_) => {}
            None => output.bytes.extend(model.llama().vocab().token_to_piece(token, false, None)),
        }
        let (text, stop) = output.take();
        if !text.is_empty() && !piece(text) {
            return Ok(end("none", "", at + 1));
        }
        if let Some(stop) = stop {
            return Ok(end("word", &stop, at + 1));
        }
        batch.clear();
        batch.add(token, i32::try_from(read.len() + at)?, &[0], true)?;
    }
    piece(output.rest());
    Ok(end("limit", "", most))
}

/// The next token. Unlike [`LlamaSampler::sample`], this notices if the grammar does not allow it.
fn next(context: &LlamaContext, sampler: &mut LlamaSampler, at: i32) -> Result<LlamaToken, Failure> {
    let mut candidates = context.token_data_array_ith(at);
    sampler.apply(&mut candidates);
    let chosen = candidates.selected_token().ok_or("no token was chosen")?;
    let logit = candidates.data.iter().find(|candidate| candidate.id() == chosen).map(|candidate| candidate.logit());
    if logit == Some(f32::NEG_INFINITY) {
        return Err("the grammar allows no token".into());
    }
    sampler.try_accept(chosen).map_err(|error| format!("the grammar does not continue: {error}"))?;
    Ok(chosen)
}

/// The chain of samplers: the grammar first, then a choice at random.
fn sampler(model: &RandomModel, ask: &GenerateRequest) -> Result<LlamaSampler, Failure> {
    let never = RandomModel::never_written().into_iter().map(|token| (token, f32::NEG_INFINITY));
    let likelier = ask.logit_bias.iter().filter_map(|(text, bias)| Some((*model.tokens(text).first()?, *bias)));
    let biases: Vec<LlamaLogitBias> =
        never.chain(likelier).map(|(token, bias)| LlamaLogitBias::new(token, bias)).collect();
    let mut chain = vec![LlamaSampler::logit_bias(model.llama().n_vocab(), &biases)];
    if !ask.grammar.is_empty() {
        chain.push(grammar(model, ask)?);
    }
    chain.push(LlamaSampler::dist(ask.seed));
    Ok(LlamaSampler::chain_simple(chain))
}

fn grammar(model: &RandomModel, ask: &GenerateRequest) -> Result<LlamaSampler, Failure> {
    let llama = model.llama();
    let failed = |error| format!("failed to parse grammar: {error}");
    if !ask.grammar_lazy {
        let mut grammar = LlamaSampler::grammar(llama, &ask.grammar, "root").map_err(failed)?;
        if ask.grammar_type == "tool_calls" {
            for token in model.tokens(&ask.generation_prompt) {
                grammar.try_accept(token).map_err(|error| format!("the prompt does not fit the grammar: {error}"))?;
            }
        }
        return Ok(grammar);
    }
    let (mut patterns, mut tokens) = (Vec::new(), Vec::new());
    for RequestTrigger { kind, value } in &ask.grammar_triggers {
        match (kind, model.tokens(value)[..].first(), model.tokens(value).len()) {
            (1, Some(token), 1) if ask.preserved_tokens.contains(value) => tokens.push(*token),
            (1, _, 1) => {
                return Err(format!("Grammar trigger word should be marked as preserved token: {value}").into());
            }
            (1, ..) => patterns.push(Trigger::Word(value.clone()).pattern()),
            (2, ..) => patterns.push(value.clone()),
            (3, ..) => patterns.push(format!("^{value}$")),
            (kind, ..) => return Err(format!("unknown trigger type {kind}").into()),
        }
    }
    if patterns.is_empty() && tokens.is_empty() {
        return Err("Error: no triggers set for lazy grammar!".into());
    }
    Ok(LlamaSampler::grammar_lazy_patterns(llama, &ask.grammar, "root", &patterns, &tokens).map_err(failed)?)
}

/// Bytes that were not sent yet: an incomplete character, or what may be the beginning of a stop text.
struct Output<'a> {
    bytes: Vec<u8>,
    stops: &'a [String],
}

impl Output<'_> {
    /// The text that can be sent, and the stop text after it.
    fn take(&mut self) -> (String, Option<String>) {
        let find = |stop: &String| self.bytes.windows(stop.len().max(1)).position(|bytes| bytes == stop.as_bytes());
        let found = self.stops.iter().filter_map(|stop| Some((find(stop)?, stop))).min_by_key(|(at, _)| *at);
        if let Some((at, stop)) = found {
            self.bytes.truncate(at);
            return (self.rest(), Some(stop.clone()));
        }
        let begins = |at: &usize| self.stops.iter().any(|stop| stop.as_bytes().starts_with(&self.bytes[*at..]));
        let to = (0..self.bytes.len()).find(begins).unwrap_or(self.bytes.len());
        let to = match std::str::from_utf8(&self.bytes[..to]) {
            // The rest of the character may still come.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => to,
        };
        let later = self.bytes.split_off(to);
        (String::from_utf8_lossy(&std::mem::replace(&mut self.bytes, later)).into_owned(), None)
    }

    fn rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned()
    }
}

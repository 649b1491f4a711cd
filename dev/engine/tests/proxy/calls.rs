//! Every wire format, several seeds: whatever a random model writes under the grammar, the client gets valid calls.

use std::time::Instant;

use serde_json::{Value, json};

use super::Failure;
use super::setup::{Running, faults, templates};

/// How many answers of each format.
const SEEDS: u32 = 8;

/// What was found of one format.
#[derive(Default)]
struct Tally {
    answers: usize,
    calls: usize,
    cut_off: usize,
    faults: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn even_a_random_model_makes_valid_calls() -> Result<(), Failure> {
    let (mut all, mut formats) = (Tally::default(), 0);
    for name in templates()? {
        let began = Instant::now();
        let Some(proxy) = Running::start(&name).await? else { continue };
        let mut found = Tally::default();
        for seed in 0..SEEDS {
            answer(&proxy, seed, &mut found).await?;
        }
        let Tally { answers, calls, cut_off, faults } = found;
        println!(
            "{name}: {} tools, {answers} answers, {calls} calls, {cut_off} cut off, {} faults, {:.1} s",
            proxy.tools.as_array().map_or(0, Vec::len),
            faults.len(),
            began.elapsed().as_secs_f64()
        );
        formats += usize::from(calls > 0);
        all.answers += answers;
        all.calls += calls;
        all.cut_off += cut_off;
        all.faults.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let Tally { answers, calls, cut_off, faults } = &all;
    println!("{formats} formats, {answers} answers, {calls} calls, {cut_off} cut off, {} faults", faults.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(formats >= 30, "only {formats} formats made calls");
    assert!(cut_off * 5 < *answers, "{cut_off} of {answers} answers were cut off");
    Ok(())
}

/// Formats whose calls begin with a special token. A random model does not spell out a longer announcement.
const LAZY: [&str; 5] = ["qwen3", "xml_parameters", "invoke", "section_tags", "python_calls"];

/// Where the model decides whether it calls, the grammar is lazy: any text may come before the trigger.
#[tokio::test(flavor = "multi_thread")]
async fn a_lazy_grammar_begins_at_its_trigger() -> Result<(), Failure> {
    let (mut answers, mut made, mut cut) = (0, 0, 0);
    for name in LAZY {
        let proxy = Running::start(name).await?.ok_or("a format without calls")?;
        // The end of the text is not made likelier here: it may come at once.
        let likelier: serde_json::Map<String, Value> =
            proxy.openers.iter().map(|opener| (opener.clone(), json!(4.0))).collect();
        for seed in 0..SEEDS / 2 {
            let body = proxy.request(seed, json!({"tool_choice": "auto", "logit_bias": likelier, "max_tokens": 600}));
            let (status, text) = proxy.ask(&body).await?;
            let place = format!("{name}, seed {seed}: {}", proxy.upstream.last());
            assert_eq!(status, 200, "{text}\n    {place}");
            let (calls, finish) = whole(&text)?;
            let cut_off = finish == "length";
            if !calls.is_empty() {
                let wrong = faults(&proxy.tools, &calls, cut_off);
                assert!(wrong.is_empty(), "{wrong:?}\n    {place}");
            }
            answers += 1;
            made += calls.len();
            cut += usize::from(cut_off);
        }
    }
    println!("lazy: {} formats, {answers} answers, {made} calls, {cut} cut off, 0 faults", LAZY.len());
    assert!(made >= LAZY.len(), "only {made} calls");
    Ok(())
}

/// Asks for one answer, whole or streamed, for several calls or one.
async fn answer(proxy: &Running, seed: u32, found: &mut Tally) -> Result<(), Failure> {
    let (stream, parallel) = (seed % 2 == 1, !seed.is_multiple_of(3));
    let body = proxy.request(seed, json!({"stream": stream, "parallel_tool_calls": parallel}));
    let (status, text) = proxy.ask(&body).await?;
    let place = || format!("seed {seed}: {}", proxy.upstream.last());
    found.answers += 1;
    if status != 200 {
        found.faults.push(format!("{}: status {status}: {text}", place()));
        return Ok(());
    }
    let (calls, finish) = if stream { streamed(&text)? } else { whole(&text)? };
    let cut_off = finish == "length";
    found.cut_off += usize::from(cut_off);
    found.calls += calls.len();
    let mut wrong = faults(&proxy.tools, &calls, cut_off);
    if !cut_off && finish != "tool_calls" {
        wrong.push(format!("it finished because of {finish:?}"));
    }
    if !parallel && calls.len() > 1 {
        wrong.push(format!("{} calls, and only one was allowed", calls.len()));
    }
    found.faults.extend(wrong.into_iter().map(|fault| format!("{fault}\n    {}", place())));
    Ok(())
}

type Calls = Vec<(String, String)>;

/// The calls of a whole answer, and why it ended.
fn whole(text: &str) -> Result<(Calls, String), Failure> {
    let answer: Value = serde_json::from_str(text)?;
    let choice = &answer["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = calls.map(|call| (text(&call["function"]["name"]), text(&call["function"]["arguments"])));
    Ok((calls.collect(), text(&choice["finish_reason"])))
}

/// The same of a streamed answer.
fn streamed(text: &str) -> Result<(Calls, String), Failure> {
    let (mut calls, mut finish) = (Calls::new(), String::new());
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
        let event: Value = serde_json::from_str(data)?;
        if !event["error"].is_null() {
            return Err(format!("the stream broke off: {event}").into());
        }
        let choice = &event["choices"][0];
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(delta["index"].as_u64().ok_or("no index")?)?;
            calls.resize(calls.len().max(at + 1), Default::default());
            calls[at].0.push_str(delta["function"]["name"].as_str().unwrap_or_default());
            calls[at].1.push_str(delta["function"]["arguments"].as_str().unwrap_or_default());
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            finish = reason.to_owned();
        }
    }
    Ok((calls, finish))
}

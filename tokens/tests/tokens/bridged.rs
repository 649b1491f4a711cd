//! Agents that call tools over several turns: the ids that were sampled stay as they are, and the prompt that the bridge makes of them
//! is the one that the template would render.

use std::fs;

use serde_json::{Value, json};
use unjinja::{Options, Tools};
use unjinja_dynamic::{Conversation, Model};
use unjinja_testkit::random::Random;
use unjinja_testkit::{corpus, sample, whole};
use unjinja_tokens::{Encoder, TokensError};

use crate::Failure;
use crate::byte_level::learnt;
use crate::vocabulary::Vocabulary;

/// Templates of different formats.
const TEMPLATES: [&str; 12] = [
    "Qwen-Qwen3-0.6B.jinja",
    "Kimi-K2-Instruct.jinja",
    "GLM-4.6.jinja",
    "openai-gpt-oss-120b.jinja",
    "google-gemma-4-31B-it.jinja",
    "deepseek-ai-DeepSeek-V3.1.jinja",
    "meta-llama-Llama-3.1-8B-Instruct.jinja",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja",
    "ibm-granite-granite-4.0.jinja",
    "Qwen3-Coder.jinja",
    "MiniMax-M2.jinja",
    "HuggingFaceTB-SmolLM3-3B.jinja",
];

#[derive(Debug, Default)]
struct Loops {
    /// Bridges that were built.
    bridged: usize,
    /// Turns that were cut off before their end.
    closed: usize,
    /// Bridges that were refused because the template writes the conversation anew.
    rewritten: usize,
    /// Turns that the template does not write as the model did.
    lossy: usize,
    /// Conversations that the template refuses, or whose turn does not begin as the prompt says.
    refused: usize,
}

#[test]
fn sampled_ids_stay_in_the_next_prompt() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut random = Random::new(35);
    let (mut problems, mut bridged, mut closed) = (Vec::new(), 0, 0);
    for name in sample(TEMPLATES, 2) {
        let model = Model::from_file(corpus.join("templates").join(name))?;
        let spec = model.spec();
        let added: Vec<_> =
            spec.tokens.preserved.iter().chain(&spec.tokens.other).map(|text| (text.clone(), true)).collect();
        let source = fs::read_to_string(corpus.join("templates").join(name))?;
        let vocabulary = learnt(&[source], &added)?;
        let encoder = Encoder::new(model, vocabulary.again()?);
        let mut loops = Loops::default();
        for _ in 0..if whole() { 1000 } else { 10 } {
            if let Err(problem) = run(&encoder, &vocabulary, &mut random, &mut loops) {
                problems.push(format!("{name}: {problem}"));
            }
        }
        println!("{name}: {loops:?}");
        bridged += loops.bridged;
        closed += loops.closed;
    }
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(8)].join("\n")
    );
    assert!(bridged > 50 && closed > 10, "{bridged}, {closed}");
    Ok(())
}

/// One loop: calls and their results, up to an answer, twice.
fn run(encoder: &Encoder, vocabulary: &Vocabulary, random: &mut Random, loops: &mut Loops) -> Result<(), Failure> {
    let tools = json!([{"type": "function", "function": {"name": "look", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]);
    let word = |random: &mut Random| random.text().chars().filter(|c| c.is_alphanumeric()).collect::<String>() + "w";
    let mut messages = vec![json!({"role": "user", "content": word(random)})];
    let conversation = |messages: &[Value]| Conversation::new(messages.to_vec()).tools(tools.clone());
    let mut ids = encoder.encode(&conversation(&messages))?.ids().to_vec();
    for step in 0..4 {
        let calls = step % 2 == 0;
        let mut turn = json!({"role": "assistant", "content": if calls { String::new() } else { word(random) }});
        if random.once_in(2) {
            turn["reasoning_content"] = word(random).into();
        }
        let id = format!("call{step:05}");
        if calls {
            let function = json!({"name": "look", "arguments": {"at": word(random)}});
            turn["tool_calls"] = json!([{"type": "function", "id": id, "function": function}]);
        }
        let news = if calls {
            json!([{"role": "tool", "tool_call_id": id, "name": "look", "content": word(random)}])
        } else {
            json!([{"role": "user", "content": word(random)}])
        };
        let Some((sampled, whole_turn)) = sampled(encoder, vocabulary, &conversation, &messages, &turn, random)? else {
            loops.refused += 1;
            return Ok(());
        };
        let before: Vec<u32> = ids.iter().copied().chain(sampled.iter().copied()).collect();
        let bridge = match encoder.bridge(&conversation(&messages), &sampled, &news) {
            Ok(bridge) => bridge,
            Err(TokensError::Rewritten(_)) => {
                loops.rewritten += 1;
                return Ok(());
            }
            Err(TokensError::Lossy { .. }) => {
                loops.lossy += 1;
                return Ok(());
            }
            Err(TokensError::Model(_)) => {
                loops.refused += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let prompt = encoder.model().prompt(&conversation(&messages))?;
        let options = Options::new().tools(&Tools::from_openai(&tools)?).generation_prompt(prompt.turn());
        let decoded = json!(encoder.decode(&sampled, &options).message);
        for key in ["content", "reasoning_content"] {
            assert_eq!(bridge.message[key], decoded[key], "the bridge reads otherwise than `decode`");
        }
        let functions = |message: &Value| -> Vec<Value> {
            message["tool_calls"].as_array().into_iter().flatten().map(|call| call["function"].clone()).collect()
        };
        assert_eq!(functions(&bridge.message), functions(&decoded), "the bridge reads otherwise than `decode`");
        loops.bridged += 1;
        loops.closed += usize::from(bridge.closes_turn);
        if bridge.closes_turn && whole_turn {
            return Err(format!("a whole turn is closed again: {:?}", bridge.message).into());
        }
        ids = before;
        ids.extend(&bridge.ids);
        messages.push(turn);
        messages.extend(news.as_array().into_iter().flatten().cloned());
        let rendered = encoder.model().render(&conversation(&messages))?;
        let text: Vec<u8> =
            ids.iter().flat_map(|&id| encoder.vocabulary().bytes(id).unwrap_or_default().to_vec()).collect();
        if String::from_utf8(text.clone())? != rendered {
            return Err(format!("bridge {:?}\n  render {rendered:?}", String::from_utf8_lossy(&text)).into());
        }
    }
    Ok(())
}

/// What a model writes for a turn, cut into tokens as a model may cut it: not as the tokenizer would. Sometimes without the token that
/// ends it. `None` where the template writes no such turn.
fn sampled(
    encoder: &Encoder,
    vocabulary: &Vocabulary,
    conversation: &impl Fn(&[Value]) -> Conversation,
    messages: &[Value],
    turn: &Value,
    random: &mut Random,
) -> Result<Option<(Vec<u32>, bool)>, Failure> {
    let prompt = encoder.model().render(&conversation(messages))?;
    let mut all = messages.to_vec();
    all.push(turn.clone());
    let Ok(done) = encoder.encode(&conversation(&all).generation_prompt(false)) else { return Ok(None) };
    let last = done.labels().iter().rposition(|label| label.by_model);
    let end = last.and_then(|at| done.ranges().get(at)).map_or(0, |range| range.end);
    let Some(text) = done.text().get(..end).and_then(|text| text.strip_prefix(&prompt)) else { return Ok(None) };
    let mut ids = Vec::new();
    for id in vocabulary.ids(text)? {
        let bytes = encoder.vocabulary().bytes(id).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) if encoder.vocabulary().control_token(id).is_none() && random.once_in(3) => {
                for letter in text.chars() {
                    ids.extend(vocabulary.ids(&letter.to_string())?);
                }
            }
            _ => ids.push(id),
        }
    }
    let closer = encoder.model().spec().turn.end.trim();
    let ends = ids.last().and_then(|id| encoder.vocabulary().control_token(*id)).is_some_and(|text| text == closer);
    let cut = ends && random.once_in(4);
    if cut {
        ids.pop();
    }
    Ok(Some((ids, !cut)))
}

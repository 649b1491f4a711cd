//! Samples in llama.cpp under a grammar, and parses the tokens while they arrive.
//!
//! ```text
//! cargo run --release --example sample -- model.gguf "What is the weather in Paris?"
//! cargo run --release --example sample
//! ```
//!
//! With a model file, the model decides whether it calls a tool: the grammar is lazy, and applies from the text that announces a
//! call. Without one, a model with random weights *must* call a tool, so the grammar applies from the first token. Its call is
//! nonsense, and valid.

use std::error::Error;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::logit_bias::LlamaLogitBias;
use llama_cpp_2::token_type::LlamaTokenAttr;
use serde_json::json;
use unjinja_dynamic::{Conversation, Grammar, GrammarOptions, Model, ToolChoice};
use unjinja_engine::{RandomModel, Vocabulary, backend};
use unjinja_runtime::{Event, Message, Options, Token, Tools, Trigger};

/// The most tokens that the model may write.
const LIMIT: usize = 2048;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().map(PathBuf::from);
    let question = arguments.next().unwrap_or_else(|| "What is the weather in Paris?".to_owned());
    let message = run(file.as_deref(), &question, print)?;
    println!("\n{} calls", message.tool_calls.len());
    Ok(())
}

/// Prints a piece of the message as soon as it is there.
fn print(event: &Event<'_>) {
    match event {
        Event::Reasoning(text) | Event::Content(text) => print!("{text}"),
        Event::ToolCallStart { name, .. } => print!("\n{name} "),
        Event::ToolCallArguments { json, .. } => print!("{json}"),
        _ => {}
    }
}

/// Asks the model of a file, or a random model without a file. `show` gets the pieces of the message.
pub fn run(file: Option<&Path>, question: &str, mut show: impl FnMut(&Event<'_>)) -> Result<Message, Box<dyn Error>> {
    let tools = json!([{"type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "maxLength": 40},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
        }, "required": ["city"], "additionalProperties": false},
    }}]);

    // The chat template, and the model itself.
    let (chat, llama, choice, biases) = match file {
        Some(path) => {
            let llama = LlamaModel::load_from_file(backend()?, path, &LlamaModelParams::default())?;
            (Model::from_gguf(path)?, llama, ToolChoice::Auto, Vec::new())
        }
        None => random()?,
    };

    // The prompt, what the parser has to know of it, and the grammar.
    let conversation = Conversation::new(json!([{"role": "user", "content": question}])).tools(tools.clone());
    let prompt = chat.prompt(&conversation.thinking(false))?;
    let tools = Tools::from_openai(&tools)?;
    let options = Options::new().tools(&tools).thinking(false).generation_prompt(prompt.turn());
    let grammar = GrammarOptions::new().tool_choice(choice).thinking(false).generation_prompt(prompt.turn());
    let grammar = chat.grammar(&tools, &grammar)?;

    // The sampler: the grammar rules tokens out, then one of the others is drawn.
    let vocabulary = llama.vocab();
    let mut samplers = vec![LlamaSampler::logit_bias(vocabulary.n_tokens(), &biases)];
    samplers.extend(constrained(&llama, &grammar)?);
    samplers.extend([LlamaSampler::temp(0.8), LlamaSampler::dist(7)]);
    let mut sampler = LlamaSampler::chain_simple(samplers);

    // Most templates write the token that begins a text themselves.
    let tokens = vocabulary.tokenize(prompt.text().as_bytes(), false, true);
    let size = u32::try_from(tokens.len() + LIMIT)?;
    let mut parameters = LlamaContextParams::default().with_n_ctx(NonZeroU32::new(size)).with_n_batch(size);
    if file.is_none() {
        // With so little to compute, threads would only wait for each other.
        parameters = parameters.with_n_threads(1).with_n_threads_batch(1);
    }
    let mut context = llama.new_context(backend()?, parameters)?;
    let mut batch = LlamaBatch::new(tokens.len().max(1), 1);
    batch.add_sequence(&tokens, 0, false)?;

    let mut stream = chat.stream(&options);
    let mut message = Message::default();
    let mut take = |event: Event<'_>| {
        show(&event);
        message.apply(&event);
    };
    for at in tokens.len()..tokens.len() + LIMIT {
        context.decode(&mut batch)?;
        // This also tells the grammar which token was chosen.
        let token = sampler.sample(&context, batch.n_tokens() - 1);
        if vocabulary.is_eog(token) {
            break;
        }
        let special = vocabulary.is_control(token) || vocabulary.attr(token).contains(LlamaTokenAttr::UserDefined);
        // A token may end inside a character: the parser takes bytes.
        let bytes: Vec<u8> = vocabulary.token_to_piece(token, true, None);
        let pushed = if special { Token::special(&bytes[..]) } else { Token::text(&bytes[..]) };
        stream.push_token(pushed, &mut take);
        batch.clear();
        batch.add(token, i32::try_from(at)?, &[0], true)?;
    }
    stream.finish(&mut take);
    Ok(message)
}

/// The sampler of a grammar; none if the grammar allows everything.
fn constrained(llama: &LlamaModel, grammar: &Grammar) -> Result<Option<LlamaSampler>, Box<dyn Error>> {
    if grammar.text.is_empty() {
        return Ok(None);
    }
    let tokens = |text: &str| llama.vocab().tokenize(text.as_bytes(), false, true);
    if !grammar.lazy {
        let mut sampler = LlamaSampler::grammar(llama, &grammar.text, "root")?;
        // What the prompt already has of the text that the grammar describes.
        for token in tokens(&grammar.prefill) {
            sampler.try_accept(token)?;
        }
        return Ok(Some(sampler));
    }
    // A trigger that is one token of the model is given as this token, any other one as a regular expression.
    let (mut patterns, mut single) = (Vec::new(), Vec::new());
    for trigger in &grammar.triggers {
        match trigger {
            Trigger::Pattern(pattern) => patterns.push(pattern.to_string()),
            Trigger::Word(word) => match tokens(word)[..] {
                [token] => single.push(token),
                _ => patterns.push(unjinja_engine::Trigger::Word(word.to_string()).pattern()),
            },
        }
    }
    Ok(Some(LlamaSampler::grammar_lazy_patterns(llama, &grammar.text, "root", &patterns, &single)?))
}

type Asked = (Model, LlamaModel, ToolChoice, Vec<LlamaLogitBias>);

/// A model with random weights and the tokens of a template. Some tokens are made likelier, because it would write hundreds of
/// others before a call; and some are ruled out that no trained model writes.
fn random() -> Result<Asked, Box<dyn Error>> {
    let chat = Model::from_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates/qwen3.jinja"))?;
    let grammar = chat.grammar_for_any(&GrammarOptions::new())?;
    let vocabulary = Vocabulary { ends: &grammar.stops, special: &grammar.preserved_tokens, words: &[] };
    let file = std::env::temp_dir().join(format!("unjinja-sample-{}.gguf", std::process::id()));
    RandomModel::write(&file, vocabulary, 1)?;
    let llama = LlamaModel::load_from_file(backend()?, &file, &LlamaModelParams::default());
    std::fs::remove_file(&file)?;
    let llama = llama?;
    let openers =
        grammar.triggers.iter().flat_map(|trigger| llama.vocab().tokenize(trigger.value().as_bytes(), false, true));
    let likelier = openers.chain([LlamaToken::new(llama.vocab().eos().0)]).map(|token| (token, 6.0));
    let never = RandomModel::never_written().into_iter().map(|token| (token, f32::NEG_INFINITY));
    let biases = likelier.chain(never).map(|(token, bias)| LlamaLogitBias::new(token, bias)).collect();
    Ok((chat, llama, ToolChoice::Required, biases))
}

//! Where the model's output begins: nothing of a prompt becomes a part of the message, however the conversation goes. And how the
//! prompt begins: with one BOS, whoever writes it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Loader, Message, SpecialTokens};
use unjinja_server::http::{Bos, Config, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig};
use unjinja_server::openai::ChatRequest;
use unjinja_server::{CallIds, TemplateNeeds};
use unjinja_testkit::{corpus, root};

use super::replay::Replay;
use super::setup::{Failure, Running};

/// Templates of the project and of the corpus.
fn templates() -> Result<Vec<PathBuf>, Failure> {
    let mut folders = vec![root().join("templates")];
    // Without a corpus, only the project's own templates are tried.
    if let Some(corpus) = corpus().map_err(|error| error.to_string())? {
        folders.extend(["templates", "wild"].map(|name| corpus.join(name)));
    }
    let mut files = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    files.sort();
    Ok(files)
}

/// Conversations that end where the model is to answer.
fn conversations(id: &str) -> Vec<(&'static str, Value)> {
    let user = |text: &str| json!({"role": "user", "content": text});
    let function = json!({"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"});
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": id, "type": "function", "function": function}]});
    let result = json!({"role": "tool", "tool_call_id": id, "content": "Sunshine."});
    vec![
        ("a question", json!([user("Rain?")])),
        ("a greeting before the question", json!([{"role": "assistant", "content": "Hello."}, user("Rain?")])),
        ("a second question", json!([user("Hi."), {"role": "assistant", "content": "Hello."}, user("Rain?")])),
        ("the result of a call", json!([user("Rain?"), call, result])),
    ]
}

#[test]
fn no_part_of_a_prompt_is_taken_for_output() -> Result<(), Failure> {
    let (mut problems, mut tried) = (Vec::new(), 0);
    for path in templates()? {
        let tokens =
            SpecialTokens { bos: Some("<s>".to_owned()), eos: Some("</s>".to_owned()), ..SpecialTokens::default() };
        let Ok(model) = Loader::new().tokens(tokens).from_file(&path) else { continue };
        if !model.status().makes_parser() {
            continue;
        }
        let needs =
            TemplateNeeds::of(model.spec()).tried(|context| model.render(&Conversation::from_context(context)).ok());
        let id = CallIds::new(needs.ids.clone()).next("get_weather", None);
        for (what, messages) in conversations(&id) {
            let tool = json!({"type": "function", "function": {"name": "get_weather", "description": "The weather.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}}});
            let request = json!({"model": "m", "messages": messages, "tools": [tool]});
            let prepared = ChatRequest::from_value(&request)?.prepare(&needs)?;
            // A template may refuse a conversation.
            let Ok(prompt) = model.prompt(&Conversation::from_context(&prepared.context)) else { continue };
            tried += 1;
            let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let message = model.parse("", &prepared.prompt(prompt.turn()).options);
            let empty = Message { diagnostics: message.diagnostics.clone(), ..Message::default() };
            if message != empty {
                problems.push(format!("{place}: {what}: {message:?} from {:?}", prompt.turn()));
            }
        }
    }
    assert!(tried > 100, "{tried} prompts are too few to show anything");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
    Ok(())
}

/// A template that begins prompts with BOS.
const WRITES_BOS: &str = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

/// The files of a model, of which the first is loaded.
fn model(name: &str, files: &[(&str, &str)]) -> Result<ServedModel, Failure> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bos").join(name);
    fs::create_dir_all(&folder)?;
    for (file, text) in files {
        fs::write(folder.join(file), text)?;
    }
    Ok(ServedModel::new(name, Loader::new().known_formats().from_file(folder.join(files[0].0))?)?)
}

/// The prompt that the upstream gets, and what it is told about BOS.
async fn handed_over(model: ServedModel, api: UpstreamApi, bos: Bos) -> Result<(String, Value), Failure> {
    let name = model.name().to_owned();
    let outputs = [(name.clone(), vec!["Hi.".to_owned()])].into();
    let replay = Replay { outputs, asked: Some(Default::default()), ..Replay::default() };
    let proxy = Running::start(replay, vec![model], api, |config| config.upstream.bos = bos).await?;
    let body = json!({"model": name, "messages": [{"role": "user", "content": "Hello"}]});
    let (status, answer) = proxy.json("/v1/chat/completions", &body).await?;
    if status != 200 {
        return Err(answer.to_string().into());
    }
    let asked = proxy.replay.last();
    Ok((asked["prompt"].as_str().unwrap_or_default().to_owned(), asked["add_special_tokens"].clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_prompt_has_one_bos() -> Result<(), Failure> {
    let config = json!({"bos_token": "<s>", "chat_template": WRITES_BOS}).to_string();
    let tokens = json!({"bos_token": {"content": "<s>"}}).to_string();
    let without = json!({"bos_token": null, "added_tokens_decoder": {}, "chat_template": WRITES_BOS}).to_string();
    let (with_bos, no_bos) = ("<s><|user|>Hello<|end|><|assistant|>", "<|user|>Hello<|end|><|assistant|>");
    let known = [
        model("config", &[("tokenizer_config.json", &config)])?,
        model("beside", &[("chat_template.jinja", WRITES_BOS), ("tokenizer_config.json", &tokens)])?,
        model("own_name", &[("corrected.jinja", WRITES_BOS), ("tokenizer_config.json", &tokens)])?,
    ];
    for model in known {
        let name = model.name().to_owned();
        assert!(!model.lacks_bos(), "{name}");
        for (api, bos, prompt, adds) in [
            (UpstreamApi::OpenAi, Bos::Auto, with_bos, json!(false)),
            (UpstreamApi::OpenAi, Bos::Template, with_bos, json!(false)),
            (UpstreamApi::OpenAi, Bos::Upstream, no_bos, json!(true)),
            // The upstream of the tests says that it adds one.
            (UpstreamApi::LlamaCpp, Bos::Auto, no_bos, Value::Null),
            (UpstreamApi::LlamaCpp, Bos::Template, with_bos, Value::Null),
        ] {
            let handed = handed_over(model.clone(), api, bos).await?;
            assert_eq!(handed, (prompt.to_owned(), adds), "{name}, {api:?}, {bos:?}");
        }
    }
    // Nobody says what BOS is: the upstream knows.
    let alone = model("alone", &[("chat_template.jinja", WRITES_BOS)])?;
    assert!(alone.lacks_bos() && alone.lost_tokens().is_empty());
    for bos in [Bos::Auto, Bos::Upstream] {
        let handed = handed_over(alone.clone(), UpstreamApi::OpenAi, bos).await?;
        assert_eq!(handed, (no_bos.to_owned(), json!(true)), "{bos:?}");
    }
    // Unless it adds none: nothing in the prompt would show it.
    let (url, _upstream) = Replay { adds_no_bos: true, ..Replay::default() }.start().await?;
    let config = Config::new(UpstreamConfig::new(&url, UpstreamApi::LlamaCpp)?);
    let proxy = Proxy::new(config, Models::new(vec![alone.clone()])?)?;
    let problem = proxy.upstream_problem().await.unwrap_or_default();
    assert!(problem.starts_with("it adds no BOS, and the template of alone does not say what BOS is"), "{problem}");
    let mut config = Config::new(UpstreamConfig::new(&url, UpstreamApi::OpenAi)?);
    config.upstream.bos = Bos::Template;
    let error = Proxy::new(config, Models::new(vec![alone])?).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        error.starts_with("alone: the template writes bos_token, and this file does not say what that is"),
        "{error}"
    );
    // A tokenizer without BOS: the prompt needs none.
    let without = model("without", &[("tokenizer_config.json", &without)])?;
    assert!(!without.lacks_bos());
    let handed = handed_over(without, UpstreamApi::OpenAi, Bos::Auto).await?;
    assert_eq!(handed, (no_bos.to_owned(), json!(false)));
    Ok(())
}

#[test]
fn tokens_that_prompts_lack_are_named() -> Result<(), Failure> {
    let ends = WRITES_BOS.replace("<|end|>", "{{ eos_token }}");
    let everywhere = format!("{}{{% if true %}}{WRITES_BOS}{{% endif %}}", "{{ bos_token }}");
    let lost = |name: &str, template: &str| -> Result<(bool, Vec<String>), Failure> {
        let model = model(name, &[("chat_template.jinja", template)])?;
        Ok((model.lacks_bos(), model.lost_tokens().to_vec()))
    };
    assert_eq!(lost("ends", &ends)?, (true, vec!["eos_token".to_owned()]));
    assert_eq!(lost("everywhere", &everywhere)?, (true, vec!["bos_token".to_owned()]));
    // It cannot be rendered without tools.
    let refuses = format!("{WRITES_BOS}{{{{ '' + functions }}}}");
    assert_eq!(lost("refuses", &refuses)?, (true, Vec::new()));
    assert_eq!(lost("none", &WRITES_BOS.replace("{{ bos_token }}", "<s>"))?, (false, Vec::new()));
    Ok(())
}

/// The specs of supported models have no BOS: it comes from the tokenizer's file all the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_bos_of_a_supported_model_is_written_once() -> Result<(), Failure> {
    let Some(corpus) = corpus().map_err(|error| error.to_string())? else {
        eprintln!("SKIPPED: there is no corpus");
        return Ok(());
    };
    let mut tried = 0;
    for spec in unjinja_dynamic::known_specs() {
        let text = fs::read_to_string(corpus.join("templates").join(&spec.template.file))?;
        let config = json!({"bos_token": "<s>", "eos_token": "</s>", "chat_template": text}).to_string();
        let model = model(&spec.template.name, &[("tokenizer_config.json", &config)])?;
        // A template may refuse the conversation.
        let Ok((prompt, _)) = handed_over(model.clone(), UpstreamApi::OpenAi, Bos::Auto).await else { continue };
        let (rest, _) = handed_over(model, UpstreamApi::LlamaCpp, Bos::Auto).await?;
        assert_eq!(rest, prompt.strip_prefix("<s>").unwrap_or(&prompt), "{}", spec.template.name);
        tried += usize::from(rest != prompt);
    }
    assert!(tried >= 10, "{tried} templates write BOS");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_gets_what_transformers_gives_it() -> Result<(), Failure> {
    let asks = "{{ 'no tools' if tools is none }} {{ 'no documents' if documents is none }} {{ sep_token }} ";
    let config = json!({"sep_token": "<sep>", "chat_template": format!("{asks}{WRITES_BOS}")}).to_string();
    let model = model("variables", &[("tokenizer_config.json", &config)])?;
    let (prompt, _) = handed_over(model, UpstreamApi::OpenAi, Bos::Auto).await?;
    assert_eq!(prompt, "no tools no documents <sep> <|user|>Hello<|end|><|assistant|>");
    Ok(())
}

//! Where the model's output begins: nothing of a prompt becomes a part of the message, however the conversation goes. And how the
//! prompt begins: with one BOS, whoever writes it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Loader, Message, SpecialTokens};
use unjinja_server::CallIds;
use unjinja_server::http::{Bos, Config, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig};
use unjinja_server::openai::ChatRequest;
use unjinja_testkit::{corpus, root};

use super::replay::Replay;
use super::setup::{Failure, Running};

/// Templates of the project and of the corpus.
pub(super) fn templates() -> Result<Vec<PathBuf>, Failure> {
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
        let id = CallIds::of(model.spec()).next("get_weather", None);
        for (what, messages) in conversations(&id) {
            let tool = json!({"type": "function", "function": {"name": "get_weather", "description": "The weather.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}}});
            let request = json!({"model": "m", "messages": messages, "tools": [tool]});
            let prepared = ChatRequest::from_value(&request)?.prepare(model.spec())?;
            // A template may refuse a conversation.
            let Ok(prompt) = model.prompt(&Conversation::from_context(&prepared.context)) else { continue };
            tried += 1;
            let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let message = model.parse("", &prepared.prompt(prompt.turn()).options);
            let mut empty = Message::default();
            empty.diagnostics.clone_from(&message.diagnostics);
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
pub(super) fn served(name: &str, files: &[(&str, &str)]) -> Result<ServedModel, Failure> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bos").join(name);
    fs::create_dir_all(&folder)?;
    for (file, text) in files {
        fs::write(folder.join(file), text)?;
    }
    Ok(ServedModel::new(name, Loader::new().from_file(folder.join(files[0].0))?)?)
}

/// The prompt that the upstream gets for a request, and what it is told about BOS.
async fn asked(
    model: ServedModel,
    replay: Replay,
    api: UpstreamApi,
    bos: Bos,
    request: Value,
) -> Result<(String, Value), Failure> {
    let outputs = [(model.name().to_owned(), vec!["Hi.".to_owned()])].into();
    let mut body = json!({"model": model.name(), "messages": [{"role": "user", "content": "Hello"}]});
    body.as_object_mut().into_iter().for_each(|body| body.extend(request.as_object().cloned().unwrap_or_default()));
    let replay = Replay { outputs, asked: Some(Default::default()), ..replay };
    let proxy = Running::start(replay, vec![model], api, |config| config.upstream.bos = bos).await?;
    let (status, answer) = proxy.json("/v1/chat/completions", &body).await?;
    if status != 200 {
        return Err(answer.to_string().into());
    }
    let asked = proxy.replay.last();
    Ok((asked["prompt"].as_str().unwrap_or_default().to_owned(), asked["add_special_tokens"].clone()))
}

/// The same for a question alone.
async fn handed_over(model: ServedModel, api: UpstreamApi, bos: Bos) -> Result<(String, Value), Failure> {
    asked(model, Replay::default(), api, bos, json!({})).await
}

/// How templates begin prompts with BOS.
const BEGIN: [(&str, &str); 6] = [
    ("alone", "{{ bos_token }}<|begin|>"),
    ("concatenated", "{{ bos_token + '<|begin|>' }}"),
    ("if_defined", "{% if bos_token is defined %}{{ bos_token }}{% endif %}<|begin|>"),
    ("if_true", "{% if bos_token %}{{ bos_token }}{% endif %}<|begin|>"),
    ("or_empty", "{% set bos_token = bos_token or '' %}{{ bos_token + '<|begin|>' }}"),
    ("or_its_own", "{{ bos_token if bos_token is defined else '<s>' }}<|begin|>"),
];

/// Who puts BOS before a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// The template.
    Template,
    /// The upstream.
    Upstream,
    /// Nobody: the proxy does not start.
    Nobody,
}
use By::{Nobody, Template, Upstream};

/// A token that is known or not, and who begins prompts with BOS; then, for each of the [`upstreams`], who puts BOS before a prompt, and
/// what the operator is told, if prompts begin with none or two or this is not known.
type Beginning = (bool, Bos, [(By, &'static str); 4]);
const BEGINNINGS: [Beginning; 6] = [
    (true, Bos::Auto, [(Template, ""), (Upstream, ""), (Template, ""), (Upstream, "say it with --bos upstream or")]),
    (true, Bos::Template, [(Template, ""), (Template, "prompts begin with two"), (Template, ""), (Template, "")]),
    (true, Bos::Upstream, [(Upstream, ""), (Upstream, ""), (Upstream, "choose --bos auto"), (Upstream, "")]),
    (
        false,
        Bos::Auto,
        [(Upstream, ""), (Upstream, ""), (Upstream, "give the model's"), (Upstream, "say it with --bos upstream or")],
    ),
    (false, Bos::Template, [(Nobody, "let the upstream add the token"); 4]),
    (false, Bos::Upstream, [(Upstream, ""), (Upstream, ""), (Upstream, "give the model's"), (Upstream, "")]),
];

/// One that is told whether to add BOS; llama.cpp that adds it, that adds none, and that does not say what it does.
fn upstreams() -> [(UpstreamApi, Replay); 4] {
    let (adds_none, hides) =
        (Replay { adds_no_bos: true, ..Replay::default() }, Replay { hides_bos: true, ..Replay::default() });
    let llama = UpstreamApi::LlamaCpp;
    [(UpstreamApi::OpenAi, Replay::default()), (llama, Replay::default()), (llama, adds_none), (llama, hides)]
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_have_one_bos_or_the_operator_is_told() -> Result<(), Failure> {
    let rest = "<|begin|><|user|>Hello<|end|><|assistant|>";
    for (name, begin) in BEGIN {
        let template = WRITES_BOS.replace("{{ bos_token }}", begin);
        let tokens = json!({"bos_token": "<s>"}).to_string();
        for (is_known, bos, expected) in BEGINNINGS {
            let mut files = vec![("chat_template.jinja", template.as_str())];
            files.extend(is_known.then_some(("tokenizer_config.json", tokens.as_str())));
            let model = served(&format!("{name}_{is_known}"), &files)?;
            assert_eq!((model.lacks_bos(), model.lost_tokens()), (!is_known, &[][..]), "{name}");
            // Which BOS the upstream adds depends on no template, so one sees them all.
            let count = if name == "concatenated" { 4 } else { 1 };
            for ((api, replay), (by, told)) in upstreams().into_iter().zip(expected).take(count) {
                let place = format!("{name}, known: {is_known}, {bos:?}, {api:?}, {by:?}");
                let (hides_bos, adds_no_bos) = (replay.hides_bos, replay.adds_no_bos);
                let (url, _upstream) = Replay { hides_bos, adds_no_bos, ..Replay::default() }.start().await?;
                let mut config = Config::new(UpstreamConfig::new(&url, api)?);
                config.upstream.bos = bos;
                let said = match Proxy::new(config, Models::new(vec![model.clone()])?) {
                    Ok(proxy) => proxy.upstream_problem().await.unwrap_or_default(),
                    Err(error) => {
                        assert_eq!(by, Nobody, "{place}: {error}");
                        error.to_string()
                    }
                };
                assert!(said.contains(told) && said.is_empty() == told.is_empty(), "{place}: {said:?}");
                if by == Nobody {
                    continue;
                }
                let (prompt, adds) = asked(model.clone(), replay, api, bos, json!({})).await?;
                let written = if by == Template { "<s>" } else { "" };
                assert_eq!(prompt, format!("{written}{rest}"), "{place}");
                let is_told = if api == UpstreamApi::OpenAi { json!(by == Upstream) } else { Value::Null };
                assert_eq!(adds, is_told, "{place}");
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_model_say_what_bos_is() -> Result<(), Failure> {
    let config = json!({"bos_token": "<s>", "chat_template": WRITES_BOS}).to_string();
    let tokens = json!({"bos_token": {"content": "<s>"}}).to_string();
    let none = json!({"bos_token": null, "added_tokens_decoder": {}, "chat_template": WRITES_BOS}).to_string();
    let rest = "<|user|>Hello<|end|><|assistant|>";
    for (name, files, bos) in [
        ("config", vec![("tokenizer_config.json", config.as_str())], "<s>"),
        ("next_to", vec![("chat_template.jinja", WRITES_BOS), ("tokenizer_config.json", &tokens)], "<s>"),
        ("own_name", vec![("corrected.jinja", WRITES_BOS), ("tokenizer_config.json", &tokens)], "<s>"),
        // A tokenizer without BOS: the prompt needs none.
        ("without", vec![("tokenizer_config.json", none.as_str())], ""),
    ] {
        let model = served(name, &files)?;
        assert!(!model.lacks_bos(), "{name}");
        let handed = handed_over(model, UpstreamApi::OpenAi, Bos::Auto).await?;
        assert_eq!(handed, (format!("{bos}{rest}"), json!(false)), "{name}");
    }
    // The template is refused by transformers, too.
    let none = json!({"bos_token": null, "eos_token": "</s>", "chat_template": WRITES_BOS.replace("{{ bos_token }}", "{{ bos_token + '' }}")});
    let error = served("needs_bos", &[("tokenizer_config.json", &none.to_string())]).err();
    let error = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(error.starts_with("needs_bos: the template cannot be rendered without bos_token"), "{error}");
    Ok(())
}

#[test]
fn tokens_that_prompts_lack_are_named() -> Result<(), Failure> {
    let with = |more: &str| format!("{WRITES_BOS}{more}");
    let eos = &["eos_token"][..];
    for (name, template, lacks_bos, lost) in [
        ("written", WRITES_BOS.replace("<|end|>", "{{ eos_token }}"), true, eos),
        ("only_concatenated", WRITES_BOS.replace("m.content", "m.content + eos_token"), true, eos),
        ("after_calls_only", with("{% if messages[-1].role == 'none' %}{{ 'x' + eos_token }}{% endif %}"), true, eos),
        ("only_decides", with("{% if eos_token is defined %}!{% endif %}"), true, eos),
        ("several", with("{{ eos_token }}{{ pad_token }}"), true, &["eos_token", "pad_token"]),
        ("set_by_the_template", format!("{{% set eos_token = '<e>' %}}{}", with("{{ eos_token }}")), true, &[]),
        ("bos_everywhere", format!("{}{WRITES_BOS}", "{{ bos_token }}"), true, &["bos_token"]),
        (
            "bos_only_decides",
            WRITES_BOS.replace("{{ bos_token }}", "{% if bos_token %}!{% endif %}"),
            false,
            &["bos_token"],
        ),
        // It cannot be rendered without a variable that requests may send.
        ("refuses", with("{{ '' + datetime }}"), true, &[]),
        ("reads_none", WRITES_BOS.replace("{{ bos_token }}", "<s>"), false, &[]),
    ] {
        let model = served(name, &[("chat_template.jinja", &template)])?;
        assert_eq!(
            (model.lacks_bos(), model.lost_tokens()),
            (lacks_bos, &lost.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()[..]),
            "{name}"
        );
        let refusal = (name == "refuses").then_some("'datetime' is undefined (line 1)");
        assert_eq!(model.refusal(), refusal, "{name}");
    }
    Ok(())
}

/// A template without its tokenizer decides as it does with the token, and no placeholder for the token remains.
#[tokio::test(flavor = "multi_thread")]
async fn prompts_lack_unknown_tokens_and_nothing_else() -> Result<(), Failure> {
    let template = WRITES_BOS.replace("{{ bos_token }}", "{{ bos_token + functions + datetime }}");
    let template =
        template.replace("<|end|>", "{% if eos_token in m.content %}?{% else %}{{ '|' + eos_token }}{% endif %}");
    let model = served("decides", &[("chat_template.jinja", &template)])?;
    let messages = json!([{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}]);
    let request = json!({"messages": messages, "chat_template_kwargs": {"datetime": "Today."}});
    let (prompt, adds) = asked(model, Replay::default(), UpstreamApi::OpenAi, Bos::Auto, request).await?;
    assert_eq!(prompt, "[]Today.<|user|>A|<|assistant|>B|<|user|>C|<|assistant|>");
    assert_eq!(adds, json!(true));
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
        let text = unjinja_testkit::released_template(&corpus, &spec.template.sha256).map_err(|e| e.to_string())?;
        let config = json!({"bos_token": "<s>", "eos_token": "</s>", "chat_template": text}).to_string();
        let model = served(&spec.template.name, &[("tokenizer_config.json", &config)])?;
        // A template may refuse the conversation.
        let Ok((prompt, _)) = handed_over(model.clone(), UpstreamApi::OpenAi, Bos::Auto).await else { continue };
        let (rest, _) = handed_over(model, UpstreamApi::LlamaCpp, Bos::Auto).await?;
        assert_eq!(rest, prompt.strip_prefix("<s>").unwrap_or(&prompt), "{}", spec.template.name);
        // The same template without its tokenizer: the upstream adds BOS where the template writes it, unless that spells the text
        // itself.
        let alone = served(&format!("{}_alone", spec.template.name), &[("chat_template.jinja", &text)])?;
        let handed = handed_over(alone, UpstreamApi::OpenAi, Bos::Auto).await?;
        let writes_bos = rest != prompt;
        let spelled = writes_bos && handed.0.starts_with("<s>");
        let expected = if spelled { &prompt } else { &rest };
        assert_eq!(handed, (expected.replace("</s>", ""), json!(writes_bos && !spelled)), "{}", spec.template.name);
        tried += usize::from(writes_bos);
    }
    assert!(tried >= 20, "{tried} templates write BOS");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_gets_what_transformers_gives_it() -> Result<(), Failure> {
    let asks = "{{ 'no tools' if tools is none }} {{ 'no documents' if documents is none }} {{ sep_token }} ";
    let config = json!({"sep_token": "<sep>", "chat_template": format!("{asks}{WRITES_BOS}")}).to_string();
    let model = served("variables", &[("tokenizer_config.json", &config)])?;
    let (prompt, _) = handed_over(model, UpstreamApi::OpenAi, Bos::Auto).await?;
    assert_eq!(prompt, "no tools no documents <sep> <|user|>Hello<|end|><|assistant|>");
    Ok(())
}

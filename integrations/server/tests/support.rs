//! Helpers of the tests: the project's own templates with their parsers and cases, and what clients assemble from a stream.

use std::error::Error;
use std::fs;

use serde_json::{Map, Value, json};
use unjinja_analyzer::{Naming, analyze};
use unjinja_render::{SpecialTokens, Template};
use unjinja_runtime::{ChatParser, Event, Interpreter, Message, Options, Tools, Unparsed};
use unjinja_server::anthropic::StreamEvent;
use unjinja_server::openai::ChatCompletionChunk;
use unjinja_spec::FormatSpec;
use unjinja_testkit::random::Random;
use unjinja_testkit::root;

pub type Failure = Box<dyn Error>;

/// A template with what is derived from it.
pub struct Model {
    pub name: String,
    pub template: Template,
    pub spec: FormatSpec,
    pub parser: Interpreter,
}

/// The spec of a template that needs nothing special.
pub fn spec() -> FormatSpec {
    let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
    FormatSpec::from_toml(&toml, "a.toml").expect("a small spec is valid")
}

/// The project's own templates that make a parser.
pub fn models() -> Result<Vec<Model>, Failure> {
    let mut models = Vec::new();
    for entry in fs::read_dir(root().join("templates"))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".jinja") else { continue };
        let tokens = SpecialTokens { bos: Some(String::new()), eos: Some(String::new()), ..SpecialTokens::default() };
        let template = Template::parse(&file, &fs::read_to_string(&path)?)?.with_tokens(tokens);
        let spec = analyze(&template, &Naming::of_file(&file))?;
        if !spec.status.makes_parser() {
            continue;
        }
        let parser = unjinja_codegen::interpreter(&spec)?;
        models.push(Model { name: name.to_owned(), template, spec, parser });
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(models.len() > 30, "only {} templates make a parser", models.len());
    Ok(models)
}

/// The tools of the cases, as OpenAI has them.
pub fn tools_json() -> Result<Value, Failure> {
    Ok(serde_json::from_str(&fs::read_to_string(root().join("tests/cases/tools.json"))?)?)
}

/// An output of a model, and how to parse it.
pub struct Output {
    pub text: String,
    pub options: Options,
}

/// The outputs in the cases of a template.
pub fn outputs(name: &str) -> Result<Vec<Output>, Failure> {
    let path = root().join(format!("tests/cases/{name}.toml"));
    let cases: toml::Table = fs::read_to_string(path)?.parse()?;
    let tools = Tools::from_openai(&tools_json()?)?;
    let mut outputs = Vec::new();
    for case in cases.get("case").and_then(toml::Value::as_array).into_iter().flatten() {
        let flag = |key: &str| case.get(key).and_then(toml::Value::as_bool);
        let text = |key: &str| case.get(key).and_then(toml::Value::as_str);
        let mut options = Options::new().unparsed(Unparsed::Separate);
        if flag("tools") != Some(false) {
            options = options.tools(&tools);
        }
        if let Some(on) = flag("thinking") {
            options = options.thinking(on);
        }
        if let Some(prompt) = text("generation_prompt") {
            options = options.generation_prompt(prompt);
        }
        outputs.push(Output { text: text("output").ok_or("a case without an output")?.to_owned(), options });
    }
    Ok(outputs)
}

/// Cuts a text at random characters.
pub fn cut<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let from = 1 + random.below(12);
        let at = (from..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Parses an output in random pieces. Returns the message too.
pub fn stream(
    parser: &dyn ChatParser,
    output: &Output,
    random: &mut Random,
    sink: &mut dyn FnMut(&Event<'_>),
) -> Message {
    let mut message = Message::default();
    let mut stream = parser.stream(&output.options);
    let mut both = |event: Event<'_>| {
        message.apply(&event);
        sink(&event);
    };
    for piece in cut(&output.text, random) {
        stream.push(piece, &mut both);
    }
    stream.finish(&mut both);
    message
}

/// What OpenAI's Python client does: texts are appended, items of lists are found by their index.
fn accumulate(all: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (key, more) in delta {
        match all.get_mut(key) {
            None | Some(Value::Null)
                if !more.as_array().is_some_and(|list| list.iter().any(|one| one.get("index").is_some())) =>
            {
                all.insert(key.clone(), more.clone());
            }
            None | Some(Value::Null) => {
                all.insert(key.clone(), json!([]));
                let one = Map::from_iter([(key.clone(), more.clone())]);
                accumulate(all, &one);
            }
            Some(known) if key == "index" || key == "type" => *known = more.clone(),
            Some(Value::String(known)) => known.push_str(more.as_str().expect("a text")),
            Some(Value::Object(known)) => accumulate(known, more.as_object().expect("an object")),
            Some(Value::Array(known)) => {
                for one in more.as_array().expect("a list") {
                    let index = one["index"].as_u64().expect("an index") as usize;
                    match known.get_mut(index) {
                        Some(item) => {
                            accumulate(item.as_object_mut().expect("an object"), one.as_object().expect("an object"))
                        }
                        None => known.push(one.clone()),
                    }
                }
            }
            Some(other) => panic!("{other} and {more} cannot be added"),
        }
    }
}

/// A completion that a client assembled from chunks.
#[derive(Debug, Default)]
pub struct Completion {
    pub message: Value,
    pub finish_reason: Value,
    pub usage: Value,
}

/// Assembles chunks as OpenAI's client does, from their JSON.
pub fn assemble_chunks(chunks: &[ChatCompletionChunk]) -> Completion {
    let mut message = Map::new();
    let mut completion = Completion::default();
    for (at, chunk) in chunks.iter().enumerate() {
        let json = serde_json::to_value(chunk).expect("chunks are JSON");
        let back: ChatCompletionChunk = serde_json::from_value(json.clone()).expect("chunks can be read");
        assert_eq!(&back, chunk);
        assert_eq!((&json["object"], &json["id"]), (&json!("chat.completion.chunk"), &json!(chunks[0].id)));
        completion.usage = json["usage"].clone();
        for choice in json["choices"].as_array().expect("a list") {
            let delta = choice["delta"].as_object().expect("an object");
            assert_eq!(delta.contains_key("role"), at == 0, "the role is in the first chunk only");
            accumulate(&mut message, delta);
            assert!(completion.finish_reason.is_null(), "nothing comes after the reason");
            completion.finish_reason = choice["finish_reason"].clone();
        }
    }
    // Clients take an absent content as null.
    message.entry("content").or_insert(Value::Null);
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        call.as_object_mut().expect("an object").remove("index");
    }
    completion.message = Value::Object(message);
    completion
}

/// Assembles events as Anthropic's client does, from their JSON. Checks that blocks do not overlap.
pub fn assemble_events(events: &[StreamEvent]) -> Value {
    let mut message = Value::Null;
    let (mut open, mut input) = (None, String::new());
    for event in events {
        let json = serde_json::to_value(event).expect("events are JSON");
        assert_eq!(&serde_json::from_value::<StreamEvent>(json.clone()).expect("events can be read"), event);
        assert_eq!(json["type"], event.name());
        let index = json["index"].as_u64().map(|at| at as usize);
        match event.name() {
            "message_start" => {
                assert!(message.is_null(), "the message starts once");
                message = json["message"].clone();
            }
            "content_block_start" => {
                let content = message["content"].as_array_mut().expect("a list");
                assert_eq!((index, open), (Some(content.len()), None), "blocks do not overlap");
                content.push(json["content_block"].clone());
                (open, input) = (index, String::new());
            }
            "content_block_delta" => {
                assert_eq!(index, open);
                let block = &mut message["content"][index.expect("an index")];
                let delta = &json["delta"];
                let (kind, field) = match delta["type"].as_str().expect("a type") {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    "signature_delta" => ("thinking", "signature"),
                    "input_json_delta" => ("tool_use", "partial_json"),
                    other => panic!("{other}"),
                };
                assert_eq!(block["type"], kind);
                let more = delta[field].as_str().expect("a text");
                if kind == "tool_use" {
                    input.push_str(more);
                } else {
                    let text = block[field].as_str().expect("a text").to_owned() + more;
                    block[field] = text.into();
                }
            }
            "content_block_stop" => {
                assert_eq!(index, open);
                let block = &mut message["content"][index.expect("an index")];
                if block["type"] == "tool_use" && !input.is_empty() {
                    block["input"] = serde_json::from_str(&input).expect("the input is JSON");
                }
                open = None;
            }
            "message_delta" => {
                assert_eq!(open, None, "all blocks have ended");
                for (key, value) in json["delta"].as_object().expect("an object") {
                    message[key] = value.clone();
                }
                message["usage"] = json["usage"].clone();
            }
            "message_stop" => assert_eq!(events.last(), Some(event)),
            other => panic!("{other}"),
        }
    }
    message
}

/// Takes the ids out of a message, so that two messages can be compared whose ids were made at random.
pub fn take_ids(message: &mut Value) -> Vec<String> {
    let calls = if message["tool_calls"].is_array() { &mut message["tool_calls"] } else { &mut message["content"] };
    let calls = calls.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
    calls.filter_map(|call| call.remove("id")).filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// The released templates of the corpus with their committed specs; nothing where there is no corpus.
pub fn released() -> Result<Vec<Model>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(Vec::new()) };
    let mut models = Vec::new();
    for (_, loaded) in unjinja_dynamic::specs_in(root().join("generated/specs"))? {
        let spec = loaded.spec;
        if !spec.status.makes_parser() {
            continue;
        }
        let text = unjinja_testkit::released_template(&corpus, &spec.template.sha256)?;
        let bos = Some(spec.tokens.bos.clone().unwrap_or_default());
        let eos = Some(spec.tokens.eos.clone().unwrap_or_default());
        let template = Template::parse(&spec.template.file, &text)?;
        let template = template.with_tokens(SpecialTokens { bos, eos, ..SpecialTokens::default() });
        let parser = unjinja_codegen::interpreter(&spec)?;
        models.push(Model { name: spec.template.name.clone(), template, spec, parser });
    }
    Ok(models)
}

/// Compares what the official client assembled of a response with the message.
pub fn responses(expected: &Message, found: &Value, place: &str) {
    let texts = [&found["content"], &found["reasoning"], &found["unparsed"]];
    assert_eq!(texts, [&expected.content, &expected.reasoning_content, &expected.unparsed], "{place}");
    let calls: Vec<&Value> = found["calls"].as_array().into_iter().flatten().collect();
    assert_eq!(calls.len(), expected.tool_calls.len(), "{place}");
    for (call, found) in expected.tool_calls.iter().zip(calls) {
        assert_eq!((&found["name"], &found["arguments"]), (&json!(call.name), &json!(call.arguments)), "{place}");
        assert!(found["id"].as_str().is_some_and(|id| !id.is_empty()), "{place}");
    }
}

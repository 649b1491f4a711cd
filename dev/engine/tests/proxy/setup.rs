//! Starts a proxy for a template, in front of a random model with the special tokens of the template, and judges its answers.

use std::path::Path;
use std::sync::Arc;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unjinja_dynamic::{GrammarOptions, Loader, Model, SpecialTokens};
use unjinja_engine::{RandomModel, Vocabulary};
use unjinja_grammar::ToolChoice;
use unjinja_runtime::Tools;
use unjinja_runtime::abi::{Action, State};
use unjinja_server::http::{Config, GrammarUse, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig};

use super::Failure;
use super::upstream::Upstream;

/// The most tokens of an answer.
pub const LIMIT: u32 = 1500;

/// A proxy that is running in front of a random model.
pub struct Running {
    pub name: String,
    pub url: String,
    pub upstream: Arc<Upstream>,
    /// The tools that requests offer, in OpenAI's form: those whose schemas the grammar of this format checks completely.
    pub tools: Value,
    /// Tokens that a random model would write too seldom, and how much likelier they are made.
    pub likelier: Vec<(String, f32)>,
    /// The texts that begin calls.
    pub openers: Vec<String>,
    client: Client,
}

/// Tools with bounded schemas.
pub fn tools() -> Value {
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}});
    json!([
        function("now", json!({"type": "object", "properties": {}, "additionalProperties": false})),
        function(
            "get_weather",
            json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string", "minLength": 1, "maxLength": 12},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14},
                    "unit": {"enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city", "unit"],
                "additionalProperties": false,
            })
        ),
        function(
            "note",
            json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "maxLength": 40},
                    "tag": {"type": ["string", "null"], "maxLength": 5},
                    "urgent": {"type": "boolean"},
                },
                "required": ["text"],
                "additionalProperties": false,
            })
        ),
        function(
            "book",
            json!({
                "type": "object",
                "properties": {
                    "guest": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
                        "required": ["name"],
                        "additionalProperties": false,
                    },
                    "nights": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 31}, "maxItems": 3},
                },
                "required": ["guest"],
                "additionalProperties": false,
            })
        ),
    ])
}

/// The names of all templates of this project.
pub fn templates() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jinja") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates")
}

impl Running {
    /// A proxy for one of the templates; `None` if its format has no calls.
    pub async fn start(name: &str) -> Result<Option<Self>, Failure> {
        let loader = Loader::new().tokens(SpecialTokens {
            bos: Some(String::new()),
            eos: Some(String::new()),
            ..SpecialTokens::default()
        });
        let model = loader.from_file(folder().join(format!("{name}.jinja")))?;
        let openers = openers(&model);
        if openers.is_empty() {
            return Ok(None);
        }
        let any = model.grammar_for_any(&GrammarOptions::new())?;
        let special: Vec<String> = any.preserved_tokens.iter().chain(&model.spec().tokens.preserved).cloned().collect();
        // llama.cpp takes some texts for the end of a turn wherever they are a token, such as `<|call|>`, with which calls begin
        // in two of the formats. In two pieces they are just text.
        let words: Vec<String> = openers.iter().flat_map(|opener| halves(opener)).chain(openers.clone()).collect();
        let vocabulary = Vocabulary { ends: &any.stops, special: &special, words: &words };
        let random = RandomModel::new(vocabulary, 1).map_err(|error| format!("{name}: {error}"))?;
        let (url, upstream) = Upstream::start(random).await?;
        let mut upstream_config = UpstreamConfig::new(&url, UpstreamApi::LlamaCpp)?;
        upstream_config.grammar = GrammarUse::Always;
        let mut config = Config::new(upstream_config);
        config.diagnostics = true;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let tools = checked_tools(&model)?;
        let proxy = Proxy::new(config, Models::new(vec![ServedModel::new(name, model)?])?)?;
        tokio::spawn(proxy.serve(listener, std::future::pending()));
        let client = Client::builder().no_proxy().build()?;
        let ends = any.stops.iter().cloned().chain(["</s>".to_owned()]).map(|end| (end, 8.0));
        let likelier = words.into_iter().map(|word| (word, 5.0)).chain(ends).collect();
        Ok(Some(Self { name: name.to_owned(), url, upstream, tools, likelier, openers, client }))
    }

    /// A request with these fields in addition: a call is required and thinking is off.
    pub fn request(&self, seed: u32, more: Value) -> Value {
        // Without this, a random model writes hundreds of tokens before it happens to begin a call, or to end.
        let likelier: serde_json::Map<String, Value> =
            self.likelier.iter().map(|(text, bias)| (text.clone(), json!(bias))).collect();
        let mut body = json!({
            "model": self.name, "messages": [{"role": "user", "content": "Rain in Zürich?"}], "tools": self.tools,
            "tool_choice": "required", "reasoning_effort": "none", "max_tokens": LIMIT, "seed": seed,
            "logit_bias": likelier,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        body
    }

    /// The status and the text of an answer.
    pub async fn ask(&self, body: &Value) -> Result<(u16, String), Failure> {
        let request = self.client.post(format!("{}/v1/chat/completions", self.url));
        let answer = request.header("content-type", "application/json").body(body.to_string()).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}

/// The texts that begin calls.
fn openers(model: &Model) -> Vec<String> {
    let mut openers: Vec<String> = Vec::new();
    for (marker, step) in model.parser().program().states.iter().flat_map(State::arrows) {
        if step.does(&Action::Speculate) && !openers.iter().any(|known| *known == *marker.core) {
            openers.push(marker.core.to_string());
        }
    }
    openers
}

/// The two halves of a text.
fn halves(text: &str) -> [String; 2] {
    let middle = (0..=text.len() / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let (one, other) = text.split_at(middle);
    [one.to_owned(), other.to_owned()]
}

/// The tools whose schemas the grammar checks completely.
fn checked_tools(model: &Model) -> Result<Value, Failure> {
    let mut checked = Vec::new();
    for tool in tools().as_array().into_iter().flatten() {
        let options = GrammarOptions::new().tool_choice(ToolChoice::Required).thinking(false);
        let grammar = model.grammar(&Tools::from_openai(&json!([tool]))?, &options)?;
        if grammar.widened.is_empty() {
            checked.push(tool.clone());
        }
    }
    Ok(checked.into())
}

/// What is wrong with the calls of an answer. If the limit of tokens cut it off, its last call may be incomplete, or
/// missing.
pub fn faults(tools: &Value, calls: &[(String, String)], cut_off: bool) -> Vec<String> {
    let mut faults = Vec::new();
    if calls.is_empty() && !cut_off {
        faults.push("there is no call".to_owned());
    }
    let whole = calls.len() - usize::from(cut_off && !calls.is_empty());
    for (name, arguments) in &calls[..whole] {
        let functions = tools.as_array().into_iter().flatten().map(|tool| &tool["function"]);
        let Some(function) = functions.into_iter().find(|function| function["name"] == **name) else {
            faults.push(format!("no tool is called {name:?}"));
            continue;
        };
        match serde_json::from_str::<Value>(arguments) {
            Err(error) => faults.push(format!("{name}: {error}: {arguments}")),
            Ok(arguments) => {
                if let Err(error) = jsonschema::validate(&function["parameters"], &arguments) {
                    faults.push(format!("{name}: {error}: {arguments}"));
                }
            }
        }
    }
    faults
}

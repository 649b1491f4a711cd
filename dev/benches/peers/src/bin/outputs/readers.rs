//! The parsers of a template: ours, and what the peers call theirs. Which format a template writes is found by its
//! markers.

use std::path::Path;

use serde_json::Value;
use unjinja_build::{Build, Input};
use unjinja_peers::formats::{FORMATS, OTHERS, Peers};
use unjinja_peers::message::{Called, Heard};
use unjinja_runtime::{ChatParser, Options, Tools, Unparsed};
use unjinja_spec::{FormatSpec, Overlay, Reasoning, StartsIn};

use crate::cases::Case;

/// What reads the outputs of one template.
pub struct Reader {
    ours: Box<dyn ChatParser>,
    spec: FormatSpec,
    /// The peers' names; `None` if no peer has the format.
    pub peers: Option<&'static Peers>,
}

impl Reader {
    /// The compiled parser if this template has one, else the interpreter of what the analysis finds.
    pub fn of(template: &Path) -> Result<Self, String> {
        let loaded = Build::new(Input::template(template)).load().map_err(|error| error.to_string())?;
        let spec = loaded.spec;
        let compiled = loaded.source.and_then(|source| unjinja_generated::by_template(&source.text));
        let ours = match compiled {
            Some(parser) => parser.to_boxed(),
            None => Box::new(unjinja_codegen::interpreter(&spec).map_err(|error| error.to_string())?),
        };
        let peers = peers_of(&spec)?;
        Ok(Self { ours, spec, peers })
    }

    /// The message that unjinja reads.
    pub fn read(&self, case: &Case) -> Result<Heard, String> {
        let tools = Tools::from_openai(&case.tools).map_err(|error| error.to_string())?;
        let mut options = Options::new()
            .tools(&tools)
            .parallel_tool_calls(case.parallel_tool_calls)
            .extract_reasoning(case.extract_reasoning)
            .json_response(!case.json_schema.is_null())
            .unparsed(Unparsed::Separate);
        if let Some(on) = case.enable_thinking {
            options = options.thinking(on);
        }
        if let Some(prompt) = &case.generation_prompt {
            options = options.generation_prompt(prompt);
        }
        let message = self.ours.parse(case.output.as_str().into(), &options);
        let calls = message.tool_calls.into_iter();
        Ok(Heard {
            reasoning: message.reasoning_content,
            content: message.content,
            calls: calls.map(|call| Called { name: call.name, arguments: call.arguments }).collect(),
        })
    }

    /// Whether markers surround the answers.
    pub fn frames(&self) -> bool {
        !self.spec.content.start.is_empty()
    }

    /// Whether the prompt has opened reasoning.
    pub fn opened(&self, case: &Case) -> bool {
        match &case.generation_prompt {
            Some(prompt) => {
                let start = self.spec.reasoning.start.trim();
                !start.is_empty() && prompt.trim_end().ends_with(start)
            }
            None => {
                let prompts = &self.spec.generation_prompt;
                let known = prompts.iter().find(|prompt| prompt.thinking == case.enable_thinking).or(prompts.first());
                known.is_some_and(|prompt| prompt.starts_in == StartsIn::Reasoning)
            }
        }
    }
}

/// The spec of a compiled model.
fn spec_of(model: &str) -> Result<FormatSpec, String> {
    let text = unjinja_generated::spec(model).ok_or_else(|| format!("no model `{model}`"))?;
    let corrected = |spec: FormatSpec| match unjinja_generated::overlay(&spec.template.sha256) {
        Some(overlay) => Overlay::from_toml(overlay, "the overlay")?.apply(&spec),
        None => Ok(spec),
    };
    FormatSpec::from_toml(text, model).and_then(corrected).map_err(|error| error.to_string())
}

/// The names of the format whose markers a spec has.
fn peers_of(spec: &FormatSpec) -> Result<Option<&'static Peers>, String> {
    let markers = markers(spec);
    for format in FORMATS {
        let known = spec_of(format.ours)?;
        if self::markers(&known) == markers && reasons_alike(&known.reasoning, &spec.reasoning) {
            return Ok(Some(&format.peers));
        }
    }
    Ok(OTHERS.iter().find(|other| holds(&markers, other.marker)).map(|other| &other.peers))
}

/// Whether the markers of reasoning are the same, as far as both formats have it.
fn reasons_alike(a: &Reasoning, b: &Reasoning) -> bool {
    a.end.is_empty() || b.end.is_empty() || (a.start.trim() == b.start.trim() && a.end.trim() == b.end.trim())
}

/// Whether a marker is among them.
fn holds(markers: &Value, marker: &str) -> bool {
    match markers {
        Value::String(text) => text == marker,
        Value::Object(members) => members.values().any(|value| holds(value, marker)),
        _ => false,
    }
}

/// The markers of calls, without the white space around them.
fn markers(spec: &FormatSpec) -> Value {
    let mut markers = serde_json::to_value(&spec.tools).unwrap_or_default();
    trim(&mut markers);
    markers
}

fn trim(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.trim().to_owned(),
        Value::Array(items) => items.iter_mut().for_each(trim),
        Value::Object(members) => {
            members.values_mut().for_each(trim);
            // An empty marker is as good as none.
            members.retain(|_, value| *value != Value::String(String::new()));
        }
        _ => {}
    }
}

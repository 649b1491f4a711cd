//! The inputs of the benchmarks: for each wire format the outputs of many shapes and sizes, each with the message that
//! must come back.
//!
//! A workload is an assistant message, written by the format's own template: this file has no wire text, no format is
//! named. What a template cannot write is left out. Everything is made without chance, so that two runs measure the
//! same bytes.

mod markers;
mod mixture;
mod shape;
mod text;
mod turn;

use std::path::Path;

use serde_json::{Value, json};
use unjinja::{Message, Options, Tools};
use unjinja_render::{Limits, Template};
use unjinja_spec::{FormatSpec, ToolFormat};

use crate::{Failure, root};

pub use markers::Markers;
pub use shape::Shape;
use turn::WorkloadTurn;

/// The lengths of the outputs, in bytes.
pub const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// A wire format: a template, and what its analysis says of it.
pub struct Format {
    /// Name of the template and of its compiled parser.
    pub name: String,
    /// The markers that a parser looks for.
    pub markers: Markers,
    /// Whether arguments are written otherwise than as JSON, and have to be translated.
    pub translates: bool,
    template: Template,
    assistant_start: String,
}

/// An output to be parsed, and what must come of it.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Name of the format.
    pub format: String,
    /// What kind of output it is.
    pub shape: Shape,
    /// What the template wrote of the assistant's turn before the model begins.
    pub prompt: String,
    /// What the thinking switch was set to for that prompt; `None` where it was left alone.
    pub thinking: Option<bool>,
    /// The tools offered, in OpenAI's form.
    pub tools: Value,
    /// What the model writes.
    pub output: String,
    /// The text that must come back as reasoning.
    pub reasoning: String,
    /// The text that must come back as content.
    pub content: String,
    /// Name and arguments of the calls that must come back.
    pub calls: Vec<(String, Value)>,
}

impl Format {
    /// The formats of our own templates, in order of their names. `specs` is the folder of the specs that the build script of the
    /// application derived from them.
    pub fn all(specs: &str) -> Result<Vec<Self>, Failure> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(root().join("templates"))? {
            names.extend(entry?.file_name().to_string_lossy().strip_suffix(".jinja").map(str::to_owned));
        }
        names.sort();
        names.iter().map(|name| Self::read(specs, name)).collect()
    }

    /// The format of one template.
    pub fn read(specs: &str, name: &str) -> Result<Self, Failure> {
        let path = Path::new(specs).join(format!("{name}.toml"));
        let spec = FormatSpec::from_toml(&std::fs::read_to_string(path)?, name)?;
        let file = &spec.template.file;
        let template = Template::parse(file, &std::fs::read_to_string(root().join("templates").join(file))?)?;
        // The defaults are for templates of strangers; a message of a megabyte takes more.
        let mut limits = Limits::default();
        (limits.fuel, limits.output_bytes, limits.value_bytes) = (u64::MAX, usize::MAX, usize::MAX);
        Ok(Self {
            name: spec.template.name.clone(),
            markers: Markers::of(&unjinja_codegen::plan(&spec)),
            translates: spec.tools.uses_python_dicts
                || spec.tools.args_as_text
                || matches!(spec.tools.format, ToolFormat::TagWithTagged | ToolFormat::CallExpression),
            template: template.with_limits(limits),
            assistant_start: spec.turn.assistant_start,
        })
    }

    /// Every workload of this format whose output is about `size` bytes long.
    pub fn workloads(&self, size: usize) -> Vec<Workload> {
        Shape::all(&self.markers).into_iter().filter_map(|shape| self.workload(&shape, size)).collect()
    }

    /// The workload of this shape whose output is about `size` bytes long; `None` where the template cannot write it.
    pub fn workload(&self, shape: &Shape, size: usize) -> Option<Workload> {
        // How much a unit of the shape takes shows in two small ones.
        let [few, more] = [64, 128].map(|units| Some(self.written(shape, units)?.output.len()));
        let (few, more) = (few? as f64, more? as f64);
        let each = ((more - few) / 64.0).max(0.5);
        let units = ((size as f64 - (few - 64.0 * each)) / each).max(1.0);
        let first = self.written(shape, units as usize)?;
        let again = units * size as f64 / first.output.len() as f64;
        let off = (first.output.len() as f64 / size as f64 - 1.0).abs();
        if off < 0.005 { Some(first) } else { self.written(shape, again.max(1.0) as usize) }
    }

    /// Realistic turns of this format: those of the first `count` of [`Shape::Mixed`] that the template can write.
    pub fn mixture(&self, count: usize) -> Vec<Workload> {
        (0..count).filter_map(|number| self.written(&Shape::Mixed, number)).collect()
    }

    /// The shape with this number of units, as the template writes it.
    fn written(&self, shape: &Shape, units: usize) -> Option<Workload> {
        let turn = shape.turn(units);
        let (thinking, prompt, output) = self.rendered(&turn)?;
        let words = |text: &str| text.is_empty() || output.contains(text);
        let whole = words(&turn.reasoning) && words(&turn.content);
        let calls = turn.calls.iter().all(|(name, _)| output.contains(name.as_str()));
        (whole && calls).then(|| Workload {
            format: self.name.clone(),
            shape: shape.clone(),
            prompt,
            thinking,
            tools: turn.tools(),
            output,
            reasoning: turn.reasoning,
            content: turn.content,
            calls: turn.calls,
        })
    }

    /// The thinking switch, the generation prompt and the assistant's turn after it.
    fn rendered(&self, turn: &WorkloadTurn) -> Option<(Option<bool>, String, String)> {
        let tools = turn.tools();
        let context = |messages: Value, prompt: bool, thinking: Option<bool>| {
            let mut context =
                json!({"messages": messages, "tools": tools, "add_generation_prompt": prompt, "bos_token": ""});
            if let Some(on) = thinking {
                context["enable_thinking"] = json!(on);
                context["thinking"] = json!(on);
            }
            self.template.render(&context).ok()
        };
        let user = json!({"role": "user", "content": "What is it going to be?"});
        let whole = |as_text| context(json!([user, turn.message(as_text)]), false, None);
        let whole = whole(false).or_else(|| whole(true))?;
        let start = self.assistant_start.as_str();
        for thinking in [None, Some(true), Some(false)] {
            let Some(prompt) = context(json!([user]), true, thinking) else { continue };
            if let Some(output) = whole.strip_prefix(&prompt) {
                // Without a start of the turn, the prompt is what follows the question.
                let tail = match start {
                    "" => prompt.strip_prefix(&context(json!([user]), false, None)?)?,
                    start => prompt.rfind(start).map_or(prompt.as_str(), |at| &prompt[at..]),
                };
                return Some((thinking, tail.to_owned(), output.to_owned()));
            }
        }
        let before = context(json!([user]), false, None)?;
        let output = whole.strip_prefix(&before)?.strip_prefix(start)?;
        Some((None, start.to_owned(), output.to_owned()))
    }
}

impl Workload {
    /// Format and shape.
    pub fn name(&self) -> String {
        format!("{}/{}", self.format, self.shape)
    }

    /// What a parser is told.
    pub fn options(&self) -> Result<Options, Failure> {
        Ok(Options::new().tools(&Tools::from_openai(&self.tools)?).generation_prompt(self.prompt.as_str()))
    }

    /// What is wrong with the message that a parser made of the output.
    ///
    /// # Errors
    /// The first difference, as a sentence.
    pub fn check(&self, message: &Message) -> Result<(), String> {
        let differs = |what: &str, found: &str, wanted: &str| {
            let at = found.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
            Err(format!(
                "{}: {what} of {} bytes, not {}; from byte {at} on it is {:?}, not {:?}",
                self.name(),
                found.len(),
                wanted.len(),
                excerpt(found, at),
                excerpt(wanted, at),
            ))
        };
        if message.content != self.content {
            return differs("content", &message.content, &self.content);
        }
        if message.reasoning_content != self.reasoning {
            return differs("reasoning", &message.reasoning_content, &self.reasoning);
        }
        if message.tool_calls.len() != self.calls.len() {
            return Err(format!("{}: {} calls, not {}", self.name(), message.tool_calls.len(), self.calls.len()));
        }
        for (call, (name, arguments)) in message.tool_calls.iter().zip(&self.calls) {
            if call.name != *name {
                return Err(format!("{}: a call of {}, not {name}", self.name(), call.name));
            }
            if call.arguments_value().ok().as_ref() != Some(arguments) {
                return differs("arguments", &call.arguments, &arguments.to_string());
            }
            if !call.complete {
                return Err(format!("{}: a call that is not complete", self.name()));
            }
        }
        Ok(())
    }
}

/// A few bytes of a text, from `at` on.
fn excerpt(text: &str, at: usize) -> String {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    String::from_utf8_lossy(&rest[..rest.len().min(40)]).into_owned()
}

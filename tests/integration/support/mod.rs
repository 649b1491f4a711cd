//! Helpers for the end-to-end tests: the cases of the corpus and of our own templates, and the committed specs.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use unjinja::Interpreter;
use unjinja::testing::Case;
use unjinja::{ChatParser, CutCalls, DiagnosticKind, Options, Tools, Unparsed};
use unjinja_spec::FormatSpec;

pub mod grammar;

pub use unjinja_testkit::{Failure, corpus};

/// The folder of the root package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A spec with its overlay, ready to be interpreted.
pub struct Model {
    pub spec: FormatSpec,
    pub parser: Interpreter,
}

impl Model {
    pub fn is_for(&self, file: &str) -> bool {
        let info = &self.spec.template;
        info.file == file || info.also.iter().any(|also| also == file)
    }
}

/// The committed specs that make a parser.
pub fn models() -> Result<Vec<Model>, Failure> {
    compiled(&root().join("generated/specs"), unjinja_generated::all())
}

/// The specs of our own templates, as the build script derived them.
pub fn own_models() -> Result<Vec<Model>, Failure> {
    compiled(Path::new(unjinja_app::SPECS), &unjinja_app::all())
}

/// The specs of compiled parsers. The interpreter is given the program that was compiled; `programs::` shows that it is the program of
/// the spec. To make it of each spec again takes seconds.
fn compiled(specs: &Path, parsers: &[&'static dyn ChatParser]) -> Result<Vec<Model>, Failure> {
    let specs = unjinja_build::specs_in(specs)?;
    let model = |parser: &&'static dyn ChatParser| {
        let (_, loaded) = specs.iter().find(|(_, loaded)| loaded.spec.template.name == parser.info().name)?;
        Some(Model { parser: Interpreter::from_static(parser.program()), spec: loaded.spec.clone() })
    };
    let models: Option<Vec<Model>> = parsers.iter().map(model).collect();
    Ok(models.ok_or("a parser without a spec")?)
}

/// The parser that the build script compiled for a template of ours.
pub fn own_parser(file: &str) -> Result<&'static dyn ChatParser, Failure> {
    let is_for = |parser: &&'static dyn ChatParser| parser.info().files.iter().any(|known| *known == *file);
    Ok(unjinja_app::all().into_iter().find(is_for).ok_or_else(|| format!("{file} is not compiled in"))?)
}

/// A case: an output, the options to parse it with, and the expected message.
pub struct CorpusCase {
    pub id: String,
    /// The file name of the template.
    pub template: String,
    pub output: Vec<u8>,
    pub options: Options,
    pub case: Case,
    /// Why the case fails, if it is a known failure.
    pub known_failure: Option<String>,
}

/// The rows of the corpus' `cases.jsonl`.
pub fn corpus_cases(corpus: &Path) -> Result<Vec<CorpusCase>, Failure> {
    let text = fs::read_to_string(corpus.join("cases.jsonl"))?;
    text.lines().map(|line| CorpusCase::read(&serde_json::from_str(line)?)).collect()
}

impl CorpusCase {
    fn read(row: &Value) -> Result<Self, Failure> {
        let text = |value: &Value, key: &str| -> Result<String, Failure> {
            let found = value.get(key).and_then(Value::as_str).ok_or_else(|| format!("no {key} in {value}"))?;
            Ok(found.to_owned())
        };
        let flag = |key: &str| row.get(key).and_then(Value::as_bool);
        let mut options = Options::new()
            .tools(&Tools::from_openai(&row["tools"])?)
            .parallel_tool_calls(flag("parallel_tool_calls").unwrap_or(true))
            .extract_reasoning(flag("extract_reasoning").unwrap_or(true))
            .json_response(!row["json_schema"].is_null())
            .generation_prompt(text(row, "generation_prompt")?);
        if let Some(on) = flag("enable_thinking") {
            options = options.thinking(on);
        }
        let (id, output, expect) = (text(row, "id")?, text(row, "output")?, &row["expect"]);
        let mut case = Case::new(&output)
            .name(&id)
            .options(&options)
            .lenient()
            .content(text(expect, "content")?)
            .reasoning(text(expect, "reasoning_content")?);
        for call in expect["tool_calls"].as_array().ok_or("no tool_calls")? {
            let (name, arguments) = (text(call, "name")?, text(call, "arguments")?);
            case = if flag("is_partial") == Some(true) {
                case.call_begins(name, arguments)
            } else {
                case.call(name, serde_json::from_str::<Value>(&arguments)?)
            };
            let id = text(call, "id").unwrap_or_default();
            if !id.is_empty() {
                case = case.call_id(id);
            }
        }
        let template = text(row, "template")?;
        Ok(Self { id, template, output: output.into_bytes(), options, case, known_failure: None })
    }
}

/// The cases of our own templates: `tests/cases/NAME.toml`, for each template the file of its name.
pub fn own_cases() -> Result<Vec<CorpusCase>, Failure> {
    let folder = root().join("tests/cases");
    let tools = Tools::from_json(&fs::read_to_string(folder.join("tools.json"))?)?;
    let mut paths = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Failure>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let file: CaseFile = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        for case in file.case {
            let id = format!("{name}: {}", case.name);
            cases.push(case.read(&tools, id, format!("{name}.jinja")).map_err(|e| format!("{}: {e}", path.display()))?);
        }
    }
    Ok(cases)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<OwnCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnCase {
    name: String,
    known_failure: Option<String>,
    output: String,
    thinking: Option<bool>,
    generation_prompt: Option<String>,
    #[serde(default = "yes")]
    tools: bool,
    #[serde(default = "yes")]
    parallel_tool_calls: bool,
    callable: Option<Vec<String>>,
    cut_calls: Option<String>,
    #[serde(default = "yes")]
    extract_reasoning: bool,
    #[serde(default = "yes")]
    calls_end_reasoning: bool,
    #[serde(default)]
    json_response: bool,
    #[serde(default)]
    reasoning: String,
    #[serde(default)]
    content: String,
    unparsed: Option<String>,
    #[serde(default)]
    diagnostics: Vec<String>,
    #[serde(default)]
    call: Vec<OwnCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnCall {
    name: String,
    arguments: Option<String>,
    text: Option<String>,
    id: Option<String>,
    #[serde(default = "yes")]
    complete: bool,
}

fn yes() -> bool {
    true
}

impl OwnCase {
    fn read(self, tools: &Tools, id: String, template: String) -> Result<CorpusCase, Failure> {
        let mut options = Options::new()
            .parallel_tool_calls(self.parallel_tool_calls)
            .extract_reasoning(self.extract_reasoning)
            .calls_end_reasoning(self.calls_end_reasoning)
            .json_response(self.json_response);
        if self.tools {
            options = options.tools(tools);
        }
        if self.unparsed.is_some() {
            options = options.unparsed(Unparsed::Separate);
        }
        if let Some(names) = self.callable {
            options = options.callable(names);
        }
        if let Some(name) = self.cut_calls {
            options = options.cut_calls(CutCalls::named(&name).ok_or("`cut_calls` is unknown")?);
        }
        if let Some(on) = self.thinking {
            options = options.thinking(on);
        }
        if let Some(text) = self.generation_prompt {
            options = options.generation_prompt(text);
        }
        let mut case =
            Case::new(&self.output).name(&id).options(&options).content(self.content).reasoning(self.reasoning);
        if let Some(text) = self.unparsed {
            case = case.unparsed(text);
        }
        for call in self.call {
            case = match (call.arguments, call.text) {
                (Some(arguments), None) => case.call(call.name, serde_json::from_str::<Value>(&arguments)?),
                (None, Some(text)) => case.call_text(call.name, text),
                _ => return Err(format!("the call of {:?} has to have `arguments` or `text`", call.name).into()),
            };
            if let Some(id) = call.id {
                case = case.call_id(id);
            }
            if !call.complete {
                case = case.incomplete();
            }
        }
        for kind in self.diagnostics {
            case = case.diagnostic(serde_json::from_value::<DiagnosticKind>(kind.into())?);
        }
        let known_failure = self.known_failure;
        Ok(CorpusCase { id, template, output: self.output.into_bytes(), options, case, known_failure })
    }
}

//! What the end-to-end tests share: where the corpus is, its cases, the committed specs.

// Every test uses a part of this.
#![allow(dead_code, reason = "each test compiles this on its own")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unjinja::testing::Case;
use unjinja::{Options, Tools};
use unjinja_codegen::Lowered;
use unjinja_spec::FormatSpec;

pub type Failure = Box<dyn std::error::Error>;

/// The corpus, or `None` where it may be absent and is. It is no part of the project: it is looked for at
/// `$UNJINJA_CORPUS`, else beside the project, and is required in CI.
pub fn corpus() -> Result<Option<PathBuf>, Failure> {
    let path = std::env::var_os("UNJINJA_CORPUS").map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if path.join("conversations.json").is_file() {
        return Ok(Some(path));
    }
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        return Err(format!("no corpus at {}: CI needs it, set UNJINJA_CORPUS", path.display()).into());
    }
    // Straight to the terminal: what a passing test prints is not shown.
    writeln!(std::io::stderr(), "SKIPPED: no corpus at {} (set UNJINJA_CORPUS to its folder)", path.display())?;
    Ok(None)
}

/// The folder of the root package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A committed spec with its overlay, ready to be interpreted.
pub struct Model {
    pub spec: FormatSpec,
    pub lowered: Lowered,
}

impl Model {
    pub fn is_for(&self, file: &str) -> bool {
        let info = &self.spec.template;
        info.file == file || info.also.iter().any(|also| also == file)
    }
}

/// The committed specs whose format is supported.
pub fn models() -> Result<Vec<Model>, Failure> {
    let specs = unjinja_codegen::read_specs(&root().join("generated/specs"))?;
    let supported = specs.into_iter().map(|(_, spec)| spec).filter(|spec| spec.unsupported.is_none());
    supported.map(|spec| Ok(Model { lowered: Lowered::new(&spec)?, spec })).collect()
}

/// A row of the corpus' `cases.jsonl`.
pub struct CorpusCase {
    pub id: String,
    pub template: String,
    pub output: String,
    pub options: Options,
    pub case: Case,
}

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
        Ok(Self { id, template: text(row, "template")?, output, options, case })
    }
}

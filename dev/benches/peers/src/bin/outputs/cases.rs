//! The cases: outputs that models wrote or test suites hold, with the messages that they mean. They are part of
//! the corpus, which is not part of the project.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use unjinja_peers::message::{Called, Heard};

/// One output, what the request said, and the message that is expected.
#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    /// The folder of the template: `templates`, `wild` or `wide`.
    pub folder: String,
    /// The file of the template.
    pub template: String,
    /// Where the output comes from, and how it departs from the template.
    pub class: String,
    /// In OpenAI's form, or the name of a list in `turn_tools.json`.
    pub tools: Value,
    pub generation_prompt: Option<String>,
    pub enable_thinking: Option<bool>,
    #[serde(default = "yes")]
    pub extract_reasoning: bool,
    #[serde(default = "yes")]
    pub parallel_tool_calls: bool,
    #[serde(default)]
    pub json_schema: Value,
    pub output: String,
    expect: Expected,
    /// The fields of the message that the source does not give.
    #[serde(default)]
    pub not_asserted: Vec<String>,
}

#[derive(Deserialize)]
struct Expected {
    content: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Value,
}

fn yes() -> bool {
    true
}

impl Case {
    /// The expected message.
    pub fn meant(&self) -> Heard {
        let calls = self.expect.tool_calls.iter().map(|call| Called {
            name: call.name.clone(),
            arguments: call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned),
        });
        Heard {
            reasoning: self.expect.reasoning_content.clone().unwrap_or_default(),
            content: self.expect.content.clone().unwrap_or_default(),
            calls: calls.collect(),
        }
    }

    /// The template's file, below the folder of the corpus.
    pub fn path(&self) -> PathBuf {
        let folder = Path::new(&self.folder);
        let folder = if self.folder == "templates" { folder.to_owned() } else { folder.join("templates") };
        folder.join(&self.template)
    }
}

/// The folder of the corpus: `$UNJINJA_CORPUS`, else `../shared/corpus` next to the project.
pub fn corpus() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus");
    std::env::var_os("UNJINJA_CORPUS").map_or_else(|| default.into(), PathBuf::from)
}

/// All cases, with their tools written out.
pub fn read(corpus: &Path) -> Result<Vec<Case>, String> {
    let text = |name: &str| {
        let path = corpus.join(name);
        std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}; set UNJINJA_CORPUS to the folder of the corpus", path.display()))
    };
    let lists: Value = serde_json::from_str(&text("turn_tools.json")?).map_err(|e| format!("turn_tools.json: {e}"))?;
    let read = |(index, line): (usize, &str)| {
        let mut case: Case =
            serde_json::from_str(line).map_err(|error| format!("outputs.jsonl:{}: {error}", index + 1))?;
        if let Some(name) = case.tools.as_str() {
            case.tools = lists[name].clone();
        }
        Ok(case)
    };
    text("outputs.jsonl")?.lines().enumerate().map(read).collect()
}

//! The easy turns of the corpus: what the templates of released models write for random messages. The corpus is no part
//! of the project; without it, the list is empty.

use serde_json::Value;
use unjinja::{Options, Tools};

use crate::mixture::{BenchTurn, Parser};
use unjinja_testkit::Failure;

/// The turns of the models that have a compiled parser. Turns of a `hard/…` kind are left out.
///
/// # Errors
/// Where a file of the corpus cannot be read as what it should be.
pub fn turns() -> Result<Vec<BenchTurn>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(Vec::new()) };
    let tools: Value = serde_json::from_str(&std::fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let mut turns = Vec::new();
    for line in std::fs::read_to_string(corpus.join("turns.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = |key: &str| row[key].as_str().ok_or_else(|| format!("a turn of the corpus has no text {key}"));
        if row["folder"] != "templates" || text("id")?.contains("/hard/") {
            continue;
        }
        let Some(parser) = unjinja_generated::by_file(text("template")?) else { continue };
        let offered = row["tools"].as_str().map_or(&row["tools"], |name| &tools[name]);
        let mut options = Options::new()
            .tools(&Tools::from_openai(offered)?)
            .generation_prompt(text("generation_prompt")?)
            .json_response(!row["json_schema"].is_null());
        if let Some(on) = row["enable_thinking"].as_bool() {
            options = options.thinking(on);
        }
        turns.push(BenchTurn { output: text("output")?.to_owned(), options, parser: Parser::Released(parser) });
    }
    Ok(turns)
}

//! The cases of the corpus: outputs, and the grammars that were requested with them.

use std::fs;

use fancy_regex::Regex;
use serde_json::Value;
use unjinja_engine::{Engine, Trigger};
use unjinja_generated::by_file;
use unjinja_grammar::{Grammar, GrammarExt, GrammarOptions, ToolChoice};
use unjinja_runtime::{ChatParser, Tools};

use super::Failure;

/// The fields of a row of `cases.jsonl` that matter to grammars.
pub struct Case {
    pub id: String,
    pub parser: &'static dyn ChatParser,
    pub tools: Tools,
    pub options: GrammarOptions,
    pub output: String,
    /// Whether the output was written under a grammar and is complete.
    pub held: bool,
}

/// The cases whose template has a parser; `None` if the corpus is absent and may be.
pub fn cases() -> Result<Option<Vec<Case>>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(None) };
    let text = fs::read_to_string(corpus.join("cases.jsonl"))?;
    let cases = text.lines().map(|line| Case::read(&serde_json::from_str(line)?));
    Ok(Some(cases.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect()))
}

impl Case {
    fn read(row: &Value) -> Result<Option<Self>, Failure> {
        let text = |key: &str| row[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key} in {row}"));
        let Some(parser) = by_file(&text("template")?) else { return Ok(None) };
        let choice = match text("tool_choice")?.as_str() {
            "required" => ToolChoice::Required,
            "none" => ToolChoice::None,
            _ => ToolChoice::Auto,
        };
        let mut options = GrammarOptions::new()
            .tool_choice(choice)
            .parallel_tool_calls(row["parallel_tool_calls"] != false)
            .generation_prompt(text("generation_prompt")?);
        if let Some(on) = row["enable_thinking"].as_bool() {
            options = options.thinking(on);
        }
        if !row["json_schema"].is_null() {
            options = options.response_schema(row["json_schema"].clone());
        }
        Ok(Some(Self {
            id: text("id")?,
            parser,
            tools: Tools::from_openai(&row["tools"])?,
            options,
            output: text("output")?,
            held: row["grammar_applies"] == true && row["is_partial"] != true,
        }))
    }

    /// The grammars of a case, as far as they exist: with its tools, and for any tool.
    pub fn grammars(&self) -> Result<Vec<(&'static str, Grammar)>, Failure> {
        let with_tools = self.parser.grammar(&self.tools, &self.options).map_err(|e| format!("{}: {e}", self.id))?;
        let mut grammars = vec![("with the tools", with_tools)];
        if !self.tools.is_empty() {
            let for_any = self.parser.grammar_for_any(&self.options).map_err(|e| format!("{}: {e}", self.id))?;
            grammars.push(("for any tool", for_any));
        }
        grammars.retain(|(_, grammar)| !grammar.text.is_empty());
        Ok(grammars)
    }
}

/// The part of an output that a grammar constrains, without what the prompt already contains. For a lazy grammar it
/// begins where the engine starts the grammar; `None` if it never does.
pub fn constrained(engine: &Engine, grammar: &Grammar, output: &str) -> Result<Option<String>, Failure> {
    if !grammar.lazy {
        return Ok(Some(format!("{}{output}", grammar.prefill)));
    }
    // Any text may follow the trigger.
    let mut session = engine
        .load_lazy(r"root ::= [\x01-\U0010FFFF]*", &triggers(grammar))
        .map_err(|_| "the engine takes no trigger")?;
    for (at, char) in output.char_indices() {
        let end = at + char.len_utf8();
        session.accept(&output.as_bytes()[at..end]).map_err(|_| "a free text is refused")?;
        if !session.waits() {
            let start = start(grammar, &output[..end])?.ok_or("the engine sees a trigger that is not there")?;
            return Ok(Some(output[start..].to_owned()));
        }
    }
    Ok(None)
}

/// Where the first trigger in a text starts the grammar.
fn start(grammar: &Grammar, text: &str) -> Result<Option<usize>, Failure> {
    for trigger in &grammar.triggers {
        let found = match trigger {
            unjinja_runtime::Trigger::Word(word) => text.find(word.as_ref()),
            unjinja_runtime::Trigger::Pattern(pattern) => {
                let found = Regex::new(pattern)?.captures(text)?;
                found.and_then(|found| {
                    Some(found.iter().skip(1).flatten().find(|group| !group.as_str().is_empty())?.start())
                })
            }
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The triggers of a grammar, in the form of the engine.
pub fn triggers(grammar: &Grammar) -> Vec<Trigger> {
    let trigger = |trigger: &unjinja_runtime::Trigger| match trigger {
        unjinja_runtime::Trigger::Word(word) => Trigger::Word(word.to_string()),
        unjinja_runtime::Trigger::Pattern(pattern) => Trigger::Pattern(pattern.to_string()),
    };
    grammar.triggers.iter().map(trigger).collect()
}

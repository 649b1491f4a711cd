//! What grammars are made for in tests: tools and requests, calls that must be refused, and the outputs of the corpus that were
//! written under a grammar. The tests of every engine use the same.

use std::error::Error;
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};
use unjinja_grammar::{GrammarOptions, ToolChoice};
use unjinja_runtime::Tools;

use crate::Failure;

/// Tools with the constructs that occur in real schemas.
///
/// # Errors
///
/// Never: the tools are written here.
pub fn tools() -> Result<Tools, Failure> {
    let function =
        |name: &str, parameters| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    Ok(Tools::from_openai(&json!([
        function("now", json!({"type": "object", "properties": {}})),
        function(
            "book_trip",
            json!({
                "type": "object",
                "properties": {
                    "to": {"type": "string", "minLength": 2, "maxLength": 60},
                    "on": {"type": "string", "format": "date"},
                    "nights": {"type": "integer", "minimum": 1, "maximum": 365},
                    "class": {"enum": ["first", "second", 3, null]},
                    "budget": {"type": ["null", "number"], "exclusiveMinimum": 0},
                    "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 3},
                    "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3,5}$"},
                    "flexible": {"type": "boolean"}
                },
                "required": ["to", "on"],
                "additionalProperties": false,
                "$defs": {"stop": {
                    "type": "object",
                    "properties": {"place": {"type": "string"}, "then": {"$ref": "#/$defs/stop"}},
                    "required": ["place"]
                }}
            })
        ),
        function(
            "run",
            json!({
                "type": "object",
                "properties": {"code": {"type": "string"}, "env": {"type": "object", "additionalProperties": {"type": "string"}}},
                "anyOf": [{"required": ["code"]}]
            })
        ),
        function("book-trip", json!({"type": "object", "properties": {"é｜": {"const": "ü，"}}}))
    ]))?)
}

/// What a grammar is requested for: its name, the tools (any tool without them), and the options.
pub type GrammarCase<'t> = (&'static str, Option<&'t Tools>, GrammarOptions);

/// The requests for each model: for any tool, and with tools.
pub fn requests(tools: &Tools) -> Vec<GrammarCase<'_>> {
    let new = GrammarOptions::new;
    let answer = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    vec![
        ("any tool", None, new()),
        ("any tool, required", None, new().tool_choice(ToolChoice::Required)),
        ("any tool, required, thinking", None, new().tool_choice(ToolChoice::Required).thinking(true)),
        ("tools", Some(tools), new()),
        ("tools, one call", Some(tools), new().parallel_tool_calls(false)),
        ("tools, required", Some(tools), new().tool_choice(ToolChoice::Required)),
        ("tools, required, no thinking", Some(tools), new().tool_choice(ToolChoice::Required).thinking(false)),
        ("one tool", Some(tools), new().tool_choice(ToolChoice::Named("book_trip".to_owned()))),
        ("no tool", Some(tools), new().tool_choice(ToolChoice::None)),
        ("an answer", Some(tools), new().tool_choice(ToolChoice::None).response_schema(answer)),
    ]
}

/// Calls that a grammar must refuse: a tool, and changes of it after which every call is wrong for the tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusals {
    name: String,
    parameters: String,
    /// The changes.
    pub refused: Vec<Refusal>,
}

/// One change of the tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What is wrong with the calls.
    pub why: String,
    name: Option<String>,
    changes: Option<Value>,
}

impl Refusals {
    /// The table of `dev/engine/tests/refusals.toml`.
    ///
    /// # Errors
    ///
    /// The table is damaged.
    pub fn read() -> Result<Self, Failure> {
        Ok(toml::from_str(include_str!("../../engine/tests/refusals.toml"))?)
    }

    /// The tool that is asked for.
    ///
    /// # Errors
    ///
    /// The table is damaged.
    pub fn asked(&self) -> Result<Tools, Failure> {
        tool(&self.name, &serde_json::from_str(&self.parameters)?)
    }

    /// The tool of a row. The properties of the row replace those with the same name. The others stay if they are
    /// required.
    ///
    /// # Errors
    ///
    /// The table is damaged.
    pub fn changed(&self, row: &Refusal) -> Result<Tools, Failure> {
        let mut parameters: Value = serde_json::from_str(&self.parameters)?;
        if let Some(changes) = &row.changes {
            if !changes["required"].is_null() {
                parameters["required"] = changes["required"].clone();
            }
            let required: Vec<String> = serde_json::from_value(parameters["required"].clone())?;
            let properties = parameters["properties"].as_object_mut().ok_or("no properties")?;
            for (name, schema) in changes["properties"].as_object().ok_or("no properties in the row")? {
                properties.insert(name.clone(), schema.clone());
            }
            properties.retain(|name, _| required.contains(name) || name == "unit");
        }
        tool(row.name.as_deref().unwrap_or(&self.name), &parameters)
    }
}

fn tool(name: &str, parameters: &Value) -> Result<Tools, Failure> {
    Ok(Tools::from_openai(&json!([{"type": "function", "function": {"name": name, "parameters": parameters}}]))?)
}

/// The fields of a row of `cases.jsonl` that matter to grammars.
pub struct Case {
    /// The name of the case.
    pub id: String,
    /// The file of the template that wrote the prompt.
    pub template: String,
    /// The offered tools.
    pub tools: Tools,
    /// What was asked for.
    pub options: GrammarOptions,
    /// What the model wrote.
    pub output: String,
    /// Whether the output was written under a grammar and is complete.
    pub held: bool,
}

impl Case {
    /// The cases of the corpus; `None` if it is absent and may be.
    ///
    /// # Errors
    ///
    /// The corpus cannot be read.
    pub fn all() -> Result<Option<Vec<Self>>, Failure> {
        let Some(corpus) = crate::corpus()? else { return Ok(None) };
        let text = fs::read_to_string(corpus.join("cases.jsonl"))?;
        let cases = text.lines().map(|line| Self::read(&serde_json::from_str(line)?));
        cases.collect::<Result<Vec<_>, Box<dyn Error>>>().map(Some)
    }

    fn read(row: &Value) -> Result<Self, Failure> {
        let text = |key: &str| row[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key} in {row}"));
        let choice = match text("tool_choice")?.as_str() {
            "required" => ToolChoice::Required,
            "none" => ToolChoice::None,
            _ => ToolChoice::Auto,
        };
        let mut options = GrammarOptions::new()
            .tool_choice(choice)
            .parallel_tool_calls(row["parallel_tool_calls"] != false)
            // Peers let text come before a call that is demanded.
            .text_before(1_000)
            .generation_prompt(text("generation_prompt")?);
        if let Some(on) = row["enable_thinking"].as_bool() {
            options = options.thinking(on);
        }
        if !row["json_schema"].is_null() {
            options = options.response_schema(row["json_schema"].clone());
        }
        Ok(Self {
            id: text("id")?,
            template: text("template")?,
            tools: Tools::from_openai(&row["tools"])?,
            options,
            output: text("output")?,
            held: row["grammar_applies"] == true && row["is_partial"] != true,
        })
    }
}

/// What was asked for when a turn of `turns.jsonl` was written.
pub fn turn_options(row: &Value) -> GrammarOptions {
    let options = GrammarOptions::new()
        .parallel_tool_calls(row["parallel_tool_calls"].as_bool().unwrap_or(true))
        .generation_prompt(row["generation_prompt"].as_str().unwrap_or(""));
    match row["enable_thinking"].as_bool() {
        Some(on) => options.thinking(on),
        None => options,
    }
}

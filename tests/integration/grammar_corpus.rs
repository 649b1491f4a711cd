//! Grammars of the committed models accept the outputs of the corpus that another implementation constrained by a grammar, and
//! the turns that the released templates render.

use crate::support::grammar::{load, refuses, rendered};
use crate::support::{Failure, corpus, models};
use serde_json::Value;
use unjinja::Tools;
use unjinja::{GrammarExt, GrammarOptions, ToolChoice};
use unjinja_render::Template;

/// The fields of a row of `cases.jsonl` that a grammar depends on.
struct Row {
    id: String,
    template: String,
    output: String,
    tools: Tools,
    options: GrammarOptions,
    held: bool,
}

fn rows(corpus: &std::path::Path) -> Result<Vec<Row>, Failure> {
    let text = std::fs::read_to_string(corpus.join("cases.jsonl"))?;
    text.lines().map(|line| row(&serde_json::from_str(line)?)).collect()
}

fn row(row: &Value) -> Result<Row, Failure> {
    let text = |key: &str| row[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key} in {row}"));
    let choice = match row["tool_choice"].as_str() {
        Some("required") => ToolChoice::Required,
        Some("none") => ToolChoice::None,
        _ => ToolChoice::Auto,
    };
    let mut options = GrammarOptions::new()
        .tool_choice(choice)
        .parallel_tool_calls(row["parallel_tool_calls"].as_bool().unwrap_or(true))
        .generation_prompt(text("generation_prompt")?);
    if let Some(on) = row["enable_thinking"].as_bool() {
        options = options.thinking(on);
    }
    if !row["json_schema"].is_null() {
        options = options.response_schema(row["json_schema"].clone());
    }
    Ok(Row {
        id: text("id")?,
        template: text("template")?,
        output: text("output")?,
        tools: Tools::from_openai(&row["tools"])?,
        options,
        held: row["grammar_applies"] == true,
    })
}

#[test]
fn every_output_that_a_peer_held_to_a_grammar_is_accepted() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let models = models()?;
    let mut problems = Vec::new();
    let (mut grammars, mut accepted) = (0, 0);
    for row in rows(&corpus)? {
        let Some(model) = models.iter().find(|model| model.is_for(&row.template)) else { continue };
        let compiled = unjinja_generated::by_file(&row.template).ok_or("the spec is not compiled in")?;
        let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&row.tools), &row.options);
        if compiled.grammar(&row.tools, &row.options) != grammar {
            problems.push(format!("{}: the compiled parser and the interpreter make different grammars", row.id));
        }
        let grammar = grammar.map_err(|error| format!("{}: {error}", row.id))?;
        if grammar.text.is_empty() {
            if row.held {
                problems.push(format!("{}: no grammar", row.id));
            }
            continue;
        }
        grammars += 1;
        let rules = load(&grammar).map_err(|error| format!("{}: {error}", row.id))?;
        if !row.held {
            continue;
        }
        // Also with the grammar for any tool, if the grammar is for calls.
        let any = unjinja_grammar::grammar(model.parser.program(), None, &row.options)?;
        let mut refused = refuses(&grammar, &rules, &row.output)?;
        if refused.is_none() && grammar.lazy {
            refused = refuses(&any, &load(&any)?, &row.output)?.map(|why| format!("for any tool: {why}"));
        }
        match refused {
            Some(why) => problems.push(format!("{} ({}): {why}", row.id, row.template)),
            None => accepted += 1,
        }
    }
    assert!(problems.is_empty(), "of {grammars} grammars, {accepted} accepted:\n{}", problems.join("\n"));
    assert!(accepted >= 100, "{accepted} accepted");
    Ok(())
}

#[test]
fn every_turn_that_a_released_template_renders_is_accepted() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut problems = Vec::new();
    let (mut calls, mut texts) = (0, 0);
    for model in models()? {
        let path = corpus.join("templates").join(&model.spec.template.file);
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let template = Template::parse(&model.spec.template.file, &text)?;
        let (c, t) = rendered(&model, &template, &mut problems)?;
        calls += c;
        texts += t;
    }
    assert!(problems.is_empty(), "of {calls} turns with calls and {texts} without:\n{}", problems.join("\n"));
    assert!(calls > 500 && texts > 500, "{calls} turns with calls and {texts} without");
    Ok(())
}

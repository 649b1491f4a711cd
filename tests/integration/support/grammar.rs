//! Helpers for tests of grammars: where a lazy grammar begins, whether a grammar accepts a text, and whether the calls that a
//! parser read from a sentence satisfy the grammar's tools.

use fancy_regex::Regex;
use serde_json::Value;
use unjinja::{ChatParser, Diagnostic, DiagnosticKind, Message, Options, Tools};
use unjinja::{Grammar, GrammarOptions, ToolChoice, Trigger};
use unjinja_gbnf::{Grammar as Rules, Limits};
use unjinja_render::Template;

use super::{Failure, Model};

/// Loads the rules of a grammar as an engine would.
pub fn load(grammar: &Grammar) -> Result<Rules, Failure> {
    Rules::parse(&grammar.text).map_err(|error| format!("{error}\n{}", grammar.text).into())
}

/// The offset in an output at which the grammar begins to apply; `None` if no trigger of a lazy grammar occurs.
pub fn begins(grammar: &Grammar, output: &str) -> Result<Option<usize>, Failure> {
    if !grammar.lazy {
        return Ok(Some(0));
    }
    let mut first: Option<usize> = None;
    for trigger in &grammar.triggers {
        let at = match trigger {
            Trigger::Word(word) => output.find(word.as_ref()),
            Trigger::Pattern(pattern) => {
                let found = Regex::new(pattern)?.captures(output)?;
                found.and_then(|found| found.get(1)).map(|group| group.start())
            }
        };
        first = match (first, at) {
            (Some(first), Some(at)) => Some(first.min(at)),
            (first, at) => first.or(at),
        };
    }
    Ok(first)
}

/// Why a grammar does not accept an output, from its trigger on.
pub fn refuses(grammar: &Grammar, rules: &Rules, output: &str) -> Result<Option<String>, Failure> {
    let Some(at) = begins(grammar, output)? else {
        return Ok(Some(format!("none of the triggers {:?} is in {output:?}", grammar.triggers)));
    };
    let text = format!("{}{}", grammar.prefill, &output[at..]);
    Ok(rules.check(&text).err().map(|rejected| format!("{rejected}, in {text:?}")))
}

/// Random sentences of a grammar.
pub fn sentences(rules: &Rules, seed: u64, count: usize) -> Vec<String> {
    let mut seed = seed;
    let limits =
        [Limits { length: 60, depth: 20 }, Limits { length: 300, depth: 40 }, Limits { length: 1200, depth: 60 }];
    (0..count).filter_map(|number| rules.sample(&mut seed, limits[number % limits.len()])).collect()
}

/// The first problem of the calls that were read from a sentence of a grammar for calls.
pub fn wrong_calls(message: &Message, tools: Option<&Tools>) -> Option<String> {
    if message.tool_calls.is_empty() {
        return Some("no call was read".to_owned());
    }
    // A schema may allow arguments that it does not declare, and an answer any text, which may end as a marker begins.
    let harmless = [DiagnosticKind::UnknownArgument, DiagnosticKind::SpecialToken, DiagnosticKind::StrayMarker];
    let is_harmless = |diagnostic: &Diagnostic| {
        harmless.contains(&diagnostic.kind) || diagnostic.kind == DiagnosticKind::CutMarker && diagnostic.call.is_none()
    };
    if let Some(diagnostic) = message.diagnostics.iter().find(|diagnostic| !is_harmless(diagnostic)) {
        return Some(format!("{diagnostic:?}"));
    }
    for call in &message.tool_calls {
        if !call.complete {
            return Some(format!("a call of {:?} is not complete", call.name));
        }
        let arguments: Value = match serde_json::from_str(&call.arguments) {
            Ok(arguments) => arguments,
            // JSON may contain numbers that are too large for a double.
            Err(error) if error.to_string().contains("number out of range") => continue,
            Err(error) => return Some(format!("{error}: {}", call.arguments)),
        };
        let Some(tools) = tools else { continue };
        let Some(tool) = tools.get(&call.name) else { return Some(format!("no tool is called {:?}", call.name)) };
        if let Err(error) = jsonschema::validate(&tool.parameters, &arguments) {
            return Some(format!("{error}: {arguments}"));
        }
    }
    None
}

/// Whether the grammar reports that it does not rule this problem out: it names the keywords that it does not check, and those
/// may be violated.
pub fn is_reported(grammar: &Grammar, problem: &str) -> bool {
    grammar.widened.iter().any(|wider| match wider.what.keyword.as_str() {
        "pattern" => problem.contains("does not match"),
        "minLength" | "maxLength" => problem.contains("character"),
        // An object in tags is raw text to a grammar. If it is not an object, it is read as a string.
        "type" => problem.contains("is not of type") || problem.contains("ArgumentTypeMismatch"),
        "items" => problem.contains("has more than") || problem.contains("has less than"),
        // A grammar cannot repeat a name that it does not know. If a marker closes another name, the value continues, and so
        // does its call.
        "additionalProperties" => problem.contains("IncompleteCall"),
        _ => false,
    })
}

/// Checks that grammars accept the turns that a template renders. Returns how many turns had calls, and how many had none.
pub fn rendered(model: &Model, template: &Template, problems: &mut Vec<String>) -> Result<(usize, usize), Failure> {
    let name = &model.spec.template.name;
    let (mut calls, mut texts, mut wrong) = (0, 0, 0);
    for turn in unjinja_analyzer::verify(template, &model.spec, 64, 3).turns {
        let start = &model.spec.turn.assistant_start;
        let options = || GrammarOptions::new().generation_prompt(start);
        let any = unjinja_grammar::grammar(model.parser.program(), None, &options())?;
        let mut grammars = Vec::new();
        if turn.message.tool_calls.is_empty() {
            texts += 1;
            let tools = Tools::from_json(r#"[{"name": "f"}]"#)?;
            grammars.push(unjinja_grammar::grammar(
                model.parser.program(),
                Some(&tools),
                &options().tool_choice(ToolChoice::None),
            )?);
        } else {
            calls += 1;
            grammars.push(any);
        }
        // A grammar demands the schema's order of properties. This schema is assembled from several calls, so a call may differ.
        if !turn.message.tool_calls.is_empty() && in_order(&turn.message, &turn.tools) {
            grammars.push(unjinja_grammar::grammar(model.parser.program(), Some(&turn.tools), &options())?);
            let required = options().tool_choice(ToolChoice::Required).text_before(1_000);
            grammars.push(unjinja_grammar::grammar(model.parser.program(), Some(&turn.tools), &required)?);
        }
        // A server ends the output where a stop text begins: only white space may follow the text.
        for stop in grammars.iter().flat_map(|grammar| &grammar.stops) {
            let Some(at) = turn.body.find(stop.as_str()) else { continue };
            let read = |output: &str| {
                let options = Options::new().tools(&turn.tools).generation_prompt(start);
                let message = model.parser.parse(output.into(), &options);
                (message.reasoning_content, message.content.trim_end().to_owned(), message.tool_calls)
            };
            let (cut, whole) = (read(&turn.body[..at + stop.len()]), read(&turn.body));
            if cut != whole {
                problems
                    .push(format!("{name}: what follows {stop:?} is needed: without it {cut:?}, with it {whole:?}"));
            }
        }
        for grammar in grammars.iter().filter(|grammar| !grammar.text.is_empty()) {
            let rules = load(grammar).map_err(|error| format!("{name}: {error}"))?;
            if let Some(why) = refuses(grammar, &rules, &turn.body)? {
                wrong += 1;
                if wrong <= 3 {
                    problems.push(format!("{name}, lazy {}: {why}\n    of {:?}", grammar.lazy, turn.body));
                }
            }
        }
    }
    if wrong > 0 {
        problems.push(format!("{name}: {wrong} refused, {calls} turns with calls, {texts} without"));
    }
    Ok((calls, texts))
}

/// Whether all arguments are in the order of the schema's properties.
fn in_order(message: &Message, tools: &Tools) -> bool {
    message.tool_calls.iter().all(|call| {
        let properties = tools.get(&call.name).and_then(|tool| tool.parameters["properties"].as_object().cloned());
        let (Some(properties), Ok(Value::Object(arguments))) = (properties, serde_json::from_str(&call.arguments))
        else {
            return true;
        };
        let places: Vec<Option<usize>> =
            arguments.keys().map(|name| properties.keys().position(|property| property == name)).collect();
        places.is_sorted()
    })
}

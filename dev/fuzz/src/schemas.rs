//! Any JSON as the schema of a tool's parameters: the grammar loads, its random sentences are read as calls, and the generated
//! Rust that contains it is valid.

use serde_json::{Value, json};
use unjinja::{DiagnosticKind, Options, Tool, Tools, parse};
use unjinja::{GrammarExt, GrammarOptions, ToolChoice};
use unjinja_gbnf::{Grammar as Rules, Limits};
use unjinja_spec::ToolFormat;

use crate::models::Model;
use crate::specs;

/// Checks the property for this schema.
///
/// # Errors
/// The property that does not hold.
pub fn check(model: &Model, schema: &Value) -> Result<(), String> {
    // As a list of tools (names are untrusted, too), as the parameters of a tool, or as the schema of one parameter.
    let argument = || json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
    let is_object = schema["type"] == "object";
    let listed = match schema {
        Value::Array(_) => schema.clone(),
        _ => json!([{"name": "f", "parameters": if is_object { schema.clone() } else { argument() }}]),
    };
    let Ok(tools) = Tools::from_openai(&listed) else { return Ok(()) };
    let name = &model.spec.template.name;
    let mut request = GrammarOptions::new();
    if model.spec.tools.format == ToolFormat::None {
        request = request.response_schema(schema.clone());
    } else if !tools.is_empty() {
        request = request.tool_choice(ToolChoice::Required);
    }
    let Ok(grammar) = model.interpreter.grammar(&tools, &request) else { return Ok(()) };
    if grammar.text.is_empty() {
        return Ok(());
    }
    let rules = Rules::parse(&grammar.text).map_err(|error| format!("{name}: {error}\n{}", grammar.text))?;
    if model.spec.tools.format != ToolFormat::None && !tools.is_empty() && can_be_written(&tools) {
        drawn(model, &tools, &rules, &grammar.prefill)?;
    }
    let tokens =
        unjinja_codegen::rust::tool_items(model.interpreter.program(), &listed.to_string(), &quote::quote!(::unjinja));
    tokens.map_or(Ok(()), |tokens| specs::is_rust(&tokens))
}

/// Whether every format can write the names: `f(a"b=0)` is not a call, whatever the grammar says.
fn can_be_written(tools: &Tools) -> bool {
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let arguments = |tool: &Tool| match tool.parameters["properties"].as_object() {
        Some(properties) => properties.keys().all(|name| plain(name)),
        None => true,
    };
    tools.iter().all(|tool| plain(&tool.name) && arguments(tool))
}

/// Random sentences of a grammar that requires a call are read as calls with JSON arguments.
fn drawn(model: &Model, tools: &Tools, rules: &Rules, prefill: &str) -> Result<(), String> {
    let options = Options::new().tools(tools);
    let mut seed = 7;
    for _ in 0..3 {
        let Some(sentence) = rules.sample(&mut seed, Limits { length: 200, depth: 40 }) else { return Ok(()) };
        let output = sentence.strip_prefix(prefill).unwrap_or(&sentence);
        let message = parse(model.interpreter.clone(), output, &options);
        let odd = |kind| matches!(kind, DiagnosticKind::MalformedArguments | DiagnosticKind::IncompleteCall);
        if message.tool_calls.is_empty() || message.diagnostics.iter().any(|d| odd(d.kind)) {
            let name = &model.spec.template.name;
            return Err(format!(
                "{name}: a sentence of the grammar is no call\n  sentence {output:?}\n  read {message:?}"
            ));
        }
    }
    Ok(())
}

//! Any text as a chat template, rendered and analysed: the result is a text, a spec or an error, within limits of time and memory.

use serde_json::json;
use unjinja_analyzer::Naming;
use unjinja_codegen::interpreter;
use unjinja_render::{RenderOptions, Template};
use unjinja_spec::FormatSpec;

/// Checks the property for a template that is rendered.
///
/// # Errors
/// The property that does not hold.
pub fn render(text: &str) -> Result<(), String> {
    let template = match Template::parse("t.jinja", text) {
        Ok(template) => template,
        Err(error) => return says_something(&error),
    };
    let call = json!({"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": [1, "x"]}}});
    let context = json!({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Rain?"},
            {"role": "assistant", "content": "Hm.", "reasoning_content": "Well.", "tool_calls": [call]},
            {"role": "tool", "content": "no", "tool_call_id": "call00001"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>",
    });
    let first = template.render(&context);
    let second = template.render_with(&context, &RenderOptions::new().record_reads(true)).result;
    if first != second {
        return Err(format!("two renders differ: {first:?}, {second:?}"));
    }
    template.variables();
    template.string_literals();
    first.map_or_else(|error| says_something(&error), |_| Ok(()))
}

fn says_something(error: &impl std::fmt::Display) -> Result<(), String> {
    let shown = error.to_string();
    if !shown.contains("t.jinja:") {
        return Err(format!("an error without a place: {shown:?}"));
    }
    if shown.contains("panicked") { Err(shown) } else { Ok(()) }
}

/// Checks the property for a template that is analysed.
///
/// # Errors
/// The property that does not hold.
pub fn analyze(text: &str) -> Result<(), String> {
    let spec = match unjinja_build::analyze_text(text, &Naming::of_file("t.jinja")) {
        Ok(spec) => spec,
        Err(error) => {
            let shown = error.to_string();
            return if shown.contains("panicked") { Err(shown) } else { Ok(()) };
        }
    };
    let written = spec.to_toml();
    let read = FormatSpec::from_toml(&written, "t.toml");
    match read {
        Ok(read) if read == spec => {}
        Ok(_) => return Err(format!("the spec comes back as another one:\n{written}")),
        Err(error) => return Err(format!("the spec cannot be read: {error}\n{written}")),
    }
    if spec.status.makes_parser() {
        let lowered = interpreter(&spec).map_err(|error| format!("{error}\n{written}"))?;
        crate::specs::is_rust(&unjinja_codegen::rust::items(lowered.program(), &quote::quote!(::unjinja)))?;
    }
    Ok(())
}

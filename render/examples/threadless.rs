//! Renders a prompt, and templates that nest as deep as is possible without threads. The exit code says whether every
//! result is the expected one.
//!
//! ```sh
//! cargo run -p unjinja-render --example threadless
//! .ci/wasm    # the same program as WebAssembly, under node
//! ```
//!
//! It only computes, so that it runs where there is no standard output, no file and no clock.

use std::process::ExitCode;

use serde_json::json;
use unjinja_render::{RenderErrorKind, Template, without_threads};

const TEMPLATE: &str = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] | trim }}<|end|>{% endfor %}\
    {% for t in tools %}{{ t | tojson }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

/// The prompt of a short conversation.
fn prompt() -> Option<String> {
    let context = json!({
        "messages": [{ "role": "user", "content": " Hi! " }],
        "tools": [{ "name": "rain", "description": "d", "a": 1 }],
        "add_generation_prompt": true,
    });
    Template::parse("prompt.jinja", TEMPLATE).ok()?.render(&context).ok()
}

/// Whether a template that nests without end is stopped by a limit.
fn is_stopped(source: &str) -> bool {
    match Template::parse("endless.jinja", source).map(|template| template.render(&json!({}))) {
        Ok(Ok(_)) => false,
        Ok(Err(error)) => error.kind() == RenderErrorKind::Limit,
        Err(error) => error.message().contains("nested deeper than"),
    }
}

fn main() -> ExitCode {
    let expected = "<|user|>Hi!<|end|>{\"name\": \"rain\", \"description\": \"d\", \"a\": 1}<|assistant|>";
    let endless = [
        "{% macro f() %}{% set t %}{{ [f()] | join }}{% endset %}{{ t }}{% endmacro %}{{ f() }}".to_owned(),
        "{% for x in [1] recursive %}{% if true %}{{ '%s' % loop([1]) }}{% endif %}{% endfor %}".to_owned(),
        format!("{{{{ {}1{} }}}}", "[".repeat(100), "]".repeat(100)),
        format!("{{{{ {}1 }}}}", "1 + ".repeat(400)),
        format!("{{{{ {}1 }}}}", "not ".repeat(400)),
    ];
    without_threads(|| {
        if prompt().as_deref() != Some(expected) {
            return ExitCode::from(1);
        }
        if !endless.iter().all(|source| is_stopped(source)) {
            return ExitCode::from(2);
        }
        ExitCode::SUCCESS
    })
}

//! What `unjinja serve` prints at the start: what was found, and what can be promised to clients.

use std::fmt::Write as _;

use unjinja_dynamic::Status;
use unjinja_server::http::{Config, GrammarUse, Models, UpstreamApi, UpstreamFacts};
use unjinja_spec::ToolFormat;

/// The most models of an upstream that are named.
const NAMED: usize = 5;

/// A line about the upstream, one about each model, and what is promised.
pub(super) fn of(config: &Config, facts: &UpstreamFacts, models: &Models) -> String {
    let mut page = format!("upstream: {}", protocol(facts.api));
    for (number, model) in facts.models.iter().take(NAMED).enumerate() {
        let before = if number == 0 { "; serves" } else { "," };
        let _ = write!(page, "{before} {}", model.name);
        if let Some(context) = model.context {
            let _ = write!(page, " ({context} tokens)");
        }
    }
    match facts.models.len() {
        0 => page.push_str("; its models are not known"),
        count if count > NAMED => page.push_str(", …"),
        _ => {}
    }
    page.push('\n');
    for served in models.iter() {
        let (spec, status) = (served.model().spec(), served.model().status());
        let calls = match spec.tools.format {
            ToolFormat::None => "no calls are known",
            _ => "calls and answers are told apart",
        };
        let status = if status == Status::Supported { "supported" } else { "not fully supported" };
        let _ = writeln!(page, "model {}: {status}; {calls}", served.name());
    }
    page.push_str("kept here: calls that a request does not allow are no calls (tool_choice, parallel_tool_calls)\n");
    page.push_str(match config.upstream.grammar {
        GrammarUse::Never => {
            "left to the model: a call that is demanded, and JSON as a response format; --grammar promised asks the upstream for them\n"
        }
        GrammarUse::WhenPromised | GrammarUse::Always => {
            "asked of the upstream, where one grammar can say it: a call that is demanded, and JSON as a response format\n"
        }
    });
    page.push_str("left to the model: strict arguments\n");
    page
}

fn protocol(api: UpstreamApi) -> &'static str {
    match api {
        UpstreamApi::OpenAi => "OpenAI's completions (vLLM, SGLang, TGI and others)",
        UpstreamApi::LlamaCpp => "llama.cpp",
    }
}

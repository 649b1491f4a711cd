//! What `unjinja serve` prints at the start: what was found, and what is guaranteed to clients.

use std::fmt::Write as _;

use unjinja_dynamic::{Status, Target};
use unjinja_server::http::{
    Config, GrammarUse, Models, ServedModel, SpelledMarkers, Unenforced, UpstreamApi, UpstreamFacts, UpstreamServer,
};
use unjinja_spec::ToolFormat;

/// The most models of an upstream that are named.
const NAMED: usize = 5;

/// A line about the upstream, one about each model, and what is guaranteed.
pub(super) fn of(config: &Config, facts: &UpstreamFacts, models: &Models) -> String {
    let mut page = String::new();
    about(&mut page, facts);
    for served in models.iter() {
        let (spec, status) = (served.model().spec(), served.model().status());
        let calls = match spec.tools.format {
            ToolFormat::None => "no calls are known",
            _ => "calls and answers are told apart",
        };
        let status = if status == Status::Supported { "supported" } else { "not fully supported" };
        let tools = match (served.prints_tools(), served.can_describe_tools(), config.describe_tools) {
            (true, ..) => "",
            (false, true, true) => "; the template does not print tools: they are described in the system message",
            (false, true, false) => {
                "; the template does not print tools: requests with tools are refused without --describe-tools"
            }
            (false, false, _) => "; the template does not print tools: requests with tools are refused",
        };
        let thinks = match thinks(served, config.thinking) {
            Some(true) => "; thinks where a request does not say (--thinking)",
            Some(false) => "; does not think where a request does not say (--thinking)",
            None => "",
        };
        let ids = if served.sends_ids() { "; prompts go as token ids" } else { "" };
        let _ = writeln!(
            page,
            "model {}: template from {}; {status}; {calls}{tools}{thinks}{ids}",
            served.name(),
            served.origin()
        );
        let watched: Vec<&str> = served.watched_tokens().into_iter().collect();
        if config.markers != SpelledMarkers::Trust && !watched.is_empty() {
            let (first, more) = watched.split_at(watched.len().min(NAMED));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let next = "a tokenizer (--tokenizer) keeps all tokens out";
            let _ = writeln!(page, "texts of requests are searched for {}{more}; {next}", first.join(" "));
        }
    }
    page.push_str(
        "enforced here: calls that a request does not allow are no calls (tool_choice, parallel_tool_calls)\n",
    );
    let rest = "a call that is demanded, JSON as a response format, and strict arguments";
    let _ = match (config.upstream.grammar, config.unenforced) {
        (GrammarUse::ForGuarantees | GrammarUse::Always, _) => {
            writeln!(
                page,
                "enforced by the upstream, which gets a grammar ({}): {rest}",
                engine(config.upstream.engine)
            )
        }
        (GrammarUse::Never, Unenforced::Refuse) => {
            writeln!(page, "refused with status 400: {rest}; --grammar guaranteed asks the upstream for them")
        }
        (GrammarUse::Never, Unenforced::Accept) => {
            writeln!(page, "left to the model: {rest}; --grammar guaranteed asks the upstream for them")
        }
    };
    page
}

/// Whether the model thinks where a request does not say. `None` if no prompt of the template shows it.
fn thinks(served: &ServedModel, chosen: Option<bool>) -> Option<bool> {
    let entries = &served.model().parser().program().entries;
    let default = entries.iter().find(|entry| entry.thinking.is_none())?;
    let mut same = entries.iter().filter(|entry| entry.text == default.text).filter_map(|entry| entry.thinking);
    let (first, second) = (same.next()?, same.next());
    chosen.or(Some(first).filter(|_| second.is_none()))
}

fn about(page: &mut String, facts: &UpstreamFacts) {
    let _ = write!(page, "upstream: {}", program(facts));
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
}

fn engine(target: Target) -> &'static str {
    match target {
        Target::XGrammar => "a structural tag for xgrammar",
        Target::Llguidance => "Lark for llguidance",
        _ => "GBNF",
    }
}

/// The program that an upstream is.
fn program(facts: &UpstreamFacts) -> &'static str {
    match (facts.server, facts.api) {
        (UpstreamServer::Vllm, _) => "vLLM",
        (UpstreamServer::Sglang, _) => "SGLang",
        (UpstreamServer::Tgi, _) => "TGI",
        (_, UpstreamApi::LlamaCpp) => "llama.cpp",
        (_, UpstreamApi::OpenAi) => "OpenAI's completions",
    }
}

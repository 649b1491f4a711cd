//! The explanation as one HTML page, without scripts and external files. Text from a template or an output is always
//! escaped. Nothing is shown by colour alone.

mod comparisons;
mod escape;
mod output;
mod parser;

use std::fmt::Write as _;

use super::model::{Explanation, FileKind, Outcome};
use crate::{gaps, visible};
use escape::{escape, inline};

const STYLE: &str = include_str!("page.css");

/// The page.
pub(crate) fn page(explanation: &Explanation) -> String {
    let mut sections: Vec<(&str, &str, Option<usize>, String)> = Vec::new();
    if let Some(output) = &explanation.output {
        sections.push(("output", "Output", None, output::section(output)));
    }
    if explanation.kind == FileKind::Template {
        let count = explanation.comparisons.len();
        sections.push(("comparisons", "Comparisons", Some(count), comparisons::section(explanation)));
    }
    if !explanation.keys.is_empty() {
        sections.push(("spec", "Spec", Some(explanation.keys.len()), parser::spec(explanation)));
    }
    if !explanation.generation_prompts.is_empty() {
        let count = explanation.generation_prompts.len();
        sections.push(("prompts", "Generation prompts", Some(count), parser::prompts(explanation)));
    }
    if !explanation.states.is_empty() {
        sections.push(("states", "States", Some(explanation.states.len()), parser::states(&explanation.states)));
    }
    if let Some(section) = parser::grammar(explanation) {
        sections.push(("grammar", "Grammar", None, section));
    }
    let mut body = head(explanation);
    body.push_str("<div class=\"layout\"><nav aria-label=\"Contents\"><ol>");
    for (id, title, count, _) in &sections {
        let count = count.map_or(String::new(), |count| format!(" <span class=\"count\">{count}</span>"));
        let _ = write!(body, "<li><a href=\"#{id}\">{title}{count}</a></li>");
    }
    body.push_str("</ol></nav><main>");
    for (id, title, _, section) in &sections {
        let _ = writeln!(body, "<section id=\"{id}\"><h2>{title}</h2>{section}</section>");
    }
    body.push_str(
        "<footer>Written by <code>unjinja explain</code>. This page needs no network and runs no script.</footer>",
    );
    body.push_str("</main></div>");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{} · unjinja explain</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        inline(&explanation.file)
    )
}

fn head(explanation: &Explanation) -> String {
    let (class, outcome) = match explanation.outcome {
        Outcome::Supported => ("good", "✓ supported"),
        Outcome::Partial => ("part", "◐ partial"),
        Outcome::Unsupported => ("bad", "✗ unsupported"),
        Outcome::Failed => ("bad", "✗ no spec"),
    };
    let kind = if explanation.kind == FileKind::Template { "chat template" } else { "format spec" };
    let mut out = format!(
        "<header><p class=\"eyebrow\">unjinja explain · {kind}</p><h1>{}</h1><p class=\"facts\">\
         <span class=\"badge {class}\">{outcome}</span>",
        inline(&explanation.file)
    );
    let mut fact = |what: &str, value: String| {
        let _ = write!(out, "<span>{what} <b>{value}</b></span>");
    };
    let key = |name: &str| explanation.keys.iter().find(|key| key.key == name).and_then(|key| key.value.as_str());
    if let Some(format) = key("tools.format") {
        fact("calls", inline(format));
    }
    if let Some(mode) = key("reasoning.mode") {
        fact("reasoning", inline(mode));
    }
    if let Some(evidence) = &explanation.evidence {
        fact("round trips", format!("{} of {}", evidence.round_trips.held, evidence.round_trips.tried));
        fact("renders", evidence.renders.to_string());
        if let Some(text) = gaps::described(&evidence.described) {
            fact("known from the prompt", text.to_owned());
        }
    }
    out.push_str("</p>");
    if let Some(reason) = &explanation.reason {
        let _ =
            write!(out, "<p class=\"reason\"><b>Why there is no parser.</b> {}</p>", escape(&visible::lines(reason)));
    }
    for correction in &explanation.corrections {
        let _ = write!(out, "<p>{}</p>", escape(&visible::lines(correction)));
    }
    for gap in explanation.gaps.iter().filter(|_| explanation.outcome == Outcome::Partial) {
        let _ = write!(out, "<p class=\"reason\"><b>What is missing.</b> {}</p>", escape(&visible::lines(gap)));
    }
    out.push_str("</header>");
    out
}

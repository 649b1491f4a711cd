//! Findings about response templates, in the form that all findings have. What is tried, `response_template` decides.

use serde_json::Value;
use unjinja_analyzer::Verification;
use unjinja_export::response_template::{self, FindingKind, Reading, ResponseTemplate, check};
use unjinja_render::Template;
use unjinja_spec::FormatSpec;

use super::allow;
use super::finding::{Evidence, Finding, Target, capitalised};
use super::rules::{self, Rule};

/// Tries a response template, as JSON, with what the chat template of the same model writes: random conversations and outputs
/// that are known to be hard. `spec` is the analysis of the chat template, and `verification` its random conversations
/// ([`unjinja_analyzer::verify`]). Comments of the chat template allow rules, as for [`lint`](super::lint).
pub fn lint_response_template(
    response: &Value,
    chat: &Template,
    spec: &FormatSpec,
    verification: &Verification,
) -> Vec<Finding> {
    let template = match ResponseTemplate::from_json(response) {
        Ok(template) => template,
        Err(problems) => {
            let finding = |problem: &response_template::Problem| Finding {
                target: Target::ResponseTemplate,
                ..Finding::new(rules::RESPONSE_INVALID, place(problem), problem.next_step.clone())
            };
            return problems.0.iter().map(finding).collect();
        }
    };
    let findings = check(&template, chat, spec, verification).iter().map(finding_of).collect();
    let mut findings = allow::apply(chat.source(), rules::RESPONSE_RULES, findings);
    findings.sort_by_key(|finding| rules::RESPONSE_RULES.iter().position(|rule| *rule == finding.rule));
    findings
}

fn place(problem: &response_template::Problem) -> String {
    let place = if problem.place.is_empty() { "response_template" } else { &problem.place };
    format!("{place}: {}", problem.cause)
}

fn finding_of(found: &response_template::Finding) -> Finding {
    let (rule, help) = rule_of(found.kind);
    let message = format!("{}.", capitalised(&found.sentence));
    let evidence = Evidence::Output {
        output: found.output.clone(),
        written: Reading::from(&found.written).to_json().to_string(),
        read: match &found.read {
            Ok(reading) => reading.to_json().to_string(),
            Err(error) => format!("error: {error}"),
        },
    };
    Finding { target: Target::ResponseTemplate, evidence: Some(evidence), ..Finding::new(rule, message, help) }
}

/// The rule for a kind of finding, and what can be done.
fn rule_of(kind: FindingKind) -> (Rule, &'static str) {
    let export = "compare it with what `unjinja export` prints";
    match kind {
        FindingKind::Conversation => (rules::RESPONSE_CONVERSATION, export),
        FindingKind::TextAroundCall => (rules::RESPONSE_TEXT_AROUND, "give `content` `repeats` and `join`"),
        FindingKind::MentionedMarker => {
            (rules::RESPONSE_MENTION, "let `open_pattern` look at more than the marker: what must follow it")
        }
        FindingKind::CloserInValue => (rules::RESPONSE_CLOSER, "let `close_pattern` look at what follows the marker"),
        FindingKind::WhiteSpaceOfValue => {
            (rules::RESPONSE_SPACE, "take only the line breaks into the pattern that the template writes")
        }
        FindingKind::CutCall => (rules::RESPONSE_CUT, ""),
        FindingKind::CallInReasoning => {
            (rules::RESPONSE_REASONING, "let the marker of a call close the reasoning as well")
        }
    }
}

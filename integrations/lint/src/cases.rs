//! Experiments as data: what clients of the OpenAI API send. A case names a conversation that the template renders, a change
//! to it, and what must stay true. This file runs the cases and puts what they show into words.

mod calls;
mod case;
mod change;
mod messages;

use super::advice::advice;
use super::conversation::Conversation;
use super::experiment::Harm;
use super::finding::Finding;
use super::rules::{self, Rule};
use super::severity::Severity;
use super::subject::Subject;

/// Rules whose finding says nothing new where the other one reports the same line.
const IMPLIED: &[(Rule, Rule)] = &[(rules::REASONING_ALONE, rules::NULL_CONTENT)];

/// Runs all cases.
pub(super) fn run(subject: &Subject, findings: &mut Vec<Finding>) {
    for case in messages::CASES.iter().chain(calls::CASES) {
        if findings.iter().any(|finding| finding.rule == case.rule) {
            continue;
        }
        let Some(base) = (case.base)(subject) else { continue };
        let change = |conversation: &mut Conversation| (case.change)(subject, conversation);
        let Some(shown) = subject.experiment(&base, &change, case.check) else { continue };
        let message = format!("{}: {}.", case.sent, shown.harm.words());
        let help = advice(case.rule, subject).unwrap_or(case.help);
        let finding = Finding::new(case.rule, message, help)
            .with(subject.context(&shown.conversation), shown.expected, shown.actual)
            .at(shown.position);
        let implies = |known: &Finding| IMPLIED.contains(&(case.rule, known.rule)) && known.line == finding.line;
        if findings.iter().any(implies) {
            continue;
        }
        findings.push(match shown.harm {
            Harm::Refuses(_) if case.may_refuse => finding.at_most(Severity::Note),
            Harm::LosesOne(_) if case.rule == rules::RESULT_NAME => finding.at_most(Severity::Warning),
            _ => finding,
        });
    }
}

//! Runs all rules about chat templates.

use serde_json::Value;
use unjinja_analyzer::{AnalyzeError, refused_answer};
use unjinja_render::{Template, TemplateError, with_big_stack};

use super::conversation::Conversation;
use super::experiment::one_line;
use super::finding::{Finding, capitalised};
use super::options::LintOptions;
use super::rules::{self, RULES};
use super::subject::Subject;
use super::{allow, cases, losses, markers, round_trip, turns, values, variables};

/// Finds the faults of a chat template. The findings are in the order of their places; those without a place come first.
///
/// A comment `{# unjinja-lint: allow RULE #}` in the template leaves out the findings of a rule.
///
/// The template's special tokens, if it has none, are replaced by `<s>` and `</s>`.
pub fn lint(template: &Template, options: &LintOptions) -> Vec<Finding> {
    // One stack for all renders.
    let findings = with_big_stack(|| found(template, options).1);
    findings.unwrap_or_else(|panicked| {
        let message = format!("The template cannot be rendered: {panicked}.");
        vec![Finding::new(rules::NOT_RENDERABLE, message, "report this with the template")]
    })
}

/// The template, which knows the variables of all renders that were made, and the findings that no comment allows.
pub(super) fn found(template: &Template, options: &LintOptions) -> (Subject, Vec<Finding>) {
    let (subject, found) = examined(template, options);
    let mut findings = allow::apply(template.source(), RULES, found);
    let number = |rule| RULES.iter().position(|known| *known == rule);
    findings.sort_by_key(|finding| (finding.line, finding.column, number(finding.rule)));
    (subject, findings)
}

/// A template after all rules, which knows what it was asked; and the findings.
fn examined(template: &Template, options: &LintOptions) -> (Subject, Vec<Finding>) {
    let (subject, analysed) = Subject::new(template, options.spec.as_ref());
    let found = lint_here(&subject, analysed, options);
    (subject, found)
}

/// A template after all rules, which knows what it was asked. The caller runs it on a big stack.
pub(crate) fn subject(template: &Template, options: &LintOptions) -> Subject {
    examined(template, options).0
}

/// The variables of all renders that the rules make, in an order that is always the same.
pub fn contexts(template: &Template, options: &LintOptions) -> Vec<Value> {
    with_big_stack(|| examined(template, options).0.tried()).unwrap_or_default()
}

/// The finding for a template that cannot be parsed.
///
/// ```
/// use unjinja_lint::syntax_error;
/// use unjinja_render::Template;
///
/// let error = Template::parse("broken.jinja", "\n{% if x %}").unwrap_err();
/// assert_eq!(syntax_error(&error).line, Some(2));
/// ```
pub fn syntax_error(error: &TemplateError) -> Finding {
    let message = format!("The template cannot be parsed: {}.", one_line(error.message()));
    let mut finding = Finding::new(rules::SYNTAX_ERROR, message, "correct the line").at_line(Some(error.line()));
    finding.column = error.column();
    finding
}

fn lint_here(subject: &Subject, analysed: Result<(), AnalyzeError>, options: &LintOptions) -> Vec<Finding> {
    if let Some(error) = analysed.err().or_else(|| refused_answer(subject.template())) {
        let line = error.line.and_then(|line| usize::try_from(line).ok());
        let message =
            format!("{}: {}.", capitalised(&error.problem), one_line(error.seen.lines().next().unwrap_or_default()));
        let plain = Conversation::of([subject.plain.user(), subject.plain.answer()]);
        let finding = Finding::new(rules::NOT_RENDERABLE, message, error.next_step).at_line(line);
        return vec![finding.with(subject.context(&plain), error.expected, error.seen)];
    }
    let mut findings = Vec::new();
    cases::run(subject, &mut findings);
    values::run(subject, &mut findings);
    losses::run(subject, &mut findings);
    turns::run(subject, &mut findings);
    markers::run(subject, options, &mut findings);
    variables::run(subject, options, &mut findings);
    round_trip::run(subject, &mut findings);
    findings.extend(subject.refused_by_transformers().map(|(context, why)| {
        let message = format!("transformers refuses a conversation that other engines render: {why}.");
        Finding::new(rules::TRANSFORMERS_REFUSES, message, instead(&why)).with(
            context,
            "a prompt",
            format!("an error: {why}"),
        )
    }));
    findings
}

/// What to write instead of what transformers refuses.
fn instead(why: &str) -> &'static str {
    const INSTEAD: &[(&str, &str)] = &[
        ("`from_json`", "use the value as it is, such as `arguments` that are an object"),
        ("begins with `_`", "give it another name"),
        ("its `dict`", "write `dict(pairs)`"),
        ("is None", "ask `if tools` or `if documents` before the template uses them"),
    ];
    let found = INSTEAD.iter().find(|(part, _)| why.contains(part)).map(|(_, instead)| *instead);
    found.unwrap_or(
        "keep the value in a namespace and set it anew, as in `{% set ns.list = ns.list + [item] %}` for `append`",
    )
}

//! Finds faults of chat templates: what fails on conversations that clients send, what is lost or written wrongly, and what
//! costs a server its cache.
//!
//! Every rule is a controlled experiment. The template renders two conversations that differ in one respect, and both prompts
//! are compared; or it writes a call, and the parser that the analysis made of the same template reads it back. Nothing
//! depends on a model: no rule looks for the text of a template or for a name.
//!
//! ```
//! use unjinja_export::lint::{LintOptions, Severity, lint};
//! use unjinja_render::Template;
//!
//! let text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content + '<|end|>' }}{% if m.tool_calls %}\
//!     {% for c in m.tool_calls %}<|call|>{{ c.function | tojson }}<|end|>{% endfor %}{% endif %}{% endfor %}\
//!     {% if add_generation_prompt %}<|assistant|>{% endif %}";
//! let template = Template::parse("chat.jinja", text)?;
//! let findings = lint(&template, &LintOptions::default());
//! let null = findings.iter().find(|finding| finding.rule.id == "null-content").ok_or("not found")?;
//! assert_eq!(null.severity, Severity::Error);
//! assert!(null.message.contains("the template fails"), "{}", null.message);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// `rules`: the list of rules. `finding` and `severity`: what is reported. `conversation`: what templates are asked. `subject`: the
// template, and all renders. `options`: what else is known. `compare`: shows differences. `experiment`: two conversations that
// differ in one respect. `advice`: what to change, by the format of calls. `allow`: comments of the template that allow rules. `fix`,
// `repairs` and `expressions`: changes of the source, and the proof that they repair a finding. The others are groups of rules:
// `cases` (what clients send, as data), `values`, `losses`, `turns`, `markers`, `variables`, `round_trip`; and `response`: findings about response templates, in the same form.

mod advice;
mod allow;
mod cases;
mod compare;
mod conversation;
mod experiment;
mod expressions;
mod finding;
mod fix;
mod losses;
mod markers;
mod options;
mod repairs;
mod response;
mod round_trip;
mod rules;
mod severity;
mod subject;
mod turns;
mod values;
mod variables;

use serde_json::Value;
use unjinja_analyzer::{AnalyzeError, refused_answer};
use unjinja_render::{Template, TemplateError, with_big_stack};

use finding::capitalised;
pub use finding::{Evidence, Finding, Target};
pub use fix::{Repaired, can_fix, fix};
pub use options::LintOptions;
pub use response::lint_response_template;
pub use rules::{RESPONSE_RULES, RULES, Rule};
pub use severity::Severity;

use subject::Subject;

/// Finds the faults of a chat template. The findings are in the order of [`RULES`].
///
/// A comment `{# unjinja-lint: allow RULE #}` in the template leaves out the findings of a rule.
///
/// The template's special tokens, if it has none, are replaced by `<s>` and `</s>`.
pub fn lint(template: &Template, options: &LintOptions) -> Vec<Finding> {
    // One stack for all renders.
    let found = with_big_stack(|| examine(template, options).0);
    found.unwrap_or_else(|panicked| {
        let message = format!("The template cannot be rendered: {panicked}.");
        vec![Finding::new(rules::NOT_RENDERABLE, message, "report this with the template")]
    })
}

/// The findings, and the variables of all renders that were made for them.
fn examine(template: &Template, options: &LintOptions) -> (Vec<Finding>, Vec<Value>) {
    let (subject, analysed) = Subject::new(template, options.spec.as_ref());
    let found = lint_here(&subject, analysed, options);
    let mut findings = allow::apply(template.source(), RULES, found);
    findings.sort_by_key(|finding| RULES.iter().position(|rule| *rule == finding.rule));
    (findings, subject.tried())
}

/// The finding for a template that cannot be parsed.
///
/// ```
/// use unjinja_export::lint::syntax_error;
/// use unjinja_render::Template;
///
/// let error = Template::parse("broken.jinja", "\n{% if x %}").unwrap_err();
/// assert_eq!(syntax_error(&error).line, Some(2));
/// ```
pub fn syntax_error(error: &TemplateError) -> Finding {
    let message = format!("The template cannot be parsed: {}.", experiment::one_line(error.message()));
    Finding::new(rules::SYNTAX_ERROR, message, "correct the line").at_line(Some(error.line()))
}

fn lint_here(subject: &Subject, analysed: Result<(), AnalyzeError>, options: &LintOptions) -> Vec<Finding> {
    if let Some(error) = analysed.err().or_else(|| refused_answer(subject.template())) {
        let line = error.line.and_then(|line| usize::try_from(line).ok());
        let message = format!(
            "{}: {}.",
            capitalised(&error.problem),
            experiment::one_line(error.seen.lines().next().unwrap_or_default())
        );
        let plain = conversation::Conversation::of([subject.plain.user(), subject.plain.answer()]);
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
    findings
}

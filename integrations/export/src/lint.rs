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
// differ in one respect. `examine`: runs all rules. `advice`: what to change, by the format of calls. `allow`: comments of the template that allow rules. `fix`,
// `repairs` and `expressions`: changes of the source, and the proof that they repair a finding. The others are groups of rules:
// `cases` (what clients send, as data), `values`, `losses`, `turns`, `markers`, `variables`, `round_trip`; and `response`: findings about response templates, in the same form.

mod advice;
mod allow;
mod cases;
mod compare;
mod conversation;
mod examine;
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

pub(crate) use conversation::Conversation;
pub use examine::{lint, syntax_error};
pub(crate) use examine::{subject, tried};
pub(crate) use experiment::smallest;
pub(crate) use expressions::{conditions, field_reads};
pub use finding::{Evidence, Finding, Target};
pub use fix::{Repaired, can_fix, fix};
pub use options::LintOptions;
pub use response::lint_response_template;
pub use rules::{RESPONSE_RULES, RULES, Rule};
pub use severity::Severity;
pub(crate) use subject::Subject;

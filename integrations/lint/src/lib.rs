#![doc = include_str!("../README.md")]
//!
//! Every rule is a controlled experiment. The template renders two conversations that differ in one respect, and both prompts
//! are compared; or it writes a call, and the parser that the analysis made of the same template reads it back. Nothing
//! depends on a model: no rule looks for the text of a template or for a name.

// Files: `rules`: the list of rules. `finding` and `severity`: what is reported. `conversation`: what templates are asked. `subject`: the
// template, and all renders. `options`: what else is known. `difference`: shows where two texts differ. `experiment`: two conversations that
// differ in one respect. `examine`: runs all rules. `advice`: what to change, by the format of calls. `allow`: comments of the template that allow rules. `fix` and
// `repairs`: changes of the source, and the proof that they repair a finding. `compare`: two templates. The others are groups of rules:
// `cases` (what clients send, as data), `values`, `losses`, `turns`, `markers`, `variables`, `round_trip`; and `response`: findings about response templates, in the same form.

mod advice;
mod allow;
mod cases;
pub mod compare;
mod conversation;
mod difference;
mod examine;
mod experiment;
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

pub use examine::{contexts, lint, syntax_error};
pub use finding::{Evidence, Finding, FindingDocument, Target};
pub use fix::{Repaired, can_fix, fix, fix_changes_prompts};
pub use options::LintOptions;
pub use response::lint_response_template;
pub use rules::{RESPONSE_RULES, RULES, Rule};
pub use severity::Severity;

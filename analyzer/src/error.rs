//! What an analysis cannot tell, as values: what a comparison expected, what it saw, where, and what to do next.
//!
//! Two kinds exist. An [`AnalyzeError`] ends the analysis: there is no spec. A [`Gap`] concerns tool calls only: the
//! spec is made, and says why it makes no parser. Nothing reads these texts to find out what happened; the fields say
//! it.

use std::fmt;

use unjinja_render::RenderError;

use crate::experiment::Experiment;

/// Characters of a render that a message shows at most.
const SHOWN: usize = 300;

/// Why a template has no spec.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnalyzeError {
    /// Name of the template.
    pub template: String,
    /// The comparison that could not be made; absent where the reason lies outside of all of them.
    pub comparison: Option<Experiment>,
    /// The line of the template, from 1, where rendering ended; absent where rendering was not the reason.
    pub line: Option<u32>,
    /// What went wrong, in a sentence without its end.
    pub problem: String,
    /// What the analysis expected.
    pub expected: &'static str,
    /// What it saw instead: a render or the message of the renderer.
    pub seen: String,
    /// What to do next.
    pub next_step: &'static str,
}

impl AnalyzeError {
    /// The simplest conversation cannot be rendered.
    pub(crate) fn no_answer(template: &str, error: &RenderError) -> Self {
        Self {
            template: template.to_owned(),
            comparison: Some(Experiment::C1),
            line: u32::try_from(error.line()).ok(),
            problem: "an answer to a user message cannot be rendered".to_owned(),
            expected: "a render of one user message and one answer",
            seen: error.to_string().trim_end().to_owned(),
            next_step: "make the template render a user and an assistant message",
        }
    }

    /// The simplest conversation is rendered without the answer, or with several copies of it. `source` is the template's text.
    pub(crate) fn answer_not_found(template: &str, source: &str, rendered: &str, count: usize) -> Self {
        let is_name = !source.is_empty() && !source.contains(|c: char| c == '{' || c.is_whitespace());
        let problem = match count {
            _ if is_name => "this is no chat template, but what looks like a path or the id of a model".to_owned(),
            0 => "the assistant's answer was not found in the rendered text; is this a chat template?".to_owned(),
            count => format!("the assistant's answer was found {count} times in the rendered text instead of once"),
        };
        Self {
            template: template.to_owned(),
            comparison: Some(Experiment::C1),
            line: None,
            problem,
            expected: "the text of the answer, once, in the assistant's turn",
            seen: quoted(rendered),
            next_step: match is_name {
                true => "pass the text of the template, or load the path or the model by its name",
                false => "look at what the template renders for a user and an assistant message",
            },
        }
    }

    /// A limit ended the renders: what was not found by then may be there all the same.
    pub(crate) fn limit(template: &str, error: &RenderError) -> Self {
        Self {
            template: template.to_owned(),
            comparison: None,
            line: u32::try_from(error.line()).ok(),
            problem: "the template uses too much time or space for all comparisons to be rendered".to_owned(),
            expected: "renders within the limits of the analysis",
            seen: error.to_string().trim_end().to_owned(),
            next_step: "look for a loop in the template that grows with every message",
        }
    }

    pub(crate) fn no_stack(template: &str, reason: String) -> Self {
        Self {
            template: template.to_owned(),
            comparison: None,
            line: None,
            problem: "the analysis could not be started".to_owned(),
            expected: "a stack for the renderer",
            seen: reason,
            next_step: "check the limits of the process for memory and threads",
        }
    }
}

impl fmt::Display for AnalyzeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.template, self.problem)?;
        match self.line {
            Some(_) => write!(f, ": {}", self.seen)?,
            None => write!(f, "\n  = seen: {}", self.seen)?,
        }
        write!(f, "\n  = next: {}", self.next_step)
    }
}

impl std::error::Error for AnalyzeError {}

/// A part of the tool calls that a comparison saw and that the spec language cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The comparison that saw it.
    pub comparison: Experiment,
    /// What the spec language can express at this point.
    pub expected: &'static str,
    /// What the render shows instead.
    pub seen: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}; found {}", self.comparison, self.expected, self.seen)
    }
}

/// Ends the search for calls with a gap.
pub(crate) fn gap<T>(comparison: Experiment, expected: &'static str, seen: impl Into<String>) -> Result<T, Gap> {
    Err(Gap { comparison, expected, seen: seen.into() })
}

/// A render as a message shows it: quoted, and cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_where_and_what_next() {
        let error = AnalyzeError::answer_not_found("a.jinja", "", "", 0);
        assert_eq!(
            error.to_string(),
            "a.jinja: the assistant's answer was not found in the rendered text; is this a chat template?\n  \
             = seen: \"\"\n  = next: look at what the template renders for a user and an assistant message"
        );
        let error = AnalyzeError::answer_not_found("template.jinja", "./qwen3.jinja", "", 0);
        assert!(error.to_string().contains("what looks like a path or the id of a model"), "{error}");
        let found = gap::<()>(Experiment::T2, "two calls in one array", quoted("[1]"));
        let Err(found) = found else { panic!("{found:?}") };
        assert_eq!(found.to_string(), "T2: expected two calls in one array; found \"[1]\"");
        assert_eq!(quoted(&"x".repeat(1000)).chars().count(), SHOWN + 3);
    }
}

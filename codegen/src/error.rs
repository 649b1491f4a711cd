//! The error of this crate: why no parser can be made from a valid spec.
//!
//! Each problem is a value with its place in the spec, what was found and what to do next. Nothing may
//! read the sentences to find out what happened; the variants say it.

use std::borrow::Cow;
use std::fmt;

use unjinja_runtime::abi::MAX_MARKERS;

/// States that a program can have: their numbers are 16 bits wide.
pub(crate) const MAX_STATES: usize = u16::MAX as usize;

/// Why a spec makes no parser: all problems at once.
///
/// [`Display`](fmt::Display) prints one line with the name of the spec, then two lines per problem: the sentence and the
/// next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerError {
    /// Name of the spec.
    pub name: String,
    /// What is wrong; at least one problem.
    pub problems: Vec<LowerProblem>,
}

/// One reason why a spec makes no parser.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LowerProblem {
    /// The spec says that its format is not supported.
    Unsupported {
        /// What the spec says is missing.
        gaps: Vec<String>,
    },
    /// Two markers may come at the same place, begin with the same text and lead to different states.
    AmbiguousMarkers {
        /// The key of the first marker.
        first: &'static str,
        /// The key of the second marker.
        second: &'static str,
        /// The text with which both begin.
        text: String,
    },
    /// More markers may come at one place than the runtime can search for at once.
    TooManyMarkers {
        /// The key of the first marker that may come there.
        key: &'static str,
        /// The text of that marker.
        text: String,
        /// How many markers may come there.
        count: usize,
    },
    /// The parser would need more states than a program can have.
    TooManyStates {
        /// How many states it would need.
        count: usize,
    },
    /// A generation prompt opens reasoning in a format without reasoning.
    PromptOpensReasoning {
        /// The index of the prompt in `generation_prompt`, from 0.
        index: usize,
        /// The text of the prompt.
        text: String,
    },
}

impl LowerProblem {
    /// The key of the spec that the problem is about, as in `tools.per_call_start`.
    pub fn key(&self) -> Cow<'static, str> {
        match self {
            Self::Unsupported { .. } => "status".into(),
            Self::AmbiguousMarkers { first: key, .. } | Self::TooManyMarkers { key, .. } => (*key).into(),
            Self::TooManyStates { .. } => "tools".into(),
            Self::PromptOpensReasoning { index, .. } => format!("generation_prompt[{index}].starts_in").into(),
        }
    }

    /// What to do about it.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => {
                "run `unjinja verify TEMPLATE` to see the smallest conversation that shows it; if the format can be \
                 described, describe it in an overlay that also sets `status = \"supported\"`"
            }
            Self::AmbiguousMarkers { .. } => "change one of the two markers in an overlay",
            Self::TooManyMarkers { .. } => "remove alternatives of this marker in an overlay",
            Self::TooManyStates { .. } => "remove alternatives of markers in an overlay",
            Self::PromptOpensReasoning { .. } => {
                "in an overlay, set `reasoning.mode` and its markers, or correct `starts_in` of this prompt"
            }
        }
    }
}

impl fmt::Display for LowerProblem {
    /// One sentence, without the next step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { gaps } => write!(f, "the format is marked as unsupported: {}", gaps.join("; ")),
            Self::AmbiguousMarkers { first, second, text } => {
                write!(f, "`{first}` and `{second}` cannot be told apart: both begin with {text:?}")
            }
            Self::TooManyMarkers { key, text, count } => write!(
                f,
                "`{key}`: {count} markers may come at one place, where {text:?} is one of them; at most {MAX_MARKERS} are \
                 possible"
            ),
            Self::TooManyStates { count } => {
                write!(f, "the parser would need {count} states; at most {MAX_STATES} are possible")
            }
            Self::PromptOpensReasoning { index, text } => write!(
                f,
                "`generation_prompt[{index}]` opens reasoning with {text:?}, but `reasoning.mode` is \"none\""
            ),
        }
    }
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no parser can be made from the spec `{}`:", self.name)?;
        for problem in &self.problems {
            write!(f, "\n  - {problem}\n    = next: {}", problem.next_step())?;
        }
        Ok(())
    }
}

impl std::error::Error for LowerError {}

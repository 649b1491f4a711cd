//! What is wrong with a response template, and where: a path of keys such as `fields.tool_calls.open_pattern`.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The keys that lead to the place; empty for the whole template.
    pub place: String,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub next_step: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { place, cause, next_step } = self;
        let place = if place.is_empty() { "response_template" } else { place };
        write!(f, "{place}: {cause}; {next_step}")
    }
}

/// Everything that is wrong with a response template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "\n" })?;
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

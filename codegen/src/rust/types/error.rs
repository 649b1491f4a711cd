//! Why a list of tools makes no Rust types.

use std::fmt;

/// Everything that keeps a list of tools from becoming Rust types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypesError {
    pub(super) problems: Vec<TypesProblem>,
}

impl TypesError {
    /// Every problem; there is at least one.
    pub fn problems(&self) -> &[TypesProblem] {
        &self.problems
    }
}

impl fmt::Display for TypesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for TypesError {}

/// One problem. It is displayed as ``tool `get_weather`, parameters.properties.days: cause; next step``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypesProblem {
    tool: String,
    path: String,
    cause: String,
    next: String,
}

impl TypesProblem {
    pub(super) fn new(
        tool: impl Into<String>,
        path: impl Into<String>,
        cause: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self { tool: tool.into(), path: path.into(), cause: cause.into(), next: next.into() }
    }

    pub(super) fn alone(self) -> TypesError {
        TypesError { problems: vec![self] }
    }

    /// The name of the tool; empty if it concerns none.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Where it is in the tool: `parameters.properties.days`. Empty if it concerns the whole tool.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// What to do about it.
    pub fn next_step(&self) -> &str {
        &self.next
    }
}

impl fmt::Display for TypesProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.tool.as_str(), self.path.as_str()) {
            ("", _) => {}
            (tool, "") => write!(f, "tool `{tool}`: ")?,
            (tool, path) => write!(f, "tool `{tool}`, {path}: ")?,
        }
        write!(f, "{}; {}", self.cause, self.next)
    }
}

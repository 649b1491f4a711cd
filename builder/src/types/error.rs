//! Why a list of tools makes no Rust types.

use std::fmt;

/// Everything that keeps a list of tools from becoming Rust types. It is displayed with one problem on each line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypesError {
    pub(super) problems: Vec<TypesProblem>,
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
pub(super) struct TypesProblem {
    /// Its name; empty if the problem concerns no tool.
    tool: String,
    /// The place in the tool: `parameters.properties.days`. Empty if the problem concerns the whole tool.
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

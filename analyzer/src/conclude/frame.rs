//! What the parts of the conclusion share.

use unjinja_spec::{Content, Reasoning};

/// The markers of a turn, as far as the calls in it need them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub start: String,
    pub end: String,
    /// What opens each message of the turn, if the turn consists of several: see `Opening::prompted_header`.
    pub prompted_header: String,
    pub reasoning: Reasoning,
    pub content: Content,
}

/// Which renders count for reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    All,
    /// Only renders without a switch. A switch may change more than whether reasoning is shown.
    Unswitched,
    /// No render that shows reasoning.
    Hidden,
}

impl Evidence {
    /// In the order in which they are tried.
    pub(crate) const ALL: [Self; 3] = [Self::All, Self::Unswitched, Self::Hidden];
}

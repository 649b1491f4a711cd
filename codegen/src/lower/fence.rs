//! Code fences of Markdown in an answer. Calls in them are examples.

use unjinja_runtime::Channel;
use unjinja_runtime::abi_3::Action;
use unjinja_spec::{MarkerKey, ToolFormat};

use super::build::{sequence, tolerated};
use super::source::Source;
use super::stray::is_announced;
use crate::plan::{Expr, Literal, Openers, PlanHole, Role};

/// The line that opens or closes a fence begins with it.
const FENCE: &str = "```";

/// An answer's text from a code fence on. In it only special tokens open calls: a model that shows how a call is written does
/// not write those. Empty if a special token announces the calls of the format, or its own markers hold fences.
pub(super) fn code(spec: &Source<'_>) -> Expr {
    let fences = spec.markers().any(|(_, text)| text.contains(FENCE));
    if spec.tools.format == ToolFormat::None || is_announced(spec) || fences {
        return Expr::empty();
    }
    let fence = |role| Expr::Literal(tolerated(MarkerKey::CodeFence, FENCE, role));
    let until =
        vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd, Role::Stray, Role::FenceEnd];
    let hole = Expr::Hole(PlanHole::text(Channel::Content, until, Openers::Tokens));
    let close = Expr::Sequence(vec![fence(Role::FenceEnd), Expr::Action(Action::CloseFence)]);
    Expr::Sequence(vec![fence(Role::Fence), Expr::Action(Action::OpenFence), hole, close.optional()])
}

/// A JSON value where nothing else may come: a model may write it between code fences.
pub(super) fn fenced(spec: &Source<'_>, value: Expr) -> Expr {
    if spec.markers().any(|(_, text)| text.contains(FENCE)) {
        return value;
    }
    let fence = |core: &str| tolerated(MarkerKey::CodeFence, core, Role::Inner);
    let open = [format!("{FENCE}json"), FENCE.to_owned()].map(|core| Expr::Literal(fence(&core)));
    let close = Literal { confirm: true, ..fence(FENCE) };
    sequence(vec![Expr::Choice(open.into()).optional(), value, Expr::Literal(close).optional()])
}

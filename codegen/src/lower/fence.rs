//! Code fences of Markdown in an answer. Calls in them are examples.

use unjinja_runtime::Channel;
use unjinja_runtime::abi::Action;
use unjinja_spec::{MarkerKey, ToolFormat};

use super::build::tolerated;
use super::source::Source;
use crate::plan::{Expr, Literal, Openers, PlanHole, Role};

/// The line that opens or closes a fence begins with it.
const FENCE: &str = "```";

/// An answer's text from a code fence on. In it only special tokens open calls: a model that shows how a call is written does
/// not write those. Empty if a special token announces the calls of the format, or its own markers hold fences.
pub(super) fn code(spec: &Source<'_>) -> Expr {
    if spec.tools.format == ToolFormat::None || spec.is_announced() || holds_fences(spec) {
        return Expr::empty();
    }
    let fence = |role| Expr::Literal(tolerated(MarkerKey::CodeFence, FENCE, role));
    let until =
        vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd, Role::Stray, Role::FenceEnd];
    let hole = Expr::Hole(PlanHole::text(Channel::Content, until, Openers::Tokens));
    let close = Expr::Sequence(vec![fence(Role::FenceEnd), Expr::Action(Action::CloseFence)]);
    Expr::Sequence(vec![fence(Role::Fence), Expr::Action(Action::OpenFence), hole, close.optional()])
}

/// The beginning of a code fence where only JSON may come. Empty if the format's own markers hold fences.
pub(super) fn begin(spec: &Source<'_>) -> Expr {
    let begin = [format!("{FENCE}json"), FENCE.to_owned()].map(|core| Expr::Literal(inner(&core)));
    if holds_fences(spec) { Expr::empty() } else { Expr::Choice(begin.into()).optional() }
}

/// The end of such a fence. It counts only before what may follow it: an answer may begin with a fence of its own.
pub(super) fn end(spec: &Source<'_>) -> Expr {
    let end = Expr::Literal(Literal { confirm: true, ..inner(FENCE) });
    if holds_fences(spec) { Expr::empty() } else { end }
}

fn inner(core: &str) -> Literal {
    tolerated(MarkerKey::CodeFence, core, Role::Inner)
}

fn holds_fences(spec: &Source<'_>) -> bool {
    spec.markers().any(|(_, text)| text.contains(FENCE))
}

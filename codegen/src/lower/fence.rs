//! Code of Markdown in an answer: fences, and code between single backticks. Calls in it are examples.

use unjinja_runtime::Channel;
use unjinja_runtime::abi_3::{Action, is_special_token};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat};

use super::build::{is_tag, tolerated};
use super::lenient::is_announced;
use super::source::Source;
use super::stray::OPENERS;
use crate::plan::{Expr, Literal, Openers, PlanHole, Role};

/// The line that opens or closes a fence begins with it.
const FENCE: &str = "```";

/// Code in a line is between two of them.
const QUOTE: &str = "`";

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

/// An answer's text from a backtick on that comes directly before a tag of reasoning or of calls: up to the next backtick or the
/// end of the paragraph no tag opens anything. Empty where [`code`] is.
pub(super) fn quotes(spec: &Source<'_>) -> Vec<Expr> {
    if code(spec) == Expr::empty() {
        return Vec::new();
    }
    let keys = OPENERS.into_iter().chain([MarkerKey::ReasoningStart]);
    let mut cores: Vec<&str> = Vec::new();
    for core in keys.filter_map(|key| MarkerText::pieces(spec.marker(key)).first().map(|piece| piece.core)) {
        let tag = Expr::Literal(tolerated(MarkerKey::CodeFence, core, Role::Fence));
        if is_tag(&tag) && !is_special_token(core.as_bytes()) && !cores.contains(&core) {
            cores.push(core);
        }
    }
    let text = || Expr::Action(Action::CloseFence);
    let quote = |core: &&str| {
        let open = tolerated(MarkerKey::CodeFence, &[QUOTE, *core].concat(), Role::Fence);
        let close = tolerated(MarkerKey::CodeFence, QUOTE, Role::FenceEnd);
        let paragraph = Literal { peek: true, ..tolerated(MarkerKey::CodeFence, "\n\n", Role::FenceEnd) };
        let until = vec![Role::CallOpen, Role::TurnEnd, Role::AfterEnd, Role::Stray, Role::FenceEnd];
        let hole = Expr::Hole(PlanHole::text(Channel::Content, until, Openers::Tokens));
        let ends = [close, paragraph].map(|end| Expr::Sequence(vec![Expr::Literal(end), text()]));
        Expr::Sequence(vec![Expr::Literal(open), text(), hole, Expr::Choice(ends.into()).optional()])
    };
    cores.iter().map(quote).collect()
}

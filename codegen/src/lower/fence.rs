//! Code fences of Markdown in an answer. Calls in them are examples.

use unjinja_runtime::Channel;
use unjinja_runtime::abi_3::{Action, Hole, Origin, is_special_token};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat};

use super::build::literal;
use super::source::Source;
use crate::plan::{self, Expr, Literal, Role};

/// The line that opens or closes a fence begins with it.
const FENCE: &str = "```";

/// An answer's text from a code fence on. In it only special tokens open calls: a model that shows how a call is written does
/// not write those. Empty if all calls of the format begin with special tokens, or its own markers hold fences.
pub(super) fn code(spec: &Source<'_>) -> Expr {
    let openers = [MarkerKey::SectionStart, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let is_opener = |key: &MarkerKey| openers.contains(key);
    let mut opening = spec.markers().filter(|(key, _)| is_opener(key)).map(|(_, text)| MarkerText::new(text).core);
    let announced = opening.next().is_some_and(|core| is_special_token(core.as_bytes()));
    let fences = spec.markers().any(|(_, text)| text.contains(FENCE));
    if spec.tools.format == ToolFormat::None || announced || fences {
        return Expr::empty();
    }
    let fence = |role: Role| {
        let fence = literal(MarkerKey::CodeFence, MarkerText::new(FENCE), role);
        Expr::Literal(Literal { origin: Origin::Recovery, ..fence })
    };
    let until =
        vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd, Role::Stray, Role::FenceEnd];
    let hole = plan::Hole { reads: Hole::Text(Channel::Content), until, only_tokens: true };
    let close = Expr::Sequence(vec![fence(Role::FenceEnd), Expr::Action(Action::CloseFence)]);
    Expr::Sequence(vec![fence(Role::Fence), Expr::Action(Action::OpenFence), Expr::Hole(hole), close.optional()])
}

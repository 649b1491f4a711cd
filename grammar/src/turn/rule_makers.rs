//! What makes the rules that only some formats need, by pointers. An application whose parsers are compiled in links what these
//! need, and no more.

use unjinja_runtime::abi::{Hole, KeyOrder, Needs};

use super::{Alternative, Call, NodeKey, Position, TurnRules};
use crate::Expr;
use crate::key_order::{Sorting, sorting};
use crate::schema::{RawString, Special, raw_string};
use crate::syntax::Syntax;

/// Makes the alternatives of a position.
type Make = for<'t, 'a> fn(&'t mut TurnRules<'a>, Position) -> Vec<Alternative>;

/// What makes the rules that only some formats need.
pub(crate) struct RuleMakers {
    /// Names and ids.
    pub(super) names: Make,
    /// Arguments one by one.
    pub(super) arguments: Make,
    /// All arguments as one value.
    pub(super) whole_arguments: Make,
    /// Arguments as text in a string.
    pub(super) as_text: for<'t, 'a> fn(&'t mut TurnRules<'a>, Expr) -> Expr,
    /// How a template sorts keys, if it does.
    pub(crate) sorting: fn(KeyOrder) -> Option<&'static dyn Sorting>,
    /// Strings between quote tokens, which are arguments.
    raw_string: Option<RawString>,
}

impl RuleMakers {
    /// What these needs take.
    // Inlined, so that an application links it alone.
    #[inline]
    pub(crate) fn of(needs: Needs) -> Self {
        let none: Make = |_, _| Vec::new();
        Self {
            names: if needs.have(Needs::NAMES) { names } else { none },
            arguments: if needs.have(Needs::ARGUMENTS) { arguments } else { none },
            whole_arguments: if needs.have(Needs::WHOLE_ARGUMENTS) { whole_arguments } else { none },
            as_text: if needs.have(Needs::ARGUMENTS_AS_TEXT) { as_text } else { |_, _| Expr::NOTHING },
            sorting: if needs.have(Needs::SORTED_KEYS) { sorting } else { |_| None },
            raw_string: if needs.have(Needs::ARGUMENTS) { Some(raw_string) } else { None },
        }
    }

    pub(super) fn special(&self, order: KeyOrder) -> Special {
        Special { sorting: (self.sorting)(order), raw_string: self.raw_string }
    }
}

fn names(turn: &mut TurnRules<'_>, at: Position) -> Vec<Alternative> {
    match turn.state(at.state).hole {
        Some(Hole::Name) => turn.name(at),
        _ => turn.any_name(at),
    }
}

fn arguments(turn: &mut TurnRules<'_>, at: Position) -> Vec<Alternative> {
    let node = turn.state(at.state);
    match &node.hole {
        Some(Hole::Value) => turn.text_alternatives(NodeKey::Text(at, 0), 0),
        Some(Hole::Literal(quote)) => {
            let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
            let value = turn.values.any(&mut turn.builder, syntax);
            turn.value(at, node, Some(value))
        }
        _ => turn.argument_name(at),
    }
}

fn whole_arguments(turn: &mut TurnRules<'_>, at: Position) -> Vec<Alternative> {
    let node = turn.state(at.state);
    let value = turn.whole_arguments(at.call, node.hole == Some(Hole::Python));
    // This value holds all arguments, so none is missing after it.
    turn.value(Position { call: Call::Any, ..at }, node, value)
}

fn as_text(turn: &mut TurnRules<'_>, arguments: Expr) -> Expr {
    turn.values.escaped.string(&mut turn.builder, arguments)
}

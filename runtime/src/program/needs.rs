//! What a program needs of a grammar, known when an application is compiled.

use std::borrow::Cow;

use super::{Hole, KeyOrder, Program, Shared};

/// What the grammar of a program has besides text and calls as one object. What makes the rest is then not linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    /// Names of functions and ids of calls, outside an object.
    pub const NAMES: Self = Self(1);
    /// Arguments that are written one by one, as raw text or as literals.
    pub const ARGUMENTS: Self = Self(2);
    /// All arguments of a call as one value, outside an object.
    pub const WHOLE_ARGUMENTS: Self = Self(4);
    /// Arguments as text in a string.
    pub const ARGUMENTS_AS_TEXT: Self = Self(8);
    /// Keys in a sorted order.
    pub const SORTED_KEYS: Self = Self(16);
    /// All of these.
    pub const ALL: Self = Self(31);

    /// Those of a program.
    pub const fn of(program: &Program) -> Self {
        // A program that was loaded at run time may need anything.
        let Cow::Borrowed(states) = program.states else { return Self::ALL };
        let mut needs = if matches!(program.key_order, KeyOrder::Given) { 0 } else { Self::SORTED_KEYS.0 };
        let mut at = 0;
        while at < states.len() {
            needs |= match &states[at].hole {
                None | Some(Hole::Text(_)) | Some(Hole::Object(Shared::Static(_))) => 0,
                Some(Hole::Object(Shared::Counted(_))) => Self::ALL.0,
                Some(Hole::Name) | Some(Hole::Id) => Self::NAMES.0,
                Some(Hole::ArgumentName) | Some(Hole::Value) | Some(Hole::Literal(_)) => Self::ARGUMENTS.0,
                Some(Hole::Json) | Some(Hole::Python) => Self::WHOLE_ARGUMENTS.0,
            };
            if let Some(Hole::Object(Shared::Static(shape))) = &states[at].hole
                && shape.args_as_text
            {
                needs |= Self::ARGUMENTS_AS_TEXT.0;
            }
            at += 1;
        }
        Self(needs)
    }

    /// Whether these are among them.
    pub const fn have(self, needs: Self) -> bool {
        self.0 & needs.0 == needs.0
    }
}

//! The interface between a parser and the engine that feeds it: one step at a time, from state to state.
//!
//! A parser is a [`Program`] and a way to run it. Generated code runs it as specialised Rust, the
//! [interpreter](crate::Interpreter) by walking the data. Both call the same primitives of [`Io`](crate::abi::Io). This file
//! must not know what the primitives do.

use super::io::Io;
use crate::program::{Program, State, StateId, TransitionRows};

pub use super::cursor::Found;

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On to this state.
    Go(StateId),
    /// More text is needed.
    Wait,
    /// The text does not fit the format. Text that was held back becomes plain text.
    Mismatch,
}

impl Flow {
    /// What follows where nothing that was found leads on.
    pub fn without_transition(found: Found) -> Self {
        if found == Found::Wait { Self::Wait } else { Self::Mismatch }
    }
}

impl State {
    /// The transition that generated code takes for what was found: its number, and where it leads.
    #[inline]
    pub fn taken(&self, found: Found) -> Option<(u16, StateId)> {
        let (rows, index) = self.row(found)?;
        rows.numbered(index).map(|(number, transition)| (number, transition.next))
    }

    /// The transition for what was found, as its list and its place there; `None` if the text does not fit.
    #[inline]
    pub(crate) fn row(&self, found: Found) -> Option<(&TransitionRows, usize)> {
        match found {
            Found::Marker(index) => Some((&self.transitions, index)),
            Found::Done => Some((&self.otherwise, 0)),
            Found::Other if self.hole.is_none() => Some((&self.otherwise, 0)),
            Found::Other | Found::Wait => None,
        }
    }
}

/// A parser: its program, and how it takes a step.
pub trait Machine {
    /// The program that this parser runs.
    fn program(&self) -> &Program;

    /// Reads on from `state`.
    fn step(&self, state: StateId, io: &mut Io<'_>) -> Flow;

    /// The text ends in `state`: closes what is open. Returns whether a turn may end there.
    fn end(&self, state: StateId, io: &mut Io<'_>) -> bool;
}

//! The plan: the grammar of one assistant turn, made of literals, holes, sequence, choice, repetition and option.
//!
//! It is the step between a spec and a [`Program`](unjinja_runtime::Program). No back end reads it. It must not know
//! what a spec is: lowering writes it, determinizing reads it.

use unjinja_runtime::abi_2::{self as program, Action, Origin};

/// The grammar of one assistant turn of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The whole turn.
    pub turn: Expr,
}

/// A piece of the grammar.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A piece of a marker.
    Literal(Literal),
    /// Something that the model fills in.
    Hole(Hole),
    /// What reading has to do at this point; takes no text.
    Act(Action),
    /// One after the other.
    Sequence(Vec<Expr>),
    /// One of these.
    Choice(Vec<Expr>),
    /// Any number of times, also none.
    Repeat(Box<Expr>),
    /// Once or not at all.
    Option(Box<Expr>),
}

impl Expr {
    /// The empty text.
    pub fn empty() -> Self {
        Expr::Sequence(Vec::new())
    }

    /// Once or not at all.
    pub fn optional(self) -> Self {
        Expr::Option(Box::new(self))
    }

    /// Any number of times.
    pub fn repeated(self) -> Self {
        Expr::Repeat(Box::new(self))
    }
}

/// A piece of a marker: its core, and the white space that the template writes around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The key of the spec that it comes from.
    pub key: &'static str,
    /// What must stand there; neither empty nor with white space at its ends.
    pub core: String,
    /// White space before the core.
    pub before: String,
    /// White space after the core.
    pub after: String,
    /// What it is for.
    pub role: Role,
    /// It counts only where what follows may legally follow.
    pub confirm: bool,
    /// It is left to be read by what follows.
    pub peek: bool,
    /// Whether a template writes it.
    pub origin: Origin,
}

/// What a literal is for. Plain text ends only at literals with certain roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens reasoning.
    ReasoningStart,
    /// Closes reasoning.
    ReasoningEnd,
    /// Stands around the answer.
    ContentFrame,
    /// May open a call.
    CallOpen,
    /// Stands inside a call or between calls.
    Inner,
    /// Ends the turn.
    TurnEnd,
}

/// Something that the model fills in.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// What is read here.
    pub reads: program::Hole,
    /// The roles of the literals at which plain text ends; empty for all that is no plain text.
    pub until: Vec<Role>,
}

impl From<program::Hole> for Hole {
    fn from(reads: program::Hole) -> Self {
        Self { reads, until: Vec::new() }
    }
}

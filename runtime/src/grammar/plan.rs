//! What a grammar is made of: the machine of one turn, as data. Generated modules carry it as a constant, and the
//! interpreter makes it when it is asked; it is the same machine that reads the turn, so that a grammar writes what the
//! parser reads. Nothing here decides anything.

use crate::call_object::CallShape;
use crate::event::Channel;
use crate::machine::State;
use crate::markers::Markers;

/// The machine of one turn, as data. A [`State`] is the number of its node.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'p> {
    /// The nodes.
    pub nodes: &'p [Node<'p>],
    /// Where a turn begins of which nothing is written.
    pub start: State,
    /// The node of plain answer text.
    pub content: State,
    /// The node of open reasoning.
    pub reasoning: Option<State>,
    /// Templates write an answer behind the calls of the same turn.
    pub text_after_calls: bool,
}

/// One state of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Node<'p> {
    /// What stands here beside markers.
    pub reads: Reads<'p>,
    /// The markers that lead on.
    pub markers: &'p Markers<'p>,
    /// Where each of `markers` leads.
    pub steps: &'p [Step<'p>],
    /// Where to go without a marker: behind a value that ends by itself, and where no marker stands.
    pub otherwise: Option<Step<'p>>,
    /// What is done where the turn ends here; `None` where it may not.
    pub end: Option<&'p [Act<'p>]>,
}

impl<'p> Node<'p> {
    /// A node that has no markers, leads nowhere and cannot be the end.
    pub const fn new(reads: Reads<'p>) -> Self {
        Self { reads, markers: &Markers::NONE, steps: &[], otherwise: None, end: None }
    }

    /// With markers and where they lead.
    pub const fn markers(mut self, markers: &'p Markers<'p>, steps: &'p [Step<'p>]) -> Self {
        self.markers = markers;
        self.steps = steps;
        self
    }

    /// With a way that needs no marker.
    pub const fn otherwise(mut self, step: Step<'p>) -> Self {
        self.otherwise = Some(step);
        self
    }

    /// May be the end of the turn.
    pub const fn end(mut self, acts: &'p [Act<'p>]) -> Self {
        self.end = Some(acts);
        self
    }
}

/// What stands at a node beside markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads<'p> {
    /// Nothing but markers.
    Markers,
    /// Plain text of a channel.
    Text(Channel),
    /// A function's name.
    Name,
    /// A call's id.
    Id,
    /// An argument's name.
    ArgumentName,
    /// The raw text of an argument's value.
    Value,
    /// An argument's value as a literal; strings stand between these quote tokens, or are Python's where that is empty.
    Literal(&'p str),
    /// All arguments as one JSON value.
    Json,
    /// All arguments as one Python literal.
    Python,
    /// A call as one object.
    Object(CallShape<'p>),
}

/// What to do, and where to go then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'p> {
    /// What to do.
    pub acts: &'p [Act<'p>],
    /// Where to go.
    pub next: State,
}

impl<'p> Step<'p> {
    /// Does this, and goes there.
    pub const fn new(acts: &'p [Act<'p>], next: State) -> Self {
        Self { acts, next }
    }
}

/// What a step does, as far as a grammar has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act<'p> {
    /// A call may begin here.
    OpenCall,
    /// The name is complete.
    StartCall,
    /// The label is complete: an id that holds prefix, name, separator and index.
    StartLabelled {
        /// What stands before the name.
        prefix: &'p str,
        /// What stands between name and index.
        separator: &'p str,
    },
    /// An argument's name is complete.
    Argument(Argument),
    /// The call is complete.
    EndCall,
    /// The call is over, but nothing closed it.
    EndCallIncomplete,
    /// Reasoning begins.
    OpenReasoning,
    /// Reasoning ends.
    CloseReasoning,
    /// What stands before an answer.
    OpenContent,
    /// What stands behind an answer.
    CloseContent,
}

/// What is known of an argument's value before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Raw text, typed by the tool's schema; other values than strings may be Python literals.
    BySchema {
        /// Whether they may.
        python: bool,
    },
    /// Raw text, a string.
    Text,
    /// Raw text, no string; it may be a Python literal.
    Other {
        /// Whether it may.
        python: bool,
    },
    /// A literal.
    Literal,
}

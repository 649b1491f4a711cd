//! What a compiled model is to the runtime: a set of states, and one step that moves between them. The step is
//! generated code (or the interpreter's walk over a plan); everything that it calls is in [`Io`](crate::Io).

use crate::event::Channel;
use crate::grammar::Plan;
use crate::io::Io;

/// A state of a model's machine; what the numbers mean is the machine's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State(pub u16);

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On to this state.
    Go(State),
    /// More text is wanted.
    Wait,
    /// The text stopped fitting: what is held becomes plain text.
    Misfit,
}

/// What a primitive found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The marker with this index.
    Marker(usize),
    /// A value that ends by itself is complete.
    Done,
    /// Something that is none of the markers.
    Other,
    /// More text is wanted.
    Wait,
}

/// What a generation prompt says, and where it leaves the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'p> {
    /// The value of the thinking switch that gives this text; `None` where it was not set.
    pub thinking: Option<bool>,
    /// The text, from the start of the assistant's turn.
    pub text: &'p str,
    /// The channel that is open where the model's output begins.
    pub channel: Channel,
    /// The state in which the model's output begins.
    pub state: State,
    /// The end of the text that is read as if the model had written it: the beginning of a marker.
    pub read: &'p str,
}

/// Facts about a model that stand in its spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'p> {
    /// Name of the spec.
    pub name: &'p str,
    /// Where the template comes from.
    pub source: &'p str,
    /// File names of the templates that this spec was made from.
    pub files: &'p [&'p str],
    /// SHA-256 of the template text, in hexadecimal digits.
    pub sha256: &'p str,
    /// Text that opens the assistant's turn.
    pub assistant_start: &'p str,
    /// The template variable that switches thinking; empty where none does.
    pub thinking_switch: &'p str,
    /// Markers that a detokenizer must keep.
    pub preserved_tokens: &'p [&'p str],
}

/// A model's parser: its facts, where it begins, and how it moves.
pub trait Machine {
    /// Facts from the spec.
    fn facts(&self) -> Facts<'_>;

    /// The state of a turn of which nothing is written yet.
    fn start(&self) -> State;

    /// The state of plain answer text, to which a parser returns when a call stops fitting.
    fn plain(&self) -> State;

    /// What the generation prompts say.
    fn entries(&self) -> &[Entry<'_>];

    /// Reads on from `state`.
    fn step(&self, state: State, io: &mut Io<'_>) -> Flow;

    /// The text ends in `state`: settles what is open. Returns whether that is a place where a turn may end.
    fn end(&self, state: State, io: &mut Io<'_>) -> bool;

    /// Hands out the machine as the data that grammars are made of. A machine that was written by hand has none.
    fn with_plan(&self, with: &mut dyn FnMut(&Plan<'_>)) {
        let _ = with;
    }
}

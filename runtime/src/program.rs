//! The program of a format: how one assistant turn is read, as plain data.
//!
//! A spec is lowered to a program once. Every later stage reads the program and nothing from an earlier stage: the
//! [interpreter](crate::Interpreter) runs it, generated Rust is its specialised form, grammars are made from it, and
//! `unjinja explain` shows it.
//!
//! All data is either `'static` (a generated module holds it in a `static`) or owned (a spec was loaded at run time).
//! This module holds data only. It must not read text and must not decide anything.

use crate::message::Channel;

pub(crate) mod call_shape;
mod marker;
pub(crate) mod marker_search;
mod markers;
mod rows;
mod special_token;
mod text;
mod trigger;

pub use call_shape::CallShape;
pub use marker::is_mention;
pub use marker::{Confirm, InText, Marker, NameKind, NameOf, NextName, RepeatedName};
pub use marker_search::{Needle, Search};
pub use markers::{MAX_MARKERS, Markers};
pub(crate) use rows::ANY_HEAD;
pub use rows::{MarkerRows, Row, Rows, Tables, TransitionRows, head};
pub use special_token::is_special_token;
pub use text::{List, Shared, Text, list, text};
pub use trigger::Trigger;

use text::set;

/// How one assistant turn of a format is read: a deterministic state machine.
///
/// ```
/// use unjinja_runtime::{ChatParser, Interpreter, Options, abi::*};
///
/// // One state: everything is content.
/// static PROGRAM: Program = Program::new(
///     ModelInfo::named("plain"),
///     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
///     StateId(0),
/// );
/// let parser = Interpreter::from_static(&PROGRAM);
/// assert_eq!(parser.parse("Hello".into(), &Options::new()).content, "Hello");
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    /// What is known of the model besides its syntax.
    pub info: ModelInfo,
    /// The generation prompts, and the state in which each leaves the parser.
    pub entries: List<Entry>,
    /// The states. A [`StateId`] is a position in this list.
    pub states: List<State>,
    /// The state at the start of a turn of which nothing is written yet.
    pub start: StateId,
    /// The state of plain answer text. A parser returns to it when a call turns out to be none.
    pub content: StateId,
    /// The state of open reasoning, if the format has reasoning.
    pub reasoning: Option<StateId>,
    /// The state that reads broken markup, if the format has calls.
    pub unparsed: Option<StateId>,
    /// Whether templates write an answer after the calls of the same turn.
    pub text_after_calls: bool,
    /// In which order templates write arguments and the keys of objects in them. Only grammars need to know.
    pub key_order: KeyOrder,
}

impl Program {
    /// A program that starts in plain answer text.
    pub const fn new(info: ModelInfo, states: &'static [State], content: StateId) -> Self {
        Self {
            info,
            entries: list(&[]),
            states: list(states),
            start: content,
            content,
            reasoning: None,
            unparsed: None,
            text_after_calls: false,
            key_order: KeyOrder::Given,
        }
    }

    /// Starts the turn in another state than plain answer text.
    pub const fn starting_in(mut self, start: StateId) -> Self {
        self.start = start;
        self
    }

    /// A state; `None` if there is none with this number.
    pub fn state(&self, id: StateId) -> Option<&State> {
        self.states.get(usize::from(id.0))
    }

    /// Whether a call in the reasoning that is read in a state may be a quotation: a marker of its own closes the reasoning, and the
    /// answer does not come after calls, so that text after the call tells.
    pub(crate) fn may_quote(&self, reasoning: StateId) -> bool {
        let closer = |step: &Transition| step.does(&Action::CloseReasoning) && step.origin == Origin::Canonical;
        !self.text_after_calls && self.state(reasoning).is_some_and(|state| state.transitions.iter().any(closer))
    }

    /// The texts that end a turn, wherever they occur. A text that also occurs inside a turn, perhaps as a part of another
    /// marker, is left out: it would end the output there. The model's own end of a text then ends the turn.
    ///
    /// ```
    /// use unjinja_runtime::abi::*;
    ///
    /// const END: &[Marker] = &[Marker::new("<|end|>").at_end(&[])];
    /// static PROGRAM: Program = Program::new(
    ///     ModelInfo::named("plain"),
    ///     const { &[
    ///         State::new("CONTENT", Some(Hole::Text(Channel::Content)))
    ///             .markers(END, const { &[Transition::new("turn.end", &[], StateId(0))] })
    ///             .end(&[]),
    ///     ] },
    ///     StateId(0),
    /// );
    /// assert_eq!(PROGRAM.stops(), ["<|end|>"]);
    /// ```
    pub fn stops(&self) -> Vec<&str> {
        let written =
            || self.states.iter().flat_map(State::arrows).filter(|(_, step)| step.origin == Origin::Canonical);
        let within = |core: &str| written().any(|(other, _)| !other.confirm.is_end() && other.core.contains(core));
        let mut stops: Vec<&str> = Vec::new();
        for (marker, _) in written().filter(|(marker, _)| marker.confirm.is_end() && !within(&marker.core)) {
            if !stops.iter().any(|stop| marker.core.starts_with(stop)) {
                stops.retain(|stop| !stop.starts_with(&*marker.core));
                stops.push(&marker.core);
            }
        }
        stops
    }

    /// The state that reads text that looked like a call and is not one: the text state itself, or the answer.
    pub fn fallback(&self, from: StateId) -> StateId {
        match self.state(from).and_then(|state| state.hole.as_ref()) {
            Some(Hole::Text(_)) => from,
            _ => self.content,
        }
    }
}

/// In which order templates write arguments and the keys of objects in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyOrder {
    /// As the message has them.
    #[default]
    Given,
    /// Sorted by their code points.
    Sorted,
    /// Sorted as if they were all in lower case.
    SortedIgnoringCase,
}

/// The number of a state in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u16);

/// Facts about a model that its spec states.
///
/// ```
/// # use unjinja_runtime::{Interpreter, abi::*};
/// # static PROGRAM: Program = Program::new(
/// #     ModelInfo::named("plain"),
/// #     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
/// #     StateId(0),
/// # );
/// # let parser = Interpreter::from_static(&PROGRAM);
/// use unjinja_runtime::ChatParser;
///
/// let info = parser.info();
/// println!("{}: keep {:?} in the output", info.name, info.preserved_tokens);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ModelInfo {
    /// Name of the spec.
    pub name: Text,
    /// Where the template comes from, usually a Hugging Face model id.
    pub source: Text,
    /// File names of the templates that the spec was made from.
    pub files: List<Text>,
    /// SHA-256 of the template text, in lower-case hexadecimal digits.
    pub sha256: Text,
    /// Text before a user message.
    pub user_start: Text,
    /// Text after a user message, where nothing else opens the assistant's turn.
    pub user_end: Text,
    /// Text that opens the assistant's turn.
    pub assistant_start: Text,
    /// The template variable that switches thinking; empty if there is none.
    pub thinking_switch: Text,
    /// Special tokens that the detokenizer must keep in the output.
    pub preserved_tokens: List<Text>,
}

impl ModelInfo {
    /// Nothing is known.
    pub const EMPTY: Self = Self::named("");

    /// Nothing is known but the name of the spec.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name: text(name),
            source: text(""),
            files: list(&[]),
            sha256: text(""),
            user_start: text(""),
            user_end: text(""),
            assistant_start: text(""),
            thinking_switch: text(""),
            preserved_tokens: list(&[]),
        }
    }
}

/// A generation prompt, and where it leaves the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value of the thinking switch that gives this prompt; `None` if it was not set.
    pub thinking: Option<bool>,
    /// The prompt's text, from the start of the assistant's turn.
    pub text: Text,
    /// The channel that is open where the model's output begins.
    pub channel: Channel,
    /// The state in which the model's output begins.
    pub state: StateId,
    /// The end of the prompt that is read as if the model had written it: the beginning of a marker.
    pub read: Text,
}

/// One state of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name in upper case, unique within the program.
    pub name: Text,
    /// What is read here besides markers; `None` if only markers may come.
    pub hole: Option<Hole>,
    /// The markers that may come.
    pub markers: Markers,
    /// Where each of `markers` leads, in the same order.
    pub transitions: TransitionRows,
    /// Where to go when the value is complete, or when something else than a marker comes: one transition at most.
    pub otherwise: TransitionRows,
    /// What to do when the text ends here; `None` if a turn may not end here.
    pub end: Option<List<Action>>,
    /// White space before a marker is text here: nothing has been read yet.
    pub exact: bool,
}

impl State {
    /// A state without markers that leads nowhere.
    pub const fn new(name: &'static str, hole: Option<Hole>) -> Self {
        Self {
            name: text(name),
            hole,
            markers: Markers::expected(&[]),
            transitions: Rows::NONE,
            otherwise: Rows::NONE,
            end: None,
            exact: false,
        }
    }

    /// Adds markers, and where each of them leads.
    pub const fn markers(mut self, markers: &'static [Marker], transitions: &'static [Transition]) -> Self {
        set(&mut self.transitions, Rows::List(list(transitions)));
        self.reading(Rows::List(list(markers)))
    }

    /// Adds rows: for each marker its number in a table, the number of its transition in another, and how its text begins.
    pub const fn rows(mut self, tables: Tables, rows: &'static [Row]) -> Self {
        set(&mut self.transitions, Rows::Table(tables.transitions, rows));
        self.reading(Rows::Table(tables.markers, rows))
    }

    /// Adds these markers, and the search for them that this state needs.
    const fn reading(mut self, markers: MarkerRows) -> Self {
        let markers = Markers::of(markers);
        let markers = if self.is_searched() { markers.searched() } else { markers };
        set(&mut self.markers, markers);
        self
    }

    /// Adds a transition that needs no marker: a row of the same form, of which only the second number counts.
    pub const fn otherwise(mut self, tables: Tables, row: &'static [Row]) -> Self {
        set(&mut self.otherwise, Rows::Table(tables.transitions, row));
        self
    }

    /// Says that a turn may end here, and what to do then.
    pub const fn end(mut self, actions: &'static [Action]) -> Self {
        set(&mut self.end, Some(list(actions)));
        self
    }

    /// Says that white space before a marker is text here.
    pub const fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// The markers that may come, each with its transition.
    pub fn arrows(&self) -> impl Iterator<Item = (&Marker, &Transition)> + Clone {
        self.markers.list().iter().zip(self.transitions.iter())
    }

    /// All transitions of the state.
    pub fn all_transitions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter().chain(self.otherwise.iter())
    }

    /// Whether a function's name is read here that makes a call only if it was offered.
    pub fn needs_offered_name(&self) -> bool {
        self.hole == Some(Hole::Name) && self.transitions.iter().all(|step| step.does(&Action::StartOffered))
    }

    /// What may come here, in words: what fills the hole, or the markers that a template writes.
    pub fn expected(&self) -> String {
        let canonical =
            self.arrows().filter(|(_, step)| step.origin == Origin::Canonical && !step.does(&Action::Speculate));
        let mut markers: Vec<String> =
            canonical.map(|(marker, _)| format!("`{}`", marker.core.escape_debug())).collect();
        markers.dedup();
        match &self.hole {
            Some(hole) => hole.what().to_owned(),
            None => markers.join(" or "),
        }
    }

    /// Whether the state searches text for its markers. In other states a marker comes next, or the value says where it
    /// ends.
    pub const fn is_searched(&self) -> bool {
        matches!(self.hole, Some(Hole::Text(_) | Hole::Value | Hole::Json))
    }
}

/// What the model fills in at a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hole {
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
    /// An argument's value as a literal that ends by itself. This quote token comes before and after a string; if it is
    /// empty, the literal is Python's or JSON's.
    Literal(Text),
    /// All arguments as one JSON value.
    Json,
    /// All arguments as one Python literal.
    Python,
    /// A call as one object.
    Object(Shared<CallShape>),
}

impl Hole {
    /// What it contains, in words.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Text(Channel::Content) => "content",
            Self::Text(Channel::Reasoning) => "reasoning",
            Self::Text(Channel::Unparsed) => "broken markup",
            Self::Name => "a function's name",
            Self::Id => "a call's id",
            Self::ArgumentName => "an argument's name",
            Self::Value => "an argument's value as raw text",
            Self::Literal(quote) if quote.is_empty() => "an argument's value as a literal",
            Self::Literal(_) => "an argument's value as a literal with quote tokens",
            Self::Json => "arguments as a JSON object",
            Self::Python => "arguments as a Python dict",
            Self::Object(shape) if shape.python => "a call as a Python dict",
            Self::Object(_) => "a call as a JSON object",
        }
    }
}

/// What to do, and which state comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The key of the spec that the marker comes from; empty if the transition needs no marker.
    pub key: &'static str,
    /// What to do, in order.
    pub actions: List<Action>,
    /// The state that comes next.
    pub next: StateId,
    /// Whether a template writes this, or the parser only tolerates it.
    pub origin: Origin,
}

impl Transition {
    /// A canonical transition.
    pub const fn new(key: &'static str, actions: &'static [Action], next: StateId) -> Self {
        Self { key, actions: list(actions), next, origin: Origin::Canonical }
    }

    /// Says that no template writes this.
    pub const fn recovery(mut self) -> Self {
        self.origin = Origin::Recovery;
        self
    }

    /// Whether this action is among what it does.
    pub fn does(&self, action: &Action) -> bool {
        self.actions.contains(action)
    }

    /// Whether both do the same and lead to the same state, whatever marker they belong to.
    pub fn leads_like(&self, other: &Self) -> bool {
        self.next == other.next && self.actions == other.actions
    }
}

/// Why a transition exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A template writes this text. Grammars contain these transitions only.
    Canonical,
    /// Models write this text although no template does. It is read, and never enters a grammar.
    Recovery,
}

/// What a transition does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call may begin here. From the marker on, text is held back until the name is complete.
    Speculate,
    /// Only a closer may come here. Other text is held back until a closer shows that it is broken markup.
    HoldBack,
    /// The name is complete, and makes a call, if arguments or its closer follow.
    StartCall,
    /// The name is complete, and makes a call only if it was offered.
    StartOffered,
    /// The name is complete, and makes a call only if it was offered, or if no tools were.
    StartKnown,
    /// The name of a message's recipient is complete. It makes a call if it was offered; if not, the message is broken markup.
    StartRecipient,
    /// The label is complete, and makes a call. A label is an id that holds prefix, name, separator and index.
    StartLabelled(Shared<Label>),
    /// The name is complete, and directly after it that of the first argument: the marker between them is missing. It
    /// makes a call if the function was offered and has that argument.
    StartSplit,
    /// The call's id is complete.
    Id,
    /// An argument's name is complete.
    Argument(ArgumentKind),
    /// An argument's value is complete.
    EndArgument,
    /// An argument's name is complete. Raw text follows, typed by the tool's schema; an object or a list may be written as
    /// tags.
    NestedArgument(Shared<Nesting>),
    /// The value of such an argument is complete.
    EndNestedArgument(Shared<Nesting>),
    /// The call is complete.
    EndCall,
    /// The call is over, but nothing closed it. Where no marker comes, nothing is held back, and the call was not announced yet, the
    /// text does not fit.
    EndCallIncomplete,
    /// The calls are over, and perhaps text follows.
    EndCalls,
    /// A code fence opens if it begins a line. In any case it is text.
    OpenFence,
    /// A code fence closes. It is text.
    CloseFence,
    /// Reasoning begins.
    OpenReasoning,
    /// Reasoning ends.
    CloseReasoning,
    /// A marker before the answer was read. Only grammars need to know.
    OpenContent,
    /// A marker after the answer was read. Only grammars need to know.
    CloseContent,
    /// The marker closes nothing here, or closes a broken call: it is broken markup.
    Unparsed,
    /// The special token means nothing here: it is broken markup.
    OtherToken,
    /// The marker ended the turn, and more text follows: all of it is broken markup.
    AfterEnd,
    /// This marker, which opens or closes a value, is missing here.
    MissingMarker(Text),
}

/// The texts of a label around the name: `functions.NAME:0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Text before the name.
    pub prefix: Text,
    /// Text between the name and the index.
    pub separator: Text,
}

/// How an object is written as tags: each member between an opening and a closing tag with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// Whether values that are no strings may be Python literals.
    pub python: bool,
    /// Text before the name in an opening tag.
    pub open: Text,
    /// Text after the name in an opening tag.
    pub opened: Text,
    /// Text before the name in a closing tag.
    pub close: Text,
    /// Text after the name in a closing tag.
    pub closed: Text,
    /// The name of the tag around each item of a list; empty if a list repeats the tag of its member.
    pub item: Text,
}

/// What is known of an argument's value before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Raw text, typed by the tool's schema.
    BySchema {
        /// Whether values that are no strings may be Python literals.
        python: bool,
    },
    /// The same, or a string in quotes, as in Python or JSON.
    Quotable {
        /// Whether values that are no strings may be Python literals.
        python: bool,
    },
    /// Raw text, always a string.
    Text,
    /// Raw text, never a string.
    Other {
        /// Whether the value may be a Python literal.
        python: bool,
    },
    /// A literal that ends by itself.
    Literal,
    /// The same, with nothing between it and the next argument's name.
    TightLiteral,
}

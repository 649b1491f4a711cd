//! The plan: the grammar of one assistant turn, made of literals, holes, sequence, choice, repetition and option.
//! It is what the interpreter, the Rust back end and the grammar back end have in common.

use unjinja_runtime::Channel;
use unjinja_spec::MarkerKey;

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
    pub key: MarkerKey,
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
pub enum Hole {
    /// Plain text; `until` says at which roles it ends.
    Text {
        /// The channel it belongs to.
        channel: Channel,
        /// Where it ends.
        until: Vec<Role>,
    },
    /// A function's name.
    Name,
    /// A call's id.
    Id,
    /// An argument's name.
    ArgumentName,
    /// The raw text of an argument's value.
    Value,
    /// An argument's value as a literal that ends by itself; strings stand between `quote` where that is not empty,
    /// else the literal is Python's or JSON's.
    Literal {
        /// The quote token.
        quote: String,
    },
    /// All arguments as one JSON value.
    Json,
    /// All arguments as one Python literal.
    Python,
    /// A call as one object.
    Object(ObjectShape),
}

/// The keys of a call that is one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectShape {
    /// The key whose object holds name and arguments; empty where they stand at the top.
    pub function_field: String,
    /// The key of the name.
    pub name_field: String,
    /// The key of the arguments.
    pub args_field: String,
    /// The key of the id; empty where there is none.
    pub id_field: String,
    /// Other keys that the format writes.
    pub other_keys: Vec<String>,
    /// The name is the key, the arguments its value.
    pub name_is_key: bool,
    /// The object is a Python dict.
    pub python: bool,
    /// Nothing but the object announces the call: only an offered name makes it one.
    pub bare: bool,
}

/// What reading has to do at a point of the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// What follows is held back until it is certain that it is a call.
    Hold,
    /// The name is complete.
    StartCall,
    /// The name is complete; it makes a call only where it was offered.
    StartOffered,
    /// The label is complete: an id that holds prefix, name, separator and index.
    StartLabelled {
        /// What stands before the name.
        prefix: String,
        /// What stands between name and index.
        separator: String,
    },
    /// The id is complete.
    Id,
    /// An argument's name is complete.
    Argument(ArgumentKind),
    /// An argument's value is complete.
    EndArgument,
    /// The call is closed.
    EndCall,
    /// The call is over, but nothing closed it.
    EndCallIncomplete,
    /// Reasoning begins.
    OpenReasoning,
    /// Reasoning ends.
    CloseReasoning,
}

/// What is known of an argument's value before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// It is raw text, typed by the tool's schema.
    BySchema {
        /// Other values than strings may be Python literals.
        python: bool,
    },
    /// It is raw text and a string.
    Text,
    /// It is raw text and no string.
    Other {
        /// It may be a Python literal.
        python: bool,
    },
    /// It is a literal.
    Literal,
}

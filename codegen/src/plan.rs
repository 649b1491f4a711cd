//! The plan: the grammar of one assistant turn, built from literals, holes, sequence, choice, repetition and option.
//!
//! It is the step between a spec and a [`Program`](unjinja_runtime::Program): lowering writes it, and it is then made
//! deterministic. No back end reads it. It must not know what a spec is.

use unjinja_runtime::Channel;
use unjinja_runtime::abi::{self as program, Action, InText, Origin, RepeatedName, is_special_token};
use unjinja_spec::MarkerKey;

/// The grammar of one assistant turn of a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The whole turn.
    pub turn: Expr,
}

/// An expression of the grammar.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A part of a marker.
    Literal(Literal),
    /// A place that the model fills in.
    Hole(PlanHole),
    /// An action of the parser at this point. It consumes no text.
    Action(Action),
    /// All of these, one after the other.
    Sequence(Vec<Expr>),
    /// One of these.
    Choice(Vec<Expr>),
    /// Any number of times, including none.
    Repeat(Box<Expr>),
    /// Once or not at all.
    Option(Box<Expr>),
}

impl Expr {
    /// The empty text.
    pub fn empty() -> Self {
        Expr::Sequence(Vec::new())
    }

    /// This expression, once or not at all.
    pub fn optional(self) -> Self {
        Expr::Option(Box::new(self))
    }

    /// This expression, any number of times.
    pub fn repeated(self) -> Self {
        Expr::Repeat(Box::new(self))
    }
}

/// A part of a marker: its core, and the white space that the template writes around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The key of the spec that it comes from.
    pub key: MarkerKey,
    /// The text that is required. It is not empty, and neither begins nor ends with white space unless it is a line break.
    pub core: String,
    /// White space before the core.
    pub before: String,
    /// White space after the core.
    pub after: String,
    /// What it is for.
    pub role: Role,
    /// Whether it counts only if something follows that may come after it.
    pub confirm: bool,
    /// The texts of which one must follow it; none if it counts anyway.
    pub followed_by: Vec<String>,
    /// Whether names confirm it too: of an argument or a function, with the markers around it.
    pub named_next: bool,
    /// Whether it is recognised but not consumed; what follows reads it again.
    pub peek: bool,
    /// Whether it counts only at the start of a line.
    pub line: bool,
    /// What it is where text comes before it.
    pub in_text: InText,
    /// The name that belongs into the core, if the marker repeats one.
    pub repeats: Option<RepeatedName>,
    /// Whether a template writes it.
    pub origin: Origin,
}

impl Literal {
    /// The core up to the name that it repeats, or all of it.
    pub(crate) fn up_to_name(&self) -> &str {
        self.repeats.and_then(|name| self.core.get(..name.at)).unwrap_or(&self.core)
    }

    /// Whether it counts only at the end of the text.
    pub(crate) fn ends_text(&self) -> bool {
        matches!(self.role, Role::TurnEnd | Role::Unclosed)
    }
}

/// What a literal is for. Free text ends only at literals with certain roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens reasoning.
    ReasoningStart,
    /// Closes reasoning.
    ReasoningEnd,
    /// Opens or closes the wrapper around the answer.
    ContentWrapper,
    /// May open a call.
    CallOpen,
    /// Occurs inside a call or between calls.
    Inner,
    /// Ends the turn.
    TurnEnd,
    /// Ends the turn although more text follows.
    AfterEnd,
    /// Is a special token that closes nothing at its place.
    Stray,
    /// Ends a call that breaks off.
    Broken,
    /// Ends a string whose own end is missing.
    Unclosed,
    /// Opens a code fence.
    Fence,
    /// Closes a code fence.
    FenceEnd,
}

/// A place that the model fills in.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanHole {
    /// What is read here.
    pub reads: program::Hole,
    /// The roles of the literals that end free text; empty for anything but free text.
    pub until: Vec<Role>,
    /// The markers with which a call opens in the text.
    pub openers: Openers,
    /// How a parser comes here.
    pub role: HoleRole,
}

impl PlanHole {
    /// Text of a channel, up to a literal with one of these roles.
    pub(crate) fn text(channel: Channel, until: Vec<Role>, openers: Openers) -> Self {
        Self { reads: program::Hole::Text(channel), until, openers, role: HoleRole::InOrder }
    }
}

/// How a parser comes to a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleRole {
    /// It has read what comes before it in the turn.
    InOrder,
    /// It gave up a call. What is left of that call is read here.
    BrokenCall,
}

/// The markers with which a call opens in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openers {
    /// All of them.
    Any,
    /// All but those that count only before a text: a marker has opened this text.
    NotLeading,
    /// The same, where no template writes a call and grammars must not.
    Tolerated,
    /// Special tokens.
    Tokens,
}

impl Openers {
    /// Whether a literal may open a call.
    pub fn allow(self, literal: &Literal) -> bool {
        match self {
            Openers::Any => true,
            Openers::NotLeading | Openers::Tolerated => literal.in_text != InText::Text,
            Openers::Tokens => is_special_token(literal.core.as_bytes()),
        }
    }
}

impl From<program::Hole> for PlanHole {
    fn from(reads: program::Hole) -> Self {
        Self { reads, until: Vec::new(), openers: Openers::Any, role: HoleRole::InOrder }
    }
}

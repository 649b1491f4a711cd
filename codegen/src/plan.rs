//! The plan: the grammar of one assistant turn, built from literals, holes, sequence, choice, repetition and option.
//!
//! It is the step between a spec and a [`Program`](unjinja_runtime::Program): lowering writes it, and it is then made
//! deterministic. No back end reads it. It must not know what a spec is.

mod notation;

use unjinja_runtime::Channel;
use unjinja_runtime::abi::{self as program, Action, InText, Origin, RepeatedName, is_special_token};
use unjinja_spec::MarkerKey;

pub(crate) use notation::notation;

/// The grammar of one assistant turn of a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The whole turn.
    pub turn: Expr,
}

/// A rule, by its position in the list of all.
pub type RuleId = u8;

/// The rule that is adding something.
pub(crate) const UNNAMED: RuleId = RuleId::MAX;

/// An expression of the grammar.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A part of a marker.
    Literal(Box<Literal>),
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
    /// What no template writes here, with the rule that tolerates it. It is read, and never enters a grammar.
    Tolerated(RuleId, Box<Expr>),
    /// A part of the turn with a name. Rules find it by that name; it means the same without.
    Part(PlanPart, Box<Expr>),
}

impl From<Literal> for Expr {
    fn from(literal: Literal) -> Self {
        Expr::Literal(Box::new(literal))
    }
}

impl Expr {
    /// All of these, one after the other.
    pub fn sequence<const N: usize>(items: [Expr; N]) -> Self {
        Expr::Sequence(items.into())
    }

    /// One of these.
    pub fn choice<const N: usize>(ways: [Expr; N]) -> Self {
        Expr::Choice(ways.into())
    }

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

    /// This expression where no template writes it.
    pub(crate) fn tolerated(self) -> Self {
        Expr::Tolerated(UNNAMED, Box::new(self))
    }

    /// This expression as a part of the turn.
    pub fn named(self, part: PlanPart) -> Self {
        Expr::Part(part, Box::new(self))
    }

    /// One of these expressions too.
    pub fn or(self, others: impl IntoIterator<Item = Expr>) -> Self {
        self.or_all(others.into_iter().collect())
    }

    fn or_all(self, others: Vec<Expr>) -> Self {
        let mut choices = match self {
            Expr::Choice(choices) => choices,
            other => vec![other],
        };
        choices.extend(others);
        if choices.len() == 1 { choices.remove(0) } else { Expr::Choice(choices) }
    }

    /// Changes all parts of these kinds, a part within another one first.
    pub(crate) fn change(&mut self, parts: &[PlanPart], change: &mut dyn FnMut(Expr) -> Expr) {
        self.each(&mut |part, inner| {
            if parts.contains(&part) {
                *inner = change(std::mem::replace(inner, Expr::empty()));
            }
        });
    }

    /// Lets one of these be in place of each part of these kinds.
    pub(crate) fn also(&mut self, parts: &[PlanPart], others: Vec<Expr>) {
        self.change(parts, &mut |own| own.or_all(others.clone()));
    }

    /// Puts this after each part of these kinds.
    pub(crate) fn follow(&mut self, parts: &[PlanPart], after: Expr) {
        self.change(parts, &mut |own| Expr::sequence([own, after.clone()]));
    }

    /// Visits all parts, a part within another one first.
    pub(crate) fn each(&mut self, visit: &mut dyn FnMut(PlanPart, &mut Expr)) {
        match self {
            Expr::Sequence(items) | Expr::Choice(items) => items.iter_mut().for_each(|item| item.each(visit)),
            Expr::Repeat(item) | Expr::Option(item) | Expr::Tolerated(_, item) => item.each(visit),
            Expr::Part(part, inner) => {
                inner.each(visit);
                visit(*part, inner);
            }
            Expr::Literal(_) | Expr::Hole(_) | Expr::Action(_) => {}
        }
    }

    /// Whether nothing but an action is here.
    pub(crate) fn only_acts(&self) -> bool {
        match self {
            Expr::Action(_) => true,
            Expr::Tolerated(_, item) => item.only_acts(),
            _ => false,
        }
    }

    /// Whether a call may open with a marker that counts only before a text.
    pub(crate) fn opens_before_text(&self) -> bool {
        match self {
            Expr::Literal(literal) => literal.role == Role::CallOpen && literal.in_text == InText::Text,
            Expr::Sequence(items) | Expr::Choice(items) => items.iter().any(Expr::opens_before_text),
            Expr::Repeat(item) | Expr::Option(item) | Expr::Tolerated(_, item) | Expr::Part(_, item) => {
                item.opens_before_text()
            }
            Expr::Hole(_) | Expr::Action(_) => false,
        }
    }

    /// The first part of this kind.
    pub(crate) fn find(&self, part: PlanPart) -> Option<&Expr> {
        match self {
            Expr::Sequence(items) | Expr::Choice(items) => items.iter().find_map(|item| item.find(part)),
            Expr::Repeat(item) | Expr::Option(item) | Expr::Tolerated(_, item) => item.find(part),
            Expr::Part(other, inner) if *other == part => Some(inner),
            Expr::Part(_, inner) => inner.find(part),
            Expr::Literal(_) | Expr::Hole(_) | Expr::Action(_) => None,
        }
    }
}

/// What a part of a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPart {
    /// What a turn may begin with again: its start, or a label.
    Start,
    /// The opener of reasoning.
    ReasoningStart,
    /// The text of reasoning.
    Thoughts,
    /// The closer of reasoning.
    ReasoningEnd,
    /// All that may come in a turn, in any order: reasoning, the answer, calls.
    Sections,
    /// The text of the answer.
    Answer,
    /// All calls of a turn.
    Calls,
    /// The first call with the markers before it, or another one with the separator before it.
    Call,
    /// The first call, with the markers before it.
    First,
    /// Another call, without the separator before it.
    Next,
    /// The marker that opens all calls, and the first call after it.
    Section,
    /// The first call after the marker that opens all calls.
    AfterSection,
    /// The marker that opens a call, and the call after it.
    Opened,
    /// A call after the marker that opens it.
    AfterOpener,
    /// What may follow an opener that is one tag or token.
    AfterTag,
    /// The name of a function with the marker before it, and what follows.
    Named,
    /// What follows the name of a function.
    AfterName,
    /// The marker after the name of a function.
    NameEnd,
    /// The arguments with their closer, and the closers of the call.
    Rest,
    /// All arguments, written one by one.
    Arguments,
    /// All arguments as one value.
    Json,
    /// One argument: its name and its value.
    Argument,
    /// Another argument after a separator.
    NextArgument,
    /// What follows the name of an argument.
    AfterKey,
    /// The marker after the name of an argument.
    KeyEnd,
    /// The marker before a value.
    ValueStart,
    /// The closer of a raw value.
    ValueEnd,
    /// The closer of a value that is a literal.
    LiteralEnd,
    /// The closers of a call whose arguments are written one by one.
    Closers,
    /// The bracket or tag that closes the arguments of a function.
    FunctionEnd,
    /// A closer, or an opener after another one, that its neighbours tell if it is missing.
    Closer,
    /// The closer of a call, and the end of the call.
    CallEnd,
    /// A call as one object.
    Object,
    /// Calls as objects in one tag or list.
    Objects,
    /// The bracket that closes a list of calls.
    ListEnd,
    /// The marker before all calls where each call has an opener of its own.
    Wrapper,
    /// The end of the turn.
    End,
    /// A marker.
    Marker(MarkerKey),
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
    /// The rule that tolerates it; `None` if a template writes it.
    pub rule: Option<RuleId>,
}

impl Literal {
    /// Whether a template writes it.
    pub fn origin(&self) -> Origin {
        if self.rule.is_some() { Origin::Recovery } else { Origin::Canonical }
    }

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

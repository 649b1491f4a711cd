//! What is between the values of a literal that is translated to JSON: brackets, keys and separators.
//!
//! Python literals and values with quote tokens are dialects of this one automaton: each says what a byte means where it is
//! expected, and reads its own scalars and strings. Whatever comes, the JSON between the values is well-formed. It must not
//! know how a scalar or a string is spelled.

use crate::readers::json::{MAX_DEPTH, Nesting};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Expect {
    #[default]
    Literal,
    /// An item of a list, or its closing bracket.
    Item,
    /// A key, or the closing brace.
    Key,
    Colon,
    Value,
    /// A comma, or a closing bracket.
    Comma,
}

/// What a byte between values means in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A value or a key begins.
    Begins,
    Closes,
    Comma,
    Colon,
    Other,
}

/// What the dialect does with the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Reads a value that begins with it.
    Value,
    /// Reads a key that begins with it.
    Key,
    /// Closes the innermost container.
    Close,
    Take(Expect),
    /// Looks at it again, because something before it is missing.
    Again(Expect),
    /// Ends: no value begins with it.
    End,
    /// Takes it, though it fits nowhere.
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Object,
    Array,
    Tuple,
    Set,
}

impl Container {
    const ALL: [Self; 4] = [Self::Object, Self::Array, Self::Tuple, Self::Set];

    fn brackets(self) -> (u8, u8) {
        if self == Self::Object { (b'{', b'}') } else { (b'[', b']') }
    }

    /// Whether the literal closes it with this bracket.
    fn closes_with(self, bracket: u8) -> bool {
        match self {
            Self::Object | Self::Set => bracket == b'}',
            Self::Array => bracket == b']',
            Self::Tuple => bracket == b')',
        }
    }
}

/// The containers that are open, and whether a rule was broken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Structure {
    nesting: Nesting,
    /// The innermost container has an item already.
    has_items: bool,
    /// The scalar or string that is being read is a key.
    pub(crate) in_key: bool,
    pub(crate) malformed: bool,
}

impl Structure {
    /// Decides about a byte, and writes the separators that this settles. It is inlined, so that the dialect goes to its own
    /// code at once.
    #[inline(always)]
    pub(crate) fn act(&mut self, expect: Expect, sign: Sign, out: &mut Vec<u8>) -> Act {
        match (expect, sign) {
            (Expect::Literal | Expect::Value, Sign::Begins) => return Act::Value,
            (Expect::Item, Sign::Begins) => {
                self.separate(out);
                return Act::Value;
            }
            (Expect::Key, Sign::Begins) => return Act::Key,
            (Expect::Colon, Sign::Colon) => {
                out.extend_from_slice(b": ");
                return Act::Take(Expect::Value);
            }
            (Expect::Item | Expect::Key | Expect::Comma, Sign::Closes) => return Act::Close,
            (Expect::Comma, Sign::Comma) => return Act::Take(self.next_item()),
            _ => {}
        }
        self.malformed = true;
        match (expect, sign) {
            (Expect::Literal, _) => Act::End,
            (Expect::Comma, Sign::Begins) => Act::Again(self.next_item()),
            (Expect::Colon, Sign::Begins | Sign::Closes | Sign::Comma) => {
                out.extend_from_slice(b": ");
                Act::Again(Expect::Value)
            }
            (Expect::Value, Sign::Closes | Sign::Comma) => {
                out.extend_from_slice(b"null");
                Act::Again(Expect::Comma)
            }
            _ => Act::Drop,
        }
    }

    #[inline]
    pub(crate) fn next_item(&self) -> Expect {
        if self.innermost() == Some(Container::Object) { Expect::Key } else { Expect::Item }
    }

    /// Writes what is between an item and the one before it.
    #[inline]
    pub(crate) fn separate(&mut self, out: &mut Vec<u8>) {
        if self.has_items {
            out.extend_from_slice(b", ");
        }
        self.has_items = true;
    }

    /// Opens a container. Returns what is expected in it.
    #[inline]
    pub(crate) fn open(&mut self, container: Container, out: &mut Vec<u8>) -> Expect {
        self.malformed |= self.nesting.len() >= MAX_DEPTH;
        self.nesting.push(container as u8);
        self.has_items = false;
        out.push(container.brackets().0);
        self.next_item()
    }

    /// The innermost container turns out to be another.
    #[inline]
    pub(crate) fn reopen(&mut self, container: Container) {
        self.nesting.pop();
        self.nesting.push(container as u8);
        self.in_key = false;
    }

    /// Closes the innermost container, for which the literal has this bracket. Returns what follows it.
    #[inline]
    pub(crate) fn close(&mut self, bracket: u8, out: &mut Vec<u8>) -> Option<Expect> {
        let container = self.innermost().unwrap_or(Container::Array);
        self.nesting.pop();
        self.malformed |= !container.closes_with(bracket);
        out.push(container.brackets().1);
        self.has_items = true;
        self.in_key = false;
        self.end_value()
    }

    /// What follows a value or a key; `None` after the literal.
    #[inline]
    pub(crate) fn end_value(&self) -> Option<Expect> {
        match self.nesting.len() {
            0 => None,
            _ if self.in_key => Some(Expect::Colon),
            _ => Some(Expect::Comma),
        }
    }

    #[inline]
    pub(crate) fn innermost(&self) -> Option<Container> {
        Container::ALL.get(usize::from(self.nesting.last()?)).copied()
    }

    #[inline]
    pub(crate) fn is_outermost(&self) -> bool {
        self.nesting.len() == 0
    }

    /// Forgets the literal. The memory is kept.
    pub(crate) fn reset(&mut self) {
        self.nesting.clear();
        (self.has_items, self.in_key, self.malformed) = (false, false, false);
    }
}

/// What may end the string that a literal is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringEnd {
    /// A quote of Python.
    Quote(u8),
    /// A token that begins with these bytes, or is one byte; or another text, which begins with the last two.
    Token(u8, Option<u8>, Option<[u8; 2]>),
}

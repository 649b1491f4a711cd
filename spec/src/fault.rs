//! A key of a spec that could not be read, as serde reports it while a value is being deserialised.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};

use serde::de;

use crate::document::Node;
use crate::text;

/// A key that could not be read. It is behind a pointer, because serde's code for the model passes one on at every key.
#[derive(Clone, Debug)]
pub(crate) struct Fault(Box<Found>);

/// What is known of a fault.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The dotted key.
    pub(crate) key: Option<String>,
    /// The place, where it is not that of the key.
    pub(crate) span: Option<Range<usize>>,
    /// What is wrong with it.
    pub(crate) kind: FaultKind,
}

/// What is wrong with a key.
#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    /// A required key is absent.
    Missing {
        /// Its name.
        field: &'static str,
    },
    /// The table has no such key.
    Unknown {
        /// The name as written.
        name: String,
        /// The keys it has.
        known: &'static [&'static str],
    },
    /// The value is not one of those allowed.
    Variant {
        /// The value as written.
        name: String,
        /// The values allowed.
        known: &'static [&'static str],
    },
    /// The value is of another type.
    Type {
        /// What was found there.
        found: String,
        /// What should.
        wanted: String,
    },
    /// Something that the model itself says.
    Other(String),
}

impl Fault {
    pub(crate) fn new(kind: FaultKind) -> Self {
        Self(Box::new(Found { key: None, span: None, kind }))
    }

    /// Gives the fault a place, unless it has one.
    pub(crate) fn at(mut self, path: &str, node: &Node) -> Self {
        if self.key.is_none() {
            self.span = node.span.clone().or(node.key_span.clone());
            self.key = Some(match self.kind {
                FaultKind::Missing { field } => text::join(path, field),
                _ => path.to_owned(),
            });
        }
        self
    }
}

impl Deref for Fault {
    type Target = Found;

    fn deref(&self) -> &Found {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut Found {
        &mut self.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(FaultKind::Other(message.to_string()))
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(FaultKind::Type { found: unexpected.to_string(), wanted: expected.to_string() })
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::new(FaultKind::Variant { name: variant.to_owned(), known })
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(FaultKind::Unknown { name: field.to_owned(), known })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(FaultKind::Missing { field })
    }
}

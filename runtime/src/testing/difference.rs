//! A difference between what a test expected and what it found.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) what: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Difference {
    pub(crate) fn new(what: &str, expected: &str, found: &str) -> Self {
        Self { what: what.to_owned(), expected: expected.to_owned(), found: found.to_owned() }
    }
}

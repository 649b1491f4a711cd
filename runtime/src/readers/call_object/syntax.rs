//! The two languages in which a call object may be written.

/// The language of an object. A type parameter, so that an application links only the reader of the language that it
/// uses.
pub(crate) trait Syntax {
    /// JSON is read as well.
    const PYTHON: bool;
}

pub(crate) struct Json;

impl Syntax for Json {
    const PYTHON: bool = false;
}

pub(crate) struct Python;

impl Syntax for Python {
    const PYTHON: bool = true;
}

//! The two languages in which a call object may be written.

/// The language of an object; an application that names one of them links no reader of the other.
pub(crate) trait Syntax {
    /// JSON is read as well.
    const PYTHON: bool;
}

/// JSON.
pub(crate) struct Json;

impl Syntax for Json {
    const PYTHON: bool = false;
}

/// Python.
pub(crate) struct Python;

impl Syntax for Python {
    const PYTHON: bool = true;
}

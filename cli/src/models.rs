//! The compiled parsers, where they are linked: code generation must work before they exist.

#[cfg(feature = "models")]
pub(crate) use unjinja_generated::{all, by_file, by_name, overlay};

#[cfg(not(feature = "models"))]
mod none {
    use unjinja_runtime::ChatParser;

    pub(crate) fn all() -> &'static [&'static dyn ChatParser] {
        &[]
    }

    pub(crate) fn by_file(_file: &str) -> Option<&'static dyn ChatParser> {
        None
    }

    pub(crate) fn overlay(_sha256: &str) -> Option<&'static str> {
        None
    }

    pub(crate) fn by_name(_name: &str) -> Option<&'static dyn ChatParser> {
        None
    }
}

#[cfg(not(feature = "models"))]
pub(crate) use none::{all, by_file, by_name, overlay};

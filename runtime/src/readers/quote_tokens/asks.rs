//! Strings whose end the translator cannot see: the closing quote token is missing, or none was written. Who feeds the translator
//! is asked, and decides by what follows.

/// A string that may end where the translator cannot see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenString {
    /// It has a quote token before it.
    Quoted,
    /// It has none.
    Bare,
}

/// Places where who feeds the translator decides whether a string ends, because the bytes after it tell.
#[derive(Debug, Clone, Default)]
pub(super) struct Asks {
    /// Before commas in a string without quote tokens that is the whole value.
    pub(super) at_commas: bool,
    /// Before these two bytes in a string that is the whole value and whose closing quote token may be missing.
    pub(super) at_end: Option<[u8; 2]>,
    /// The next byte was asked about, and belongs to the string.
    pub(super) answered: bool,
    /// The last step came to such a place.
    pub(super) now: bool,
}

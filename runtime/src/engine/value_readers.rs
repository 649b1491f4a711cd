//! The readers of values, kept from one value to the next, and which of them is in the middle of one.

use super::next_name::NameProbe;
use crate::inline_string::InlineString;
use crate::program::Markers;
use crate::readers::call_object::CallObject;
use crate::readers::json::{JsonText, Scanner};
use crate::readers::tagged::TaggedReader;
use crate::readers::{python, quote_tokens};

#[derive(Default)]
pub(crate) struct ValueReaders {
    /// Which reader is in the middle of a value.
    pub(super) reading: Reading,
    pub(super) json: Scanner,
    /// Decodes arguments that are a text with JSON in it, while `json` looks for its end.
    pub(super) json_text: JsonText,
    pub(super) python: python::Translator,
    pub(super) quote_tokens: quote_tokens::Translator,
    pub(super) object: CallObject,
    pub(super) tagged: TaggedReader,
    /// Reads an item of a list, while `tagged` holds its text.
    pub(super) leaf: TaggedReader,
    /// The markers of the state, with the name of the open argument in them.
    pub(super) named: Named,
    /// The value is a further item of a list.
    pub(super) item: bool,
    /// The token before and after a string.
    pub(super) quote: InlineString,
    /// How far the text after a comma was compared with the name of an argument, in a string without quote tokens.
    pub(super) next: NameProbe,
    /// Writes the rest of a tagged value if the text ends inside it. A pointer, because only programs with such values link
    /// its reader.
    pub(super) abort: Option<Abort>,
}

/// Markers that hold the name of an argument.
#[derive(Default)]
pub(super) struct Named {
    /// The memory is kept for the next argument.
    pub(super) markers: Option<Box<Markers>>,
    /// Whether the name is that of the argument which is being read.
    pub(super) current: bool,
}

/// Writes the rest of a value to the buffer. Returns whether the value held bytes that are not UTF-8.
pub(super) type Abort = fn(&mut ValueReaders, &mut Vec<u8>) -> bool;

/// Which reader is in the middle of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Reading {
    #[default]
    Nothing,
    Json,
    /// No reader: the arguments are no JSON.
    NoJson,
    JsonText,
    Python,
    QuoteTokens,
    Object,
    Tagged,
}

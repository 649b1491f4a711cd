//! The fast path for call objects as nearly all are written: short strings before the name, and the arguments directly
//! after it.

use super::{At, CallObject};
use crate::byte_set::Begins;
use crate::inline_string::InlineString;
use crate::program::CallShape;
use crate::program::call_shape::Role;
use crate::readers::json::{Progress, is_space, printable_len};

/// The places of name and id in the given bytes, as start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: (usize, usize),
    pub(crate) id: Option<(usize, usize)>,
}

/// What follows the name: the arguments, and what closes the object.
pub(crate) struct Rest {
    /// The place of the arguments that were read.
    pub(crate) arguments: (usize, usize),
    /// The place of the id, if it comes after the arguments.
    pub(crate) id: Option<(usize, usize)>,
    pub(crate) taken: usize,
    /// The object ended with these bytes.
    pub(crate) done: bool,
}

impl CallObject {
    /// Reads the usual head of an object, if all of it is buffered: everything before the name is a short string, and so
    /// is the name. Returns its length, up to the end of the name.
    pub(super) fn usual_head(&mut self, shape: &CallShape, bytes: &[u8]) -> Option<(Head, usize)> {
        // The place of a text, given the text and what follows its closing quote.
        let place = |text: &[u8], after: &[u8]| {
            let end = bytes.len() - after.len() - 1;
            (end - text.len(), end)
        };
        let mut rest = after_space(bytes.strip_prefix(b"{")?);
        let (mut depth, mut id) = (1, None);
        let (name, at) = loop {
            // The most usual key. If it comes, the other keys need not be compared.
            if let Some(value) = after_key(rest, &shape.name_field, shape.python)
                && shape.role(shape.name_field.as_bytes(), depth) == Role::Name
            {
                let (name, after) = usual_string(value, shape.python)?;
                (self.at, self.role, rest) = (At::After, Role::Name, after);
                break (name, place(name, after));
            }
            let (key, after) = usual_string(rest, shape.python)?;
            let value = after_space(after_space(after).strip_prefix(b":")?);
            let known = shape.is_known(key, depth) || (!shape.strict && shape.is_syntax(key));
            rest = match shape.role(key, depth) {
                _ if !known => return None,
                Role::NameAsKey if key == CallShape::USUAL.name_field.as_bytes() => return None,
                Role::NameAsKey => {
                    let colon = after.strip_prefix(b":")?;
                    (self.at, self.role, rest) = (At::Value, Role::Arguments, colon);
                    break (key, place(key, after));
                }
                Role::Function if depth == 1 => {
                    depth = 2;
                    rest = after_space(value.strip_prefix(b"{")?);
                    continue;
                }
                Role::Id if id.is_none() => {
                    let (text, after) = usual_string(value, shape.python)?;
                    self.id.set(text);
                    id = Some(place(text, after));
                    after
                }
                Role::Other => usual_string(value, shape.python)?.1,
                _ => return None,
            };
            rest = after_space(after_space(rest).strip_prefix(b",")?);
        };
        self.has_id = id.is_some();
        self.text.set(name);
        self.depth = depth;
        self.has_function = depth == 2;
        self.named = true;
        Some((Head { name: at, id }, bytes.len() - rest.len()))
    }

    /// Reads the usual rest of an object, directly after its name, as far as it is buffered: the arguments, an id, and
    /// what closes the object.
    pub(crate) fn usual_rest(&mut self, shape: &CallShape, bytes: &[u8], stops: &Begins) -> Option<Rest> {
        let from = self.usual_key(shape, bytes, stops)?;
        if shape.python {
            // The arguments are translated, so they are left to their reader.
            return Some(Rest { arguments: (from, from), id: None, taken: from, done: false });
        }
        let mut rest = &bytes[from..];
        let progress = self.reader.scanner().feed_until(rest, 0, stops);
        self.has_arguments = true;
        self.arguments.begin_native();
        let count = match progress {
            Progress::More => rest.len(),
            Progress::Done(count) | Progress::Stop(count) | Progress::Wait(count) => count,
        };
        let arguments = (from, from + count);
        rest = &rest[count..];
        let mut id = None;
        if let Progress::Done(_) = progress {
            self.end_value();
            let plain = !b"{},:\"".iter().any(|&byte| stops.firsts.has(byte));
            while plain && self.depth > 0 {
                match after_space(rest) {
                    [b'}', after @ ..] => {
                        self.depth -= 1;
                        rest = after;
                    }
                    [b',', after @ ..] if !self.has_id => {
                        let value = after_key(after_space(after), &shape.id_field, shape.python);
                        let Some((text, after)) = value.and_then(|value| usual_string(value, shape.python)) else {
                            break;
                        };
                        self.has_id = true;
                        self.id.set(text);
                        let end = bytes.len() - after.len() - 1;
                        id = Some((end - text.len(), end));
                        rest = after;
                    }
                    _ => break,
                }
            }
            if self.depth == 0 {
                self.at = At::Done;
            }
        }
        Some(Rest { arguments, id, taken: bytes.len() - rest.len(), done: self.at == At::Done })
    }

    /// Reads what is between the name and the arguments. Returns its length.
    #[inline]
    fn usual_key(&mut self, shape: &CallShape, bytes: &[u8], stops: &Begins) -> Option<usize> {
        if !self.named || self.has_arguments {
            return None;
        }
        let mut rest = bytes;
        if self.at == At::After {
            let elsewhere = (!shape.function_field.is_empty() && self.depth == 1) || shape.args_field.is_empty();
            if elsewhere || b",\":".iter().any(|&byte| stops.firsts.has(byte)) {
                return None;
            }
            let [b',', after @ ..] = rest else { return None };
            rest = after_key(after_space(after), &shape.args_field, shape.python)?;
        } else {
            (self.role == Role::Arguments).then_some(())?;
            rest = after_space(rest);
        }
        // Only objects: they are passed on unchanged.
        let [b'{', ..] = rest else { return None };
        self.begin();
        self.role = Role::Arguments;
        self.at = At::InValue;
        Some(bytes.len() - rest.len())
    }
}

#[inline]
fn after_space(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b' ' | b'\n', rest @ ..] => match rest {
            [b' ' | b'\n', ..] => after_more_space(rest),
            _ => rest,
        },
        _ => bytes,
    }
}

#[inline(never)]
fn after_more_space(bytes: &[u8]) -> &[u8] {
    let solid = bytes.iter().position(|&byte| !is_space(byte));
    solid.and_then(|solid| bytes.get(solid..)).unwrap_or_default()
}

/// A short string of printable ASCII characters without escapes, at least one; and the bytes after it.
#[inline]
fn usual_string(bytes: &[u8], python: bool) -> Option<(&[u8], &[u8])> {
    let (quote, rest) = usual_quote(bytes, python)?;
    let most = &rest[..rest.len().min(InlineString::IN_PLACE + 1)];
    let count = match quote {
        b'"' => printable_len(most),
        _ => most.iter().take_while(|&&byte| matches!(byte, b' '..=b'~') && byte != quote && byte != b'\\').count(),
    };
    let (text, after) = (rest.get(..count)?, rest.get(count..)?.strip_prefix(&[quote])?);
    (1..=InlineString::IN_PLACE).contains(&count).then_some((text, after))
}

/// The quote that opens a string, and the bytes after it.
#[inline]
fn usual_quote(bytes: &[u8], python: bool) -> Option<(u8, &[u8])> {
    let (&quote, rest) = bytes.split_first()?;
    (quote == b'"' || (python && quote == b'\'')).then_some((quote, rest))
}

/// The bytes after a key and its colon; `None` if another key comes.
#[inline]
fn after_key<'b>(bytes: &'b [u8], key: &str, python: bool) -> Option<&'b [u8]> {
    if key.is_empty() {
        return None;
    }
    let (quote, rest) = usual_quote(bytes, python)?;
    let rest = rest.strip_prefix(key.as_bytes())?.strip_prefix(&[quote])?;
    Some(after_space(after_space(rest).strip_prefix(b":")?))
}

//! Tagged arguments: turns the raw text between two tags into a JSON value of a type that the tool's schema allows.

use std::borrow::Cow;

use crate::readers::json::{JsonKind, Progress, Scanner, escape_bytes_into, is_space};
use crate::readers::python::Translator;
use crate::tools::Types;
use crate::utf8::{Utf8Carry, lossy};

/// Reads the raw text of a tagged argument and writes its JSON value.
///
/// | types that the schema allows | how the text is read |
/// |---|---|
/// | only strings | as a string, written while it arrives |
/// | no strings | at its end, as JSON or as a Python literal; if it is neither, as a string with a [`mismatch`](Self::mismatch) |
/// | strings and others | held back only as long as it may still be one of the others |
/// | unknown | as if every type were allowed; text in quotes is a JSON string |
///
/// With [`allow_quotes`](Self::allow_quotes), a text that is one string in quotes is that string, whatever the schema says.
///
/// A value keeps its spelling, and white space around it is dropped. In a string all white space counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaggedReader {
    types: Types,
    python: bool,
    /// Whether a string may be in quotes.
    quotes: bool,
    /// The opening quote was written. The rest of the text belongs to the string.
    in_text: bool,
    /// Whether the text may be tags that hold an object. Such text is held to its end.
    tag: Tag,
    /// The text, until its type is decided.
    held: Vec<u8>,
    json: Candidate<Scanner>,
    literal: Candidate<Translator>,
    /// The JSON that `literal` wrote.
    translated: Vec<u8>,
    carry: Utf8Carry,
    invalid_utf8: bool,
    mismatch: bool,
}

/// Whether a text may be tags that hold an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Tag {
    #[default]
    No,
    /// If its first byte but white space is this one.
    Perhaps(u8),
    Yes,
}

/// Within this many bytes it usually shows that a text is not JSON.
const BEGINNING: usize = 64;

/// A type of value that the text may still have.
#[derive(Debug, Clone, Default)]
struct Candidate<R> {
    reader: R,
    /// The text fits until here.
    alive: bool,
    /// The value is complete; only white space may follow.
    done: bool,
}

impl<R> Candidate<R> {
    /// Notes what the reader said about these bytes.
    fn note(&mut self, progress: Progress, bytes: &[u8]) {
        if let Progress::Done(n) = progress {
            self.done = true;
            self.alive &= bytes[n..].iter().copied().all(is_space);
        }
    }
}

impl TaggedReader {
    /// Makes the reader new, for one value of these types. Its buffers are kept. With `python`, Python literals are
    /// read wherever JSON is. Without it, they are read only if a string is not allowed and a value is that Python
    /// spells differently.
    pub(crate) fn restart(&mut self, types: Types, python: bool) {
        self.types = types;
        self.python = python;
        self.quotes = false;
        self.in_text = false;
        self.tag = Tag::No;
        self.held.clear();
        self.json.reader.reset();
        self.json.alive = true;
        self.json.done = false;
        self.literal.reader.reset();
        self.literal.alive = python && types.has_string();
        self.literal.done = false;
        self.translated.clear();
        self.carry = Utf8Carry::new();
        self.invalid_utf8 = false;
        self.mismatch = false;
    }

    /// The text may be tags that hold an object, the first of which begins with this byte. Such text is held to its end.
    pub(crate) fn hold_tags(&mut self, first: u8) {
        self.tag = Tag::Perhaps(first);
    }

    /// A string may be in quotes. Such text is held to its end.
    pub(crate) fn allow_quotes(&mut self) {
        self.quotes = self.types.has_string();
        self.literal.alive |= self.quotes;
    }

    /// Whether the text is a string, and its quotes are a part of it.
    fn is_plain_text(&self) -> bool {
        self.types == Types::STRING && !self.quotes
    }

    pub(crate) fn held(&self) -> Option<&[u8]> {
        (!self.in_text).then_some(&self.held)
    }

    /// There is text: appends the part of the JSON that is already certain.
    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_plain_text() && !self.in_text {
            self.begin_text(out);
        }
    }

    /// Whether the rest of the text belongs to a string, and no character is read in part.
    pub(crate) fn writes_text(&self) -> bool {
        self.in_text && self.carry.is_empty()
    }

    /// Takes the next bytes of the text and appends the part of the JSON that is certain.
    pub(crate) fn feed(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.begin(out);
        if self.in_text {
            self.text(text, out);
            return;
        }
        self.held.extend_from_slice(text);
        // Text that cannot be a string waits for its end anyway.
        if !self.types.has_string() || self.holds_tags(text) {
            return;
        }
        self.consider(text);
        if !self.json.alive && !self.literal.alive {
            self.begin_text(out);
        }
    }

    /// Whether the text is held because it may be tags. `text` are its next bytes.
    fn holds_tags(&mut self, text: &[u8]) -> bool {
        if let Tag::Perhaps(tag) = self.tag
            && let Some(&first) = text.iter().find(|&&byte| !is_space(byte))
        {
            self.tag = if first == tag { Tag::Yes } else { Tag::No };
            // A tag is neither JSON nor a literal.
            self.json.alive &= first != tag;
            self.literal.alive &= first != tag;
        }
        self.tag == Tag::Yes
    }

    /// The text is complete: appends the rest of the JSON.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.in_text && !self.is_plain_text() && self.finish_value(out) {
            return;
        }
        if !self.in_text {
            self.mismatch = !self.types.has_string();
            self.begin_text(out);
        }
        self.end_carry(out);
        out.push(b'"');
    }

    /// The input ended inside the text: appends what was held back, as the beginning of the JSON. A string stays open.
    pub(crate) fn abort(&mut self, out: &mut Vec<u8>) {
        if !self.in_text {
            self.consider_held();
            let text = self.held.trim_ascii_start();
            if text.is_empty() {
                return;
            }
            // A number or word that is not complete may also be the beginning of a string.
            let scalar = matches!(self.json.reader.kind(), Some(JsonKind::Number | JsonKind::Boolean | JsonKind::Null));
            if self.json.alive && (!scalar || !self.types.has_string() || self.json.reader.finish()) {
                out.extend_from_slice(as_text(text, &mut self.invalid_utf8).as_bytes());
                return;
            }
            if self.reads_python() && !self.types.has_string() {
                let mut translated = std::mem::take(&mut self.translated);
                translated.clear();
                self.translate_held(&mut translated);
                self.translated = translated;
            }
            if self.literal.alive {
                self.literal.reader.finish(&mut self.translated);
                out.extend_from_slice(as_text(&self.translated, &mut self.invalid_utf8).as_bytes());
                return;
            }
            self.begin_text(out);
        }
        self.end_carry(out);
    }

    /// Whether the value that was written has none of the types that the schema allows.
    pub(crate) fn mismatch(&self) -> bool {
        self.mismatch
    }

    /// Whether the text contained bytes that are not UTF-8. They became U+FFFD.
    pub(crate) fn invalid_utf8(&self) -> bool {
        self.invalid_utf8
    }

    /// Gives the whole text to the readers of the types that it may have, if they have not seen it yet.
    fn consider_held(&mut self) {
        if !self.types.has_string() {
            let held = std::mem::take(&mut self.held);
            self.consider(&held);
            self.held = held;
        }
    }

    /// Gives the bytes to the readers of the types that the text may still have.
    fn consider(&mut self, text: &[u8]) {
        let json = &mut self.json;
        if json.alive {
            let progress = if json.done { Progress::Done(0) } else { feed_while_json(&mut json.reader, text) };
            json.note(progress, text);
            let kind = json.reader.kind();
            json.alive &= !json.reader.malformed();
            json.alive &= kind.is_none_or(|kind| !self.types.has_string() || admits(self.types, self.quotes, kind));
        }
        let literal = &mut self.literal;
        if literal.alive {
            let progress =
                if literal.done { Progress::Done(0) } else { literal.reader.feed(text, &mut self.translated) };
            literal.note(progress, text);
            literal.alive &= !literal.reader.malformed();
            let kind = kind_of(&self.translated);
            literal.alive &= kind.is_none_or(|kind| admits(self.types, self.quotes, kind));
        }
    }

    /// Writes the held text as JSON or as a literal, if it is one. Returns whether it was.
    fn finish_value(&mut self, out: &mut Vec<u8>) -> bool {
        // A template without quotes writes nothing for an empty text. So an empty pair of quotes is a text of two characters.
        if self.quotes && !self.types.is_unknown() && matches!(trim(&self.held), b"\"\"" | b"''") {
            return false;
        }
        self.consider_held();
        if self.json.alive && (self.json.done || self.json.reader.finish()) {
            let text = trim(&self.held);
            let fits = self.fits(text);
            if fits || !self.types.has_string() {
                self.mismatch = !fits;
                out.extend_from_slice(as_text(text, &mut self.invalid_utf8).as_bytes());
                return true;
            }
        }
        if self.reads_python() {
            let from = out.len();
            if !self.types.has_string() {
                self.translate_held(out);
            } else {
                out.extend_from_slice(&self.translated);
            }
            if self.literal.alive && (self.literal.done || self.literal.reader.finish(out)) {
                let fits = self.fits(&out[from..]) && !self.literal.reader.malformed();
                if fits || (self.python && !self.types.has_string()) {
                    self.mismatch = !fits;
                    if let Cow::Owned(text) = as_text(&out[from..], &mut self.invalid_utf8) {
                        out.truncate(from);
                        out.extend_from_slice(text.as_bytes());
                    }
                    return true;
                }
            }
            out.truncate(from);
        }
        false
    }

    fn reads_python(&self) -> bool {
        let spelled_otherwise = Types::BOOLEAN | Types::NULL | Types::OBJECT | Types::ARRAY;
        self.python || self.quotes || (!self.types.has_string() && self.types.intersects(spelled_otherwise))
    }

    /// Reads the whole held text as a Python literal and appends its JSON.
    fn translate_held(&mut self, out: &mut Vec<u8>) {
        let literal = &mut self.literal;
        literal.reader.reset();
        literal.alive = true;
        literal.done = false;
        let progress = literal.reader.feed(&self.held, out);
        literal.note(progress, &self.held);
        literal.alive &= !literal.reader.malformed();
    }

    /// Whether complete JSON has one of the types that the schema allows.
    fn fits(&self, json: &[u8]) -> bool {
        let Some(kind) = kind_of(json) else { return false };
        if !admits(self.types, self.quotes, kind) {
            return false;
        }
        let whole_only = kind == JsonKind::Number && !self.types.is_unknown() && !self.types.contains(Types::NUMBER);
        !whole_only || is_integer(json, !self.types.has_string())
    }

    /// The text is a string: writes what was held back of it.
    fn begin_text(&mut self, out: &mut Vec<u8>) {
        self.in_text = true;
        out.push(b'"');
        let held = std::mem::take(&mut self.held);
        self.text(&held, out);
        self.held = held;
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.invalid_utf8 |= self.carry.feed(text, &mut |text| escape_bytes_into(text.as_bytes(), out));
    }

    fn end_carry(&mut self, out: &mut Vec<u8>) {
        self.invalid_utf8 |= self.carry.finish(&mut |text| escape_bytes_into(text.as_bytes(), out));
    }
}

/// Whether JSON of this kind may be passed on unchanged, given the types that the schema allows and whether a string may be in
/// quotes.
fn admits(types: Types, quotes: bool, kind: JsonKind) -> bool {
    let wanted = match kind {
        // If a schema asks for a string, quotes around the text are part of the string.
        JsonKind::String | JsonKind::Other => return (types.is_unknown() || quotes) && kind == JsonKind::String,
        JsonKind::Object => Types::OBJECT,
        JsonKind::Array => Types::ARRAY,
        JsonKind::Number => Types::NUMBER,
        JsonKind::Boolean => Types::BOOLEAN,
        JsonKind::Null => Types::NULL,
    };
    types.is_unknown() || types.intersects(wanted)
}

/// Gives bytes to a scanner. Most of a long text is given to it only if its beginning is valid, because most long texts
/// are not JSON.
fn feed_while_json(scanner: &mut Scanner, text: &[u8]) -> Progress {
    let (beginning, rest) = text.split_at(text.len().min(BEGINNING));
    match scanner.feed(beginning) {
        Progress::More if !rest.is_empty() && !scanner.malformed() => match scanner.feed(rest) {
            Progress::Done(count) => Progress::Done(beginning.len() + count),
            progress => progress,
        },
        progress => progress,
    }
}

/// The kind of complete JSON, by its first byte.
fn kind_of(json: &[u8]) -> Option<JsonKind> {
    Some(match json.first()? {
        b'{' => JsonKind::Object,
        b'[' => JsonKind::Array,
        b'"' => JsonKind::String,
        b't' | b'f' => JsonKind::Boolean,
        b'n' => JsonKind::Null,
        _ => JsonKind::Number,
    })
}

/// Whether a JSON number is an integer. With `zeros`, a fraction of zeros is allowed.
fn is_integer(number: &[u8], zeros: bool) -> bool {
    match number.iter().position(|byte| !matches!(byte, b'-' | b'0'..=b'9')) {
        None => true,
        Some(at) => zeros && number[at] == b'.' && number[at + 1..].iter().all(|&byte| byte == b'0'),
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// The bytes as text. Sets `invalid` if some became U+FFFD.
fn as_text<'t>(bytes: &'t [u8], invalid: &mut bool) -> Cow<'t, str> {
    let text = lossy(bytes);
    *invalid |= matches!(text, Cow::Owned(_));
    text
}

#[cfg(test)]
mod tests;

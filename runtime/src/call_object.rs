//! A tool call written as one JSON object (or Python dict), taken apart as it comes: its name, its id, its arguments.

mod arguments;
mod reader;

use arguments::Arguments;
use reader::Reader;

use crate::json::{Progress, Unescaper, is_space, is_token};

/// The longest key, name or id, in bytes.
const MAX_TEXT: usize = 256;

/// Where a call object keeps its parts.
///
/// | the object | `function_field` | `name_field` | `args_field` | `id_field` |
/// |---|---|---|---|---|
/// | `{"name": "f", "arguments": {…}}` | | `name` | `arguments` | |
/// | `{"type": "function", "id": "1", "function": {"name": "f", "arguments": {…}}}` | `function` | `name` | `arguments` | `id` |
/// | `{"f": {…}}`, with `name_is_key` | | | | |
///
/// Keys may come in any order, and others among them are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallShape<'p> {
    /// The key of a nested object that holds the name and the arguments; empty where they are not nested.
    pub function_field: &'p str,
    /// The key of the name; not looked at with `name_is_key`.
    pub name_field: &'p str,
    /// The key of the arguments; not looked at with `name_is_key`.
    pub args_field: &'p str,
    /// The key of the call's id, in the object itself or the nested one; empty where the format has none.
    pub id_field: &'p str,
    /// The first key is the name and its value the arguments.
    pub name_is_key: bool,
    /// The object is a Python dict; JSON is read as well.
    pub python: bool,
    /// Other keys that the format writes.
    pub keys: &'p [&'p str],
    /// Before the name, a key that is none of these makes it no call.
    pub strict: bool,
}

impl CallShape<'_> {
    /// What a key stands for, so many braces deep.
    fn role(&self, key: &[u8], depth: u8) -> Role {
        let is = |field: &str| !field.is_empty() && key == field.as_bytes();
        let nested = depth > 1 || self.function_field.is_empty();
        match () {
            () if is(self.id_field) => Role::Id,
            () if self.name_is_key => Role::NameAsKey,
            () if depth == 1 && is(self.function_field) => Role::Function,
            () if nested && is(self.name_field) => Role::Name,
            () if nested && is(self.args_field) => Role::Arguments,
            () => Role::Other,
        }
    }

    /// Whether a key that begins like this may be one of the fields.
    fn knows(&self, beginning: &[u8]) -> bool {
        let fields = [self.function_field, self.name_field, self.args_field, self.id_field];
        self.name_is_key
            || fields.iter().chain(self.keys).any(|field| !field.is_empty() && field.as_bytes().starts_with(beginning))
    }
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallPart<'a> {
    /// The name: exactly once, before any arguments.
    Name(&'a str),
    /// The id, at most once: right before the name, or as it comes after it.
    Id(&'a str),
    /// The next piece of the arguments' JSON text.
    Arguments(&'a str),
}

/// Where the parts of a call go.
type Sink<'s> = dyn FnMut(CallPart<'_>) + 's;

/// Reads one call object.
///
/// Until the name is known the text may turn out to be no call: [`Progress::Misfit`]. From then on it is one: what
/// breaks the rules is skipped, and flagged as [`malformed`](Self::malformed). Arguments pass through untouched as
/// they come (those before the name wait for it); arguments that are given as JSON text in a string are that
/// text; `null` is the same as none. Bytes that are not UTF-8 become U+FFFD.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallObject {
    at: At,
    role: Role,
    /// How many braces of the call itself are open: two inside the nested function object.
    depth: u8,
    /// The key, name or id being read.
    text: Vec<u8>,
    unescaper: Unescaper,
    id: String,
    reader: Reader,
    arguments: Arguments,
    named: bool,
    has_id: bool,
    has_arguments: bool,
    has_function: bool,
    malformed: bool,
    invalid_utf8: bool,
}

/// Where in the object the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Before,
    /// A key or the closing brace.
    Key,
    /// A key; a closing brace would come too early.
    KeyAfterComma,
    InKey,
    Colon,
    Value,
    InValue,
    /// A comma or the closing brace.
    After,
    Done,
    /// It was no call.
    Lost,
}

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    Name,
    NameAsKey,
    Arguments,
    Id,
    Function,
    #[default]
    Other,
}

/// What became of the bytes looked at.
enum Step {
    Taken(usize),
    Last,
    /// The byte does not fit: no call, or skipped if it is one.
    Bad,
    /// The state changed and looks at the byte again.
    Again,
}

impl CallObject {
    /// A reader before its object.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of an object of this shape (the same each time), and reports its parts. `Done(n)`: the
    /// object ended with byte `n`. `Misfit(n)`: it is no call, as the byte at `n` shows; nothing was reported.
    pub(crate) fn feed(&mut self, shape: &CallShape<'_>, bytes: &[u8], on: &mut Sink<'_>) -> Progress {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            let step = match self.at {
                At::InKey => self.in_key(shape, byte),
                At::InValue => self.in_value(shape, &bytes[taken..], on),
                At::Done => return Progress::Done(taken),
                At::Lost => return Progress::Misfit(taken),
                _ if is_space(byte) => Step::Taken(1),
                _ => self.structure(shape, byte, on),
            };
            match step {
                Step::Taken(count) => taken += count,
                Step::Last => return Progress::Done(taken + 1),
                Step::Again => {}
                Step::Bad if self.named => {
                    self.malformed = true;
                    taken += 1;
                }
                Step::Bad => {
                    self.at = At::Lost;
                    return Progress::Misfit(taken);
                }
            }
        }
        match self.at {
            At::Done => Progress::Done(taken),
            At::Lost => Progress::Misfit(taken),
            _ => Progress::More,
        }
    }

    /// The input ends here: reports what was held back of the arguments, and says whether the object was complete.
    pub(crate) fn finish(&mut self, shape: &CallShape<'_>, on: &mut Sink<'_>) -> bool {
        if self.named && self.at == At::InValue && self.role == Role::Arguments {
            let json = self.reader.finish(shape.python);
            self.arguments.feed(json, Some(on));
            self.arguments.abort(on);
        }
        self.at == At::Done
    }

    /// Whether the name was reported.
    pub(crate) fn named(&self) -> bool {
        self.named
    }

    /// Whether the object, or the arguments in it, broke a rule so far.
    /// Whether the next byte stands inside a string, where nothing ends the call.
    pub(crate) fn in_string(&self, shape: &CallShape<'_>) -> bool {
        matches!(self.at, At::InKey | At::InValue) && self.reader.in_string(shape.python)
    }

    pub(crate) fn malformed(&self) -> bool {
        let reading = matches!(self.at, At::InKey | At::InValue);
        self.malformed || self.arguments.malformed() || (reading && self.reader.malformed())
    }

    /// Whether a part held bytes that are not UTF-8, which became U+FFFD.
    pub(crate) fn invalid_utf8(&self) -> bool {
        self.invalid_utf8 || self.arguments.invalid_utf8()
    }

    /// A byte outside keys and values, white space aside.
    fn structure(&mut self, shape: &CallShape<'_>, byte: u8, on: &mut Sink<'_>) -> Step {
        let quote = byte == b'"' || (shape.python && byte == b'\'');
        let begins = quote || matches!(byte, b'{' | b'[') || is_token(byte);
        match self.at {
            At::Before if byte == b'{' => {
                self.depth = 1;
                self.go(At::Key)
            }
            At::Key | At::KeyAfterComma if quote => {
                self.begin();
                self.again(At::InKey)
            }
            At::Key | At::KeyAfterComma | At::After if byte == b'}' => {
                self.malformed |= self.at == At::KeyAfterComma && !shape.python;
                self.close()
            }
            At::After if byte == b',' => self.go(At::KeyAfterComma),
            At::Colon if byte == b':' => {
                if self.role == Role::NameAsKey {
                    self.name(on);
                    self.role = Role::Arguments;
                }
                self.go(At::Value)
            }
            At::Value if self.role == Role::Function && byte == b'{' => {
                self.has_function = true;
                self.depth = 2;
                self.go(At::Key)
            }
            At::Value if self.role == Role::Function || (self.role == Role::Name && !quote) => Step::Bad,
            At::Value if begins => self.value(),
            // From here on it is malformed.
            _ if !self.named => Step::Bad,
            At::Colon | At::Value if matches!(byte, b',' | b'}') => {
                self.malformed = true;
                self.again(At::After)
            }
            At::Colon if begins => {
                self.malformed = true;
                self.again(At::Value)
            }
            At::After if quote => {
                self.malformed = true;
                self.again(At::Key)
            }
            At::Key | At::KeyAfterComma | At::After if begins => {
                self.malformed = true;
                self.role = Role::Other;
                self.value()
            }
            _ => Step::Bad,
        }
    }

    fn go(&mut self, at: At) -> Step {
        self.at = at;
        Step::Taken(1)
    }

    fn again(&mut self, at: At) -> Step {
        self.at = at;
        Step::Again
    }

    fn begin(&mut self) {
        self.reader.reset();
        self.text.clear();
        self.unescaper = Unescaper::new();
    }

    fn value(&mut self) -> Step {
        self.begin();
        self.again(At::InValue)
    }

    fn close(&mut self) -> Step {
        self.depth -= 1;
        if self.depth > 0 {
            return self.go(At::After);
        }
        if !self.named {
            return Step::Bad;
        }
        self.at = At::Done;
        Step::Last
    }

    /// A byte of a key. Keys are short, and one by one their bytes say exactly where a key stops fitting.
    fn in_key(&mut self, shape: &CallShape<'_>, byte: u8) -> Step {
        let byte = [byte];
        let (progress, json) = self.reader.feed(shape.python, &byte);
        self.unescaper.feed(json, &mut self.text);
        if !self.named && (self.text.len() > MAX_TEXT || self.reader.malformed()) {
            return Step::Bad;
        }
        if !self.named && shape.strict && !shape.knows(&self.text) {
            return Step::Bad;
        }
        self.text.truncate(MAX_TEXT + 1);
        let Progress::Done(count) = progress else { return Step::Taken(1) };
        self.malformed |= self.reader.malformed();
        let role = shape.role(&self.text, self.depth);
        let known = || shape.keys.iter().any(|known| known.as_bytes() == self.text);
        if shape.strict && !self.named && role == Role::Other && !known() {
            return Step::Bad;
        }
        if role == Role::NameAsKey && !self.named && !is_name(&self.text) {
            return Step::Bad;
        }
        let again = match role {
            Role::Name | Role::NameAsKey => self.named,
            Role::Arguments => self.has_arguments,
            Role::Function => self.has_function,
            Role::Id => self.has_id,
            Role::Other => false,
        };
        self.malformed |= again;
        self.role = if again { Role::Other } else { role };
        self.at = At::Colon;
        Step::Taken(count)
    }

    /// Bytes of a value.
    fn in_value(&mut self, shape: &CallShape<'_>, bytes: &[u8], on: &mut Sink<'_>) -> Step {
        match self.role {
            Role::Name => return self.in_name(shape, bytes[0], on),
            Role::Id => return self.in_id(shape, bytes, on),
            _ => {}
        }
        let (progress, json) = self.reader.feed(shape.python, bytes);
        if self.role == Role::Arguments {
            self.has_arguments = true;
            self.arguments.feed(json, if self.named { Some(&mut *on) } else { None });
        }
        let Progress::Done(count) = progress else { return Step::Taken(bytes.len()) };
        if self.role == Role::Arguments {
            self.arguments.end(if self.named { Some(on) } else { None });
        }
        self.end_value(count)
    }

    fn end_value(&mut self, count: usize) -> Step {
        self.malformed |= self.reader.malformed();
        self.at = At::After;
        Step::Taken(count)
    }

    /// A byte of the name, one by one as those of a key.
    fn in_name(&mut self, shape: &CallShape<'_>, byte: u8, on: &mut Sink<'_>) -> Step {
        let byte = [byte];
        let (progress, json) = self.reader.feed(shape.python, &byte);
        let from = self.text.len();
        self.unescaper.feed(json, &mut self.text);
        let control = self.text[from..].iter().any(u8::is_ascii_control);
        if control || self.text.len() > MAX_TEXT || self.reader.malformed() {
            return Step::Bad;
        }
        let Progress::Done(count) = progress else { return Step::Taken(1) };
        if !is_name(&self.text) {
            return Step::Bad;
        }
        self.name(on);
        self.end_value(count)
    }

    /// Reports the name that was read, with what was waiting for it.
    fn name(&mut self, on: &mut Sink<'_>) {
        self.named = true;
        if self.has_id {
            on(CallPart::Id(&self.id));
        }
        let name = String::from_utf8_lossy(&self.text);
        self.invalid_utf8 |= matches!(name, std::borrow::Cow::Owned(_));
        on(CallPart::Name(&name));
        self.arguments.release(on);
    }

    /// Bytes of an id: a string, or a number taken as it is written.
    fn in_id(&mut self, shape: &CallShape<'_>, bytes: &[u8], on: &mut Sink<'_>) -> Step {
        let (progress, json) = self.reader.feed(shape.python, bytes);
        // More than a long id makes it no id; the rest need not be kept.
        let room = (8 * MAX_TEXT).saturating_sub(self.text.len());
        self.text.extend_from_slice(&json[..json.len().min(room)]);
        let Progress::Done(count) = progress else { return Step::Taken(bytes.len()) };
        let json = std::mem::take(&mut self.text);
        if json.first() == Some(&b'"') {
            self.unescaper.feed(&json, &mut self.text);
        } else if json.first().is_some_and(|byte| matches!(byte, b'-' | b'0'..=b'9')) {
            self.text.extend_from_slice(&json);
        } else {
            // `null` says that there is none.
            self.malformed |= json != b"null";
        }
        if self.text.len() > MAX_TEXT {
            self.malformed = true;
        } else if !self.text.is_empty() {
            self.has_id = true;
            self.id.clear();
            self.id.push_str(&String::from_utf8_lossy(&self.text));
            self.invalid_utf8 |= std::str::from_utf8(&self.text).is_err();
            if self.named {
                on(CallPart::Id(&self.id));
            }
        }
        self.end_value(count)
    }
}

/// Whether a function may be called that.
fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= MAX_TEXT && !text.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
mod tests;

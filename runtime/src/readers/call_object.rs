//! Call objects: a tool call that is written as one JSON object or Python dict. Finds its name, its id and its
//! arguments while it arrives.
//!
//! It reports what it finds and must not send events.

mod arguments;
mod fast_path;
mod reader;
mod unknown;

pub(crate) use fast_path::Head;

use arguments::{Arguments, Piece};
use reader::{Reader, Taken};
use unknown::Unknown;

use crate::byte_set::Begins;
use crate::fast_paths;
use crate::inline_string::InlineString;
use crate::limits::{MAX_NAME, PIECE};
use crate::program::CallShape;
use crate::program::call_shape::Role;
use crate::readers::json::{Progress, Scanner, Unescaper, is_plain, is_space, is_token};
use crate::readers::python::Translator;
use crate::utf8::whole_characters;

/// What the bytes contain that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallProgress {
    /// All bytes were taken, and the object continues.
    More,
    /// The object ended with them.
    Done,
    /// The byte after them shows that the object is not a call. Nothing was reported.
    Mismatch,
    /// After them, outside of strings, one of the stops may begin.
    Stop,
    /// The [name](CallObject::name) is known, and the [id](CallObject::id) if it came before the name. This is reported
    /// exactly once, before any arguments. If both are in the given bytes without escapes: their places.
    Name(Option<Head>),
    /// The id came after the name. This is reported at most once.
    Id,
    /// More of the arguments as JSON: this many bytes, the last of those that were taken.
    Arguments(usize),
    /// More of the arguments as JSON: it was [written](CallObject::written), because it differs from the input.
    Written,
}

/// Reads one call object.
///
/// Until the name is known, the text may turn out to be no call: [`CallProgress::Mismatch`]. After that it is a call, and what
/// breaks the rules is skipped and flagged as [`malformed`](Self::malformed). Arguments are passed on while they
/// arrive; those before the name wait for it. Arguments that are JSON text in a string are unescaped; `null` is the
/// same as no arguments. The reader must be fed whole characters.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallObject {
    at: At,
    role: Role,
    /// How many braces of the object are open: 2 inside the nested function object.
    depth: u8,
    /// The key or name that is being read.
    text: InlineString,
    /// It is longer than a name can be.
    too_long: bool,
    unescaper: Unescaper,
    unescaped: Vec<u8>,
    id: InlineString,
    /// Whether the id is a string; `None` until its first byte was seen.
    id_quoted: Option<bool>,
    reader: Reader,
    arguments: Arguments,
    named: bool,
    has_id: bool,
    has_arguments: bool,
    has_function: bool,
    /// The first key is that of a name, where the format writes the name itself as the key: the object has the usual shape.
    usual: bool,
    malformed: bool,
    /// Something was read that is no member.
    astray: bool,
    /// The member is unknown, and no marker announced the call: only a short value may come.
    short_only: bool,
    /// How many bytes such members took.
    short: usize,
    unknown: Unknown,
}

/// What is expected next in the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Before,
    /// A key or the closing brace.
    Key,
    /// A key. A closing brace is an error in JSON.
    KeyAfterComma,
    InKey,
    Colon,
    Value,
    InValue,
    /// A comma or the closing brace.
    After,
    Done,
    /// The object is not a call.
    Lost,
}

/// A static, because a constant that could own memory is made and dropped where it is used.
static USUAL: CallShape = CallShape::USUAL;

/// The most bytes of unknown members before the name, in an object that no marker announces. They are held back, and for
/// nothing if the object is an answer.
const MOST_UNKNOWN: usize = 128;

/// What a step did.
enum Step {
    Taken(usize),
    Last,
    /// The byte does not fit. If the name is known it is skipped; otherwise the object is not a call.
    Bad,
    /// No byte was taken. The state has changed, and looks at the byte again.
    Again,
    /// This many bytes were taken, and there is something to report.
    Report(CallProgress, usize),
}

impl CallObject {
    /// Makes the reader new, for an object that is JSON, or a Python dict if it is `python`. Its buffers are kept.
    pub(crate) fn reset(&mut self, python: bool) {
        self.at = At::Before;
        self.role = Role::Other;
        self.depth = 0;
        self.text.clear();
        self.too_long = false;
        self.id.clear();
        self.reader.restart(python);
        self.arguments.reset();
        self.named = false;
        self.has_id = false;
        self.has_arguments = false;
        self.has_function = false;
        self.usual = false;
        self.malformed = false;
        self.astray = false;
        self.short_only = false;
        self.short = 0;
        self.unknown.reset();
    }

    /// Takes the next bytes of an object, up to the first thing to report. Returns what that is, and how many bytes
    /// were taken. The shape must be the same in all calls. Once the name is known, it stops before a byte at or after
    /// `from`, outside of strings, with which one of `stops` may begin.
    pub(crate) fn next(
        &mut self,
        shape: &CallShape,
        bytes: &[u8],
        from: usize,
        stops: &Begins,
    ) -> (CallProgress, usize) {
        if self.named && self.arguments.release() {
            return (CallProgress::Written, 0);
        }
        let mut taken = 0;
        if shape.announced {
            self.named = true;
        } else if self.at == At::Before
            && let Some((head, count)) = fast_paths::attempt(|| self.usual_head(shape, bytes))
        {
            return (CallProgress::Name(Some(head)), count);
        }
        let stops = if self.named { stops } else { &Begins::NOTHING };
        while let Some(&byte) = bytes.get(taken) {
            let in_member = self.at == At::InKey
                || (matches!(self.at, At::Colon | At::Value | At::InValue)
                    && (self.unknown.in_member || self.role == Role::UsualArguments));
            let step = match self.at {
                At::InKey => self.in_key(shape, &bytes[taken..]),
                At::InValue => {
                    let rest = &bytes[taken..];
                    let room = if self.short_only { MOST_UNKNOWN.saturating_sub(self.short) } else { rest.len() };
                    if room == 0 {
                        Step::Bad
                    } else {
                        self.in_value(&rest[..room.min(rest.len())], from.saturating_sub(taken), stops)
                    }
                }
                At::Done => return (CallProgress::Done, taken),
                At::Lost => return (CallProgress::Mismatch, taken),
                At::After | At::Key | At::KeyAfterComma if is_space(byte) && self.unknown.in_junk => {
                    self.unknown.byte(byte);
                    Step::Taken(1)
                }
                _ if is_space(byte) => Step::Taken(1),
                _ if taken >= from && stops.at(bytes, taken) => return (CallProgress::Stop, taken),
                _ => self.structure(byte),
            };
            match step {
                Step::Taken(count) => {
                    if in_member {
                        let member = &bytes[taken..taken + count];
                        if self.at == At::InKey || self.role == Role::UsualArguments {
                            self.unknown.hold(member);
                        } else {
                            self.unknown.append(member);
                        }
                    }
                    taken += count;
                    self.short += if self.short_only { count } else { 0 };
                }
                Step::Last => return (CallProgress::Done, taken + 1),
                Step::Again => {}
                Step::Report(progress, count) => return (progress, taken + count),
                Step::Bad if self.named => {
                    self.malformed = true;
                    // A comma or a bracket too many says nothing else than the object.
                    self.astray |= !matches!(byte, b',' | b']');
                    self.unknown.byte(byte);
                    taken += 1;
                }
                Step::Bad => {
                    self.at = At::Lost;
                    return (CallProgress::Mismatch, taken);
                }
            }
        }
        match self.at {
            At::Done => (CallProgress::Done, taken),
            At::Lost => (CallProgress::Mismatch, taken),
            _ => (CallProgress::More, taken),
        }
    }

    /// The input ends here. Returns whether arguments that were held back have been [written](Self::written).
    pub(crate) fn finish(&mut self) -> bool {
        if !self.named || self.at != At::InValue || self.role != Role::Arguments {
            return false;
        }
        let Self { reader, arguments, .. } = self;
        arguments.abort(reader.finish())
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.text.as_bytes()
    }

    pub(crate) fn id(&self) -> Option<&[u8]> {
        self.has_id.then_some(self.id.as_bytes())
    }

    /// The arguments that were reported as written.
    pub(crate) fn written(&self) -> &[u8] {
        self.arguments.written()
    }

    pub(crate) fn named(&self) -> bool {
        self.named
    }

    /// Whether the next bytes are arguments that are passed on at once, unchanged or translated.
    pub(crate) fn passes_on(&self) -> bool {
        self.named && self.at == At::InValue && self.role == Role::Arguments && self.arguments.pass_on()
    }

    pub(crate) fn translator(&mut self) -> &mut Translator {
        self.reader.translator()
    }

    pub(crate) fn scanner(&mut self) -> &mut Scanner {
        self.reader.scanner()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Text that the format does not know, and the keys of members in it, each after a zero byte. It is given once.
    pub(crate) fn unknown(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.named.then(|| self.unknown.take()).flatten()
    }

    /// Whether something was read that is no member.
    pub(crate) fn astray(&self) -> bool {
        self.astray
    }

    /// Whether the object or its arguments broke a rule until here.
    pub(crate) fn malformed(&self) -> bool {
        let reading = matches!(self.at, At::InKey | At::InValue);
        self.malformed || self.arguments.malformed() || (reading && self.reader.malformed())
    }

    /// A byte outside keys and values, white space aside.
    #[inline(never)]
    fn structure(&mut self, byte: u8) -> Step {
        let quote = byte == b'"' || (self.reader.python() && byte == b'\'');
        let begins = quote || matches!(byte, b'{' | b'[') || is_token(byte);
        match self.at {
            At::Before if byte == b'{' => {
                self.depth = 1;
                self.go(At::Key)
            }
            At::Key | At::KeyAfterComma if quote => {
                (self.unknown.in_member, self.unknown.in_junk) = (false, false);
                self.begin();
                self.again(At::InKey)
            }
            At::Key | At::KeyAfterComma | At::After if byte == b'}' => {
                self.malformed |= self.at == At::KeyAfterComma && !self.reader.python();
                self.close()
            }
            At::After if byte == b',' => {
                self.unknown.in_junk = false;
                self.go(At::KeyAfterComma)
            }
            At::Colon if byte == b':' => {
                self.at = At::Value;
                if self.role == Role::NameAsKey && self.text.as_bytes() != USUAL.name_field.as_bytes() {
                    return self.key_is_name(1);
                }
                Step::Taken(1)
            }
            At::Value if self.role == Role::NameAsKey && byte != b'"' && byte != b'\'' => self.key_is_name(0),
            At::Value if self.role == Role::NameAsKey => {
                // Arguments are no text.
                self.usual = true;
                self.role = Role::Name;
                self.again(At::Value)
            }
            At::Value if byte == b'{' && (self.role == Role::Function || self.opens_function()) => {
                self.has_function = true;
                self.depth = 2;
                self.go(At::Key)
            }
            At::Value if self.role == Role::Function || (self.role == Role::Name && !quote) => Step::Bad,
            At::Value if self.short_only && matches!(byte, b'{' | b'[') => Step::Bad,
            At::Value if matches!(self.role, Role::UsualArguments | Role::UsualFunction) => {
                let is_arguments = self.role == Role::UsualArguments && byte == b'{';
                self.role = if is_arguments { Role::Arguments } else { Role::Other };
                self.unknown.in_member = self.role == Role::Other;
                self.unknown.append(b"");
                self.again(At::Value)
            }
            At::Value if begins => self.value(),
            // Everything below is malformed.
            _ if !self.named => Step::Bad,
            At::Colon | At::Value if matches!(byte, b',' | b'}') => {
                self.malformed = true;
                self.astray |= self.at == At::Colon;
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
                (self.malformed, self.astray) = (true, true);
                self.role = Role::Other;
                (self.unknown.in_member, self.unknown.in_junk) = (true, true);
                self.value()
            }
            _ => Step::Bad,
        }
    }

    /// The key that was read is the name, and this many bytes were taken after it.
    fn key_is_name(&mut self, taken: usize) -> Step {
        self.role = Role::Arguments;
        self.named = true;
        Step::Report(CallProgress::Name(None), taken)
    }

    fn go(&mut self, at: At) -> Step {
        self.at = at;
        Step::Taken(1)
    }

    fn again(&mut self, at: At) -> Step {
        self.at = at;
        Step::Again
    }

    #[inline(never)]
    fn begin(&mut self) {
        self.reader.reset();
        self.text.clear();
        self.too_long = false;
        self.unescaper = Unescaper::new();
        self.id_quoted = None;
    }

    /// Whether an object under the usual key of the nested object is that object: nothing was read of a call yet.
    fn opens_function(&self) -> bool {
        self.role == Role::UsualFunction && !self.named && !self.has_arguments
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

    /// A fast path for a key or name: takes plain characters. Returns how many bytes it took, at least one.
    fn plain_text(&mut self, bytes: &[u8]) -> Option<usize> {
        let quote = self.reader.quote()?;
        let room = MAX_NAME - self.text.as_bytes().len();
        let plain = |&&byte: &&u8| is_plain(byte) && byte != 0x7f && byte != quote;
        let count = bytes.iter().take(room).take_while(plain).count();
        self.text.push(&bytes[..count]);
        (count > 0).then_some(count)
    }

    /// Takes one byte of a key or name. Byte by byte, so that the first byte that does not fit is known exactly.
    #[inline(never)]
    fn byte(&mut self, byte: u8) -> Progress {
        let bytes = [byte];
        let (progress, json) = self.reader.feed(&bytes);
        self.unescaped.clear();
        self.unescaper.feed(json.json(), &mut self.unescaped);
        self.too_long |= !self.text.push(&self.unescaped);
        progress
    }

    fn in_key(&mut self, shape: &CallShape, bytes: &[u8]) -> Step {
        // A strict shape has to look at each byte: it may be the one that does not fit.
        if (self.named || !shape.strict)
            && let Some(count) = fast_paths::attempt(|| self.plain_text(bytes))
        {
            return Step::Taken(count);
        }
        let progress = self.byte(bytes[0]);
        if !self.named && (self.too_long || self.reader.malformed()) {
            return Step::Bad;
        }
        self.too_long |= self.unknown.in_member;
        let Progress::Done(count) = progress else { return Step::Taken(1) };
        self.malformed |= self.reader.malformed();
        self.end_key(shape, count)
    }

    fn end_key(&mut self, shape: &CallShape, count: usize) -> Step {
        let shape = if self.usual { &USUAL } else { shape };
        let key = self.text.as_bytes();
        let role = if self.too_long { Role::Other } else { shape.role(key, self.depth) };
        let is_known = shape.is_known(key, self.depth) && role != Role::UsualFunction;
        self.short_only = shape.strict && !self.named && !is_known;
        let unknown = role == Role::Other && !is_known && !shape.is_syntax(key);
        if unknown && !self.too_long {
            self.unknown.report(key);
        }
        if role == Role::NameAsKey && !self.named && !is_name(key) {
            return Step::Bad;
        }
        let again = match role {
            Role::Name | Role::NameAsKey => self.named,
            Role::Arguments | Role::UsualArguments => self.has_arguments,
            Role::Function | Role::UsualFunction => self.has_function,
            Role::Id => self.has_id,
            Role::Other => false,
        };
        self.malformed |= again;
        self.unknown.in_member = unknown || again;
        self.role = if again { Role::Other } else { role };
        self.at = At::Colon;
        Step::Taken(count)
    }

    fn in_value(&mut self, bytes: &[u8], from: usize, stops: &Begins) -> Step {
        match self.role {
            Role::Name => return self.in_name(bytes),
            Role::Id => return self.in_id(bytes),
            _ => {}
        }
        // Piece by piece, so that little is kept however long the value is.
        let bytes = match bytes.get(..PIECE) {
            Some(piece) if self.reader.python() => &bytes[..whole_characters(piece)],
            _ => bytes,
        };
        if self.reader.scanner().is_at_fault() {
            return self.mend(bytes);
        }
        let Self { reader, arguments, .. } = self;
        let (progress, json) = reader.feed_until(bytes, Some((from, stops)));
        let (count, done) = match progress {
            Progress::Done(count) => (count, true),
            Progress::Stop(count) | Progress::Wait(count) => (count, false),
            Progress::More => (bytes.len(), false),
        };
        let mut piece = Piece::Nothing;
        if self.role == Role::Arguments {
            self.has_arguments = true;
            piece = match json {
                Taken::Written(json) => arguments.feed_written(json, self.named, done),
                Taken::AsItIs(json) => arguments.feed(json, self.named, done, false),
            };
        }
        if done {
            self.end_value();
        }
        match piece {
            Piece::AsItIs => Step::Report(CallProgress::Arguments(count), count),
            Piece::Written => Step::Report(CallProgress::Written, count),
            Piece::Nothing if self.reader.scanner().is_at_fault() => Step::Taken(count),
            Piece::Nothing if progress == Progress::Stop(0) => Step::Report(CallProgress::Stop, 0),
            Piece::Nothing if progress == Progress::Wait(0) => Step::Report(CallProgress::More, 0),
            Piece::Nothing => Step::Taken(count),
        }
    }

    /// What comes next in a JSON value is written as JSON has it.
    #[inline(never)]
    fn mend(&mut self, bytes: &[u8]) -> Step {
        self.malformed = true;
        self.unescaped.clear();
        let taken = self.reader.scanner().mend(bytes, &mut self.unescaped);
        let json = &self.unescaped;
        if self.role == Role::Arguments && self.arguments.feed(json, self.named, false, true) == Piece::Written {
            return Step::Report(CallProgress::Written, taken);
        }
        Step::Taken(taken)
    }

    fn end_value(&mut self) {
        self.malformed |= self.reader.malformed();
        self.at = At::After;
    }

    #[inline(never)]
    fn in_name(&mut self, bytes: &[u8]) -> Step {
        if let Some(count) = fast_paths::attempt(|| self.plain_text(bytes)) {
            return Step::Taken(count);
        }
        let from = self.text.as_bytes().len();
        let progress = self.byte(bytes[0]);
        let control = self.text.as_bytes()[from..].iter().any(u8::is_ascii_control);
        if control || self.too_long || self.reader.malformed() {
            return Step::Bad;
        }
        let Progress::Done(_) = progress else { return Step::Taken(1) };
        if !is_name(self.text.as_bytes()) {
            return Step::Bad;
        }
        self.named = true;
        self.end_value();
        Step::Report(CallProgress::Name(None), 1)
    }

    /// Bytes of an id: a string, or a number, which keeps its spelling.
    #[inline(never)]
    fn in_id(&mut self, bytes: &[u8]) -> Step {
        let (progress, json) = self.reader.feed(bytes);
        let json = json.json();
        if self.id_quoted.is_none() {
            self.id_quoted = json.first().map(|&byte| byte == b'"');
        }
        let text = self.id_quoted == Some(true);
        if text {
            self.unescaped.clear();
            self.unescaper.feed(json, &mut self.unescaped);
            self.too_long |= !self.text.push(&self.unescaped);
        } else {
            self.too_long |= !self.text.push(json);
        }
        let Progress::Done(count) = progress else { return Step::Taken(bytes.len()) };
        let id = self.text.as_bytes();
        let number = id.first().is_some_and(|byte| matches!(byte, b'-' | b'0'..=b'9'));
        // `null` means that there is no id.
        let none = id.is_empty() || (!text && !number);
        self.malformed |= self.too_long || (!text && none && id != b"null");
        if !none && !self.too_long {
            self.has_id = true;
            self.id.set(id);
        }
        self.end_value();
        if self.named && self.has_id { Step::Report(CallProgress::Id, count) } else { Step::Taken(count) }
    }
}

fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && !text.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
mod tests;

//! Texts with marks: how a text is written together with the marks of its parts, and how marks go from a text to what is
//! made of it.
//!
//! Everything that makes a text out of others does it with the functions here, so no other file knows pieces. In a plain
//! render no text has a mark, and the functions here only move text.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Outcome, SourcePosition};
use crate::labels::Encoding;
use crate::marks::{Mark, Piece};
use crate::run::Run;
use crate::value::types::{Text, Value};

/// All that is known of a written text.
#[derive(Default)]
pub(crate) struct BufferMarks {
    pub(crate) pieces: Vec<Piece>,
    /// What loops wrote for elements of the context.
    pub(crate) items: Vec<Piece>,
    /// Where what each statement wrote ends, and where the statement is.
    pub(crate) statements: Vec<(usize, SourcePosition)>,
}

/// A text that is being written. What is appended without a mark comes from the template.
#[derive(Default)]
pub(crate) struct Buffer {
    text: String,
    pieces: Vec<Piece>,
    /// What loops wrote for elements of the context.
    items: Vec<Piece>,
    /// Where what each statement wrote ends, and where the statement is.
    statements: Vec<(usize, SourcePosition)>,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends a text of the template.
    #[inline]
    pub(crate) fn push_str(&mut self, s: &str) {
        self.text.push_str(s);
    }

    /// Appends a character of the template.
    pub(crate) fn push(&mut self, c: char) {
        self.text.push(c);
    }

    /// Appends a character of the template `n` times.
    pub(crate) fn fill(&mut self, c: char, n: usize) {
        self.text.extend(std::iter::repeat_n(c, n));
    }

    /// Appends a text of one origin.
    #[inline]
    pub(crate) fn push_marked(&mut self, run: &Run, s: &str, mark: Mark) -> Outcome<()> {
        let start = self.text.len();
        self.text.push_str(s);
        self.mark_from(run, start, mark)
    }

    /// Appends a text with its marks.
    pub(crate) fn push_text(&mut self, run: &Run, text: &Text) -> Outcome<()> {
        let start = self.text.len();
        self.text.push_str(&text.s);
        match &text.pieces {
            None => self.mark_from(run, start, text.mark),
            Some(pieces) => self.push_pieces(run, start, pieces),
        }
    }

    /// Appends the part of `text` that `part` is; see [`Text::part`].
    pub(crate) fn push_sub(&mut self, run: &Run, text: &Text, part: &str, encoding: Option<Encoding>) -> Outcome<()> {
        if !text.is_labelled() {
            self.push_str(part);
            return Ok(());
        }
        match text.range_of(part) {
            Some(range) => self.push_part(run, text, range, encoding),
            None => {
                self.push_str(part);
                Ok(())
            }
        }
    }

    /// Appends a range of a text with its marks.
    fn push_part(&mut self, run: &Run, text: &Text, range: Range<usize>, encoding: Option<Encoding>) -> Outcome<()> {
        let start = self.text.len();
        self.text.push_str(text.s.get(range.clone()).unwrap_or(""));
        if !text.is_labelled() {
            return Ok(());
        }
        let written = self.text.len() - start;
        for (segment, mark) in text.segments() {
            let from = segment.start.saturating_sub(range.start).min(written);
            let to = segment.end.saturating_sub(range.start).min(written);
            let mark = encoding.map_or(mark, |e| run.encoded(mark, e));
            self.piece(run, start + from..start + to, mark)?;
        }
        Ok(())
    }

    /// Appends what `write` makes of each character of a text. It has the mark of the character, with one more encoding.
    /// Characters that do not begin with a `special` byte are copied.
    pub(crate) fn push_mapped(
        &mut self,
        run: &Run,
        text: &Text,
        encoding: Encoding,
        special: impl Fn(u8) -> bool,
        mut write: impl FnMut(char, &mut String),
    ) -> Outcome<()> {
        if text.pieces.is_none() {
            let start = self.text.len();
            self.map(&text.s, &special, &mut write);
            return self.mark_from(run, start, run.encoded(text.mark, encoding));
        }
        for (range, mark) in text.segments() {
            let start = self.text.len();
            self.map(text.s.get(range).unwrap_or(""), &special, &mut write);
            self.mark_from(run, start, run.encoded(mark, encoding))?;
        }
        Ok(())
    }

    fn map(&mut self, s: &str, special: impl Fn(u8) -> bool, mut write: impl FnMut(char, &mut String)) {
        let mut rest = s;
        // A byte inside of a character may look special; then the position is not a boundary, and the character is mapped.
        while let Some(at) = rest.bytes().position(&special) {
            let (plain, from) = rest.split_at_checked(at).unwrap_or(("", rest));
            self.text.push_str(plain);
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write(c, &mut self.text);
            }
            rest = chars.as_str();
        }
        self.text.push_str(rest);
    }

    /// Gives all that was written since `start` a mark. It must have none yet.
    #[inline]
    pub(crate) fn mark_from(&mut self, run: &Run, start: usize, mark: Mark) -> Outcome<()> {
        if mark.is_some() { self.piece(run, start..self.text.len(), mark) } else { Ok(()) }
    }

    fn push_pieces(&mut self, run: &Run, start: usize, pieces: &[Piece]) -> Outcome<()> {
        let Some((first, rest)) = pieces.split_first() else { return Ok(()) };
        // Only the first can continue what was written before.
        self.piece(run, start + first.start..start + first.end, first.mark)?;
        run.make_pieces(rest.len())?;
        self.pieces.extend(rest.iter().map(|piece| Piece {
            start: start + piece.start,
            end: start + piece.end,
            mark: piece.mark,
        }));
        Ok(())
    }

    fn piece(&mut self, run: &Run, range: Range<usize>, mark: Mark) -> Outcome<()> {
        if range.is_empty() || !mark.is_some() {
            return Ok(());
        }
        match self.pieces.last_mut() {
            Some(last) if last.end == range.start && last.mark == mark && run.joins(mark) => last.end = range.end,
            _ => {
                run.make_pieces(1)?;
                self.pieces.push(Piece { start: range.start, end: range.end, mark });
            }
        }
        Ok(())
    }

    /// The written text as a value.
    pub(crate) fn into_text(self, safe: bool) -> Text {
        let (mark, pieces) = match self.pieces.as_slice() {
            [] => (Mark::NONE, None),
            [one] if one.start == 0 && one.end == self.text.len() => (one.mark, None),
            _ => (Mark::NONE, Some(Rc::new(self.pieces))),
        };
        Text { s: self.text.into(), safe, mark, pieces }
    }

    /// The written text without its marks.
    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Records that a loop wrote all since `start` for the element of this mark.
    pub(crate) fn wrote_item(&mut self, run: &Run, start: usize, mark: Mark) -> Outcome<()> {
        let end = self.text.len();
        if mark.is_some() && start < end {
            run.make_pieces(1)?;
            self.items.push(Piece { start, end, mark });
        }
        Ok(())
    }

    /// Records that the statement at this position wrote all since `start`, if the render is labelled.
    pub(crate) fn wrote_statement(&mut self, run: &Run, start: usize, at: SourcePosition) -> Outcome<()> {
        let end = self.text.len();
        if run.labels() && start < end {
            run.make_pieces(1)?;
            self.statements.push((end, at));
        }
        Ok(())
    }

    /// The written text and its marks.
    pub(crate) fn into_parts(self) -> (String, BufferMarks) {
        (self.text, BufferMarks { pieces: self.pieces, items: self.items, statements: self.statements })
    }
}

impl From<Buffer> for Value {
    fn from(buffer: Buffer) -> Value {
        Value::Str(buffer.into_text(false))
    }
}

impl Text {
    /// Whether any part of this comes from a field.
    pub(crate) fn is_labelled(&self) -> bool {
        self.mark.is_some() || self.pieces.is_some()
    }

    /// The first mark in this text.
    pub(crate) fn first_mark(&self) -> Mark {
        match &self.pieces {
            Some(pieces) => pieces.first().map_or(Mark::NONE, |piece| piece.mark),
            None => self.mark,
        }
    }

    /// The mark of what is written around this text: none if a part of the text comes from the template.
    pub(crate) fn outer_mark(&self) -> Mark {
        let gap = self.pieces.is_some() && self.segments().any(|(_, mark)| !mark.is_some());
        if gap { Mark::NONE } else { self.first_mark() }
    }

    /// Records that this was tested.
    pub(crate) fn decide(&self, run: &Run) {
        match &self.pieces {
            Some(pieces) if run.labels() => pieces.iter().for_each(|piece| run.decide(piece.mark)),
            _ => run.decide(self.mark),
        }
    }

    /// The parts of this text with their marks, in order and without gaps.
    fn segments(&self) -> impl Iterator<Item = (Range<usize>, Mark)> + '_ {
        let whole = self.pieces.is_none().then(|| (0..self.s.len(), self.mark));
        let pieces = self.pieces.as_ref().map_or(&[][..], |pieces| pieces.as_slice());
        let mut at = 0;
        let marked = pieces.iter().flat_map(move |piece| {
            let gap = at..piece.start;
            at = piece.end;
            [(gap, Mark::NONE), (piece.start..piece.end, piece.mark)]
        });
        let end = pieces.last().map(|piece| (piece.end..self.s.len(), Mark::NONE));
        whole.into_iter().chain(marked).chain(end).filter(|(range, _)| !range.is_empty())
    }

    /// Where `part`, which was cut out of this text, lies in it.
    fn range_of(&self, part: &str) -> Option<Range<usize>> {
        let start = (part.as_ptr() as usize).checked_sub(self.s.as_ptr() as usize)?;
        let range = start..start.checked_add(part.len())?;
        (self.s.get(range.clone())? == part).then_some(range)
    }

    /// A part of this text. `part` must be a slice of it; any other text counts as the template's.
    pub(crate) fn part(&self, run: &Run, part: &str, encoding: Encoding) -> Outcome<Text> {
        if self.pieces.is_some() {
            let mut out = Buffer::default();
            out.push_sub(run, self, part, Some(encoding))?;
            return Ok(out.into_text(self.safe));
        }
        Ok(Text { s: part.into(), safe: self.safe, mark: run.encoded(self.mark, encoding), pieces: None })
    }

    /// What `write` makes of each character; see [`Buffer::push_mapped`].
    pub(crate) fn mapped(
        &self,
        run: &Run,
        encoding: Encoding,
        special: impl Fn(u8) -> bool,
        write: impl FnMut(char, &mut String),
    ) -> Outcome<Text> {
        let mut out = Buffer { text: String::with_capacity(self.s.len()), ..Buffer::default() };
        out.push_mapped(run, self, encoding, special, write)?;
        Ok(out.into_text(self.safe))
    }

    /// `written` with the marks of this text. It was made of this text character by character; `length` tells how many
    /// bytes each has become.
    pub(crate) fn aligned(
        &self,
        run: &Run,
        written: String,
        encoding: Encoding,
        mut length: impl FnMut(char) -> usize,
    ) -> Outcome<Text> {
        if self.pieces.is_none() {
            let mark = run.encoded(self.mark, encoding);
            return Ok(Text { s: written.into(), safe: self.safe, mark, pieces: None });
        }
        let mut out = Buffer { text: written, ..Buffer::default() };
        let mut at = 0;
        for (range, mark) in self.segments() {
            let width: usize = self.s.get(range).unwrap_or("").chars().map(&mut length).sum();
            let end = (at + width).min(out.text.len());
            out.piece(run, at..end, run.encoded(mark, encoding))?;
            at = end;
        }
        Ok(out.into_text(self.safe))
    }

    /// `written`, which was made of this text in a way that cannot be followed.
    pub(crate) fn became(&self, run: &Run, written: impl Into<Arc<str>>) -> Text {
        Text { safe: self.safe, ..Text::marked(written, run.other([self.first_mark()])) }
    }
}

impl Value {
    /// The first mark of this value: of a container its own, not those of what it holds.
    pub(crate) fn mark(&self) -> Mark {
        match self {
            Value::None(mark) | Value::Bool(_, mark) | Value::Int(_, mark) | Value::Float(_, mark) => *mark,
            Value::Str(text) => text.first_mark(),
            Value::List(list) => list.source.mark,
            Value::Dict(dict) | Value::View(_, dict) => dict.source.mark,
            _ => Mark::NONE,
        }
    }

    /// This value as the result of an operation on `operands` that cannot be followed. Only numbers, booleans and `None`
    /// are changed.
    pub(crate) fn computed_from(self, run: &Run, operands: &[&Value]) -> Value {
        if !run.labels() {
            return self;
        }
        let mark = run.other(operands.iter().map(|value| value.mark()));
        match self {
            Value::None(_) => Value::None(mark),
            Value::Bool(b, _) => Value::Bool(b, mark),
            Value::Int(i, _) => Value::Int(i, mark),
            Value::Float(f, _) => Value::Float(f, mark),
            other => other,
        }
    }

    /// Records that this value was tested.
    pub(crate) fn decide(&self, run: &Run) {
        if !run.labels() {
            return;
        }
        match self {
            Value::Str(text) => text.decide(run),
            other => run.decide(other.mark()),
        }
    }

    /// Records that this text, or each text in this list, was looked for in another value.
    pub(crate) fn sought_in(&self, run: &Run, other: &Value) {
        let seek = |text: &str| match other {
            Value::Str(hay) => hay.segments().for_each(|(_, mark)| run.seek(mark, text)),
            hay => run.seek(hay.mark(), text),
        };
        match self {
            Value::Str(text) => seek(&text.s),
            Value::Tuple(tuple) => tuple.items.iter().filter_map(Value::as_str).for_each(seek),
            Value::List(list) => list.items.borrow().iter().filter_map(Value::as_str).for_each(seek),
            _ => {}
        }
    }

    /// The truth value of this, as that of a condition.
    pub(crate) fn holds(&self, run: &Run) -> bool {
        self.decide(run);
        self.truthy()
    }
}

//! What a step of a machine works with: the buffered text, the memory of the parser, and the way out.
//!
//! The reading primitives that every program uses are here: text, a marker that must come next, a name. Those for values are
//! in `read_values.rs` and `read_object.rs`, and what a step does with its finds is in `actions.rs`. The work itself is done
//! by the parts of the memory. This file only connects them.

use super::call_builder::Written;
use super::cursor::{Found, Stretch};
use super::emitter::Sink;
use super::fast_path::FastPath;
use super::input::Input;
use super::memory::Memory;
use super::next_name::Names;
use super::search::Candidate;
use super::value_readers::Reading;
use crate::fast_paths;
use crate::limits::{MAX_SPACE, MAX_UNPARSED, PIECE};
use crate::message::{Channel, Diagnostic, DiagnosticKind, Event};
use crate::options::Options;
use crate::program::{Hole, Markers, Program, State, StateId};
use crate::readers::json::escape_bytes_into;

/// The buffered text and the way out, for the length of one push.
pub struct Io<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) options: &'a Options,
    pub(super) input: Input<'a>,
    /// The name that was read last, if it is known to be UTF-8.
    pub(super) captured: Option<&'a str>,
    pub(super) sink: &'a mut dyn FnMut(Event<'_>),
}

impl<'a> Io<'a> {
    pub(super) fn new(memory: &'a mut Memory, options: &'a Options, input: Input<'a>, sink: Sink<'a>) -> Self {
        Self { memory, options, input, captured: None, sink }
    }

    /// Reads plain text of a channel, up to one of `markers`.
    pub fn text(&mut self, channel: Channel, markers: &Markers) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        self.memory.cursor.find_lead(&self.input);
        let stretch = self.memory.cursor.until(&self.input, markers, Names::ANY);
        if stretch.from < stretch.end {
            self.deliver_refused(stretch.from);
        }
        if stretch.from < stretch.to {
            if stretch.found == Found::Wait {
                self.memory.cursor.read_text(&self.input.bytes[stretch.from..stretch.to]);
            }
            self.memory.emitter.text(channel, &self.input, stretch.from, stretch.to, self.sink);
        }
        if stretch.to < stretch.end {
            self.cut_marker(stretch.to, stretch.end);
            let emitter = &mut self.memory.emitter;
            emitter.text(Channel::Unparsed, &self.input, stretch.to, stretch.end, self.sink);
        }
        // Until text was read, a marker may come that only leads.
        if stretch.all_read
            && self.memory.cursor.search.context.in_text
            && let Some(channel) = self.memory.emitter.passes_unchanged(channel)
        {
            self.take_fast_path(|| FastPath::in_text(markers, channel));
        }
        stretch.found
    }

    /// Reads the raw text of an argument's value, up to one of `markers`. [`argument`](Self::argument) announced it.
    pub fn value(&mut self, markers: &Markers) -> Found {
        let names = Names::of(&self.options.tools, self.memory.calls.tool());
        let Some(stretch) = self.until(markers, names) else { return Found::Wait };
        if stretch.from < stretch.to {
            self.feed_tagged(stretch.from, stretch.to);
        }
        if stretch.to < stretch.end {
            self.cut_marker(stretch.to, stretch.end);
            let Memory { calls, emitter, .. } = &mut *self.memory;
            calls.keep_unparsed(&self.input.bytes[stretch.to..stretch.end], emitter, self.sink);
        }
        if stretch.all_read && self.memory.readers.reading == Reading::Tagged {
            let string_of = self.memory.calls.index().filter(|_| self.memory.readers.tagged.writes_text());
            self.take_fast_path(|| FastPath::in_raw_value(markers, string_of, Memory::read_raw_value));
        }
        stretch.found
    }

    /// The end of the output cuts off a marker.
    #[cold]
    fn cut_marker(&mut self, from: usize, to: usize) {
        let marker = String::from_utf8_lossy(self.input.bytes[from..to].trim_ascii());
        let emitter = &mut self.memory.emitter;
        let diagnostic = Diagnostic::new(DiagnosticKind::CutMarker, None, marker);
        emitter.note(Diagnostic { at: emitter.place(from), ..diagnostic }, self.sink);
    }

    /// Reads one of `markers`. White space may come before it. [`Found::Other`] if something else comes.
    pub fn expect(&mut self, markers: &Markers) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let found = self.memory.cursor.expect(&self.input, markers, false);
        if found == Found::Other && self.input.last && self.memory.cursor.ends_in_marker(self.input.bytes, markers) {
            return self.end_in_marker();
        }
        if found == Found::Other && self.input.last {
            return self.end_in_space();
        }
        found
    }

    /// If only white space is left in a call that is open, it comes before a closer that the end of the output cuts off.
    #[cold]
    fn end_in_space(&mut self) -> Found {
        let Memory { cursor, calls, .. } = &mut *self.memory;
        let rest = self.input.bytes.get(cursor.pos..).unwrap_or_default();
        let ends = calls.open.is_some() && rest.len() <= MAX_SPACE && rest.trim_ascii().is_empty();
        if ends {
            cursor.go_back(self.input.bytes.len(), self.input.bytes.len());
        }
        // A call that is not announced yet is cut off.
        if ends && calls.waits() { Found::Wait } else { Found::Other }
    }

    /// The output ends with the beginning of a marker, where only markers may come. It is broken markup, unless it is held back
    /// with what comes before it.
    #[cold]
    fn end_in_marker(&mut self) -> Found {
        let (from, to) = (self.memory.cursor.pos, self.input.bytes.len());
        if !self.memory.speculation.is_open() {
            let is_in_call = self.memory.calls.open.is_some();
            self.deliver_refused(if is_in_call { to } else { from });
            self.cut_marker(from, to);
            let Memory { cursor, calls, emitter, .. } = &mut *self.memory;
            cursor.go_back(to, to);
            cursor.cut = Some(from);
            match is_in_call {
                true => calls.keep_unparsed(&self.input.bytes[from..to], emitter, self.sink),
                false => emitter.text(Channel::Unparsed, &self.input, from, to, self.sink),
            }
        }
        Found::Wait
    }

    /// Reads one of `markers`, with no white space before it except its own layout. [`Found::Other`] if something else comes.
    pub fn expect_here(&mut self, markers: &Markers) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        self.memory.cursor.expect(&self.input, markers, true)
    }

    /// Reads a function's name, an argument's name or an id, up to one of `markers`. [`Found::Other`] if the text cannot be
    /// one.
    pub fn name(&mut self, markers: &Markers) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        // A closing tag after the name of a function: a model may have left out the opener of its first argument's name.
        let (in_call, mut ends) = (self.memory.calls.open.is_some(), markers.list().iter());
        let splits = !in_call && ends.any(|end| end.core.starts_with("</"));
        let in_tag = in_call && ends.all(|end| end.core.starts_with(['<', '>']));
        let names = match splits {
            true => Names::of_functions(&self.options.tools),
            false => Names::of(&self.options.tools, self.memory.calls.tool()),
        };
        let (found, captured) = self.memory.cursor.name(&self.input, markers, names, in_tag);
        if let Found::Marker(_) = found {
            self.captured = captured;
        }
        found
    }

    /// Takes text up to one of `markers`. `None` while more text is needed to tell where it begins.
    #[inline]
    pub(super) fn until(&mut self, markers: &Markers, names: Names<'_>) -> Option<Stretch> {
        self.skip_layout().then(|| self.memory.cursor.until(&self.input, markers, names))
    }

    /// Takes white space that belongs to the last marker. `false` while more text is needed.
    #[inline]
    fn skip_layout(&mut self) -> bool {
        self.memory.cursor.layout.is_empty() || self.skip_more_layout()
    }

    #[inline(never)]
    fn skip_more_layout(&mut self) -> bool {
        let Memory { cursor, emitter, .. } = &mut *self.memory;
        let from = cursor.pos;
        let taken = cursor.take_layout(&self.input);
        emitter.layout_taken(&self.input.bytes[from..from + taken]);
        cursor.layout.is_empty()
    }

    /// Gives raw text of the argument that is being read to its reader.
    fn feed_tagged(&mut self, from: usize, to: usize) {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        cursor.search.work.add(to - from);
        if readers.reading != Reading::Tagged {
            return;
        }
        let value = &mut readers.tagged;
        let mut from = from;
        while from < to {
            // Piece by piece, so that little is kept however long the value is.
            let end = match self.input.text {
                Some(text) if to - from > PIECE => {
                    (from + PIECE..to).find(|&at| text.is_char_boundary(at)).unwrap_or(to)
                }
                _ => to,
            };
            value.begin(&mut emitter.arguments);
            match self.input.text.filter(|_| value.writes_text()).and_then(|text| text.get(from..end)) {
                Some(text) => escape_bytes_into(text.as_bytes(), &mut emitter.arguments),
                None => value.feed(&self.input.bytes[from..end], &mut emitter.arguments),
            }
            calls.wrote(Written::Members, emitter, self.sink);
            from = end;
        }
    }

    /// The next piece may take this fast path, unless text is held back or no more text comes.
    pub(super) fn take_fast_path(&mut self, path: impl FnOnce() -> Option<FastPath<Memory>>) {
        // Where a cut call is not kept as it is, all that a call sends is looked at.
        let is_plain = self.options.hold.is_none() || self.memory.calls.open.is_none();
        if is_plain
            && !self.memory.speculation.is_open()
            && !self.input.last
            && let Some(path) = fast_paths::attempt(path)
        {
            self.memory.fast_path = path;
        }
    }

    /// The text does not fit: text that was held back becomes plain text, unless it is a broken call. Returns the state that
    /// continues; `None` if nothing was held back. `state` is the one in which the text does not fit.
    pub(super) fn abandon_speculation(&mut self, program: &Program, state: StateId) -> Option<StateId> {
        let broken = self.is_broken_markup(program, state);
        let Memory { cursor, speculation, calls, readers, .. } = &mut *self.memory;
        let state = match closing(program).filter(|_| broken) {
            Some(unparsed) => {
                // The closer is looked for after the last marker that did fit.
                cursor.go_back(cursor.marker_end, cursor.marker_end);
                unparsed
            }
            None => speculation.release(cursor)?,
        };
        readers.reading = Reading::Nothing;
        self.captured = None;
        calls.id.clear();
        Some(state)
    }

    /// The text does not fit, and nothing was held back. An open call is over; up to its closer, what follows is broken markup.
    /// Returns the state that continues.
    pub(super) fn break_off_call(&mut self, program: &Program) -> StateId {
        let unparsed = closing(program).filter(|_| self.memory.calls.open.is_some());
        self.end_call_incomplete();
        if unparsed.is_some() {
            self.speculate_here(program.content);
        }
        unparsed.unwrap_or(program.content)
    }

    /// Whether the held text is a broken call and not prose. Notes what was expected if it is.
    fn is_broken_markup(&mut self, program: &Program, state: StateId) -> bool {
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        let in_answer = speculation.state() == Some(program.content);
        let broken = closing(program).is_some() && in_answer && speculation.mark_broken(self.input.bytes, cursor);
        if broken {
            speculation.expected = program.state(state).map(State::expected).unwrap_or_default();
        }
        broken
    }

    /// Whether the held text is the beginning of a closer, and nothing but a closer may come here.
    fn ends_inside_closer(&self, program: &Program, state: StateId) -> bool {
        let Memory { speculation, .. } = &*self.memory;
        let markers = program.state(state).filter(|state| state.hole == Some(Hole::Text(Channel::Unparsed)));
        let Some((markers, start)) = markers.zip(speculation.start()) else { return false };
        let text = self.input.bytes[start..].trim_ascii();
        !text.is_empty() && markers.markers.list().iter().any(|marker| marker.core.as_bytes().starts_with(text))
    }

    /// Whether the output ends in a call, before its name or within it: all that follows the opening tag fits. If nothing follows
    /// a tag, or a word with which no name of an offered function begins, it may be prose, unless the tag begins a line.
    fn is_cut_call(&self, program: &Program, state: StateId) -> bool {
        let Memory { cursor, speculation, emitter, .. } = &*self.memory;
        let begins_line = matches!(emitter.last, b'\n' | 0);
        let name = program.state(state).filter(|state| state.hole == Some(Hole::Name));
        let word = self.input.bytes[cursor.pos..].trim_ascii();
        let begins = |name: &str, markers| match word.strip_prefix(name.as_bytes()) {
            // The end may cut off the marker after the name, too.
            Some(rest) => cursor.is_cut(rest, markers),
            None => name.as_bytes().starts_with(word),
        };
        let may_be_words =
            name.is_some_and(|state| !self.options.tools.iter().any(|tool| begins(&tool.name, &state.markers)));
        let start = speculation.start().and_then(|start| emitter.place(start));
        program.unparsed.is_some()
            && (speculation.is_cut_call(self.input.bytes, begins_line, may_be_words)
                || speculation.is_next_call(self.input.bytes, start))
    }

    /// At the end of the output: settles held text as broken markup if it is not prose. Returns whether it did.
    pub(super) fn settle_as_broken(&mut self, program: &Program, state: StateId) -> bool {
        let broken = self.is_broken_markup(program, state)
            || self.ends_inside_closer(program, state)
            || self.is_cut_call(program, state);
        if broken {
            self.end_unparsed();
        }
        broken
    }

    /// Settles held text as broken markup if it is a tag that opens a call, and only white space follows it. Returns whether it did.
    pub(super) fn end_in_opener(&mut self, program: &Program, state: StateId) -> bool {
        let speculation = &self.memory.speculation;
        let may_open = speculation.state() == Some(program.content) || self.options.may_end_reasoning();
        let ends = may_open && speculation.ends_in_opener(self.input.bytes) && self.is_cut_call(program, state);
        if ends {
            self.end_unparsed();
        }
        ends
    }

    /// Settles all held text as broken markup.
    fn end_unparsed(&mut self) {
        self.memory.cursor.go_back(self.input.bytes.len(), self.input.bytes.len());
        self.unparsed();
    }

    /// Reads a broken call up to one of `markers`, which may close it. All of it is held back. [`Found::Other`] if it gets too
    /// long for that.
    pub fn broken_call(&mut self, markers: &Markers) -> Found {
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        let Some(limit) = speculation.start().map(|start| start + MAX_UNPARSED) else { return Found::Other };
        // Text after the limit is not looked at, so that the result does not depend on how much of it is buffered.
        let is_long = self.input.bytes.len() > limit;
        let text = if is_long { &self.input.bytes[..limit] } else { self.input.bytes };
        cursor.search.from = cursor.search.from.max(cursor.pos);
        match cursor.search.find(text, markers, Names::ANY, self.input.last && !is_long) {
            Candidate::Full { index, at } => {
                cursor.take(&markers.list()[index], at, at);
                Found::Marker(index)
            }
            _ if is_long => {
                cursor.search.restart(limit);
                Found::Other
            }
            _ => Found::Wait,
        }
    }

    /// Sends arguments that were written and not sent yet.
    #[inline]
    pub(super) fn flush(&mut self) {
        self.memory.emitter.flush(self.sink);
    }

    /// Delivers text of a call that was ruled out, up to where the buffered text is settled, or to the end of the turn.
    pub(super) fn flush_refused(&mut self) {
        let to = if self.input.last { self.input.bytes.len() } else { self.memory.settled() };
        let Memory { cursor, calls, emitter, .. } = &mut *self.memory;
        calls.announce_long(to, emitter, self.sink);
        let refusal = &mut calls.refusal;
        if refusal.is_open() {
            let more = !self.input.last;
            match cursor.turn_end {
                Some(end) => refusal.deliver_turn(&self.input, (end, to), more, emitter, self.sink),
                None => refusal.deliver(&self.input, to, more, emitter, self.sink),
            }
        }
    }

    /// Reports what is wrong with the request, at the end of its output.
    pub(super) fn note_request(&mut self, program: &Program) {
        let emitter = &mut self.memory.emitter;
        if !self.options.tools.is_empty() && program.unparsed.is_none() {
            emitter.note(Diagnostic::new(DiagnosticKind::NoCallsInFormat, None, ""), self.sink);
        }
        for name in self.options.tools.repeated() {
            emitter.note(Diagnostic::new(DiagnosticKind::RepeatedTool, None, name), self.sink);
        }
    }

    /// The output ends within a call, if one is open.
    pub(super) fn cut_off(&mut self) {
        let Memory { calls, emitter, .. } = &mut *self.memory;
        calls.cut_off(emitter, self.sink);
    }

    /// Ends everything that is open where the output ends.
    pub(super) fn settle(&mut self) {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        if readers.reading == Reading::Tagged
            && let Some(abort) = readers.abort
        {
            let invalid = abort(readers, &mut emitter.arguments);
            calls.wrote(Written::Members, emitter, self.sink);
            if invalid {
                emitter.note_invalid_utf8(self.sink);
            }
        }
        readers.reading = Reading::Nothing;
        if calls.open.is_some() {
            // A part of the call that was not complete.
            let rest = self.input.bytes.get(cursor.pos..).unwrap_or_default();
            calls.keep_unparsed(rest, emitter, self.sink);
            cursor.pos += rest.len();
        }
        calls.close(false, cursor.pos, emitter, self.sink);
        self.flush_refused();
        self.memory.emitter.finish(self.sink);
    }
}

/// The state that looks for the closer of a broken call; `None` if nothing closes one.
fn closing(program: &Program) -> Option<StateId> {
    let has_closers = |id: &StateId| program.state(*id).is_some_and(|state| !state.markers.list().is_empty());
    program.unparsed.filter(has_closers)
}

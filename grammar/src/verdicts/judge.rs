//! Judges one JSON value while it is read.
//!
//! Each open value has a frame with the alternatives that it may still fit. An alternative that a piece rules out falls. If
//! a node has no alternative left, then those alternatives of the value around it fall that need the node, and so on. If
//! nothing is left of the outermost value, no continuation fits, and that is a violation. After it, the value that does not
//! fit counts as fitting, so that the rest is judged as if it had been right.

use std::sync::Arc;

use unjinja_runtime::literals::{Lexer, Start, Stop, Token};
use unjinja_runtime::schema::extend_pointer;

use crate::schema::{ALTERNATIVES, ANYTHING, NodeId, Table};

use super::check;
use super::frame::{Frame, Thread};
use super::reason::{self, Violation};
use super::scalar::Scalar;

/// The maximum length of a name that is kept, in bytes, unless the schema declares longer ones.
const NAME: usize = 256;

/// The maximum depth of arrays and objects. What is deeper is not judged.
const DEPTH: usize = 512;

/// A judge of one JSON value.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    lexer: Lexer,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    table: Arc<Table>,
    /// The frames of open values, and after them frames that may be used again.
    frames: Vec<Frame>,
    depth: usize,
    scalar: Scalar,
    /// Whether some alternative depends on the scalar's text.
    listens: bool,
    /// Whether a name is being read.
    in_name: bool,
    found: Vec<Violation>,
    /// How many more violations are reported.
    left: usize,
    /// Whether the value is not judged any more.
    over: bool,
}

impl Judge {
    /// A judge that reports at most `most` violations.
    pub(super) fn new(table: Arc<Table>, most: usize) -> Self {
        let state = State {
            table,
            frames: Vec::new(),
            depth: 0,
            scalar: Scalar::default(),
            listens: false,
            in_name: false,
            found: Vec::new(),
            left: most,
            over: most == 0,
        };
        Self { lexer: Lexer::new(DEPTH), state }
    }

    /// Reads more of the text. Returns what became certain.
    pub(super) fn read(&mut self, text: &str) -> Vec<Violation> {
        let Self { lexer, state } = self;
        if !state.over {
            let result = lexer.read(text, |token| state.take(token));
            state.stop(result);
        }
        std::mem::take(&mut state.found)
    }

    /// The text is complete. No text at all counts as an empty object.
    pub(super) fn finish(&mut self) -> Vec<Violation> {
        let mut found = if self.lexer.is_empty() { self.read("{}") } else { Vec::new() };
        let Self { lexer, state } = self;
        if !state.over {
            let result = lexer.finish(|token| state.take(token));
            state.stop(result);
        }
        found.append(&mut state.found);
        found
    }
}

impl State {
    fn stop(&mut self, result: Result<(), Stop>) {
        self.over |= result.is_err();
        if let Err(Stop::Malformed { expected, found }) = result
            && self.left > 0
        {
            let path = self.path(!self.in_name);
            self.report(reason::malformed(path, expected, found.map(|(_, found)| found)));
        }
    }

    fn report(&mut self, violation: Violation) {
        self.found.push(violation);
        self.left = self.left.saturating_sub(1);
        self.over |= self.left == 0;
    }

    /// Takes a token. `false` if no more are wanted.
    fn take(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::Begin(start) => self.begin(start),
            Token::Name => self.begin_name(),
            Token::Text(text) if self.in_name => self.name(text),
            Token::Text(text) => {
                if self.listens {
                    for character in text.chars() {
                        self.character(character);
                    }
                }
            }
            Token::Escaped(character) if self.in_name => self.name(character.encode_utf8(&mut [0; 4])),
            Token::Escaped(character) => self.character(character),
            Token::Number(byte) => self.digit(byte),
            Token::NameEnd => self.end_name(),
            Token::End => self.end(),
        }
        !self.over
    }

    fn begin(&mut self, start: Start) {
        let item = self.depth > 0 && self.begin_member();
        let parent = self.depth.checked_sub(1);
        if self.frames.len() == self.depth {
            self.frames.push(Frame::new());
        }
        let (lower, upper) = self.frames.split_at_mut(self.depth);
        let Some(frame) = upper.first_mut() else { return };
        frame.open(start, self.table.required.len());
        self.depth += 1;
        self.scalar.clear();
        self.listens = false;
        match parent.and_then(|parent| lower.get(parent)) {
            None => _ = frame.slot(self.table.root),
            Some(parent) if parent.skipped || parent.skips_member => return frame.skip(),
            Some(parent) if item => {
                for (at, thread) in parent.threads.iter().enumerate().filter(|(_, thread)| thread.live) {
                    let slot = frame.slot(check::item(alternative(&self.table, parent, thread), parent.count - 1));
                    frame.links.push((at, slot));
                    for (place, &node) in check::contains(alternative(&self.table, parent, thread)).enumerate() {
                        let slot = frame.slot(node);
                        frame.witnesses.push((at, place, slot));
                    }
                }
            }
            Some(parent) => {
                for &(at, node) in parent.demands.iter().filter(|(at, _)| parent.threads[*at].live) {
                    let slot = frame.slot(node);
                    frame.links.push((at, slot));
                }
            }
        }
        let constrained = frame.slots.iter().any(|slot| !self.table.is_anything(slot.node));
        let threads: usize = frame.slots.iter().map(|slot| self.table.alternatives(slot.node).len()).sum();
        if !constrained || threads > ALTERNATIVES {
            return frame.skip();
        }
        for (slot, node) in frame.slots.iter().map(|slot| slot.node).enumerate() {
            for (at, alternative) in self.table.alternatives(node).iter().enumerate() {
                frame.threads.push(check::thread(slot, at, alternative, start));
            }
        }
        self.settle(|table, frame, thread, _| check::begins(alternative(table, frame, thread), frame.start));
        if let Some(frame) = self.frames.get(self.depth - 1) {
            let mut live = frame.threads.iter().filter(|thread| thread.live);
            self.listens = live.any(|thread| check::listens(alternative(&self.table, frame, thread), start));
        }
    }

    /// Counts an item, if the value around it is an array.
    fn begin_member(&mut self) -> bool {
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return false };
        if frame.start != Start::Array {
            return false;
        }
        frame.count += 1;
        if !frame.skipped {
            self.settle(|table, frame, thread, _| check::counted(table, alternative(table, frame, thread), frame));
        }
        true
    }

    fn begin_name(&mut self) {
        self.in_name = true;
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        frame.begin_name();
        frame.count += 1;
        if !frame.skipped {
            self.settle(|table, frame, thread, _| check::counted(table, alternative(table, frame, thread), frame));
        }
    }

    fn name(&mut self, text: &str) {
        let most = self.table.longest.max(NAME);
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        for character in text.chars() {
            if frame.name_cut {
                return;
            }
            frame.name_cut = frame.name.len() + character.len_utf8() > most;
            if !frame.name_cut {
                frame.name.push(character);
            }
        }
    }

    fn end_name(&mut self) {
        self.in_name = false;
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        if frame.skipped {
            return;
        }
        if let Some(&name) = self.table.required.get(&frame.name)
            && !frame.name_cut
        {
            frame.see(name);
        }
        let mut demands = std::mem::take(&mut frame.demands);
        let frame = &self.frames[self.depth - 1];
        for (at, thread) in frame.threads.iter().enumerate().filter(|(_, thread)| thread.live) {
            let name = (!frame.name_cut).then_some(frame.name.as_str());
            check::member(&self.table, alternative(&self.table, frame, thread), name, |node| demands.push((at, node)));
        }
        let certain = self.settle_named(&demands);
        let frame = &mut self.frames[self.depth - 1];
        frame.skips_member = certain;
        frame.demands = demands;
    }

    /// Rules out the alternatives that do not allow the member. `true` if none does.
    fn settle_named(&mut self, demands: &[(usize, NodeId)]) -> bool {
        let frame = &mut self.frames[self.depth - 1];
        let mut demanded = demands.iter().map(|&(at, _)| at).peekable();
        for (at, thread) in frame.threads.iter_mut().enumerate() {
            while demanded.next_if(|&demanded| demanded < at).is_some() {}
            thread.dying = thread.live && demanded.peek() != Some(&at);
        }
        if !self.fall() {
            return false;
        }
        let path = self.path(true);
        let frame = &self.frames[self.depth - 1];
        let violation = reason::unknown_member(&self.table, frame, path);
        self.revive();
        self.report(violation);
        true
    }

    fn character(&mut self, character: char) {
        self.scalar.show(character);
        if !self.listens {
            return;
        }
        self.scalar.characters += 1;
        let from = self.scalar.bytes;
        self.scalar.bytes += character.len_utf8();
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        let mut any = false;
        for thread in frame.threads.iter_mut().filter(|thread| thread.live) {
            let alternative = &self.table.alternatives(frame.slots[thread.slot].node)[thread.alternative];
            check::read(alternative, thread, character, from);
            thread.dying = !check::may_be(alternative, thread, &self.scalar);
            any |= thread.dying;
        }
        if any {
            self.certain(false);
        }
    }

    fn digit(&mut self, byte: u8) {
        self.scalar.number.push(byte);
        self.scalar.show(char::from(byte));
        if !self.listens {
            return;
        }
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        let mut any = false;
        for thread in frame.threads.iter_mut().filter(|thread| thread.live) {
            let alternative = &self.table.alternatives(frame.slots[thread.slot].node)[thread.alternative];
            check::count(alternative, thread, &self.scalar.number);
            thread.dying = !check::may_become(alternative, thread, &self.scalar.number);
            any |= thread.dying;
        }
        if any {
            self.certain(false);
        }
    }

    fn end(&mut self) {
        let Some(frame) = self.frames.get(self.depth - 1) else { return };
        if !frame.skipped {
            self.settle(|table, frame, thread, scalar| {
                check::is(alternative(table, frame, thread), frame, thread, scalar)
            });
        }
        self.depth -= 1;
        self.listens = false;
        let (lower, upper) = self.frames.split_at_mut(self.depth);
        if let (Some(parent), Some(frame)) = (lower.last_mut(), upper.first()) {
            for &(at, place, slot) in &frame.witnesses {
                let fits = frame.skipped
                    || self.table.is_anything(frame.slots[slot].node)
                    || frame.threads.iter().any(|thread| thread.live && thread.slot == slot);
                if let Some(count) = parent.threads.get_mut(at).and_then(|thread| thread.contained.get_mut(place)) {
                    *count = count.saturating_add(u32::from(fits));
                }
            }
        }
    }

    /// Rules out the alternatives of the innermost value that do not meet a condition.
    fn settle(&mut self, fits: impl Fn(&Table, &Frame, &Thread, &Scalar) -> bool) {
        let Some(frame) = self.frames.get_mut(self.depth - 1) else { return };
        let mut any = false;
        for at in 0..frame.threads.len() {
            let dying = frame.threads[at].live && !fits(&self.table, frame, &frame.threads[at], &self.scalar);
            frame.threads[at].dying = dying;
            any |= dying;
        }
        // A node that no value fits has no alternative to rule out.
        if any || frame.slots.iter().any(|slot| self.table.is_nothing(slot.node)) {
            self.certain(true);
        }
    }

    /// Lets alternatives fall that were ruled out. If nothing is left, reports that, and judges nothing more of the innermost
    /// value. `complete` says whether the value's text is known as far as it matters.
    fn certain(&mut self, complete: bool) {
        if !self.fall() {
            return;
        }
        let path = self.path(false);
        let frame = &self.frames[self.depth - 1];
        let violation = reason::violation(&self.table, frame, &self.scalar, complete, path);
        self.revive();
        if let Some(frame) = self.frames.get_mut(self.depth - 1) {
            frame.skip();
        }
        self.listens = false;
        self.report(violation);
    }

    /// Lets the alternatives fall that are dying, and what needs them. `true` if nothing would be left; then all are still
    /// marked.
    fn fall(&mut self) -> bool {
        let top = self.depth - 1;
        let mut level = top;
        loop {
            let (lower, upper) = self.frames.split_at_mut(level);
            let Some(frame) = upper.first_mut() else { break };
            for slot in &mut frame.slots {
                slot.live = self.table.is_anything(slot.node);
            }
            for thread in frame.threads.iter().filter(|thread| thread.live && !thread.dying) {
                frame.slots[thread.slot].live = true;
            }
            let Some(parent) = lower.last_mut() else {
                if frame.slots.iter().any(|slot| slot.live) {
                    break;
                }
                return true;
            };
            for &(at, _) in &frame.links {
                parent.threads[at].dying = true;
            }
            for &(at, _) in frame.links.iter().filter(|(_, slot)| frame.slots[*slot].live) {
                parent.threads[at].dying = false;
            }
            if !frame.links.iter().any(|&(at, _)| parent.threads[at].live && parent.threads[at].dying) {
                break;
            }
            level -= 1;
        }
        for frame in &mut self.frames[level..=top] {
            for thread in frame.threads.iter_mut().filter(|thread| thread.dying) {
                (thread.live, thread.dying) = (false, false);
            }
        }
        // What the last step marked had fallen before.
        if let Some(above) = level.checked_sub(1) {
            self.frames[above].threads.iter_mut().for_each(|thread| thread.dying = false);
        }
        false
    }

    /// Takes back that alternatives were ruled out.
    fn revive(&mut self) {
        for thread in self.frames[..self.depth].iter_mut().flat_map(|frame| &mut frame.threads) {
            thread.dying = false;
        }
    }

    /// The JSON pointer of the innermost value, or of its member that is being read.
    fn path(&self, with_member: bool) -> String {
        let mut path = String::new();
        let last = if with_member { self.depth } else { self.depth.saturating_sub(1) };
        for frame in &self.frames[..last] {
            match frame.start {
                Start::Array if frame.count > 0 => path.push_str(&format!("/{}", frame.count - 1)),
                Start::Object if frame.count > 0 => {
                    extend_pointer(&mut path, &frame.name);
                    if frame.name_cut {
                        path.push('…');
                    }
                }
                _ => {}
            }
        }
        path
    }
}

/// The alternative of a thread.
fn alternative<'t>(table: &'t Table, frame: &Frame, thread: &Thread) -> &'t crate::schema::Alternative {
    let node: NodeId = frame.slots.get(thread.slot).map_or(ANYTHING, |slot| slot.node);
    &table.alternatives(node)[thread.alternative]
}

//! One turn in the middle of its text: takes steps with a machine until more text is needed. A call that opens in reasoning is
//! tried first: another run reads it, and what it says afterwards decides whether the call counts.
//!
//! It must not look at the text.

use super::entry::enter;
use super::input::{Chunk, Input};
use super::io::Io;
use super::machine::{Flow, Machine};
use super::memory::Memory;
use super::quotation::{Evidence, Verdict, Watch};
use super::special_tokens::SpecialTokens;
use crate::limits::{MAX_QUOTED, TRIAL_PIECE};
use crate::message::{Channel, Event};
use crate::options::{Hold, Options};
use crate::program::StateId;

/// The state of a machine in the middle of a turn.
pub(super) struct Run {
    pub(super) memory: Memory,
    pub(super) state: StateId,
    /// What of a call waits for its end, where a cut call is not kept as it is.
    held: Option<Box<dyn Hold>>,
    /// A call in reasoning of which it is not certain yet whether it counts.
    trial: Option<Box<CallTrial>>,
}

impl Run {
    fn new(options: &Options, state: StateId) -> Self {
        Self { memory: Memory::new(options), state, held: None, trial: None }
    }

    /// The state in which the model's output begins. The part of the turn that the prompt already wrote is appended to
    /// `written`; it has to be read first.
    pub(super) fn begin(machine: &dyn Machine, options: &Options, written: &mut Vec<u8>) -> Self {
        let program = machine.program();
        let mut run =
            Self { state: program.start, held: options.hold.map(|make| make()), ..Self::new(options, program.start) };
        let (entry, rest) = enter(program, options);
        let mut read = "";
        if let Some(entry) = entry {
            if entry.channel == Channel::Reasoning && !options.extract_reasoning {
                let opener = entry.text.strip_prefix(&*program.info.assistant_start).unwrap_or(&entry.text);
                run.memory.emitter.keep_opener(opener.as_bytes());
            }
            (run.state, read) = (entry.state, &entry.read);
        }
        written.reserve(read.len() + rest.len() + options.continue_from.len());
        for text in [read, rest, &options.continue_from] {
            written.extend_from_slice(text.as_bytes());
        }
        run.memory.emitter.base = -(written.len() as i64);
        run.memory.emitter.begun = read.len();
        if let Some(texts) = &options.special_tokens {
            let mut tokens = SpecialTokens::new(texts);
            // The prompt is trusted.
            tokens.add(0, written.len());
            run.memory.cursor.search.context.tokens = Some(Box::new(tokens));
        }
        run
    }

    /// Runs the machine over the buffered text. Returns how many bytes are settled.
    pub(super) fn go(
        &mut self,
        machine: &dyn Machine,
        options: &Options,
        text: Chunk<'_>,
        last: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> usize {
        let Some(mut held) = self.held.take() else { return self.advance(machine, options, text, last, sink) };
        let settled = self.advance(machine, options, text, last, &mut |event| held.pass(event, sink));
        self.held = Some(held);
        settled
    }

    fn advance(
        &mut self,
        machine: &dyn Machine,
        options: &Options,
        text: Chunk<'_>,
        last: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> usize {
        let Self { memory, trial, .. } = self;
        memory.fast_path.clear();
        let mut io = Io::new(memory, options, Input::new(text, last), sink);
        let mut state = self.state;
        if trial.is_none() || weigh(trial, machine, &mut io, &mut state) {
            loop {
                match machine.step(state, &mut io) {
                    Flow::Go(next) => state = next,
                    Flow::Mismatch if io.is_call_in_doubt() => {
                        if !weigh(trial, machine, &mut io, &mut state) {
                            break;
                        }
                    }
                    // Only white space follows the tag that opens a call.
                    Flow::Mismatch if last && io.end_in_opener(machine.program(), state) => {
                        state = machine.program().content
                    }
                    Flow::Mismatch => match io.abandon_speculation(machine.program(), state) {
                        Some(next) => state = next,
                        None => state = io.break_off_call(machine.program()),
                    },
                    Flow::Wait if !last => break,
                    Flow::Wait => {
                        if io.settle_as_broken(machine.program(), state) {
                            state = machine.program().content;
                        }
                        if let Some(next) = io.abandon_speculation(machine.program(), state) {
                            state = next;
                            continue;
                        }
                        io.cut_off();
                        machine.end(state, &mut io);
                        io.settle();
                        io.note_request(machine.program());
                        break;
                    }
                }
            }
        }
        io.flush();
        io.flush_refused();
        self.state = state;
        let settled = self.memory.settled();
        if !last {
            self.memory.rebase(settled);
            // The fast path for pieces does not move the places of special tokens.
            if self.memory.cursor.search.context.tokens.as_ref().is_some_and(|tokens| !tokens.is_empty()) {
                self.memory.fast_path.clear();
            }
        }
        settled
    }
}

/// The first piece that a trial takes, in bytes. Most of what is no call shows early.
const LEAST_PIECE: usize = 24;

/// A run that reads a call in reasoning, and what follows it, without a message. Offsets count from where the call begins.
struct CallTrial {
    run: Run,
    options: Options,
    watch: Watch,
    /// Up to where it has settled the text.
    settled: usize,
    /// Up to where it was given the text.
    given: usize,
}

impl CallTrial {
    fn new(options: &Options, state: StateId) -> Self {
        let options = options.of_trial();
        let mut run = Run::new(&options, state);
        run.memory.speculation.trust_calls();
        Self { run, options, watch: Watch::default(), settled: 0, given: 0 }
    }

    /// Reads on, up to the end of the text. `None` while more text is needed to tell. It takes small pieces, so that it looks
    /// at little that comes after the answer.
    fn read(
        &mut self,
        machine: &dyn Machine,
        text: &[u8],
        last: bool,
        tokens: Option<SpecialTokens>,
    ) -> Option<Verdict> {
        let over = last && text.len() <= MAX_QUOTED;
        let text = text.get(..MAX_QUOTED).unwrap_or(text);
        loop {
            let end = text.len().min(self.given + TRIAL_PIECE.min(self.given.max(LEAST_PIECE)));
            let (piece, is_last) = (&text[self.settled..end], over && end == text.len());
            self.run.memory.cursor.search.context.tokens = tokens.clone().map(|mut tokens| {
                tokens.rebase(self.settled);
                Box::new(tokens)
            });
            let Self { run, options, watch, .. } = self;
            let chunk = Chunk::Bytes(piece);
            let settled = run.advance(machine, options, chunk, is_last, &mut |event| watch.see(&event));
            (self.settled, self.given) = (self.settled + settled, end);
            let known = &self.run.memory.speculation;
            match self.watch.evidence(known.calls_before_closer()) {
                Some(Evidence::Counts) => return Some(Verdict::Counts),
                Some(Evidence::Quoted(calls)) => return Some(Verdict::Quoted(known.end_of(calls))),
                None => {}
            }
            if end == text.len() {
                return (over || end == MAX_QUOTED).then_some(Verdict::Counts);
            }
        }
    }
}

/// Decides whether the call that was found in reasoning counts, and continues with it or with what follows it. Returns `false`
/// while more text is needed.
#[cold]
fn weigh(trial: &mut Option<Box<CallTrial>>, machine: &dyn Machine, io: &mut Io<'_>, state: &mut StateId) -> bool {
    let Some((start, here)) = io.call_in_doubt() else { return true };
    let verdict = if machine.program().may_quote(here) {
        let now = trial.get_or_insert_with(|| Box::new(CallTrial::new(io.options, here)));
        let before = now.given;
        let verdict = now.read(machine, &io.input.bytes[start..], io.input.last, io.tokens_from(start));
        io.memory.cursor.search.work.add(now.given - before);
        verdict
    } else {
        Some(Verdict::Counts)
    };
    let Some(verdict) = verdict else { return false };
    *trial = None;
    *state = here;
    io.settle_doubt(verdict);
    true
}

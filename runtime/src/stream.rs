//! The streaming parser: feeds a machine with the text that arrives, keeps what is not settled, and ends.
//! Batch parsing is one push and a finish.

use crate::event::{Channel, Event};
use crate::grammar::{Grammar, GrammarError, GrammarOptions};
use crate::io::{Io, Memory};
use crate::machine::{Entry, Facts, Flow, Machine, State};
use crate::message::Message;
use crate::options::Options;
use crate::tools::Tools;

/// A parser in the middle of a turn.
///
/// Whatever the cutting of the text, the events add up to the same message, and none is ever taken back.
pub struct Stream<M> {
    machine: M,
    options: Options,
    memory: Memory,
    state: State,
    /// Text that is not settled yet; its start is where the offsets in `memory` count from.
    carry: Vec<u8>,
    finished: bool,
}

impl<M: Machine> Stream<M> {
    /// A parser for one turn. What `options` says that the prompt already wrote beyond the generation prompt is part
    /// of the message: its events come with the first push.
    pub fn new(machine: M, options: &Options) -> Self {
        let mut stream = Self {
            state: machine.start(),
            machine,
            options: options.clone(),
            memory: Memory::new(options.clone()),
            carry: Vec::new(),
            finished: false,
        };
        stream.begin();
        stream
    }

    fn begin(&mut self) {
        let facts = self.machine.facts();
        let (entry, rest) = enter(facts, self.machine.entries(), &self.options);
        self.state = self.machine.start();
        if let Some(entry) = entry {
            self.state = entry.state;
            if entry.channel == Channel::Reasoning && !self.options.extract_reasoning {
                let opener = entry.text.strip_prefix(facts.assistant_start).unwrap_or(entry.text);
                self.memory.reasoning_opened(opener);
            }
        }
        self.carry.extend_from_slice(entry.map_or("", |entry| entry.read).as_bytes());
        self.carry.extend_from_slice(rest.as_bytes());
        self.carry.extend_from_slice(self.options.continue_from.as_bytes());
    }

    /// More of the model's output, cut anywhere, also inside a character.
    pub fn push(&mut self, text: impl AsRef<[u8]>, mut sink: impl FnMut(Event<'_>)) {
        self.push_bytes(text.as_ref(), &mut sink);
    }

    fn push_bytes(&mut self, text: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        if self.finished {
            self.reset();
        }
        if self.carry.is_empty() {
            let settled = self.run(text, false, sink);
            self.carry.extend_from_slice(&text[settled..]);
        } else {
            let mut carry = std::mem::take(&mut self.carry);
            carry.extend_from_slice(text);
            let settled = self.run(&carry, false, sink);
            carry.drain(..settled);
            self.carry = carry;
        }
    }

    /// The output is over: settles everything that was held back. A later push begins a new turn.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        self.finish_bytes(&[], &mut sink);
    }

    fn finish_bytes(&mut self, text: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        if self.finished {
            return;
        }
        let mut carry = std::mem::take(&mut self.carry);
        if carry.is_empty() {
            self.run(text, true, sink);
        } else {
            carry.extend_from_slice(text);
            self.run(&carry, true, sink);
        }
        carry.clear();
        self.carry = carry;
        self.finished = true;
    }

    /// Makes the parser new, for another turn with the same options, and hands back the bytes that were pushed but
    /// not yet settled.
    pub fn reset(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.carry);
        self.memory = Memory::new(self.options.clone());
        self.finished = false;
        self.begin();
        rest
    }

    /// Runs the machine over `text`; returns how many bytes are settled.
    fn run(&mut self, text: &[u8], last: bool, sink: &mut dyn FnMut(Event<'_>)) -> usize {
        let mut io = Io { memory: &mut self.memory, text, last, sink };
        let mut state = self.state;
        loop {
            match self.machine.step(state, &mut io) {
                Flow::Go(next) => state = next,
                Flow::Misfit => match io.recover() {
                    Some(next) => state = next,
                    None => {
                        io.end_call_incomplete();
                        state = self.machine.plain();
                    }
                },
                Flow::Wait if !last => break,
                Flow::Wait => {
                    if io.holding()
                        && let Some(next) = io.recover()
                    {
                        state = next;
                        continue;
                    }
                    self.machine.end(state, &mut io);
                    io.settle();
                    break;
                }
            }
        }
        self.state = state;
        let settled = self.memory.settled();
        if !last {
            self.memory.rebase(settled);
        }
        settled
    }
}

/// Where the model's output begins, and what of the prompt's text is already part of the message.
pub(crate) fn enter<'e, 'o>(facts: Facts<'e>, entries: &'e [Entry<'e>], options: &'o Options) -> (Option<&'e Entry<'e>>, &'o str) {
    let Some(prompt) = options.generation_prompt.as_deref() else {
        let wanted = entries.iter().find(|e| e.thinking == options.thinking);
        let wanted = wanted.or_else(|| entries.iter().find(|e| e.thinking.is_none()));
        return (wanted.or(entries.first()), "");
    };
    // The assistant's turn begins with the last marker that opens one; a turn of several messages is given as it is.
    let turn = match prompt.rfind(facts.assistant_start) {
        _ if prompt.starts_with(facts.assistant_start) => prompt,
        Some(at) if !facts.assistant_start.is_empty() => &prompt[at..],
        _ => prompt,
    };
    let longest = entries.iter().filter(|e| turn.starts_with(e.text)).max_by_key(|e| e.text.len());
    match longest {
        Some(entry) if !(entry.text == facts.assistant_start && entry.channel == Channel::Reasoning) => {
            (Some(entry), &turn[entry.text.len()..])
        }
        Some(entry) if turn == entry.text => (Some(entry), ""),
        _ => (None, turn.strip_prefix(facts.assistant_start).unwrap_or(turn)),
    }
}

/// Parses a whole output.
pub fn parse<M: Machine>(machine: M, output: impl AsRef<[u8]>, options: &Options) -> Message {
    let mut message = Message::default();
    let mut stream = Stream::new(machine, options);
    stream.finish_bytes(output.as_ref(), &mut |event| message.apply(&event));
    message
}

/// Any model's parser.
pub trait ChatParser: Send + Sync {
    /// Facts from the model's spec.
    fn facts(&self) -> Facts<'_>;

    /// Parses a whole output. Bytes that are no UTF-8 come back as U+FFFD, with a diagnostic.
    fn parse(&self, output: &[u8], options: &Options) -> Message;

    /// A streaming parser for one turn.
    fn stream(&self, options: &Options) -> Box<dyn ChatStream + Send>;

    /// A grammar for a sampler, with each tool's schema compiled in.
    ///
    /// # Errors
    /// Where what is asked for cannot be had: a call without tools, or schemas that nothing satisfies.
    fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError>;

    /// A grammar for calls of any tool with any arguments.
    ///
    /// # Errors
    /// As [`grammar`](Self::grammar).
    fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError>;
}

/// Any model's parser in the middle of a turn; see [`Stream`].
pub trait ChatStream {
    /// More of the model's output, cut anywhere.
    fn push(&mut self, text: &[u8], sink: &mut dyn FnMut(Event<'_>));

    /// The output is over.
    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>));

    /// Makes the parser new and hands back what was not settled.
    fn reset(&mut self) -> Vec<u8>;
}

impl<M: Machine + Clone + Send + Sync + 'static> ChatParser for M {
    fn facts(&self) -> Facts<'_> {
        Machine::facts(self)
    }

    fn parse(&self, output: &[u8], options: &Options) -> Message {
        parse(self.clone(), output, options)
    }

    fn stream(&self, options: &Options) -> Box<dyn ChatStream + Send> {
        Box::new(Stream::new(self.clone(), options))
    }

    fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        Machine::grammar(self, Some(tools), options)
    }

    fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        Machine::grammar(self, None, options)
    }
}

impl<M: Machine> ChatStream for Stream<M> {
    fn push(&mut self, text: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        self.push_bytes(text, sink);
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.finish_bytes(&[], sink);
    }

    fn reset(&mut self) -> Vec<u8> {
        Stream::reset(self)
    }
}

//! Follows a text through a grammar. All possible stacks are followed at once, in one graph in which they share common parts.
//!
//! A state is an element of a rule and a frame, which says where to continue after that rule. A rule at the end of another rule
//! needs no frame of its own, so repetitions, which are right-recursive, do not accumulate frames. Rules are not left-recursive,
//! so the states for one code point are found in finite time, each once.

use std::collections::{HashMap, HashSet};

use crate::error::Rejected;
use crate::grammar::{Element, Grammar};

/// The frame below all others.
const BOTTOM: u32 = 0;
/// How many different expectations a rejection lists.
const LISTED: usize = 8;

impl Grammar {
    /// Starts reading a text.
    pub fn recogniser(&self) -> Recogniser<'_> {
        Recogniser::new(self)
    }

    /// Checks that a whole text is a sentence of the grammar.
    ///
    /// # Errors
    /// The place where the text stops fitting the grammar.
    pub fn check(&self, text: &str) -> Result<(), Rejected> {
        let mut recogniser = self.recogniser();
        recogniser.push(text)?;
        recogniser.finish()
    }
}

/// Once the rule that was called has ended, an element follows, for any of the callers.
#[derive(Clone, Debug)]
struct Frame {
    then: u32,
    callers: Vec<u32>,
}

type State = (u32, u32);

/// Reads a text under a grammar; made by `Grammar::recogniser`.
#[derive(Clone, Debug)]
pub struct Recogniser<'g> {
    grammar: &'g Grammar,
    frames: Vec<Frame>,
    /// States at a class.
    states: Vec<State>,
    complete: bool,
    /// How many bytes were taken.
    offset: usize,
    /// The beginning of a code point, and how many of its bytes there are.
    partial: [u8; 4],
    held: usize,
    rejected: Option<Rejected>,
}

impl<'g> Recogniser<'g> {
    fn new(grammar: &'g Grammar) -> Self {
        let mut recogniser = Self {
            grammar,
            frames: vec![Frame { then: u32::MAX, callers: Vec::new() }],
            states: Vec::new(),
            complete: false,
            offset: 0,
            partial: [0; 4],
            held: 0,
            rejected: None,
        };
        let alternatives = grammar.alternatives(grammar.root).iter();
        recogniser.enter(alternatives.map(|&from| (from, BOTTOM)).collect());
        recogniser
    }

    /// Reads the next piece of the text.
    ///
    /// # Errors
    /// The place where the text stops fitting the grammar. From then on every piece is rejected for the same reason.
    pub fn push(&mut self, text: &str) -> Result<(), Rejected> {
        if self.held > 0 {
            return self.push_bytes(text.as_bytes());
        }
        self.rejected.clone().map_or(Ok(()), Err)?;
        text.chars().try_for_each(|character| self.step(character))
    }

    /// Reads a piece that may begin or end inside a code point. The beginning of a code point is rejected as soon as no code
    /// point with that beginning fits.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Rejected> {
        self.rejected.clone().map_or(Ok(()), Err)?;
        for &byte in bytes {
            self.partial[self.held] = byte;
            self.held += 1;
            let held = self.partial;
            match std::str::from_utf8(&held[..self.held]) {
                Ok(text) => {
                    self.held = 0;
                    text.chars().try_for_each(|character| self.step(character))?;
                }
                Err(error) if error.error_len().is_none() => self.part()?,
                Err(_) => {
                    let found = format!("bytes that are no text, {:02X?},", &held[..self.held]);
                    return self.reject(found);
                }
            }
        }
        Ok(())
    }

    /// Whether the text may end here.
    pub fn complete(&self) -> bool {
        self.complete && self.held == 0 && self.rejected.is_none()
    }

    /// How many bytes were accepted until now.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What may come next, as GBNF; `the end` where the text may end.
    pub fn expected(&self) -> Vec<String> {
        let mut expected = Vec::new();
        for &(at, _) in &self.states {
            let description = self.grammar.describe(at);
            if expected.contains(&description) {
                continue;
            }
            if expected.len() == LISTED {
                expected.push("something else".to_owned());
                break;
            }
            expected.push(description);
        }
        if self.complete {
            expected.push("the end".to_owned());
        }
        if expected.is_empty() {
            expected.push("nothing".to_owned());
        }
        expected
    }

    /// The rules that the text may be in.
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        for &(at, _) in &self.states {
            let rule = self.grammar.rule_of(at);
            if rules.len() < LISTED && !rules.iter().any(|known| known == rule) {
                rules.push(rule.to_owned());
            }
        }
        rules
    }

    /// Checks that the text may end here.
    ///
    /// # Errors
    /// What was expected instead of the end.
    pub fn finish(mut self) -> Result<(), Rejected> {
        self.rejected.clone().map_or(Ok(()), Err)?;
        if self.complete() { Ok(()) } else { self.reject("the end".to_owned()) }
    }

    fn reject(&mut self, found: String) -> Result<(), Rejected> {
        let rejected = Rejected { offset: self.offset, found, expected: self.expected(), rules: self.rules() };
        self.rejected = Some(rejected.clone());
        Err(rejected)
    }

    /// Whether a code point that begins with the held bytes fits.
    fn part(&mut self) -> Result<(), Rejected> {
        let length = match self.partial[0] {
            0xC0..0xE0 => 2,
            0xE0..0xF0 => 3,
            _ => 4,
        };
        let payload = |byte: u8, bits: u32| u32::from(byte) & ((1 << bits) - 1);
        let begun = payload(self.partial[0], 7 - length as u32);
        let value = self.partial[1..self.held].iter().fold(begun, |value, &byte| value << 6 | payload(byte, 6));
        let missing = 6 * (length - self.held) as u32;
        let low = value << missing;
        let high = low | ((1 << missing) - 1);
        // Overlong encodings are not UTF-8.
        let low = match (low, length) {
            (0, 3) => 0x800,
            (0, 4) => 0x1_0000,
            _ => low,
        };
        let fits = |&(at, _): &State| match self.grammar.element(at) {
            Element::Class(class) => self.grammar.class(class).is_some_and(|class| class.meets(low, high)),
            _ => false,
        };
        if self.states.iter().any(fits) {
            return Ok(());
        }
        let found = format!("the bytes {:02X?}", &self.partial[..self.held]);
        self.reject(found)
    }

    fn step(&mut self, character: char) -> Result<(), Rejected> {
        let code = u32::from(character);
        let fits = |&&(at, _): &&State| match self.grammar.element(at) {
            Element::Class(class) => self.grammar.class(class).is_some_and(|class| class.contains(code)),
            _ => false,
        };
        let next: Vec<State> = self.states.iter().filter(fits).map(|&(at, frame)| (at + 1, frame)).collect();
        if next.is_empty() {
            return self.reject(format!("{character:?}"));
        }
        self.offset += character.len_utf8();
        self.enter(next);
        Ok(())
    }

    /// Follows rules and ends until all states are at a class.
    fn enter(&mut self, mut pending: Vec<State>) {
        let grammar = self.grammar;
        self.states.clear();
        self.complete = false;
        let mut seen: HashSet<State> = HashSet::with_capacity(4 * pending.len());
        // The frames made for this code point, by the element that follows, and whether their rule was empty.
        let mut made: HashMap<u32, u32> = HashMap::new();
        let mut emptied: HashSet<u32> = HashSet::new();
        while let Some(state) = pending.pop() {
            if !seen.insert(state) {
                continue;
            }
            let (at, frame) = state;
            match grammar.element(at) {
                Element::Class(_) => self.states.push(state),
                Element::End if frame == BOTTOM => self.complete = true,
                Element::End => {
                    emptied.insert(frame);
                    let Frame { then, callers } = &self.frames[frame as usize];
                    pending.extend(callers.iter().map(|&caller| (*then, caller)));
                }
                Element::Rule(rule) => {
                    let then = at + 1;
                    let callee = if grammar.element(then) == Element::End {
                        frame
                    } else {
                        let next = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
                        let callee = *made.entry(then).or_insert(next);
                        if callee == next {
                            self.frames.push(Frame { then, callers: vec![frame] });
                        } else if !self.frames[callee as usize].callers.contains(&frame) {
                            self.frames[callee as usize].callers.push(frame);
                            // A rule that may be empty has already ended: this caller continues as well.
                            if emptied.contains(&callee) {
                                pending.push((then, frame));
                            }
                        }
                        callee
                    };
                    pending.extend(grammar.alternatives(rule).iter().map(|&from| (from, callee)));
                }
            }
        }
    }
}

//! Follows a text through a grammar: all stacks at once, in one graph in which they share what they have in common.
//!
//! A state is an element of a rule and a frame: what to go on with after that rule. A rule that another ends with
//! needs no frame of its own, so that repetitions, which are right-recursive, do not pile frames up. Rules are not
//! left-recursive, so all states for one code point are found in finite time, each once.

use std::collections::{HashMap, HashSet};

use crate::error::Rejected;
use crate::grammar::{Element, Grammar};

/// The frame below all others.
const BOTTOM: u32 = 0;
/// How many different expectations a rejection lists.
const LISTED: usize = 8;

impl Grammar {
    /// A recogniser at the beginning of a text.
    pub fn recogniser(&self) -> Recogniser<'_> {
        Recogniser::new(self)
    }

    /// Whether a whole text is a sentence of the grammar.
    ///
    /// # Errors
    /// Where it is not.
    pub fn check(&self, text: &str) -> Result<(), Rejected> {
        let mut recogniser = self.recogniser();
        recogniser.push(text)?;
        recogniser.finish()
    }
}

/// After the rule that was called, go on with an element, for any of the callers.
#[derive(Clone, Debug)]
struct Frame {
    then: u32,
    callers: Vec<u32>,
}

type State = (u32, u32);

/// Where a text stands in a grammar.
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

    /// Takes a piece of the text.
    ///
    /// # Errors
    /// Where the text leaves the grammar. From then on every piece is rejected for the same reason.
    pub fn push(&mut self, text: &str) -> Result<(), Rejected> {
        if self.held > 0 {
            return self.push_bytes(text.as_bytes());
        }
        self.rejected.clone().map_or(Ok(()), Err)?;
        text.chars().try_for_each(|character| self.step(character))
    }

    /// Takes a piece that may begin or end inside a code point. A first part of one is rejected as soon as no code
    /// point that it can become fits.
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

    /// How many bytes fitted so far.
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

    /// Whether the text may end here, with the reason why not.
    ///
    /// # Errors
    /// Where it may not.
    pub fn finish(mut self) -> Result<(), Rejected> {
        self.rejected.clone().map_or(Ok(()), Err)?;
        if self.complete() { Ok(()) } else { self.reject("the end".to_owned()) }
    }

    fn reject(&mut self, found: String) -> Result<(), Rejected> {
        let rejected = Rejected { offset: self.offset, found, expected: self.expected(), rules: self.rules() };
        self.rejected = Some(rejected.clone());
        Err(rejected)
    }

    /// Whether some code point that begins with the bytes held fits.
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
        // What is shorter is never written longer.
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
        // The frames made for this code point, by what they go on with, and whether their rule was empty.
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
                            // The rule is through already where it is empty: this caller goes on as well.
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

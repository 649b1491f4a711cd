//! A regular expression as an automaton that reads a text character by character. Time is linear in the text, and the state
//! has a size that depends on the expression alone.

use super::super::super::Class;
use super::Regex;
use super::node::Node;

/// The maximum number of states that an expression may become.
const STATES: usize = 2000;

/// The states of an expression. State 0 is the start.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    states: Vec<State>,
}

#[derive(Clone, Debug)]
enum State {
    /// Reads one character of a class.
    Read(Class, usize),
    /// Continues in several states at once.
    Split(Vec<usize>),
    /// The text matches if it ends here.
    End,
    /// The text matches, whatever follows.
    Matched,
}

/// How far an automaton has read a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    current: Vec<usize>,
    next: Vec<usize>,
    pending: Vec<usize>,
    /// The step at which a state was reached last.
    reached: Vec<u64>,
    step: u64,
    /// The text matches if it ends here.
    ends: bool,
    /// The text matches, whatever follows.
    matched: bool,
}

impl Automaton {
    /// The automaton of an expression. `None` if it has too many states.
    pub(crate) fn of(regex: &Regex) -> Option<Self> {
        let mut automaton = Self { states: vec![State::Split(Vec::new())] };
        let mut starts = Vec::new();
        for branch in &regex.branches {
            let last = automaton.add(if branch.at_end { State::End } else { State::Matched })?;
            let mut start = automaton.node(&branch.node, last)?;
            if !branch.at_start {
                let again = automaton.add(State::Split(Vec::new()))?;
                let any = automaton.add(State::Read(Class::of(&[]).negate(), again))?;
                automaton.states[again] = State::Split(vec![any, start]);
                start = again;
            }
            starts.push(start);
        }
        automaton.states[0] = State::Split(starts);
        Some(automaton)
    }

    fn add(&mut self, state: State) -> Option<usize> {
        (self.states.len() < STATES).then(|| {
            self.states.push(state);
            self.states.len() - 1
        })
    }

    /// The state in which a node begins that continues in `next`. The parser of expressions limits how deep nodes are nested.
    fn node(&mut self, node: &Node, next: usize) -> Option<usize> {
        match node {
            Node::Class(class) => self.add(State::Read(class.clone(), next)),
            Node::Sequence(nodes) => nodes.iter().rev().try_fold(next, |next, node| self.node(node, next)),
            Node::Choice(nodes) => {
                let starts: Option<Vec<usize>> = nodes.iter().map(|node| self.node(node, next)).collect();
                self.add(State::Split(starts?))
            }
            Node::Repeat(body, min, max) => {
                let mut start = next;
                match max {
                    None => {
                        start = self.add(State::Split(Vec::new()))?;
                        let again = self.node(body, start)?;
                        self.states[start] = State::Split(vec![again, next]);
                    }
                    Some(max) => {
                        for _ in *min..*max {
                            let body = self.node(body, start)?;
                            start = self.add(State::Split(vec![body, next]))?;
                        }
                    }
                }
                for _ in 0..*min {
                    start = self.node(body, start)?;
                    if self.states.len() >= STATES {
                        return None;
                    }
                }
                Some(start)
            }
            // `Regex` has taken the anchors out.
            Node::Start | Node::End => None,
        }
    }

    /// Before the first character.
    pub(crate) fn start(&self) -> Run {
        let mut run = Run { reached: vec![0; self.states.len()], step: 1, ..Run::default() };
        run.pending.push(0);
        self.settle(&mut run);
        run
    }

    /// Follows the states that read nothing.
    fn settle(&self, run: &mut Run) {
        run.current.clear();
        run.ends = false;
        while let Some(at) = run.pending.pop() {
            if std::mem::replace(&mut run.reached[at], run.step) == run.step {
                continue;
            }
            match &self.states[at] {
                State::Read(..) => run.current.push(at),
                State::Split(next) => run.pending.extend(next),
                State::End => run.ends = true,
                State::Matched => run.matched = true,
            }
        }
    }

    /// Reads a character.
    pub(crate) fn read(&self, run: &mut Run, character: char) {
        // The classes of grammars leave out NUL, which a sampler never writes.
        run.matched |= character == '\0';
        if run.matched {
            return;
        }
        std::mem::swap(&mut run.current, &mut run.next);
        run.step += 1;
        for &at in &run.next {
            if let State::Read(class, next) = &self.states[at]
                && class.contains(character)
            {
                run.pending.push(*next);
            }
        }
        self.settle(run);
    }

    /// Whether a whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let mut run = self.start();
        text.chars().for_each(|character| self.read(&mut run, character));
        run.matches()
    }
}

impl Run {
    /// Whether the text that was read matches.
    pub(crate) fn matches(&self) -> bool {
        self.matched || self.ends
    }

    /// Whether no text that begins so matches.
    pub(crate) fn is_dead(&self) -> bool {
        !self.matches() && self.current.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_matches_what_the_expression_matches() {
        for pattern in [
            "^a+b?$",
            "b",
            "^(ab|a)(c|bcd)$",
            "^.{2,4}$",
            "a{3}",
            "^(a*)*$",
            "^x|y$",
            "",
            "^[^a]*$",
            "^a.*b$",
            "(a|b)*c",
        ] {
            let regex = Regex::parse(pattern).unwrap_or_else(|why| unreachable!("{why}"));
            let automaton = Automaton::of(&regex).unwrap_or_else(|| unreachable!("{pattern}"));
            for text in
                ["", "a", "aab", "ab", "abcd", "abbcd", "xaaay", "b", "aaaaa", "é", "ba", "cc", "x", "xy", "abc"]
            {
                assert_eq!(Some(automaton.matches(text)), regex.matches(text), "{pattern} {text}");
            }
        }
        let large = Regex::parse("^(a{1000}){1000}$").unwrap_or_else(|why| unreachable!("{why}"));
        assert!(Automaton::of(&large).is_none());
    }
}

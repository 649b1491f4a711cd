//! Free text up to a marker, as an automaton.
//!
//! GBNF has no look-ahead and no negation. So "text without this marker" is written as states; each state remembers how
//! much of which marker has been read. This file only computes the table of states. It must not know about rules or
//! formats.

use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop<'p> {
    /// The text of the marker; never empty.
    pub(crate) core: &'p str,
    /// One of these must follow, after optional white space, before the marker counts. If there are none, it counts at
    /// once.
    pub(crate) confirm: Vec<&'p str>,
    /// The marker is not consumed; what follows reads it.
    pub(crate) peek: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CharSet {
    pub(crate) negated: bool,
    /// Sorted, without repeats.
    pub(crate) chars: Vec<char>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    /// One of these characters leads to the state with this index.
    Char(CharSet, usize),
    /// This character completes the stop with this index.
    Stop(char, usize),
    /// The stop with this index begins here and is not consumed.
    Peek(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextState {
    pub(crate) transitions: Vec<Transition>,
    /// The text may end here: no stop is certain to follow.
    pub(crate) may_end: bool,
}

/// Free text up to one of some stops. It begins in state 0.
#[derive(Clone, Debug)]
pub(crate) struct Until {
    pub(crate) states: Vec<TextState>,
}

/// How far one stop has been read: its core, white space after the core, or one of the texts that confirm it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Progress {
    Core(usize),
    Space,
    Confirm(usize, usize),
}

type Item = (usize, Progress);

/// What a state remembers: the stops that have begun, and whether one of them must be completed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Progresses {
    items: Vec<Item>,
    must_complete: bool,
}

struct Pattern {
    core: Vec<char>,
    confirm: Vec<Vec<char>>,
    peek: bool,
}

/// White space between a marker and the text that confirms it.
const SPACE: [char; 4] = ['\t', '\n', '\r', ' '];

impl Until {
    /// The automaton of text up to one of `stops`.
    pub(crate) fn new(stops: &[Stop<'_>]) -> Self {
        let patterns: Vec<Pattern> = stops
            .iter()
            .map(|stop| Pattern {
                core: stop.core.chars().collect(),
                confirm: stop.confirm.iter().map(|core| core.chars().collect()).collect(),
                peek: stop.peek,
            })
            .collect();
        let mut chars: Vec<char> = Vec::new();
        for stop in &patterns {
            chars.extend(&stop.core);
            if !stop.confirm.is_empty() {
                chars.extend(SPACE);
                chars.extend(stop.confirm.iter().flatten());
            }
        }
        chars.sort_unstable();
        chars.dedup();
        let mut maker = Maker { patterns, chars, known: HashMap::new(), queue: Vec::new() };
        let mut states: Vec<TextState> = Vec::new();
        maker.state(Progresses { items: Vec::new(), must_complete: false });
        while states.len() < maker.queue.len() {
            let known = maker.queue[states.len()].clone();
            states.push(maker.text_state(&known));
        }
        Self { states }
    }
}

/// Adds a character that leads to a target. The targets stay sorted.
pub(crate) fn add_to(targets: &mut Vec<(usize, Vec<char>)>, target: usize, char: char) {
    match targets.binary_search_by_key(&target, |(known, _)| *known) {
        Ok(at) => targets[at].1.push(char),
        Err(at) => targets.insert(at, (target, vec![char])),
    }
}

struct Maker {
    patterns: Vec<Pattern>,
    chars: Vec<char>,
    known: HashMap<Progresses, usize>,
    queue: Vec<Progresses>,
}

impl Maker {
    fn state(&mut self, known: Progresses) -> usize {
        let next = self.queue.len();
        *self.known.entry(known.clone()).or_insert_with(|| {
            self.queue.push(known);
            next
        })
    }

    fn text_state(&mut self, known: &Progresses) -> TextState {
        let mut transitions = Vec::new();
        let mut targets: Vec<(usize, Vec<char>)> = Vec::new();
        let mut other: Option<usize> = None;
        if !known.must_complete {
            let plain = self.state(Progresses { items: Vec::new(), must_complete: false });
            other = Some(plain);
            // A peeked marker is left for the next state as a whole: the text may end before it, and never contains it.
            let peeked = self.patterns.iter().enumerate().filter(|(_, pattern)| pattern.peek);
            transitions.extend(peeked.map(|(stop, _)| Transition::Peek(stop)));
        }
        let chars = self.chars.clone();
        let mut elsewhere: Vec<char> = Vec::new();
        for char in chars {
            let next = self.read(known, char, &mut transitions).map(|next| self.state(next));
            if next != other || next.is_none() {
                elsewhere.push(char);
            }
            if let Some(next) = next
                && Some(next) != other
            {
                add_to(&mut targets, next, char);
            }
        }
        for (target, chars) in targets {
            transitions.push(Transition::Char(CharSet { negated: false, chars }, target));
        }
        if let Some(other) = other {
            transitions.push(Transition::Char(CharSet { negated: true, chars: elsewhere }, other));
        }
        TextState { transitions, may_end: !known.must_complete }
    }

    /// Reads a character. Returns what the next state remembers, or `None` if the character cannot be text here. Stops
    /// that the character completes are added to `transitions`.
    fn read(&self, known: &Progresses, char: char, transitions: &mut Vec<Transition>) -> Option<Progresses> {
        let mut items: Vec<Item> = Vec::new();
        // The length of the longest stop that is complete now.
        let mut complete: Option<usize> = None;
        let mut confirmed = false;
        let fresh = (0..self.patterns.len()).map(|stop| (stop, Progress::Core(0))).filter(|_| !known.must_complete);
        for (stop, progress) in known.items.iter().copied().chain(fresh) {
            let pattern = &self.patterns[stop];
            match progress {
                Progress::Core(at) if pattern.core.get(at) == Some(&char) => {
                    if at + 1 < pattern.core.len() {
                        items.push((stop, Progress::Core(at + 1)));
                        continue;
                    }
                    let transition = Transition::Stop(char, stop);
                    if !pattern.peek && !transitions.contains(&transition) {
                        transitions.push(transition);
                    }
                    if pattern.confirm.is_empty() {
                        complete = complete.max(Some(at + 1));
                    } else {
                        items.push((stop, Progress::Space));
                    }
                }
                Progress::Space => {
                    if SPACE.contains(&char) {
                        items.push((stop, Progress::Space));
                    }
                    for (number, next) in pattern.confirm.iter().enumerate() {
                        match next.first() {
                            Some(first) if *first == char && next.len() == 1 => confirmed = true,
                            Some(first) if *first == char => items.push((stop, Progress::Confirm(number, 1))),
                            _ => {}
                        }
                    }
                }
                Progress::Confirm(number, at) if pattern.confirm[number].get(at) == Some(&char) => {
                    if at + 1 == pattern.confirm[number].len() {
                        confirmed = true;
                    } else {
                        items.push((stop, Progress::Confirm(number, at + 1)));
                    }
                }
                _ => {}
            }
        }
        if confirmed {
            return None;
        }
        let mut must_complete = known.must_complete;
        if let Some(length) = complete {
            // Only a longer stop that began no later can still be completed.
            items.retain(|(_, progress)| matches!(progress, Progress::Core(read) if *read >= length));
            must_complete = true;
        }
        if must_complete && items.is_empty() {
            return None;
        }
        items.sort_unstable();
        items.dedup();
        Some(Progresses { items, must_complete })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Tries every way to read `text`. Returns the stops at which it may end, and whether all of it may be text.
    fn read(until: &Until, text: &str) -> (Vec<usize>, bool) {
        let mut states = BTreeSet::from([0]);
        let mut stops = Vec::new();
        let chars: Vec<char> = text.chars().collect();
        for (index, char) in chars.iter().enumerate() {
            let mut next = BTreeSet::new();
            for transition in states.iter().flat_map(|&state| &until.states[state].transitions) {
                match transition {
                    Transition::Char(set, to) if set.chars.contains(char) != set.negated => {
                        next.insert(*to);
                    }
                    Transition::Stop(last, stop) if last == char && index + 1 == chars.len() => stops.push(*stop),
                    _ => {}
                }
            }
            states = next;
        }
        stops.sort_unstable();
        (stops, states.iter().any(|&state| until.states[state].may_end))
    }

    fn stop<'p>(core: &'p str, confirm: &[&'p str]) -> Stop<'p> {
        Stop { core, confirm: confirm.to_vec(), peek: false }
    }

    #[test]
    fn a_peeked_marker_is_left_whole() {
        let until = Until::new(&[Stop { core: "<a>", confirm: Vec::new(), peek: true }]);
        for (text, is_text) in [("", true), ("x<a", true), ("x<b>", true), ("x<a>", false), ("<a>x", false)] {
            assert_eq!(read(&until, text), (Vec::new(), is_text), "{text:?}");
        }
        // The text can end before the marker begins.
        assert!(until.states[0].transitions.contains(&Transition::Peek(0)));
    }

    #[test]
    fn text_ends_at_a_marker_and_nowhere_else() {
        let cases: [(&[Stop<'_>], &str, &[usize], bool); 16] = [
            (&[stop("<a>", &[])], "", &[], true),
            (&[stop("<a>", &[])], "x<a", &[], true),
            (&[stop("<a>", &[])], "x<a>", &[0], false),
            (&[stop("<a>", &[])], "<<a>", &[0], false),
            (&[stop("<a>", &[])], "x<a>y", &[], false),
            (&[stop("aab", &[])], "aaab", &[0], false),
            (&[stop("<｜x｜>", &[])], "é<｜x｜<｜x｜>", &[0], false),
            (&[stop("<a>", &[]), stop("<b>", &[])], "<a<b>", &[1], false),
            // Two markers that begin alike: the longer one, and the shorter one if the rest of the longer one does not
            // come.
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>", &[0], false),
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>>", &[1], false),
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>x", &[], false),
            // A marker inside another marker.
            (&[stop("to=", &[]), stop("<c> to=", &[])], "<c> to=", &[0, 1], false),
            // A marker that has to be confirmed may be text, but not if one of the confirming texts follows.
            (&[stop("</p>", &["<p>", "</f>"])], "x</p> y</p>", &[0], true),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n<p", &[], true),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n<p>", &[], false),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n</p>\n</f>", &[], false),
        ];
        for (stops, text, ends, may_end) in cases {
            assert_eq!(read(&Until::new(stops), text), (ends.to_vec(), may_end), "{text:?} with {stops:?}");
        }
    }
}

//! Free text up to a marker, as a prefix automaton: GBNF has no look-ahead, so what may not stand in a text is spelled
//! as states that each remember how much of which marker has been read.
//!
//! The automaton is only a table here; nothing in it knows about rules or about models.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A marker at which text ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop<'p> {
    /// The marker. Never empty.
    pub(crate) core: &'p str,
    /// What must follow, white space aside, before the marker counts; it counts at once where this is empty.
    pub(crate) confirm: Vec<&'p str>,
    /// The marker is left for what follows, not read.
    pub(crate) peek: bool,
}

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// All but these.
    pub(crate) negated: bool,
    /// In order, each once.
    pub(crate) chars: Vec<char>,
}

/// What may come in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One of these characters leads to a state.
    Char(Class, usize),
    /// This character completes the stop of that number.
    Stop(char, usize),
    /// The stop of that number begins here and is left unread.
    Peek(usize),
}

/// One state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    /// How it goes on.
    pub(crate) ways: Vec<Way>,
    /// The text may be over here: no marker is certain to follow.
    pub(crate) free: bool,
}

/// Free text up to one of some markers. State 0 is where the text begins.
#[derive(Clone, Debug)]
pub(crate) struct Until {
    pub(crate) points: Vec<Point>,
}

/// How far one stop has been read: the core, white space after it, or one of what confirms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Progress {
    Core(usize),
    Space,
    Confirm(usize, usize),
}

type Item = (usize, Progress);

/// What is known in a state: the stops that are begun, and whether one of them must be completed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Known {
    items: Vec<Item>,
    bound: bool,
}

/// One stop as characters.
struct Spelled {
    core: Vec<char>,
    confirm: Vec<Vec<char>>,
    peek: bool,
}

/// White space between a marker and what confirms it.
const SPACE: [char; 4] = ['\t', '\n', '\r', ' '];

impl Until {
    /// Text up to one of `stops`.
    pub(crate) fn new(stops: &[Stop<'_>]) -> Self {
        let spelled: Vec<Spelled> = stops
            .iter()
            .map(|stop| Spelled {
                core: stop.core.chars().collect(),
                confirm: stop.confirm.iter().map(|core| core.chars().collect()).collect(),
                peek: stop.peek,
            })
            .collect();
        let mut chars: BTreeSet<char> = BTreeSet::new();
        for stop in &spelled {
            chars.extend(&stop.core);
            if !stop.confirm.is_empty() {
                chars.extend(SPACE);
                chars.extend(stop.confirm.iter().flatten());
            }
        }
        let mut maker = Maker { spelled, chars, known: HashMap::new(), queue: Vec::new() };
        let mut points: Vec<Point> = Vec::new();
        maker.state(Known { items: Vec::new(), bound: false });
        while points.len() < maker.queue.len() {
            let known = maker.queue[points.len()].clone();
            points.push(maker.point(&known));
        }
        Self { points }
    }
}

struct Maker {
    spelled: Vec<Spelled>,
    /// All characters that any stop tells apart.
    chars: BTreeSet<char>,
    known: HashMap<Known, usize>,
    queue: Vec<Known>,
}

impl Maker {
    fn state(&mut self, known: Known) -> usize {
        let next = self.queue.len();
        *self.known.entry(known.clone()).or_insert_with(|| {
            self.queue.push(known);
            next
        })
    }

    fn point(&mut self, known: &Known) -> Point {
        let mut ways = Vec::new();
        let mut targets: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        let mut other: Option<usize> = None;
        if !known.bound {
            let plain = self.state(Known { items: Vec::new(), bound: false });
            other = Some(plain);
            // What is left unread is left whole: the text may be over before it, and never holds it.
            let peeked = self.spelled.iter().enumerate().filter(|(_, stop)| stop.peek);
            ways.extend(peeked.map(|(number, _)| Way::Peek(number)));
        }
        let chars: Vec<char> = self.chars.iter().copied().collect();
        let mut elsewhere: Vec<char> = Vec::new();
        for char in chars {
            let next = self.read(known, char, &mut ways).map(|next| self.state(next));
            if next != other || next.is_none() {
                elsewhere.push(char);
            }
            if let Some(next) = next
                && Some(next) != other
            {
                targets.entry(next).or_default().push(char);
            }
        }
        for (target, chars) in targets {
            ways.push(Way::Char(Class { negated: false, chars }, target));
        }
        if let Some(other) = other {
            ways.push(Way::Char(Class { negated: true, chars: elsewhere }, other));
        }
        Point { ways, free: !known.bound }
    }

    /// Reads a character: what is known then, or `None` where it may not stand here as text. What it completes is
    /// added to `ways`.
    fn read(&self, known: &Known, char: char, ways: &mut Vec<Way>) -> Option<Known> {
        let mut items: Vec<Item> = Vec::new();
        // How much of the longest stop that is complete now was read.
        let mut complete: Option<usize> = None;
        let mut confirmed = false;
        let fresh = (0..self.spelled.len()).map(|stop| (stop, Progress::Core(0))).filter(|_| !known.bound);
        for (stop, progress) in known.items.iter().copied().chain(fresh) {
            let spelled = &self.spelled[stop];
            match progress {
                Progress::Core(at) if spelled.core.get(at) == Some(&char) => {
                    if at + 1 < spelled.core.len() {
                        items.push((stop, Progress::Core(at + 1)));
                        continue;
                    }
                    let way = Way::Stop(char, stop);
                    if !spelled.peek && !ways.contains(&way) {
                        ways.push(way);
                    }
                    if spelled.confirm.is_empty() {
                        complete = complete.max(Some(at + 1));
                    } else {
                        items.push((stop, Progress::Space));
                    }
                }
                Progress::Space => {
                    if SPACE.contains(&char) {
                        items.push((stop, Progress::Space));
                    }
                    for (number, next) in spelled.confirm.iter().enumerate() {
                        match next.first() {
                            Some(first) if *first == char && next.len() == 1 => confirmed = true,
                            Some(first) if *first == char => items.push((stop, Progress::Confirm(number, 1))),
                            _ => {}
                        }
                    }
                }
                Progress::Confirm(number, at) if spelled.confirm[number].get(at) == Some(&char) => {
                    if at + 1 == spelled.confirm[number].len() {
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
        let mut bound = known.bound;
        if let Some(length) = complete {
            // Only a longer marker that began no later may still come.
            items.retain(|(_, progress)| matches!(progress, Progress::Core(read) if *read >= length));
            bound = true;
        }
        if bound && items.is_empty() {
            return None;
        }
        items.sort_unstable();
        items.dedup();
        Some(Known { items, bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to read `text`: at which stops it may end, and whether it may be all text.
    fn read(until: &Until, text: &str) -> (Vec<usize>, bool) {
        let mut states = BTreeSet::from([0]);
        let mut stops = Vec::new();
        let chars: Vec<char> = text.chars().collect();
        for (index, char) in chars.iter().enumerate() {
            let mut next = BTreeSet::new();
            for way in states.iter().flat_map(|&state| &until.points[state].ways) {
                match way {
                    Way::Char(class, to) if class.chars.contains(char) != class.negated => {
                        next.insert(*to);
                    }
                    Way::Stop(last, stop) if last == char && index + 1 == chars.len() => stops.push(*stop),
                    _ => {}
                }
            }
            states = next;
        }
        stops.sort_unstable();
        (stops, states.iter().any(|&state| until.points[state].free))
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
        // The way out is there before the marker begins.
        assert!(until.points[0].ways.contains(&Way::Peek(0)));
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
            // The longer of two markers that begin alike, and the shorter one where it does not come.
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>", &[0], false),
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>>", &[1], false),
            (&[stop("<a>", &[]), stop("<a>>", &[])], "<a>x", &[], false),
            // A marker inside another one.
            (&[stop("to=", &[]), stop("<c> to=", &[])], "<c> to=", &[0, 1], false),
            // What needs to be confirmed may stand in the text, but not together with what confirms it.
            (&[stop("</p>", &["<p>", "</f>"])], "x</p> y</p>", &[0], true),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n<p", &[], true),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n<p>", &[], false),
            (&[stop("</p>", &["<p>", "</f>"])], "x</p>\n</p>\n</f>", &[], false),
        ];
        for (stops, text, ends, free) in cases {
            assert_eq!(read(&Until::new(stops), text), (ends.to_vec(), free), "{text:?} with {stops:?}");
        }
    }
}

//! Marks: where values and pieces of text come from, during a labelled render.
//!
//! A mark is one small number, so that values can carry it at no cost. It stands for a place in the context, a
//! [`FieldPart`] of what is there, and the encodings that were applied. Nothing here knows values. A plain render makes no
//! marks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::labels::{Encoding, Field, FieldPart, Labels, LoopItem, Origin, Span};

/// Where a value or a piece of text comes from. The upper 22 bits tell the place and the part, the others the encodings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u32);

/// Bits of a mark for the encodings.
const LIST_BITS: u32 = 10;
/// The number of different sequences of encodings that one render can tell apart.
const MAX_LISTS: usize = 1 << LIST_BITS;
/// The number of texts that were looked for that one render remembers, and the bytes of the longest.
const MAX_SOUGHT: usize = 256;
const LONGEST_SOUGHT: usize = 200;
/// The number of places that marks can tell apart; three marks of each have room next to [`Mark::NONE`].
const MAX_PLACES: usize = (1 << (32 - LIST_BITS)) / 3 - 1;
/// The longest sequence of encodings.
const MAX_ENCODINGS: usize = 8;
/// The sequence that stands for all that found no room.
const OTHER: u32 = 1;

impl Mark {
    /// The mark of what comes from the template.
    pub(crate) const NONE: Mark = Mark(0);

    pub(crate) fn is_some(self) -> bool {
        self.0 != 0
    }

    /// This mark, or `other` if this is [`Mark::NONE`].
    pub(crate) fn or(self, other: Mark) -> Mark {
        if self.is_some() { self } else { other }
    }

    fn base(self) -> u32 {
        self.0 >> LIST_BITS
    }

    fn list(self) -> u32 {
        self.0 & (MAX_LISTS as u32 - 1)
    }

    fn with_list(self, list: u32) -> Mark {
        Mark(self.base() << LIST_BITS | list)
    }

    /// The mark of another part of the same place, with the same encodings.
    pub(crate) fn part(self, part: FieldPart) -> Mark {
        if !self.is_some() {
            return self;
        }
        Mark(((self.base() - 1) / 3 * 3 + 1 + part as u32) << LIST_BITS | self.list())
    }

    fn place(self) -> usize {
        (self.base().saturating_sub(1) / 3) as usize
    }
}

/// One step of a path.
pub(crate) enum PathStep {
    Key(Arc<str>),
    Index(usize),
}

/// A place in the context, as the last step of the path to it.
struct PathNode {
    /// Of the container; `None` for a variable of the context.
    parent: Option<usize>,
    step: PathStep,
}

/// A sequence of encodings, as a shorter one and one more.
struct List {
    shorter: u32,
    last: Option<Encoding>,
    length: usize,
    /// The sequences that this is the `shorter` of.
    longer: Vec<(Encoding, u32)>,
}

/// All places and sequences that the marks of one render refer to.
pub(crate) struct Marks {
    places: Vec<PathNode>,
    lists: Vec<List>,
    decided: Vec<bool>,
    /// Whether a place found no room.
    full: bool,
    /// Places, and the texts that were looked for in their values.
    sought: BTreeSet<(usize, String)>,
}

impl Marks {
    pub(crate) fn new() -> Marks {
        let list =
            |last: Option<Encoding>| List { shorter: 0, last, length: usize::from(last.is_some()), longer: Vec::new() };
        let mut none = list(None);
        none.longer.push((Encoding::Other, OTHER));
        let lists = vec![none, list(Some(Encoding::Other))];
        Marks { places: Vec::with_capacity(128), lists, decided: Vec::new(), full: false, sought: BTreeSet::new() }
    }

    /// The mark of a place that is `step` below the place of `parent`, of its value.
    pub(crate) fn place(&mut self, parent: Mark, step: PathStep) -> Mark {
        let at = self.places.len();
        if at >= MAX_PLACES {
            self.full = true;
            return Mark::NONE;
        }
        self.places.push(PathNode { parent: parent.is_some().then(|| parent.place()), step });
        Mark((at as u32 * 3 + 1 + FieldPart::Value as u32) << LIST_BITS)
    }

    /// The mark of the same text after one more encoding.
    pub(crate) fn encoded(&mut self, mark: Mark, encoding: Encoding) -> Mark {
        if !mark.is_some() {
            return mark;
        }
        let now = mark.list();
        let next_list = self.lists.len();
        let Some(list) = self.lists.get_mut(now as usize) else { return mark };
        // To write JSON in JSON or to escape what is escaped changes the text again; the others do it once.
        let again = matches!(encoding, Encoding::Json | Encoding::PythonRepr | Encoding::Escape);
        if list.last == Some(encoding) && !again {
            return mark;
        }
        // The longest sequences end in `Other`, because they may not tell all.
        let length = list.length + 1;
        let encoding = if length < MAX_ENCODINGS { encoding } else { Encoding::Other };
        if let Some((_, known)) = list.longer.iter().find(|(e, _)| *e == encoding) {
            return mark.with_list(*known);
        }
        if length > MAX_ENCODINGS {
            return mark;
        }
        if next_list >= MAX_LISTS {
            return mark.with_list(OTHER);
        }
        list.longer.push((encoding, next_list as u32));
        self.lists.push(List { shorter: now, last: Some(encoding), length, longer: Vec::new() });
        mark.with_list(next_list as u32)
    }

    /// Whether two neighbours of this mark are one piece. Where the text resembles the field they are not, because each is a
    /// part of the field and together they need not be: a value was written twice, or what was between them is gone.
    pub(crate) fn joins(&self, mark: Mark) -> bool {
        let last = self.lists.get(mark.list() as usize).and_then(|list| list.last);
        mark == mark.part(FieldPart::Syntax) || last == Some(Encoding::Other)
    }

    /// Records that the value of a mark was tested.
    pub(crate) fn decide(&mut self, mark: Mark) {
        if mark.is_some() {
            let place = mark.place();
            if self.decided.len() <= place {
                self.decided.resize(place + 1, false);
            }
            if let Some(slot) = self.decided.get_mut(place) {
                *slot = true;
            }
        }
    }

    /// The paths of all values that were tested.
    pub(crate) fn decided(&self) -> BTreeSet<String> {
        let tested = self.decided.iter().enumerate().filter(|(_, tested)| **tested);
        let mut path = Path::default();
        let mut decided = BTreeSet::new();
        decided.extend(tested.map(|(place, _)| path.write(&self.places, &[], place).to_owned()));
        decided
    }

    /// Records that a text was looked for in the value of a mark.
    pub(crate) fn seek(&mut self, mark: Mark, text: &str) {
        let fits = (1..=LONGEST_SOUGHT).contains(&text.len()) && self.sought.len() < MAX_SOUGHT;
        if mark.is_some() && fits {
            self.sought.insert((mark.place(), text.to_owned()));
        }
    }

    /// For each path, the texts that were looked for in its value.
    pub(crate) fn sought(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let (mut path, mut found) = (Path::default(), BTreeMap::<String, BTreeSet<String>>::new());
        for (place, text) in std::mem::take(&mut self.sought) {
            found.entry(path.write(&self.places, &[], place).to_owned()).or_default().insert(text);
        }
        found
    }

    fn encodings(&self, list: u32) -> Arc<[Encoding]> {
        let mut encodings = Vec::new();
        let mut at = list;
        while let Some((list, last)) = self.lists.get(at as usize).and_then(|list| Some((list, list.last?))) {
            encodings.push(last);
            at = list.shorter;
        }
        encodings.reverse();
        encodings.into()
    }

    /// The labels of a text of `length` bytes. What no piece covers comes from the template. `items` are what loops wrote.
    pub(crate) fn labels(&self, pieces: &[Piece], items: &[Piece], length: usize) -> Labels {
        // Paths and sequences are written once, and shared by all spans that have them.
        let mut path = Path::default();
        let mut paths: Vec<Option<Arc<str>>> = vec![None; self.places.len()];
        let lists: Vec<Arc<[Encoding]>> = (0..self.lists.len() as u32).map(|list| self.encodings(list)).collect();
        let gaps = pieces.windows(2).filter(|pair| pair[0].end < pair[1].start).count();
        let mut spans = Vec::with_capacity(pieces.len() + gaps + 2);
        let mut at = 0;
        for piece in pieces {
            let (place, list) = (piece.mark.place(), piece.mark.list() as usize);
            let Some(encodings) = lists.get(list) else { continue };
            let path = path.shared(&self.places, &mut paths, place);
            let part = match piece.mark.base().saturating_sub(1) % 3 {
                0 => FieldPart::Key,
                1 => FieldPart::Value,
                _ => FieldPart::Syntax,
            };
            if at < piece.start {
                spans.push(Span { range: at..piece.start, origin: Origin::Template });
            }
            let origin = Origin::Field(Field { path, part, encodings: encodings.clone() });
            spans.push(Span { range: piece.start..piece.end, origin });
            at = piece.end;
        }
        if at < length {
            spans.push(Span { range: at..length, origin: Origin::Template });
        }
        let item = |item: &Piece| {
            let path = path.shared(&self.places, &mut paths, item.mark.place());
            LoopItem { range: item.start..item.end, path }
        };
        Labels { spans, items: items.iter().map(item).collect(), statements: Vec::new(), incomplete: self.full }
    }
}

/// Writes paths, one after another, into the same memory.
#[derive(Default)]
struct Path {
    text: String,
    steps: Vec<usize>,
}

impl Path {
    /// The path of a place, written once and kept in `known`.
    fn shared(&mut self, places: &[PathNode], known: &mut [Option<Arc<str>>], place: usize) -> Arc<str> {
        if let Some(Some(path)) = known.get(place) {
            return path.clone();
        }
        let written: Arc<str> = self.write(places, known, place).into();
        if let Some(slot) = known.get_mut(place) {
            *slot = Some(written.clone());
        }
        written
    }

    /// The path of a place. `known` are paths that were written before.
    fn write(&mut self, places: &[PathNode], known: &[Option<Arc<str>>], place: usize) -> &str {
        self.text.clear();
        let mut next = Some(place);
        while let Some(at) = next {
            if let Some(Some(start)) = known.get(at) {
                self.text.push_str(start);
                break;
            }
            self.steps.push(at);
            next = places.get(at).and_then(|place| place.parent);
        }
        while let Some(place) = self.steps.pop().and_then(|at| places.get(at)) {
            match &place.step {
                PathStep::Key(key) => {
                    self.text.push_str(if self.text.is_empty() { "" } else { "." });
                    self.text.push_str(key);
                }
                PathStep::Index(index) => {
                    self.text.push('[');
                    if *index < 10 {
                        self.text.push(char::from(b'0' + *index as u8));
                    } else {
                        self.text.push_str(&index.to_string());
                    }
                    self.text.push(']');
                }
            }
        }
        &self.text
    }
}

/// A part of a text that has a mark, as a range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mark: Mark,
}

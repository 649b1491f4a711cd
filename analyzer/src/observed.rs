//! A rendered turn as a sequence of literals and holes: its text, and the places of the message's parts.
//!
//! Conclusions are drawn from the literals between holes. They never look for a word of a message themselves.

use std::ops::Range;

use unjinja_spec::REPEATED_NAME;

/// A part of a conversation that a turn may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MessagePart {
    Content,
    /// The chain of thought.
    Reasoning,
    Name(usize),
    Id(usize),
    /// The name of an argument: the number of its call, then its own.
    Key(usize, usize),
    /// The value of an argument: the number of its call, then its own.
    Value(usize, usize),
}

/// A place in a turn that holds a part of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelledHole {
    pub range: Range<usize>,
    pub part: MessagePart,
}

/// A rendered turn, or a piece of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelledTurn {
    pub text: String,
    /// In order, without overlap.
    pub holes: Vec<LabelledHole>,
}

impl LabelledTurn {
    pub(crate) fn all(&self, part: MessagePart) -> impl Iterator<Item = Range<usize>> {
        self.holes.iter().filter(move |hole| hole.part == part).map(|hole| hole.range.clone())
    }

    pub(crate) fn first(&self, part: MessagePart) -> Option<Range<usize>> {
        self.all(part).next()
    }

    /// The place of a part that is in the turn exactly once.
    pub(crate) fn only(&self, part: MessagePart) -> Option<Range<usize>> {
        let mut all = self.all(part);
        let first = all.next();
        if all.next().is_none() { first } else { None }
    }

    /// The first place of a part at or after an offset.
    pub(crate) fn from(&self, at: usize, part: MessagePart) -> Option<Range<usize>> {
        self.all(part).find(|range| range.start >= at)
    }

    /// The end of the last hole; 0 without holes.
    pub(crate) fn last_end(&self) -> usize {
        self.holes.iter().map(|hole| hole.range.end).max().unwrap_or(0)
    }

    pub(crate) fn lead(&self) -> &str {
        &self.text[..self.holes.first().map_or(self.text.len(), |hole| hole.range.start)]
    }

    /// A piece of the turn, with the holes that lie in it.
    pub(crate) fn piece(&self, range: Range<usize>) -> LabelledTurn {
        let inside = |hole: &&LabelledHole| range.start <= hole.range.start && hole.range.end <= range.end;
        let moved = |hole: &LabelledHole| LabelledHole {
            range: hole.range.start - range.start..hole.range.end - range.start,
            part: hole.part,
        };
        LabelledTurn {
            text: self.text[range.clone()].to_owned(),
            holes: self.holes.iter().filter(inside).map(moved).collect(),
        }
    }

    /// The turn with [`REPEATED_NAME`] in place of each name that is written again in the same call. It is a part of a marker
    /// then, and no hole.
    pub(crate) fn with_repeated_names(&self) -> LabelledTurn {
        let mut turn = LabelledTurn::default();
        let mut at = 0;
        for hole in &self.holes {
            turn.text.push_str(&self.text[at..hole.range.start]);
            at = hole.range.end;
            let known = matches!(hole.part, MessagePart::Name(_)) && turn.first(hole.part).is_some();
            if known {
                turn.text.push_str(REPEATED_NAME);
            } else {
                let start = turn.text.len();
                turn.text.push_str(&self.text[hole.range.clone()]);
                turn.holes.push(LabelledHole { range: start..turn.text.len(), part: hole.part });
            }
        }
        turn.text.push_str(&self.text[at..]);
        turn
    }

    pub(crate) fn tail(&self, from: usize) -> LabelledTurn {
        self.piece(from..self.text.len())
    }
}

//! What a template writes between the texts of two messages: text, and places that hold something of the request. Finds it in a transcript.

use std::ops::Range;

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TextKind {
    /// The beginning of the transcript.
    Start,
    System,
    User,
    Assistant,
    Tool,
    /// The end of the transcript.
    End,
}

/// What a place between two texts holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Blank {
    /// The descriptions of all tools.
    Tools,
    /// The name of a function whose result follows.
    Name,
    /// The id of a call whose result follows.
    Id,
    /// Something else: a date.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Segment {
    Text(String),
    Blank(Blank),
}

/// What a template writes between two texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) from: TextKind,
    pub(super) to: TextKind,
    pub(super) segments: Vec<Segment>,
    /// How many bytes of the first segment belong to the message before: what ends a turn of the assistant.
    pub(super) kept: usize,
    /// The text of the message that follows is written as JSON.
    pub(super) json: bool,
}

/// Where a pattern is in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundPattern<'p> {
    pub(super) pattern: &'p Pattern,
    pub(super) range: Range<usize>,
    pub(super) blanks: Vec<(Blank, Range<usize>)>,
}

/// A transcript, and which of its bytes are control tokens where that is known.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) text: &'t str,
    /// For each control token its bytes, in order.
    pub(super) control: Option<&'t [Range<usize>]>,
    /// Where control tokens are in a text that a template writes.
    pub(super) tokens_of: &'t dyn Fn(&str) -> Vec<Range<usize>>,
}

/// The longest name or id.
const LONGEST: usize = 256;

impl TextKind {
    /// Which of two messages that begin alike is the likelier one.
    pub(super) fn rank(self) -> usize {
        match self {
            Self::User => 0,
            Self::Assistant => 1,
            Self::Tool => 2,
            Self::System => 3,
            Self::Start | Self::End => 4,
        }
    }
}

impl Pattern {
    /// Whether it can be told from a text of a conversation: it is more than white space.
    pub(super) fn is_marked(&self) -> bool {
        self.first().is_some_and(|text| !text.trim().is_empty())
    }

    /// The text that it begins with.
    pub(super) fn first(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// How much text of the template it has.
    pub(super) fn weight(&self) -> usize {
        let texts = self.segments.iter().map(|segment| match segment {
            Segment::Text(text) => text.len(),
            Segment::Blank(_) => 0,
        });
        texts.sum()
    }

    /// The pattern at this place.
    pub(super) fn at(&self, text: Text<'_>, start: usize) -> Option<FoundPattern<'_>> {
        let (mut at, mut blanks, mut open) = (start, Vec::new(), None);
        for segment in &self.segments {
            match (segment, open) {
                (Segment::Blank(blank), _) => open = Some(*blank),
                (Segment::Text(literal), None) => {
                    text.text.get(at..)?.strip_prefix(literal.as_str())?;
                    text.is_template(at, literal).then_some(())?;
                    at += literal.len();
                }
                (Segment::Text(literal), Some(blank)) => {
                    let end = text.find(literal, at, blank)?;
                    blanks.push((blank, at..end));
                    (at, open) = (end + literal.len(), None);
                }
            }
        }
        // A text that follows a place directly cannot be told from it.
        open.is_none().then_some(FoundPattern { pattern: self, range: start..at, blanks })
    }
}

impl Text<'_> {
    /// Whether the control tokens of a text of the template are control tokens at this place, and no others.
    fn is_template(&self, at: usize, literal: &str) -> bool {
        let Some(control) = self.control else { return true };
        let end = at + literal.len();
        let first = control.partition_point(|token| token.end <= at);
        let here = control.get(first..).unwrap_or_default().iter().take_while(|token| token.start < end);
        here.cloned().eq((self.tokens_of)(literal).into_iter().map(|token| at + token.start..at + token.end))
    }

    /// Where a text of the template follows a place.
    fn find(&self, literal: &str, from: usize, blank: Blank) -> Option<usize> {
        let rest = self.text.get(from..)?;
        let longest = if blank == Blank::Tools { rest.len() } else { rest.len().min(LONGEST + literal.len()) };
        let limit = (0..=longest).rev().find(|at| rest.is_char_boundary(*at))?;
        let found = rest.get(..limit)?.match_indices(literal).map(|(at, _)| from + at);
        let mut found = found.filter(|at| self.is_template(*at, literal));
        found.next()
    }
}

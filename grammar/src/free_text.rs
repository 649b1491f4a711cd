//! Free text up to markers, as one thing. GBNF can only spell it out as rules, one for each state of an automaton; other
//! engines have a construct for it. A rule that is such a text says so with a [`TextPart`], next to its ordinary expression,
//! which matches the same.

use crate::until::{Stop, Until};

/// Free text, and the markers at which it ends.
#[derive(Clone, Debug)]
pub(super) struct FreeText {
    pub(super) until: Until,
    pub(super) stops: Vec<TextStop>,
    /// How many of the markers something may follow.
    pub(super) followed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextStop {
    /// Never empty.
    pub(super) core: String,
    /// It counts only if certain texts follow.
    pub(super) confirmed: bool,
    /// It is not a part of the text.
    pub(super) peek: bool,
}

/// What a rule matches of a free text: all of it up to a stop, with the stop, or all of it up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextPart {
    pub(super) text: usize,
    /// The stop; `None` for the end.
    pub(super) stop: Option<usize>,
    /// Whether this is the text of a turn before any call: the answer, or reasoning.
    pub(super) top: bool,
    /// The state of the automaton in which it begins. It is 0 unless a prompt holds the beginning of the text.
    pub(super) from: usize,
}

impl FreeText {
    /// Free text up to these markers.
    pub(super) fn new(stops: &[Stop<'_>]) -> Self {
        let stop = |stop: &Stop<'_>| TextStop {
            core: stop.core.to_owned(),
            confirmed: !stop.confirm.is_empty(),
            peek: stop.peek,
        };
        Self { until: Until::new(stops), stops: stops.iter().map(stop).collect(), followed: stops.len() }
    }

    /// Whether a text ends exactly where one of the markers occurs for the first time, so that it is enough to exclude the
    /// markers from the text. That is not so if a marker must be confirmed, or if one can begin inside another.
    pub(super) fn excludes_its_stops(&self) -> bool {
        let overlap = |one: &str, other: &str| {
            let mut ends = one.char_indices().skip(1);
            ends.any(|(at, _)| other.len() > one.len() - at && other.starts_with(&one[at..]))
        };
        let cores = || self.stops.iter().map(|stop| stop.core.as_str());
        !self.stops.iter().any(|stop| stop.confirmed) && !cores().any(|one| cores().any(|other| overlap(one, other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_that_overlap_cannot_just_be_excluded() {
        let stop = |core| Stop { core, confirm: Vec::new(), peek: false };
        for (cores, expected) in [
            (&["<a>"][..], true),
            (&["<a>", "</a>"], true),
            // One inside the other, at its beginning or at its end.
            (&["<a>", "<a>>"], true),
            (&["to=", "<c> to="], true),
            (&["<a>", "><b"], false),
            (&["aa"], false),
            (&["é<", "<é"], false),
        ] {
            let stops: Vec<Stop<'_>> = cores.iter().copied().map(stop).collect();
            assert_eq!(FreeText::new(&stops).excludes_its_stops(), expected, "{cores:?}");
        }
        let confirmed = Stop { core: "<a>", confirm: vec!["b"], peek: false };
        assert!(!FreeText::new(&[confirmed]).excludes_its_stops());
    }
}

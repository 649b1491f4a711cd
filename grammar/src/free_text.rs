//! Free text up to markers, as one thing. GBNF can only spell it out as rules, one for each state of an automaton; other
//! engines have a construct for it. A rule that is such a text says so with a [`TextPart`], next to its ordinary expression,
//! which matches the same.

use crate::until::{Stop, Until};

/// Free text, and the markers at which it ends.
#[derive(Clone, Debug)]
pub(super) struct FreeText {
    pub(super) until: Until,
    pub(super) stops: Vec<TextStop>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextStop {
    /// Never empty.
    pub(super) core: String,
    /// It counts only if one of these follows, after optional white space. If there are none, it counts at once.
    pub(super) confirm: Vec<String>,
    /// It is not a part of the text.
    pub(super) peek: bool,
}

/// What a rule matches of a free text: all of it up to a stop, with the stop, or all of it up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextPart {
    pub(super) text: usize,
    /// The stop; `None` for the end.
    pub(super) stop: Option<usize>,
    /// The state of the automaton in which it begins. It is 0 unless a prompt holds the beginning of the text.
    pub(super) from: usize,
    /// The maximum number of characters before the stop, for an engine that counts them.
    pub(super) max: Option<u32>,
}

/// How long texts may be before a call that is demanded, in characters. A model that never ends such a text never calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) reasoning: u32,
    pub(crate) text: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { reasoning: 16_384, text: 0 }
    }
}

/// Markers of fewer characters are punctuation, which a text may hold.
pub(super) const PUNCTUATION: usize = 3;

/// From how many markers on that begin with the same tag a text cannot hold that tag at all. Each state of its automaton costs the engine a
/// pass over the vocabulary.
const MANY: usize = 5;

/// How many texts are looked for in all others.
const MOST_COMPARED: usize = 128;

/// The white space that may be between punctuation and what confirms it: none, a blank, or a line with an indentation.
pub(super) const LAYOUTS: [&str; 6] = ["", " ", "\n", "\n  ", "\n    ", "\n        "];

impl FreeText {
    /// Free text up to these markers.
    pub(super) fn new(stops: &[Stop<'_>]) -> Self {
        let stop = |stop: &Stop<'_>| TextStop {
            core: stop.core.to_owned(),
            confirm: stop.confirm.iter().map(|confirm| (*confirm).to_owned()).collect(),
            peek: stop.peek,
        };
        Self { until: Until::new(stops), stops: stops.iter().map(stop).collect() }
    }

    /// The texts that this one cannot contain, for an engine that knows free text: each marker as a whole, even where it counts only if
    /// something follows, and punctuation together with what makes a marker of it.
    pub(super) fn excluded(&self) -> Vec<String> {
        let mut excluded: Vec<String> = Vec::new();
        for TextStop { core, confirm, .. } in &self.stops {
            if confirm.is_empty() || core.chars().nth(PUNCTUATION - 1).is_some() {
                excluded.push(core.clone());
                continue;
            }
            for confirm in confirm {
                excluded.extend(LAYOUTS.iter().map(|layout| [core, *layout, confirm].concat()));
            }
        }
        // Many markers that begin with the same tag are excluded by that tag: `<|channel|>` for all headers of a channel.
        let tag = |text: &str| text.find('>').filter(|_| text.starts_with('<')).map(|end| text[..=end].to_owned());
        let tags: Vec<Option<String>> = excluded.iter().take(MOST_COMPARED).map(|text| tag(text)).collect();
        for (text, own) in excluded.iter_mut().zip(&tags) {
            let alike = tags.iter().filter(|other| *other == own).count();
            if let Some(own) = own.as_ref().filter(|_| alike >= MANY) {
                own.clone_into(text);
            }
        }
        // A text that cannot contain one of them cannot contain a longer one around it. Names of many tools are not compared: they are as
        // many as a request likes.
        let few = excluded.get(..MOST_COMPARED).unwrap_or(&excluded);
        let mut least: Vec<String> = Vec::new();
        for text in &excluded {
            let is_known = least.iter().take(MOST_COMPARED).any(|known| known == text);
            if !is_known && !few.iter().any(|other| other != text && text.contains(other.as_str())) {
                least.push(text.clone());
            }
        }
        least
    }
}

//! The automaton of a free text with fewer states: those from which a grammar allows the same are one.
//!
//! A text that excludes many markers, of which none leads anywhere, has a state for each beginning of each. llguidance
//! looks at all states at once, and gives up at some two thousand transitions.

use std::collections::HashMap;

use crate::until::{CharSet, Transition, Until, add_to};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextState {
    /// Which characters lead to which state.
    pub(super) next: Vec<(CharSet, usize)>,
    /// The characters that complete a stop.
    pub(super) stops: Vec<(char, usize)>,
    /// The stops that begin here and are not a part of the text.
    pub(super) peeks: Vec<usize>,
    pub(super) may_end: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct States {
    pub(super) all: Vec<TextState>,
    /// The state that each state of the automaton has become.
    of: Vec<usize>,
}

/// Where each character leads. `None` is nowhere.
struct Row {
    chars: Vec<Option<usize>>,
    other: Option<usize>,
    stops: Vec<(char, usize)>,
    peeks: Vec<usize>,
    may_end: bool,
}

impl States {
    /// The states of an automaton. `group` gives the stop that represents a stop, if it leads anywhere.
    pub(super) fn new(until: &Until, group: impl Fn(usize) -> Option<usize>) -> Self {
        let transitions = || until.states.iter().flat_map(|state| &state.transitions);
        let mut alphabet: Vec<char> = transitions()
            .flat_map(|transition| match transition {
                Transition::Char(chars, _) => chars.chars.clone(),
                Transition::Stop(char, _) => vec![*char],
                Transition::Peek(_) => Vec::new(),
            })
            .collect();
        alphabet.sort_unstable();
        alphabet.dedup();
        let rows: Vec<Row> =
            until.states.iter().map(|state| Row::new(&state.transitions, state.may_end, &alphabet, &group)).collect();
        let mut of: Vec<usize> = vec![0; rows.len()];
        let mut count = 0;
        loop {
            let mut known: HashMap<_, usize> = HashMap::new();
            let next: Vec<usize> = rows
                .iter()
                .zip(&of)
                .map(|(row, class)| {
                    let class_of = |to: &Option<usize>| to.map(|to| of[to]);
                    let chars: Vec<Option<usize>> = row.chars.iter().map(class_of).collect();
                    let key = (*class, chars, class_of(&row.other), &row.stops, &row.peeks, row.may_end);
                    let fresh = known.len();
                    *known.entry(key).or_insert(fresh)
                })
                .collect();
            let found = known.len();
            of = next;
            // Each round only splits classes.
            if found == count {
                break;
            }
            count = found;
        }
        let mut all: Vec<Option<TextState>> = vec![None; count];
        for (row, class) in rows.iter().zip(&of) {
            if let Some(state) = all.get_mut(*class).filter(|state| state.is_none()) {
                *state = Some(row.state(&alphabet, &of));
            }
        }
        Self { all: all.into_iter().flatten().collect(), of }
    }

    /// The state that a state of the automaton has become.
    pub(super) fn of(&self, state: usize) -> usize {
        self.of.get(state).copied().unwrap_or_default()
    }
}

impl Row {
    fn new(
        transitions: &[Transition],
        may_end: bool,
        alphabet: &[char],
        group: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let mut row =
            Self { chars: vec![None; alphabet.len()], other: None, stops: Vec::new(), peeks: Vec::new(), may_end };
        for transition in transitions {
            match transition {
                Transition::Char(chars, next) => {
                    for (char, to) in alphabet.iter().zip(&mut row.chars) {
                        if chars.chars.contains(char) != chars.negated {
                            *to = Some(*next);
                        }
                    }
                    if chars.negated {
                        row.other = Some(*next);
                    }
                }
                Transition::Stop(char, stop) => row.stops.extend(group(*stop).map(|stop| (*char, stop))),
                Transition::Peek(stop) => row.peeks.extend(group(*stop)),
            }
        }
        row.stops.sort_unstable();
        row.peeks.sort_unstable();
        row.stops.dedup();
        row.peeks.dedup();
        row
    }

    fn state(&self, alphabet: &[char], of: &[usize]) -> TextState {
        let class = |to: Option<usize>| to.and_then(|to| of.get(to).copied());
        let other = class(self.other);
        let mut next: Vec<(usize, Vec<char>)> = Vec::new();
        let mut elsewhere: Vec<char> = Vec::new();
        for (char, to) in alphabet.iter().zip(&self.chars) {
            let to = class(*to);
            if to != other || to.is_none() {
                elsewhere.push(*char);
                if let Some(to) = to {
                    add_to(&mut next, to, *char);
                }
            }
        }
        let sets = next.into_iter().map(|(to, chars)| (CharSet { negated: false, chars }, to));
        let other = other.map(|to| (CharSet { negated: true, chars: elsewhere }, to));
        TextState {
            next: sets.chain(other).collect(),
            stops: self.stops.clone(),
            peeks: self.peeks.clone(),
            may_end: self.may_end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::until::Stop;

    #[test]
    fn markers_that_lead_nowhere_share_their_ends() {
        let stop = |core| Stop { core, confirm: Vec::new(), peek: false };
        let until = Until::new(&[stop("<a>"), stop("<b>"), stop("<c>")]);
        let count = |used: &[usize]| States::new(&until, |stop| used.contains(&stop).then_some(stop)).all.len();
        // The beginning, `<`, and for each marker its letter.
        assert_eq!((until.states.len(), count(&[0, 1, 2]), count(&[0]), count(&[])), (5, 5, 4, 3));
        // Two stops that lead to the same.
        assert_eq!(States::new(&until, |stop| Some(stop.min(1))).all.len(), 4);
        let states = States::new(&until, |stop| (stop == 0).then_some(0));
        assert_eq!((states.of(0), states.all[states.of(0)].may_end), (0, true));
        // Every state reads every text that it read before.
        for text in ["", "x<", "<a", "<b<a", "é<"] {
            let mut at = states.of(0);
            for char in text.chars() {
                let next = states.all[at].next.iter().find(|(set, _)| set.chars.contains(&char) != set.negated);
                at = next.unwrap_or_else(|| panic!("{text:?}")).1;
            }
            assert_eq!(states.all[at].stops.contains(&('>', 0)), text.ends_with("<a"), "{text:?}");
        }
    }
}

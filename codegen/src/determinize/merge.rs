//! What is done with the states once all are there: those that behave alike become one, and each gets its search.

use std::collections::HashMap;

use unjinja_runtime::abi::{Action, Hole, Marker, Markers, State, StateId, Transition};

use super::States;

impl States {
    /// Merges states that behave alike. So later calls are read by the states of the first call. `markers` are those of each state.
    pub(super) fn merged(mut self, mut markers: Vec<Vec<Marker>>) -> Self {
        let shapes = self.shapes(&markers);
        let mut classes = vec![0; self.list.len()];
        loop {
            let mut seen = HashMap::new();
            let class = |index| {
                let fresh = seen.len();
                *seen.entry(self.behaviour(index, shapes[index], &classes)).or_insert(fresh)
            };
            let next: Vec<usize> = (0..self.list.len()).map(class).collect();
            if next == classes {
                break;
            }
            classes = next;
        }
        let count = classes.iter().max().map_or(0, |most| most + 1);
        let representatives: Vec<usize> =
            (0..count).filter_map(|class| classes.iter().position(|other| *other == class)).collect();
        self.rules = representatives.iter().map(|index| self.rules[*index].clone()).collect();
        let mut states = Vec::with_capacity(count);
        for index in representatives {
            let mut state = std::mem::replace(&mut self.list[index], State::new("", None));
            state.markers = Markers::of(std::mem::take(&mut markers[index]).into());
            renumber(&mut state, &classes);
            states.push(state);
        }
        let id = |state: StateId| StateId(classes[usize::from(state.0)] as u16);
        (self.start, self.content) = (id(self.start), id(self.content));
        for state in [&mut self.reasoning, &mut self.reasoning_start, &mut self.unparsed] {
            *state = state.map(id);
        }
        self.list = states;
        self
    }

    /// For each state a number; two states have the same one if they differ in nothing but their names and in where their
    /// transitions lead. The states are compared here once, and only numbers after that: markers are long. Nearly all comparisons end
    /// with the sketch, which took a sixth of an analysis before there was one.
    fn shapes(&self, markers: &[Vec<Marker>]) -> Vec<usize> {
        let mut seen: Vec<(u64, usize)> = Vec::new();
        let shape = |index: usize| {
            let sketch = sketch(&markers[index]);
            let alike =
                |other: usize| are_alike(&self.list[other], &self.list[index]) && markers[other] == markers[index];
            seen.iter().position(|(of_other, other)| *of_other == sketch && alike(*other)).unwrap_or_else(|| {
                seen.push((sketch, index));
                seen.len() - 1
            })
        };
        (0..self.list.len()).map(shape).collect()
    }

    /// What tells a state from others: its shape, and the classes of the states that it leads to.
    fn behaviour(&self, index: usize, shape: usize, classes: &[usize]) -> Vec<usize> {
        let state = &self.list[index];
        let targets = state.all_transitions().map(|to| classes[usize::from(to.next.0)]);
        // The state to return to when a speculative call fails is a part of how a state behaves.
        let speculates = state.transitions.iter().any(|transition| transition.does(&Action::Speculate));
        let fallback = speculates.then(|| classes[self.fallback(index)]);
        std::iter::once(shape).chain(targets).chain(fallback).collect()
    }

    /// The same rule as [`Program::fallback`](unjinja_runtime::Program::fallback), before there is a program.
    fn fallback(&self, state: usize) -> usize {
        match self.list[state].hole {
            Some(Hole::Text(_)) => state,
            _ => usize::from(self.content.0),
        }
    }

    /// Chooses a search for every state that searches text for markers.
    pub(super) fn with_searches(mut self) -> Self {
        for state in &mut self.list {
            if state.is_searched() {
                state.markers = state.markers.clone().searched();
            }
        }
        self
    }
}

/// Whether two states differ at most in their names, in their markers, and in where their transitions lead.
fn are_alike(one: &State, other: &State) -> bool {
    let same = |(one, other): (&Transition, &Transition)| {
        (one.key, &one.actions, one.origin) == (other.key, &other.actions, other.origin)
    };
    let [of_one, of_other] = [one, other].map(|state| state.all_transitions());
    (&one.hole, &one.end, one.exact) == (&other.hole, &other.end, other.exact)
        && one.transitions.len() == other.transitions.len()
        && one.otherwise.len() == other.otherwise.len()
        && of_one.zip(of_other).all(same)
}

/// A number that tells most lists of markers apart.
fn sketch(markers: &[Marker]) -> u64 {
    let next = |sketch: u64, value: u64| sketch.wrapping_mul(31).wrapping_add(value);
    let bytes = markers.iter().flat_map(|marker| marker.core.bytes().chain([0]));
    bytes.fold(0, |sketch, byte| next(sketch, u64::from(byte)))
}

fn renumber(state: &mut State, numbers: &[usize]) {
    let renumber = |to: &mut Transition| to.next = StateId(numbers[usize::from(to.next.0)] as u16);
    state.transitions.change(renumber);
    state.otherwise.change(renumber);
}

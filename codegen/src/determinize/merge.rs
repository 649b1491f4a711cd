//! What is done with the states once all are there: those that behave alike become one, and each gets its search.

use std::borrow::Cow;
use std::collections::HashMap;

use unjinja_runtime::abi_3::{Action, Hole, State, StateId};

use super::States;

impl States {
    /// Merges states that behave alike. So later calls are read by the states of the first call.
    pub(super) fn merged(mut self) -> Self {
        let shapes = self.shapes();
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
        let mut states: Vec<State> = representatives.iter().map(|&index| self.list[index].clone()).collect();
        for state in &mut states {
            renumber(state, &classes);
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
    /// transitions lead. The states are compared here once, and only numbers after that: markers are long.
    fn shapes(&self) -> Vec<usize> {
        let nowhere = vec![0; self.list.len()];
        let mut seen: Vec<State> = Vec::new();
        let shape = |state: &State| {
            let mut state = State { name: Cow::Borrowed(""), ..state.clone() };
            renumber(&mut state, &nowhere);
            seen.iter().position(|other| *other == state).unwrap_or_else(|| {
                seen.push(state);
                seen.len() - 1
            })
        };
        self.list.iter().map(shape).collect()
    }

    /// What tells a state from others: its shape, and the classes of the states that it leads to.
    fn behaviour(&self, index: usize, shape: usize, classes: &[usize]) -> Vec<usize> {
        let state = &self.list[index];
        let targets = state.transitions.iter().chain(&state.otherwise).map(|to| classes[usize::from(to.next.0)]);
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
                state.markers = Cow::Owned(state.markers.clone().into_owned().searched());
            }
        }
        self
    }
}

/// Renumbers the targets of a state's transitions.
fn renumber(state: &mut State, numbers: &[usize]) {
    let otherwise = state.otherwise.iter_mut();
    for transition in state.transitions.to_mut().iter_mut().chain(otherwise) {
        transition.next = StateId(numbers[usize::from(transition.next.0)] as u16);
    }
}

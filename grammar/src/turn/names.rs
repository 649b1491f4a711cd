//! The rules of the names of functions and arguments, with the markers after them.

use unjinja_runtime::abi::{Action, Hole, Marker, StateId, Transition};

use super::{Call, Offered, Position, TurnRules};
use crate::expr::{Class, Expr};
use crate::graph::{Alternative, Piece};
use crate::tool_rules::Written;

impl<'a> TurnRules<'a> {
    /// Any name, and the markers after it.
    pub(crate) fn any_name(&mut self, at: Position) -> Vec<Alternative> {
        let call = if self.state(at.state).hole == Some(Hole::Name) { Call::Any } else { at.call };
        let name = Piece::Expr(self.builder.some(self.name_class(at.state)));
        let mut alternatives = Vec::new();
        for (marker, transition) in self.transitions(at) {
            let layout = if self.spaced_before(marker) { self.space() } else { Piece::Expr(Expr::EMPTY) };
            for rest in self.marker_alternatives(Position { call, ..at }, &[(marker, transition)], None) {
                alternatives.push([name.clone(), layout.clone()].into_iter().chain(rest).collect());
            }
        }
        alternatives
    }

    /// The characters of a name that is not known in advance. Punctuation is left out unless it joins words, and so are
    /// the first characters of the markers that end the name.
    pub(crate) fn name_class(&self, state: StateId) -> Class {
        let joining = ['_', '-', '.', ':', '/', '$'].map(|char| (char, char));
        let words = [('a', 'z'), ('A', 'Z'), ('0', '9'), ('\u{a1}', char::MAX)];
        let firsts = self.state(state).markers.list().iter().filter_map(|marker| marker.core.chars().next());
        Class::ranges(&[&words[..], &joining].concat()).intersect(&Class::of(&firsts.collect::<Vec<_>>()).negate())
    }

    /// A marker that repeats a name, with any name.
    pub(super) fn any_repeated_name(&self, state: StateId, marker: &Marker) -> Expr {
        let (before, after) = marker.around_name().unwrap_or_default();
        let name = self.builder.some(self.name_class(state));
        self.builder.sequence(&[self.builder.text(before), name, self.builder.text(after)])
    }

    pub(super) fn name(&mut self, at: Position) -> Vec<Alternative> {
        let names: Vec<(usize, String)> = match &self.limits.offered {
            Some(Offered::These(tools)) => {
                tools.iter().enumerate().map(|(index, tool)| (index, tool.name.clone())).collect()
            }
            Some(Offered::Any) => return self.any_name(at),
            None => return Vec::new(),
        };
        let mut alternatives = Vec::new();
        for (tool, name) in names {
            let call = Call::Tool(tool, Written::default());
            let mut transitions: Vec<(&'a Marker, &'a Transition)> = Vec::new();
            let mut labels: Vec<Alternative> = Vec::new();
            for (marker, transition) in self.transitions(at) {
                let mut alternative = vec![self.builder.text(&*name)];
                if let Some(Action::StartLabelled(label)) =
                    transition.actions.iter().find(|action| matches!(action, Action::StartLabelled(_)))
                {
                    let digits = self.builder.some(Class::ranges(&[('0', '9')]));
                    let index = self.builder.sequence(&[self.builder.text(label.separator.clone()), digits]);
                    alternative = vec![
                        self.builder.option(self.builder.text(label.prefix.clone())),
                        self.builder.text(&*name),
                        self.builder.option(index),
                    ];
                }
                let mut alternative: Alternative = alternative.into_iter().map(Piece::Expr).collect();
                if self.spaced_before(marker) {
                    alternative.push(self.space());
                }
                transitions.push((marker, transition));
                labels.push(alternative);
            }
            // Markers after the same name share one alternative.
            let mut lead: Vec<(Alternative, Vec<(&'a Marker, &'a Transition)>)> = Vec::new();
            for (alternative, transition) in labels.into_iter().zip(transitions) {
                match lead.iter_mut().find(|(other, _)| *other == alternative) {
                    Some((_, transitions)) => transitions.push(transition),
                    None => lead.push((alternative, vec![transition])),
                }
            }
            for (alternative, transitions) in lead {
                for rest in self.marker_alternatives(Position { call, ..at }, &transitions, None) {
                    alternatives.push(alternative.iter().cloned().chain(rest).collect());
                }
            }
        }
        alternatives
    }
}

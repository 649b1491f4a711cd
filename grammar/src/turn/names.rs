//! Names of functions and arguments, and the markers behind them.

use unjinja_runtime::abi_2::{Action, Hole, Marker, StateId, Transition};

use super::{At, Call, Offered, Piece, Turn, Way, spaced_before};
use crate::tool_rules::Done;
use crate::values::NAME;
use crate::{Class, Expr, option, repeat, sequence, some, text};

impl<'a> Turn<'a> {
    /// Any name, and the markers behind it.
    pub(crate) fn any_name(&mut self, at: At) -> Vec<Way> {
        let call = if self.state(at.state).hole == Some(Hole::Name) { Call::Any } else { at.call };
        let name = Piece::Expr(repeat(self.name_class(at.state), 1, Some(NAME)));
        let mut ways = Vec::new();
        for (marker, step) in self.steps(at) {
            let layout = if spaced_before(marker) { self.space() } else { Piece::Expr(Expr::EMPTY) };
            for rest in self.marker_ways(At { call, ..at }, &[(marker, step)], None) {
                ways.push([name.clone(), layout.clone()].into_iter().chain(rest).collect());
            }
        }
        ways
    }

    /// The characters that a name is made of where it is not known: no punctuation but what joins words, and none
    /// that its markers begin with.
    pub(crate) fn name_class(&self, state: StateId) -> Class {
        let joining = ['_', '-', '.', ':', '/', '$'].map(|char| (char, char));
        let words = [('a', 'z'), ('A', 'Z'), ('0', '9'), ('\u{a1}', char::MAX)];
        let firsts = self.state(state).markers.list().iter().filter_map(|marker| marker.core.chars().next());
        Class::ranges(words.into_iter().chain(joining)).intersect(&Class::of(firsts).negate())
    }

    pub(super) fn name(&mut self, at: At) -> Vec<Way> {
        let names: Vec<(usize, String)> = match &self.rules.offered {
            Some(Offered::These(tools)) => {
                tools.iter().enumerate().map(|(index, tool)| (index, tool.name.clone())).collect()
            }
            Some(Offered::Any) => return self.any_name(at),
            None => return Vec::new(),
        };
        let mut ways = Vec::new();
        for (tool, name) in names {
            let call = Call::Tool(tool, Done::default());
            let mut steps: Vec<(&'a Marker, &'a Transition)> = Vec::new();
            let mut labels: Vec<Way> = Vec::new();
            for (marker, step) in self.steps(at) {
                let mut way = vec![text(&*name)];
                if let Some(Action::StartLabelled { prefix, separator }) =
                    step.actions.iter().find(|act| matches!(act, Action::StartLabelled { .. }))
                {
                    let digits = some(Class::ranges([('0', '9')]));
                    let index = sequence([text(separator.clone()), digits]);
                    way = vec![option(text(prefix.clone())), text(&*name), option(index)];
                }
                let mut way: Way = way.into_iter().map(Piece::Expr).collect();
                if spaced_before(marker) {
                    way.push(self.space());
                }
                steps.push((marker, step));
                labels.push(way);
            }
            // Markers that lead to the same place stand together.
            let mut lead: Vec<(Way, Vec<(&'a Marker, &'a Transition)>)> = Vec::new();
            for (way, step) in labels.into_iter().zip(steps) {
                match lead.iter_mut().find(|(other, _)| *other == way) {
                    Some((_, steps)) => steps.push(step),
                    None => lead.push((way, vec![step])),
                }
            }
            for (way, steps) in lead {
                for rest in self.marker_ways(At { call, ..at }, &steps, None) {
                    ways.push(way.iter().cloned().chain(rest).collect());
                }
            }
        }
        ways
    }
}

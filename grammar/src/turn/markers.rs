//! What may come in a state: the ways through its markers, to its end, through the answer that a schema asks for.

use unjinja_runtime::abi_2::{Action, Confirm, Hole, Marker, State, Transition};

use super::{At, Piece, Turn, Way, is_silent};
use crate::{Expr, choice, option, text};

impl<'a> Turn<'a> {
    /// Only markers may stand here.
    pub(super) fn markers(&mut self, at: At, node: &'a State) -> Vec<Way> {
        let is_text = |turn: &Self, step: &Transition| matches!(turn.state(step.next).hole, Some(Hole::Text(_)));
        let otherwise = node.otherwise.as_ref().and_then(|step| Some((step, self.go(at, step)?)));
        let start = at.state == self.program.start && self.rules.response.is_none();
        let mut steps = self.steps(at);
        if at.state == self.program.start && self.rules.response.is_some() {
            // What a model repeats of the prompt would be text, and no answer.
            steps.retain(|(marker, step)| !is_silent(step) || marker.confirm == Confirm::End);
        }
        if let Some((step, _)) = otherwise
            && start
            && is_text(self, step)
        {
            // What follows reads them as well.
            let follow = self.state(step.next);
            let known = |marker: &Marker, step: &Transition| {
                follow.arrows().any(|(m, s)| m.core == marker.core && s.leads_like(step))
            };
            steps.retain(|(marker, s)| !known(marker, s) && (!is_silent(s) || s.next != step.next));
        }
        let lead = if start { None } else { Some(self.space()) };
        let mut ways = self.marker_ways(at, &steps, lead);
        if let Some((step, to)) = otherwise
            && !(self.is_over(at) && is_text(self, step))
        {
            ways.push(vec![self.to(to)]);
        }
        self.end(at, node, &mut ways);
        ways
    }

    /// Adds the end of the turn, where it may be.
    fn end(&mut self, at: At, node: &State, ways: &mut Vec<Way>) {
        let Some(actions) = &node.end else { return };
        let to = self.perform(actions, at);
        if to.is_some_and(|to| self.may_end(to)) {
            ways.push(vec![self.space()]);
        }
    }

    /// The ways that begin with a marker; those that lead to the same place are one.
    pub(super) fn marker_ways(
        &mut self,
        at: At,
        steps: &[(&'a Marker, &'a Transition)],
        lead: Option<Piece>,
    ) -> Vec<Way> {
        let mut groups: Vec<(At, bool, Vec<Expr>)> = Vec::new();
        for (marker, step) in steps {
            let Some(to) = self.follow(at, marker, step) else { continue };
            let core = text(marker.consumed());
            let spaced = self.spaced_after(marker, to);
            match groups.iter_mut().find(|(other, other_spaced, _)| (*other, *other_spaced) == (to, spaced)) {
                Some((_, _, cores)) => cores.push(core),
                None => groups.push((to, spaced, vec![core])),
            }
        }
        let mut ways = Vec::with_capacity(groups.len());
        for (to, spaced, cores) in groups {
            let mut way: Way = lead.iter().cloned().collect();
            way.push(Piece::Expr(choice(cores)));
            if spaced {
                way.push(self.space());
            }
            way.push(self.to(to));
            ways.push(way);
        }
        ways
    }

    /// Whether white space behind a marker has to be allowed here: other states do it by themselves.
    fn spaced_after(&self, marker: &Marker, to: At) -> bool {
        !marker.after.is_empty()
            && matches!(self.state(to.state).hole, Some(Hole::Name) | Some(Hole::Id) | Some(Hole::ArgumentName))
    }

    /// Behind a call, or behind the answer: another call, or the end.
    pub(super) fn after(&mut self, at: At, node: &'a State) -> Vec<Way> {
        let mut steps = self.steps(at);
        steps.retain(|(marker, step)| {
            let frame = at.answered && step.actions.contains(&Action::CloseContent);
            marker.confirm == Confirm::End || step.actions.contains(&Action::Speculate) || frame
        });
        let lead = Some(self.space());
        let mut ways = self.marker_ways(at, &steps, lead);
        self.end(at, node, &mut ways);
        ways
    }

    /// The answer that a schema asks for, and what may stand before it.
    pub(super) fn response(&mut self, at: At) -> Vec<Way> {
        let mut steps = self.steps(at);
        steps.retain(|(marker, step)| marker.confirm != Confirm::End && !step.actions.contains(&Action::CloseContent));
        let lead = Some(self.space());
        let mut ways = self.marker_ways(at, &steps, lead);
        if let Some(schema) = self.rules.response
            && !self.rules.required
        {
            let Some(value) = self.values.response(&mut self.builder, schema) else { return ways };
            let value = Piece::Expr(value);
            let space = self.space();
            let to = self.to(At { answered: true, ..at });
            let fence = |ticks: &str| Piece::Expr(text(ticks));
            let label = Piece::Expr(option(text("json")));
            ways.push(vec![space.clone(), value.clone(), to.clone()]);
            ways.push(vec![
                space.clone(),
                fence("```"),
                label,
                fence("\n"),
                space.clone(),
                value,
                space,
                fence("```"),
                to,
            ]);
        }
        ways
    }

    /// A value that ends by itself.
    pub(super) fn value(&mut self, at: At, node: &State, value: Option<Expr>) -> Vec<Way> {
        let to = node.otherwise.as_ref().and_then(|step| self.go(at, step));
        match (to, value) {
            (Some(to), Some(value)) => vec![vec![self.space(), Piece::Expr(value), self.to(to)]],
            _ => Vec::new(),
        }
    }

    /// What is left of the markers of a state, of which the prompt wrote the beginning.
    pub(super) fn rest_of_markers(&mut self, at: At, read: &str) -> Vec<Way> {
        let mut ways = Vec::new();
        for (marker, step) in self.steps(at) {
            if let Some(rest) = marker.core.strip_prefix(read)
                && let Some(to) = self.follow(at, marker, step)
            {
                ways.push(vec![Piece::Expr(text(rest)), self.to(to)]);
            }
        }
        ways
    }
}

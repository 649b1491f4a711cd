//! The alternatives of a position: through its markers, to the end of the turn, to a value, or through an answer that
//! has to match a schema.

use unjinja_runtime::abi::{Action, Hole, Marker, NameOf, State, Transition};

use super::{Call, Exit, Offered, Position, TurnRules, is_canonical, is_irrelevant};
use crate::expr::Expr;
use crate::graph::{Alternative, Piece};

impl<'a> TurnRules<'a> {
    /// The alternatives of a state in which only markers may come.
    pub(super) fn markers(&mut self, at: Position, node: &'a State) -> Vec<Alternative> {
        let is_text =
            |turn: &Self, transition: &Transition| matches!(turn.state(transition.next).hole, Some(Hole::Text(_)));
        let otherwise = node.otherwise.first().and_then(|transition| Some((transition, self.target(at, transition)?)));
        let start = at.state == self.program.start && self.limits.response.is_none();
        let mut transitions = self.transitions(at);
        if at.state == self.program.start && self.limits.response.is_some() {
            // A repeated turn start would be read as text before the answer, so it is not allowed.
            // Nor is the end of an answer before it.
            transitions.retain(|(marker, transition)| {
                (!is_irrelevant(transition) || marker.confirm.is_end()) && !transition.does(&Action::CloseContent)
            });
        }
        if let Some((transition, _)) = otherwise
            && start
            && is_text(self, transition)
        {
            // The next state accepts these markers too.
            let allowed_target = self.state(transition.next);
            let known = |marker: &Marker, transition: &Transition| {
                allowed_target.arrows().any(|(m, s)| m.core == marker.core && s.leads_like(transition))
            };
            transitions.retain(|(marker, s)| !known(marker, s) && (!is_irrelevant(s) || s.next != transition.next));
        }
        let lead = if start { None } else { Some(self.space()) };
        let mut alternatives = self.marker_alternatives(at, &transitions, lead);
        if let Some((transition, to)) = otherwise
            && !(self.text_is_over(at) && is_text(self, transition))
        {
            let mut alternative = vec![self.to(to)];
            // The name of a further call follows the white space between calls.
            if transition.does(&Action::Speculate) && self.state(to.state).hole == Some(Hole::Name) {
                alternative.insert(0, self.space());
            }
            alternatives.push(alternative);
        }
        self.end(at, node, &mut alternatives);
        alternatives
    }

    fn end(&mut self, at: Position, node: &State, alternatives: &mut Vec<Alternative>) {
        let Some(actions) = &node.end else { return };
        let to = self.perform(actions, at);
        if to.is_some_and(|to| self.may_end(to)) {
            alternatives.push(vec![self.space()]);
        }
    }

    /// The alternatives that begin with a marker. Markers that lead to the same position share one.
    pub(super) fn marker_alternatives(
        &mut self,
        at: Position,
        transitions: &[(&'a Marker, &'a Transition)],
        lead: Option<Piece>,
    ) -> Vec<Alternative> {
        let mut groups: Vec<(Exit, Vec<Expr>)> = Vec::new();
        for (marker, transition) in transitions {
            let Some(to) = self.allowed_target(at, marker, transition) else { continue };
            let core = self.core(at, marker);
            let exit = (to, self.spaced_after(marker, to));
            match groups.iter_mut().find(|(other, _)| *other == exit) {
                Some((_, cores)) => cores.push(core),
                None => groups.push((exit, vec![core])),
            }
        }
        let mut alternatives = Vec::with_capacity(groups.len());
        for (exit, cores) in groups {
            let begin = lead.iter().cloned().chain([Piece::Expr(self.builder.choice(&cores))]).collect();
            alternatives.push(self.then(begin, exit));
        }
        alternatives
    }

    /// The text of a marker, with the name of the open call's function if it repeats that.
    fn core(&self, at: Position, marker: &Marker) -> Expr {
        if !marker.take || !marker.is_named_by(NameOf::Function) {
            return self.builder.text(marker.consumed());
        }
        let name = match (at.call, &self.limits.offered) {
            (Call::Tool(number, _), Some(Offered::These(tools))) => Some(tools[number].name.clone()),
            _ => None,
        };
        match name {
            Some(name) => self.builder.text(marker.core_for(&name)),
            None => self.any_repeated_name(at.state, marker),
        }
    }

    /// Whether white space after a marker must be allowed here. Other states than these allow it themselves.
    pub(super) fn spaced_after(&self, marker: &Marker, to: Position) -> bool {
        let state = self.state(to.state);
        // Where only tolerated markers may come, the hole is next.
        let next = match (&state.hole, state.otherwise.first()) {
            (None, Some(otherwise)) if !state.transitions.iter().any(is_canonical) => self.state(otherwise.next),
            _ => state,
        };
        marker.take
            && !marker.after.is_empty()
            && matches!(next.hole, Some(Hole::Name) | Some(Hole::Id) | Some(Hole::ArgumentName))
    }

    /// After a call or the answer: another call, or the end of the turn.
    pub(super) fn after(&mut self, at: Position, node: &'a State) -> Vec<Alternative> {
        let mut transitions = self.transitions(at);
        transitions.retain(|(marker, transition)| {
            let frame = at.answered && transition.actions.contains(&Action::CloseContent);
            marker.confirm.is_end() || transition.actions.contains(&Action::Speculate) || frame
        });
        let lead = Some(self.space());
        let mut alternatives = self.marker_alternatives(at, &transitions, lead);
        self.end(at, node, &mut alternatives);
        alternatives
    }

    /// The answer that has to match a schema, and the markers that may come before it.
    pub(super) fn response(&mut self, at: Position) -> Vec<Alternative> {
        let mut transitions = self.transitions(at);
        transitions.retain(|(marker, transition)| {
            !marker.confirm.is_end() && !transition.actions.contains(&Action::CloseContent)
        });
        let lead = Some(self.space());
        let mut alternatives = self.marker_alternatives(at, &transitions, lead);
        if let Some(schema) = self.limits.response
            && !self.limits.required
        {
            let Some(value) = self.values.response(&mut self.builder, schema) else { return alternatives };
            let value = Piece::Expr(value);
            let space = self.space();
            let to = self.to(Position { answered: true, ..at });
            let fence = |ticks: &str| Piece::Expr(self.builder.text(ticks));
            let label = Piece::Expr(self.builder.option(self.builder.text("json")));
            alternatives.push(vec![space.clone(), value.clone(), to.clone()]);
            alternatives.push(vec![
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
        alternatives
    }

    /// A value that needs no marker to end.
    pub(super) fn value(&mut self, at: Position, node: &State, value: Option<Expr>) -> Vec<Alternative> {
        let to = node.otherwise.first().and_then(|transition| self.target(at, transition));
        match (to, value) {
            (Some(to), Some(value)) => vec![vec![self.space(), Piece::Expr(value), self.to(to)]],
            _ => Vec::new(),
        }
    }

    /// The rest of the markers whose beginning the prompt already wrote.
    pub(super) fn rest_of_markers(&mut self, at: Position, read: &str) -> Vec<Alternative> {
        let mut alternatives = Vec::new();
        for (marker, transition) in self.transitions(at) {
            if let Some(rest) = marker.core.strip_prefix(read)
                && let Some(to) = self.allowed_target(at, marker, transition)
            {
                alternatives
                    .push(self.then(vec![Piece::Expr(self.builder.text(rest))], (to, self.spaced_after(marker, to))));
            }
        }
        alternatives
    }
}

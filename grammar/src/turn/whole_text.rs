//! Free text as one thing: a rule for each marker that ends it. The engines that know free text get it in this form.

use unjinja_runtime::abi::{Action, Hole, Marker, Transition};

use super::{NodeKey, Offered, Texts, TurnRules};
use crate::free_text::TextPart;
use crate::graph::{Alternative, Piece};
use crate::syntax::json_text;

impl TurnRules<'_> {
    /// The alternatives of a free text of at most `max` characters: up to each of its markers, and to the end of the turn.
    pub(crate) fn whole_text(&mut self, key: NodeKey, max: Option<u32>) -> Vec<Alternative> {
        let table = self.table(key);
        let text = self.builder.add_text(table.text.clone());
        let at = match key {
            NodeKey::Text(at, _) | NodeKey::Position(at) => Some(at),
            NodeKey::Value { .. } | NodeKey::Named { .. } => None,
        };
        let is_text = |at| matches!(self.state(at).hole, Some(Hole::Text(_)));
        let name = if at.is_some_and(|at| is_text(at.state)) { "free-text" } else { "text" };
        let mut alternatives: Vec<Alternative> = Vec::new();
        for (stop, exits) in table.exits.iter().enumerate() {
            // What would be a marker is no text, and leads nowhere.
            if exits.is_empty() {
                continue;
            }
            let rule = self.builder.text_rule(name, TextPart { text, stop: Some(stop), from: 0, max });
            alternatives.extend(self.exits(key, exits, Some(Piece::Expr(rule.into()))));
        }
        if self.turn_may_end_in(key) {
            let rule = self.builder.text_rule(name, TextPart { text, stop: None, from: 0, max });
            alternatives.push(vec![Piece::Expr(rule.into())]);
        }
        alternatives
    }

    /// How a call begins after a marker that is only the punctuation of JSON. A grammar for the whole turn must not take every
    /// brace of an answer for a call, unless a call is required. A key of calls is enough: what may follow it has many forms.
    pub(super) fn beginnings(&self, marker: &Marker, step: &Transition) -> Vec<String> {
        let Some(Hole::Object(shape)) = &self.state(step.next).hole else { return Vec::new() };
        let brace = match &*marker.core {
            "{" => "",
            "[" => "{",
            _ => return Vec::new(),
        };
        let asked = matches!(self.limits.texts, Texts::Whole { .. }) && !self.limits.required;
        if !asked || !shape.strict || !step.does(&Action::Speculate) {
            return Vec::new();
        }
        let mut all: Vec<String> = match &self.limits.offered {
            _ if !shape.name_is_key => {
                let keys = match &*shape.function_field {
                    "" => [&*shape.name_field, &*shape.args_field],
                    function => [function, function],
                };
                keys.iter().map(|key| format!("{brace}\"{key}\"")).collect()
            }
            Some(Offered::These(tools)) => {
                tools.iter().map(|tool| format!("{brace}{}", json_text(&tool.name))).collect()
            }
            _ => vec![format!("{brace}\"")],
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

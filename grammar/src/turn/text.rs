//! The rules of free text up to the markers that end it.

use std::rc::Rc;
use std::sync::Arc;

use unjinja_runtime::abi::{Action, Confirm, Hole, InText, Marker, NameKind, StateId, Text};

use super::{Exit, NodeKey, Position, Table, Texts, TurnRules, is_canonical, may_be_text};
use crate::counted::{Between, counted, counted_each};
use crate::expr::Expr;
use crate::free_text::FreeText;
use crate::graph::{Alternative, Piece};
use crate::text_rules::class;
use crate::until::{Stop, Transition as TextTransition};

impl TurnRules<'_> {
    pub(super) fn table(&mut self, key: NodeKey) -> Rc<Table> {
        let key = match key {
            NodeKey::Text(at, _) => NodeKey::Text(at, 0),
            NodeKey::Value { state, names, .. } => NodeKey::Value { state, names, at: 0 },
            NodeKey::Named { state, name, .. } => NodeKey::Named { state, name, at: 0 },
            NodeKey::Position(_) => key,
        };
        if let Some(table) = self.tables.get(&key) {
            return Rc::clone(table);
        }
        let table = self.with_stops(key, |stops, _, exits| {
            let text = FreeText::new(stops);
            Rc::new(Table { text: Arc::new(text), exits })
        });
        self.tables.insert(key, Rc::clone(&table));
        table
    }

    /// The markers at which a text ends, each with the white space that the template writes before it, and where they lead.
    fn with_stops<R>(&self, key: NodeKey, make: impl FnOnce(&[Stop<'_>], &[&str], Vec<Vec<Exit>>) -> R) -> R {
        let at = match key {
            NodeKey::Text(at, _) | NodeKey::Position(at) => at,
            NodeKey::Value { state, .. } | NodeKey::Named { state, .. } => Position::new(state),
        };
        let name = match key {
            NodeKey::Named { name, .. } => self.names.get(name).cloned(),
            _ => None,
        };
        let declared = match key {
            NodeKey::Value { names, .. } => self.declared.get(names).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        let transitions = self.markers_in_text(at);
        let next: Vec<Vec<String>> = transitions.iter().map(|(marker, _)| self.next_names(marker, &declared)).collect();
        let names: Vec<Vec<String>> = transitions.iter().map(|(_, step)| self.offered_names(step.next)).collect();
        let begins: Vec<Vec<String>> = transitions.iter().map(|(marker, step)| self.beginnings(marker, step)).collect();
        let cores: Vec<Text> =
            transitions.iter().map(|(marker, _)| marker.core_for(name.as_deref().unwrap_or_default())).collect();
        let mut stops: Vec<Stop<'_>> = Vec::new();
        let mut before: Vec<&str> = Vec::new();
        let mut exits: Vec<Vec<Exit>> = Vec::new();
        let all = transitions.into_iter().zip(&cores).zip(next.iter().zip(names.iter().zip(&begins)));
        for (((marker, transition), core), (next, (named, begins))) in all {
            if core.is_empty() {
                continue;
            }
            // What templates do not write after text ends no text. `text_from_its_start` has it.
            let to = self.allowed_target(at, marker, transition).filter(|_| marker.in_text != InText::Text);
            if to.is_none() && may_be_text(marker) && named.is_empty() {
                continue;
            }
            let number = stops.iter().position(|stop| stop.core == core).unwrap_or(stops.len());
            if number == stops.len() {
                let tolerated = !is_canonical(transition) && self.state(at.state).hole == Some(Hole::Value);
                let confirm = match &marker.confirm {
                    _ if tolerated => Vec::new(),
                    _ if !begins.is_empty() => begins.iter().map(|begin| &**begin).collect(),
                    // Any name may come next.
                    Confirm::Next(_) if next.iter().any(String::is_empty) => Vec::new(),
                    Confirm::Next(cores) => {
                        let written = cores.iter().filter(|core| self.is_written(transition.next, core));
                        written.map(|core| &**core).chain(next.iter().map(|next| &**next)).collect()
                    }
                    Confirm::Nothing => named.iter().map(|name| &**name).collect(),
                    Confirm::End(_) => Vec::new(),
                };
                stops.push(Stop { core, confirm, peek: !marker.take });
                before.push(&*marker.before);
                exits.push(Vec::new());
            }
            exits[number].extend(to.map(|to| (to, self.spaced_after(marker, to))));
        }
        make(&stops, &before, exits)
    }

    /// Whether a template writes this text at a state. The parser knows more of them, and what it takes for proof that a marker came
    /// would make the automaton of a text several times as large.
    fn is_written(&self, state: StateId, text: &str) -> bool {
        let is_it = |marker: &Marker| text.ends_with(marker.around_name().map_or(&*marker.core, |(before, _)| before));
        let mut arrows = self.state(state).arrows().filter(|(marker, _)| is_it(marker)).peekable();
        arrows.peek().is_none() || arrows.any(|(_, transition)| is_canonical(transition))
    }

    /// The raw text of an argument with a limited length, and the marker that closes it. `layout` is white space after the
    /// marker that opens it. The flag is [`counted`]'s.
    pub(super) fn counted_text(&mut self, key: NodeKey, layout: &str, max: u32) -> Option<(Expr, bool)> {
        let cached = (key, layout.to_owned(), max);
        if let Some(known) = self.counted.get(&cached) {
            return *known;
        }
        let mut builder = std::mem::take(&mut self.builder);
        let strictly = matches!(self.limits.texts, Texts::States);
        let made = self.with_stops(key, |stops, before, exits| {
            let ends = exits.iter().enumerate().filter(|(_, exits)| !exits.is_empty()).map(|(stop, _)| stop).collect();
            let between = Between { stops: stops.to_vec(), ends, before: before.to_vec(), after: layout };
            counted(&mut builder, "text", &between, max, strictly)
        });
        self.builder = builder;
        self.counted.insert(cached, made);
        made
    }

    /// The texts with names that confirm a marker, with and without a space next to the names. If the names are not known:
    /// the text before them.
    fn next_names(&self, marker: &Marker, declared: &[String]) -> Vec<String> {
        let mut texts = Vec::new();
        for next in marker.names.iter() {
            let names = match next.kind {
                NameKind::Argument => declared,
                NameKind::Function => &self.limits.names,
            };
            if names.is_empty() {
                texts.push(next.before.to_string());
            }
            let before: &[&str] = if next.before.is_empty() { &[""] } else { &["", " "] };
            for (name, space) in names.iter().flat_map(|name| before.iter().map(move |space| (name, space))) {
                for gap in ["", " "] {
                    texts.push([&next.before, *space, name.as_str(), gap, &next.after].concat());
                }
            }
        }
        texts
    }

    /// The names of the known functions, with what follows them, if only such a name makes a call in this state.
    fn offered_names(&self, state: StateId) -> Vec<String> {
        let (state, names) = (self.state(state), &self.limits.names);
        if !state.needs_offered_name() {
            return Vec::new();
        }
        let markers = state.arrows().map(|(marker, _)| marker);
        let spaces = |marker: &Marker| if self.spaced_before(marker) { &["", " "][..] } else { &[""] };
        let all = markers.flat_map(|marker| spaces(marker).iter().map(move |space| (marker, space)));
        all.flat_map(|(marker, space)| names.iter().map(move |name| [name, *space, &*marker.core].concat())).collect()
    }

    /// The alternatives of one state of the automaton.
    pub(super) fn text_alternatives(&mut self, key: NodeKey, index: usize) -> Vec<Alternative> {
        if let Texts::Whole { alternatives, .. } = self.limits.texts {
            return alternatives(self, key, None);
        }
        let table = self.table(key);
        let Some(here) = table.text.until.states.get(index) else { return Vec::new() };
        let mut alternatives: Vec<Alternative> = Vec::new();
        for transition in &here.transitions {
            match transition {
                TextTransition::Char(chars, next) => {
                    let next = self.graph.node(self.text_key(key, *next));
                    alternatives.push(vec![Piece::Expr(class(&self.builder, chars)), Piece::Node(next)]);
                }
                TextTransition::Stop(char, stop) => {
                    let char = Piece::Expr(self.builder.char(*char));
                    alternatives.extend(self.exits(key, &table.exits[*stop], Some(char)));
                }
                TextTransition::Peek(stop) => alternatives.extend(self.exits(key, &table.exits[*stop], None)),
            }
        }
        if here.may_end && self.turn_may_end_in(key) {
            alternatives.push(Vec::new());
        }
        alternatives
    }

    /// The alternatives of a text of at most `most` characters, and one of its markers.
    fn bounded_text(&mut self, at: Position, most: u32) -> Vec<Alternative> {
        let key = NodeKey::Text(at, 0);
        if let Texts::Whole { alternatives, counts: true } = self.limits.texts {
            return alternatives(self, key, Some(most));
        }
        let table = self.table(key);
        // Stops that lead to the same share their rules.
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (stop, exits) in table.exits.iter().enumerate().filter(|(_, exits)| !exits.is_empty()) {
            match groups.iter_mut().find(|group| table.exits[group[0]] == *exits) {
                Some(group) => group.push(stop),
                None => groups.push(vec![stop]),
            }
        }
        let strictly = matches!(self.limits.texts, Texts::States);
        let each = counted_each(&mut self.builder, "text", &table.text.until, &groups, most, strictly);
        let mut alternatives = Vec::new();
        for (text, group) in each.into_iter().zip(&groups) {
            let Some(text) = text else { continue };
            alternatives.extend(self.exits(key, &table.exits[group[0]], Some(Piece::Expr(text))));
        }
        alternatives
    }

    /// The alternatives of a text that begins here: with a marker that may come only before text, or with text. The text has at most
    /// `most` characters, if that is said.
    pub(super) fn text_from_its_start(&mut self, at: Position, most: Option<u32>) -> Vec<Alternative> {
        let mut leading = self.transitions(at);
        match most {
            // No text at all: any marker but the one that closes it.
            Some(0) => leading.retain(|(_, step)| !step.does(&Action::CloseContent)),
            _ => leading.retain(|(marker, _)| marker.in_text == InText::Text),
        }
        let mut alternatives = match leading.is_empty() {
            true => Vec::new(),
            false => {
                let space = Some(self.space());
                self.marker_alternatives(at, &leading, space)
            }
        };
        match most {
            Some(0) => {}
            Some(most) => alternatives.extend(self.bounded_text(at, most)),
            None if alternatives.is_empty() => return self.text_alternatives(NodeKey::Text(at, 0), 0),
            None => alternatives.push(vec![Piece::Node(self.graph.node(NodeKey::Text(at, 0)))]),
        }
        alternatives
    }

    /// Whether markers may come at the start of a text that may not come later in it.
    fn has_leading(&self, at: Position) -> bool {
        self.transitions(at).iter().any(|(marker, _)| marker.in_text == InText::Text)
    }

    pub(super) fn turn_may_end_in(&self, key: NodeKey) -> bool {
        let NodeKey::Text(at, _) = key else { return false };
        let state = self.state(at.state);
        matches!(state.hole, Some(Hole::Text(_))) && state.end.is_some() && self.may_end(at)
    }

    pub(super) fn exits(&mut self, key: NodeKey, exits: &[Exit], char: Option<Piece>) -> Vec<Alternative> {
        if let NodeKey::Value { .. } | NodeKey::Named { .. } = key {
            return if exits.is_empty() { Vec::new() } else { vec![char.into_iter().collect()] };
        }
        exits.iter().map(|exit| self.then(char.iter().cloned().collect(), *exit)).collect()
    }

    pub(super) fn text_key(&self, key: NodeKey, index: usize) -> NodeKey {
        match key {
            // The first state of a text is the same node as its position.
            NodeKey::Text(at, _)
                if index == 0
                    && !self.has_leading(at)
                    && matches!(self.state(at.state).hole, Some(Hole::Text(_)) | Some(Hole::Value)) =>
            {
                NodeKey::Position(at)
            }
            NodeKey::Text(at, _) => NodeKey::Text(at, index),
            NodeKey::Value { state, names, .. } => NodeKey::Value { state, names, at: index },
            NodeKey::Named { state, name, .. } => NodeKey::Named { state, name, at: index },
            NodeKey::Position(at) => NodeKey::Position(at),
        }
    }
}

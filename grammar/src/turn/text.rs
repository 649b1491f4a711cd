//! The text that stands in a state, up to what ends it.

use std::rc::Rc;

use unjinja_runtime::abi_2::{Confirm, Hole, Marker};

use super::{At, Key, Piece, Table, Turn, Way};
use crate::text;
use crate::text_rules::class;
use crate::until::{Stop, Until, Way as TextWay};

impl Turn<'_> {
    /// The text of a state, as an automaton.
    pub(super) fn table(&mut self, key: Key) -> Rc<Table> {
        let key = match key {
            Key::Text(at, _) => Key::Text(at, 0),
            Key::Value(state, _) => Key::Value(state, 0),
            Key::At(_) => key,
        };
        if let Some(table) = self.tables.get(&key) {
            return Rc::clone(table);
        }
        let at = match key {
            Key::Text(at, _) | Key::At(at) => at,
            Key::Value(state, _) => At::new(state),
        };
        let mut stops: Vec<Stop<'_>> = Vec::new();
        let mut exits: Vec<Vec<At>> = Vec::new();
        for (marker, step) in self.steps(at) {
            if marker.core.is_empty() {
                continue;
            }
            let to = self.follow(at, marker, step);
            if to.is_none() && self.may_be_text(marker) {
                continue;
            }
            let number = stops.iter().position(|stop| stop.core == marker.core).unwrap_or(stops.len());
            if number == stops.len() {
                let confirm = match &marker.confirm {
                    Confirm::Next(cores) => cores.iter().map(|core| &**core).collect(),
                    _ => Vec::new(),
                };
                stops.push(Stop { core: &marker.core, confirm, peek: !marker.take });
                exits.push(Vec::new());
            }
            exits[number].extend(to);
        }
        let table = Rc::new(Table { until: Until::new(&stops), exits });
        self.tables.insert(key, Rc::clone(&table));
        table
    }

    /// Whether a marker that leads nowhere may stand in a text: punctuation, which says nothing by itself.
    fn may_be_text(&self, marker: &Marker) -> bool {
        marker.core.len() < 3
    }

    /// What may come at a point of a text.
    pub(super) fn point(&mut self, key: Key, point: usize) -> Vec<Way> {
        let table = self.table(key);
        let Some(here) = table.until.points.get(point) else { return Vec::new() };
        let mut ways: Vec<Way> = Vec::new();
        for way in &here.ways {
            match way {
                TextWay::Char(chars, next) => {
                    let next = self.graph.node(self.text_key(key, *next));
                    ways.push(vec![Piece::Expr(class(chars)), Piece::Node(next)]);
                }
                TextWay::Stop(char, stop) => {
                    let char = Piece::Expr(text(char.to_string()));
                    ways.extend(self.exits(key, &table.exits[*stop], Some(char)));
                }
                TextWay::Peek(stop) => ways.extend(self.exits(key, &table.exits[*stop], None)),
            }
        }
        if let Key::Text(at, _) = key
            && here.free
            && matches!(self.state(at.state).hole, Some(Hole::Text(_)))
            && self.state(at.state).end.is_some()
            && self.may_end(at)
        {
            ways.push(Vec::new());
        }
        ways
    }

    fn exits(&mut self, key: Key, exits: &[At], char: Option<Piece>) -> Vec<Way> {
        if let Key::Value(..) = key {
            return vec![char.into_iter().collect()];
        }
        let exits: Vec<Way> = exits.iter().map(|to| char.iter().cloned().chain([self.to(*to)]).collect()).collect();
        exits
    }

    pub(super) fn text_key(&self, key: Key, point: usize) -> Key {
        match key {
            // The beginning of a text is what its state is.
            Key::Text(at, _)
                if point == 0 && matches!(self.state(at.state).hole, Some(Hole::Text(_)) | Some(Hole::Value)) =>
            {
                Key::At(at)
            }
            Key::Text(at, _) => Key::Text(at, point),
            Key::Value(state, _) => Key::Value(state, point),
            Key::At(at) => Key::At(at),
        }
    }
}

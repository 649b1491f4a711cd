//! The rules of calls: how the arguments of each tool are written, one by one or as one value.

use std::rc::Rc;

use serde_json::Value;

use unjinja_runtime::Types;
use unjinja_runtime::abi_2::{Action, ArgumentKind, CallShape, Hole, StateId};

use super::graph::{NodeId, Piece, Way};
use super::syntax::Syntax;
use super::tool_rules::{Order, Property, ToolRules, parameters_target};
use super::turn::{At, Call, Key, Offered, Turn, is_silent, spaced_before};
use super::values::NO_STRING;
use super::{Expr, choice, option, sequence, text};

/// How deep references and combinations are followed.
const MAX_DEPTH: usize = 16;

/// What the value of an argument may be.
#[derive(Clone, Copy)]
enum Wanted<'t> {
    Anything,
    Property(usize, &'t Property),
}

impl<'a> Turn<'a> {
    // ----- arguments one by one -----

    pub(super) fn argument_name(&mut self, at: At) -> Vec<Way> {
        let Call::Tool(number, done) = at.call else {
            let any = ToolRules::any();
            let Some((argument, next)) = self.argument(at.state, usize::MAX, &any, Wanted::Anything) else {
                return self.any_name(at);
            };
            let to = self.to(At { state: next, ..at });
            return vec![vec![Piece::Node(argument), to]];
        };
        let Some(Offered::These(tools)) = &self.rules.offered else { return Vec::new() };
        let tools = Rc::clone(tools);
        let tool = &tools[number];
        if tool.order != Order::Any {
            let why = "of so many arguments, those that are not required may be written more than once";
            self.values.note(&tool.name, "/properties", "properties", why);
        }
        let mut ways = Vec::new();
        for (index, property) in tool.properties.iter().enumerate() {
            let Some(then) = tool.write(done, index) else { continue };
            let wanted = Wanted::Property(index, property);
            if let Some((argument, next)) = self.argument(at.state, number, tool, wanted) {
                let to = self.to(At { state: next, call: Call::Tool(number, then), ..at });
                ways.push(vec![Piece::Node(argument), to]);
            }
        }
        if tool.open
            && let Some((argument, next)) = self.argument(at.state, number, tool, Wanted::Anything)
        {
            let to = self.to(At { state: next, ..at });
            ways.push(vec![Piece::Node(argument), to]);
        }
        ways
    }

    /// One argument: its name, its value, and the marker that closes it. And the state behind it.
    fn argument(
        &mut self,
        state: StateId,
        number: usize,
        tool: &ToolRules,
        wanted: Wanted<'_>,
    ) -> Option<(NodeId, StateId)> {
        let key = match wanted {
            Wanted::Anything => (state, number, None),
            Wanted::Property(index, _) => (state, number, Some(index)),
        };
        if let Some(known) = self.arguments.get(&key) {
            return *known;
        }
        let before = self.values.error.clone();
        let made = self.make_argument(state, tool, wanted);
        if !matches!(wanted, Wanted::Property(_, property) if property.required) {
            // It can be left out, and is.
            self.values.error = before;
        }
        self.arguments.insert(key, made);
        made
    }

    fn make_argument(&mut self, state: StateId, tool: &ToolRules, wanted: Wanted<'_>) -> Option<(NodeId, StateId)> {
        let (name, label) = match wanted {
            Wanted::Property(_, property) => (text(&*property.name), format!("{}-{}", tool.name, property.name)),
            Wanted::Anything => {
                let known: Vec<&str> = tool.properties.iter().map(|property| property.name.as_str()).collect();
                let class = self.name_class(state);
                let other = self.values.other_than(&mut self.builder, &known, &class);
                (other, format!("{}-other-argument", tool.name))
            }
        };
        let mut ways: Vec<Way> = Vec::new();
        let mut behind: Option<StateId> = None;
        for (marker, step) in self.steps(At::new(state)) {
            let kind = step.actions.iter().find_map(|act| match act {
                Action::Argument(kind) => Some(*kind),
                _ => None,
            })?;
            let mut lead: Way = vec![Piece::Expr(name.clone())];
            if spaced_before(marker) {
                lead.push(self.space());
            }
            lead.push(Piece::Expr(text(marker.consumed())));
            let (values, next) = self.argument_value(step.next, kind, &marker.after, tool, wanted)?;
            if behind.is_some_and(|other| other != next) {
                return None;
            }
            behind = Some(next);
            ways.extend(values.into_iter().map(|value| lead.iter().cloned().chain(value).collect::<Way>()));
        }
        Some((self.graph.filled(label, ways), behind?))
    }

    /// What stands behind an argument's name: markers, the value, the marker that closes it.
    fn argument_value(
        &mut self,
        mut state: StateId,
        kind: ArgumentKind,
        mut layout: &'a str,
        tool: &ToolRules,
        wanted: Wanted<'_>,
    ) -> Option<(Vec<Way>, StateId)> {
        let mut lead: Way = Vec::new();
        // Between a name and its value there are at most a few markers.
        for _ in 0..8 {
            let steps = self.steps(At::new(state));
            let next = match &self.state(state).hole {
                Some(Hole::Literal(_)) => self.state(state).otherwise.as_ref()?.next,
                _ => steps.first()?.1.next,
            };
            match &self.state(state).hole {
                None if steps.iter().all(|(_, step)| step.next == next && is_silent(step)) => {
                    lead.push(self.space());
                    lead.push(Piece::Expr(choice(steps.iter().map(|(marker, _)| text(marker.core.clone())))));
                    layout = &steps[0].0.after;
                    state = next;
                }
                Some(Hole::Literal(quote)) => {
                    let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
                    let value = match wanted {
                        Wanted::Anything => self.values.any(&mut self.builder, syntax),
                        Wanted::Property(_, property) => self.typed(tool, &property.name, &property.schema, syntax)?,
                    };
                    lead.push(self.space());
                    lead.push(Piece::Expr(value));
                    return Some((vec![lead], next));
                }
                Some(Hole::Value) if steps.iter().all(|(_, step)| step.next == next && is_silent(step)) => {
                    let values = self.raw_value(state, kind, layout, tool, wanted);
                    let ways = values.into_iter().map(|value| lead.iter().cloned().chain(value).collect()).collect();
                    return Some((ways, next));
                }
                _ => return None,
            }
        }
        None
    }

    /// The raw text of a value, and the marker that closes it.
    fn raw_value(
        &mut self,
        state: StateId,
        kind: ArgumentKind,
        layout: &str,
        tool: &ToolRules,
        wanted: Wanted<'_>,
    ) -> Vec<Way> {
        let any = vec![Piece::Node(self.graph.node(Key::Value(state, 0)))];
        let Wanted::Property(_, property) = wanted else {
            return match kind {
                ArgumentKind::Other { python } => {
                    let syntax = if python { Syntax::Python } else { Syntax::Json };
                    let value = self.values.any_but_text(&mut self.builder, syntax);
                    value.into_iter().map(|value| self.closed(state, value)).collect()
                }
                _ => vec![any],
            };
        };
        let text_may_be = property.types.is_unknown() || property.types.contains(Types::STRING);
        let others_may_be = property.types != Types::STRING;
        let as_text = match kind {
            ArgumentKind::BySchema { .. } | ArgumentKind::Text => text_may_be,
            ArgumentKind::Other { .. } | ArgumentKind::Literal => false,
        };
        let as_other = match kind {
            // Any text is a string, so nothing is left.
            ArgumentKind::BySchema { .. } => !text_may_be,
            ArgumentKind::Other { .. } => others_may_be,
            ArgumentKind::Text | ArgumentKind::Literal => false,
        };
        let mut ways = Vec::new();
        if as_text {
            match listed(&tool.parameters, &property.schema, 0) {
                Some(values) => {
                    let typed = matches!(kind, ArgumentKind::BySchema { .. });
                    let texts = values.iter().filter_map(|value| match value {
                        Value::String(value) => Some(value.clone()),
                        value if typed => Some(value.to_string()),
                        _ => None,
                    });
                    let texts: Vec<Expr> = texts.map(text).collect();
                    ways.push(self.exactly(state, layout, choice(texts)));
                }
                None if has_format(&property.schema) && property.types == Types::STRING => {
                    let stop = self.state(state).markers.list().first().and_then(|marker| marker.core.chars().next());
                    let syntax = Syntax::Raw { quote: String::new(), stop: stop.unwrap_or('<') };
                    let value = self.typed(tool, &property.name, &property.schema, syntax);
                    ways.extend(value.map(|value| self.exactly(state, layout, value)));
                }
                None => {
                    self.values.note_text(&tool.name, &property.name, &property.schema);
                    ways.push(any);
                }
            }
        }
        if as_other {
            let python = matches!(kind, ArgumentKind::BySchema { python: true } | ArgumentKind::Other { python: true });
            let syntax = if python { Syntax::Python } else { Syntax::Json };
            let schema = match text_may_be && !property.types.is_unknown() {
                // The part of the schema that is no string.
                true => serde_json::json!({"allOf": [property.schema, {"type": NO_STRING}]}),
                false => property.schema.clone(),
            };
            if let Some(value) = self.typed(tool, &property.name, &schema, syntax) {
                ways.push(self.closed(state, value));
            }
        }
        ways
    }

    /// A value with white space around it, and the marker that closes it.
    fn closed(&mut self, state: StateId, value: Expr) -> Way {
        let space = self.space();
        let closers = self.closers(state);
        vec![space.clone(), Piece::Expr(value), space, Piece::Expr(closers)]
    }

    /// A text with as much white space around it as the template writes, and the marker that closes it.
    fn exactly(&mut self, state: StateId, layout: &str, value: Expr) -> Way {
        let markers = self.state(state).markers.list();
        let before = markers.first().map_or("", |marker| &*marker.before);
        let parts = [option(text(layout)), value, option(text(before)), self.closers(state)];
        parts.into_iter().map(Piece::Expr).collect()
    }

    fn closers(&self, state: StateId) -> Expr {
        choice(self.state(state).markers.list().iter().map(|marker| text(marker.consumed())))
    }

    /// A value of a schema. `None` where none fits.
    fn typed(&mut self, tool: &ToolRules, hint: &str, schema: &Value, syntax: Syntax) -> Option<Expr> {
        let hint = format!("{}-{hint}", tool.name);
        self.values.typed(&mut self.builder, &tool.name, &hint, &tool.parameters, schema, syntax)
    }

    // ----- arguments as one value -----

    /// The arguments of a call as one object.
    pub(super) fn whole_arguments(&mut self, call: Call, python: bool) -> Option<Expr> {
        let syntax = if python { Syntax::Python } else { Syntax::Json };
        match (call, &self.rules.offered) {
            (Call::Tool(number, _), Some(Offered::These(tools))) => {
                let tools = Rc::clone(tools);
                let tool = &tools[number];
                self.typed(tool, "arguments", &tool.parameters, syntax)
            }
            _ => Some(self.values.any_object(&mut self.builder, syntax)),
        }
    }

    // ----- calls as one object -----

    /// A call as one object that holds name and arguments.
    pub(super) fn object(&mut self, shape: &CallShape) -> Option<Expr> {
        let syntax = if shape.python { Syntax::Python } else { Syntax::Json };
        match &self.rules.offered {
            None => None,
            Some(Offered::Any) => {
                let name = self.values.any_name(&mut self.builder, syntax.clone());
                let arguments = self.values.any_object(&mut self.builder, syntax);
                Some(self.call_object(shape, name, arguments, true))
            }
            Some(Offered::These(tools)) => {
                let tools = Rc::clone(tools);
                let mut calls = Vec::with_capacity(tools.len());
                for tool in tools.iter() {
                    let Some(arguments) = self.typed(tool, "arguments", &tool.parameters, syntax.clone()) else {
                        continue;
                    };
                    let name = self.values.exact(&mut self.builder, &tool.name, syntax.clone());
                    let call = self.call_object(shape, name, arguments, tool.has_required());
                    calls.push(self.builder.rule(&format!("{}-call", tool.name), call).into());
                }
                (!calls.is_empty()).then(|| choice(calls))
            }
        }
    }

    fn call_object(&mut self, shape: &CallShape, name: Expr, arguments: Expr, required: bool) -> Expr {
        let syntax = if shape.python { Syntax::Python } else { Syntax::Json };
        let space = self.values.space(&mut self.builder);
        let colon = sequence([space.clone(), text(":"), space.clone()]);
        let pair = |turn: &mut Self, key: &str, value: Expr| {
            sequence([turn.values.exact(&mut turn.builder, key, syntax.clone()), colon.clone(), value])
        };
        let mut members: Vec<(Expr, bool)> = Vec::new();
        if shape.name_is_key {
            members.push((sequence([name, colon.clone(), arguments]), true));
        } else {
            let inner =
                vec![(pair(self, &shape.name_field, name), true), (pair(self, &shape.args_field, arguments), required)];
            if shape.function_field.is_empty() {
                members = inner;
            } else {
                let inner = self.members(inner);
                members.push((pair(self, &shape.function_field, inner), true));
            }
        }
        if !shape.id_field.is_empty() {
            let id = self.values.any_id(&mut self.builder, syntax.clone());
            members.push((pair(self, &shape.id_field, id), false));
        }
        for key in &*shape.keys {
            let value = self.values.any(&mut self.builder, syntax.clone());
            members.push((pair(self, key, value), false));
        }
        self.members(members)
    }

    /// An object of these members in any order, each at most once, and those that are required.
    fn members(&mut self, members: Vec<(Expr, bool)>) -> Expr {
        let space = self.values.space(&mut self.builder);
        let comma = sequence([space.clone(), text(","), space.clone()]);
        let most = 1u32 << members.len().min(5);
        let mut rules: Vec<Expr> = vec![Expr::EMPTY; most as usize];
        // From the full set down: what may follow once these members are written.
        for written in (0..most).rev() {
            let left = members.iter().enumerate().filter(|(at, _)| written & (1 << at) == 0);
            let ways: Vec<Expr> = left
                .clone()
                .filter_map(|(at, (member, _))| {
                    let rest = rules.get((written | 1 << at) as usize)?.clone();
                    let lead = if written == 0 { Expr::EMPTY } else { comma.clone() };
                    Some(sequence([lead, member.clone(), rest]))
                })
                .collect();
            let complete = left.clone().all(|(_, (_, required))| !required);
            let follow = match (ways.is_empty(), complete) {
                (true, _) => Expr::EMPTY,
                (false, true) => option(choice(ways)),
                (false, false) => choice(ways),
            };
            let inline = members.len() <= 2;
            rules[written as usize] =
                if inline || follow.is_empty() { follow } else { self.builder.rule("members", follow).into() };
        }
        let all = rules.swap_remove(0);
        sequence([text("{"), space.clone(), all, space, text("}")])
    }
}

/// Whether a string has a format, and nothing that raw text cannot be held to.
fn has_format(schema: &Value) -> bool {
    let has = |keyword: &str| schema.get(keyword).is_some();
    has("format") && !has("pattern") && !has("minLength") && !has("maxLength")
}

/// The values that a schema lists, where it does nothing else.
fn listed(root: &Value, schema: &Value, depth: usize) -> Option<Vec<Value>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let object = schema.as_object()?;
    if let Some(value) = object.get("const") {
        return Some(vec![value.clone()]);
    }
    if let Some(Value::Array(values)) = object.get("enum") {
        return Some(values.clone());
    }
    if let Some(target) = parameters_target(root, schema) {
        return listed(root, target, depth + 1);
    }
    if object.get("type").and_then(Value::as_str) == Some("null") {
        return Some(vec![Value::Null]);
    }
    let parts = object.get("anyOf").or_else(|| object.get("oneOf"))?.as_array()?;
    let parts: Option<Vec<Vec<Value>>> = parts.iter().map(|part| listed(root, part, depth + 1)).collect();
    Some(parts?.concat())
}

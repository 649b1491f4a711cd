//! The rules of arguments that are written one by one, each with its own name and value.

use std::rc::Rc;

use serde_json::Value;

use unjinja_runtime::Types;
use unjinja_runtime::abi::{Action, ArgumentKind, Hole, Marker, NameOf, Nesting, StateId};
use unjinja_runtime::schema::{Document, MAX_DEPTH, MAX_SCHEMAS};

use super::{Call, NodeKey, Offered, Position, TurnRules, is_canonical, is_irrelevant};
use crate::counted::lost as lost_of;
use crate::expr::{Class, Expr};
use crate::graph::{Alternative, NodeId, Piece};
use crate::schema::{NAME_AGAIN, numerals};
use crate::syntax::{Syntax, json_text};
use crate::tool_rules::{Order, Property, ToolRules};
use crate::values::{no_string, property_path, schema_of};

/// The key of a bracket around a value.
const BRACKET: &str = "tools.arguments";

/// What a grammar cannot check where a marker repeats the name of an argument that is not declared.
const UNKNOWN_NAME: &str = "the name of an argument that is not declared may differ in the marker that closes it";

#[derive(Clone, Copy)]
enum Argument<'t> {
    Any,
    Property(usize, &'t Property),
}

impl<'a> TurnRules<'a> {
    pub(super) fn argument_name(&mut self, at: Position) -> Vec<Alternative> {
        let Call::Tool(number, written) = at.call else {
            let any = ToolRules::any();
            let Some((argument, next)) = self.argument(at.state, usize::MAX, &any, Argument::Any) else {
                return self.any_name(at);
            };
            let to = self.to(Position { state: next, ..at });
            return vec![vec![Piece::Node(argument), to]];
        };
        let Some(Offered::These(tools)) = &self.limits.offered else { return Vec::new() };
        let tools = Rc::clone(tools);
        let tool = &tools[number];
        if tool.order != Order::Any {
            let why = "with this many arguments, optional ones may be written more than once";
            self.values.note(&tool.name, "/properties", "properties", why);
        }
        let mut alternatives = Vec::new();
        for (index, property) in tool.properties.iter().enumerate() {
            let Some(then) = tool.with_written(written, index) else { continue };
            let argument = Argument::Property(index, property);
            if let Some((argument, next)) = self.argument(at.state, number, tool, argument) {
                let to = self.to(Position { state: next, call: Call::Tool(number, then), ..at });
                alternatives.push(vec![Piece::Node(argument), to]);
            }
        }
        // An argument that is not declared would be a part of the value before it, and a grammar cannot repeat its name in
        // the marker that closes it.
        let may_be_other = if self.names_close_values() {
            tool.parameters.get("properties").is_none()
        } else {
            tool.properties.is_empty() || !self.names_end_values()
        };
        let open = tool.open && may_be_other;
        if open && let Some((argument, next)) = self.argument(at.state, number, tool, Argument::Any) {
            let to = self.to(Position { state: next, ..at });
            alternatives.push(vec![Piece::Node(argument), to]);
        }
        alternatives
    }

    /// Whether the name of a declared argument ends the value before it.
    fn names_end_values(&self) -> bool {
        self.program.states.iter().any(|state| state.markers.list().iter().any(|marker| !marker.names.is_empty()))
    }

    /// Whether a marker repeats the name of the argument whose value it closes.
    fn names_close_values(&self) -> bool {
        let repeats = |marker: &Marker| marker.is_named_by(NameOf::Argument);
        self.program.states.iter().any(|state| state.markers.list().iter().any(repeats))
    }

    /// The number of the names that a tool declares, if they end values in this state.
    fn declared_index(&mut self, state: StateId, tool: &ToolRules) -> usize {
        if self.state(state).markers.list().iter().all(|marker| marker.names.is_empty()) {
            return 0;
        }
        let names: Vec<String> = tool.properties.iter().map(|property| property.name.clone()).collect();
        let known = self.declared.iter().position(|known| *known == names);
        known.unwrap_or_else(|| {
            self.declared.push(names);
            self.declared.len() - 1
        })
    }

    /// The node of one argument (its name, its value and the marker that closes it) and the state after it.
    fn argument(
        &mut self,
        state: StateId,
        number: usize,
        tool: &ToolRules,
        argument: Argument<'_>,
    ) -> Option<(NodeId, StateId)> {
        let key = match argument {
            Argument::Any => (state, number, None),
            Argument::Property(index, _) => (state, number, Some(index)),
        };
        if let Some(known) = self.arguments.get(&key) {
            return *known;
        }
        let before = self.values.error.clone();
        let made = self.make_argument(state, tool, argument);
        if !matches!(argument, Argument::Property(_, property) if property.required) {
            // An optional argument for which no value exists is left out.
            self.values.error = before;
        }
        self.arguments.insert(key, made);
        made
    }

    fn make_argument(&mut self, state: StateId, tool: &ToolRules, argument: Argument<'_>) -> Option<(NodeId, StateId)> {
        let (name, label) = match argument {
            Argument::Property(_, property) => {
                (self.builder.text(&*property.name), format!("{}-{}", tool.name, property.name))
            }
            Argument::Any => {
                let known: Vec<&str> = tool.properties.iter().map(|property| property.name.as_str()).collect();
                if self.builder.manner().unlimited && !known.is_empty() {
                    self.values.note(&tool.name, "", "additionalProperties", NAME_AGAIN);
                }
                let class = self.name_class(state);
                let other = self.values.other_than(&mut self.builder, &known, &class);
                (other, format!("{}-other-argument", tool.name))
            }
        };
        let mut alternatives: Vec<Alternative> = Vec::new();
        let mut next_state: Option<StateId> = None;
        let mut nested: Option<&'a Nesting> = None;
        for (marker, transition) in self.transitions(Position::new(state)) {
            let kind = transition.actions.iter().find_map(|action| match action {
                Action::Argument(kind) => Some(*kind),
                Action::NestedArgument(nesting) => {
                    nested = Some(nesting);
                    Some(ArgumentKind::BySchema { python: nesting.python })
                }
                _ => None,
            })?;
            let mut lead: Alternative = vec![Piece::Expr(name)];
            if self.spaced_before(marker) {
                lead.push(self.space());
            }
            lead.push(Piece::Expr(self.builder.text(marker.consumed())));
            let (values, next) = self.argument_value(transition.next, kind, &marker.after, nested, tool, argument)?;
            if next_state.is_some_and(|other| other != next) {
                return None;
            }
            next_state = Some(next);
            alternatives
                .extend(values.into_iter().map(|value| lead.iter().cloned().chain(value).collect::<Alternative>()));
        }
        let one = self.graph.filled(label.clone(), alternatives);
        let node = match nested {
            Some(nesting)
                if nesting.item.is_empty()
                    && matches!(argument, Argument::Property(_, property) if may_be(property, Types::ARRAY)) =>
            {
                // A list is the same argument again.
                let list = self.graph.filled(label.clone(), Vec::new());
                let more = vec![
                    Piece::Node(one),
                    self.space(),
                    Piece::Expr(self.builder.text(nesting.open.clone())),
                    Piece::Node(list),
                ];
                self.graph.fill(list, label, None, vec![vec![Piece::Node(one)], more]);
                list
            }
            _ => one,
        };
        Some((node, next_state?))
    }

    /// The alternatives for what comes after an argument's name (markers, the value, the closing marker) and the state
    /// after it.
    fn argument_value(
        &mut self,
        mut state: StateId,
        kind: ArgumentKind,
        mut layout: &'a str,
        nested: Option<&'a Nesting>,
        tool: &ToolRules,
        argument: Argument<'_>,
    ) -> Option<(Vec<Alternative>, StateId)> {
        let mut lead: Alternative = Vec::new();
        // Formats have at most a few markers between a name and its value.
        for _ in 0..8 {
            let transitions = self.transitions(Position::new(state));
            let here = self.state(state);
            let next = match &here.hole {
                Some(Hole::Literal(_)) => here.otherwise.first()?.next,
                _ => transitions.first()?.1.next,
            };
            let alike = transitions.iter().all(|(_, transition)| transition.next == next && is_irrelevant(transition));
            match &here.hole {
                // The value is in brackets, or alone.
                None if alike && here.otherwise.first().is_some_and(is_canonical) => {
                    let alone = here.otherwise.first()?.next;
                    let (within, after) = self.argument_value(next, kind, "", nested, tool, argument)?;
                    let (plain, after_plain) = self.argument_value(alone, kind, layout, nested, tool, argument)?;
                    if after != after_plain {
                        return None;
                    }
                    let bracket = Piece::Expr(self.builder.text(transitions.first()?.0.core.clone()));
                    let within = within.into_iter().map(|value| [vec![bracket.clone()], value].concat());
                    let all = within.chain(plain).map(|value| [lead.clone(), value].concat()).collect();
                    return Some((all, after));
                }
                None if alike => {
                    lead.push(self.space());
                    let cores: Vec<Expr> =
                        transitions.iter().map(|(marker, _)| self.builder.text(&*marker.core)).collect();
                    lead.push(Piece::Expr(self.builder.choice(&cores)));
                    layout = &transitions[0].0.after;
                    state = next;
                }
                Some(Hole::Literal(quote)) => {
                    let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
                    let value = match argument {
                        Argument::Any => self.values.any(&mut self.builder, syntax),
                        Argument::Property(_, property) => {
                            self.typed(tool, &property.name, &property.schema, syntax)?
                        }
                    };
                    lead.push(self.space());
                    lead.push(Piece::Expr(value));
                    return Some((vec![lead], next));
                }
                Some(Hole::Value) if alike => {
                    let values = self.raw_value(state, kind, layout, nested, tool, argument);
                    let bracketed = transitions.first()?.1.key == BRACKET;
                    let (end, next) = if bracketed {
                        // What closes the argument follows the bracket.
                        let closers = self.closers(next, argument);
                        (
                            vec![self.space(), Piece::Expr(closers)],
                            self.transitions(Position::new(next)).first()?.1.next,
                        )
                    } else {
                        (Vec::new(), next)
                    };
                    let alternatives =
                        values.into_iter().map(|value| [lead.clone(), value, end.clone()].concat()).collect();
                    return Some((alternatives, next));
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
        nested: Option<&'a Nesting>,
        tool: &ToolRules,
        argument: Argument<'_>,
    ) -> Vec<Alternative> {
        let any = self.any_text(state, tool, argument);
        let Argument::Property(_, property) = argument else {
            return match kind {
                ArgumentKind::Other { python } => {
                    let syntax = if python { Syntax::Python } else { Syntax::Json };
                    let value = self.values.any_but_text(&mut self.builder, syntax);
                    value.into_iter().map(|value| self.closed(state, argument, value)).collect()
                }
                _ => vec![any],
            };
        };
        let text_may_be = property.types.is_unknown() || property.types.contains(Types::STRING);
        let others_may_be = property.types != Types::STRING;
        let as_text = match kind {
            ArgumentKind::BySchema { .. } | ArgumentKind::Quotable { .. } | ArgumentKind::Text => text_may_be,
            ArgumentKind::Other { .. } | ArgumentKind::Literal | ArgumentKind::TightLiteral => false,
        };
        let as_other = match kind {
            // A string accepts any text, so there is no text left that would be another type.
            ArgumentKind::BySchema { .. } | ArgumentKind::Quotable { .. } => !text_may_be,
            ArgumentKind::Other { .. } => others_may_be,
            ArgumentKind::Text | ArgumentKind::Literal | ArgumentKind::TightLiteral => false,
        };
        let mut alternatives = Vec::new();
        if as_text {
            match listed(tool.document(), &property.schema, MAX_DEPTH, &mut { MAX_SCHEMAS }) {
                Some(values) => {
                    let typed = matches!(kind, ArgumentKind::BySchema { .. } | ArgumentKind::Quotable { .. });
                    let texts = values.iter().flat_map(|value| match value {
                        Value::String(value) => vec![value.clone()],
                        Value::Number(number) if typed => [numerals(number), vec![json_text(value)]].concat(),
                        value if typed => vec![json_text(value)],
                        _ => Vec::new(),
                    });
                    let texts: Vec<Expr> = texts.map(|text| self.builder.text(text)).collect();
                    alternatives.push(self.exactly(state, layout, argument, self.builder.choice(&texts)));
                }
                None if has_format(tool.document(), &property.schema) && property.types == Types::STRING => {
                    let stop = self.state(state).markers.list().first().and_then(|marker| marker.core.chars().next());
                    let syntax = Syntax::Raw { quote: String::new(), stop: stop.unwrap_or('<') };
                    let value = self.typed(tool, &property.name, &property.schema, syntax);
                    alternatives.extend(value.map(|value| self.exactly(state, layout, argument, value)));
                }
                None => alternatives.extend(self.free_text(state, layout, kind, tool, property, any)),
            }
        }
        if as_other {
            let python = matches!(
                kind,
                ArgumentKind::BySchema { python: true }
                    | ArgumentKind::Quotable { python: true }
                    | ArgumentKind::Other { python: true }
            );
            let syntax = if python { Syntax::Python } else { Syntax::Json };
            let schema = match text_may_be && !property.types.is_unknown() {
                // The values of the schema that are not strings.
                true => schema_of("allOf", vec![property.schema.clone(), no_string()].into()),
                false => property.schema.clone(),
            };
            if let Some(value) = self.typed(tool, &property.name, &schema, syntax) {
                alternatives.push(self.closed(state, argument, value));
            }
        }
        if let Some(nesting) = nested.filter(|_| !as_text && may_be(property, Types::OBJECT | Types::ARRAY)) {
            alternatives.extend(self.in_tags(state, nesting, tool, property));
        }
        alternatives
    }

    /// Raw text for a property that may be a string, and the marker that closes it. `any` is text of any length.
    fn free_text(
        &mut self,
        state: StateId,
        layout: &str,
        kind: ArgumentKind,
        tool: &ToolRules,
        property: &Property,
        any: Alternative,
    ) -> Vec<Alternative> {
        const RAW: &str = "the value is written as raw text";
        let lost = ["pattern", "format"].map(|keyword| (keyword, RAW));
        let lost: Vec<(&str, &str)> =
            lost.into_iter().filter(|(keyword, _)| property.schema.get(keyword).is_some()).collect();
        self.values.note_text(&tool.name, &property.name, &lost);
        // Where no type is declared, a long text may be a number.
        let known = !property.types.is_unknown();
        let length = known.then(|| self.values.string_length(&mut self.builder, &tool.parameters, &property.schema));
        let Some((count, alike)) = length.flatten().filter(|(count, _)| !count.is_any()) else {
            if !known {
                let lost = ["minLength", "maxLength"].map(|keyword| (keyword, RAW));
                let lost = lost.into_iter().filter(|(keyword, _)| property.schema.get(keyword).is_some());
                self.values.note_text(&tool.name, &property.name, &lost.collect::<Vec<_>>());
            }
            return vec![any];
        };
        if !alike {
            let lost = [("anyOf", "the alternatives allow raw text of different lengths; any of these is accepted")];
            self.values.note_text(&tool.name, &property.name, &lost);
        }
        if count.is_empty() {
            // Compiling the schema finds what is wrong with it.
            self.typed(tool, &property.name, &property.schema, Syntax::Json);
            return Vec::new();
        }
        let key = self.text_of(state, tool, Argument::Property(usize::MAX, property));
        let made = key.zip(count.max).and_then(|(key, max)| self.counted_text(key, layout, max));
        self.values.note_text(&tool.name, &property.name, &lost_of(count, made.map(|(_, exact)| exact)));
        let Some((made, _)) = made else { return vec![any] };
        let mut alternatives = vec![vec![Piece::Expr(made)]];
        if let ArgumentKind::BySchema { python } | ArgumentKind::Quotable { python } = kind
            && property.types != Types::STRING
        {
            // A value of another type may be longer.
            let syntax = if python { Syntax::Python } else { Syntax::Json };
            let schema = schema_of("allOf", vec![property.schema.clone(), no_string()].into());
            if let Some(value) = self.typed(tool, &property.name, &schema, syntax) {
                alternatives.push(self.closed(state, Argument::Property(usize::MAX, property), value));
            }
        }
        alternatives
    }

    /// The raw text of a value that may be an object or a list in tags: an object begins with a tag, and an item of a list with
    /// anything but the bracket of a JSON array.
    fn in_tags(
        &mut self,
        state: StateId,
        nesting: &Nesting,
        tool: &ToolRules,
        property: &Property,
    ) -> Vec<Alternative> {
        let path = property_path(&property.name);
        let why = "an object in tags is raw text to the grammar, but for the beginning of its first tag";
        self.values.note(&tool.name, &path, "type", why);
        let name = self.name_class(state).intersect(&Class::of(&['/']).negate());
        let mut begins: Vec<Alternative> =
            vec![vec![Piece::Expr(self.builder.text(nesting.open.clone())), Piece::Expr(self.builder.class(name))]];
        if may_be(property, Types::ARRAY) {
            let why = "the items of a list in tags are raw text to the grammar, and are not counted";
            self.values.note(&tool.name, &path, "items", why);
            // Where an item has a tag of its own, a list begins like an object.
            if nesting.item.is_empty() {
                let others = nesting.open.chars().take(1).chain(['\0', ' ', '\t', '\n', '\r', '[']);
                begins.push(vec![
                    self.space(),
                    Piece::Expr(self.builder.class(Class::of(&others.collect::<Vec<_>>()).negate())),
                ]);
            }
        }
        let argument = Argument::Property(usize::MAX, property);
        let rest = self.any_text(state, tool, argument);
        let mut alternatives: Vec<Alternative> =
            begins.into_iter().map(|begin| [begin, rest.clone()].concat()).collect();
        // Nothing at all is an empty list, if the schema allows one.
        let before = self.values.error.clone();
        let empty =
            schema_of("allOf", vec![property.schema.clone(), schema_of("const", Value::Array(Vec::new()))].into());
        if may_be(property, Types::ARRAY) && self.typed(tool, &property.name, &empty, Syntax::Json).is_some() {
            alternatives.push(vec![Piece::Expr(self.closers(state, argument))]);
        }
        self.values.error = before;
        alternatives
    }

    /// The node of any text and the marker that closes it. `None` if that marker repeats a name that is not known.
    fn text_of(&mut self, state: StateId, tool: &ToolRules, argument: Argument<'_>) -> Option<NodeKey> {
        let named = self.state(state).markers.list().iter().any(|marker| marker.is_named_by(NameOf::Argument));
        match argument {
            _ if !named => Some(NodeKey::Value { state, names: self.declared_index(state, tool), at: 0 }),
            Argument::Property(_, property) => {
                Some(NodeKey::Named { state, name: self.name_index(&property.name), at: 0 })
            }
            Argument::Any => None,
        }
    }

    /// Any text, and the marker that closes it.
    fn any_text(&mut self, state: StateId, tool: &ToolRules, argument: Argument<'_>) -> Alternative {
        if let Some(key) = self.text_of(state, tool, argument) {
            return vec![Piece::Node(self.graph.node(key))];
        }
        // A grammar cannot say that two names are the same. So the text may hold the closers of other arguments, and any
        // closer may be its own.
        let mut markers = self.state(state).markers.list().iter();
        let Some(marker) = markers.find(|marker| marker.is_named_by(NameOf::Argument)) else { return Vec::new() };
        self.values.note(&tool.name, "", "additionalProperties", UNKNOWN_NAME);
        let any = self.builder.rule("any-text", self.builder.many(Class::any()));
        [any.into(), self.any_repeated_name(state, marker)].into_iter().map(Piece::Expr).collect()
    }

    /// A value with any white space around it, and the marker that closes it.
    fn closed(&mut self, state: StateId, argument: Argument<'_>, value: Expr) -> Alternative {
        let space = self.space();
        let closers = self.closers(state, argument);
        vec![space.clone(), Piece::Expr(value), space, Piece::Expr(closers)]
    }

    /// A text with the white space around it that the template writes, if any, and the marker that closes it.
    fn exactly(&mut self, state: StateId, layout: &str, argument: Argument<'_>, value: Expr) -> Alternative {
        let written = self.state(state).arrows().find(|(_, transition)| is_canonical(transition));
        let before = written.map_or("", |(marker, _)| &*marker.before);
        let parts = [
            self.builder.option(self.builder.text(layout)),
            value,
            self.builder.option(self.builder.text(before)),
            self.closers(state, argument),
        ];
        parts.into_iter().map(Piece::Expr).collect()
    }

    fn closers(&self, state: StateId, argument: Argument<'_>) -> Expr {
        let closer = |marker: &Marker| match argument {
            Argument::Property(_, property) if marker.take => self.builder.text(marker.core_for(&property.name)),
            Argument::Any if marker.is_named_by(NameOf::Argument) => self.any_repeated_name(state, marker),
            _ => self.builder.text(marker.consumed()),
        };
        let closers: Vec<Expr> =
            self.transitions(Position::new(state)).iter().map(|(marker, _)| closer(marker)).collect();
        self.builder.choice(&closers)
    }

    /// A value that fits a schema. `None` if there is none.
    pub(super) fn typed(&mut self, tool: &ToolRules, hint: &str, schema: &Value, syntax: Syntax) -> Option<Expr> {
        let hint = format!("{}-{hint}", tool.name);
        self.values.typed(&mut self.builder, &tool.name, &hint, &tool.parameters, schema, syntax)
    }
}

fn may_be(property: &Property, types: Types) -> bool {
    property.types.is_unknown() || property.types.intersects(types)
}

/// Whether a string has a format and no other limit. Those others cannot be expressed for raw text.
fn has_format(document: Document<'_, '_>, schema: &Value) -> bool {
    let has = |keyword: &str| document.conjuncts(schema).any(|subschema| subschema.schema.get(keyword).is_some());
    has("format") && !has("pattern") && !has("minLength") && !has("maxLength")
}

/// The values that a schema lists. `None` if it lists none, or if it is too large or too deep; `left` is how many more schemas
/// and values are looked at.
fn listed(document: Document<'_, '_>, schema: &Value, depth: usize, left: &mut usize) -> Option<Vec<Value>> {
    let depth = depth.checked_sub(1)?;
    for subschema in document.conjuncts(schema) {
        *left = left.checked_sub(1)?;
        let has = |keyword| subschema.schema.get(keyword);
        if let Some(value) = has("const") {
            return Some(vec![value.clone()]);
        }
        if let Some(Value::Array(values)) = has("enum") {
            *left = left.checked_sub(values.len())?;
            return Some(values.clone());
        }
        if has("type").and_then(Value::as_str) == Some("null") {
            return Some(vec![Value::Null]);
        }
        if let Some(Value::Array(parts)) = has("anyOf").or_else(|| has("oneOf")) {
            let parts: Option<Vec<Vec<Value>>> = parts.iter().map(|part| listed(document, part, depth, left)).collect();
            if let Some(parts) = parts {
                return Some(parts.concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unjinja_runtime::schema::References;

    use super::*;

    fn listed_in(schema: &Value) -> Option<Vec<Value>> {
        let mut defs = serde_json::Map::new();
        for at in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            defs.insert(format!("d{at}"), json!({"anyOf": [next, next, next]}));
        }
        let root = json!({"$defs": defs, "properties": {"unit": {"$anchor": "unit", "enum": ["c", "f"]}}});
        let references = References::of(&root);
        listed(Document::new(&root, &references), schema, MAX_DEPTH, &mut { MAX_SCHEMAS })
    }

    #[test]
    fn values_are_listed_wherever_the_schema_lists_them() {
        for schema in [
            json!({"enum": ["c", "f"]}),
            json!({"$ref": "#unit"}),
            json!({"$dynamicRef": "#unit"}),
            json!({"$ref": "#/properties/unit"}),
            json!({"anyOf": [{"const": "c"}, {"const": "f"}]}),
            json!({"allOf": [{"type": "string"}, {"$ref": "#unit"}]}),
        ] {
            assert_eq!(listed_in(&schema), Some(vec!["c".into(), "f".into()]), "{schema}");
        }
        for schema in [json!({"type": "string"}), json!({"anyOf": [{"const": 1}, {}]}), json!({"$ref": "#/$defs/d0"})] {
            assert_eq!(listed_in(&schema), None, "{schema}");
        }
    }
}

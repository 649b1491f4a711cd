//! Compiles a schema into its table. Nodes are compiled one after the other from a list, so depth costs no stack.

use std::collections::HashMap;

use serde_json::Value;
use unjinja_runtime::schema::MAX_SCHEMAS;

use super::super::bounds::{Bound, Count};
use super::super::condition::Condition;
use super::super::constraints::Constraints;
use super::super::format::{self, Format};
use super::super::regex::{Automaton, Regex};
use super::super::types::{ANY, ARRAY, BOOLEAN, INTEGER, NULL, NUMBER, OBJECT, STRING, type_bits};
use super::super::{Schemas, array, number};
use super::{
    ALTERNATIVES, ANYTHING, Alternative, ArrayRule, Limit, Listed, Magnitude, NOTHING, Node, NodeId, ObjectRule,
    Pattern, Table,
};
use crate::Builder;

/// The maximum number of names of all objects and strings of a table together; a pattern counts as [`PATTERN`] names. What is
/// beyond is not judged.
const NAMES: usize = 500_000;
/// What a pattern counts for.
const PATTERN: usize = 64;
/// The number of first items of an array that may have schemas of their own.
const ITEMS: usize = 2000;

impl Table {
    /// The table of a schema. What the table does not express, it allows.
    pub(crate) fn of(schema: &Value) -> Self {
        // Nothing is written to it: a table uses only how schemas are resolved.
        let mut builder = Builder::new();
        let mut compiler = Compiler {
            schemas: Schemas::new(&mut builder, schema),
            table: Self {
                nodes: vec![Node::Any, Node::OneOf(Vec::new())],
                root: ANYTHING,
                required: HashMap::new(),
                longest: 0,
            },
            known: HashMap::new(),
            pending: Vec::new(),
            names: NAMES,
        };
        compiler.table.root = compiler.node(vec![Condition::Schema(schema)]);
        while let Some((node, values)) = compiler.pending.pop() {
            compiler.table.nodes[node] = match values {
                Values::Of(conditions) => compiler.compile(&conditions),
                Values::Only(value) => Node::OneOf(compiler.constants(&[value])),
            };
        }
        compiler.table
    }
}

/// The values of a node that is not compiled yet.
enum Values<'s> {
    /// Those that meet these conditions.
    Of(Vec<Condition<'s>>),
    /// This one.
    Only(&'s Value),
}

struct Compiler<'s, 'b> {
    schemas: Schemas<'s, 'b>,
    table: Table,
    known: HashMap<Vec<Condition<'s>>, NodeId>,
    pending: Vec<(NodeId, Values<'s>)>,
    /// How many more names there may be.
    names: usize,
}

impl<'s> Compiler<'s, '_> {
    /// The node of the values that meet these conditions.
    fn node(&mut self, mut conditions: Vec<Condition<'s>>) -> NodeId {
        conditions.sort_unstable();
        conditions.dedup();
        conditions.retain(|condition| !matches!(condition, Condition::Schema(Value::Bool(true))));
        if conditions.is_empty() {
            return ANYTHING;
        }
        if let Some(&node) = self.known.get(&conditions) {
            return node;
        }
        let node = self.add(Values::Of(conditions.clone()));
        self.known.insert(conditions, node);
        node
    }

    fn add(&mut self, values: Values<'s>) -> NodeId {
        if self.table.nodes.len() >= MAX_SCHEMAS {
            return ANYTHING;
        }
        self.table.nodes.push(Node::Any);
        self.pending.push((self.table.nodes.len() - 1, values));
        self.table.nodes.len() - 1
    }

    fn compile(&mut self, conditions: &[Condition<'s>]) -> Node {
        let Ok(flat) = self.schemas.flatten(conditions) else { return Node::OneOf(Vec::new()) };
        let mut alternatives: Vec<Alternative> = Vec::new();
        for conditions in flat {
            if alternatives.len() > ALTERNATIVES {
                return Node::Any;
            }
            let Ok(mut constraints) = self.schemas.constraints(&conditions) else { continue };
            let Some(candidates) = constraints.candidates.take() else {
                let mut alternative = self.alternative(&constraints);
                if constraints.types & NUMBER == INTEGER
                    && let Some(values) = number::allowed_multiples(&constraints)
                {
                    alternative.types &= !INTEGER;
                    alternatives.push(integers(&values));
                }
                if alternative.is_anything() {
                    return Node::Any;
                }
                alternatives.push(alternative);
                continue;
            };
            let fits = |value: &&'s Value| self.schemas.candidate_fits(&constraints, value) != Some(false);
            let values: Vec<&'s Value> = candidates.into_iter().filter(fits).collect();
            let constants = self.constants(&values);
            // Many alternatives with a constant each are one list.
            for constant in constants {
                let scalars = alternatives.iter_mut().find(|known| known.listed.is_some() && constant.listed.is_some());
                match (scalars, constant.listed) {
                    (Some(known), Some(listed)) => {
                        known.types |= constant.types;
                        if let Some(all) = &mut known.listed {
                            all.join(listed);
                        }
                    }
                    (_, listed) => alternatives.push(Alternative { listed, ..constant }),
                }
            }
        }
        for listed in alternatives.iter_mut().filter_map(|alternative| alternative.listed.as_mut()) {
            listed.sort();
        }
        Node::OneOf(alternatives)
    }

    /// The alternatives of listed values: one for all scalars, and one for each array and object.
    fn constants(&mut self, values: &[&'s Value]) -> Vec<Alternative> {
        let mut alternatives = Vec::new();
        let (mut listed, mut types) = (Listed::default(), 0);
        for &value in values {
            match value {
                Value::Array(items) => {
                    let count = exactly(items.len());
                    let first = items.iter().map(|item| self.add(Values::Only(item))).collect();
                    let array = Some(Box::new(ArrayRule { count, first, rest: NOTHING, contains: Vec::new() }));
                    alternatives.push(Alternative { types: ARRAY, array, ..Alternative::default() });
                }
                Value::Object(all) => {
                    let mut members = HashMap::new();
                    let mut required = Vec::new();
                    for (name, value) in all {
                        members.insert(name.clone(), self.add(Values::Only(value)));
                        required.push((self.required(name), name.clone()));
                        self.table.longest = self.table.longest.max(name.len());
                    }
                    let count = Count::default();
                    let (patterned, others, names) = (Vec::new(), None, None);
                    let object = ObjectRule { count, members, required, patterned, others, names };
                    let object = Some(Box::new(object));
                    alternatives.push(Alternative { types: OBJECT, object, ..Alternative::default() });
                }
                scalar => {
                    types |= if scalar.is_number() { NUMBER } else { type_bits(scalar) };
                    listed.add(scalar);
                }
            }
        }
        if types != 0 {
            listed.sort();
            alternatives.push(Alternative { types, listed: Some(listed), ..Alternative::default() });
        }
        alternatives
    }

    /// The number of a required name.
    fn required(&mut self, name: &str) -> usize {
        let next = self.table.required.len();
        *self.table.required.entry(name.to_owned()).or_insert(next)
    }

    fn alternative(&mut self, constraints: &Constraints<'s>) -> Alternative {
        let mut alternative = Alternative { types: constraints.types, ..Alternative::default() };
        for value in &constraints.excluded {
            match value {
                Value::Null => alternative.types &= !NULL,
                Value::Bool(value) => alternative.excluded_booleans[usize::from(*value)] = true,
                Value::String(text) => alternative.excluded.push(text.clone()),
                _ => {}
            }
        }
        if alternative.excluded_booleans == [true; 2] {
            alternative.types &= !BOOLEAN;
        }
        alternative.excluded.sort_unstable();
        let limit = |bound: &Bound| Limit { value: Magnitude::from(&bound.value), exclusive: bound.exclusive };
        alternative.lower = constraints.lower.as_ref().map(limit);
        alternative.upper = constraints.upper.as_ref().map(limit);
        alternative.length = constraints.length;
        if alternative.length.is_empty() {
            alternative.types &= !STRING;
        }
        let affordable = self.pay(constraints);
        if alternative.types & STRING != 0 && affordable {
            alternative.patterns = patterns(constraints);
        }
        if constraints.limited & ARRAY != 0 && alternative.types & ARRAY != 0 {
            alternative.array = self.array(constraints).map(Box::new);
            if alternative.array.is_none() {
                alternative.types &= !ARRAY;
            }
        }
        if constraints.limited & OBJECT != 0 && alternative.types & OBJECT != 0 && affordable {
            alternative.object = self.object(constraints).map(Box::new);
            if alternative.object.is_none() {
                alternative.types &= !OBJECT;
            }
        }
        alternative
    }

    /// Takes what the names and patterns of an alternative cost from what is left. `false` if that is not enough.
    fn pay(&mut self, constraints: &Constraints<'s>) -> bool {
        let size =
            |schema: &Value, keyword: &str| schema.get(keyword).and_then(Value::as_object).map_or(0, |all| all.len());
        let named = |schema: &&Value| size(schema, "properties") + PATTERN * size(schema, "patternProperties");
        let objects: usize = constraints.objects.iter().map(named).sum();
        let strings = PATTERN * (constraints.patterns.len() + constraints.formats.len());
        let left = self.names.checked_sub(objects + constraints.required.len() + strings);
        self.names = left.unwrap_or(0);
        left.is_some()
    }

    /// The items of an array; `None` if no array fits.
    fn array(&mut self, constraints: &Constraints<'s>) -> Option<ArrayRule> {
        let schemas = &constraints.arrays;
        let own = schemas.iter().map(|schema| array::prefix(schema).len()).max().unwrap_or(0);
        let first = (0..own.min(ITEMS)).map(|at| self.node(array::parts(schemas, at))).collect();
        let rest = if own > ITEMS { ANYTHING } else { self.node(array::parts(schemas, usize::MAX)) };
        let mut contains = Vec::new();
        for &schema in schemas {
            let times = array::min_contains(schema);
            if let Some(fitting) = schema.get("contains").filter(|_| times > 0) {
                contains.push((self.node(vec![Condition::Schema(fitting)]), times));
            }
        }
        (!constraints.items.is_empty()).then_some(ArrayRule { count: constraints.items, first, rest, contains })
    }

    /// The members of an object; `None` if no object fits.
    fn object(&mut self, constraints: &Constraints<'s>) -> Option<ObjectRule> {
        if constraints.members.is_empty() {
            return None;
        }
        let patterns = self.schemas.patterns(constraints);
        let mut properties = self.schemas.properties(constraints, &patterns);
        let others = self.schemas.others(constraints, patterns, &properties);
        self.schemas.named(constraints, &mut properties).ok()?;
        let mut rule = ObjectRule {
            count: constraints.members,
            members: HashMap::new(),
            required: Vec::new(),
            patterned: Vec::new(),
            others: None,
            names: None,
        };
        for property in properties {
            if property.forbidden && property.required {
                return None;
            }
            if property.required {
                rule.required.push((self.required(property.name), property.name.to_owned()));
            }
            let node = if property.forbidden { NOTHING } else { self.node(property.parts) };
            self.table.longest = self.table.longest.max(property.name.len());
            rule.members.insert(property.name.to_owned(), node);
        }
        if let Some(others) = others {
            for (regex, of) in &others.patterned {
                let parts = [Condition::Schema(of)].into_iter().chain(others.parts.iter().copied());
                let node = self.node(parts.collect());
                match Automaton::of(regex) {
                    Some(automaton) => rule.patterned.push((automaton, node)),
                    // Which names match is not known, so every name may.
                    None => rule.others = Some(ANYTHING),
                }
            }
            if others.unpatterned && rule.others.is_none() {
                rule.others = Some(self.node(others.parts));
            }
        }
        let names = constraints.objects.iter().filter_map(|schema| schema.get("propertyNames")).map(Condition::Schema);
        let names: Vec<Condition<'s>> = names.collect();
        if !names.is_empty() {
            rule.names = Some(self.node(names.into_iter().chain([Condition::Types(STRING)]).collect()));
        }
        Some(rule)
    }
}

impl Alternative {
    fn is_anything(&self) -> bool {
        let limits = self.lower.is_none() && self.upper.is_none() && self.length.is_any();
        let excluded = !self.excluded.is_empty() || self.excluded_booleans != [false; 2];
        let parts = self.array.is_none() && self.object.is_none() && self.patterns.is_empty();
        self.types == ANY && limits && parts && !excluded
    }
}

impl Listed {
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.strings.push(text.clone()),
            Value::Bool(value) => self.booleans[usize::from(*value)] = true,
            Value::Number(number) => match Magnitude::of(number) {
                Some(magnitude) if magnitude.is_zero() => {
                    self.numbers.iter_mut().for_each(|all| all.push(magnitude.clone()))
                }
                Some(magnitude) => self.numbers[usize::from(magnitude.negative)].push(magnitude),
                None => self.other_numbers = true,
            },
            _ => {}
        }
    }

    fn join(&mut self, other: Self) {
        self.strings.extend(other.strings);
        for (all, more) in self.numbers.iter_mut().zip(other.numbers) {
            all.extend(more);
        }
        self.other_numbers |= other.other_numbers;
        for (one, other) in self.booleans.iter_mut().zip(other.booleans) {
            *one |= other;
        }
    }

    fn sort(&mut self) {
        self.strings.sort_unstable();
        self.strings.dedup();
        for numbers in &mut self.numbers {
            numbers.sort_by(Magnitude::by_digits);
        }
    }
}

/// The patterns and formats of a string, as far as a grammar expresses them.
fn patterns(constraints: &Constraints<'_>) -> Vec<Pattern> {
    let formats = constraints.formats.iter().filter_map(|(_, name)| match format::of(name) {
        Format::Pattern(pattern, _) => Some(("format", *name, pattern)),
        Format::Nothing | Format::Unknown => None,
    });
    let patterns = constraints.patterns.iter().map(|(_, pattern)| ("pattern", *pattern, *pattern));
    let all = patterns.chain(formats).filter_map(|(keyword, name, pattern)| {
        let automaton = Automaton::of(&Regex::parse(pattern).ok()?)?;
        Some(Pattern { name: format!("{keyword} `{name}`"), automaton })
    });
    all.collect()
}

/// These integers.
fn integers(values: &[i128]) -> Alternative {
    let mut listed = Listed::default();
    let values = values.iter().filter_map(|&value| i64::try_from(value).ok());
    values.for_each(|value| listed.add(&Value::from(value)));
    listed.sort();
    Alternative { types: NUMBER, listed: Some(listed), ..Alternative::default() }
}

fn exactly(count: usize) -> Count {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Count { min: count, max: Some(count) }
}

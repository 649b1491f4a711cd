//! Takes references and combinations apart: a schema becomes alternatives, each a list of plain keywords that all hold.
//!
//! `allOf` and `$ref` join, `anyOf` and `oneOf` divide, `if` divides into what follows if it holds and if not;
//! what depends on a property divides into its absence and what then holds. A schema that comes back to itself by way
//! of its own alternatives adds nothing to them.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::facts::{ANY, types_of};
use super::{Impossible, Outcome, Schemas};

/// How many alternatives several divisions may multiply to.
const ALTERNATIVES: usize = 64;
/// How many one division may have.
const ALTERNATIVES_OF_ONE: usize = 5000;

/// How many schemas lead to one, by references and combinations alone.
const CHAIN: usize = 500;

/// One thing that must hold. Equal if it is the same place of the same document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'s> {
    /// A value fits this schema.
    Schema(&'s Value),
    /// It does not fit this one.
    Not(&'s Value),
    /// It is of one of these types.
    Types(u8),
    /// It is none of these values.
    NoneOf(&'s [Value]),
    /// If it is an object, it has this property.
    Require(&'s str),
    /// If it is an object, it has no such property.
    Forbid(&'s str),
    /// It is an object with this property, whose value does not fit this schema.
    Unlike(&'s str, &'s Value),
}

impl Part<'_> {
    /// What it is told from others by.
    fn key(&self) -> (u8, usize, usize) {
        let text = |text: &str| text.as_ptr() as usize;
        let value = |value: &Value| std::ptr::from_ref(value) as usize;
        match self {
            Self::Schema(schema) => (0, value(schema), 0),
            Self::Not(schema) => (1, value(schema), 0),
            Self::Types(types) => (2, usize::from(*types), 0),
            Self::NoneOf(values) => (3, values.as_ptr() as usize, values.len()),
            Self::Require(name) => (4, text(name), name.len()),
            Self::Forbid(name) => (5, text(name), name.len()),
            Self::Unlike(name, schema) => (6, text(name), value(schema)),
        }
    }
}

impl PartialEq for Part<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Part<'_> {}

impl Hash for Part<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Part<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The schemas that a part comes from, up to the start, and whether one of several alternatives lies between.
#[derive(Debug)]
struct Origin<'s> {
    schema: &'s Value,
    divided: bool,
    parent: Option<Rc<Origin<'s>>>,
    /// How many there are up to the start.
    depth: usize,
}

impl<'s> Origin<'s> {
    fn new(schema: &'s Value, divided: bool, parent: From<'s>) -> Rc<Self> {
        let depth = parent.as_ref().map_or(0, |parent| parent.depth) + 1;
        Rc::new(Self { schema, divided, parent, depth })
    }
}

type From<'s> = Option<Rc<Origin<'s>>>;

/// Several alternatives, each with all that must hold in it.
struct Division<'s> {
    schema: &'s Value,
    keyword: &'static str,
    alternatives: Vec<Vec<Part<'s>>>,
    from: From<'s>,
}

/// One alternative in the making.
#[derive(Clone)]
struct Branch<'s> {
    done: Vec<Part<'s>>,
    /// What is done, once that is much.
    index: HashSet<Part<'s>>,
    pending: Vec<(Part<'s>, From<'s>)>,
    divisions: Vec<Rc<Division<'s>>>,
}

impl<'s> Branch<'s> {
    /// From here on the index is used.
    const MANY: usize = 32;

    fn has(&self, part: &Part<'s>) -> bool {
        if self.done.len() < Self::MANY { self.done.contains(part) } else { self.index.contains(part) }
    }

    fn add(&mut self, part: Part<'s>) {
        self.done.push(part);
        match self.done.len() {
            Self::MANY => self.index.extend(self.done.iter().copied()),
            more if more > Self::MANY => _ = self.index.insert(part),
            _ => {}
        }
    }
}

impl<'s> Schemas<'s, '_> {
    /// The alternatives of all these parts together: in each only schemas whose plain keywords are to be read.
    pub(super) fn flatten(&mut self, parts: &[Part<'s>]) -> Outcome<'s, Vec<Vec<Part<'s>>>> {
        let pending = parts.iter().rev().map(|&part| (part, None)).collect();
        let mut open = vec![Branch { done: Vec::new(), index: HashSet::new(), pending, divisions: Vec::new() }];
        let mut flat = Vec::new();
        let mut why = Impossible { schema: None, why: "the schema is only ever itself again" };
        while let Some(mut branch) = open.pop() {
            match self.settle(&mut branch) {
                Ok(true) => {}
                // It adds nothing.
                Ok(false) => continue,
                Err(impossible) => {
                    why = impossible;
                    continue;
                }
            }
            branch.divisions.reverse();
            let Some(division) = branch.divisions.pop() else {
                flat.push(branch.done);
                continue;
            };
            branch.divisions.reverse();
            let more = division.alternatives.len();
            let alone = open.is_empty() && flat.is_empty();
            if more + open.len() + flat.len() > if alone { ALTERNATIVES_OF_ONE } else { ALTERNATIVES } {
                self.report(Some(division.schema), division.keyword, "there are too many alternatives together");
                open.push(branch);
                continue;
            }
            let from = Origin::new(division.schema, true, division.from.clone());
            for alternative in division.alternatives.iter().rev() {
                let mut branch = branch.clone();
                branch.pending.extend(alternative.iter().rev().map(|&part| (part, Some(Rc::clone(&from)))));
                open.push(branch);
            }
        }
        if flat.is_empty() { Err(why) } else { Ok(flat) }
    }

    /// Joins what must hold together. `false` if the branch comes back to where it was divided.
    fn settle(&mut self, branch: &mut Branch<'s>) -> Outcome<'s, bool> {
        while let Some((part, from)) = branch.pending.pop() {
            let schema = match part {
                Part::Schema(schema) => schema,
                Part::Not(schema) => {
                    self.negate(schema, branch, from)?;
                    continue;
                }
                other => {
                    if !branch.has(&other) {
                        branch.add(other);
                    }
                    continue;
                }
            };
            let keywords = match schema {
                Value::Bool(true) => continue,
                Value::Bool(false) => return super::impossible(Some(schema), "the schema is `false`"),
                Value::Object(keywords) => keywords,
                _ => {
                    self.report(Some(schema), "schema", "it is no schema: neither an object nor true or false");
                    continue;
                }
            };
            if keywords.is_empty() {
                continue;
            }
            if branch.has(&part) {
                if returns(schema, from.as_ref()) {
                    return Ok(false);
                }
                continue;
            }
            if self.budget == 0 || from.as_ref().is_some_and(|from| from.depth > CHAIN) {
                self.report(Some(schema), "schema", "the schema is too big or deep: this is not looked at");
                continue;
            }
            self.budget -= 1;
            branch.add(part);
            let here = Some(Origin::new(schema, false, from));
            self.combine(schema, keywords, branch, &here);
        }
        Ok(true)
    }

    /// The keywords that join and divide.
    fn combine(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        branch: &mut Branch<'s>,
        here: &From<'s>,
    ) {
        let mut divide = |keyword, alternatives| {
            branch.divisions.push(Rc::new(Division { schema, keyword, alternatives, from: here.clone() }));
        };
        let mut join = Vec::new();
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(name)) => match self.target(name) {
                    Some(target) => {
                        if keyword == "$dynamicRef" && !name.starts_with("#/") {
                            self.report(
                                Some(schema),
                                "$dynamicRef",
                                "it is not followed: what it means depends on the way there",
                            );
                        } else {
                            join.push(Part::Schema(target));
                        }
                    }
                    None => self.report(Some(schema), "$ref", "it leads to nothing in this document"),
                },
                ("allOf", Value::Array(parts)) => join.extend(parts.iter().map(Part::Schema)),
                ("anyOf", Value::Array(parts)) => {
                    divide("anyOf", parts.iter().map(|part| vec![Part::Schema(part)]).collect());
                }
                ("oneOf", Value::Array(parts)) => {
                    let types = keywords.get("type").and_then(types_of).unwrap_or(ANY);
                    if !self.exclude_each_other(types, parts) {
                        self.report(Some(schema), "oneOf", "more than one of the alternatives may hold");
                    }
                    divide("oneOf", parts.iter().map(|part| vec![Part::Schema(part)]).collect());
                }
                ("not", value) => join.push(Part::Not(value)),
                ("if", condition) => {
                    let (then, other) = (keywords.get("then"), keywords.get("else"));
                    if then.is_some() || other.is_some() {
                        let branch = |first, then: Option<&'s Value>| {
                            [first].into_iter().chain(then.map(Part::Schema)).collect()
                        };
                        divide("if", vec![branch(Part::Schema(condition), then), branch(Part::Not(condition), other)]);
                    }
                }
                ("dependentRequired" | "dependentSchemas" | "dependencies", Value::Object(properties)) => {
                    for (name, value) in properties {
                        let mut with = vec![Part::Require(name)];
                        match value {
                            Value::Array(names) => {
                                with.extend(names.iter().filter_map(Value::as_str).map(Part::Require));
                            }
                            schema => with.push(Part::Schema(schema)),
                        }
                        if with.len() > 1 {
                            divide("dependentRequired", vec![vec![Part::Forbid(name)], with]);
                        }
                    }
                }
                _ => {}
            }
        }
        branch.pending.extend(join.into_iter().rev().map(|part| (part, here.clone())));
    }

    /// What must hold so that a schema does not: alternatives, each of one part.
    fn negate(&mut self, schema: &'s Value, branch: &mut Branch<'s>, from: From<'s>) -> Outcome<'s, ()> {
        let keywords = match schema {
            Value::Bool(false) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return super::impossible(Some(schema), "`not` excludes everything"),
        };
        if self.budget == 0 || from.as_ref().is_some_and(|from| from.depth > CHAIN) {
            self.report(Some(schema), "not", "the schema is too big or deep: this is not looked at");
            return Ok(());
        }
        self.budget -= 1;
        let mut alternatives: Vec<Vec<Part<'s>>> = Vec::new();
        let mut known = true;
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("title" | "description" | "$comment" | "default" | "examples" | "$defs" | "definitions", _) => {}
                ("type", value) => match types_of(value) {
                    Some(types) => alternatives.push(vec![Part::Types(ANY & !types)]),
                    None => known = false,
                },
                ("const", value) => alternatives.push(vec![Part::NoneOf(std::slice::from_ref(value))]),
                ("enum", Value::Array(values)) => alternatives.push(vec![Part::NoneOf(values)]),
                ("required", Value::Array(names)) => {
                    let object = Part::Types(super::facts::OBJECT);
                    let names = names.iter().filter_map(Value::as_str);
                    alternatives.extend(names.map(|name| vec![object, Part::Forbid(name)]));
                }
                ("properties", Value::Object(properties)) => {
                    let object = Part::Types(super::facts::OBJECT);
                    alternatives
                        .extend(properties.iter().map(|(name, schema)| vec![object, Part::Unlike(name, schema)]));
                }
                ("not", schema) => alternatives.push(vec![Part::Schema(schema)]),
                ("allOf", Value::Array(parts)) => alternatives.extend(parts.iter().map(|part| vec![Part::Not(part)])),
                ("anyOf", Value::Array(parts)) => alternatives.push(parts.iter().map(Part::Not).collect()),
                _ => known = false,
            }
        }
        // What the other keywords say is not known to hold where it is negated: it may always be that.
        if !known {
            // Values that the schema gives itself are still tested.
            branch.add(Part::Not(schema));
            return Ok(());
        }
        let from = Some(Origin::new(schema, false, from));
        match alternatives.len() {
            0 => return super::impossible(Some(schema), "`not` excludes everything"),
            1 => {
                let parts = alternatives.pop().unwrap_or_default();
                branch.pending.extend(parts.into_iter().rev().map(|part| (part, from.clone())));
            }
            _ => branch.divisions.push(Rc::new(Division { schema, keyword: "not", alternatives, from })),
        }
        Ok(())
    }
}

/// Whether a schema is among those that it was reached from, with a division in between.
fn returns(schema: &Value, from: Option<&Rc<Origin<'_>>>) -> bool {
    let mut divided = false;
    let mut at = from;
    while let Some(origin) = at {
        divided |= origin.divided;
        if std::ptr::eq(origin.schema, schema) {
            return divided;
        }
        at = origin.parent.as_ref();
    }
    false
}

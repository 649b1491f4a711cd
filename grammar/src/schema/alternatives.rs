//! Resolves references and combinations: a schema becomes alternatives, each a list of schemas of which only the plain
//! keywords remain to be read.
//!
//! `allOf` and `$ref` join conditions. `anyOf` and `oneOf` divide into alternatives. `if` divides into "it holds, and
//! `then`" and "it does not hold, and `else`". A dependency divides into "the property is absent" and "it is present,
//! and what depends on it holds". A schema that leads back to itself through its own alternatives adds nothing.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::{Map, Value};
use unjinja_runtime::schema::{MAX_DEPTH, reference_keyword};

use super::condition::Condition;
use super::types::{ANY, OBJECT, types_of};
use super::{Impossible, Outcome, Schemas, impossible};

/// The maximum number of alternatives to which several divisions may multiply.
const ALTERNATIVES: usize = 64;
/// The maximum number of alternatives of one division.
const ALTERNATIVES_OF_ONE: usize = 5000;

/// The schemas through which a condition was reached, and whether a division lies between.
#[derive(Debug)]
struct Origin<'s> {
    schema: &'s Value,
    divided: bool,
    parent: Option<Rc<Origin<'s>>>,
    /// The number of schemas up to the start.
    depth: usize,
}

impl<'s> Origin<'s> {
    fn new(schema: &'s Value, divided: bool, parent: From<'s>) -> Rc<Self> {
        let depth = parent.as_ref().map_or(0, |parent| parent.depth) + 1;
        Rc::new(Self { schema, divided, parent, depth })
    }
}

type From<'s> = Option<Rc<Origin<'s>>>;

/// Alternatives, each with the conditions that hold in it.
struct Division<'s> {
    schema: &'s Value,
    keyword: &'static str,
    alternatives: Vec<Vec<Condition<'s>>>,
    from: From<'s>,
}

/// One alternative while it is being resolved.
#[derive(Clone)]
struct Branch<'s> {
    done: Vec<Condition<'s>>,
    /// The same as `done`, as a set; used once there are many.
    index: HashSet<Condition<'s>>,
    pending: Vec<(Condition<'s>, From<'s>)>,
    divisions: Vec<Rc<Division<'s>>>,
}

impl<'s> Branch<'s> {
    /// From this number on, the set is used.
    const MANY: usize = 32;

    fn has(&self, part: &Condition<'s>) -> bool {
        if self.done.len() < Self::MANY { self.done.contains(part) } else { self.index.contains(part) }
    }

    fn add(&mut self, part: Condition<'s>) {
        self.done.push(part);
        match self.done.len() {
            Self::MANY => self.index = self.done.iter().copied().collect(),
            more if more > Self::MANY => _ = self.index.insert(part),
            _ => {}
        }
    }
}

impl<'s> Schemas<'s, '_> {
    /// The alternatives of all these conditions together.
    pub(super) fn flatten(&mut self, parts: &[Condition<'s>]) -> Outcome<'s, Vec<Vec<Condition<'s>>>> {
        let pending = parts.iter().rev().map(|&part| (part, None)).collect();
        let mut open = vec![Branch { done: Vec::new(), index: HashSet::new(), pending, divisions: Vec::new() }];
        let mut flat = Vec::new();
        let mut why = Impossible { schema: None, why: "the schema refers only to itself" };
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
                self.report(Some(division.schema), division.keyword, "there are too many combinations of alternatives");
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

    /// Joins the conditions of a branch. `false` if the branch leads back to where it was divided.
    fn settle(&mut self, branch: &mut Branch<'s>) -> Outcome<'s, bool> {
        while let Some((part, from)) = branch.pending.pop() {
            let schema = match part {
                Condition::Schema(schema) => schema,
                Condition::Not(schema) => {
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
                Value::Bool(false) => return impossible(Some(schema), "the schema is `false`"),
                Value::Object(keywords) => keywords,
                _ => {
                    self.report(Some(schema), "schema", "this is not a schema: it is neither an object nor a boolean");
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
            if self.budget == 0 || from.as_ref().is_some_and(|from| from.depth >= MAX_DEPTH) {
                self.report(
                    Some(schema),
                    "schema",
                    "the schema is too large or nested too deeply; this part is not checked",
                );
                continue;
            }
            self.budget -= 1;
            branch.add(part);
            let here = Some(Origin::new(schema, false, from));
            self.combine(schema, keywords, branch, &here);
        }
        Ok(true)
    }

    /// Reads the keywords that join or divide.
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
            if let Some(keyword) = reference_keyword(keyword) {
                match self.document().reference(keyword, value).target {
                    Some(target) => join.push(Condition::Schema(target)),
                    None => self.report(Some(schema), keyword, "there is no such schema in this document"),
                }
                continue;
            }
            match (keyword.as_str(), value) {
                ("allOf", Value::Array(parts)) => join.extend(parts.iter().map(Condition::Schema)),
                ("anyOf", Value::Array(parts)) => {
                    divide("anyOf", parts.iter().map(|part| vec![Condition::Schema(part)]).collect());
                }
                ("oneOf", Value::Array(parts)) => {
                    let types = keywords.get("type").and_then(types_of).unwrap_or(ANY);
                    if !self.exclude_each_other(types, parts) {
                        self.report(Some(schema), "oneOf", "a value that fits more than one alternative is accepted");
                    }
                    divide("oneOf", parts.iter().map(|part| vec![Condition::Schema(part)]).collect());
                }
                ("not", value) => join.push(Condition::Not(value)),
                ("if", condition) => {
                    let (then, other) = (keywords.get("then"), keywords.get("else"));
                    if then.is_some() || other.is_some() {
                        let branch = |first, then: Option<&'s Value>| {
                            [first].into_iter().chain(then.map(Condition::Schema)).collect()
                        };
                        divide(
                            "if",
                            vec![branch(Condition::Schema(condition), then), branch(Condition::Not(condition), other)],
                        );
                    }
                }
                ("dependentRequired" | "dependentSchemas" | "dependencies", Value::Object(properties)) => {
                    for (name, value) in properties {
                        let mut with = vec![Condition::Require(name)];
                        match value {
                            Value::Array(names) => {
                                with.extend(names.iter().filter_map(Value::as_str).map(Condition::Require));
                            }
                            schema => with.push(Condition::Schema(schema)),
                        }
                        if with.len() > 1 {
                            divide("dependentRequired", vec![vec![Condition::Forbid(name)], with]);
                        }
                    }
                }
                _ => {}
            }
        }
        branch.pending.extend(join.into_iter().rev().map(|part| (part, here.clone())));
    }

    /// Adds the conditions under which a schema does not hold.
    fn negate(&mut self, schema: &'s Value, branch: &mut Branch<'s>, from: From<'s>) -> Outcome<'s, ()> {
        let keywords = match schema {
            Value::Bool(false) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return impossible(Some(schema), "`not` excludes every value"),
        };
        if self.budget == 0 || from.as_ref().is_some_and(|from| from.depth >= MAX_DEPTH) {
            self.report(Some(schema), "not", "the schema is too large or nested too deeply; this part is not checked");
            return Ok(());
        }
        self.budget -= 1;
        let mut alternatives: Vec<Vec<Condition<'s>>> = Vec::new();
        let mut known = true;
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("title" | "description" | "$comment" | "default" | "examples" | "$defs" | "definitions", _) => {}
                ("type", value) => match types_of(value) {
                    Some(types) => alternatives.push(vec![Condition::Types(ANY & !types)]),
                    None => known = false,
                },
                ("const", value) => alternatives.push(vec![Condition::NoneOf(std::slice::from_ref(value))]),
                ("enum", Value::Array(values)) => alternatives.push(vec![Condition::NoneOf(values)]),
                ("required", Value::Array(names)) => {
                    let object = Condition::Types(OBJECT);
                    let names = names.iter().filter_map(Value::as_str);
                    alternatives.extend(names.map(|name| vec![object, Condition::Forbid(name)]));
                }
                ("properties", Value::Object(properties)) => {
                    let object = Condition::Types(OBJECT);
                    alternatives.extend(
                        properties.into_iter().map(|(name, schema)| vec![object, Condition::Unlike(name, schema)]),
                    );
                }
                ("not", schema) => alternatives.push(vec![Condition::Schema(schema)]),
                ("allOf", Value::Array(parts)) => {
                    alternatives.extend(parts.iter().map(|part| vec![Condition::Not(part)]))
                }
                ("anyOf", Value::Array(parts)) => alternatives.push(parts.iter().map(Condition::Not).collect()),
                _ => known = false,
            }
        }
        // Other keywords are not negated. Their negation is assumed to hold, so more is accepted.
        if !known {
            // Values that the schema lists are still tested against it.
            branch.add(Condition::Not(schema));
            return Ok(());
        }
        let from = Some(Origin::new(schema, false, from));
        match alternatives.len() {
            0 => return impossible(Some(schema), "`not` excludes every value"),
            1 => {
                let parts = alternatives.pop().unwrap_or_default();
                branch.pending.extend(parts.into_iter().rev().map(|part| (part, from.clone())));
            }
            _ => branch.divisions.push(Rc::new(Division { schema, keyword: "not", alternatives, from })),
        }
        Ok(())
    }
}

/// Whether a schema is among those through which it was reached, with a division between.
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

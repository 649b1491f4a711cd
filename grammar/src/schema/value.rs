//! The values that meet a set of conditions: the alternatives of the schemas, and in each the types.

use serde_json::Value;
use unjinja_runtime::schema::MAX_DEPTH;

use super::condition::Condition;
use super::constraints::Constraints;
use super::types::{ARRAY, BOOLEAN, FRACTION, INTEGER, NULL, NUMBER, OBJECT, STRING, type_bits};
use super::{Impossible, Known, Outcome, Schemas, check, impossible, json};
use crate::expr::Expr;

impl<'s> Schemas<'s, '_> {
    /// The expression for all values that meet these conditions.
    pub(super) fn value(&mut self, hint: &str, mut conditions: Vec<Condition<'s>>) -> Outcome<'s, Expr> {
        conditions.sort_unstable();
        conditions.dedup();
        conditions.retain(|condition| !matches!(condition, Condition::Schema(Value::Bool(true))));
        if conditions.is_empty() {
            return Ok(json::value(self.builder).into());
        }
        match self.known.get_mut(&conditions) {
            Some(Known::Done(outcome)) => return outcome.clone(),
            Some(Known::Open(rule)) => {
                let rule = *rule.get_or_insert_with(|| self.builder.reserve(hint));
                return Ok(rule.into());
            }
            None => {}
        }
        if self.depth >= MAX_DEPTH {
            let schema = conditions
                .iter()
                .find_map(|condition| if let Condition::Schema(schema) = condition { Some(*schema) } else { None });
            self.report(schema, "schema", "schemas are nested too deeply; this one is not checked");
            return Ok(json::value(self.builder).into());
        }
        self.known.insert(conditions.clone(), Known::Open(None));
        self.depth += 1;
        let mut outcome = self.alternatives(hint, &conditions);
        self.depth -= 1;
        if let Some(Known::Open(Some(rule))) = self.known.get(&conditions) {
            let rule = *rule;
            if let Ok(expr) = outcome {
                self.builder.define(rule, expr);
                outcome = if self.builder.matches_some(rule) {
                    Ok(rule.into())
                } else {
                    let schema = conditions.iter().find_map(|condition| {
                        if let Condition::Schema(schema) = condition { Some(*schema) } else { None }
                    });
                    impossible(schema, "every matching value would have to contain itself")
                };
            }
        }
        self.known.insert(conditions, Known::Done(outcome.clone()));
        outcome
    }

    fn alternatives(&mut self, hint: &str, conditions: &[Condition<'s>]) -> Outcome<'s, Expr> {
        let mut expressions = Vec::new();
        let mut why: Option<Impossible<'s>> = None;
        for conditions in self.flatten(conditions)? {
            match self.one_alternative(hint, &conditions) {
                Ok(expr) => expressions.push(expr),
                Err(impossible) => why = why.or(Some(impossible)),
            }
        }
        match why {
            Some(why) if expressions.is_empty() => Err(why),
            _ if expressions.len() == 1 => Ok(expressions.remove(0)),
            _ => Ok(self.rule(hint, self.builder.choice(&expressions))),
        }
    }

    fn one_alternative(&mut self, hint: &str, conditions: &[Condition<'s>]) -> Outcome<'s, Expr> {
        let mut constraints = self.constraints(conditions)?;
        if let Some(candidates) = constraints.candidates.take() {
            return self.listed(hint, &constraints, candidates);
        }
        for schema in std::mem::take(&mut constraints.not) {
            self.report(Some(schema), "not", "a grammar cannot express this negation");
        }
        let mut expressions = Vec::new();
        let mut why: Option<Impossible<'s>> = None;
        for types in [STRING, NUMBER, BOOLEAN, NULL, ARRAY, OBJECT] {
            let types = constraints.types & types;
            if types == 0 {
                continue;
            }
            match self.of_type(hint, types, &constraints) {
                Ok(expr) => expressions.push(expr),
                Err(impossible) => why = why.or(Some(impossible)),
            }
        }
        if let Some(why) = why
            && expressions.is_empty()
        {
            return Err(why);
        }
        let everything = expressions.len() == 6 && constraints.limited == 0 && constraints.types & FRACTION != 0;
        if everything && constraints.excluded.is_empty() && constraints.formats.is_empty() {
            return Ok(json::value(self.builder).into());
        }
        if expressions.len() == 1 {
            return Ok(expressions.remove(0));
        }
        Ok(self.rule(hint, self.builder.choice(&expressions)))
    }

    fn of_type(&mut self, hint: &str, types: u8, constraints: &Constraints<'s>) -> Outcome<'s, Expr> {
        let excluded = constraints.excluded.iter().copied().filter(|value| type_bits(value) & types != 0);
        let excluded: Vec<&'s Value> = excluded.collect();
        match types {
            NULL if excluded.is_empty() => Ok(json::null(self.builder)),
            NULL => impossible(excluded.first().copied(), "null is excluded"),
            BOOLEAN => self.boolean(&excluded),
            STRING => self.string(hint, constraints, &excluded),
            ARRAY => {
                self.report_excluded(&excluded);
                self.array(hint, constraints)
            }
            OBJECT => {
                self.report_excluded(&excluded);
                self.object(hint, constraints)
            }
            _ => {
                self.report_excluded(&excluded);
                if types == FRACTION {
                    self.report(constraints.schemas.first().copied(), "not", "integers are not excluded");
                }
                self.number(hint, constraints, types == INTEGER)
            }
        }
    }

    fn boolean(&mut self, excluded: &[&'s Value]) -> Outcome<'s, Expr> {
        if excluded.is_empty() {
            return Ok(json::boolean(self.builder).into());
        }
        let allowed = [true, false].into_iter().filter(|&value| !excluded.contains(&&Value::Bool(value)));
        let allowed: Vec<Expr> = allowed.map(|value| self.builder.text(value.to_string())).collect();
        if allowed.is_empty() {
            return impossible(excluded.first().copied(), "true and false are excluded");
        }
        Ok(self.builder.choice(&allowed))
    }

    pub(super) fn report_excluded(&mut self, excluded: &[&'s Value]) {
        for &value in excluded {
            self.report(Some(value), "not", "a grammar cannot exclude this value");
        }
    }

    /// The values that the schema lists, as far as they meet all other constraints.
    fn listed(&mut self, hint: &str, constraints: &Constraints<'s>, candidates: Vec<&'s Value>) -> Outcome<'s, Expr> {
        let mut expressions = Vec::new();
        let mut unsure = false;
        for value in candidates {
            let fits = self.candidate_fits(constraints, value);
            if fits == Some(false) {
                continue;
            }
            unsure |= fits.is_none();
            match json::literal(self.builder, value, MAX_DEPTH) {
                Some(expr) => {
                    expressions.push(expr);
                    let sorted = self.sorting.and_then(|sorting| sorting.sorted(value));
                    expressions.extend(sorted.and_then(|value| json::literal(self.builder, &value, MAX_DEPTH)));
                }
                None => {
                    self.report(Some(value), "enum", "the value is nested too deeply; any value is accepted");
                    expressions.push(json::value(self.builder).into());
                }
            }
        }
        let lists = |schema: &&&Value| schema.get("enum").or_else(|| schema.get("const")).is_some();
        let schema = constraints.schemas.iter().find(lists).copied();
        if unsure {
            self.report(schema, "enum", "some keywords could not be tested for the listed values");
        }
        match expressions.len() {
            0 => impossible(schema, "none of the listed values fits the rest of the schema"),
            1 => Ok(expressions.remove(0)),
            _ => Ok(self.rule(hint, self.builder.choice(&expressions))),
        }
    }

    /// Whether a listed value meets all other constraints.
    pub(super) fn candidate_fits(&mut self, constraints: &Constraints<'s>, value: &'s Value) -> check::Known {
        let types = constraints.types & type_bits(value) != 0;
        let excluded = constraints.excluded.iter().any(|excluded| check::equal(value, excluded));
        let mut fits = Some(types && !excluded);
        for schema in &constraints.schemas {
            fits = check::and(fits, self.fits(value, schema));
        }
        for schema in &constraints.not {
            fits = check::and(fits, self.fits(value, schema).map(|fits| !fits));
        }
        if let Value::Object(members) = value {
            let required = constraints.required.iter().all(|name| members.contains_key(*name));
            let forbidden = constraints.forbidden.iter().any(|name| members.contains_key(*name));
            fits = check::and(fits, Some(required && !forbidden));
            for (name, schema) in &constraints.unlike {
                let fitting = members.get(*name).map_or(Some(true), |value| self.fits(value, schema));
                fits = check::and(fits, fitting.map(|fits| !fits));
            }
        }
        fits
    }
}

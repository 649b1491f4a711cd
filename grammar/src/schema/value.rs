//! What a value may be: the alternatives of its schemas, and in each the types.

use serde_json::Value;

use super::super::{Expr, choice, text};
use super::facts::{ARRAY, BOOLEAN, FRACTION, Facts, INTEGER, NULL, NUMBER, OBJECT, STRING, type_bits};
use super::flat::Part;
use super::{DEPTH, Impossible, Known, Outcome, Schemas, check, impossible, json};

impl<'s> Schemas<'s, '_> {
    /// What a value is written like that fits all these.
    pub(super) fn value(&mut self, hint: &str, mut parts: Vec<Part<'s>>) -> Outcome<'s, Expr> {
        parts.sort_unstable();
        parts.dedup();
        parts.retain(|part| !matches!(part, Part::Schema(Value::Bool(true))));
        if parts.is_empty() {
            return Ok(json::value(self.builder).into());
        }
        match self.known.get_mut(&parts) {
            Some(Known::Done(outcome)) => return outcome.clone(),
            Some(Known::Open(rule)) => {
                let rule = *rule.get_or_insert_with(|| self.builder.reserve(hint));
                return Ok(rule.into());
            }
            None => {}
        }
        if self.depth >= DEPTH {
            let schema =
                parts.iter().find_map(|part| if let Part::Schema(schema) = part { Some(*schema) } else { None });
            self.report(schema, "schema", "schemas nest too deep: this is not looked at");
            return Ok(json::value(self.builder).into());
        }
        self.known.insert(parts.clone(), Known::Open(None));
        self.depth += 1;
        let mut outcome = self.alternatives(hint, &parts);
        self.depth -= 1;
        if let Some(Known::Open(Some(rule))) = self.known.get(&parts) {
            let rule = *rule;
            if let Ok(expr) = outcome {
                self.builder.define(rule, expr);
                outcome = if self.builder.matches_some(rule) {
                    Ok(rule.into())
                } else {
                    let schema = parts
                        .iter()
                        .find_map(|part| if let Part::Schema(schema) = part { Some(*schema) } else { None });
                    impossible(schema, "whatever fits would have to hold itself, without end")
                };
            }
        }
        self.known.insert(parts, Known::Done(outcome.clone()));
        outcome
    }

    fn alternatives(&mut self, hint: &str, parts: &[Part<'s>]) -> Outcome<'s, Expr> {
        let mut expressions = Vec::new();
        let mut why: Option<Impossible<'s>> = None;
        for parts in self.flatten(parts)? {
            match self.plain(hint, &parts) {
                Ok(expr) => expressions.push(expr),
                Err(impossible) => why = why.or(Some(impossible)),
            }
        }
        match why {
            Some(why) if expressions.is_empty() => Err(why),
            _ if expressions.len() == 1 => Ok(expressions.remove(0)),
            _ => Ok(self.rule(hint, choice(expressions))),
        }
    }

    /// One alternative.
    fn plain(&mut self, hint: &str, parts: &[Part<'s>]) -> Outcome<'s, Expr> {
        let mut facts = self.facts(parts)?;
        if let Some(candidates) = facts.candidates.take() {
            return self.listed(hint, &facts, candidates);
        }
        for schema in std::mem::take(&mut facts.not) {
            self.report(Some(schema), "not", "a grammar cannot exclude this");
        }
        let mut expressions = Vec::new();
        let mut why: Option<Impossible<'s>> = None;
        for types in [STRING, NUMBER, BOOLEAN, NULL, ARRAY, OBJECT] {
            let types = facts.types & types;
            if types == 0 {
                continue;
            }
            match self.of_type(hint, types, &facts) {
                Ok(expr) => expressions.push(expr),
                Err(impossible) => why = why.or(Some(impossible)),
            }
        }
        if let Some(why) = why
            && expressions.is_empty()
        {
            return Err(why);
        }
        let everything = expressions.len() == 6 && facts.limited == 0 && facts.types & FRACTION != 0;
        if everything && facts.excluded.is_empty() && facts.formats.is_empty() {
            return Ok(json::value(self.builder).into());
        }
        if expressions.len() == 1 {
            return Ok(expressions.remove(0));
        }
        Ok(self.rule(hint, choice(expressions)))
    }

    fn of_type(&mut self, hint: &str, types: u8, facts: &Facts<'s>) -> Outcome<'s, Expr> {
        let excluded = facts.excluded.iter().copied().filter(|value| type_bits(value) & types != 0);
        let excluded: Vec<&'s Value> = excluded.collect();
        match types {
            NULL if excluded.is_empty() => Ok(json::null(self.builder)),
            NULL => impossible(excluded.first().copied(), "null is excluded"),
            BOOLEAN => self.boolean(&excluded),
            STRING => self.string(hint, facts, &excluded),
            ARRAY => {
                self.report_excluded(&excluded);
                self.array(hint, facts)
            }
            OBJECT => {
                self.report_excluded(&excluded);
                self.object(hint, facts)
            }
            _ => {
                self.report_excluded(&excluded);
                if types == FRACTION {
                    self.report(facts.schemas.first().copied(), "not", "numbers without a fraction are not excluded");
                }
                self.number(hint, facts, types == INTEGER)
            }
        }
    }

    fn boolean(&mut self, excluded: &[&'s Value]) -> Outcome<'s, Expr> {
        if excluded.is_empty() {
            return Ok(json::boolean(self.builder).into());
        }
        let allowed = [true, false].into_iter().filter(|&value| !excluded.contains(&&Value::Bool(value)));
        let allowed: Vec<Expr> = allowed.map(|value| text(value.to_string())).collect();
        if allowed.is_empty() {
            return impossible(excluded.first().copied(), "true and false are excluded");
        }
        Ok(choice(allowed))
    }

    pub(super) fn report_excluded(&mut self, excluded: &[&'s Value]) {
        for &value in excluded {
            self.report(Some(value), "not", "a grammar cannot exclude this value");
        }
    }

    /// One of the values that the schema lists, as far as they fit all else that it says.
    fn listed(&mut self, hint: &str, facts: &Facts<'s>, candidates: Vec<&'s Value>) -> Outcome<'s, Expr> {
        let mut expressions = Vec::new();
        let mut unsure = false;
        for value in candidates {
            let types = facts.types & type_bits(value) != 0;
            let excluded = facts.excluded.iter().any(|excluded| check::equal(value, excluded));
            let mut fits = Some(types && !excluded);
            for schema in &facts.schemas {
                fits = check::and(fits, self.fits(value, schema));
            }
            for schema in &facts.not {
                fits = check::and(fits, self.fits(value, schema).map(|fits| !fits));
            }
            if let Value::Object(members) = value {
                let required = facts.required.iter().all(|name| members.contains_key(*name));
                let forbidden = facts.forbidden.iter().any(|name| members.contains_key(*name));
                fits = check::and(fits, Some(required && !forbidden));
                for (name, schema) in &facts.unlike {
                    let fitting = members.get(*name).map_or(Some(true), |value| self.fits(value, schema));
                    fits = check::and(fits, fitting.map(|fits| !fits));
                }
            }
            if fits == Some(false) {
                continue;
            }
            unsure |= fits.is_none();
            match json::literal(self.builder, value, DEPTH) {
                Some(expr) => expressions.push(expr),
                None => {
                    self.report(Some(value), "enum", "the value nests too deep: any is accepted");
                    expressions.push(json::value(self.builder).into());
                }
            }
        }
        let lists = |schema: &&&Value| schema.get("enum").or_else(|| schema.get("const")).is_some();
        let schema = facts.schemas.iter().find(lists).copied();
        if unsure {
            self.report(schema, "enum", "not all that the schema says of the listed values could be tested");
        }
        match expressions.len() {
            0 => impossible(schema, "none of the listed values fits all that the schema says"),
            1 => Ok(expressions.remove(0)),
            _ => Ok(self.rule(hint, choice(expressions))),
        }
    }
}

//! Tests values that a schema contains itself (`enum`, `const`, names of properties) against the rest of the schema.
//!
//! The answer is yes, no or unknown. Yes and no are always certain.

use serde_json::{Map, Value};
use unjinja_runtime::schema::{MAX_DEPTH, reference_keyword};

use super::bounds::Decimal;
use super::regex::Regex;
use super::types::{type_bits, types_of};
use super::{Schemas, format};

/// Whether something holds; `None` if that is not known.
pub(super) type Known = Option<bool>;

pub(super) fn and(one: Known, other: Known) -> Known {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(one: Known) -> Known {
    one.map(|one| !one)
}

fn or(one: Known, other: Known) -> Known {
    not(and(not(one), not(other)))
}

/// Whether two values are certainly equal. Numbers are compared by value.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    same(one, other, MAX_DEPTH) == Some(true)
}

/// Whether two values may be equal.
pub(super) fn may_be_equal(one: &Value, other: &Value) -> bool {
    same(one, other, MAX_DEPTH) != Some(false)
}

fn same(one: &Value, other: &Value, depth: usize) -> Known {
    if std::ptr::eq(one, other) {
        return Some(true);
    }
    let depth = depth.checked_sub(1)?;
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Some(one == other || one.as_f64() == other.as_f64()),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).map(|(one, other)| same(one, other, depth)).fold(Some(true), and)
        }
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
            let member = |(name, value): (&String, &Value)| {
                other.get(name).map_or(Some(false), |other| same(value, other, depth))
            };
            one.iter().map(member).fold(Some(true), and)
        }
        (Value::Number(_) | Value::Array(_) | Value::Object(_), _) => Some(false),
        (one, other) => Some(one == other),
    }
}

impl Schemas<'_, '_> {
    pub(super) fn fits(&mut self, value: &Value, schema: &Value) -> Known {
        let keywords = match schema {
            Value::Bool(all) => return Some(*all),
            Value::Object(keywords) => keywords,
            _ => return None,
        };
        if self.depth >= MAX_DEPTH || self.budget == 0 {
            return None;
        }
        self.depth += 1;
        self.budget -= 1;
        let mut known = Some(true);
        for (keyword, argument) in keywords {
            known = and(known, self.keyword(value, keywords, keyword, argument));
            if known == Some(false) {
                break;
            }
        }
        self.depth -= 1;
        known
    }

    fn keyword(&mut self, value: &Value, keywords: &Map<String, Value>, keyword: &str, argument: &Value) -> Known {
        if let Some(keyword) = reference_keyword(keyword) {
            let target = self.document().reference(keyword, argument).target?;
            return self.fits(value, target);
        }
        let nullable = value.is_null() && keywords.get("nullable") == Some(&Value::Bool(true));
        match keyword {
            "type" => types_of(argument).map(|types| nullable || types & type_bits(value) != 0),
            // A value that is listed here itself needs no comparison.
            "enum"
                if argument
                    .as_array()
                    .is_some_and(|values| values.as_ptr_range().contains(&std::ptr::from_ref(value))) =>
            {
                Some(true)
            }
            "enum" => {
                self.budget = self.budget.saturating_sub(argument.as_array().map_or(0, Vec::len) / 16);
                let any =
                    |values: &Vec<Value>| values.iter().map(|one| same(value, one, MAX_DEPTH)).fold(Some(nullable), or);
                argument.as_array().and_then(any)
            }
            "const" => or(Some(nullable), same(value, argument, MAX_DEPTH)),
            "allOf" => self.each(value, argument)?.into_iter().fold(Some(true), and),
            "anyOf" => self.each(value, argument)?.into_iter().fold(Some(false), or),
            "oneOf" => {
                let all = self.each(value, argument)?;
                if all.iter().filter(|fits| **fits == Some(true)).count() > 1 {
                    return Some(false);
                }
                if all.contains(&None) {
                    return all.into_iter().fold(Some(false), or).filter(|fits| !fits);
                }
                Some(all.contains(&Some(true)))
            }
            "not" => not(self.fits(value, argument)),
            "if" => {
                let mut branch = |name: &str| keywords.get(name).map_or(Some(true), |schema| self.fits(value, schema));
                let (then, other) = (branch("then"), branch("else"));
                match self.fits(value, argument) {
                    Some(true) => then,
                    Some(false) => other,
                    None => and(then, other).filter(|fits| *fits),
                }
            }
            "then" | "else" | "nullable" | "title" | "description" | "$comment" | "default" | "examples" | "$defs"
            | "definitions" | "deprecated" | "readOnly" | "writeOnly" | "$schema" | "$id" | "$anchor" => Some(true),
            _ => match value {
                Value::Number(number) => of_number(&Decimal::of(number)?, number.as_f64(), keywords, keyword, argument),
                Value::String(text) => of_string(text, keyword, argument),
                Value::Array(items) => self.of_array(items, keywords, keyword, argument),
                Value::Object(members) => self.of_object(members, keywords, keyword, argument),
                _ => Some(true),
            },
        }
    }

    fn each(&mut self, value: &Value, schemas: &Value) -> Option<Vec<Known>> {
        Some(schemas.as_array()?.iter().map(|schema| self.fits(value, schema)).collect())
    }

    fn of_array(&mut self, items: &[Value], keywords: &Map<String, Value>, keyword: &str, argument: &Value) -> Known {
        match keyword {
            "minItems" => Some(items.len() as u64 >= argument.as_u64()?),
            "maxItems" => Some(items.len() as u64 <= argument.as_u64()?),
            "prefixItems" => {
                let schemas = argument.as_array()?;
                items.iter().zip(schemas).map(|(item, schema)| self.fits(item, schema)).fold(Some(true), and)
            }
            "items" if !argument.is_array() => {
                let from = keywords.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                let rest = items.get(from..).unwrap_or_default();
                rest.iter().map(|item| self.fits(item, argument)).fold(Some(true), and)
            }
            "items" | "additionalItems" | "uniqueItems" | "contains" | "minContains" | "maxContains"
            | "unevaluatedItems" => None,
            _ => Some(true),
        }
    }

    fn of_object(
        &mut self,
        members: &Map<String, Value>,
        keywords: &Map<String, Value>,
        keyword: &str,
        argument: &Value,
    ) -> Known {
        match keyword {
            "minProperties" => Some(members.len() as u64 >= argument.as_u64()?),
            "maxProperties" => Some(members.len() as u64 <= argument.as_u64()?),
            "required" => {
                Some(argument.as_array()?.iter().filter_map(Value::as_str).all(|name| members.contains_key(name)))
            }
            "properties" => {
                let schemas = argument.as_object()?;
                let mut known = Some(true);
                for (name, member) in members {
                    if let Some(schema) = schemas.get(name) {
                        known = and(known, self.fits(member, schema));
                    }
                }
                known
            }
            "additionalProperties" if !keywords.contains_key("patternProperties") => {
                let named = keywords.get("properties").and_then(Value::as_object);
                let mut known = Some(true);
                for (name, member) in members {
                    if !named.is_some_and(|named| named.contains_key(name)) {
                        known = and(known, self.fits(member, argument));
                    }
                }
                known
            }
            "propertyNames" => {
                let names = members.iter().map(|(name, _)| Value::from(name.as_str()));
                names.map(|name| self.fits(&name, argument)).fold(Some(true), and)
            }
            "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas" => None,
            _ => Some(true),
        }
    }
}

fn of_number(
    number: &Decimal,
    float: Option<f64>,
    keywords: &Map<String, Value>,
    keyword: &str,
    argument: &Value,
) -> Known {
    let older = |keyword: &str| keywords.get(keyword) == Some(&Value::Bool(true));
    let order = || match argument {
        Value::Number(bound) => Some(number.compare(&Decimal::of(bound)?)),
        _ => None,
    };
    match keyword {
        "minimum" => order().map(|order| order.is_gt() || (order.is_eq() && !older("exclusiveMinimum"))),
        "maximum" => order().map(|order| order.is_lt() || (order.is_eq() && !older("exclusiveMaximum"))),
        "exclusiveMinimum" if argument.is_number() => order().map(std::cmp::Ordering::is_gt),
        "exclusiveMaximum" if argument.is_number() => order().map(std::cmp::Ordering::is_lt),
        "multipleOf" => {
            let (value, step) = (float?, argument.as_f64()?);
            let whole =
                value.fract() == 0.0 && step.fract() == 0.0 && step != 0.0 && value.abs().max(step.abs()) < 9e15;
            whole.then(|| value % step == 0.0)
        }
        _ => Some(true),
    }
}

fn of_string(text: &str, keyword: &str, argument: &Value) -> Known {
    let length = || text.chars().count() as u64;
    match keyword {
        "minLength" => Some(length() >= argument.as_u64()?),
        "maxLength" => Some(length() <= argument.as_u64()?),
        "pattern" => Regex::parse(argument.as_str()?).ok()?.matches(text),
        "format" => match format::of(argument.as_str()?) {
            format::Format::Nothing => Some(true),
            format::Format::Unknown => None,
            format::Format::Pattern(pattern, wider) => {
                let fits = Regex::parse(pattern).ok()?.matches(text)?;
                (!fits || wider.is_none()).then_some(fits)
            }
        },
        _ => Some(true),
    }
}

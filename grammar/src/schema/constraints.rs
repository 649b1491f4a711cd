//! What the plain keywords of one alternative say together.

use serde_json::{Map, Value};

use super::bounds::{Bound, Count, Decimal};
use super::condition::Condition;
use super::types::{ANY, ARRAY, NULL, NUMBER, OBJECT, STRING, types_of};
use super::{Outcome, Schemas, check, impossible};

/// What one alternative says.
#[derive(Debug)]
pub(super) struct Constraints<'s> {
    /// The types that may be.
    pub types: u8,
    /// The types of which more is said than that.
    pub limited: u8,
    /// The values that may be, where they are listed.
    pub candidates: Option<Vec<&'s Value>>,
    /// Values that may not be.
    pub excluded: Vec<&'s Value>,
    /// Schemas that must not fit, of which nothing simpler is known.
    pub not: Vec<&'s Value>,
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
    /// `multipleOf`, each in its schema.
    pub multiples: Vec<(&'s Value, &'s Value)>,
    pub length: Count,
    /// Where a length is said.
    pub length_at: Option<&'s Value>,
    pub patterns: Vec<(&'s Value, &'s str)>,
    pub formats: Vec<(&'s Value, &'s str)>,
    pub items: Count,
    /// The schemas that speak of items.
    pub arrays: Vec<&'s Value>,
    pub members: Count,
    /// The schemas that speak of properties.
    pub objects: Vec<&'s Value>,
    pub required: Vec<&'s str>,
    pub forbidden: Vec<&'s str>,
    pub unlike: Vec<(&'s str, &'s Value)>,
    /// All schemas.
    pub schemas: Vec<&'s Value>,
}

impl<'s> Schemas<'s, '_> {
    /// What the parts of one alternative say.
    pub(super) fn facts(&mut self, parts: &[Condition<'s>]) -> Outcome<'s, Constraints<'s>> {
        let mut facts = Constraints {
            types: ANY,
            limited: 0,
            candidates: None,
            excluded: Vec::new(),
            not: Vec::new(),
            lower: None,
            upper: None,
            multiples: Vec::new(),
            length: Count::default(),
            length_at: None,
            patterns: Vec::new(),
            formats: Vec::new(),
            items: Count::default(),
            arrays: Vec::new(),
            members: Count::default(),
            objects: Vec::new(),
            required: Vec::new(),
            forbidden: Vec::new(),
            unlike: Vec::new(),
            schemas: Vec::new(),
        };
        for part in parts {
            match *part {
                Condition::Schema(schema) => {
                    facts.schemas.push(schema);
                    if let Value::Object(keywords) = schema {
                        self.read(schema, keywords, &mut facts);
                    }
                }
                Condition::Not(schema) => facts.not.push(schema),
                Condition::Types(types) => facts.types &= types,
                Condition::NoneOf(values) => facts.excluded.extend(values),
                Condition::Require(name) => facts.required.push(name),
                Condition::Forbid(name) => facts.forbidden.push(name),
                Condition::Unlike(name, schema) => {
                    facts.required.push(name);
                    facts.unlike.push((name, schema));
                }
            }
        }
        if !(facts.required.is_empty() && facts.forbidden.is_empty() && facts.unlike.is_empty()) {
            facts.limited |= OBJECT;
        }
        if facts.types == 0 {
            return impossible(facts.schemas.first().copied(), "its types exclude each other");
        }
        Ok(facts)
    }

    fn read(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>, facts: &mut Constraints<'s>) {
        let nullable = keywords.get("nullable") == Some(&Value::Bool(true));
        let mut speaks_of = 0;
        for (keyword, value) in keywords {
            let of = match keyword.as_str() {
                "type" => {
                    match types_of(value) {
                        Some(types) => facts.types &= if nullable { types | NULL } else { types },
                        None => self.report(Some(schema), "type", "it names no type"),
                    }
                    0
                }
                "const" => {
                    self.candidates(facts, std::slice::from_ref(value), nullable);
                    0
                }
                "enum" => {
                    match value {
                        Value::Array(values) => self.candidates(facts, values, nullable),
                        _ => self.report(Some(schema), "enum", "it is no list"),
                    }
                    0
                }
                "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" => {
                    self.bound(schema, keywords, keyword, value, facts);
                    NUMBER
                }
                "multipleOf" => {
                    facts.multiples.push((schema, value));
                    NUMBER
                }
                "minLength" | "maxLength" => {
                    facts.length_at = Some(schema);
                    if keyword == "minLength" {
                        facts.length.at_least(value)
                    } else {
                        facts.length.at_most(value)
                    }
                    STRING
                }
                "pattern" => {
                    facts.patterns.extend(value.as_str().map(|pattern| (schema, pattern)));
                    STRING
                }
                "format" => {
                    facts.formats.extend(value.as_str().map(|format| (schema, format)));
                    0
                }
                "minItems" => {
                    facts.items.at_least(value);
                    ARRAY
                }
                "maxItems" => {
                    facts.items.at_most(value);
                    ARRAY
                }
                "items" | "prefixItems" | "additionalItems" | "uniqueItems" | "contains" | "unevaluatedItems" => ARRAY,
                "minProperties" => {
                    facts.members.at_least(value);
                    OBJECT
                }
                "maxProperties" => {
                    facts.members.at_most(value);
                    OBJECT
                }
                "required" => {
                    if let Value::Array(names) = value {
                        facts.required.extend(names.iter().filter_map(Value::as_str));
                    }
                    OBJECT
                }
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedProperties" => OBJECT,
                _ => 0,
            };
            speaks_of |= of;
        }
        facts.limited |= speaks_of;
        if speaks_of & ARRAY != 0 {
            facts.arrays.push(schema);
        }
        if speaks_of & OBJECT != 0 {
            facts.objects.push(schema);
        }
    }

    /// Of the values known so far, those that are among these as well.
    fn candidates(&mut self, facts: &mut Constraints<'s>, values: &'s [Value], nullable: bool) {
        let nothing = nullable.then_some(&Value::Null);
        let listed = || values.iter().chain(nothing);
        facts.candidates = Some(match facts.candidates.take() {
            None => listed().collect(),
            Some(known) => {
                // Long lists are compared only as far as the budget goes; what is not compared stays.
                let mut known = known;
                known.retain(|value| {
                    self.budget = self.budget.saturating_sub(values.len());
                    self.budget == 0 || listed().any(|listed| check::may_be_equal(value, listed))
                });
                known
            }
        });
    }

    fn bound(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        keyword: &'s str,
        value: &'s Value,
        facts: &mut Constraints<'s>,
    ) {
        let Value::Number(number) = value else {
            // An older way to say it: true beside the bound.
            return;
        };
        let (side, lower, older) = match keyword {
            "minimum" => ("minimum", true, "exclusiveMinimum"),
            "exclusiveMinimum" => ("exclusiveMinimum", true, ""),
            "maximum" => ("maximum", false, "exclusiveMaximum"),
            _ => ("exclusiveMaximum", false, ""),
        };
        let Some(value) = Decimal::of(number) else {
            return self.report(Some(schema), side, "the bound has too many digits");
        };
        let exclusive = older.is_empty() || keywords.get(older) == Some(&Value::Bool(true));
        let bound = Bound { value, exclusive };
        let known = if lower { &mut facts.lower } else { &mut facts.upper };
        let tighter = known.as_ref().is_none_or(|known| match bound.value.compare(&known.value) {
            std::cmp::Ordering::Equal => bound.exclusive,
            order => order.is_gt() == lower,
        });
        if tighter {
            *known = Some(bound);
        }
    }
}

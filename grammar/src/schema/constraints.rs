//! What the plain keywords of one alternative say together.

use serde_json::{Map, Value};

use super::bounds::{Bound, Count, Decimal};
use super::condition::Condition;
use super::types::{ANY, ARRAY, NULL, NUMBER, OBJECT, STRING, types_of};
use super::{Outcome, Schemas, check, impossible};

/// What the keywords of one alternative require together.
#[derive(Debug)]
pub(super) struct Constraints<'s> {
    /// The allowed types.
    pub types: u8,
    /// The types for which there are further constraints.
    pub limited: u8,
    /// The allowed values, if they are listed.
    pub candidates: Option<Vec<&'s Value>>,
    /// Excluded values.
    pub excluded: Vec<&'s Value>,
    /// Schemas that the value must not fit, and that could not be expressed otherwise.
    pub not: Vec<&'s Value>,
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
    /// Each `multipleOf`, with its schema.
    pub multiples: Vec<(&'s Value, &'s Value)>,
    pub length: Count,
    /// The schema that limits the length.
    pub length_at: Option<&'s Value>,
    pub patterns: Vec<(&'s Value, &'s str)>,
    pub formats: Vec<(&'s Value, &'s str)>,
    pub items: Count,
    /// The schemas with keywords for items.
    pub arrays: Vec<&'s Value>,
    pub members: Count,
    /// The schemas with keywords for properties.
    pub objects: Vec<&'s Value>,
    pub required: Vec<&'s str>,
    pub forbidden: Vec<&'s str>,
    pub unlike: Vec<(&'s str, &'s Value)>,
    /// All schemas.
    pub schemas: Vec<&'s Value>,
}

impl<'s> Schemas<'s, '_> {
    pub(super) fn constraints(&mut self, conditions: &[Condition<'s>]) -> Outcome<'s, Constraints<'s>> {
        let mut constraints = Constraints {
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
        for condition in conditions {
            match *condition {
                Condition::Schema(schema) => {
                    constraints.schemas.push(schema);
                    if let Value::Object(keywords) = schema {
                        self.read(schema, keywords, &mut constraints);
                    }
                }
                Condition::Not(schema) => constraints.not.push(schema),
                Condition::Types(types) => constraints.types &= types,
                Condition::NoneOf(values) => constraints.excluded.extend(values),
                Condition::Require(name) => constraints.required.push(name),
                Condition::Forbid(name) => constraints.forbidden.push(name),
                Condition::Unlike(name, schema) => {
                    constraints.required.push(name);
                    constraints.unlike.push((name, schema));
                }
            }
        }
        if !(constraints.required.is_empty() && constraints.forbidden.is_empty() && constraints.unlike.is_empty()) {
            constraints.limited |= OBJECT;
        }
        if constraints.types == 0 {
            return impossible(constraints.schemas.first().copied(), "the types exclude each other");
        }
        Ok(constraints)
    }

    fn read(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>, constraints: &mut Constraints<'s>) {
        let nullable = keywords.get("nullable") == Some(&Value::Bool(true));
        let mut speaks_of = 0;
        for (keyword, value) in keywords {
            let of = match keyword.as_str() {
                "type" => {
                    match types_of(value) {
                        Some(types) => constraints.types &= if nullable { types | NULL } else { types },
                        None => self.report(Some(schema), "type", "its value is not the name of a type"),
                    }
                    0
                }
                "const" => {
                    self.candidates(constraints, std::slice::from_ref(value), nullable);
                    0
                }
                "enum" => {
                    match value {
                        Value::Array(values) => self.candidates(constraints, values, nullable),
                        _ => self.report(Some(schema), "enum", "its value is not a list"),
                    }
                    0
                }
                "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" => {
                    self.bound(schema, keywords, keyword, value, constraints);
                    NUMBER
                }
                "multipleOf" => {
                    constraints.multiples.push((schema, value));
                    NUMBER
                }
                "minLength" | "maxLength" => {
                    constraints.length_at = Some(schema);
                    if keyword == "minLength" {
                        constraints.length.at_least(value)
                    } else {
                        constraints.length.at_most(value)
                    }
                    STRING
                }
                "pattern" => {
                    constraints.patterns.extend(value.as_str().map(|pattern| (schema, pattern)));
                    STRING
                }
                "format" => {
                    constraints.formats.extend(value.as_str().map(|format| (schema, format)));
                    0
                }
                "minItems" => {
                    constraints.items.at_least(value);
                    ARRAY
                }
                "maxItems" => {
                    constraints.items.at_most(value);
                    ARRAY
                }
                "items" | "prefixItems" | "additionalItems" | "uniqueItems" | "contains" | "unevaluatedItems" => ARRAY,
                "minProperties" => {
                    constraints.members.at_least(value);
                    OBJECT
                }
                "maxProperties" => {
                    constraints.members.at_most(value);
                    OBJECT
                }
                "required" => {
                    if let Value::Array(names) = value {
                        constraints.required.extend(names.iter().filter_map(Value::as_str));
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
        constraints.limited |= speaks_of;
        if speaks_of & ARRAY != 0 {
            constraints.arrays.push(schema);
        }
        if speaks_of & OBJECT != 0 {
            constraints.objects.push(schema);
        }
    }

    /// Keeps the listed values that are also in this list.
    fn candidates(&mut self, constraints: &mut Constraints<'s>, values: &'s [Value], nullable: bool) {
        let nothing = nullable.then_some(&Value::Null);
        let listed = || values.iter().chain(nothing);
        constraints.candidates = Some(match constraints.candidates.take() {
            None => listed().collect(),
            Some(known) => {
                // Long lists are compared as far as the budget allows. Values that are not compared stay.
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
        constraints: &mut Constraints<'s>,
    ) {
        let Value::Number(number) = value else {
            // In older drafts this keyword is a boolean next to `minimum` or `maximum`; it is read there.
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
        let known = if lower { &mut constraints.lower } else { &mut constraints.upper };
        let tighter = known.as_ref().is_none_or(|known| match bound.value.compare(&known.value) {
            std::cmp::Ordering::Equal => bound.exclusive,
            order => order.is_gt() == lower,
        });
        if tighter {
            *known = Some(bound);
        }
    }
}

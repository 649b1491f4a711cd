//! How long the strings are that a schema allows, for strings that are written as raw text. Their other limits are not looked at.

use serde_json::Value;

use super::bounds::Count;
use super::condition::Condition;
use super::types::STRING;
use super::{Outcome, Schemas};

impl<'s> Schemas<'s, '_> {
    /// The length of the strings that a schema allows. If its alternatives allow different lengths, this covers all of them, and
    /// the flag is false.
    pub(crate) fn string_length(&mut self, schema: &'s Value) -> Option<(Count, bool)> {
        let mut all: Option<(Count, bool)> = None;
        let alternatives = self.flatten(&[Condition::Schema(schema)]).ok()?;
        for conditions in alternatives {
            for count in self.lengths(&conditions).unwrap_or_default() {
                all = Some(match all {
                    None => (count, true),
                    Some((known, alike)) => (either(known, count), alike && known == count),
                });
            }
        }
        all
    }

    /// The lengths in one alternative; none if it allows no string.
    fn lengths(&mut self, conditions: &[Condition<'s>]) -> Outcome<'s, Vec<Count>> {
        let constraints = self.constraints(conditions)?;
        if constraints.types & STRING == 0 {
            return Ok(Vec::new());
        }
        let Some(candidates) = constraints.candidates else { return Ok(vec![constraints.length]) };
        let length = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let lengths = candidates.into_iter().filter_map(Value::as_str).map(length);
        Ok(lengths.map(|length| Count { min: length, max: Some(length) }).collect())
    }
}

/// The lengths that one of two counts allows, and those between them.
fn either(one: Count, other: Count) -> Count {
    let max = one.max.zip(other.max).map(|(one, other)| one.max(other));
    Count { min: one.min.min(other.min), max }
}

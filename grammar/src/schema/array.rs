//! Arrays: first the items that have schemas of their own, then any number of further items.

use serde_json::Value;

use super::bounds::Count;
use super::condition::Condition;
use super::constraints::Constraints;
use super::types::ARRAY;
use super::{Outcome, Schemas, impossible, json};
use crate::expr::Expr;

/// The maximum number of items that have schemas of their own.
const OWN: usize = 2000;

impl<'s> Schemas<'s, '_> {
    pub(super) fn array(&mut self, hint: &str, constraints: &Constraints<'s>) -> Outcome<'s, Expr> {
        if constraints.limited & ARRAY == 0 {
            return Ok(json::array(self.builder).into());
        }
        let mut count = constraints.items;
        for &schema in &constraints.arrays {
            self.report_unexpressed(schema, count.max);
            if schema.get("contains").is_some() {
                count.min = count.min.max(min_contains(schema));
            }
        }
        let schema = constraints.arrays.first().copied();
        let own = constraints.arrays.iter().map(|schema| prefix(schema).len()).max().unwrap_or(0);
        if own > OWN {
            self.report(schema, "prefixItems", "only the first schemas are checked");
        }
        // The items with schemas of their own, up to the maximum length.
        let mut items = Vec::new();
        for at in 0..own.min(OWN).min(count.max.unwrap_or(u32::MAX) as usize) {
            match self.value(&format!("{hint}-{at}"), parts(&constraints.arrays, at)) {
                Ok(item) => items.push(item),
                Err(why) => {
                    count.max = Some(u32::try_from(at).unwrap_or(u32::MAX));
                    if count.is_empty() {
                        return Err(why);
                    }
                }
            }
        }
        let own = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let mut rest = None;
        if count.max.is_none_or(|max| max > own) {
            match self.value(&format!("{hint}-item"), parts(&constraints.arrays, usize::MAX)) {
                Ok(item) => rest = Some(item),
                Err(why) if count.min > own => return Err(why),
                Err(_) => count.max = Some(own),
            }
        }
        if count.is_empty() {
            return impossible(schema, "the minimum number of items is above the maximum");
        }
        let count = self.writable_count(count, schema, "maxItems");
        if let Some(expr) = self.containing(hint, constraints, own, count, rest)? {
            return Ok(expr);
        }
        let (space, comma) = (Expr::from(json::space(self.builder)), json::comma(self.builder));
        // Written from the end: what may follow each item.
        let mut tail = Expr::EMPTY;
        if let Some(item) = rest {
            let item = self.builder.sequence(&[item, space]);
            let more = self.builder.sequence(&[comma, item]);
            let (min, max) = (count.min.saturating_sub(own), count.max.map(|max| max - own));
            tail = if own > 0 {
                let more = self.rule(&format!("{hint}-more"), more);
                self.builder.repeat(more, min, max)
            } else {
                let more = if (min, max) == (0, None) || (min, max) == (1, None) {
                    self.builder.many(more)
                } else {
                    let more = self.rule(&format!("{hint}-more"), more);
                    self.builder.repeat(more, min.saturating_sub(1), max.map(|max| max.saturating_sub(1)))
                };
                let some = self.builder.sequence(&[item, more]);
                if min == 0 { self.builder.option(some) } else { some }
            };
        }
        for (at, item) in (0..own).zip(items).rev() {
            let item = self.builder.sequence(&[item, space, tail]);
            let item = if at > 0 { self.builder.sequence(&[comma, item]) } else { item };
            let item = self.rule(&format!("{hint}-from-{at}"), item);
            tail = if at >= count.min { self.builder.option(item) } else { item };
        }
        Ok(self.rule(hint, self.builder.read("'[' $0 $1 ']'", &[space, tail])))
    }

    /// An array with some items that fit `contains`. This can be expressed if there is one such keyword, no item has a schema of
    /// its own, and nothing else limits the number of items.
    fn containing(
        &mut self,
        hint: &str,
        constraints: &Constraints<'s>,
        own: u32,
        count: Count,
        rest: Option<Expr>,
    ) -> Outcome<'s, Option<Expr>> {
        /// The maximum number of times that the matching item is written.
        const TIMES: u32 = 50;
        let mut all = constraints.arrays.iter().copied().filter(|schema| schema.get("contains").is_some());
        let (Some(schema), Some(rest)) = (all.next(), rest) else { return Ok(None) };
        let times = min_contains(schema);
        let most = schema.get("maxContains").is_some();
        let sole = all.next().is_none() && own == 0 && count.max.is_none() && count.min <= times;
        if !sole || most || times == 0 || times > TIMES {
            let says = times > 0 || most;
            let keyword = constraints.arrays.iter().copied().filter(|schema| says && schema.get("contains").is_some());
            for schema in keyword {
                self.report(Some(schema), "contains", "together with other limits, matching items are not counted");
            }
            return Ok(None);
        }
        let fitting = schema.get("contains").map(Condition::Schema);
        let fitting = parts(&constraints.arrays, usize::MAX).into_iter().chain(fitting).collect();
        let fitting = self.value(&format!("{hint}-contained"), fitting)?;
        let (space, comma) = (Expr::from(json::space(self.builder)), json::comma(self.builder));
        let first = self.builder.read("($0 $1 $2)* $3 $1", &[rest, space, comma, fitting]);
        let first = self.rule(&format!("{hint}-next"), first);
        let again = self.rule(&format!("{hint}-more"), self.builder.sequence(&[comma, first]));
        let again = self.builder.repeat(again, times - 1, Some(times - 1));
        let all = self.builder.read("'[' $0 $1 $2 ($3 $4 $0)* ']'", &[space, first, again, comma, rest]);
        Ok(Some(self.rule(hint, all)))
    }

    /// Reports keywords that are not expressed.
    fn report_unexpressed(&mut self, schema: &'s Value, max: Option<u32>) {
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) && max.is_none_or(|max| max > 1) {
            self.report(Some(schema), "uniqueItems", "a grammar cannot compare items");
        }
        if !matches!(schema.get("unevaluatedItems"), None | Some(Value::Bool(true))) {
            self.report(Some(schema), "unevaluatedItems", "what other schemas evaluate is not tracked");
        }
    }
}

pub(super) fn min_contains(schema: &Value) -> u32 {
    let least = schema.get("minContains").and_then(Value::as_f64).map_or(1, |least| least as u64);
    u32::try_from(least).unwrap_or(u32::MAX)
}

pub(super) fn prefix(schema: &Value) -> &[Value] {
    match (schema.get("prefixItems"), schema.get("items")) {
        (Some(Value::Array(items)), _) | (None, Some(Value::Array(items))) => items,
        _ => &[],
    }
}

/// The conditions for the item with this index.
pub(super) fn parts<'s>(schemas: &[&'s Value], at: usize) -> Vec<Condition<'s>> {
    let part = |schema: &&'s Value| {
        let rest = match schema.get("items") {
            Some(Value::Array(_)) => schema.get("additionalItems"),
            items => items,
        };
        prefix(schema).get(at).or(rest).map(Condition::Schema)
    };
    schemas.iter().filter_map(part).collect()
}

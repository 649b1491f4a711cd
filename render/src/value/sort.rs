//! Sorting with Python's comparison.

use crate::error::Outcome;
use crate::run::Run;
use crate::value::compare;
use crate::value::types::Value;

/// Sorts pairs of key and value by their keys and returns the values. Stable; an error where Python cannot compare two
/// keys.
///
/// This is a merge sort of our own, because the comparison can fail, and because the standard library's sort may panic on
/// keys without a total order (NaN).
pub(crate) fn sort(run: &Run, keyed: Vec<(Value, Value)>, reverse: bool) -> Outcome<Vec<Value>> {
    run.make_items(keyed.len() * 2)?;
    let sorted = merge_sort(run, keyed, reverse)?;
    Ok(sorted.into_iter().map(|(_, v)| v).collect())
}

fn merge_sort(run: &Run, mut left: Vec<(Value, Value)>, reverse: bool) -> Outcome<Vec<(Value, Value)>> {
    if left.len() < 2 {
        return Ok(left);
    }
    let right = left.split_off(left.len() / 2);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut left = merge_sort(run, left, reverse)?.into_iter().peekable();
    let mut right = merge_sort(run, right, reverse)?.into_iter().peekable();
    while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
        let (first, second) = if reverse { (a, b) } else { (b, a) };
        let takes_right = compare::order(run, first, second)?.is_some_and(|o| o.is_lt());
        merged.extend(if takes_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

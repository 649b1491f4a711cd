//! Python's comparison operators, including `in`.

use std::cmp::Ordering;

use crate::error::Outcome;
use crate::run::Run;
use crate::syntax::ast::Comparison;
use crate::value::compare::{equal, order};
use crate::value::types::{Value, View};

/// `left op right` as a truth value.
pub(crate) fn compare(run: &Run, op: Comparison, left: &Value, right: &Value) -> Outcome<bool> {
    left.decide(run);
    right.decide(run);
    if run.labels() {
        left.sought_in(run, right);
        right.sought_in(run, left);
    }
    let ordered = |test: fn(Ordering) -> bool| Ok(order(run, left, right)?.is_some_and(test));
    match op {
        Comparison::Eq => equal(run, left, right),
        Comparison::Ne => equal(run, left, right).map(|e| !e),
        Comparison::Lt => ordered(Ordering::is_lt),
        Comparison::Le => ordered(Ordering::is_le),
        Comparison::Gt => ordered(Ordering::is_gt),
        Comparison::Ge => ordered(Ordering::is_ge),
        Comparison::In => contains(run, right, left),
        Comparison::NotIn => contains(run, right, left).map(|c| !c),
    }
}

/// `needle in hay`.
pub(crate) fn contains(run: &Run, hay: &Value, needle: &Value) -> Outcome<bool> {
    match hay {
        Value::Str(text) => match needle {
            Value::Str(part) => {
                run.scan(text.s.len())?;
                Ok(text.s.contains(&*part.s))
            }
            other => Err(other.fault(|t| format!("'in <string>' requires string as left operand, not {t}"))),
        },
        Value::Dict(dict) | Value::View(View::Keys, dict) => {
            if let Some(key) = needle.as_str() {
                run.read_key(&dict.source, key);
            }
            Ok(dict.map.borrow().get(&needle.key(run)?).is_some())
        }
        Value::Undefined(_) => Ok(false),
        Value::List(_) | Value::Tuple(_) | Value::View(..) | Value::Range(_) | Value::Iter(_) => {
            for item in hay.elements(run)? {
                if equal(run, &item, needle)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        other => Err(other.fault(|t| format!("argument of type '{t}' is not iterable"))),
    }
}

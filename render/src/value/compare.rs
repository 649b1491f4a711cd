//! Equality, identity and order of values.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::value::types::{Value, View};

/// `left == right`.
pub(crate) fn equal(run: &Run, left: &Value, right: &Value) -> Outcome<bool> {
    run.steps(1)?;
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
        return Ok(a == b);
    }
    Ok(match (left, right) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None(_), Value::None(_)) => true,
        (Value::Str(a), Value::Str(b)) => {
            run.scan(a.s.len().min(b.s.len()))?;
            a.s == b.s
        }
        (Value::List(a), Value::List(b)) => {
            Rc::ptr_eq(a, b) || {
                let _level = run.deeper()?;
                equal_items(run, &a.items.borrow(), &b.items.borrow())?
            }
        }
        (Value::Tuple(a), Value::Tuple(b)) => {
            let _level = run.deeper()?;
            equal_items(run, &a.items, &b.items)?
        }
        (Value::Dict(a), Value::Dict(b)) => {
            if Rc::ptr_eq(a, b) {
                return Ok(true);
            }
            let _level = run.deeper()?;
            let (a, b) = (a.map.borrow(), b.map.borrow());
            if a.len() != b.len() {
                return Ok(false);
            }
            for entry in &a.entries {
                match b.get(&entry.shown.key(run)?) {
                    Some(other) if equal(run, &entry.value, other)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::View(View::Keys, _), Value::View(View::Keys, _)) | (Value::Range(_), Value::Range(_)) => {
            equal_items(run, &left.elements(run)?, &right.elements(run)?)?
        }
        _ => identical(left, right),
    })
}

/// `left is right`, for singletons and shared objects. Whether equal numbers or strings are one object depends on
/// CPython's caches; small integers and short strings are.
pub(crate) fn identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None(_), Value::None(_)) => true,
        (Value::Bool(a, _), Value::Bool(b, _)) => a == b,
        (Value::Int(a, _), Value::Int(b, _)) => a == b && (-5..=256).contains(&a.get()),
        (Value::Str(a), Value::Str(b)) => Arc::ptr_eq(&a.s, &b.s) || (a.s == b.s && a.s.len() <= 1),
        (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) => Rc::ptr_eq(a, b),
        (Value::Iter(a), Value::Iter(b)) => Rc::ptr_eq(a, b),
        (Value::Macro(a), Value::Macro(b)) => Rc::ptr_eq(a, b),
        (Value::Loop(a), Value::Loop(b)) => Rc::ptr_eq(a, b),
        (Value::Undefined(a), Value::Undefined(b)) => Rc::ptr_eq(a, b),
        (Value::Global(a), Value::Global(b)) => a == b,
        _ => false,
    }
}

fn equal_items(run: &Run, a: &[Value], b: &[Value]) -> Outcome<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (x, y) in a.iter().zip(b) {
        if !equal(run, x, y)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The order of two values; `None` if neither is less than the other (NaN).
pub(crate) fn order(run: &Run, left: &Value, right: &Value) -> Outcome<Option<Ordering>> {
    run.steps(1)?;
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return Ok(Some(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
        return Ok(a.partial_cmp(&b));
    }
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => {
            run.scan(a.s.len().min(b.s.len()))?;
            Ok(Some(a.s.cmp(&b.s)))
        }
        (Value::List(a), Value::List(b)) => order_items(run, &a.items.borrow(), &b.items.borrow()),
        (Value::Tuple(a), Value::Tuple(b)) => order_items(run, &a.items, &b.items),
        (Value::Undefined(why), _) | (_, Value::Undefined(why)) => Err(Fault::new(&**why)),
        _ => Err(Fault::new(format!(
            "'<' not supported between instances of '{}' and '{}'",
            left.type_name(),
            right.type_name()
        ))),
    }
}

fn order_items(run: &Run, a: &[Value], b: &[Value]) -> Outcome<Option<Ordering>> {
    let _level = run.deeper()?;
    for (x, y) in a.iter().zip(b) {
        if !equal(run, x, y)? {
            return order(run, x, y);
        }
    }
    Ok(Some(a.len().cmp(&b.len())))
}

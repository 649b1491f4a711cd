//! Python's operators: arithmetic, comparison, membership, subscripts.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use super::ast::{Arith, Comparison};
use super::error::{Fault, Outcome};
use super::percent;
use super::repr;
use super::run::Run;
use super::value::{Range, Text, Value, View};

/// `left op right`.
pub(super) fn arith(run: &Run, op: Arith, left: &Value, right: &Value) -> Outcome<Value> {
    for side in [left, right] {
        if let Value::Undefined(why) = side
            && !(op == Arith::Rem && matches!(left, Value::Str(_)))
        {
            return Err(Fault::new(&**why));
        }
    }
    match op {
        Arith::Add => add(run, left, right),
        Arith::Mul => mul(run, left, right),
        _ => match (op, left) {
            (Arith::Rem, Value::Str(format)) => percent::format(run, format, right),
            _ => numbers(op, left, right),
        },
    }
}

fn symbol(op: Arith) -> &'static str {
    match op {
        Arith::Add => "+",
        Arith::Sub => "-",
        Arith::Mul => "*",
        Arith::Div => "/",
        Arith::FloorDiv => "//",
        Arith::Rem => "%",
        Arith::Pow => "** or pow()",
    }
}

fn mismatch(op: Arith, left: &Value, right: &Value) -> Fault {
    Fault::new(format!(
        "unsupported operand type(s) for {}: '{}' and '{}'",
        symbol(op),
        left.type_name(),
        right.type_name()
    ))
}

fn add(run: &Run, left: &Value, right: &Value) -> Outcome<Value> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => concat(run, a, b),
        (Value::List(a), Value::List(b)) => {
            let (items, more) = (a.items.borrow(), b.items.borrow());
            run.make_items(items.len() + more.len())?;
            let path = a.path.clone().or_else(|| b.path.clone());
            Value::list_at(run, items.iter().chain(more.iter()).cloned().collect(), path)
        }
        (Value::Tuple(a), Value::Tuple(b)) => {
            run.make_items(a.items.len() + b.items.len())?;
            Value::tuple(run, a.items.iter().chain(&b.items).cloned().collect())
        }
        (Value::Str(_), other) => {
            Err(Fault::new(format!("can only concatenate str (not \"{}\") to str", other.type_name())))
        }
        (Value::List(_), other) => {
            Err(Fault::new(format!("can only concatenate list (not \"{}\") to list", other.type_name())))
        }
        _ => numbers(Arith::Add, left, right),
    }
}

/// `a + b` of strings; where one is safe, the other is escaped.
fn concat(run: &Run, a: &Text, b: &Text) -> Outcome<Value> {
    let safe = a.safe || b.safe;
    let (a, b) = if safe { (escape(run, a)?, escape(run, b)?) } else { (a.clone(), b.clone()) };
    run.make(a.s.len() + b.s.len())?;
    Ok(Value::Str(Text { s: [&*a.s, &*b.s].concat().into(), safe }))
}

/// HTML-escapes what is not safe yet.
pub(super) fn escape(run: &Run, text: &Text) -> Outcome<Text> {
    if text.safe {
        return Ok(text.clone());
    }
    run.make(text.s.len().saturating_mul(2))?;
    let mut out = String::with_capacity(text.s.len());
    for c in text.s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Ok(Text { s: out.into(), safe: true })
}

fn mul(run: &Run, left: &Value, right: &Value) -> Outcome<Value> {
    let (sequence, times) = match (left, right) {
        (Value::Str(_) | Value::List(_) | Value::Tuple(_), n) => (left, n),
        (n, Value::Str(_) | Value::List(_) | Value::Tuple(_)) => (right, n),
        _ => return numbers(Arith::Mul, left, right),
    };
    let Some(times) = times.as_int() else {
        return Err(Fault::new(format!("can't multiply sequence by non-int of type '{}'", times.type_name())));
    };
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let repeat = |items: &[Value]| -> Outcome<Vec<Value>> {
        run.make_items(items.len().saturating_mul(times))?;
        Ok(items.iter().cycle().take(items.len().saturating_mul(times)).cloned().collect())
    };
    match sequence {
        Value::Str(text) => {
            run.make(text.s.len().saturating_mul(times))?;
            let s = if text.s.is_empty() { String::new() } else { text.s.repeat(times) };
            Ok(Value::Str(Text { s: s.into(), safe: text.safe }))
        }
        Value::List(list) => Value::list_at(run, repeat(&list.items.borrow())?, list.path.clone()),
        Value::Tuple(tuple) => Value::tuple(run, repeat(&tuple.items)?),
        _ => Err(mismatch(Arith::Mul, left, right)),
    }
}

fn numbers(op: Arith, left: &Value, right: &Value) -> Outcome<Value> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return integers(op, a, b);
    }
    let (Some(a), Some(b)) = (left.as_float(), right.as_float()) else {
        return Err(mismatch(op, left, right));
    };
    Ok(Value::Float(match op {
        Arith::Add => a + b,
        Arith::Sub => a - b,
        Arith::Mul => a * b,
        Arith::Pow => a.powf(b),
        _ if b == 0.0 => return Err(zero_division()),
        Arith::Div => a / b,
        Arith::FloorDiv => (a / b).floor(),
        Arith::Rem => {
            let r = a % b;
            if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
        }
    }))
}

fn zero_division() -> Fault {
    Fault::new("division by zero")
}

fn integers(op: Arith, a: i128, b: i128) -> Outcome<Value> {
    let result = match op {
        Arith::Add => a.checked_add(b),
        Arith::Sub => a.checked_sub(b),
        Arith::Mul => a.checked_mul(b),
        Arith::Div | Arith::FloorDiv | Arith::Rem if b == 0 => return Err(zero_division()),
        Arith::Div => return Ok(Value::Float(a as f64 / b as f64)),
        Arith::FloorDiv => {
            let exact = a.checked_rem(b) == Some(0);
            a.checked_div(b).and_then(|q| if !exact && (a < 0) != (b < 0) { q.checked_sub(1) } else { Some(q) })
        }
        Arith::Rem => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        Arith::Pow if b < 0 => return Ok(Value::Float((a as f64).powf(b as f64))),
        Arith::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
    };
    result.map(Value::Int).ok_or_else(|| Fault::limit("an integer of more than 128 bits"))
}

/// `-value`.
pub(super) fn negate(value: &Value) -> Outcome<Value> {
    match value {
        Value::Float(f) => Ok(Value::Float(-f)),
        other => match other.as_int() {
            Some(i) => i.checked_neg().map(Value::Int).ok_or_else(|| Fault::limit("an integer of more than 128 bits")),
            None => Err(other.fault(|t| format!("bad operand type for unary -: '{t}'"))),
        },
    }
}

/// `left == right`.
pub(super) fn equal(run: &Run, left: &Value, right: &Value) -> Outcome<bool> {
    run.steps(1)?;
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
        return Ok(a == b);
    }
    Ok(match (left, right) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
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

/// `left is right`, as far as it can be told: singletons and shared objects.
pub(super) fn identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b && (-5..=256).contains(a),
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

/// The order of two values; `None` where neither is smaller (NaN).
pub(super) fn order(run: &Run, left: &Value, right: &Value) -> Outcome<Option<Ordering>> {
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

/// `left op right` as a truth value.
pub(super) fn compare(run: &Run, op: Comparison, left: &Value, right: &Value) -> Outcome<bool> {
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
pub(super) fn contains(run: &Run, hay: &Value, needle: &Value) -> Outcome<bool> {
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
                run.read_key(dict, key);
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

/// A position from the start, for an index that may count from the end.
fn position(index: i128, len: usize) -> Option<usize> {
    let from_start = if index < 0 { index + len as i128 } else { index };
    usize::try_from(from_start).ok().filter(|i| *i < len)
}

/// `object[index]` for sequences and dicts; `None` where Python raises a lookup or type error.
pub(super) fn item(run: &Run, object: &Value, index: &Value) -> Outcome<Option<Value>> {
    match object {
        Value::Dict(dict) => {
            if let Some(key) = index.as_str() {
                run.read_key(dict, key);
                return Ok(dict.map.borrow().get_str(key).cloned());
            }
            match index.key(run) {
                Ok(key) => Ok(dict.map.borrow().get(&key).cloned()),
                Err(_) => Ok(None),
            }
        }
        _ => {
            let Some(index) = index.as_int() else { return Ok(None) };
            Ok(match object {
                Value::List(list) => {
                    run.read_element(list);
                    let items = list.items.borrow();
                    position(index, items.len()).and_then(|i| items.get(i).cloned())
                }
                Value::Tuple(tuple) => position(index, tuple.items.len()).and_then(|i| tuple.items.get(i).cloned()),
                Value::Str(text) => {
                    let len = object.length(run)?;
                    position(index, len)
                        .and_then(|i| text.s.chars().nth(i))
                        .map(|c| Value::Str(Text { s: Arc::from(&*c.encode_utf8(&mut [0; 4])), safe: text.safe }))
                }
                Value::Range(range) => {
                    position(index, range.len()).map(|i| Value::Int(range.start + i as i128 * range.step))
                }
                _ => None,
            })
        }
    }
}

/// The positions that `[start:stop:step]` picks from `len` elements.
fn picked(len: usize, [start, stop, step]: [Option<i128>; 3]) -> Outcome<Vec<usize>> {
    let step = step.unwrap_or(1).clamp(-(1 << 64), 1 << 64);
    if step == 0 {
        return Err(Fault::new("slice step cannot be zero"));
    }
    let len = len as i128;
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |index: Option<i128>, default: i128| match index {
        None => default,
        Some(i) if i < 0 => (i.saturating_add(len)).clamp(low, high),
        Some(i) => i.clamp(low, high),
    };
    let (start, stop) =
        if step > 0 { (clamp(start, low), clamp(stop, high)) } else { (clamp(start, high), clamp(stop, low)) };
    let range = Range { start, stop, step };
    Ok((0..range.len()).filter_map(|i| usize::try_from(start + i as i128 * step).ok()).collect())
}

/// `object[start:stop:step]`.
pub(super) fn slice(run: &Run, object: &Value, bounds: [Option<i128>; 3]) -> Outcome<Value> {
    let select = |items: &[Value]| -> Outcome<Vec<Value>> {
        run.make_items(items.len())?;
        Ok(picked(items.len(), bounds)?.into_iter().filter_map(|i| items.get(i).cloned()).collect())
    };
    match object {
        Value::Str(text) => {
            run.make(text.s.len())?;
            run.scan(text.s.len().saturating_mul(16))?;
            let chars: Vec<char> = text.s.chars().collect();
            let s: String = picked(chars.len(), bounds)?.into_iter().filter_map(|i| chars.get(i)).collect();
            Ok(Value::Str(Text { s: s.into(), safe: text.safe }))
        }
        Value::List(list) => {
            run.read_element(list);
            Value::list_at(run, select(&list.items.borrow())?, list.path.clone())
        }
        Value::Tuple(tuple) => Value::tuple(run, select(&tuple.items)?),
        Value::Range(_) => Value::list(run, select(&object.elements(run)?)?),
        Value::Undefined(why) => Err(Fault::new(&**why)),
        other => Err(other.fault(|t| format!("'{t}' object is not subscriptable"))),
    }
}

/// `a ~ b ~ c`.
pub(super) fn join(run: &Run, parts: &[Value]) -> Outcome<Value> {
    let mut out = String::new();
    for part in parts {
        repr::write_string(run, part, &mut out)?;
    }
    Ok(out.into())
}

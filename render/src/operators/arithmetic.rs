//! Python's arithmetic operators, and Jinja2's `~`.

use crate::error::{Fault, Outcome};
use crate::operators::percent;
use crate::run::Run;
use crate::syntax::ast::Arith;
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::text::escape;
use crate::value::types::{Text, Value};

/// `left op right`.
pub(crate) fn arith(run: &Run, op: Arith, left: &Value, right: &Value) -> Outcome<Value> {
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
            _ => numbers(run, op, left, right),
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
            let source = a.source.or(&b.source);
            Value::list_at(run, items.iter().chain(more.iter()).cloned().collect(), source)
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
        _ => numbers(run, Arith::Add, left, right),
    }
}

/// `a + b` of strings; where one is safe, the other is escaped.
fn concat(run: &Run, a: &Text, b: &Text) -> Outcome<Value> {
    let safe = a.safe || b.safe;
    let (a, b) = if safe { (escape(run, a)?, escape(run, b)?) } else { (a.clone(), b.clone()) };
    run.make(a.s.len() + b.s.len())?;
    if !a.is_labelled() && !b.is_labelled() {
        return Ok(Value::Str(Text { safe, ..Text::plain([&*a.s, &*b.s].concat()) }));
    }
    let mut out = Buffer::default();
    out.push_text(run, &a)?;
    out.push_text(run, &b)?;
    Ok(Value::Str(out.into_text(safe)))
}

fn mul(run: &Run, left: &Value, right: &Value) -> Outcome<Value> {
    let (sequence, times) = match (left, right) {
        (Value::Str(_) | Value::List(_) | Value::Tuple(_), n) => (left, n),
        (n, Value::Str(_) | Value::List(_) | Value::Tuple(_)) => (right, n),
        _ => return numbers(run, Arith::Mul, left, right),
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
            if text.s.is_empty() || !text.is_labelled() {
                let s = if text.s.is_empty() { String::new() } else { text.s.repeat(times) };
                return Ok(Value::Str(Text { safe: text.safe, ..Text::plain(s) }));
            }
            let mut out = Buffer::default();
            for _ in 0..times {
                out.push_text(run, text)?;
            }
            Ok(Value::Str(out.into_text(text.safe)))
        }
        Value::List(list) => Value::list_at(run, repeat(&list.items.borrow())?, list.source.clone()),
        Value::Tuple(tuple) => Value::tuple(run, repeat(&tuple.items)?),
        _ => Err(mismatch(Arith::Mul, left, right)),
    }
}

fn numbers(run: &Run, op: Arith, left: &Value, right: &Value) -> Outcome<Value> {
    compute(op, left, right).map(|value| value.computed_from(run, &[left, right]))
}

fn compute(op: Arith, left: &Value, right: &Value) -> Outcome<Value> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return integers(op, a, b);
    }
    let (Some(a), Some(b)) = (left.as_float(), right.as_float()) else {
        return Err(mismatch(op, left, right));
    };
    Ok(Value::float(match op {
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
        Arith::Div => return Ok(Value::float(a as f64 / b as f64)),
        Arith::FloorDiv => {
            let exact = a.checked_rem(b) == Some(0);
            a.checked_div(b).and_then(|q| if !exact && (a < 0) != (b < 0) { q.checked_sub(1) } else { Some(q) })
        }
        Arith::Rem => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        Arith::Pow if b < 0 => return Ok(Value::float((a as f64).powf(b as f64))),
        Arith::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
    };
    result.map(Value::int).ok_or_else(|| Fault::limit("an integer of more than 128 bits"))
}

/// `-value`.
pub(crate) fn negate(run: &Run, value: &Value) -> Outcome<Value> {
    let negative = match value {
        Value::Float(f, _) => Ok(Value::float(-f)),
        other => match other.as_int() {
            Some(i) => i.checked_neg().map(Value::int).ok_or_else(|| Fault::limit("an integer of more than 128 bits")),
            None => Err(other.fault(|t| format!("bad operand type for unary -: '{t}'"))),
        },
    };
    negative.map(|negative| negative.computed_from(run, &[value]))
}

/// `a ~ b ~ c`.
pub(crate) fn concat_all(run: &Run, parts: &[Value]) -> Outcome<Value> {
    let mut out = Buffer::default();
    for part in parts {
        repr::write_string(run, part, &mut out)?;
    }
    Ok(out.into())
}

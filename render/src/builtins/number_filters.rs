//! Jinja2's filters over numbers.

use crate::builtins::args::{Args, count_arg, flag};
use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::value::text::is_space;
use crate::value::types::{Text, Value};

/// `value | name(args)`.
pub(crate) fn apply(run: &Run, name: &str, value: Value, args: Args) -> Outcome<Value> {
    let result = compute(run, name, value.clone(), args)?;
    Ok(if matches!(result, Value::Str(_)) { result } else { result.computed_from(run, &[&value]) })
}

fn compute(run: &Run, name: &str, value: Value, args: Args) -> Outcome<Value> {
    match name {
        "abs" => match &value {
            Value::Float(f, _) => Ok(Value::float(f.abs())),
            other => match other.as_int() {
                Some(i) => Ok(Value::int(i.saturating_abs())),
                None => Err(other.fault(|t| format!("bad operand type for abs(): '{t}'"))),
            },
        },
        "int" => int(value, args),
        "float" => float(value, args),
        "round" => round(&value, args),
        _ => {
            let [binary] = args.bind(name, ["binary"])?;
            let mark = value.mark();
            let size = float(value, Args::default())?.as_float().unwrap_or(0.0);
            let mark = run.other([mark]);
            Ok(Value::Str(Text::marked(file_size(size, flag(binary, false)), mark)))
        }
    }
}

/// Python's `int(text, base)`.
fn parse_int(text: &str, base: i128) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (digits, base) = match (lower.get(..2), base) {
        (Some("0x"), 16 | 0) => (lower.get(2..)?, 16),
        (Some("0o"), 8 | 0) => (lower.get(2..)?, 8),
        (Some("0b"), 2 | 0) => (lower.get(2..)?, 2),
        (_, 0) => (&*lower, 10),
        (_, base) => (&*lower, u32::try_from(base).ok().filter(|b| (2..=36).contains(b))?),
    };
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") || digits.starts_with(['+', '-']) {
        return None;
    }
    i128::from_str_radix(&digits.replace('_', ""), base).ok().map(|i| sign * i)
}

/// Python's `float(text)`.
fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    text.replace('_', "").parse().ok()
}

fn int(value: Value, args: Args) -> Outcome<Value> {
    let [default, base] = args.bind("int", ["default", "base"])?;
    let truncated = |f: f64| (f.is_finite() && f.abs() < 1e38).then_some(Value::int(f as i128));
    let found = match &value {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Str(text) => match parse_int(&text.s, count_arg(base, 10)?) {
            Some(i) => Some(Value::int(i)),
            None => parse_float(&text.s).and_then(truncated),
        },
        Value::Float(f, _) => truncated(*f),
        other => other.as_int().map(Value::int),
    };
    Ok(found.or(default).unwrap_or(Value::int(0)))
}

fn float(value: Value, args: Args) -> Outcome<Value> {
    let [default] = args.bind("float", ["default"])?;
    let found = match &value {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Str(text) => parse_float(&text.s),
        other => other.as_float(),
    };
    Ok(found.map(Value::float).or(default).unwrap_or(Value::float(0.0)))
}

fn round(value: &Value, args: Args) -> Outcome<Value> {
    let [precision, method] = args.bind("round", ["precision", "method"])?;
    let precision = count_arg(precision, 0)?.clamp(-400, 400) as i32;
    let Some(number) = value.as_float() else {
        return Err(value.fault(|t| format!("type {t} doesn't define __round__ method")));
    };
    let scale = 10f64.powi(precision);
    match method.as_ref().map_or(Some("common"), Value::as_str) {
        Some("common") => match value.as_int() {
            Some(int) if precision >= 0 => Ok(Value::int(int)),
            Some(int) => {
                let unit = 10i128.checked_pow(precision.unsigned_abs());
                Ok(Value::int(unit.map_or(0, |unit| round_half_even(int, unit))))
            }
            None if !number.is_finite() => Ok(Value::float(number)),
            None if precision >= 0 => {
                let digits = precision.unsigned_abs() as usize;
                Ok(Value::float(format!("{number:.digits$}").parse().unwrap_or(number)))
            }
            None => Ok(Value::float((number * scale).round_ties_even() / scale)),
        },
        Some("ceil") => Ok(Value::float((number * scale).ceil() / scale)),
        Some("floor") => Ok(Value::float((number * scale).floor() / scale)),
        _ => Err(Fault::new("method must be common, ceil or floor")),
    }
}

fn round_half_even(int: i128, unit: i128) -> i128 {
    let (low, rest) = (int.div_euclid(unit), int.rem_euclid(unit));
    let up = rest > unit - rest || (rest == unit - rest && low % 2 != 0);
    (low + i128::from(up)).saturating_mul(unit)
}

fn file_size(size: f64, binary: bool) -> String {
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if size == 1.0 {
        return "1 Byte".to_owned();
    }
    if size < base {
        return format!("{} Bytes", size as i64);
    }
    let mut unit = base * base;
    let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
    for (i, prefix) in prefixes.iter().enumerate() {
        if size < unit || i + 1 == prefixes.len() {
            let prefix = if binary { format!("{}i", prefix.to_uppercase()) } else { (*prefix).to_owned() };
            return format!("{:.1} {prefix}B", base * size / unit);
        }
        unit *= base;
    }
    String::new()
}

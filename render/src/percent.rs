//! Python's two ways to format: `'…%s…' % values` and `'…{}…'.format(values)`.

use std::sync::Arc;

use super::error::{Fault, Outcome};
use super::exec;
use super::ops;
use super::repr;
use super::run::Run;
use super::value::{Text, Value};

/// How one value is laid out.
#[derive(Default, Clone)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// `format % args`.
pub(super) fn format(run: &Run, format: &Text, args: &Value) -> Outcome<Value> {
    run.make(format.s.len())?;
    let values: Vec<Value> = match args {
        Value::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    };
    let mut next = values.iter();
    let mut used_mapping = false;
    let mut out = String::new();
    let mut chars = format.s.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut named = None;
        if chars.next_if_eq(&'(').is_some() {
            let mut name = String::new();
            let mut open = 1;
            for c in chars.by_ref() {
                open += i32::from(c == '(') - i32::from(c == ')');
                if open == 0 {
                    break;
                }
                name.push(c);
            }
            let Value::Dict(dict) = args else { return Err(Fault::new("format requires a mapping")) };
            run.read_key(dict, &name);
            let value = dict.map.borrow().get_str(&name).cloned();
            named = Some(value.ok_or_else(|| Fault::new(format!("KeyError: '{name}'")))?);
            used_mapping = true;
        }
        let mut spec = Spec::default();
        while let Some(flag) = chars.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => spec.align = Some('<'),
                '#' => spec.alternate = true,
                '0' => spec.zero = true,
                sign => spec.sign = Some(sign),
            }
        }
        let missing = || Fault::new("not enough arguments for format string");
        if chars.next_if_eq(&'*').is_some() {
            let width = next.next().ok_or_else(missing)?.index()?;
            spec.width = usize::try_from(width).unwrap_or(usize::MAX);
        } else {
            spec.width = digits(&mut chars).unwrap_or(0);
        }
        if chars.next_if_eq(&'.').is_some() {
            spec.precision = Some(digits(&mut chars).unwrap_or(0));
        }
        while chars.next_if(|c| "hlL".contains(*c)).is_some() {}
        let kind = chars.next().ok_or_else(|| Fault::new("incomplete format"))?;
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => next.next().cloned().ok_or_else(missing)?,
        };
        let start = out.len();
        match kind {
            's' | 'r' | 'a' => {
                let text = match kind {
                    's' => match &value {
                        Value::Str(text) if format.safe => ops::escape(run, text)?.s.to_string(),
                        other => repr::string(run, other)?,
                    },
                    _ => repr::repr(run, &value)?,
                };
                spec.align = spec.align.or(Some('>'));
                spec.zero = false;
                pad_text(run, &text, &spec, &mut out)?;
            }
            'c' => {
                let text = match value.as_int().and_then(|i| u32::try_from(i).ok()).and_then(char::from_u32) {
                    Some(c) => c.to_string(),
                    None => repr::string(run, &value)?,
                };
                spec.align = spec.align.or(Some('>'));
                pad_text(run, &text, &spec, &mut out)?;
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                let int = match &value {
                    Value::Float(f) if f.is_finite() && "diu".contains(kind) => *f as i128,
                    other => other.as_int().ok_or_else(|| {
                        other.fault(|t| format!("%{kind} format: a real number is required, not {t}"))
                    })?,
                };
                spec.kind = Some(if "iu".contains(kind) { 'd' } else { kind });
                integer(run, int, &spec, &mut out)?;
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let float = value.as_float().ok_or_else(|| value.fault(|t| format!("must be real number, not {t}")))?;
                spec.kind = Some(kind);
                float_text(run, float, &spec, &mut out)?;
            }
            other => return Err(Fault::new(format!("unsupported format character '{other}'"))),
        }
        run.scan(out.len() - start)?;
    }
    if next.next().is_some() && !used_mapping && !matches!(args, Value::Dict(_) | Value::List(_)) {
        return Err(Fault::new("not all arguments converted during string formatting"));
    }
    Ok(Value::Str(Text { s: out.into(), safe: format.safe }))
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit as usize));
        chars.next();
    }
    number
}

/// `text.format(*positional, **named)`.
pub(super) fn str_format(
    run: &Run,
    format: &str,
    positional: &[Value],
    named: &[(Arc<str>, Value)],
) -> Outcome<String> {
    let mut fields = Fields { run, positional, named, next: 0 };
    let mut out = String::new();
    fields.expand(format, 3, &mut out)?;
    Ok(out)
}

struct Fields<'a> {
    run: &'a Run,
    positional: &'a [Value],
    named: &'a [(Arc<str>, Value)],
    next: usize,
}

impl Fields<'_> {
    fn expand(&mut self, format: &str, nesting: usize, out: &mut String) -> Outcome<()> {
        let Some(nesting) = nesting.checked_sub(1) else {
            return Err(Fault::new("Max string recursion exceeded"));
        };
        self.run.make(format.len())?;
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                out.push_str(from.get(..1).unwrap_or(""));
                rest = after;
                continue;
            }
            let Some(inner) = from.strip_prefix('{') else {
                return Err(Fault::new("Single '}' encountered in format string"));
            };
            let mut open = 1i32;
            let end = inner.char_indices().find_map(|(i, c)| {
                open += i32::from(c == '{') - i32::from(c == '}');
                (open == 0).then_some(i)
            });
            let Some(end) = end else { return Err(Fault::new("expected '}' before end of string")) };
            let (field, after) = inner.split_at(end);
            self.field(field, nesting, out)?;
            rest = after.get(1..).unwrap_or("");
        }
        out.push_str(rest);
        Ok(())
    }

    fn field(&mut self, field: &str, nesting: usize, out: &mut String) -> Outcome<()> {
        let (reference, spec) = field.split_once(':').unwrap_or((field, ""));
        let (reference, conversion) = match reference.split_once('!') {
            Some((reference, conversion)) => (reference, Some(conversion)),
            None => (reference, None),
        };
        let mut value = self.value(reference)?;
        match conversion {
            Some("r" | "a") => value = repr::repr(self.run, &value)?.into(),
            Some("s") => value = repr::string(self.run, &value)?.into(),
            _ => {}
        }
        let mut expanded = String::new();
        self.expand(spec, nesting, &mut expanded)?;
        apply(self.run, &value, &expanded, out)
    }

    fn value(&mut self, reference: &str) -> Outcome<Value> {
        let end = reference.find(['.', '[']).unwrap_or(reference.len());
        let (first, mut path) = reference.split_at(end);
        let index = if first.is_empty() {
            self.next += 1;
            Some(self.next - 1)
        } else {
            first.parse().ok()
        };
        let mut value = match index {
            Some(index) => self.positional.get(index).cloned().ok_or_else(|| {
                Fault::new(format!("Replacement index {index} out of range for positional args tuple"))
            })?,
            None => {
                let found = self.named.iter().find(|(name, _)| **name == *first);
                found.map(|(_, v)| v.clone()).ok_or_else(|| Fault::new(format!("KeyError: '{first}'")))?
            }
        };
        while !path.is_empty() {
            if let Some(inner) = path.strip_prefix('[') {
                let (key, after) = inner.split_once(']').ok_or_else(|| Fault::new("Missing ']' in format string"))?;
                let key = key.parse().map_or_else(|_| Value::from(key), Value::Int);
                value = exec::get_item(self.run, &value, &key)?;
                path = after;
            } else {
                let inner = path.strip_prefix('.').unwrap_or(path);
                let end = inner.find(['.', '[']).unwrap_or(inner.len());
                let (name, after) = inner.split_at(end);
                value = exec::get_attr(self.run, &value, name)?;
                path = after;
            }
        }
        Ok(value)
    }
}

/// `format(value, spec)`.
fn apply(run: &Run, value: &Value, spec_text: &str, out: &mut String) -> Outcome<()> {
    let spec = parse(spec_text)?;
    match (value, spec.kind) {
        (Value::Int(_) | Value::Bool(_), Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%')) => {
            float_text(run, value.as_float().unwrap_or(0.0), &spec, out)
        }
        (Value::Int(i), _) => integer(run, *i, &spec, out),
        (Value::Bool(b), _) if !spec_text.is_empty() => integer(run, i128::from(*b), &spec, out),
        (Value::Float(f), _) => float_text(run, *f, &spec, out),
        (_, None | Some('s')) => {
            let text = repr::string(run, value)?;
            pad_text(run, &text, &spec, out)
        }
        (other, Some(kind)) => Err(other.fault(|t| format!("Unknown format code '{kind}' for object of type '{t}'"))),
    }
}

fn parse(text: &str) -> Outcome<Spec> {
    let mut spec = Spec::default();
    let mut chars = text.chars().peekable();
    let mut ahead = chars.clone();
    match (ahead.next(), ahead.next()) {
        (Some(fill), Some(align @ ('<' | '>' | '^' | '='))) => {
            spec.fill = Some(fill);
            spec.align = Some(align);
            chars = ahead;
        }
        (Some(align @ ('<' | '>' | '^' | '=')), _) => {
            spec.align = Some(align);
            chars.next();
        }
        _ => {}
    }
    spec.sign = chars.next_if(|c| "+- ".contains(*c));
    spec.alternate = chars.next_if_eq(&'#').is_some();
    spec.zero = chars.next_if_eq(&'0').is_some();
    spec.width = digits(&mut chars).unwrap_or(0);
    spec.grouping = chars.next_if(|c| ",_".contains(*c));
    if chars.next_if_eq(&'.').is_some() {
        spec.precision = Some(digits(&mut chars).ok_or_else(|| Fault::new("Format specifier missing precision"))?);
    }
    spec.kind = chars.next();
    if chars.next().is_some() {
        return Err(Fault::new("Invalid format specifier"));
    }
    Ok(spec)
}

fn pad_text(run: &Run, text: &str, spec: &Spec, out: &mut String) -> Outcome<()> {
    let cut: String = match spec.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    };
    pad(run, "", &cut, spec, '<', out)
}

/// Fills up to the width: `sign` stays in front of zeros.
fn pad(run: &Run, sign: &str, body: &str, spec: &Spec, default: char, out: &mut String) -> Outcome<()> {
    let used = sign.chars().count() + body.chars().count();
    let missing = spec.width.saturating_sub(used);
    run.make(missing.saturating_mul(spec.fill.map_or(1, char::len_utf8)).saturating_add(sign.len() + body.len()))?;
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { default });
    let fill = spec.fill.unwrap_or(if spec.zero && align == '=' { '0' } else { ' ' });
    let (left, middle, right) = match align {
        '<' => (0, 0, missing),
        '^' => (missing / 2, 0, missing - missing / 2),
        '=' => (0, missing, 0),
        _ => (missing, 0, 0),
    };
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(sign);
    out.extend(std::iter::repeat_n(fill, middle));
    out.push_str(body);
    out.extend(std::iter::repeat_n(fill, right));
    Ok(())
}

fn sign_of(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

fn group(digits: &str, separator: Option<char>) -> String {
    let Some(separator) = separator else { return digits.to_owned() };
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

fn integer(run: &Run, value: i128, spec: &Spec, out: &mut String) -> Outcome<()> {
    let size = value.unsigned_abs();
    let (prefix, digits) = match spec.kind {
        None | Some('d' | 'n') => ("", group(&size.to_string(), spec.grouping)),
        Some('x') => ("0x", format!("{size:x}")),
        Some('X') => ("0X", format!("{size:X}")),
        Some('o') => ("0o", format!("{size:o}")),
        Some('b') => ("0b", format!("{size:b}")),
        Some('c') => ("", u32::try_from(size).ok().and_then(char::from_u32).map(String::from).unwrap_or_default()),
        Some(kind) => return Err(Fault::new(format!("Unknown format code '{kind}' for object of type 'int'"))),
    };
    let digits = match spec.precision {
        Some(precision) => {
            run.make(precision)?;
            format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())))
        }
        None => digits,
    };
    let sign = format!("{}{}", sign_of(value < 0, spec), if spec.alternate { prefix } else { "" });
    pad(run, &sign, &digits, spec, '>', out)
}

fn float_text(run: &Run, value: f64, spec: &Spec, out: &mut String) -> Outcome<()> {
    let precision = spec.precision.unwrap_or(6);
    if precision > 2_000 {
        return Err(Fault::limit("a float of more than 2000 digits"));
    }
    let size = value.abs();
    let upper = spec.kind.is_some_and(char::is_uppercase);
    let mut digits = match spec.kind.map(|k| k.to_ascii_lowercase()) {
        _ if !size.is_finite() => repr::float(size),
        Some('f') => format!("{size:.precision$}"),
        Some('%') => format!("{:.precision$}%", size * 100.0),
        Some('e') => exponent(&format!("{size:.precision$e}")),
        Some('g') => general(size, precision, spec.alternate),
        None if spec.precision.is_none() => repr::float(size),
        None => {
            let text = general(size, precision, false);
            if text.contains(['.', 'e']) { text } else { text + ".0" }
        }
        Some(kind) => return Err(Fault::new(format!("Unknown format code '{kind}' for object of type 'float'"))),
    };
    if let (Some(_), Some(point)) = (spec.grouping, digits.find('.').or(Some(digits.len()))) {
        let (whole, fraction) = digits.split_at(point);
        digits = format!("{}{fraction}", group(whole, spec.grouping));
    }
    if upper {
        digits = digits.to_uppercase();
    }
    pad(run, sign_of(value.is_sign_negative() && !value.is_nan(), spec), &digits, spec, '>', out)
}

/// Rust's `1.5e7` as Python's `1.5e+07`.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%g`: the shorter of the two, without trailing zeros.
fn general(size: f64, precision: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    let scientific = format!("{size:.*e}", precision - 1);
    let power: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') && !keep_zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if power < -4 || power >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let (digits, e) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        return exponent(&format!("{}e{e}", trim(digits)));
    }
    let decimals = usize::try_from(precision as i64 - 1 - i64::from(power)).unwrap_or(0);
    trim(&format!("{size:.decimals$}"))
}

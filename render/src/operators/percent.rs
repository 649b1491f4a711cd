//! The operator `%` on strings: `'…%s…' % values`.

use crate::error::{Fault, Outcome};
use crate::operators::format_spec::{Spec, digits, float, integer, next_if, pad_text};
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::text::escape;
use crate::value::types::{Text, Value};

/// `format % args`.
pub(crate) fn format(run: &Run, format: &Text, args: &Value) -> Outcome<Value> {
    run.make(format.s.len())?;
    let values: Vec<Value> = match args {
        Value::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    };
    let mut next = values.iter();
    let mut used_mapping = false;
    let mut out = Buffer::default();
    let mut rest = &*format.s;
    while let Some((literal, field)) = rest.split_once('%') {
        out.push_sub(run, format, literal, None)?;
        let mut chars = field.chars();
        let mut named = None;
        if next_if(&mut chars, |c| c == '(').is_some() {
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
            run.read_key(&dict.source, &name);
            let value = dict.map.borrow().get_str(&name).cloned();
            named = Some(value.ok_or_else(|| Fault::new(format!("KeyError: '{name}'")))?);
            used_mapping = true;
        }
        let mut spec = Spec::default();
        while let Some(flag) = next_if(&mut chars, |c| "-+ #0".contains(c)) {
            match flag {
                '-' => spec.align = Some('<'),
                '#' => spec.alternate = true,
                '0' => spec.zero = true,
                sign => spec.sign = Some(sign),
            }
        }
        let missing = || Fault::new("not enough arguments for format string");
        if next_if(&mut chars, |c| c == '*').is_some() {
            let width = next.next().ok_or_else(missing)?.index()?;
            spec.width = usize::try_from(width).unwrap_or(usize::MAX);
        } else {
            spec.width = digits(&mut chars).unwrap_or(0);
        }
        if next_if(&mut chars, |c| c == '.').is_some() {
            spec.precision = Some(digits(&mut chars).unwrap_or(0));
        }
        while next_if(&mut chars, |c| "hlL".contains(c)).is_some() {}
        let kind = chars.next().ok_or_else(|| Fault::new("incomplete format"))?;
        rest = chars.as_str();
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => next.next().cloned().ok_or_else(missing)?,
        };
        let start = out.len();
        convert(run, kind, &value, spec, format.safe, &mut out)?;
        run.scan(out.len() - start)?;
    }
    if next.next().is_some() && !used_mapping && !matches!(args, Value::Dict(_) | Value::List(_)) {
        return Err(Fault::new("not all arguments converted during string formatting"));
    }
    out.push_sub(run, format, rest, None)?;
    Ok(Value::Str(out.into_text(format.safe)))
}

/// Writes one value by the letter of its field.
fn convert(run: &Run, kind: char, value: &Value, mut spec: Spec, safe: bool, out: &mut Buffer) -> Outcome<()> {
    match kind {
        's' | 'r' | 'a' => {
            let text = match kind {
                's' => match value {
                    Value::Str(text) if safe => escape(run, text)?,
                    other => repr::soft_string(run, other)?,
                },
                _ => repr::repr(run, value)?,
            };
            spec.align = spec.align.or(Some('>'));
            spec.zero = false;
            pad_text(run, &text, &spec, out)?;
        }
        'c' => {
            let text = match value.as_int().and_then(|i| u32::try_from(i).ok()).and_then(char::from_u32) {
                Some(c) => Text::marked(&*c.encode_utf8(&mut [0; 4]), run.other([value.mark()])),
                None => repr::soft_string(run, value)?,
            };
            spec.align = spec.align.or(Some('>'));
            pad_text(run, &text, &spec, out)?;
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
            let int = match value {
                Value::Float(f, _) if f.is_finite() && "diu".contains(kind) => *f as i128,
                other => other
                    .as_int()
                    .ok_or_else(|| other.fault(|t| format!("%{kind} format: a real number is required, not {t}")))?,
            };
            spec.kind = Some(if "iu".contains(kind) { 'd' } else { kind });
            integer(run, int, value.mark(), &spec, out)?;
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
            let number = value.as_float().ok_or_else(|| value.fault(|t| format!("must be real number, not {t}")))?;
            spec.kind = Some(kind);
            float(run, number, value.mark(), &spec, out)?;
        }
        other => return Err(Fault::new(format!("unsupported format character '{other}'"))),
    }
    Ok(())
}

//! Formatting one value by a format specification: width, alignment, sign, precision. Shared by `%` and `str.format`.

use std::str::Chars;

use crate::error::{Fault, Outcome};
use crate::labels::Encoding;
use crate::marks::Mark;
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::number::{self, with_python_exponent};
use crate::value::repr;
use crate::value::types::{Text, Value};

/// The maximum number of digits after the point of a float.
const MAX_PRECISION: usize = 2_000;

/// How one value is to be formatted: what `'%-5.2f'` and `'{:<5.2f}'` say.
#[derive(Default, Clone)]
pub(crate) struct Spec {
    pub(crate) fill: Option<char>,
    pub(crate) align: Option<char>,
    pub(crate) sign: Option<char>,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: usize,
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
    pub(crate) kind: Option<char>,
}

/// Takes a character from the front, if it passes the test.
pub(crate) fn next_if(chars: &mut Chars<'_>, test: impl Fn(char) -> bool) -> Option<char> {
    let c = chars.clone().next().filter(|c| test(*c))?;
    chars.next();
    Some(c)
}

/// Takes a decimal number from the front; `None` without digits.
pub(crate) fn digits(chars: &mut Chars<'_>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = next_if(chars, |c| c.is_ascii_digit()).and_then(|c| c.to_digit(10)) {
        number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit as usize));
    }
    number
}

/// Appends `format(value, spec)`.
pub(crate) fn apply(run: &Run, value: &Value, spec_text: &str, out: &mut Buffer) -> Outcome<()> {
    let spec = parse(spec_text)?;
    match (value, spec.kind) {
        (Value::Int(_, _) | Value::Bool(_, _), Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%')) => {
            float(run, value.as_float().unwrap_or(0.0), value.mark(), &spec, out)
        }
        (Value::Int(i, mark), _) => integer(run, i.get(), *mark, &spec, out),
        (Value::Bool(b, mark), _) if !spec_text.is_empty() => integer(run, i128::from(*b), *mark, &spec, out),
        (Value::Float(f, mark), _) => float(run, *f, *mark, &spec, out),
        (_, None | Some('s')) => {
            let text = repr::soft_string(run, value)?;
            pad_text(run, &text, &spec, out)
        }
        (other, Some(kind)) => Err(other.fault(|t| format!("Unknown format code '{kind}' for object of type '{t}'"))),
    }
}

/// Parses the part of a replacement field after the `:`.
fn parse(text: &str) -> Outcome<Spec> {
    let mut spec = Spec::default();
    let mut chars = text.chars();
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
    spec.sign = next_if(&mut chars, |c| "+- ".contains(c));
    spec.alternate = next_if(&mut chars, |c| c == '#').is_some();
    spec.zero = next_if(&mut chars, |c| c == '0').is_some();
    spec.width = digits(&mut chars).unwrap_or(0);
    spec.grouping = next_if(&mut chars, |c| ",_".contains(c));
    if next_if(&mut chars, |c| c == '.').is_some() {
        spec.precision = Some(digits(&mut chars).ok_or_else(|| Fault::new("Format specifier missing precision"))?);
    }
    spec.kind = chars.next();
    if chars.next().is_some() {
        return Err(Fault::new("Invalid format specifier"));
    }
    Ok(spec)
}

/// Appends a text, cut to the precision and filled up to the width.
pub(crate) fn pad_text(run: &Run, text: &Text, spec: &Spec, out: &mut Buffer) -> Outcome<()> {
    let Some(precision) = spec.precision else { return pad(run, "", text, spec, '<', out) };
    let end = text.s.char_indices().nth(precision).map_or(text.s.len(), |(at, _)| at);
    let cut = text.part(run, text.s.get(..end).unwrap_or(""), Encoding::Slice)?;
    pad(run, "", &cut, spec, '<', out)
}

/// Appends `sign` and `body`, filled up to the width. Zeros go between them.
fn pad(run: &Run, sign: &str, body: &Text, spec: &Spec, default: char, out: &mut Buffer) -> Outcome<()> {
    let used = sign.chars().count() + body.s.chars().count();
    let missing = spec.width.saturating_sub(used);
    run.make(missing.saturating_mul(spec.fill.map_or(1, char::len_utf8)).saturating_add(sign.len() + body.s.len()))?;
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { default });
    let fill = spec.fill.unwrap_or(if spec.zero && align == '=' { '0' } else { ' ' });
    let (left, middle, right) = match align {
        '<' => (0, 0, missing),
        '^' => (missing / 2, 0, missing - missing / 2),
        '=' => (0, missing, 0),
        _ => (missing, 0, 0),
    };
    out.fill(fill, left);
    out.push_marked(run, sign, body.first_mark())?;
    out.fill(fill, middle);
    out.push_text(run, body)?;
    out.fill(fill, right);
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

/// The digits in groups of three, if there is a separator.
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

/// A number's digits with its mark: `Str` if they are those of `str`, without a format of their own.
fn body(run: &Run, digits: String, mark: Mark, is_plain: bool) -> Text {
    let encoding = if is_plain { Encoding::Str } else { Encoding::Other };
    Text::marked(digits, run.encoded(mark, encoding))
}

/// Appends an integer.
pub(crate) fn integer(run: &Run, value: i128, mark: Mark, spec: &Spec, out: &mut Buffer) -> Outcome<()> {
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
    let is_plain = matches!(spec.kind, None | Some('d')) && spec.grouping.is_none() && spec.precision.is_none();
    pad(run, &sign, &body(run, digits, mark, is_plain), spec, '>', out)
}

/// Appends a float.
pub(crate) fn float(run: &Run, value: f64, mark: Mark, spec: &Spec, out: &mut Buffer) -> Outcome<()> {
    let precision = spec.precision.unwrap_or(6);
    if precision > MAX_PRECISION {
        return Err(Fault::limit(format!("a float with more than {MAX_PRECISION} digits")));
    }
    let size = value.abs();
    let upper = spec.kind.is_some_and(char::is_uppercase);
    let mut digits = match spec.kind.map(|k| k.to_ascii_lowercase()) {
        _ if !size.is_finite() => number::float(size),
        Some('f') => format!("{size:.precision$}"),
        Some('%') => format!("{:.precision$}%", size * 100.0),
        Some('e') => with_python_exponent(&format!("{size:.precision$e}")),
        Some('g') => general(size, precision, spec.alternate),
        None if spec.precision.is_none() => number::float(size),
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
    let is_plain = spec.kind.is_none() && spec.grouping.is_none() && spec.precision.is_none();
    let sign = sign_of(value.is_sign_negative() && !value.is_nan(), spec);
    pad(run, sign, &body(run, digits, mark, is_plain), spec, '>', out)
}

/// `%g`: with or without an exponent, whichever is shorter, and without trailing zeros unless they are to be kept.
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
        return with_python_exponent(&format!("{}e{e}", trim(digits)));
    }
    let decimals = usize::try_from(precision as i64 - 1 - i64::from(power)).unwrap_or(0);
    trim(&format!("{size:.decimals$}"))
}

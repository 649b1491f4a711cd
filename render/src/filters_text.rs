//! Jinja2's filters over strings and numbers, and JSON.

use super::args::{Args, flag, required};
use super::error::{Fault, Outcome};
use super::exec::Interpreter;
use super::filters::{count_arg, text_arg};
use super::json::{self, Style};
use super::methods;
use super::ops;
use super::percent;
use super::repr;
use super::run::Run;
use super::strings::{self, Side};
use super::value::{Text, Value};

/// The filters here.
pub(super) const NAMES: &[&str] = &[
    "abs",
    "capitalize",
    "center",
    "e",
    "escape",
    "filesizeformat",
    "float",
    "forceescape",
    "format",
    "from_json",
    "indent",
    "int",
    "lower",
    "pprint",
    "replace",
    "round",
    "safe",
    "string",
    "striptags",
    "title",
    "tojson",
    "trim",
    "truncate",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
    "xmlattr",
];

/// `value | name(args)`.
pub(super) fn apply(it: &mut Interpreter<'_>, name: &str, value: Value, args: Args) -> Outcome<Value> {
    let run = it.run;
    let soft = |value: &Value| repr::soft_string(run, value);
    match name {
        "tojson" => {
            let [ascii, indent, separators, sort] =
                args.bind(name, ["ensure_ascii", "indent", "separators", "sort_keys"])?;
            let style = Style {
                ensure_ascii: flag(ascii, false),
                indent: indent_of(run, indent)?,
                separators: separators_of(run, separators)?,
                sort_keys: flag(sort, false),
            };
            Ok(json::dumps(run, &value, &style)?.into())
        }
        "from_json" => match value.as_str() {
            Some(text) => json::loads(run, text),
            None => Err(value.fault(|t| format!("the JSON object must be str, bytes or bytearray, not {t}"))),
        },
        "string" => Ok(Value::Str(soft(&value)?)),
        "safe" => Ok(Value::Str(Text { s: soft(&value)?.s, safe: true })),
        "e" | "escape" => Ok(Value::Str(ops::escape(run, &soft(&value)?)?)),
        "forceescape" => Ok(Value::Str(ops::escape(run, &Text::plain(soft(&value)?.s))?)),
        "upper" | "lower" | "capitalize" => {
            let method = methods::find(&Value::from(""), name).unwrap_or("lower");
            strings::call(run, &soft(&value)?, method, args)
        }
        "title" => {
            let text = soft(&value)?;
            run.make(text.s.len())?;
            Ok(title(&text.s).into())
        }
        "trim" => {
            let [chars] = args.bind(name, ["chars"])?;
            let text = soft(&value)?;
            run.make(text.s.len())?;
            Ok(Value::Str(Text { s: strings::strip(&text.s, chars, true, true)?.into(), safe: text.safe }))
        }
        "center" => {
            let [width] = args.bind(name, ["width"])?;
            let text = soft(&value)?;
            let centered = strings::justify(run, &text.s, count_arg(width, 80)?, ' ', Side::Center)?;
            Ok(Value::Str(Text { s: centered.into(), safe: text.safe }))
        }
        "replace" => {
            let [old, new, count] = args.bind(name, ["old", "new", "count"])?;
            let (old, new) = (required(name, "old", old)?, required(name, "new", new)?);
            let (old, new) = (soft(&old)?, soft(&new)?);
            let text = soft(&value)?;
            Ok(strings::replace(run, &text.s, &old.s, &new.s, count_arg(count, -1)?)?.into())
        }
        "indent" => indent(run, &value, args),
        "format" => {
            let Args { positional, named } = args;
            if !positional.is_empty() && !named.is_empty() {
                return Err(Fault::new("can't handle positional and keyword arguments at the same time"));
            }
            let values = if named.is_empty() { Value::tuple(run, positional)? } else { json::dict_of(run, named)? };
            percent::format(run, &soft(&value)?, &values)
        }
        "truncate" => truncate(run, &value, args),
        "wordcount" => {
            let text = soft(&value)?;
            run.scan(text.s.len())?;
            let words = text.s.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
            Ok(Value::Int(words.count() as i128))
        }
        "striptags" => {
            let text = soft(&value)?;
            run.make(text.s.len())?;
            Ok(strip_tags(&text.s).into())
        }
        "urlencode" => urlencode(run, &value),
        "xmlattr" => xmlattr(run, &value, args),
        "pprint" => Ok(repr::repr(run, &value)?.into()),
        "abs" => match &value {
            Value::Float(f) => Ok(Value::Float(f.abs())),
            other => match other.as_int() {
                Some(i) => Ok(Value::Int(i.saturating_abs())),
                None => Err(other.fault(|t| format!("bad operand type for abs(): '{t}'"))),
            },
        },
        "int" => int(value, args),
        "float" => float(value, args),
        "round" => round(&value, args),
        "filesizeformat" => {
            let [binary] = args.bind(name, ["binary"])?;
            let size = float(value, Args::default())?.as_float().unwrap_or(0.0);
            Ok(file_size(size, flag(binary, false)).into())
        }
        "wordwrap" => wordwrap(run, &value, args),
        _ => Err(Fault::new(format!("No filter named '{name}'."))),
    }
}

fn indent_of(run: &Run, indent: Option<Value>) -> Outcome<Option<String>> {
    match indent {
        None | Some(Value::None) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.s.to_string())),
        Some(width) => {
            let width = usize::try_from(width.index()?).unwrap_or(0);
            run.make(width)?;
            Ok(Some(" ".repeat(width)))
        }
    }
}

fn separators_of(run: &Run, separators: Option<Value>) -> Outcome<Option<(String, String)>> {
    let separators = match separators {
        None | Some(Value::None) => return Ok(None),
        Some(separators) => separators.elements(run)?,
    };
    match separators.as_slice() {
        [Value::Str(item), Value::Str(key)] => Ok(Some((item.s.to_string(), key.s.to_string()))),
        _ => Err(Fault::new("tojson: separators are two strings")),
    }
}

fn title(text: &str) -> String {
    let breaks = |c: char| c == '-' || strings::is_space(c) || matches!(c, '(' | '{' | '[' | '<');
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        if breaks(c) {
            out.push(c);
            start = true;
        } else if start {
            out.extend(c.to_uppercase());
            start = false;
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

fn indent(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"])?;
    let Value::Str(text) = value else {
        return Err(value.fault(|t| format!("indent takes a str, not {t}")));
    };
    let by = indent_of(run, width)?.unwrap_or_else(|| "    ".to_owned());
    let (first, blank) = (flag(first, false), flag(blank, false));
    // Jinja2 appends a newline so that `splitlines` keeps the last line, also an empty one.
    let padded = format!("{}\n", text.s);
    let lines = strings::lines(&padded, false);
    run.make((by.len() + 1).saturating_mul(lines.len()).saturating_add(text.s.len()))?;
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if if i == 0 { first } else { blank || !line.is_empty() } {
            out.push_str(&by);
        }
        out.push_str(line);
    }
    Ok(Value::Str(Text { s: out.into(), safe: text.safe }))
}

fn truncate(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [length, kill, end, leeway] = args.bind("truncate", ["length", "killwords", "end", "leeway"])?;
    let text = repr::soft_string(run, value)?;
    run.make(text.s.len().saturating_mul(5))?;
    let length = count_arg(length, 255)?;
    let end = text_arg(run, end, "...")?;
    let room = length - end.chars().count() as i128;
    if room < 0 {
        return Err(Fault::new(format!("expected length >= {}, got {length}", end.chars().count())));
    }
    if text.s.chars().count() as i128 <= length + count_arg(leeway, 5)? {
        return Ok(Value::Str(text));
    }
    let cut: String = text.s.chars().take(room as usize).collect();
    let kept = if flag(kill, false) { &*cut } else { cut.rsplit_once(' ').map_or(&*cut, |(kept, _)| kept) };
    Ok(format!("{kept}{end}").into())
}

fn strip_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let Some(close) = rest.get(open..).and_then(|tail| tail.find('>')) else { break };
        out.push_str(rest.get(..open).unwrap_or(""));
        rest = rest.get(open + close + 1..).unwrap_or("");
    }
    out.push_str(rest);
    let words: Vec<&str> = out.split(strings::is_space).filter(|w| !w.is_empty()).collect();
    words
        .join(" ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#34;", "\"")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

fn quote_url(text: &str, query: bool, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

fn urlencode(run: &Run, value: &Value) -> Outcome<Value> {
    let mut out = String::new();
    let pairs = match value {
        Value::Dict(dict) => Value::View(super::value::View::Items, dict.clone()).elements(run)?,
        Value::List(_) | Value::Tuple(_) | Value::Iter(_) => value.elements(run)?,
        single => {
            let text = repr::string(run, single)?;
            run.make(text.len() * 3)?;
            quote_url(&text, false, &mut out);
            return Ok(out.into());
        }
    };
    for (i, pair) in pairs.iter().enumerate() {
        out.push_str(if i > 0 { "&" } else { "" });
        for (j, part) in pair.elements(run)?.iter().enumerate() {
            let text = repr::string(run, part)?;
            run.make(text.len() * 3)?;
            out.push_str(if j > 0 { "=" } else { "" });
            quote_url(&text, true, &mut out);
        }
    }
    Ok(out.into())
}

fn xmlattr(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [space] = args.bind("xmlattr", ["autospace"])?;
    let Value::Dict(dict) = value else {
        return Err(value.fault(|t| format!("'{t}' object has no attribute 'items'")));
    };
    run.read_whole(&dict.path);
    let mut out = String::new();
    for entry in &dict.map.borrow().entries {
        if matches!(entry.value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let key = ops::escape(run, &repr::soft_string(run, &entry.shown)?)?;
        let value = ops::escape(run, &repr::soft_string(run, &entry.value)?)?;
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(&format!("{}=\"{}\"", key.s, value.s));
    }
    if flag(space, true) && !out.is_empty() {
        out.insert(0, ' ');
    }
    Ok(out.into())
}

/// Python's `int(text, base)`.
fn parse_int(text: &str, base: i128) -> Option<i128> {
    let text = text.trim_matches(strings::is_space);
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
    let text = text.trim_matches(strings::is_space);
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    text.replace('_', "").parse().ok()
}

fn int(value: Value, args: Args) -> Outcome<Value> {
    let [default, base] = args.bind("int", ["default", "base"])?;
    let truncated = |f: f64| (f.is_finite() && f.abs() < 1e38).then_some(Value::Int(f as i128));
    let found = match &value {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Str(text) => match parse_int(&text.s, count_arg(base, 10)?) {
            Some(i) => Some(Value::Int(i)),
            None => parse_float(&text.s).and_then(truncated),
        },
        Value::Float(f) => truncated(*f),
        other => other.as_int().map(Value::Int),
    };
    Ok(found.or(default).unwrap_or(Value::Int(0)))
}

fn float(value: Value, args: Args) -> Outcome<Value> {
    let [default] = args.bind("float", ["default"])?;
    let found = match &value {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Str(text) => parse_float(&text.s),
        other => other.as_float(),
    };
    Ok(found.map(Value::Float).or(default).unwrap_or(Value::Float(0.0)))
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
            Some(int) if precision >= 0 => Ok(Value::Int(int)),
            Some(int) => {
                let unit = 10i128.checked_pow(precision.unsigned_abs());
                Ok(Value::Int(unit.map_or(0, |unit| round_half_even(int, unit))))
            }
            None if !number.is_finite() => Ok(Value::Float(number)),
            None if precision >= 0 => {
                let digits = precision.unsigned_abs() as usize;
                Ok(Value::Float(format!("{number:.digits$}").parse().unwrap_or(number)))
            }
            None => Ok(Value::Float((number * scale).round_ties_even() / scale)),
        },
        Some("ceil") => Ok(Value::Float((number * scale).ceil() / scale)),
        Some("floor") => Ok(Value::Float((number * scale).floor() / scale)),
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

/// Wraps at white space; a word longer than a line is broken where that is allowed.
fn wordwrap(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [width, break_long, newline, _] =
        args.bind("wordwrap", ["width", "break_long_words", "wrapstring", "break_on_hyphens"])?;
    let width = usize::try_from(count_arg(width, 79)?).ok().filter(|w| *w > 0);
    let width = width.ok_or_else(|| Fault::new("invalid width (must be > 0)"))?;
    let newline = text_arg(run, newline.filter(|n| !matches!(n, Value::None)), "\n")?;
    let break_long = flag(break_long, true);
    let text = repr::soft_string(run, value)?;
    run.make(text.s.len().saturating_mul(2 + newline.len()))?;
    let mut lines: Vec<String> = Vec::new();
    for paragraph in strings::lines(&text.s, false) {
        let mut line = String::new();
        for word in paragraph.split_inclusive(' ') {
            let mut word = word;
            let len = |s: &str| s.trim_end().chars().count();
            if !line.is_empty() && line.chars().count() + len(word) > width {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
            while break_long && line.is_empty() && len(word) > width {
                let at = word.char_indices().nth(width).map_or(word.len(), |(i, _)| i);
                let (head, tail) = word.split_at(at);
                lines.push(head.to_owned());
                word = tail;
            }
            line.push_str(word);
        }
        lines.push(line.trim_end().to_owned());
    }
    Ok(lines.join(&newline).into())
}

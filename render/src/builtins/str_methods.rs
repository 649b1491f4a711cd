//! The methods of Python's `str`. Positions and widths count characters, not bytes.

use std::sync::Arc;

use crate::builtins::args::{Args, flag, integer, required};
use crate::builtins::str_format::str_format;
use crate::error::{Fault, Outcome};
use crate::labels::Encoding;
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::text::{escape, is_space, printable};
use crate::value::types::{Text, Value};

/// Whether a method asks something of a text and returns no part of it.
fn tests(method: &str) -> bool {
    method.starts_with("is")
        || matches!(method, "count" | "endswith" | "find" | "index" | "rfind" | "rindex" | "startswith")
}

/// `text.method(args)`.
pub(crate) fn call(run: &Run, text: &Text, method: &'static str, args: Args) -> Outcome<Value> {
    let s = &*text.s;
    run.make(s.len())?;
    let part = |part: &str, encoding| text.part(run, part, encoding).map(Value::Str);
    if run.labels() {
        if tests(method) {
            text.decide(run);
        }
        let named = args.named.iter().map(|(_, value)| value);
        let whole = Value::Str(text.clone());
        args.positional.iter().chain(named).for_each(|arg| arg.sought_in(run, &whole));
    }
    let takes_none = method.starts_with("is")
        || matches!(method, "upper" | "lower" | "casefold" | "capitalize" | "title" | "swapcase");
    if takes_none && !(args.positional.is_empty() && args.named.is_empty()) {
        return Err(Fault::new(format!("str.{method}() takes no arguments")));
    }
    match method {
        "upper" => text.aligned(run, s.to_uppercase(), Encoding::Upper, upper_width).map(Value::Str),
        "lower" | "casefold" => text.aligned(run, s.to_lowercase(), Encoding::Lower, lower_width).map(Value::Str),
        "capitalize" => {
            let mut first = true;
            let width = |c| match std::mem::take(&mut first) {
                true => title_case(c).len(),
                false => lower_width(c),
            };
            text.aligned(run, capitalize(s), Encoding::Capitalize, width).map(Value::Str)
        }
        "title" => text.mapped(run, Encoding::Title, |_| true, title()).map(Value::Str),
        "swapcase" => text.mapped(run, Encoding::Other, |_| true, |c, out| out.push(swap_case(c))).map(Value::Str),
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(method, ["chars"])?;
            part(strip(s, chars, method != "rstrip", method != "lstrip")?, Encoding::Trim)
        }
        "removeprefix" | "removesuffix" => {
            let [affix] = args.bind(method, ["affix"])?;
            let affix = required(method, "affix", affix)?;
            let affix = string_arg(&affix)?;
            let rest = match method {
                "removeprefix" => s.strip_prefix(affix).unwrap_or(s),
                _ => s.strip_suffix(affix).unwrap_or(s),
            };
            part(rest, Encoding::Slice)
        }
        "startswith" | "endswith" => has_affix(s, method, args),
        "find" | "rfind" | "index" | "rindex" => find(run, text, method, args),
        "count" => count(run, text, method, args),
        "replace" => {
            let [old, new, count] = args.bind(method, ["old", "new", "count"])?;
            let (old, new) = (required(method, "old", old)?, required(method, "new", new)?);
            let Value::Str(new) = new else { return Err(not_a_string(&new)) };
            let new = if text.safe { escape(run, &new)? } else { new };
            let count = integer(count)?.unwrap_or(-1);
            replace(run, text, string_arg(&old)?, &new, count).map(Value::Str)
        }
        "split" | "rsplit" => split(run, text, method, args),
        "partition" | "rpartition" => partition(run, text, method, args),
        "splitlines" => split_lines(run, text, method, args),
        "join" => join(run, text, method, args),
        "ljust" | "rjust" | "center" => pad(run, text, method, args),
        "zfill" => zero_fill(run, text, method, args),
        "expandtabs" => {
            let [size] = args.bind(method, ["tabsize"])?;
            let size = usize::try_from(integer(size)?.unwrap_or(8)).unwrap_or(0);
            expand_tabs(run, text, size).map(Value::Str)
        }
        "format" => str_format(run, text, &args.positional, &args.named).map(Value::Str),
        "format_map" => format_map(run, text, method, args),
        name if name.starts_with("is") => is(s, name),
        other => Err(no_such_method(other)),
    }
}

/// A number that the text's marks go with.
fn number(run: &Run, text: &Text, n: i128) -> Outcome<Value> {
    Ok(Value::Int(n.into(), run.other([text.first_mark()])))
}

fn has_affix(s: &str, method: &str, args: Args) -> Outcome<Value> {
    let [affix, start, end] = args.bind(method, ["affix", "start", "end"])?;
    let affix = required(method, "affix", affix)?;
    let Some((window, _)) = window(s, start, end)? else { return Ok(Value::bool(false)) };
    let test = |affix: &Value| -> Outcome<bool> {
        let affix = string_arg(affix)?;
        Ok(if method == "startswith" { window.starts_with(affix) } else { window.ends_with(affix) })
    };
    if let Value::Tuple(tuple) = &affix {
        for affix in &tuple.items {
            if test(affix)? {
                return Ok(Value::bool(true));
            }
        }
        return Ok(Value::bool(false));
    }
    test(&affix).map(Value::bool)
}

fn find(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [part, start, end] = args.bind(method, ["sub", "start", "end"])?;
    let part = required(method, "sub", part)?;
    let part = string_arg(&part)?;
    let found = window(&text.s, start, end)?.and_then(|(window, offset)| {
        let at = if method.starts_with('r') { window.rfind(part) } else { window.find(part) }?;
        Some(offset + window.get(..at)?.chars().count())
    });
    match found {
        Some(at) => number(run, text, at as i128),
        None if method.ends_with("find") => number(run, text, -1),
        None => Err(Fault::new("substring not found")),
    }
}

fn count(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [part, start, end] = args.bind(method, ["sub", "start", "end"])?;
    let part = required(method, "sub", part)?;
    let part = string_arg(&part)?;
    let n = window(&text.s, start, end)?.map_or(0, |(window, _)| match part {
        "" => window.chars().count() + 1,
        part => window.matches(part).count(),
    });
    number(run, text, n as i128)
}

fn split(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let s = &*text.s;
    let [separator, limit] = args.bind(method, ["sep", "maxsplit"])?;
    let limit = integer(limit)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX - 1);
    let parts = match separator {
        None | Some(Value::None(_)) => split_spaces(s, limit, method == "rsplit"),
        Some(separator) => {
            let separator = string_arg(&separator)?;
            if separator.is_empty() {
                return Err(Fault::new("empty separator"));
            }
            if method == "split" {
                s.splitn(limit + 1, separator).collect()
            } else {
                let mut parts: Vec<&str> = s.rsplitn(limit + 1, separator).collect();
                parts.reverse();
                parts
            }
        }
    };
    run.make_items(parts.len() * 2)?;
    let parts = parts.into_iter().map(|piece| text.part(run, piece, Encoding::Slice).map(Value::Str));
    Value::list(run, parts.collect::<Outcome<_>>()?)
}

fn partition(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let s = &*text.s;
    let [separator] = args.bind(method, ["sep"])?;
    let separator = required(method, "sep", separator)?;
    let separator = string_arg(&separator)?;
    if separator.is_empty() {
        return Err(Fault::new("empty separator"));
    }
    let found = if method == "partition" { s.split_once(separator) } else { s.rsplit_once(separator) };
    let between = |a: &str, b: &str| s.get(a.len()..s.len() - b.len()).unwrap_or("");
    let parts = match found {
        Some((a, b)) => [a, between(a, b), b],
        None if method == "partition" => [s, "", ""],
        None => ["", "", s],
    };
    let parts = parts.into_iter().map(|piece| text.part(run, piece, Encoding::Slice).map(Value::Str));
    Value::tuple(run, parts.collect::<Outcome<_>>()?)
}

fn split_lines(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [keep] = args.bind(method, ["keepends"])?;
    let lines = lines(&text.s, flag(keep, false));
    run.make_items(lines.len() * 2)?;
    let lines = lines.into_iter().map(|line| text.part(run, line, Encoding::Slice).map(Value::Str));
    Value::list(run, lines.collect::<Outcome<_>>()?)
}

fn join(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [parts] = args.bind(method, ["iterable"])?;
    let parts = required(method, "iterable", parts)?.elements(run)?;
    let mut out = Buffer::default();
    for (i, part) in parts.iter().enumerate() {
        let Value::Str(part) = part else {
            return Err(part.fault(|t| format!("sequence item {i}: expected str instance, {t} found")));
        };
        let part = if text.safe { escape(run, part)? } else { part.clone() };
        run.make(text.s.len() + part.s.len())?;
        if i > 0 {
            out.push_text(run, text)?;
        }
        out.push_text(run, &part)?;
    }
    Ok(Value::Str(out.into_text(text.safe)))
}

fn pad(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [width, fill] = args.bind(method, ["width", "fillchar"])?;
    let width = required(method, "width", width)?.index()?;
    let fill = match &fill {
        None => ' ',
        Some(fill) => {
            let mut chars = string_arg(fill)?.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => c,
                _ => return Err(Fault::new("The fill character must be exactly one character long")),
            }
        }
    };
    let side = match method {
        "ljust" => Side::Left,
        "rjust" => Side::Right,
        _ => Side::Center,
    };
    justify(run, text, width, fill, side).map(Value::Str)
}

fn zero_fill(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let s = &*text.s;
    let [width] = args.bind(method, ["width"])?;
    let width = required(method, "width", width)?.index()?;
    let (sign, digits) = match s.chars().next() {
        Some('+' | '-') => s.split_at(1),
        _ => ("", s),
    };
    let mut out = Buffer::default();
    out.push_sub(run, text, sign, None)?;
    let missing = missing_width(run, digits, width - sign.len() as i128, '0')?;
    out.fill('0', missing);
    out.push_sub(run, text, digits, None)?;
    Ok(Value::Str(out.into_text(text.safe)))
}

fn format_map(run: &Run, text: &Text, method: &str, args: Args) -> Outcome<Value> {
    let [mapping] = args.bind(method, ["mapping"])?;
    let Value::Dict(dict) = required(method, "mapping", mapping)? else {
        return Err(Fault::new("format_map() needs a mapping"));
    };
    let named: Vec<(Arc<str>, Value)> = dict
        .map
        .borrow()
        .entries
        .iter()
        .filter_map(|e| Some((Arc::from(e.shown.as_str()?), e.value.clone())))
        .collect();
    str_format(run, text, &[], &named).map(Value::Str)
}

/// `isalnum` and the other tests of characters.
fn is(s: &str, method: &str) -> Outcome<Value> {
    let all = |test: fn(char) -> bool| !s.is_empty() && s.chars().all(test);
    let is = match method {
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isdecimal" => all(|c| c.is_ascii_digit() || (c.is_numeric() && !c.is_ascii() && decimal(c))),
        "isdigit" => all(|c| c.is_ascii_digit() || (!c.is_ascii() && (decimal(c) || superscript(c)))),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(is_space),
        "isascii" => s.is_ascii(),
        "isprintable" => s.chars().all(printable),
        "isidentifier" => {
            let mut chars = s.chars();
            let start = chars.next().is_some_and(|c| c == '_' || c.is_alphabetic());
            start && chars.all(|c| c == '_' || c.is_alphanumeric())
        }
        "isupper" => s.chars().any(char::is_uppercase) && !s.chars().any(char::is_lowercase),
        "islower" => s.chars().any(char::is_lowercase) && !s.chars().any(char::is_uppercase),
        "istitle" => s.chars().any(|c| c.is_uppercase()) && title_of(s) == s,
        other => return Err(no_such_method(other)),
    };
    Ok(Value::bool(is))
}

fn no_such_method(name: &str) -> Fault {
    Fault::new(format!("'str object' has no attribute '{name}'"))
}

fn not_a_string(value: &Value) -> Fault {
    value.fault(|t| format!("must be str, not {t}"))
}

fn string_arg(value: &Value) -> Outcome<&str> {
    value.as_str().ok_or_else(|| not_a_string(value))
}

/// The bytes of a character in upper case.
fn upper_width(c: char) -> usize {
    c.to_uppercase().map(char::len_utf8).sum()
}

/// The bytes of a character in lower case. A final sigma has as many as another one.
fn lower_width(c: char) -> usize {
    c.to_lowercase().map(char::len_utf8).sum()
}

/// Whether this is a decimal digit of a script other than Latin.
fn decimal(c: char) -> bool {
    matches!(c as u32, 0x660..=0x669 | 0x6f0..=0x6f9 | 0x7c0..=0x7c9 | 0x966..=0x96f | 0x9e6..=0x9ef
        | 0xa66..=0xa6f | 0xae6..=0xaef | 0xb66..=0xb6f | 0xbe6..=0xbef | 0xc66..=0xc6f | 0xce6..=0xcef
        | 0xd66..=0xd6f | 0xe50..=0xe59 | 0xed0..=0xed9 | 0xf20..=0xf29 | 0xff10..=0xff19)
}

fn superscript(c: char) -> bool {
    matches!(c as u32, 0xb2 | 0xb3 | 0xb9 | 0x2070 | 0x2074..=0x2079 | 0x2080..=0x2089 | 0x2460..=0x2468)
}

/// The title case of a character: only the first letter of a digraph or ligature becomes a capital.
fn title_case(c: char) -> String {
    let digraph = match c as u32 {
        0x1c4..=0x1c6 => Some('\u{1c5}'),
        0x1c7..=0x1c9 => Some('\u{1c8}'),
        0x1ca..=0x1cc => Some('\u{1cb}'),
        0x1f1..=0x1f3 => Some('\u{1f2}'),
        _ => None,
    };
    if let Some(digraph) = digraph {
        return digraph.to_string();
    }
    let mut upper = c.to_uppercase();
    let first: String = upper.next().into_iter().collect();
    first + &upper.collect::<String>().to_lowercase()
}

fn capitalize(s: &str) -> String {
    let mut chars = s.chars();
    match chars.next() {
        Some(first) => title_case(first) + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}

/// Writes the characters of a text in title case, one after another.
fn title() -> impl FnMut(char, &mut String) {
    let mut inside = false;
    move |c, out| {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&title_case(c));
        }
        inside = c.is_uppercase() || c.is_lowercase();
    }
}

fn title_of(s: &str) -> String {
    let (mut out, mut write) = (String::with_capacity(s.len()), title());
    s.chars().for_each(|c| write(c, &mut out));
    out
}

fn swap_case(c: char) -> char {
    let swapped = if c.is_uppercase() { c.to_lowercase().next() } else { c.to_uppercase().next() };
    swapped.unwrap_or(c)
}

/// `strip`, `lstrip` and `rstrip`; `chars` is a set of characters, `start` and `end` say at which ends to strip.
pub(crate) fn strip(s: &str, chars: Option<Value>, start: bool, end: bool) -> Outcome<&str> {
    let set: Option<Vec<char>> = match &chars {
        None | Some(Value::None(_)) => None,
        Some(set) => Some(string_arg(set)?.chars().collect()),
    };
    let drop = |c: char| set.as_ref().map_or_else(|| is_space(c), |set| set.contains(&c));
    let s = if start { s.trim_start_matches(drop) } else { s };
    Ok(if end { s.trim_end_matches(drop) } else { s })
}

/// `s[start:end]` and the number of characters before it; `None` if `start` is beyond the end.
fn window(s: &str, start: Option<Value>, end: Option<Value>) -> Outcome<Option<(&str, usize)>> {
    let (start, end) = (integer(start)?, integer(end)?);
    if start.is_none() && end.is_none() {
        return Ok(Some((s, 0)));
    }
    let len = s.chars().count() as i128;
    let clamp = |i: i128| if i < 0 { (i + len).max(0) } else { i };
    let (start, end) = (clamp(start.unwrap_or(0)), clamp(end.unwrap_or(len)).min(len));
    if start > len || start > end {
        return Ok(None);
    }
    let byte = |chars: i128| s.char_indices().nth(chars as usize).map_or(s.len(), |(i, _)| i);
    Ok(s.get(byte(start)..byte(end)).map(|part| (part, start as usize)))
}

/// `str.replace`; a negative count means no limit.
pub(crate) fn replace(run: &Run, text: &Text, old: &str, new: &Text, count: i128) -> Outcome<Text> {
    let s = &*text.s;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let found = if old.is_empty() { s.chars().count() + 1 } else { s.matches(old).count() };
    run.make(s.len().saturating_add(found.min(limit).saturating_mul(new.s.len())))?;
    if !text.is_labelled() && !new.is_labelled() {
        return Ok(Text { safe: text.safe, ..Text::plain(s.replacen(old, &new.s, limit)) });
    }
    if found.min(limit) == 0 {
        return Ok(text.clone());
    }
    let mut out = Buffer::default();
    let mut rest = 0;
    for (at, found) in s.match_indices(old).take(limit) {
        out.push_sub(run, text, s.get(rest..at).unwrap_or(""), Some(Encoding::Replace))?;
        out.push_text(run, new)?;
        rest = at + found.len();
    }
    out.push_sub(run, text, s.get(rest..).unwrap_or(""), Some(Encoding::Replace))?;
    Ok(out.into_text(text.safe))
}

/// `split()` or `rsplit()` at white space. The rest after `limit` splits keeps its white space at the outer end.
fn split_spaces(s: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let near = |rest: &'_ str| -> usize {
        if from_right {
            rest.trim_end_matches(is_space).len()
        } else {
            rest.len() - rest.trim_start_matches(is_space).len()
        }
    };
    let mut rest = s;
    loop {
        let edge = near(rest);
        rest = if from_right { rest.get(..edge) } else { rest.get(edge..) }.unwrap_or("");
        if rest.is_empty() {
            break;
        }
        if parts.len() >= limit {
            parts.push(rest);
            break;
        }
        let (before, after) = if from_right {
            let word = rest.trim_end_matches(|c| !is_space(c)).len();
            rest.split_at(word)
        } else {
            rest.split_at(rest.find(is_space).unwrap_or(rest.len()))
        };
        let (word, left) = if from_right { (after, before) } else { (before, after) };
        parts.push(word);
        rest = left;
    }
    if from_right {
        parts.reverse();
    }
    parts
}

/// `str.splitlines`.
pub(crate) fn lines(s: &str, keep: bool) -> Vec<&str> {
    let ends =
        |c: char| matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let mut rest = s;
    while !rest.is_empty() {
        let Some(at) = rest.find(ends) else {
            lines.push(rest);
            break;
        };
        let (line, tail) = rest.split_at(at);
        let width = if tail.starts_with("\r\n") { 2 } else { tail.chars().next().map_or(1, char::len_utf8) };
        lines.push(if keep { rest.get(..at + width).unwrap_or(line) } else { line });
        rest = tail.get(width..).unwrap_or("");
    }
    lines
}

/// Where the text goes in a field that is wider than the text.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Left,
    Right,
    Center,
}

/// `ljust`, `rjust`, `center`.
pub(crate) fn justify(run: &Run, text: &Text, width: i128, fill: char, side: Side) -> Outcome<Text> {
    let missing = missing_width(run, &text.s, width, fill)?;
    let width = usize::try_from(width).unwrap_or(0);
    let left = match side {
        Side::Left => 0,
        Side::Right => missing,
        Side::Center => missing / 2 + (missing & width & 1),
    };
    let mut out = Buffer::default();
    out.fill(fill, left);
    out.push_text(run, text)?;
    out.fill(fill, missing - left);
    Ok(out.into_text(text.safe))
}

/// How many characters are missing to the width. They are paid for.
fn missing_width(run: &Run, s: &str, width: i128, fill: char) -> Outcome<usize> {
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(s.chars().count());
    run.make(missing.saturating_mul(fill.len_utf8()))?;
    Ok(missing)
}

fn expand_tabs(run: &Run, text: &Text, size: usize) -> Outcome<Text> {
    let mut out = Buffer::default();
    let mut column = 0;
    for part in text.s.split_inclusive(['\t', '\n', '\r']) {
        let kept = part.strip_suffix('\t').unwrap_or(part);
        out.push_sub(run, text, kept, Some(Encoding::Replace))?;
        column = if kept.ends_with(['\n', '\r']) { 0 } else { column + kept.chars().count() };
        if kept.len() < part.len() && size > 0 {
            let gap = size - column % size;
            run.make(gap)?;
            out.fill(' ', gap);
            column += gap;
        }
    }
    Ok(out.into_text(text.safe))
}

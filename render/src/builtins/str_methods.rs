//! The methods of Python's `str`. Positions and widths count characters, not bytes.

use std::sync::Arc;

use crate::builtins::args::{Args, flag, integer, required};
use crate::builtins::str_format::str_format;
use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::value::text::{escape, is_space, printable};
use crate::value::types::{Text, Value};

/// `text.method(args)`.
pub(crate) fn call(run: &Run, text: &Text, method: &'static str, args: Args) -> Outcome<Value> {
    let s = &*text.s;
    run.make(s.len())?;
    let same = |s: &str| Value::Str(Text { s: s.into(), safe: text.safe });
    let owned = |s: String| Value::Str(Text { s: s.into(), safe: text.safe });
    let all = |test: fn(char) -> bool| Ok(Value::Bool(!s.is_empty() && s.chars().all(test)));
    let takes_none = method.starts_with("is")
        || matches!(method, "upper" | "lower" | "casefold" | "capitalize" | "title" | "swapcase");
    if takes_none && !(args.positional.is_empty() && args.named.is_empty()) {
        return Err(Fault::new(format!("str.{method}() takes no arguments")));
    }
    match method {
        "upper" => Ok(owned(s.to_uppercase())),
        "lower" | "casefold" => Ok(owned(s.to_lowercase())),
        "capitalize" => Ok(owned(capitalize(s))),
        "title" => Ok(owned(title(s))),
        "swapcase" => Ok(owned(s.chars().map(swap_case).collect())),
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(method, ["chars"])?;
            Ok(same(strip(s, chars, method != "rstrip", method != "lstrip")?))
        }
        "removeprefix" | "removesuffix" => {
            let [affix] = args.bind(method, ["affix"])?;
            let affix = required(method, "affix", affix)?;
            let affix = string_arg(&affix)?;
            Ok(same(match method {
                "removeprefix" => s.strip_prefix(affix).unwrap_or(s),
                _ => s.strip_suffix(affix).unwrap_or(s),
            }))
        }
        "startswith" | "endswith" => {
            let [affix, start, end] = args.bind(method, ["affix", "start", "end"])?;
            let affix = required(method, "affix", affix)?;
            let Some((part, _)) = window(s, start, end)? else { return Ok(Value::Bool(false)) };
            let test = |affix: &Value| -> Outcome<bool> {
                let affix = string_arg(affix)?;
                Ok(if method == "startswith" { part.starts_with(affix) } else { part.ends_with(affix) })
            };
            if let Value::Tuple(tuple) = &affix {
                for affix in &tuple.items {
                    if test(affix)? {
                        return Ok(Value::Bool(true));
                    }
                }
                return Ok(Value::Bool(false));
            }
            test(&affix).map(Value::Bool)
        }
        "find" | "rfind" | "index" | "rindex" => {
            let [part, start, end] = args.bind(method, ["sub", "start", "end"])?;
            let part = required(method, "sub", part)?;
            let part = string_arg(&part)?;
            let found = window(s, start, end)?.and_then(|(window, offset)| {
                let at = if method.starts_with('r') { window.rfind(part) } else { window.find(part) }?;
                Some(offset + window.get(..at)?.chars().count())
            });
            match found {
                Some(at) => Ok(Value::Int(at as i128)),
                None if method.ends_with("find") => Ok(Value::Int(-1)),
                None => Err(Fault::new("substring not found")),
            }
        }
        "count" => {
            let [part, start, end] = args.bind(method, ["sub", "start", "end"])?;
            let part = required(method, "sub", part)?;
            let part = string_arg(&part)?;
            let n = window(s, start, end)?.map_or(0, |(window, _)| match part {
                "" => window.chars().count() + 1,
                part => window.matches(part).count(),
            });
            Ok(Value::Int(n as i128))
        }
        "replace" => {
            let [old, new, count] = args.bind(method, ["old", "new", "count"])?;
            let (old, new) = (required(method, "old", old)?, required(method, "new", new)?);
            let new = match (&new, text.safe) {
                (Value::Str(new), true) => Value::Str(escape(run, new)?),
                _ => new,
            };
            let count = integer(count)?.unwrap_or(-1);
            Ok(owned(replace(run, s, string_arg(&old)?, string_arg(&new)?, count)?))
        }
        "split" | "rsplit" => {
            let [separator, limit] = args.bind(method, ["sep", "maxsplit"])?;
            let limit = integer(limit)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX - 1);
            let parts = match separator {
                None | Some(Value::None) => split_spaces(s, limit, method == "rsplit"),
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
            Value::list(run, parts.into_iter().map(same).collect())
        }
        "partition" | "rpartition" => {
            let [separator] = args.bind(method, ["sep"])?;
            let separator = required(method, "sep", separator)?;
            let separator = string_arg(&separator)?;
            if separator.is_empty() {
                return Err(Fault::new("empty separator"));
            }
            let parts = if method == "partition" {
                s.split_once(separator).map_or([s, "", ""], |(a, b)| [a, separator, b])
            } else {
                s.rsplit_once(separator).map_or(["", "", s], |(a, b)| [a, separator, b])
            };
            Value::tuple(run, parts.map(same).to_vec())
        }
        "splitlines" => {
            let [keep] = args.bind(method, ["keepends"])?;
            let lines = lines(s, flag(keep, false));
            run.make_items(lines.len() * 2)?;
            Value::list(run, lines.into_iter().map(same).collect())
        }
        "join" => {
            let [parts] = args.bind(method, ["iterable"])?;
            let parts = required(method, "iterable", parts)?.elements(run)?;
            let mut out = String::new();
            for (i, part) in parts.iter().enumerate() {
                let Value::Str(part) = part else {
                    return Err(part.fault(|t| format!("sequence item {i}: expected str instance, {t} found")));
                };
                let part = if text.safe { escape(run, part)? } else { part.clone() };
                run.make(s.len() + part.s.len())?;
                out.push_str(if i > 0 { s } else { "" });
                out.push_str(&part.s);
            }
            Ok(owned(out))
        }
        "ljust" | "rjust" | "center" => {
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
            Ok(owned(justify(run, s, width, fill, side)?))
        }
        "zfill" => {
            let [width] = args.bind(method, ["width"])?;
            let width = required(method, "width", width)?.index()?;
            let (sign, digits) = match s.chars().next() {
                Some('+' | '-') => s.split_at(1),
                _ => ("", s),
            };
            let digits = justify(run, digits, width - sign.len() as i128, '0', Side::Right)?;
            Ok(owned(format!("{sign}{digits}")))
        }
        "expandtabs" => {
            let [size] = args.bind(method, ["tabsize"])?;
            let size = usize::try_from(integer(size)?.unwrap_or(8)).unwrap_or(0);
            expand_tabs(run, s, size).map(owned)
        }
        "format" => str_format(run, s, &args.positional, &args.named).map(owned),
        "format_map" => {
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
            str_format(run, s, &[], &named).map(owned)
        }
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isdecimal" => all(|c| c.is_ascii_digit() || (c.is_numeric() && !c.is_ascii() && decimal(c))),
        "isdigit" => all(|c| c.is_ascii_digit() || (!c.is_ascii() && (decimal(c) || superscript(c)))),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(is_space),
        "isascii" => Ok(Value::Bool(s.is_ascii())),
        "isprintable" => Ok(Value::Bool(s.chars().all(printable))),
        "isidentifier" => {
            let mut chars = s.chars();
            let start = chars.next().is_some_and(|c| c == '_' || c.is_alphabetic());
            Ok(Value::Bool(start && chars.all(|c| c == '_' || c.is_alphanumeric())))
        }
        "isupper" => Ok(Value::Bool(s.chars().any(char::is_uppercase) && !s.chars().any(char::is_lowercase))),
        "islower" => Ok(Value::Bool(s.chars().any(char::is_lowercase) && !s.chars().any(char::is_uppercase))),
        "istitle" => Ok(Value::Bool(s.chars().any(|c| c.is_uppercase()) && title(s) == s)),
        other => Err(Fault::new(format!("'str object' has no attribute '{other}'"))),
    }
}

fn string_arg(value: &Value) -> Outcome<&str> {
    value.as_str().ok_or_else(|| value.fault(|t| format!("must be str, not {t}")))
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

fn title(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut inside = false;
    for c in s.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&title_case(c));
        }
        inside = c.is_uppercase() || c.is_lowercase();
    }
    out
}

fn swap_case(c: char) -> char {
    let swapped = if c.is_uppercase() { c.to_lowercase().next() } else { c.to_uppercase().next() };
    swapped.unwrap_or(c)
}

/// `strip`, `lstrip` and `rstrip`; `chars` is a set of characters, `start` and `end` say at which ends to strip.
pub(crate) fn strip(s: &str, chars: Option<Value>, start: bool, end: bool) -> Outcome<&str> {
    let set: Option<Vec<char>> = match &chars {
        None | Some(Value::None) => None,
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

/// `str.replace`; a negative count is no limit.
pub(crate) fn replace(run: &Run, s: &str, old: &str, new: &str, count: i128) -> Outcome<String> {
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let found = if old.is_empty() { s.chars().count() + 1 } else { s.matches(old).count() };
    run.make(s.len().saturating_add(found.min(limit).saturating_mul(new.len())))?;
    Ok(s.replacen(old, new, limit))
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
pub(crate) fn justify(run: &Run, s: &str, width: i128, fill: char, side: Side) -> Outcome<String> {
    let len = s.chars().count();
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(len);
    run.make(missing.saturating_mul(fill.len_utf8()))?;
    let left = match side {
        Side::Left => 0,
        Side::Right => missing,
        Side::Center => missing / 2 + (missing & width & 1),
    };
    let mut out: String = std::iter::repeat_n(fill, left).collect();
    out.push_str(s);
    out.extend(std::iter::repeat_n(fill, missing - left));
    Ok(out)
}

fn expand_tabs(run: &Run, s: &str, size: usize) -> Outcome<String> {
    let mut out = String::new();
    let mut column = 0;
    for c in s.chars() {
        match c {
            '\t' => {
                let gap = if size == 0 { 0 } else { size - column % size };
                run.make(gap)?;
                out.extend(std::iter::repeat_n(' ', gap));
                column += gap;
            }
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(out)
}

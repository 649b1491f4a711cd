//! Jinja2's filters over strings, and JSON. Those over numbers are in `number_filters`.

use crate::builtins::args::{Args, count_arg, flag, required};
use crate::builtins::number_filters;
use crate::builtins::str_methods::{self, Side};
use crate::error::{Fault, Outcome};
use crate::labels::Encoding;
use crate::operators::{method_names, percent};
use crate::run::Run;
use crate::value::json::{self, Style};
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::text::{escape, is_space};
use crate::value::types::{Text, Value, View};

/// `value | name(args)`.
pub(crate) fn apply(run: &Run, name: &str, value: Value, args: Args) -> Outcome<Value> {
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
            json::dumps(run, &value, &style).map(Value::Str)
        }
        "from_json" => match &value {
            Value::Str(text) => {
                run.refused_by_transformers("from_json")?;
                json::loads(run, text)
            }
            _ => Err(value.fault(|t| format!("the JSON object must be str, bytes or bytearray, not {t}"))),
        },
        "string" => Ok(Value::Str(soft(&value)?)),
        "safe" => Ok(Value::Str(Text { safe: true, ..soft(&value)? })),
        "e" | "escape" => Ok(Value::Str(escape(run, &soft(&value)?)?)),
        "forceescape" => Ok(Value::Str(escape(run, &Text { safe: false, ..soft(&value)? })?)),
        "upper" | "lower" | "capitalize" => {
            let method = method_names::find(&Value::from(""), name).unwrap_or("lower");
            str_methods::call(run, &soft(&value)?, method, args)
        }
        "title" => {
            let text = soft(&value)?;
            run.make(text.s.len())?;
            let titled = text.mapped(run, Encoding::Title, |_| true, title())?;
            Ok(Value::Str(Text { safe: false, ..titled }))
        }
        "trim" => {
            let [chars] = args.bind(name, ["chars"])?;
            let text = soft(&value)?;
            run.make(text.s.len())?;
            let part = str_methods::strip(&text.s, chars, true, true)?;
            text.part(run, part, Encoding::Trim).map(Value::Str)
        }
        "center" => {
            let [width] = args.bind(name, ["width"])?;
            let text = soft(&value)?;
            str_methods::justify(run, &text, count_arg(width, 80)?, ' ', Side::Center).map(Value::Str)
        }
        "replace" => {
            let [old, new, count] = args.bind(name, ["old", "new", "count"])?;
            let (old, new) = (required(name, "old", old)?, required(name, "new", new)?);
            if run.labels() {
                old.sought_in(run, &value);
            }
            let (old, new) = (soft(&old)?, soft(&new)?);
            let text = soft(&value)?;
            let replaced = str_methods::replace(run, &text, &old.s, &new, count_arg(count, -1)?)?;
            Ok(Value::Str(Text { safe: false, ..replaced }))
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
            Ok(Value::int(words.count() as i128).computed_from(run, &[&value]))
        }
        "striptags" => {
            let text = soft(&value)?;
            run.make(text.s.len())?;
            Ok(Value::Str(Text { safe: false, ..text.became(run, strip_tags(&text.s)) }))
        }
        "urlencode" => urlencode(run, &value),
        "xmlattr" => xmlattr(run, &value, args),
        "pprint" => repr::repr(run, &value).map(Value::Str),
        "abs" | "int" | "float" | "round" | "filesizeformat" => number_filters::apply(run, name, value, args),
        "wordwrap" => wordwrap(run, &value, args),
        _ => Err(Fault::new(format!("No filter named '{name}'."))),
    }
}

fn indent_of(run: &Run, indent: Option<Value>) -> Outcome<Option<String>> {
    match indent {
        None | Some(Value::None(_)) => Ok(None),
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
        None | Some(Value::None(_)) => return Ok(None),
        Some(separators) => separators.elements(run)?,
    };
    match separators.as_slice() {
        [Value::Str(item), Value::Str(key)] => Ok(Some((item.s.to_string(), key.s.to_string()))),
        _ => Err(Fault::new("tojson: separators are two strings")),
    }
}

/// Writes the characters of a text in title case, one after another.
fn title() -> impl FnMut(char, &mut String) {
    let breaks = |c: char| c == '-' || is_space(c) || matches!(c, '(' | '{' | '[' | '<');
    let mut start = true;
    move |c, out| {
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
}

fn indent(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"])?;
    let Value::Str(text) = value else {
        return Err(value.fault(|t| format!("indent takes a str, not {t}")));
    };
    let by = indent_of(run, width)?.unwrap_or_else(|| "    ".to_owned());
    let (first, blank) = (flag(first, false), flag(blank, false));
    // Jinja2 appends a newline so that `splitlines` keeps the last line, also an empty one.
    let mut padded = Buffer::default();
    padded.push_text(run, text)?;
    padded.push('\n');
    let padded = padded.into_text(text.safe);
    let lines = str_methods::lines(&padded.s, false);
    run.make((by.len() + 1).saturating_mul(lines.len()).saturating_add(text.s.len()))?;
    let mut out = Buffer::default();
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if if i == 0 { first } else { blank || !line.is_empty() } {
            out.push_str(&by);
        }
        out.push_sub(run, &padded, line, Some(Encoding::Slice))?;
    }
    Ok(Value::Str(out.into_text(text.safe)))
}

fn truncate(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [length, kill, end, leeway] = args.bind("truncate", ["length", "killwords", "end", "leeway"])?;
    let text = repr::soft_string(run, value)?;
    run.make(text.s.len().saturating_mul(5))?;
    let length = count_arg(length, 255)?;
    let end = match end {
        Some(end) => repr::soft_string(run, &end)?,
        None => Text::plain("..."),
    };
    let room = length - end.s.chars().count() as i128;
    if room < 0 {
        return Err(Fault::new(format!("expected length >= {}, got {length}", end.s.chars().count())));
    }
    if text.s.chars().count() as i128 <= length + count_arg(leeway, 5)? {
        return Ok(Value::Str(text));
    }
    let cut = text.s.char_indices().nth(room as usize).map_or(text.s.len(), |(at, _)| at);
    let cut = text.s.get(..cut).unwrap_or("");
    let kept = if flag(kill, false) { cut } else { cut.rsplit_once(' ').map_or(cut, |(kept, _)| kept) };
    let mut out = Buffer::default();
    out.push_sub(run, &text, kept, Some(Encoding::Slice))?;
    out.push_text(run, &end)?;
    Ok(out.into())
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
    let words: Vec<&str> = out.split(is_space).filter(|w| !w.is_empty()).collect();
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
    let pairs = match value {
        Value::Dict(dict) => Value::View(View::Items, dict.clone()).elements(run)?,
        Value::List(_) | Value::Tuple(_) | Value::Iter(_) => value.elements(run)?,
        single => {
            let mut out = Buffer::default();
            push_quoted(run, single, false, &mut out)?;
            return Ok(out.into());
        }
    };
    let mut out = Buffer::default();
    for (i, pair) in pairs.iter().enumerate() {
        out.push_str(if i > 0 { "&" } else { "" });
        for (j, part) in pair.elements(run)?.iter().enumerate() {
            out.push_str(if j > 0 { "=" } else { "" });
            push_quoted(run, part, true, &mut out)?;
        }
    }
    Ok(out.into())
}

/// Appends a value as a part of a URL.
fn push_quoted(run: &Run, value: &Value, query: bool, out: &mut Buffer) -> Outcome<()> {
    let text = repr::soft_string(run, value)?;
    run.make(text.s.len() * 3)?;
    let mut quoted = String::new();
    quote_url(&text.s, query, &mut quoted);
    out.push_text(run, &text.became(run, quoted))
}

fn xmlattr(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [space] = args.bind("xmlattr", ["autospace"])?;
    let Value::Dict(dict) = value else {
        return Err(value.fault(|t| format!("'{t}' object has no attribute 'items'")));
    };
    run.read_whole(&dict.source);
    let mut out = Buffer::default();
    let space = flag(space, true);
    for entry in &dict.map.borrow().entries {
        if matches!(entry.value, Value::None(_) | Value::Undefined(_)) {
            continue;
        }
        let key = escape(run, &repr::soft_string(run, &entry.shown)?)?;
        let value = escape(run, &repr::soft_string(run, &entry.value)?)?;
        out.push_str(if out.len() > 0 || space { " " } else { "" });
        out.push_text(run, &key)?;
        out.push_str("=\"");
        out.push_text(run, &value)?;
        out.push('"');
    }
    Ok(out.into())
}

/// The filter `wordwrap`: breaks lines at spaces, and words that are longer than a line if `break_long_words` is set.
fn wordwrap(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [width, break_long, newline, _] =
        args.bind("wordwrap", ["width", "break_long_words", "wrapstring", "break_on_hyphens"])?;
    let width = usize::try_from(count_arg(width, 79)?).ok().filter(|w| *w > 0);
    let width = width.ok_or_else(|| Fault::new("invalid width (must be > 0)"))?;
    let newline = match newline {
        None | Some(Value::None(_)) => Text::plain("\n"),
        Some(newline) => repr::soft_string(run, &newline)?,
    };
    let break_long = flag(break_long, true);
    let text = repr::soft_string(run, value)?;
    run.make(text.s.len().saturating_mul(2 + newline.s.len()))?;
    let mut lines: Vec<&str> = Vec::new();
    for paragraph in str_methods::lines(&text.s, false) {
        // The line that is being filled: a part of the paragraph.
        let (mut start, mut end) = (0, 0);
        let between = |start: usize, end: usize| paragraph.get(start..end).unwrap_or("");
        for word in paragraph.split_inclusive(' ') {
            let mut word = word;
            let len = |s: &str| s.trim_end().chars().count();
            if start < end && between(start, end).chars().count() + len(word) > width {
                lines.push(between(start, end).trim_end());
                start = end;
            }
            while break_long && start == end && len(word) > width {
                let at = word.char_indices().nth(width).map_or(word.len(), |(i, _)| i);
                let (head, tail) = word.split_at(at);
                lines.push(head);
                start += head.len();
                end = start;
                word = tail;
            }
            end += word.len();
        }
        lines.push(between(start, end).trim_end());
    }
    let mut out = Buffer::default();
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push_text(run, &newline)?;
        }
        out.push_sub(run, &text, line, Some(Encoding::Slice))?;
    }
    Ok(out.into())
}

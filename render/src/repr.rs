//! How Python prints values: `str()` and `repr()`.

use std::rc::Rc;

use super::error::Outcome;
use super::run::Run;
use super::value::{Text, Value, View};

/// `str(value)`.
pub(super) fn string(run: &Run, value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_string(run, value, &mut out)?;
    Ok(out)
}

/// `str(value)` as a string value; a string stays itself, safe mark included.
pub(super) fn soft_string(run: &Run, value: &Value) -> Outcome<Text> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        other => Ok(Text::plain(string(run, other)?)),
    }
}

/// `repr(value)`.
pub(super) fn repr(run: &Run, value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_repr(run, value, &mut out)?;
    Ok(out)
}

/// Appends `str(value)`.
pub(super) fn write_string(run: &Run, value: &Value, out: &mut String) -> Outcome<()> {
    match value {
        Value::Undefined(_) => Ok(()),
        Value::Str(text) => {
            run.make(text.s.len())?;
            out.push_str(&text.s);
            Ok(())
        }
        other => write_repr(run, other, out),
    }
}

fn write_repr(run: &Run, value: &Value, out: &mut String) -> Outcome<()> {
    let before = out.len();
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(f) => out.push_str(&float(*f)),
        Value::Str(Text { s, safe }) => {
            run.make(s.len())?;
            if *safe {
                out.push_str("Markup(");
            }
            quote(s, out);
            if *safe {
                out.push(')');
            }
        }
        Value::List(list) => {
            let _level = run.deeper()?;
            run.read_whole(&list.path);
            out.push('[');
            write_items(run, &list.items.borrow(), out)?;
            out.push(']');
        }
        Value::Tuple(tuple) => {
            let _level = run.deeper()?;
            out.push('(');
            write_items(run, &tuple.items, out)?;
            out.push_str(if tuple.items.len() == 1 { ",)" } else { ")" });
        }
        Value::Dict(dict) => {
            let _level = run.deeper()?;
            run.read_whole(&dict.path);
            out.push('{');
            for (i, entry) in dict.map.borrow().entries.iter().enumerate() {
                run.make(4)?;
                out.push_str(if i > 0 { ", " } else { "" });
                write_repr(run, &entry.shown, out)?;
                out.push_str(": ");
                write_repr(run, &entry.value, out)?;
            }
            out.push('}');
        }
        Value::View(view, dict) => {
            let _level = run.deeper()?;
            out.push_str(match view {
                View::Keys => "dict_keys([",
                View::Values => "dict_values([",
                View::Items => "dict_items([",
            });
            write_items(run, &Value::View(*view, Rc::clone(dict)).elements(run)?, out)?;
            out.push_str("])");
        }
        Value::Range(r) => {
            out.push_str(&format!("range({}, {}", r.start, r.stop));
            if r.step != 1 {
                out.push_str(&format!(", {}", r.step));
            }
            out.push(')');
        }
        Value::Namespace(namespace) => {
            let _level = run.deeper()?;
            out.push_str("<Namespace {");
            for (i, (name, value)) in namespace.attrs.borrow().iter().enumerate() {
                run.make(4)?;
                out.push_str(if i > 0 { ", " } else { "" });
                quote(name, out);
                out.push_str(": ");
                write_repr(run, value, out)?;
            }
            out.push_str("}>");
        }
        Value::Macro(m) => out.push_str(&format!("<Macro {}>", m.def.name.as_deref().unwrap_or("anonymous"))),
        other => out.push_str(&format!("<{}>", other.type_name())),
    }
    run.scan(out.len() - before)
}

fn write_items(run: &Run, items: &[Value], out: &mut String) -> Outcome<()> {
    for (i, item) in items.iter().enumerate() {
        run.make(2)?;
        out.push_str(if i > 0 { ", " } else { "" });
        write_repr(run, item, out)?;
    }
    Ok(())
}

/// `repr` of a string: single quotes unless only those occur in it.
fn quote(s: &str, out: &mut String) {
    let mark = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    out.push(mark);
    for c in s.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if printable(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push(mark);
}

/// `str.isprintable` of one character, but for code points that are not assigned.
pub(super) fn printable(c: char) -> bool {
    if c == ' ' {
        return true;
    }
    let code = c as u32;
    let format = matches!(code,
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0x110bd | 0x110cd
        | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe007f);
    let private = matches!(code, 0xe000..=0xf8ff | 0xf_0000..);
    let nothing = matches!(code, 0xfdd0..=0xfdef) || code & 0xfffe == 0xfffe;
    !(c.is_control() || c.is_whitespace() || format || private || nothing)
}

/// `repr` of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
pub(super) fn float(f: f64) -> String {
    if f.is_nan() {
        return "nan".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{f:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) || f == 0.0 {
        let plain = format!("{f}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

//! How Python writes values: `str()` and `repr()`.

use std::rc::Rc;

use crate::error::Outcome;
use crate::run::Run;
use crate::value::number;
use crate::value::text::printable;
use crate::value::types::{Global, Text, Value, View};

/// `str(value)`.
pub(crate) fn string(run: &Run, value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_string(run, value, &mut out)?;
    Ok(out)
}

/// markupsafe's `soft_str`: `str(value)`, but a string is returned as it is and stays safe if it was.
pub(crate) fn soft_string(run: &Run, value: &Value) -> Outcome<Text> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        other => Ok(Text::plain(string(run, other)?)),
    }
}

/// `repr(value)`.
pub(crate) fn repr(run: &Run, value: &Value) -> Outcome<String> {
    let mut out = String::new();
    write_repr(run, value, &mut out)?;
    Ok(out)
}

/// Appends `str(value)`.
pub(crate) fn write_string(run: &Run, value: &Value, out: &mut String) -> Outcome<()> {
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
        Value::Float(f) => out.push_str(&number::float(*f)),
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
        Value::Global(Global::Dict) => out.push_str("<class 'dict'>"),
        // Python writes the contents between the brackets; no template is known to print them.
        Value::Global(Global::DictAlias) => out.push_str("dict[...]"),
        Value::Global(Global::Namespace) => out.push_str("<class 'jinja2.utils.Namespace'>"),
        Value::Global(Global::Cycler) => out.push_str("<class 'jinja2.utils.Cycler'>"),
        Value::Global(Global::Joiner) => out.push_str("<class 'jinja2.utils.Joiner'>"),
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

/// Appends `repr` of a string: in single quotes, or in double quotes if it contains only single ones.
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

//! How Python writes values: `str()` and `repr()`.

use std::rc::Rc;

use crate::error::Outcome;
use crate::labels::Encoding;
use crate::marks::Mark;
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::number;
use crate::value::text::printable;
use crate::value::types::{Global, Text, Value, View};

/// `str(value)`, without its marks.
pub(crate) fn string(run: &Run, value: &Value) -> Outcome<String> {
    let mut out = Buffer::default();
    write_string(run, value, &mut out)?;
    Ok(out.into_string())
}

/// markupsafe's `soft_str`: `str(value)`, but a string is returned as it is and stays safe if it was.
pub(crate) fn soft_string(run: &Run, value: &Value) -> Outcome<Text> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        other => {
            let mut out = Buffer::default();
            write_string(run, other, &mut out)?;
            Ok(out.into_text(false))
        }
    }
}

/// `repr(value)`.
pub(crate) fn repr(run: &Run, value: &Value) -> Outcome<Text> {
    let mut out = Buffer::default();
    write_repr(run, value, &mut out)?;
    Ok(out.into_text(false))
}

/// Appends `str(value)`.
pub(crate) fn write_string(run: &Run, value: &Value, out: &mut Buffer) -> Outcome<()> {
    match value {
        Value::Undefined(_) => Ok(()),
        Value::Str(text) => {
            run.make(text.s.len())?;
            out.push_text(run, text)
        }
        Value::None(mark) | Value::Bool(_, mark) | Value::Int(_, mark) | Value::Float(_, mark) => {
            let before = out.len();
            write_scalar(value, out);
            out.mark_from(run, before, run.encoded(*mark, Encoding::Str))?;
            run.scan(out.len() - before)
        }
        other => write_repr(run, other, out),
    }
}

/// Appends a number, a boolean or `None`.
fn write_scalar(value: &Value, out: &mut Buffer) {
    match value {
        Value::Bool(true, _) => out.push_str("True"),
        Value::Bool(false, _) => out.push_str("False"),
        Value::Int(i, _) => out.push_str(&i.get().to_string()),
        Value::Float(f, _) => out.push_str(&number::float(*f)),
        _ => out.push_str("None"),
    }
}

fn write_repr(run: &Run, value: &Value, out: &mut Buffer) -> Outcome<()> {
    let before = out.len();
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None(mark) | Value::Bool(_, mark) | Value::Int(_, mark) | Value::Float(_, mark) => {
            write_scalar(value, out);
            out.mark_from(run, before, run.encoded(*mark, Encoding::PythonRepr))?;
        }
        Value::Str(text) => {
            run.make(text.s.len())?;
            if text.safe {
                out.push_str("Markup(");
            }
            quote(run, text, run.syntax(text.outer_mark(), Encoding::PythonRepr), out)?;
            if text.safe {
                out.push(')');
            }
        }
        Value::List(list) => {
            let _level = run.deeper()?;
            run.read_whole(&list.source);
            let around = run.syntax(list.source.mark, Encoding::PythonRepr);
            out.push_marked(run, "[", around)?;
            write_items(run, &list.items.borrow(), around, out)?;
            out.push_marked(run, "]", around)?;
        }
        Value::Tuple(tuple) => {
            let _level = run.deeper()?;
            out.push('(');
            write_items(run, &tuple.items, Mark::NONE, out)?;
            out.push_str(if tuple.items.len() == 1 { ",)" } else { ")" });
        }
        Value::Dict(dict) => {
            let _level = run.deeper()?;
            run.read_whole(&dict.source);
            let around = run.syntax(dict.source.mark, Encoding::PythonRepr);
            out.push_marked(run, "{", around)?;
            for (i, entry) in dict.map.borrow().entries.iter().enumerate() {
                run.make(4)?;
                out.push_marked(run, if i > 0 { ", " } else { "" }, around)?;
                match &entry.shown {
                    // The quotes of a key belong to the dict, if that has a label.
                    Value::Str(key) if around.is_some() && !key.safe => {
                        let before = out.len();
                        run.make(key.s.len())?;
                        quote(run, key, around, out)?;
                        run.scan(out.len() - before)?;
                    }
                    other => write_repr(run, other, out)?,
                }
                out.push_marked(run, ": ", around)?;
                write_repr(run, &entry.value, out)?;
            }
            out.push_marked(run, "}", around)?;
        }
        Value::View(view, dict) => {
            let _level = run.deeper()?;
            let around = run.syntax(dict.source.mark, Encoding::PythonRepr);
            let name = match view {
                View::Keys => "dict_keys([",
                View::Values => "dict_values([",
                View::Items => "dict_items([",
            };
            out.push_marked(run, name, around)?;
            write_items(run, &Value::View(*view, Rc::clone(dict)).elements(run)?, around, out)?;
            out.push_marked(run, "])", around)?;
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
                quote(run, &Text::plain(name.clone()), Mark::NONE, out)?;
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

/// Appends the elements of a container. `around` is the mark of the commas.
fn write_items(run: &Run, items: &[Value], around: Mark, out: &mut Buffer) -> Outcome<()> {
    for (i, item) in items.iter().enumerate() {
        run.make(2)?;
        out.push_marked(run, if i > 0 { ", " } else { "" }, around)?;
        write_repr(run, item, out)?;
    }
    Ok(())
}

/// Appends `repr` of a string: in single quotes, or in double quotes if it contains only single ones. `around`
/// is the mark of the quotes.
fn quote(run: &Run, text: &Text, around: Mark, out: &mut Buffer) -> Outcome<()> {
    let mark = if text.s.contains('\'') && !text.s.contains('"') { '"' } else { '\'' };
    out.push_marked(run, mark.encode_utf8(&mut [0; 4]), around)?;
    let special = |b: u8| !(0x20..0x7f).contains(&b) || b == b'\\' || char::from(b) == mark;
    out.push_mapped(run, text, Encoding::PythonRepr, special, |c, out| match c {
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
    })?;
    out.push_marked(run, mark.encode_utf8(&mut [0; 4]), around)
}

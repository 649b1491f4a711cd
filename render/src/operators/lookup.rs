//! Subscripts, slices and attributes: `object[index]`, `object[start:stop:step]`, `object.name`.
//!
//! Attributes of `loop` are not here: they may have to evaluate the loop's filter.

use std::rc::Rc;

use crate::error::{Fault, Outcome};
use crate::labels::Encoding;
use crate::operators::method_names::find;
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::types::{Global, Range, Value};

/// The position that an index means; a negative index counts from the end.
fn position(index: i128, len: usize) -> Option<usize> {
    let from_start = if index < 0 { index + len as i128 } else { index };
    usize::try_from(from_start).ok().filter(|i| *i < len)
}

/// `object[index]` for sequences and dicts; `None` if Python raises a lookup error or a type error.
pub(crate) fn item(run: &Run, object: &Value, index: &Value) -> Outcome<Option<Value>> {
    match object {
        Value::Dict(dict) => {
            if let Some(key) = index.as_str() {
                run.read_key(&dict.source, key);
                return Ok(dict.map.borrow().get_str(key).cloned());
            }
            match index.key(run) {
                Ok(key) => Ok(dict.map.borrow().get(&key).cloned()),
                Err(_) => Ok(None),
            }
        }
        _ => {
            let Some(index) = index.as_int() else { return Ok(None) };
            Ok(match object {
                Value::List(list) => {
                    run.read_element(&list.source);
                    let items = list.items.borrow();
                    position(index, items.len()).and_then(|i| items.get(i).cloned())
                }
                Value::Tuple(tuple) => position(index, tuple.items.len()).and_then(|i| tuple.items.get(i).cloned()),
                Value::Str(text) => {
                    let len = object.length(run)?;
                    let found = position(index, len).and_then(|i| text.s.char_indices().nth(i));
                    let part = found.and_then(|(at, c)| text.s.get(at..at + c.len_utf8()));
                    part.map(|part| text.part(run, part, Encoding::Slice).map(Value::Str)).transpose()?
                }
                Value::Range(range) => {
                    position(index, range.len()).map(|i| Value::int(range.start + i as i128 * range.step))
                }
                _ => None,
            })
        }
    }
}

/// The positions that `[start:stop:step]` selects from `len` elements.
fn picked(len: usize, [start, stop, step]: [Option<i128>; 3]) -> Outcome<Vec<usize>> {
    let step = step.unwrap_or(1).clamp(-(1 << 64), 1 << 64);
    if step == 0 {
        return Err(Fault::new("slice step cannot be zero"));
    }
    let len = len as i128;
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |index: Option<i128>, default: i128| match index {
        None => default,
        Some(i) if i < 0 => (i.saturating_add(len)).clamp(low, high),
        Some(i) => i.clamp(low, high),
    };
    let (start, stop) =
        if step > 0 { (clamp(start, low), clamp(stop, high)) } else { (clamp(start, high), clamp(stop, low)) };
    let range = Range { start, stop, step };
    Ok((0..range.len()).filter_map(|i| usize::try_from(start + i as i128 * step).ok()).collect())
}

/// `object[start:stop:step]`.
pub(crate) fn slice(run: &Run, object: &Value, bounds: [Option<i128>; 3]) -> Outcome<Value> {
    let select = |items: &[Value]| -> Outcome<Vec<Value>> {
        run.make_items(items.len())?;
        Ok(picked(items.len(), bounds)?.into_iter().filter_map(|i| items.get(i).cloned()).collect())
    };
    match object {
        Value::Str(text) => {
            run.make(text.s.len())?;
            run.scan(text.s.len().saturating_mul(16))?;
            let mut chars: Vec<usize> = text.s.char_indices().map(|(at, _)| at).collect();
            let len = chars.len();
            chars.push(text.s.len());
            let picked = picked(len, bounds)?;
            let char = |i: usize| text.s.get(*chars.get(i)?..*chars.get(i + 1)?);
            if let (None | Some(1), Some(first), Some(last)) = (bounds[2], picked.first(), picked.last()) {
                let range = chars.get(*first).zip(chars.get(last + 1));
                let part = range.and_then(|(start, end)| text.s.get(*start..*end)).unwrap_or("");
                return text.part(run, part, Encoding::Slice).map(Value::Str);
            }
            let mut out = Buffer::default();
            for i in picked {
                // What is picked apart or reversed is not a slice of the field any more.
                out.push_sub(run, text, char(i).unwrap_or(""), Some(Encoding::Other))?;
            }
            Ok(Value::Str(out.into_text(text.safe)))
        }
        Value::List(list) => {
            run.read_element(&list.source);
            Value::list_at(run, select(&list.items.borrow())?, list.source.clone())
        }
        Value::Tuple(tuple) => Value::tuple(run, select(&tuple.items)?),
        Value::Range(_) => Value::list(run, select(&object.elements(run)?)?),
        Value::Undefined(why) => Err(Fault::new(&**why)),
        other => Err(other.fault(|t| format!("'{t}' object is not subscriptable"))),
    }
}

/// `object.name`, as Jinja2 looks it up: a Python attribute first, then an item. `loop` is not looked up here.
pub(crate) fn get_attr(run: &Run, object: &Value, name: &str) -> Outcome<Value> {
    if let Some(method) = find(object, name) {
        return Ok(Value::Method(Rc::new((object.clone(), method))));
    }
    let found = match object {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Dict(dict) => {
            run.read_key(&dict.source, name);
            dict.map.borrow().get_str(name).cloned()
        }
        Value::Namespace(namespace) => namespace.get(name),
        Value::Tuple(tuple) if tuple.group => match name {
            "grouper" => tuple.items.first().cloned(),
            "list" => tuple.items.get(1).cloned(),
            _ => None,
        },
        Value::Macro(m) => match name {
            "name" => Some(m.def.name.as_deref().map_or(Value::NONE, Value::from)),
            "arguments" => {
                let names = m.def.params.iter().map(|(n, _)| Value::from(&**n)).collect();
                Some(Value::tuple(run, names)?)
            }
            _ => None,
        },
        Value::Cycler(cycler) if name == "current" => {
            Some(cycler.items.get(cycler.position.get()).cloned().unwrap_or(Value::NONE))
        }
        // Jinja2 tries `dict['name']` next, which Python takes for a generic type: `dict.from_keys(pairs)` is `dict(pairs)`.
        Value::Global(Global::Dict) if !name.starts_with("__") => {
            run.refused_by_transformers("dict")?;
            Some(Value::Global(Global::DictAlias))
        }
        _ => None,
    };
    Ok(found.unwrap_or_else(|| missing(object, name)))
}

fn missing(object: &Value, name: &str) -> Value {
    match object {
        Value::None(_) => Value::undefined(format!("'None' has no attribute '{name}'")),
        other => Value::undefined(format!("'{} object' has no attribute '{name}'", other.type_name())),
    }
}

/// `object[index]`, as Jinja2 looks it up: an item first, then a Python attribute.
pub(crate) fn get_item(run: &Run, object: &Value, index: &Value) -> Outcome<Value> {
    if let Value::Undefined(why) = object {
        return Err(Fault::new(&**why));
    }
    if let Some(value) = item(run, object, index)? {
        return Ok(value);
    }
    if let Value::Global(Global::Dict) = object {
        return Ok(Value::Global(Global::DictAlias));
    }
    let Some(name) = index.as_str() else {
        let shown = repr::repr(run, index)?;
        return Ok(Value::undefined(format!("{} object has no element {}", object.type_name(), shown.s)));
    };
    match object {
        Value::Dict(_) => match find(object, name) {
            Some(method) => Ok(Value::Method(Rc::new((object.clone(), method)))),
            None => Ok(missing(object, name)),
        },
        _ => get_attr(run, object, name),
    }
}

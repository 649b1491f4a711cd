//! The methods of lists, dicts, tuples, numbers and of Jinja2's helper objects. Methods of strings are in
//! `str_methods`.

use std::rc::Rc;
use std::sync::Arc;

use crate::builtins::args::{Args, flag, integer, required};
use crate::builtins::str_methods;
use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::value::compare::equal;
use crate::value::repr;
use crate::value::sort::sort;
use crate::value::types::{Cycler, Dict, Global, List, LoopState, Map, Value, View};

/// `value.method(args)`.
pub(crate) fn call(run: &Run, value: &Value, method: &'static str, args: Args) -> Outcome<Value> {
    // Its sandbox lets no template change a value.
    let changes = match value {
        Value::List(_) => {
            matches!(method, "append" | "clear" | "pop" | "reverse" | "insert" | "sort" | "extend" | "remove")
        }
        Value::Dict(_) => matches!(method, "clear" | "pop" | "popitem" | "setdefault" | "update"),
        _ => false,
    };
    if changes {
        run.refused_by_transformers(method)?;
    }
    match value {
        Value::Str(text) => str_methods::call(run, text, method, args),
        Value::List(list) => list_method(run, list, method, args),
        Value::Dict(dict) => dict_method(run, dict, method, args),
        Value::Tuple(_) | Value::Range(_) => {
            let [item] = args.bind(method, ["value"])?;
            sequence_method(run, &value.elements(run)?, method, &required(method, "value", item)?)
        }
        Value::Int(_, _) | Value::Bool(_, _) => {
            let size = value.as_int().unwrap_or(0).unsigned_abs();
            Ok(match method {
                "bit_length" => Value::int((128 - size.leading_zeros()).into()),
                _ => Value::bool(true),
            })
        }
        Value::Float(f, _) => Ok(Value::bool(f.fract() == 0.0)),
        Value::Loop(state) => loop_method(run, state, method, args),
        Value::Global(Global::Dict | Global::DictAlias) => dict_type_method(run, method, args),
        Value::Cycler(cycler) => Ok(match method {
            "next" => next_of_cycle(cycler),
            _ => {
                cycler.position.set(0);
                Value::NONE
            }
        }),
        other => Err(other.fault(|t| format!("'{t}' object has no attribute '{method}'"))),
    }
}

fn sequence_method(run: &Run, items: &[Value], method: &str, wanted: &Value) -> Outcome<Value> {
    let mut count = 0;
    for (i, item) in items.iter().enumerate() {
        if equal(run, item, wanted)? {
            if method == "index" {
                return Ok(Value::int(i as i128));
            }
            count += 1;
        }
    }
    match method {
        "count" => Ok(Value::int(count)),
        _ => Err(Fault::new("value is not in list")),
    }
}

fn list_method(run: &Run, list: &Rc<List>, method: &'static str, args: Args) -> Outcome<Value> {
    let len = list.items.borrow().len();
    let at = |index: i128| usize::try_from(if index < 0 { index + len as i128 } else { index });
    match method {
        "append" => {
            let [item] = args.bind(method, ["object"])?;
            let item = required(method, "object", item)?;
            run.make_items(1)?;
            list.grow(run, len, item)?;
        }
        "insert" => {
            let [index, item] = args.bind(method, ["index", "object"])?;
            let index = required(method, "index", index)?.index()?;
            run.make_items(1)?;
            list.grow(run, at(index).unwrap_or(0), required(method, "object", item)?)?;
        }
        "extend" => {
            let [items] = args.bind(method, ["iterable"])?;
            for item in required(method, "iterable", items)?.elements(run)? {
                list.grow(run, usize::MAX, item)?;
            }
        }
        "pop" => {
            let [index] = args.bind(method, ["index"])?;
            let index = at(integer(index)?.unwrap_or(-1)).ok().filter(|i| *i < len);
            let Some(index) = index else {
                return Err(Fault::new(if len == 0 { "pop from empty list" } else { "pop index out of range" }));
            };
            run.will_change(list, &list.mutated);
            run.steps((len - index) as u64)?;
            return Ok(list.items.borrow_mut().remove(index));
        }
        "remove" => {
            let [item] = args.bind(method, ["value"])?;
            let items = Value::List(list.clone()).elements(run)?;
            let Value::Int(index, _) = sequence_method(run, &items, "index", &required(method, "value", item)?)? else {
                return Ok(Value::NONE);
            };
            run.will_change(list, &list.mutated);
            list.items.borrow_mut().remove(index.get() as usize);
        }
        "clear" => {
            run.will_change(list, &list.mutated);
            list.items.borrow_mut().clear();
        }
        "reverse" => {
            run.will_change(list, &list.mutated);
            run.steps(len as u64)?;
            list.items.borrow_mut().reverse();
        }
        "sort" => {
            let [_, reverse] = args.bind(method, ["key", "reverse"])?;
            let items = Value::List(list.clone()).elements(run)?;
            let keyed = items.into_iter().map(|v| (v.clone(), v)).collect();
            let sorted = sort(run, keyed, flag(reverse, false))?;
            run.will_change(list, &list.mutated);
            *list.items.borrow_mut() = sorted;
        }
        "copy" => {
            args.bind(method, [])?;
            return Value::list_at(run, Value::List(list.clone()).elements(run)?, list.source.clone());
        }
        _ => {
            let [item] = args.bind(method, ["value"])?;
            let items = Value::List(list.clone()).elements(run)?;
            return sequence_method(run, &items, method, &required(method, "value", item)?);
        }
    }
    Ok(Value::NONE)
}

fn dict_method(run: &Run, dict: &Rc<Dict>, method: &'static str, args: Args) -> Outcome<Value> {
    let look = |key: &Value| -> Outcome<Option<Value>> {
        if let Some(name) = key.as_str() {
            run.read_key(&dict.source, name);
        }
        Ok(dict.map.borrow().get(&key.key(run)?).cloned())
    };
    match method {
        "get" => {
            let [key, default] = args.bind(method, ["key", "default"])?;
            let found = look(&required(method, "key", key)?)?;
            Ok(found.or(default).unwrap_or(Value::NONE))
        }
        "items" | "keys" | "values" => {
            args.bind(method, [])?;
            let view = match method {
                "items" => View::Items,
                "keys" => View::Keys,
                _ => View::Values,
            };
            Ok(Value::View(view, dict.clone()))
        }
        "copy" => {
            args.bind(method, [])?;
            copy_dict(run, dict)
        }
        "pop" => {
            let [key, default] = args.bind(method, ["key", "default"])?;
            let key = required(method, "key", key)?;
            match (look(&key)?, default) {
                (Some(value), _) => {
                    run.will_change(dict, &dict.mutated);
                    run.scan(dict.map.borrow().len() * 64)?;
                    dict.map.borrow_mut().remove(&key.key(run)?);
                    Ok(value)
                }
                (None, Some(default)) => Ok(default),
                (None, None) => Err(Fault::new(format!("KeyError: {}", repr::repr(run, &key)?.s))),
            }
        }
        "popitem" => {
            args.bind(method, [])?;
            let last = dict.map.borrow().entries.last().map(|e| (e.shown.clone(), e.value.clone()));
            let Some((key, value)) = last else { return Err(Fault::new("popitem(): dictionary is empty")) };
            run.will_change(dict, &dict.mutated);
            run.scan(dict.map.borrow().len() * 64)?;
            dict.map.borrow_mut().remove(&key.key(run)?);
            Value::tuple(run, vec![key, value])
        }
        "setdefault" => {
            let [key, default] = args.bind(method, ["key", "default"])?;
            let key = required(method, "key", key)?;
            if let Some(value) = look(&key)? {
                return Ok(value);
            }
            let value = default.unwrap_or(Value::NONE);
            dict.set(run, &key, value.clone())?;
            Ok(value)
        }
        "update" => {
            for (key, value) in pairs(run, args)? {
                dict.set(run, &key, value)?;
            }
            Ok(Value::NONE)
        }
        "clear" => {
            run.will_change(dict, &dict.mutated);
            *dict.map.borrow_mut() = Map::default();
            Ok(Value::NONE)
        }
        _ => from_keys(run, args),
    }
}

/// `dict.fromkeys(keys, value)`.
fn from_keys(run: &Run, args: Args) -> Outcome<Value> {
    let [keys, value] = args.bind("fromkeys", ["iterable", "value"])?;
    let mut map = Map::default();
    let value = value.unwrap_or(Value::NONE);
    for key in required("fromkeys", "iterable", keys)?.elements(run)? {
        map.insert(key.key(run)?, key, value.clone());
    }
    Value::dict(run, map)
}

/// A method called on the type `dict`: `fromkeys`, or one that takes the dict as its first argument.
fn dict_type_method(run: &Run, method: &'static str, mut args: Args) -> Outcome<Value> {
    if method == "fromkeys" {
        return from_keys(run, args);
    }
    run.refused_by_transformers("dict")?;
    if args.positional.is_empty() {
        return Err(Fault::new(format!("unbound method dict.{method}() needs an argument")));
    }
    match args.positional.remove(0) {
        Value::Dict(dict) => dict_method(run, &dict, method, args),
        other => {
            Err(other.fault(|t| format!("descriptor '{method}' for 'dict' objects doesn't apply to a '{t}' object")))
        }
    }
}

/// `cycler.next()`.
fn next_of_cycle(cycler: &Cycler) -> Value {
    let position = cycler.position.get();
    cycler.position.set((position + 1) % cycler.items.len().max(1));
    cycler.items.get(position).cloned().unwrap_or(Value::NONE)
}

/// `loop.cycle(…)` and `loop.changed(…)`.
fn loop_method(run: &Run, state: &LoopState, method: &str, args: Args) -> Outcome<Value> {
    let items = args.positional;
    if method == "cycle" {
        if items.is_empty() {
            return Err(Fault::new("no items for cycling given"));
        }
        let at = state.index.get().saturating_sub(1) % items.len();
        return Ok(items.get(at).cloned().unwrap_or(Value::NONE));
    }
    // Kept as text, so that a loop cannot come to hold what holds the loop.
    let now = Value::Str(repr::repr(run, &Value::tuple(run, items)?)?);
    let before = state.changed.replace(Some(now.clone()));
    Ok(Value::bool(match before {
        Some(before) => !equal(run, &before, &now)?,
        None => true,
    }))
}

/// A shallow copy. What is read of it counts as read of the original.
fn copy_dict(run: &Run, dict: &Dict) -> Outcome<Value> {
    let map = dict.map.borrow();
    run.make_items(map.len() * 4)?;
    Value::dict_at(run, map.clone(), dict.source.clone())
}

/// The entries that the arguments of `dict(…)` and `update(…)` stand for: a mapping or pairs, then keywords.
pub(crate) fn pairs(run: &Run, args: Args) -> Outcome<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    let Args { positional, named } = args;
    if positional.len() > 1 {
        return Err(Fault::new(format!("dict expected at most 1 argument, got {}", positional.len())));
    }
    for source in positional {
        if let Value::Dict(dict) = &source {
            run.read_whole(&dict.source);
            run.make_items(dict.map.borrow().len() * 2)?;
            pairs.extend(dict.map.borrow().entries.iter().map(|e| (e.shown.clone(), e.value.clone())));
            continue;
        }
        for pair in source.elements(run)? {
            let mut pair = pair.elements(run)?.into_iter();
            match (pair.next(), pair.next(), pair.next()) {
                (Some(key), Some(value), None) => pairs.push((key, value)),
                _ => return Err(Fault::new("dictionary update sequence element must have length 2")),
            }
        }
    }
    pairs.extend(named.into_iter().map(|(name, value): (Arc<str>, Value)| (Value::from(&*name), value)));
    Ok(pairs)
}

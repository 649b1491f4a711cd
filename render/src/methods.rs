//! Methods and attributes of values: which exist, and what calling them does.

use std::rc::Rc;
use std::sync::Arc;

use super::args::{Args, flag, integer, required};
use super::error::{Fault, Outcome};
use super::exec::Interpreter;
use super::ops;
use super::run::Run;
use super::strings;
use super::value::{Dict, List, Map, Value, View};

const LIST: &[&str] =
    &["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"];
const DICT: &[&str] =
    &["clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"];
const SEQUENCE: &[&str] = &["count", "index"];
const INTEGER: &[&str] = &["bit_length", "is_integer"];
const FLOAT: &[&str] = &["is_integer"];

/// The method of this name, if the value's type has it.
pub(super) fn find(value: &Value, name: &str) -> Option<&'static str> {
    let names = match value {
        Value::Str(_) => strings::METHODS,
        Value::List(_) => LIST,
        Value::Dict(_) => DICT,
        Value::Tuple(_) | Value::Range(_) => SEQUENCE,
        Value::Int(_) | Value::Bool(_) => INTEGER,
        Value::Float(_) => FLOAT,
        Value::Loop(_) => &["cycle", "changed"],
        Value::Cycler(_) => &["next", "reset"],
        _ => return None,
    };
    names.iter().find(|n| **n == name).copied()
}

/// `value.method(args)`.
pub(super) fn call(it: &mut Interpreter<'_>, value: &Value, method: &'static str, args: Args) -> Outcome<Value> {
    let run = it.run;
    match value {
        Value::Str(text) => strings::call(run, text, method, args),
        Value::List(list) => list_method(run, list, method, args),
        Value::Dict(dict) => dict_method(run, dict, method, args),
        Value::Tuple(_) | Value::Range(_) => {
            let [item] = args.bind(method, ["value"])?;
            sequence_method(run, &value.elements(run)?, method, &required(method, "value", item)?)
        }
        Value::Int(_) | Value::Bool(_) => {
            let size = value.as_int().unwrap_or(0).unsigned_abs();
            Ok(match method {
                "bit_length" => Value::Int((128 - size.leading_zeros()).into()),
                _ => Value::Bool(true),
            })
        }
        Value::Float(f) => Ok(Value::Bool(f.fract() == 0.0)),
        Value::Loop(state) => state.method(run, method, args),
        Value::Cycler(cycler) => Ok(match method {
            "next" => cycler.next(),
            _ => {
                cycler.position.set(0);
                Value::None
            }
        }),
        other => Err(other.fault(|t| format!("'{t}' object has no attribute '{method}'"))),
    }
}

fn sequence_method(run: &Run, items: &[Value], method: &str, wanted: &Value) -> Outcome<Value> {
    let mut count = 0;
    for (i, item) in items.iter().enumerate() {
        if ops::equal(run, item, wanted)? {
            if method == "index" {
                return Ok(Value::Int(i as i128));
            }
            count += 1;
        }
    }
    match method {
        "count" => Ok(Value::Int(count)),
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
            run.mutates_list(list);
            run.steps((len - index) as u64)?;
            return Ok(list.items.borrow_mut().remove(index));
        }
        "remove" => {
            let [item] = args.bind(method, ["value"])?;
            let items = Value::List(list.clone()).elements(run)?;
            let Value::Int(index) = sequence_method(run, &items, "index", &required(method, "value", item)?)? else {
                return Ok(Value::None);
            };
            run.mutates_list(list);
            list.items.borrow_mut().remove(index as usize);
        }
        "clear" => {
            run.mutates_list(list);
            list.items.borrow_mut().clear();
        }
        "reverse" => {
            run.mutates_list(list);
            run.steps(len as u64)?;
            list.items.borrow_mut().reverse();
        }
        "sort" => {
            let [_, reverse] = args.bind(method, ["key", "reverse"])?;
            let items = Value::List(list.clone()).elements(run)?;
            let keyed = items.into_iter().map(|v| (v.clone(), v)).collect();
            let sorted = sort(run, keyed, flag(reverse, false))?;
            run.mutates_list(list);
            *list.items.borrow_mut() = sorted;
        }
        "copy" => {
            args.bind(method, [])?;
            return Value::list_at(run, Value::List(list.clone()).elements(run)?, list.path.clone());
        }
        _ => {
            let [item] = args.bind(method, ["value"])?;
            let items = Value::List(list.clone()).elements(run)?;
            return sequence_method(run, &items, method, &required(method, "value", item)?);
        }
    }
    Ok(Value::None)
}

/// Sorts values by their keys: stable, and failing where Python's comparison fails. A merge sort of our own,
/// because the library's may panic on keys without a total order (NaN).
pub(super) fn sort(run: &Run, keyed: Vec<(Value, Value)>, reverse: bool) -> Outcome<Vec<Value>> {
    run.make_items(keyed.len() * 2)?;
    let sorted = merge_sort(run, keyed, reverse)?;
    Ok(sorted.into_iter().map(|(_, v)| v).collect())
}

fn merge_sort(run: &Run, mut left: Vec<(Value, Value)>, reverse: bool) -> Outcome<Vec<(Value, Value)>> {
    if left.len() < 2 {
        return Ok(left);
    }
    let right = left.split_off(left.len() / 2);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut left = merge_sort(run, left, reverse)?.into_iter().peekable();
    let mut right = merge_sort(run, right, reverse)?.into_iter().peekable();
    while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
        let (first, second) = if reverse { (a, b) } else { (b, a) };
        let takes_right = ops::order(run, first, second)?.is_some_and(|o| o.is_lt());
        merged.extend(if takes_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

fn dict_method(run: &Run, dict: &Rc<Dict>, method: &'static str, args: Args) -> Outcome<Value> {
    let look = |key: &Value| -> Outcome<Option<Value>> {
        if let Some(name) = key.as_str() {
            run.read_key(dict, name);
        }
        Ok(dict.map.borrow().get(&key.key(run)?).cloned())
    };
    match method {
        "get" => {
            let [key, default] = args.bind(method, ["key", "default"])?;
            let found = look(&required(method, "key", key)?)?;
            Ok(found.or(default).unwrap_or(Value::None))
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
                    run.mutates_dict(dict);
                    run.scan(dict.map.borrow().len() * 64)?;
                    dict.map.borrow_mut().remove(&key.key(run)?);
                    Ok(value)
                }
                (None, Some(default)) => Ok(default),
                (None, None) => Err(Fault::new(format!("KeyError: {}", super::repr::repr(run, &key)?))),
            }
        }
        "popitem" => {
            args.bind(method, [])?;
            let last = dict.map.borrow().entries.last().map(|e| (e.shown.clone(), e.value.clone()));
            let Some((key, value)) = last else { return Err(Fault::new("popitem(): dictionary is empty")) };
            run.mutates_dict(dict);
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
            let value = default.unwrap_or(Value::None);
            dict.set(run, &key, value.clone())?;
            Ok(value)
        }
        "update" => {
            for (key, value) in pairs(run, args)? {
                dict.set(run, &key, value)?;
            }
            Ok(Value::None)
        }
        "clear" => {
            run.mutates_dict(dict);
            *dict.map.borrow_mut() = Map::default();
            Ok(Value::None)
        }
        _ => {
            let [keys, value] = args.bind(method, ["iterable", "value"])?;
            let mut map = Map::default();
            let value = value.unwrap_or(Value::None);
            for key in required(method, "iterable", keys)?.elements(run)? {
                map.insert(key.key(run)?, key, value.clone());
            }
            Value::dict(run, map)
        }
    }
}

/// A shallow copy, which still counts as the same place of the context.
pub(super) fn copy_dict(run: &Run, dict: &Dict) -> Outcome<Value> {
    let map = dict.map.borrow();
    run.make_items(map.len() * 4)?;
    Value::dict_at(run, map.clone(), dict.path.clone())
}

/// The entries that `dict(…)` and `update(…)` are given: a mapping or pairs, then keywords.
pub(super) fn pairs(run: &Run, args: Args) -> Outcome<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    let Args { positional, named } = args;
    if positional.len() > 1 {
        return Err(Fault::new(format!("dict expected at most 1 argument, got {}", positional.len())));
    }
    for source in positional {
        if let Value::Dict(dict) = &source {
            run.read_whole(&dict.path);
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

//! Python's values, as far as templates can make them. Values belong to one render on one thread.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::error::{Fault, Outcome};
use super::exec::{LoopState, MacroValue};
use super::globals::{Cycler, Global, Joiner};
use super::run::{NESTING, Run};

/// Any value. Cloning shares, as in Python.
#[derive(Clone)]
pub(super) enum Value {
    /// Jinja2's default `Undefined`, and why it is.
    Undefined(Rc<str>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Text),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    /// What `.keys()`, `.values()`, `.items()` give.
    View(View, Rc<Dict>),
    Range(Rc<Range>),
    /// A generator or iterator: its elements come once.
    Iter(Rc<Iter>),
    Namespace(Rc<Namespace>),
    Loop(Rc<LoopState>),
    Macro(Rc<MacroValue>),
    /// A method that was looked up, not yet called.
    Method(Rc<(Value, &'static str)>),
    Global(Global),
    Cycler(Rc<Cycler>),
    Joiner(Rc<Joiner>),
}

/// A string, perhaps marked safe (markupsafe's `Markup`): then adding a plain one to it escapes that one.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) s: Arc<str>,
    pub(super) safe: bool,
}

#[derive(Default)]
pub(super) struct List {
    pub(super) items: RefCell<Vec<Value>>,
    /// Where in the context this is, if it comes from there and someone watches.
    pub(super) path: Option<Rc<str>>,
    depth: Cell<u32>,
    pub(super) mutated: Cell<bool>,
}

pub(super) struct Tuple {
    pub(super) items: Vec<Value>,
    /// From `groupby`: `.grouper` and `.list` name the two elements.
    pub(super) group: bool,
    depth: u32,
}

#[derive(Default)]
pub(super) struct Dict {
    pub(super) map: RefCell<Map>,
    /// As for [`List`].
    pub(super) path: Option<Rc<str>>,
    depth: Cell<u32>,
    pub(super) mutated: Cell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Keys,
    Values,
    Items,
}

pub(super) struct Range {
    pub(super) start: i128,
    pub(super) stop: i128,
    pub(super) step: i128,
}

pub(super) struct Iter {
    pub(super) items: RefCell<VecDeque<Value>>,
    depth: u32,
}

#[derive(Default)]
pub(super) struct Namespace {
    pub(super) attrs: RefCell<Vec<(Arc<str>, Value)>>,
}

/// What can be a key. Equal numbers are equal keys, whatever their type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    None,
    Undefined,
    Int(i128),
    Float(u64),
    Str(Arc<str>),
    Tuple(Vec<Key>),
}

/// One entry of a dict: the key as it was written, and its value.
#[derive(Clone)]
pub(super) struct Entry {
    key: Key,
    pub(super) shown: Value,
    pub(super) value: Value,
}

/// An ordered map, by insertion.
#[derive(Clone, Default)]
pub(super) struct Map {
    pub(super) entries: Vec<Entry>,
    index: HashMap<Key, usize>,
}

/// Below this, looking along the entries beats hashing.
const INDEXED: usize = 12;

impl Map {
    fn position(&self, key: &Key) -> Option<usize> {
        if self.entries.len() < INDEXED {
            return self.entries.iter().position(|e| e.key == *key);
        }
        self.index.get(key).copied()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.position(key).and_then(|i| self.entries.get(i)).map(|e| &e.value)
    }

    pub(super) fn get_str(&self, key: &str) -> Option<&Value> {
        if self.entries.len() < INDEXED {
            return self.entries.iter().find(|e| matches!(&e.key, Key::Str(s) if **s == *key)).map(|e| &e.value);
        }
        self.get(&Key::Str(Arc::from(key)))
    }

    pub(super) fn insert(&mut self, key: Key, shown: Value, value: Value) {
        if let Some(entry) = self.position(&key).and_then(|i| self.entries.get_mut(i)) {
            entry.value = value;
            return;
        }
        self.entries.push(Entry { key: key.clone(), shown, value });
        let n = self.entries.len();
        if n == INDEXED {
            self.reindex();
        } else if n > INDEXED {
            self.index.insert(key, n - 1);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Entry> {
        let position = self.position(key)?;
        let entry = self.entries.remove(position);
        self.reindex();
        Some(entry)
    }

    fn reindex(&mut self) {
        self.index.clear();
        if self.entries.len() >= INDEXED {
            self.index.extend(self.entries.iter().enumerate().map(|(i, e)| (e.key.clone(), i)));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Text {
    pub(super) fn plain(s: impl Into<Arc<str>>) -> Text {
        Text { s: s.into(), safe: false }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::Str(Text::plain(s))
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::Str(Text::plain(s))
    }
}

fn deepest<'v>(run: &Run, values: impl Iterator<Item = &'v Value>) -> Outcome<u32> {
    let depth = 1 + values.map(Value::depth).max().unwrap_or(0);
    if depth > NESTING {
        return Err(Fault::limit(format!("values nested deeper than {NESTING}")));
    }
    run.make(64)?;
    Ok(depth)
}

impl Value {
    pub(super) fn undefined(why: impl Into<Rc<str>>) -> Value {
        Value::Undefined(why.into())
    }

    /// A list of values that are paid for.
    pub(super) fn list(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        Value::list_at(run, items, None)
    }

    pub(super) fn list_at(run: &Run, items: Vec<Value>, path: Option<Rc<str>>) -> Outcome<Value> {
        let depth = Cell::new(deepest(run, items.iter())?);
        Ok(Value::List(Rc::new(List { items: RefCell::new(items), path, depth, mutated: Cell::default() })))
    }

    pub(super) fn tuple(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        let depth = deepest(run, items.iter())?;
        Ok(Value::Tuple(Rc::new(Tuple { items, group: false, depth })))
    }

    pub(super) fn group(run: &Run, grouper: Value, list: Value) -> Outcome<Value> {
        let items = vec![grouper, list];
        let depth = deepest(run, items.iter())?;
        Ok(Value::Tuple(Rc::new(Tuple { items, group: true, depth })))
    }

    pub(super) fn iter(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        let depth = deepest(run, items.iter())?;
        Ok(Value::Iter(Rc::new(Iter { items: RefCell::new(items.into()), depth })))
    }

    pub(super) fn dict(run: &Run, map: Map) -> Outcome<Value> {
        Value::dict_at(run, map, None)
    }

    pub(super) fn dict_at(run: &Run, map: Map, path: Option<Rc<str>>) -> Outcome<Value> {
        let depth = Cell::new(deepest(run, map.entries.iter().map(|e| &e.value))?);
        Ok(Value::Dict(Rc::new(Dict { map: RefCell::new(map), path, depth, mutated: Cell::default() })))
    }

    /// How deep something that holds these values nests.
    pub(super) fn nesting(run: &Run, items: &[Value]) -> Outcome<u32> {
        deepest(run, items.iter())
    }

    fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth.get(),
            Value::Tuple(tuple) => tuple.depth,
            Value::Dict(dict) | Value::View(_, dict) => dict.depth.get(),
            Value::Iter(iter) => iter.depth,
            Value::Loop(state) => state.depth,
            Value::Method(method) => 1 + method.0.depth(),
            Value::Cycler(cycler) => cycler.depth,
            _ => 0,
        }
    }

    /// Python's name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(Text { safe: true, .. }) => "Markup",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View(View::Keys, _) => "dict_keys",
            Value::View(View::Values, _) => "dict_values",
            Value::View(View::Items, _) => "dict_items",
            Value::Range(_) => "range",
            Value::Iter(_) => "generator",
            Value::Namespace(_) => "Namespace",
            Value::Loop(_) => "LoopContext",
            Value::Macro(_) => "Macro",
            Value::Method(_) => "builtin_function_or_method",
            Value::Global(_) => "function",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
        }
    }

    pub(super) fn truthy(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(i) => *i != 0,
            Value::Float(f) => *f != 0.0,
            Value::Str(t) => !t.s.is_empty(),
            Value::List(l) => !l.items.borrow().is_empty(),
            Value::Tuple(t) => !t.items.is_empty(),
            Value::Dict(d) | Value::View(_, d) => d.map.borrow().len() > 0,
            Value::Range(r) => r.len() > 0,
            _ => true,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(t) => Some(&t.s),
            _ => None,
        }
    }

    pub(super) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    /// As an integer where Python takes one: integers and booleans.
    pub(super) fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(i) => Some(*i),
            Value::Bool(b) => Some(i128::from(*b)),
            _ => None,
        }
    }

    /// As a float where Python mixes numbers.
    pub(super) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(f) => Some(*f),
            other => other.as_int().map(|i| i as f64),
        }
    }

    /// An integer, or Python's complaint.
    pub(super) fn index(&self) -> Outcome<i128> {
        self.as_int().ok_or_else(|| self.fault(|t| format!("'{t}' object cannot be interpreted as an integer")))
    }

    /// The complaint about an undefined value, or about a type.
    pub(super) fn fault(&self, message: impl FnOnce(&str) -> String) -> Fault {
        match self {
            Value::Undefined(why) => Fault::new(&**why),
            other => Fault::new(message(other.type_name())),
        }
    }

    /// As a key of a dict.
    pub(super) fn key(&self, run: &Run) -> Outcome<Key> {
        run.steps(4)?;
        Ok(match self {
            Value::None => Key::None,
            Value::Undefined(_) => Key::Undefined,
            Value::Bool(b) => Key::Int(i128::from(*b)),
            Value::Int(i) => Key::Int(*i),
            Value::Float(f) if f.fract() == 0.0 && f.abs() < 1e30 => Key::Int(*f as i128),
            Value::Float(f) => Key::Float(f.to_bits()),
            Value::Str(t) => Key::Str(t.s.clone()),
            Value::Tuple(t) => Key::Tuple(t.items.iter().map(|v| v.key(run)).collect::<Outcome<_>>()?),
            other => return Err(other.fault(|t| format!("unhashable type: '{t}'"))),
        })
    }

    /// All elements, as a `for` loop would see them.
    pub(super) fn elements(&self, run: &Run) -> Outcome<Vec<Value>> {
        Ok(match self {
            Value::Undefined(_) => Vec::new(),
            Value::Str(t) => {
                run.make_items(t.s.len())?;
                let mut buffer = [0; 4];
                t.s.chars()
                    .map(|c| Value::Str(Text { s: Arc::from(&*c.encode_utf8(&mut buffer)), safe: t.safe }))
                    .collect()
            }
            Value::List(l) => {
                run.read_element(l);
                let items = l.items.borrow();
                run.make_items(items.len())?;
                items.clone()
            }
            Value::Tuple(t) => {
                run.make_items(t.items.len())?;
                t.items.clone()
            }
            Value::Dict(d) => View::Keys.elements(run, d)?,
            Value::View(view, d) => view.elements(run, d)?,
            Value::Range(r) => {
                run.make_items(r.len())?;
                (0..r.len()).map(|i| Value::Int(r.start + i as i128 * r.step)).collect()
            }
            Value::Iter(iter) => iter.items.take().into(),
            other => return Err(other.fault(|t| format!("'{t}' object is not iterable"))),
        })
    }

    /// `len(value)`.
    pub(super) fn length(&self, run: &Run) -> Outcome<usize> {
        Ok(match self {
            Value::Undefined(_) => 0,
            Value::Str(t) => {
                run.scan(t.s.len())?;
                t.s.chars().count()
            }
            Value::List(l) => l.items.borrow().len(),
            Value::Tuple(t) => t.items.len(),
            Value::Dict(d) | Value::View(_, d) => {
                run.read_whole(&d.path);
                d.map.borrow().len()
            }
            Value::Range(r) => r.len(),
            other => return Err(other.fault(|t| format!("object of type '{t}' has no len()"))),
        })
    }

    /// A value of the context. With `path`, reads of it are noted.
    pub(super) fn from_json(run: &Run, json: &serde_json::Value, path: Option<&str>) -> Outcome<Value> {
        use serde_json::Value as J;
        let _level = run.deeper()?;
        run.make(size_of::<Value>())?;
        Ok(match json {
            J::Null => Value::None,
            J::Bool(b) => Value::Bool(*b),
            J::Number(n) => super::json::number(n),
            J::String(s) => {
                run.make(s.len())?;
                Value::from(s.as_str())
            }
            J::Array(items) => {
                let inner = path.map(|p| format!("{p}[]"));
                let items = items.iter().map(|v| Value::from_json(run, v, inner.as_deref()));
                Value::list_at(run, items.collect::<Outcome<_>>()?, path.map(Rc::from))?
            }
            J::Object(object) => {
                let mut map = Map::default();
                for (key, value) in object {
                    run.make(key.len() + size_of::<Entry>())?;
                    let inner = path.map(|p| format!("{p}.{key}"));
                    let text = Text::plain(key.as_str());
                    map.insert(
                        Key::Str(text.s.clone()),
                        Value::Str(text),
                        Value::from_json(run, value, inner.as_deref())?,
                    );
                }
                Value::dict_at(run, map, path.map(Rc::from))?
            }
        })
    }
}

impl View {
    fn elements(self, run: &Run, dict: &Rc<Dict>) -> Outcome<Vec<Value>> {
        run.read_whole(&dict.path);
        let map = dict.map.borrow();
        run.make_items(map.len() * 2)?;
        map.entries
            .iter()
            .map(|e| match self {
                View::Keys => Ok(e.shown.clone()),
                View::Values => Ok(e.value.clone()),
                View::Items => Value::tuple(run, vec![e.shown.clone(), e.value.clone()]),
            })
            .collect()
    }
}

impl Range {
    pub(super) fn len(&self) -> usize {
        let span = if self.step > 0 { self.stop - self.start } else { self.start - self.stop };
        let step = self.step.abs();
        usize::try_from((span + step - 1) / step).unwrap_or(0)
    }
}

impl List {
    /// Appends or inserts; the list may come to contain itself.
    pub(super) fn grow(self: &Rc<Self>, run: &Run, at: usize, value: Value) -> Outcome<()> {
        run.mutates_list(self);
        let depth = deepest(run, std::iter::once(&value))?;
        self.depth.set(self.depth.get().max(depth));
        let mut items = self.items.borrow_mut();
        let at = at.min(items.len());
        run.scan((items.len() - at) * size_of::<Value>())?;
        items.insert(at, value);
        Ok(())
    }
}

impl Dict {
    /// Sets an entry in place.
    pub(super) fn set(self: &Rc<Self>, run: &Run, key: &Value, value: Value) -> Outcome<()> {
        run.mutates_dict(self);
        let depth = deepest(run, std::iter::once(&value))?;
        self.depth.set(self.depth.get().max(depth));
        run.make(size_of::<Entry>() * 2)?;
        self.map.borrow_mut().insert(key.key(run)?, key.clone(), value);
        Ok(())
    }
}

impl Namespace {
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.attrs.borrow().iter().find(|(n, _)| **n == *name).map(|(_, v)| v.clone())
    }

    pub(super) fn set(&self, run: &Run, name: &Arc<str>, value: Value) -> Outcome<()> {
        let mut attrs = self.attrs.borrow_mut();
        run.steps(attrs.len() as u64 / 8)?;
        match attrs.iter_mut().find(|(n, _)| n == name) {
            Some((_, slot)) => *slot = value,
            None => {
                run.make(64)?;
                attrs.push((name.clone(), value));
            }
        }
        Ok(())
    }
}

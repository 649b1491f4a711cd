//! The types of Python values that a template can make, and how to construct and inspect them.
//!
//! Values belong to one render on one thread. A clone shares what it refers to, as in Python. The types refer to each
//! other (a loop holds values, a value may be a loop), so they are defined together here; what they *do* is in other files.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::marks::{Mark, Piece};
use crate::run::{Clear, ContainerSource, Run, VALUE_BYTES};
use crate::syntax::ast::{For, MacroDef, Name};
use crate::value::map::{self, Key};

/// A Python dict's map from keys to values.
pub(crate) type Map = map::Map<Value>;
/// One entry of a [`Map`].
pub(crate) type Entry = map::Entry<Value>;

// What a value is charged covers what it takes.
const _: () = assert!(size_of::<Value>() <= VALUE_BYTES);

/// How deep lists, dicts and other containers may nest.
const NESTING: u32 = 200;

/// Any value.
#[derive(Clone)]
pub(crate) enum Value {
    /// Jinja2's default `Undefined`, and the message of the error that using it raises.
    Undefined(Rc<str>),
    /// The mark of this and the next three tells where they come from, in a labelled render.
    None(Mark),
    Bool(bool, Mark),
    Int(Int, Mark),
    Float(f64, Mark),
    Str(Text),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    /// The result of `.keys()`, `.values()` or `.items()`: follows later changes of the dict.
    View(View, Rc<Dict>),
    Range(Rc<Range>),
    /// A generator or iterator: each element can be taken once.
    Iter(Rc<Iter>),
    Namespace(Rc<Namespace>),
    Loop(Rc<LoopState>),
    Macro(Rc<MacroValue>),
    /// A method that was looked up and not called yet: its object and its name.
    Method(Rc<(Value, &'static str)>),
    /// A function or type that every template can use.
    Global(Global),
    Cycler(Rc<Cycler>),
    Joiner(Rc<Joiner>),
}

/// An integer, in halves, so that a [`Value`] needs no more than the alignment of a pointer and stays small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    high: i64,
    low: u64,
}

impl Int {
    pub(crate) fn get(self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }
}

impl From<i128> for Int {
    fn from(i: i128) -> Int {
        Int { high: (i >> 64) as i64, low: i as u64 }
    }
}

/// A string. `safe` is markupsafe's `Markup`: an unsafe string that is joined to a safe one is HTML-escaped first.
#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) s: Arc<str>,
    pub(crate) safe: bool,
    /// Where all of this comes from, if it has one origin.
    pub(crate) mark: Mark,
    /// Where the parts of this come from, if they differ; in order. What no piece covers comes from the template.
    pub(crate) pieces: Option<Rc<Vec<Piece>>>,
}

#[derive(Default)]
pub(crate) struct List {
    pub(crate) items: RefCell<Vec<Value>>,
    pub(crate) source: ContainerSource,
    /// How deep this value nests; 1 for a flat one.
    pub(crate) depth: Cell<u32>,
    /// Whether the run already knows that this changes; see [`Run::will_change`].
    pub(crate) mutated: Cell<bool>,
}

pub(crate) struct Tuple {
    pub(crate) items: Vec<Value>,
    /// Whether this comes from `groupby`: then `.grouper` and `.list` name its two elements.
    pub(crate) group: bool,
    pub(crate) depth: u32,
}

#[derive(Default)]
pub(crate) struct Dict {
    pub(crate) map: RefCell<Map>,
    pub(crate) source: ContainerSource,
    /// As for [`List`].
    pub(crate) depth: Cell<u32>,
    pub(crate) mutated: Cell<bool>,
}

/// Which part of a dict's entries a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Keys,
    Values,
    Items,
}

pub(crate) struct Range {
    pub(crate) start: i128,
    pub(crate) stop: i128,
    pub(crate) step: i128,
}

pub(crate) struct Iter {
    pub(crate) items: RefCell<VecDeque<Value>>,
    pub(crate) depth: u32,
}

#[derive(Default)]
pub(crate) struct Namespace {
    pub(crate) attrs: RefCell<Vec<(Arc<str>, Value)>>,
}

/// A function or type of the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    Namespace,
    Range,
    /// The type `dict`.
    Dict,
    /// `dict[…]`, Python's generic alias: calling it makes a dict.
    DictAlias,
    Cycler,
    Joiner,
    Lipsum,
    RaiseException,
    StrftimeNow,
}

/// The result of `cycler(…)`.
pub(crate) struct Cycler {
    pub(crate) items: Vec<Value>,
    pub(crate) position: Cell<usize>,
    pub(crate) depth: u32,
}

/// The result of `joiner(…)`.
pub(crate) struct Joiner {
    /// A string, so that a joiner can hold nothing that holds the joiner.
    pub(crate) separator: Text,
    pub(crate) used: Cell<bool>,
}

/// The variables of one block. Blocks inside see them; they can hide them, but not change them.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) variables: RefCell<Vec<(Name, Value)>>,
    pub(crate) parent: Option<Rc<Scope>>,
    /// Whether a macro refers to this scope.
    pub(crate) kept: Cell<bool>,
}

/// A macro, or the body of a `{% call %}`, with the scope that it was written in.
pub(crate) struct MacroValue {
    pub(crate) def: Arc<MacroDef>,
    pub(crate) scope: Rc<Scope>,
}

/// Jinja2's `loop`. Elements are filtered when they are needed, so that the loop's filter sees what the body has done.
pub(crate) struct LoopState {
    pub(crate) def: Arc<For>,
    pub(crate) scope: Rc<Scope>,
    /// Elements that have not been filtered yet.
    pub(crate) rest: RefCell<VecDeque<Value>>,
    /// Elements that passed the filter before their turn, because the body asked for what follows.
    pub(crate) ahead: RefCell<VecDeque<Value>>,
    pub(crate) previous: RefCell<Option<Value>>,
    pub(crate) current: RefCell<Option<Value>>,
    /// What `loop.changed(…)` was last called with.
    pub(crate) changed: RefCell<Option<Value>>,
    /// From 1; 0 before the first element.
    pub(crate) index: Cell<usize>,
    /// How many recursive calls of the loop enclose this one.
    pub(crate) level: u32,
    pub(crate) depth: u32,
}

// What the run empties at the end of a render.

impl Clear for List {
    fn clear(&self) {
        drop(self.items.take());
    }
}

impl Clear for Dict {
    fn clear(&self) {
        drop(self.map.take());
    }
}

impl Clear for Namespace {
    fn clear(&self) {
        drop(self.attrs.take());
    }
}

impl Global {
    /// The function or type of this name.
    pub(crate) fn named(name: &str) -> Option<Global> {
        Some(match name {
            "namespace" => Global::Namespace,
            "range" => Global::Range,
            "dict" => Global::Dict,
            "cycler" => Global::Cycler,
            "joiner" => Global::Joiner,
            "lipsum" => Global::Lipsum,
            "raise_exception" => Global::RaiseException,
            "strftime_now" => Global::StrftimeNow,
            _ => return None,
        })
    }
}

impl Scope {
    pub(crate) fn inside(parent: &Rc<Scope>) -> Rc<Scope> {
        Rc::new(Scope { parent: Some(parent.clone()), ..Scope::default() })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(this) = scope {
            if let Some((_, value)) = this.variables.borrow().iter().find(|(n, _)| **n == *name) {
                return Some(value.clone());
            }
            scope = this.parent.as_deref();
        }
        None
    }

    pub(crate) fn set(&self, name: &Name, value: Value) {
        let mut variables = self.variables.borrow_mut();
        match variables.iter_mut().find(|(n, _)| n == name) {
            Some((_, slot)) => *slot = value,
            None => variables.push((name.clone(), value)),
        }
    }
}

impl Text {
    pub(crate) fn plain(s: impl Into<Arc<str>>) -> Text {
        Text::marked(s, Mark::NONE)
    }

    /// A text with one origin.
    pub(crate) fn marked(s: impl Into<Arc<str>>, mark: Mark) -> Text {
        Text { s: s.into(), safe: false, mark, pieces: None }
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

/// How deep a container of these values nests.
fn deepest<'v>(run: &Run, values: impl Iterator<Item = &'v Value>) -> Outcome<u32> {
    let depth = 1 + values.map(Value::depth).max().unwrap_or(0);
    if depth > NESTING {
        return Err(Fault::limit(format!("values are nested deeper than {NESTING}")));
    }
    run.make(64)?;
    Ok(depth)
}

impl Value {
    /// `None` of the template, without a mark; so are the values of the next three.
    pub(crate) const NONE: Value = Value::None(Mark::NONE);

    pub(crate) fn bool(b: bool) -> Value {
        Value::Bool(b, Mark::NONE)
    }

    pub(crate) fn int(i: i128) -> Value {
        Value::Int(i.into(), Mark::NONE)
    }

    pub(crate) fn float(f: f64) -> Value {
        Value::Float(f, Mark::NONE)
    }

    pub(crate) fn undefined(why: impl Into<Rc<str>>) -> Value {
        Value::Undefined(why.into())
    }

    /// A list. The caller has paid for its elements, here and in all constructors below.
    pub(crate) fn list(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        Value::list_at(run, items, ContainerSource::default())
    }

    /// A list from the context.
    pub(crate) fn list_at(run: &Run, items: Vec<Value>, source: ContainerSource) -> Outcome<Value> {
        let depth = Cell::new(deepest(run, items.iter())?);
        Ok(Value::List(Rc::new(List { items: RefCell::new(items), source, depth, mutated: Cell::default() })))
    }

    pub(crate) fn tuple(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        let depth = deepest(run, items.iter())?;
        Ok(Value::Tuple(Rc::new(Tuple { items, group: false, depth })))
    }

    /// One group of `groupby`.
    pub(crate) fn group(run: &Run, grouper: Value, list: Value) -> Outcome<Value> {
        let items = vec![grouper, list];
        let depth = deepest(run, items.iter())?;
        Ok(Value::Tuple(Rc::new(Tuple { items, group: true, depth })))
    }

    pub(crate) fn iter(run: &Run, items: Vec<Value>) -> Outcome<Value> {
        let depth = deepest(run, items.iter())?;
        Ok(Value::Iter(Rc::new(Iter { items: RefCell::new(items.into()), depth })))
    }

    pub(crate) fn dict(run: &Run, map: Map) -> Outcome<Value> {
        Value::dict_at(run, map, ContainerSource::default())
    }

    /// A dict from the context.
    pub(crate) fn dict_at(run: &Run, map: Map, source: ContainerSource) -> Outcome<Value> {
        let depth = Cell::new(deepest(run, map.entries.iter().map(|e| &e.value))?);
        Ok(Value::Dict(Rc::new(Dict { map: RefCell::new(map), source, depth, mutated: Cell::default() })))
    }

    /// How deep a container of these values nests.
    pub(crate) fn nesting(run: &Run, items: &[Value]) -> Outcome<u32> {
        deepest(run, items.iter())
    }

    /// How deep this value nests; 0 if it is not a container.
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
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None(_) => "NoneType",
            Value::Bool(_, _) => "bool",
            Value::Int(_, _) => "int",
            Value::Float(_, _) => "float",
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
            Value::Global(Global::DictAlias) => "types.GenericAlias",
            Value::Global(Global::Dict | Global::Namespace | Global::Cycler | Global::Joiner) => "type",
            Value::Global(_) => "function",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
        }
    }

    pub(crate) fn truthy(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None(_) => false,
            Value::Bool(b, _) => *b,
            Value::Int(i, _) => i.get() != 0,
            Value::Float(f, _) => *f != 0.0,
            Value::Str(t) => !t.s.is_empty(),
            Value::List(l) => !l.items.borrow().is_empty(),
            Value::Tuple(t) => !t.items.is_empty(),
            Value::Dict(d) | Value::View(_, d) => d.map.borrow().len() > 0,
            Value::Range(r) => r.len() > 0,
            _ => true,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(t) => Some(&t.s),
            _ => None,
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    /// The integer, if Python takes this for one: `True` is 1.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(i, _) => Some(i.get()),
            Value::Bool(b, _) => Some(i128::from(*b)),
            _ => None,
        }
    }

    /// The number as a float, if this is a number.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(f, _) => Some(*f),
            other => other.as_int().map(|i| i as f64),
        }
    }

    /// The integer, or Python's error.
    pub(crate) fn index(&self) -> Outcome<i128> {
        self.as_int().ok_or_else(|| self.fault(|t| format!("'{t}' object cannot be interpreted as an integer")))
    }

    /// The error of an undefined value, or else `message` with the name of this value's type.
    pub(crate) fn fault(&self, message: impl FnOnce(&str) -> String) -> Fault {
        match self {
            Value::Undefined(why) => Fault::new(&**why),
            other => Fault::new(message(other.type_name())),
        }
    }

    /// This value as a key of a dict.
    pub(crate) fn key(&self, run: &Run) -> Outcome<Key> {
        run.steps(4)?;
        Ok(match self {
            Value::None(_) => Key::None,
            Value::Undefined(_) => Key::Undefined,
            Value::Bool(b, _) => Key::Int(i128::from(*b)),
            Value::Int(i, _) => Key::Int(i.get()),
            Value::Float(f, _) if f.fract() == 0.0 && f.abs() < 1e30 => Key::Int(*f as i128),
            Value::Float(f, _) => Key::Float(f.to_bits()),
            Value::Str(t) => Key::Str(t.s.clone()),
            Value::Tuple(t) => Key::Tuple(t.items.iter().map(|v| v.key(run)).collect::<Outcome<_>>()?),
            other => return Err(other.fault(|t| format!("unhashable type: '{t}'"))),
        })
    }
}

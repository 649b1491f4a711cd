//! The functions that every template can call, and the objects that they make.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::args::{Args, integer, required};
use super::error::{Fault, Outcome};
use super::json;
use super::methods;
use super::repr;
use super::run::Run;
use super::value::{Map, Namespace, Range, Value};

/// A function of the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Global {
    Namespace,
    Range,
    Dict,
    Cycler,
    Joiner,
    Lipsum,
    RaiseException,
    StrftimeNow,
}

/// Jinja2's sandbox refuses longer ranges.
const MAX_RANGE: usize = 100_000;

/// What `cycler(…)` makes.
pub(super) struct Cycler {
    pub(super) items: Vec<Value>,
    pub(super) position: Cell<usize>,
    /// Nesting, as of lists.
    pub(super) depth: u32,
}

impl Cycler {
    pub(super) fn current(&self) -> Value {
        self.items.get(self.position.get()).cloned().unwrap_or(Value::None)
    }

    pub(super) fn next(&self) -> Value {
        let current = self.current();
        self.position.set((self.position.get() + 1) % self.items.len().max(1));
        current
    }
}

/// What `joiner(…)` makes.
pub(super) struct Joiner {
    separator: Value,
    used: RefCell<bool>,
}

impl Joiner {
    pub(super) fn call(&self) -> Value {
        if self.used.replace(true) { self.separator.clone() } else { Value::from("") }
    }
}

/// The function of this name.
pub(super) fn global(name: &str) -> Option<Global> {
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

/// Whether the environment has a function of this name.
pub(super) fn is_global(name: &str) -> bool {
    global(name).is_some()
}

/// Calls a function of the environment.
pub(super) fn call(run: &Run, function: Global, args: Args) -> Outcome<Value> {
    match function {
        Global::Namespace => {
            let namespace = Rc::new(Namespace::default());
            run.make(128)?;
            run.namespace(&namespace);
            for (key, value) in methods::pairs(run, args)? {
                let name = repr::soft_string(run, &key)?;
                namespace.set(run, &name.s, value)?;
            }
            Ok(Value::Namespace(namespace))
        }
        Global::Dict => {
            let path = match args.positional.first() {
                Some(Value::Dict(dict)) => dict.path.clone(),
                _ => None,
            };
            let mut map = Map::default();
            for (key, value) in methods::pairs(run, args)? {
                run.make_items(4)?;
                map.insert(key.key(run)?, key, value);
            }
            Value::dict_at(run, map, path)
        }
        Global::Range => range(args),
        Global::Cycler => {
            if args.positional.is_empty() {
                return Err(Fault::new("no items for cycling given"));
            }
            let (items, position) = (args.positional, Cell::new(0));
            let depth = Value::nesting(run, &items)?;
            Ok(Value::Cycler(Rc::new(Cycler { items, position, depth })))
        }
        Global::Joiner => {
            let [separator] = args.bind("joiner", ["sep"])?;
            let separator = separator.unwrap_or_else(|| Value::from(", "));
            // A string, so that it holds nothing that could hold it.
            let separator = Value::Str(repr::soft_string(run, &separator)?);
            Ok(Value::Joiner(Rc::new(Joiner { separator, used: RefCell::default() })))
        }
        Global::Lipsum => Err(Fault::new("lipsum() is random text")),
        Global::RaiseException => {
            let [message] = args.bind("raise_exception", ["message"])?;
            let message = required("raise_exception", "message", message)?;
            Err(Fault::raised(repr::string(run, &message)?))
        }
        Global::StrftimeNow => {
            let [format] = args.bind("strftime_now", ["format"])?;
            let format = required("strftime_now", "format", format)?;
            let Some(text) = format.as_str() else {
                return Err(format.fault(|t| format!("strftime_now() takes a str, not {t}")));
            };
            run.make(text.len().saturating_mul(16))?;
            run.steps(text.len() as u64 * 4)?;
            Ok(run.clock.strftime(text)?.into())
        }
    }
}

fn range(args: Args) -> Outcome<Value> {
    let given = args.positional.len();
    let [a, b, c] = args.bind("range", ["start", "stop", "step"])?;
    let first = required("range", "stop", a)?.index()?;
    let (start, stop) = match integer(b)? {
        Some(stop) if given > 1 => (first, stop),
        _ => (0, first),
    };
    let step = integer(c)?.unwrap_or(1);
    if step == 0 {
        return Err(Fault::new("range() arg 3 must not be zero"));
    }
    let bound = 1 << 100;
    if [start, stop, step].iter().any(|i| i.abs() > bound) {
        return Err(Fault::limit("range() of numbers too large"));
    }
    let range = Range { start, stop, step };
    let span = if step > 0 { stop - start } else { start - stop };
    if span > 0 && (span + step.abs() - 1) / step.abs() > MAX_RANGE as i128 {
        return Err(Fault::limit(format!("range() of more than {MAX_RANGE} elements")));
    }
    Ok(Value::Range(Rc::new(range)))
}

/// Keyword arguments as a macro sees them in `kwargs`.
pub(super) fn keywords(run: &Run, named: Vec<(std::sync::Arc<str>, Value)>) -> Outcome<Value> {
    json::dict_of(run, named)
}

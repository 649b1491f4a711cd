//! The functions and types that every template can call.

use std::cell::Cell;
use std::rc::Rc;

use crate::builtins::args::{Args, integer, required};
use crate::builtins::methods;
use crate::error::{Fault, Outcome};
use crate::run::{ContainerSource, Run};
use crate::value::repr;
use crate::value::types::{Cycler, Global, Joiner, Map, Namespace, Range, Value};

/// The longest range that Jinja2's sandbox allows.
const MAX_RANGE: usize = 100_000;

/// Calls a function of the environment.
pub(crate) fn call(run: &Run, function: Global, args: Args) -> Outcome<Value> {
    match function {
        Global::Namespace => {
            let namespace = Rc::new(Namespace::default());
            run.make(128)?;
            run.remember(namespace.clone());
            for (key, value) in methods::pairs(run, args)? {
                let name = repr::soft_string(run, &key)?;
                namespace.set(run, &name.s, value)?;
            }
            Ok(Value::Namespace(namespace))
        }
        Global::Dict | Global::DictAlias => {
            let source = match args.positional.first() {
                Some(Value::Dict(dict)) => dict.source.clone(),
                _ => ContainerSource::default(),
            };
            let mut map = Map::default();
            for (key, value) in methods::pairs(run, args)? {
                run.make_items(4)?;
                map.insert(key.key(run)?, key, value);
            }
            Value::dict_at(run, map, source)
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
            let separator = repr::soft_string(run, &separator)?;
            Ok(Value::Joiner(Rc::new(Joiner { separator, used: Cell::default() })))
        }
        Global::Lipsum => Err(Fault::new(
            "the function `lipsum` is not available: a chat template must give the same text every time",
        )),
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

/// Calls what `joiner(…)` returned: nothing the first time, the separator from then on.
pub(crate) fn call_joiner(joiner: &Joiner) -> Value {
    if joiner.used.replace(true) { Value::Str(joiner.separator.clone()) } else { Value::from("") }
}

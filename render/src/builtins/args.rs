//! The arguments of a call, and how they are bound to parameters, as Python does it.

use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::value::types::Value;

/// Evaluated arguments.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

impl Args {
    /// Binds the arguments to the parameters of `function`. A missing argument is `None`; too many, unknown or doubled ones
    /// are errors.
    pub(crate) fn bind<const N: usize>(self, function: &str, params: [&str; N]) -> Outcome<[Option<Value>; N]> {
        let mut bound = [const { None }; N];
        self.fill(function, &params, &mut bound)?;
        Ok(bound)
    }

    fn fill(self, function: &str, params: &[&str], bound: &mut [Option<Value>]) -> Outcome<()> {
        let (given, most) = (self.positional.len(), params.len());
        if given > most {
            return Err(Fault::new(format!("{function}() takes at most {most} arguments ({given} given)")));
        }
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            match params.iter().position(|p| **p == *name).and_then(|i| bound.get_mut(i)) {
                Some(slot @ None) => *slot = Some(value),
                Some(_) => {
                    return Err(Fault::new(format!("{function}() got multiple values for argument '{name}'")));
                }
                None => {
                    return Err(Fault::new(format!("{function}() got an unexpected keyword argument '{name}'")));
                }
            }
        }
        Ok(())
    }
}

/// A required argument.
pub(crate) fn required(function: &str, name: &str, value: Option<Value>) -> Outcome<Value> {
    value.ok_or_else(|| Fault::new(format!("{function}() missing required argument: '{name}'")))
}

/// A flag with a default.
pub(crate) fn flag(value: Option<Value>, default: bool) -> bool {
    value.map_or(default, |v| v.truthy())
}

/// An optional integer; an absent argument and Python's `None` are `None`.
pub(crate) fn integer(value: Option<Value>) -> Outcome<Option<i128>> {
    match value {
        None | Some(Value::None(_)) => Ok(None),
        Some(value) => value.index().map(Some),
    }
}

/// An optional integer with a default.
pub(crate) fn count_arg(value: Option<Value>, default: i128) -> Outcome<i128> {
    Ok(integer(value)?.unwrap_or(default))
}

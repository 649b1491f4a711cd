//! Arguments of a call, bound to parameters as Python binds them.

use std::sync::Arc;

use super::error::{Fault, Outcome};
use super::value::Value;

/// Evaluated arguments.
#[derive(Default)]
pub(super) struct Args {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(Arc<str>, Value)>,
}

impl Args {
    /// Binds to the parameters of `function`, all optional here.
    pub(super) fn bind<const N: usize>(self, function: &str, params: [&str; N]) -> Outcome<[Option<Value>; N]> {
        let mut bound = [const { None }; N];
        let given = self.positional.len();
        if given > N {
            return Err(Fault::new(format!("{function}() takes at most {N} arguments ({given} given)")));
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
        Ok(bound)
    }
}

/// A required argument.
pub(super) fn required(function: &str, name: &str, value: Option<Value>) -> Outcome<Value> {
    value.ok_or_else(|| Fault::new(format!("{function}() missing required argument: '{name}'")))
}

/// A flag with a default.
pub(super) fn flag(value: Option<Value>, default: bool) -> bool {
    value.map_or(default, |v| v.truthy())
}

/// An optional integer; `None` where absent or Python's `None`.
pub(super) fn integer(value: Option<Value>) -> Outcome<Option<i128>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => value.index().map(Some),
    }
}

//! Macros, and calls of all kinds: of macros, methods, functions and recursive loops.

use std::rc::Rc;
use std::sync::Arc;

use crate::builtins::args::Args;
use crate::builtins::{globals, methods};
use crate::error::{Fault, Outcome};
use crate::eval::interpreter::Interpreter;
use crate::syntax::ast::{MacroDef, Name};
use crate::value::json::dict_of;
use crate::value::types::{MacroValue, Scope, Value};

impl Interpreter<'_> {
    /// A macro that sees the variables of `scope`.
    pub(crate) fn make_macro(&mut self, def: &Arc<MacroDef>, scope: &Rc<Scope>) -> Outcome<Value> {
        self.run.make(128)?;
        if !scope.kept.replace(true) {
            self.kept.push(scope.clone());
        }
        Ok(Value::Macro(Rc::new(MacroValue { def: def.clone(), scope: scope.clone() })))
    }

    /// Calls a macro. Its arguments are bound as Jinja2's `Macro.__call__` does it.
    fn call_macro(&mut self, called: &MacroValue, args: Args) -> Outcome<Value> {
        let run = self.run;
        let _level = run.deeper()?;
        let def = &called.def;
        let shown = def.name.as_deref().unwrap_or("caller");
        let Args { positional, mut named } = args;
        let scope = Scope::inside(&called.scope);
        let mut positional = positional.into_iter();
        if def.takes.caller && !def.params.iter().any(|(p, _)| &**p == "caller") {
            let given = take(&mut named, "caller");
            let caller = given.unwrap_or_else(|| Value::undefined("No caller defined"));
            scope.set(&Arc::from("caller"), caller);
        }
        for (param, default) in &def.params {
            let by_name = take(&mut named, param);
            let value = match (positional.next(), by_name, default) {
                (Some(_), Some(_), _) => {
                    return Err(Fault::new(format!("macro '{shown}' got multiple values for argument '{param}'")));
                }
                (Some(value), None, _) | (None, Some(value), _) => value,
                (None, None, Some(default)) => self.eval(default, &scope)?,
                (None, None, None) => Value::undefined(format!("parameter '{param}' was not provided")),
            };
            scope.set(param, value);
        }
        if def.takes.kwargs {
            scope.set(&Arc::from("kwargs"), dict_of(run, std::mem::take(&mut named))?);
        } else if let Some((name, _)) = named.first() {
            return Err(Fault::new(format!("macro '{shown}' takes no keyword argument '{name}'")));
        }
        let rest: Vec<Value> = positional.collect();
        if def.takes.varargs {
            scope.set(&Arc::from("varargs"), Value::tuple(run, rest)?);
        } else if !rest.is_empty() {
            let most = def.params.len();
            return Err(Fault::new(format!("macro '{shown}' takes not more than {most} argument(s)")));
        }
        self.capture(&def.body, &scope)
    }

    /// `callee(args)`.
    pub(crate) fn call(&mut self, callee: &Value, args: Args) -> Outcome<Value> {
        match callee {
            Value::Macro(called) => self.call_macro(called, args),
            Value::Method(method) => methods::call(self.run, &method.0, method.1, args),
            Value::Global(function) => globals::call(self.run, *function, args),
            Value::Joiner(joiner) => Ok(globals::call_joiner(joiner)),
            Value::Loop(state) => self.call_loop(state, args),
            other => Err(other.fault(|t| format!("'{t}' object is not callable"))),
        }
    }
}

/// Takes the argument of this name.
fn take(named: &mut Vec<(Name, Value)>, name: &str) -> Option<Value> {
    let at = named.iter().position(|(n, _)| **n == *name)?;
    Some(named.remove(at).1)
}

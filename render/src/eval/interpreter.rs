//! The state of one render: its variables and its output. What statements and expressions do with it is in the other
//! files of this folder.

use std::rc::Rc;

use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::syntax::ast::Name;
use crate::value::repr;
use crate::value::text::escape;
use crate::value::types::{Global, Map, Scope, Text, Value};

/// The state of one render.
pub(crate) struct Interpreter<'r> {
    pub(crate) run: &'r Run,
    context: Map,
    /// The texts being written: first the render's, then those of the blocks that are being captured, innermost last.
    outputs: Vec<String>,
    /// Scopes that macros refer to. Such a scope may hold the macro itself, so it is emptied at the end.
    pub(crate) kept: Vec<Rc<Scope>>,
    /// Whether output is HTML-escaped: `{% autoescape %}`.
    pub(crate) escaping: bool,
}

impl<'r> Interpreter<'r> {
    pub(crate) fn new(run: &'r Run, context: Map) -> Interpreter<'r> {
        Interpreter { run, context, outputs: vec![String::new()], kept: Vec::new(), escaping: false }
    }

    /// Ends the render with its text.
    pub(crate) fn finish(mut self) -> String {
        for scope in self.kept.drain(..) {
            drop(scope.variables.take());
        }
        self.outputs.pop().unwrap_or_default()
    }

    /// The value of a variable: from the scopes, else from the context, else from the environment.
    pub(crate) fn variable(&self, name: &Name, scope: &Scope) -> Value {
        if let Some(value) = scope.get(name) {
            return value;
        }
        if let Some(value) = self.context.get_str(name) {
            self.run.read_variable(name);
            return value.clone();
        }
        if let Some(function) = Global::named(name) {
            return Value::Global(function);
        }
        if &**name == "loop" || &**name == "caller" {
            return Value::undefined(format!("'{name}' is undefined"));
        }
        self.run.read_variable(name);
        Value::undefined(format!("'{name}' is undefined"))
    }

    /// Appends to the output.
    pub(crate) fn write(&mut self, text: &str) -> Outcome<()> {
        self.run.scan(text.len())?;
        let captured = self.outputs.len() > 1;
        if captured {
            self.run.make(text.len())?;
        }
        let limit = self.run.limits().output_bytes;
        if let Some(out) = self.outputs.last_mut() {
            if !captured && out.len() + text.len() > limit {
                return Err(Fault::limit(format!("more than {limit} bytes of text")));
            }
            out.push_str(text);
        }
        Ok(())
    }

    /// Writes a value, as `{{ value }}` does.
    pub(crate) fn emit(&mut self, value: &Value) -> Outcome<()> {
        match value {
            Value::Str(text) if self.escaping => {
                let escaped = escape(self.run, text)?;
                self.write(&escaped.s)
            }
            Value::Str(text) => self.write(&text.s),
            Value::Undefined(_) => Ok(()),
            other => {
                let text = repr::string(self.run, other)?;
                let text = if self.escaping { escape(self.run, &Text::plain(text))?.s } else { text.into() };
                self.write(&text)
            }
        }
    }

    /// Starts to capture what is written.
    pub(crate) fn start_capture(&mut self) {
        self.outputs.push(String::new());
    }

    /// Ends the innermost capture and returns what was written since it started.
    pub(crate) fn end_capture(&mut self) -> String {
        self.outputs.pop().unwrap_or_default()
    }
}

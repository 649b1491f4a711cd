//! The state of one render: its variables and its output. What statements and expressions do with it is in the other
//! files of this folder.

use std::rc::Rc;

use crate::error::{Fault, Outcome, SourcePosition};
use crate::marks::Mark;
use crate::run::Run;
use crate::syntax::ast::Name;
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::text::escape;
use crate::value::types::{Global, Map, Scope, Text, Value};

/// The state of one render.
pub(crate) struct Interpreter<'r> {
    pub(crate) run: &'r Run,
    context: Map,
    /// The texts being written: first the render's, then those of the blocks that are being captured, innermost last.
    outputs: Vec<Buffer>,
    /// Scopes that macros refer to. Such a scope may hold the macro itself, so it is emptied at the end.
    pub(crate) kept: Vec<Rc<Scope>>,
    /// Whether output is HTML-escaped: `{% autoescape %}`.
    pub(crate) escaping: bool,
}

impl<'r> Interpreter<'r> {
    pub(crate) fn new(run: &'r Run, context: Map) -> Interpreter<'r> {
        Interpreter { run, context, outputs: vec![Buffer::default()], kept: Vec::new(), escaping: false }
    }

    /// Ends the render with its text.
    pub(crate) fn finish(mut self) -> Buffer {
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

    /// Appends a text of the template to the output.
    pub(crate) fn write(&mut self, text: &str) -> Outcome<()> {
        if let Some(out) = self.room(text.len())? {
            out.push_str(text);
        }
        Ok(())
    }

    /// Appends a text with its labels to the output.
    fn write_text(&mut self, text: &Text) -> Outcome<()> {
        let run = self.run;
        match self.room(text.s.len())? {
            Some(out) => out.push_text(run, text),
            None => Ok(()),
        }
    }

    /// Pays for `bytes` of output, and returns where they go.
    fn room(&mut self, bytes: usize) -> Outcome<Option<&mut Buffer>> {
        self.run.scan(bytes)?;
        let captured = self.outputs.len() > 1;
        if captured {
            self.run.make(bytes)?;
        }
        let limit = self.run.limits().output_bytes;
        match self.outputs.last_mut() {
            Some(out) if !captured && out.len() + bytes > limit => {
                Err(Fault::limit(format!("more than {limit} bytes of text")))
            }
            out => Ok(out),
        }
    }

    /// Writes a value, as `{{ value }}` does.
    pub(crate) fn emit(&mut self, value: &Value) -> Outcome<()> {
        match value {
            Value::Str(text) if self.escaping => {
                let escaped = escape(self.run, text)?;
                self.write_text(&escaped)
            }
            Value::Str(text) => self.write_text(text),
            Value::Undefined(_) => Ok(()),
            other => {
                let text = repr::soft_string(self.run, other)?;
                let text = if self.escaping { escape(self.run, &text)? } else { text };
                self.write_text(&text)
            }
        }
    }

    /// How many bytes were written until now.
    pub(crate) fn written(&self) -> usize {
        self.outputs.last().map_or(0, Buffer::len)
    }

    /// Records that a loop wrote all since `start` for the element of this mark. Captured text has no such records.
    pub(crate) fn wrote_item(&mut self, start: usize, mark: Mark) -> Outcome<()> {
        match self.outputs.as_mut_slice() {
            [out] => out.wrote_item(self.run, start, mark),
            _ => Ok(()),
        }
    }

    /// Records which statement wrote all since `start`. Captured text has no such records: it has the position of the statement
    /// that writes it in the end.
    pub(crate) fn wrote_statement(&mut self, start: usize, at: SourcePosition) -> Outcome<()> {
        match self.outputs.as_mut_slice() {
            [out] => out.wrote_statement(self.run, start, at),
            _ => Ok(()),
        }
    }

    /// Starts to capture what is written.
    pub(crate) fn start_capture(&mut self) {
        self.outputs.push(Buffer::default());
    }

    /// Ends the innermost capture and returns what was written since it started.
    pub(crate) fn end_capture(&mut self) -> Buffer {
        self.outputs.pop().unwrap_or_default()
    }
}

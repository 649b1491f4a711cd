//! `{% for %}` and its `loop` variable.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::builtins::args::{Args, required};
use crate::error::{Fault, Outcome};
use crate::eval::interpreter::Interpreter;
use crate::eval::statements::Flow;
use crate::marks::Mark;
use crate::run::Run;
use crate::syntax::ast::For;
use crate::value::types::{LoopState, Scope, Value};

impl Interpreter<'_> {
    /// Runs a `for` loop. `level` counts the recursive calls of the loop around this one.
    pub(crate) fn for_loop(&mut self, def: &Arc<For>, iterable: &Value, scope: &Rc<Scope>, level: u32) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        let state = Rc::new(LoopState::new(run, def, iterable, scope, level)?);
        let mut iterated = false;
        while let Some(item) = state.advance(self)? {
            iterated = true;
            run.steps(1)?;
            let inner = Scope::inside(scope);
            inner.set(&Arc::from("loop"), Value::Loop(state.clone()));
            let mark = if run.labels() { item.mark() } else { Mark::NONE };
            self.assign(&def.target, item, &inner)?;
            let start = self.written();
            let flow = self.body(&def.body, &inner)?;
            self.wrote_item(start, mark)?;
            if flow == Flow::Break {
                break;
            }
        }
        if !iterated {
            self.body(&def.otherwise, &Scope::inside(scope))?;
        }
        Ok(())
    }

    /// `loop(children)` in a recursive loop.
    pub(crate) fn call_loop(&mut self, state: &LoopState, args: Args) -> Outcome<Value> {
        if !state.def.recursive {
            return Err(Fault::new("The loop must have the 'recursive' marker to be called recursively."));
        }
        let [children] = args.bind("loop", ["iterable"])?;
        let children = required("loop", "iterable", children)?;
        self.start_capture();
        let result = self.for_loop(&state.def, &children, &state.scope, state.level + 1);
        let text = self.end_capture();
        result?;
        Ok(text.into())
    }
}

impl LoopState {
    fn new(run: &Run, def: &Arc<For>, iterable: &Value, scope: &Rc<Scope>, level: u32) -> Outcome<LoopState> {
        let elements = iterable.elements(run)?;
        run.make(256)?;
        Ok(LoopState {
            def: def.clone(),
            scope: scope.clone(),
            depth: Value::nesting(run, &elements)?,
            rest: RefCell::new(elements.into()),
            ahead: RefCell::default(),
            previous: RefCell::default(),
            current: RefCell::default(),
            changed: RefCell::default(),
            index: Cell::new(0),
            level,
        })
    }

    /// The next element that passes the loop's filter.
    fn pull(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        loop {
            let next = self.rest.borrow_mut().pop_front();
            let (Some(item), Some(filter)) = (&next, &self.def.filter) else { return Ok(next) };
            it.run.steps(1)?;
            let scope = Scope::inside(&self.scope);
            it.assign(&self.def.target, item.clone(), &scope)?;
            if it.eval(filter, &scope)?.holds(it.run) {
                return Ok(next);
            }
        }
    }

    /// Moves on to the next element.
    fn advance(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        let ready = self.ahead.borrow_mut().pop_front();
        let next = match ready {
            Some(item) => Some(item),
            None => self.pull(it)?,
        };
        if next.is_some() {
            self.index.set(self.index.get() + 1);
        }
        *self.previous.borrow_mut() = self.current.replace(next.clone());
        Ok(next)
    }

    /// The element after the current one.
    fn peek(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        if self.ahead.borrow().is_empty() {
            let next = self.pull(it)?;
            self.ahead.borrow_mut().extend(next);
        }
        Ok(self.ahead.borrow().front().cloned())
    }

    /// The number of all elements, from the first to the last.
    fn length(&self, it: &mut Interpreter<'_>) -> Outcome<usize> {
        if self.def.filter.is_some() {
            while let Some(item) = self.pull(it)? {
                self.ahead.borrow_mut().push_back(item);
            }
        }
        Ok(self.index.get() + self.ahead.borrow().len() + self.rest.borrow().len())
    }

    /// `loop.name`; `None` if that is not an attribute of `loop`.
    pub(crate) fn attr(&self, it: &mut Interpreter<'_>, name: &str) -> Outcome<Option<Value>> {
        let int = |n: usize| Value::int(n as i128);
        let index = self.index.get();
        Ok(Some(match name {
            "index" => int(index),
            "index0" => int(index.saturating_sub(1)),
            "first" => Value::bool(index == 1),
            "last" => Value::bool(self.peek(it)?.is_none()),
            "length" => int(self.length(it)?),
            "revindex" => int(self.length(it)? + 1 - index),
            "revindex0" => int(self.length(it)? - index),
            "depth" => Value::int(i128::from(self.level) + 1),
            "depth0" => Value::int(i128::from(self.level)),
            "previtem" => {
                let previous = self.previous.borrow().clone();
                previous.unwrap_or_else(|| Value::undefined("there is no previous item"))
            }
            "nextitem" => self.peek(it)?.unwrap_or_else(|| Value::undefined("there is no next item")),
            _ => return Ok(None),
        }))
    }
}

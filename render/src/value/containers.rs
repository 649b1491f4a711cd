//! The contents of containers: their elements, their length, and changes in place.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::Outcome;
use crate::labels::Encoding;
use crate::run::{Run, VALUE_BYTES};
use crate::value::types::{Dict, Entry, List, Namespace, Range, Value, View};

impl Value {
    /// All elements, in the order of a `for` loop. This takes the elements out of an iterator.
    pub(crate) fn elements(&self, run: &Run) -> Outcome<Vec<Value>> {
        Ok(match self {
            Value::Undefined(_) => Vec::new(),
            Value::Str(t) => {
                run.make_items(t.s.len())?;
                let char = |(at, c): (usize, char)| t.s.get(at..at + c.len_utf8()).unwrap_or("");
                let chars = t.s.char_indices().map(char);
                chars.map(|c| t.part(run, c, Encoding::Slice).map(Value::Str)).collect::<Outcome<_>>()?
            }
            Value::List(l) => {
                run.read_element(&l.source);
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
                (0..r.len()).map(|i| Value::int(r.start + i as i128 * r.step)).collect()
            }
            Value::Iter(iter) => iter.items.take().into(),
            other => return Err(other.fault(|t| format!("'{t}' object is not iterable"))),
        })
    }

    /// `len(value)`.
    pub(crate) fn length(&self, run: &Run) -> Outcome<usize> {
        self.decide(run);
        Ok(match self {
            Value::Undefined(_) => 0,
            Value::Str(t) => {
                run.scan(t.s.len())?;
                t.s.chars().count()
            }
            Value::List(l) => l.items.borrow().len(),
            Value::Tuple(t) => t.items.len(),
            Value::Dict(d) | Value::View(_, d) => {
                run.read_whole(&d.source);
                d.map.borrow().len()
            }
            Value::Range(r) => r.len(),
            other => return Err(other.fault(|t| format!("object of type '{t}' has no len()"))),
        })
    }
}

impl View {
    /// The elements that this view shows of `dict`.
    fn elements(self, run: &Run, dict: &Rc<Dict>) -> Outcome<Vec<Value>> {
        run.read_whole(&dict.source);
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
    pub(crate) fn len(&self) -> usize {
        let span = if self.step > 0 { self.stop - self.start } else { self.start - self.stop };
        let step = self.step.abs();
        usize::try_from((span + step - 1) / step).unwrap_or(0)
    }
}

impl List {
    /// Inserts `value` at `at`, or at the end if that is further. The list may come to contain itself.
    pub(crate) fn grow(self: &Rc<Self>, run: &Run, at: usize, value: Value) -> Outcome<()> {
        run.will_change(self, &self.mutated);
        let depth = Value::nesting(run, std::slice::from_ref(&value))?;
        self.depth.set(self.depth.get().max(depth));
        let mut items = self.items.borrow_mut();
        let at = at.min(items.len());
        run.scan((items.len() - at) * VALUE_BYTES)?;
        items.insert(at, value);
        Ok(())
    }
}

impl Dict {
    /// Sets an entry in place.
    pub(crate) fn set(self: &Rc<Self>, run: &Run, key: &Value, value: Value) -> Outcome<()> {
        run.will_change(self, &self.mutated);
        let depth = Value::nesting(run, std::slice::from_ref(&value))?;
        self.depth.set(self.depth.get().max(depth));
        run.make(size_of::<Entry>() * 2)?;
        self.map.borrow_mut().insert(key.key(run)?, key.clone(), value);
        Ok(())
    }
}

impl Namespace {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.attrs.borrow().iter().find(|(n, _)| **n == *name).map(|(_, v)| v.clone())
    }

    pub(crate) fn set(&self, run: &Run, name: &Arc<str>, value: Value) -> Outcome<()> {
        if name.starts_with('_') {
            run.refused_by_transformers("namespace")?;
        }
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

//! The accounts of one render: steps, bytes and depth used, what was read of the context, and which values must be emptied
//! at the end.
//!
//! Everything that is cheap for a template to ask for and expensive to do is paid for here first. Nothing here knows
//! values or evaluates.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::clock::Clock;
use crate::error::{Fault, Outcome};
use crate::limits::Limits;
use crate::reads::Reads;

/// What a value counts for among the [`Limits::value_bytes`]: at least its real size.
pub(crate) const VALUE_BYTES: usize = 32;

/// A container that can be emptied.
pub(crate) trait Clear {
    fn clear(&self);
}

/// The accounts of one render.
pub(crate) struct Run {
    limits: Limits,
    pub(crate) clock: Clock,
    fuel: Cell<u64>,
    bytes: Cell<usize>,
    depth: Cell<u32>,
    too_deep: Cell<bool>,
    /// Present if reads are recorded.
    reads: Option<RefCell<Reads>>,
    changing: RefCell<Vec<Rc<dyn Clear>>>,
}

impl Run {
    pub(crate) fn new(limits: Limits, clock: Clock, record_reads: bool) -> Run {
        Run {
            clock,
            fuel: Cell::new(limits.fuel),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            too_deep: Cell::new(false),
            reads: record_reads.then(RefCell::default),
            changing: RefCell::default(),
            limits,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn records_reads(&self) -> bool {
        self.reads.is_some()
    }

    /// The number of steps that may still be taken.
    pub(crate) fn left(&self) -> u64 {
        self.fuel.get()
    }

    /// Pays for `n` steps.
    pub(crate) fn steps(&self, n: u64) -> Outcome<()> {
        match self.fuel.get().checked_sub(n) {
            Some(left) => {
                self.fuel.set(left);
                Ok(())
            }
            None => {
                self.fuel.set(0);
                Err(Fault::limit(format!("more than {} steps: an endless loop?", self.limits.fuel)))
            }
        }
    }

    /// Pays for reading or writing `bytes`.
    pub(crate) fn scan(&self, bytes: usize) -> Outcome<()> {
        self.steps(bytes as u64 / 64 + 1)
    }

    /// Pays for a value of `bytes`. To be called before the value is made, so that its memory is never allocated if the
    /// limit is reached.
    pub(crate) fn make(&self, bytes: usize) -> Outcome<()> {
        let used = self.bytes.get().saturating_add(bytes);
        if used > self.limits.value_bytes {
            return Err(Fault::limit(format!("values of more than {} bytes", self.limits.value_bytes)));
        }
        self.bytes.set(used);
        self.scan(bytes)
    }

    /// Pays for `n` elements of a list.
    pub(crate) fn make_items(&self, n: usize) -> Outcome<()> {
        self.make(n.saturating_mul(VALUE_BYTES))
    }

    /// Goes one level deeper, until the guard is dropped.
    pub(crate) fn deeper(&self) -> Outcome<Level<'_>> {
        let depth = self.depth.get() + 1;
        if depth > self.limits.depth {
            self.too_deep.set(true);
            return Err(Fault::limit(format!("nested deeper than {}: an endless recursion?", self.limits.depth)));
        }
        self.depth.set(depth);
        Ok(Level(&self.depth))
    }

    /// Records that `key` of the object at `path` was looked for.
    pub(crate) fn read_key(&self, path: &Option<Rc<str>>, key: &str) {
        if let (Some(reads), Some(path)) = (&self.reads, path) {
            reads.borrow_mut().key(path, key);
        }
    }

    /// Records that a variable of the context was looked for.
    pub(crate) fn read_variable(&self, name: &str) {
        if let Some(reads) = &self.reads {
            reads.borrow_mut().key("", name);
        }
    }

    /// Records that elements of the list at `path` were looked at.
    pub(crate) fn read_element(&self, path: &Option<Rc<str>>) {
        if let (Some(reads), Some(path)) = (&self.reads, path) {
            reads.borrow_mut().element(path);
        }
    }

    /// Records that the object or list at `path` was used as a whole.
    pub(crate) fn read_whole(&self, path: &Option<Rc<str>>) {
        if let (Some(reads), Some(path)) = (&self.reads, path) {
            reads.borrow_mut().took_whole(path);
        }
    }

    /// Must be called before a container changes in place. `known` belongs to the container and says whether this was
    /// called before.
    pub(crate) fn will_change<C: Clear + 'static>(&self, container: &Rc<C>, known: &Cell<bool>) {
        if !known.replace(true) {
            self.remember(container.clone());
        }
    }

    /// Remembers a container that may come to contain itself.
    pub(crate) fn remember(&self, container: Rc<dyn Clear>) {
        self.changing.borrow_mut().push(container);
    }

    /// Whether the render ended because it nested too deep.
    pub(crate) fn went_too_deep(&self) -> bool {
        self.too_deep.get()
    }

    /// Ends the render. Every container that could contain itself is emptied, so that no cycle leaks. They are emptied one
    /// after another, so that a long chain of values is not dropped by deep recursion.
    pub(crate) fn finish(self) -> Reads {
        for container in self.changing.borrow().iter() {
            container.clear();
        }
        self.reads.map(RefCell::into_inner).unwrap_or_default()
    }
}

/// One level of depth, until dropped.
pub(crate) struct Level<'r>(&'r Cell<u32>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

//! One render's accounts: fuel, bytes, depth, what was read, what must be taken apart at the end.
//! Everything that can cost a template's author nothing and us a lot passes through here.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::clock::Clock;
use super::error::{Fault, Outcome};
use super::reads::Reads;
use super::value::{Dict, List, Namespace, Value};

/// What one render may use up. A legitimate template stays far below the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Steps: expressions and statements evaluated; touching 64 bytes costs one more.
    pub fuel: u64,
    /// Bytes of the rendered text.
    pub output_bytes: usize,
    /// Bytes that all values made during the render take together, dead ones included; so no more can be
    /// alive at any moment.
    pub value_bytes: usize,
    /// Nesting of evaluation: macros in macros, loops in loops, brackets in brackets.
    pub depth: u32,
    /// Bytes of the template's source.
    pub source_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 3_000_000, output_bytes: 16 << 20, value_bytes: 64 << 20, depth: 1_000, source_bytes: 2 << 20 }
    }
}

/// How deep lists and dicts may nest.
pub(super) const NESTING: u32 = 200;

pub(super) struct Run {
    limits: Limits,
    pub(super) clock: Clock,
    fuel: Cell<u64>,
    bytes: Cell<usize>,
    depth: Cell<u32>,
    reads: Option<RefCell<Reads>>,
    mutable: RefCell<Vec<Value>>,
}

impl Run {
    pub(super) fn new(limits: Limits, clock: Clock, watch: bool) -> Run {
        Run {
            clock,
            fuel: Cell::new(limits.fuel),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            reads: watch.then(RefCell::default),
            mutable: RefCell::default(),
            limits,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn watches(&self) -> bool {
        self.reads.is_some()
    }

    /// Steps that are left.
    pub(super) fn left(&self) -> u64 {
        self.fuel.get()
    }

    /// Pays for `n` steps.
    pub(super) fn steps(&self, n: u64) -> Outcome<()> {
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

    /// Pays for reading `bytes`.
    pub(super) fn scan(&self, bytes: usize) -> Outcome<()> {
        self.steps(bytes as u64 / 64 + 1)
    }

    /// Pays for a value of `bytes`, before it is made.
    pub(super) fn make(&self, bytes: usize) -> Outcome<()> {
        let used = self.bytes.get().saturating_add(bytes);
        if used > self.limits.value_bytes {
            return Err(Fault::limit(format!("values of more than {} bytes", self.limits.value_bytes)));
        }
        self.bytes.set(used);
        self.scan(bytes)
    }

    /// Pays for `n` elements of a list.
    pub(super) fn make_items(&self, n: usize) -> Outcome<()> {
        self.make(n.saturating_mul(size_of::<Value>()))
    }

    /// Goes one level deeper; the guard comes back up.
    pub(super) fn deeper(&self) -> Outcome<Level<'_>> {
        let depth = self.depth.get() + 1;
        if depth > self.limits.depth {
            return Err(Fault::limit(format!("nested deeper than {}: an endless recursion?", self.limits.depth)));
        }
        self.depth.set(depth);
        Ok(Level(&self.depth))
    }

    pub(super) fn read_key(&self, dict: &Dict, key: &str) {
        if let (Some(reads), Some(path)) = (&self.reads, &dict.path) {
            reads.borrow_mut().key(path, key);
        }
    }

    pub(super) fn read_variable(&self, name: &str) {
        if let Some(reads) = &self.reads {
            reads.borrow_mut().key("", name);
        }
    }

    pub(super) fn read_element(&self, list: &List) {
        if let (Some(reads), Some(path)) = (&self.reads, &list.path) {
            reads.borrow_mut().element(path);
        }
    }

    pub(super) fn read_whole(&self, path: &Option<Rc<str>>) {
        if let (Some(reads), Some(path)) = (&self.reads, path) {
            reads.borrow_mut().took_whole(path);
        }
    }

    /// Remembers a list that is about to change in place.
    pub(super) fn mutates_list(&self, list: &Rc<List>) {
        if !list.mutated.replace(true) {
            self.mutable.borrow_mut().push(Value::List(list.clone()));
        }
    }

    /// Remembers a dict that is about to change in place.
    pub(super) fn mutates_dict(&self, dict: &Rc<Dict>) {
        if !dict.mutated.replace(true) {
            self.mutable.borrow_mut().push(Value::Dict(dict.clone()));
        }
    }

    /// Remembers a namespace, which is there to be changed.
    pub(super) fn namespace(&self, namespace: &Rc<Namespace>) {
        self.mutable.borrow_mut().push(Value::Namespace(namespace.clone()));
    }

    /// Ends the render. Whatever could contain itself is emptied, so that nothing leaks, and one after
    /// another, so that long chains are not dropped by recursion.
    pub(super) fn finish(self) -> Reads {
        for value in self.mutable.borrow().iter() {
            match value {
                Value::List(list) => drop(list.items.take()),
                Value::Dict(dict) => drop(dict.map.take()),
                Value::Namespace(namespace) => drop(namespace.attrs.take()),
                _ => {}
            }
        }
        self.reads.map(RefCell::into_inner).unwrap_or_default()
    }
}

/// One level of depth, until dropped.
pub(super) struct Level<'r>(&'r Cell<u32>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

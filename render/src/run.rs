//! The accounts of one render: steps, bytes and depth used, what was read of the context, and which values must be emptied
//! at the end.
//!
//! Everything that is cheap for a template to ask for and expensive to do is paid for here first. Nothing here knows
//! values or evaluates.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::clock::Clock;
use crate::error::{Fault, Outcome};
use crate::labels::{Encoding, FieldPart, Labels};
use crate::limits::Limits;
use crate::marks::{Mark, Marks, PathStep, Piece};
use crate::reads::Reads;

/// What a value counts for among the [`Limits::value_bytes`]: at least its real size.
pub(crate) const VALUE_BYTES: usize = 32;

/// A container that can be emptied.
pub(crate) trait Clear {
    fn clear(&self);
}

/// Where a container comes from. Both are absent if it does not come from the context.
#[derive(Clone, Default)]
pub(crate) struct ContainerSource {
    /// The path for [`Reads`], if reads are recorded.
    path: Option<Rc<str>>,
    /// The mark of the container's value, if the render is labelled.
    pub(crate) mark: Mark,
}

impl ContainerSource {
    pub(crate) fn new(path: Option<&str>, mark: Mark) -> ContainerSource {
        ContainerSource { path: path.map(Rc::from), mark }
    }

    /// This source; `other` gives what this one lacks.
    pub(crate) fn or(&self, other: &ContainerSource) -> ContainerSource {
        ContainerSource { path: self.path.clone().or_else(|| other.path.clone()), mark: self.mark.or(other.mark) }
    }
}

/// The accounts of one render.
pub(crate) struct Run {
    limits: Limits,
    pub(crate) clock: Clock,
    /// Whether everything is refused that transformers refuses.
    pub(crate) as_transformers: bool,
    /// The only key of an object that stands for an integer, if one does.
    pub(crate) integer_key: Option<&'static str>,
    fuel: Cell<u64>,
    bytes: Cell<usize>,
    depth: Cell<u32>,
    too_deep: Cell<bool>,
    /// Present if reads are recorded.
    reads: Option<RefCell<Reads>>,
    /// Present if the render is labelled.
    marks: Option<RefCell<Marks>>,
    changing: RefCell<Vec<Rc<dyn Clear>>>,
    /// What the template used first that transformers refuses.
    refused: Cell<Option<&'static str>>,
}

impl Run {
    pub(crate) fn new(limits: Limits, clock: Clock) -> Run {
        Run {
            clock,
            as_transformers: false,
            integer_key: None,
            fuel: Cell::new(limits.fuel),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            too_deep: Cell::new(false),
            reads: None,
            marks: None,
            changing: RefCell::default(),
            refused: Cell::new(None),
            limits,
        }
    }

    /// Notes something that transformers refuses, and refuses it where transformers is followed.
    pub(crate) fn refused_by_transformers(&self, what: &'static str) -> Outcome<()> {
        self.refused.set(self.refused.get().or(Some(what)));
        if self.as_transformers {
            return Err(Fault::new(format!("transformers refuses this: {}", why_refused(what))));
        }
        Ok(())
    }

    /// What the template used first that transformers refuses.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        self.refused.get()
    }

    /// Records the reads of this render.
    pub(crate) fn record_reads(&mut self) {
        self.reads = Some(RefCell::default());
    }

    /// Labels this render.
    pub(crate) fn label(&mut self) {
        self.marks = Some(RefCell::new(Marks::new()));
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
        self.allocate(bytes)?;
        self.scan(bytes)
    }

    fn allocate(&self, bytes: usize) -> Outcome<()> {
        let used = self.bytes.get().saturating_add(bytes);
        if used > self.limits.value_bytes {
            return Err(Fault::limit(format!("values of more than {} bytes", self.limits.value_bytes)));
        }
        self.bytes.set(used);
        Ok(())
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

    /// Records that `key` of the object at `source` was looked for.
    pub(crate) fn read_key(&self, source: &ContainerSource, key: &str) {
        if let (Some(reads), Some(path)) = (&self.reads, &source.path) {
            reads.borrow_mut().key(path, key);
        }
    }

    /// Records that a variable of the context was looked for.
    pub(crate) fn read_variable(&self, name: &str) {
        if let Some(reads) = &self.reads {
            reads.borrow_mut().key("", name);
        }
    }

    /// Records that elements of the list at `source` were looked at.
    pub(crate) fn read_element(&self, source: &ContainerSource) {
        if let (Some(reads), Some(path)) = (&self.reads, &source.path) {
            reads.borrow_mut().element(path);
        }
    }

    /// Records that the object or list at `source` was used as a whole.
    pub(crate) fn read_whole(&self, source: &ContainerSource) {
        if let (Some(reads), Some(path)) = (&self.reads, &source.path) {
            reads.borrow_mut().took_whole(path);
        }
    }

    pub(crate) fn labels(&self) -> bool {
        self.marks.is_some()
    }

    /// The mark of the value that is `step` below `parent` in the context; none unless the render is labelled.
    pub(crate) fn place(&self, parent: Mark, step: impl FnOnce() -> PathStep) -> Mark {
        match &self.marks {
            Some(marks) => marks.borrow_mut().place(parent, step()),
            None => Mark::NONE,
        }
    }

    /// The mark of a text after one more encoding.
    pub(crate) fn encoded(&self, mark: Mark, encoding: Encoding) -> Mark {
        match &self.marks {
            Some(marks) if mark.is_some() => marks.borrow_mut().encoded(mark, encoding),
            _ => mark,
        }
    }

    /// The mark of the punctuation that an encoding adds to a text or a container.
    pub(crate) fn syntax(&self, mark: Mark, encoding: Encoding) -> Mark {
        self.encoded(mark.part(FieldPart::Syntax), encoding)
    }

    /// Whether two neighbours of this mark are one piece.
    pub(crate) fn joins(&self, mark: Mark) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.borrow().joins(mark))
    }

    /// The mark of a result that cannot be followed, from the first of these that is a mark.
    pub(crate) fn other(&self, from: impl IntoIterator<Item = Mark>) -> Mark {
        if self.marks.is_none() {
            return Mark::NONE;
        }
        let first = from.into_iter().find(|mark| mark.is_some());
        self.encoded(first.unwrap_or_default(), Encoding::Other)
    }

    /// Records that a value of this mark was tested.
    pub(crate) fn decide(&self, mark: Mark) {
        if let Some(marks) = &self.marks {
            marks.borrow_mut().decide(mark);
        }
    }

    /// Records that a text was looked for in a value of this mark, or compared with it.
    pub(crate) fn seek(&self, mark: Mark, text: &str) {
        if let Some(marks) = &self.marks {
            marks.borrow_mut().seek(mark, text);
        }
    }

    /// Pays for the labels of a text, one for each piece. They take no steps, so that a labelled render takes as many as a
    /// plain one.
    pub(crate) fn make_pieces(&self, n: usize) -> Outcome<()> {
        if n == 0 {
            return Ok(());
        }
        self.allocate(n.saturating_mul(size_of::<Piece>()))
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
    ///
    /// Returns what was read, and the labels of a text of `length` bytes, if the render is labelled.
    pub(crate) fn finish(self, pieces: &[Piece], items: &[Piece], length: usize) -> (Reads, Option<Labels>) {
        for container in self.changing.borrow().iter() {
            container.clear();
        }
        let mut reads = self.reads.map(RefCell::into_inner).unwrap_or_default();
        let labels = self.marks.map(RefCell::into_inner).map(|mut marks| {
            reads.decided_by(marks.decided(), marks.sought());
            marks.labels(pieces, items, length)
        });
        (reads, labels)
    }
}

/// One level of depth, until dropped.
pub(crate) struct Level<'r>(&'r Cell<u32>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What transformers has against it.
pub(crate) fn why_refused(what: &str) -> String {
    match what {
        "dict" => "its `dict` has no method but `fromkeys`".to_owned(),
        "from_json" => "it has no filter `from_json`".to_owned(),
        "namespace" => "its namespaces take no name that begins with `_`".to_owned(),
        method => format!("its sandbox forbids `{method}`, which changes a value"),
    }
}

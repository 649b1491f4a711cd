//! The values that are open: for each, which alternatives of its schema it may still fit.

use unjinja_runtime::literals::Start;

use crate::schema::{NodeId, Run};

/// An alternative that a value may still fit.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// Which of the frame's nodes it belongs to.
    pub(super) slot: usize,
    /// Which alternative of that node it is.
    pub(super) alternative: usize,
    /// Whether the value may still fit it.
    pub(super) live: bool,
    /// Whether the piece that was just read rules it out.
    pub(super) dying: bool,
    /// The listed strings or numbers that begin like the value.
    pub(super) listed: (usize, usize),
    /// How far each pattern has read the string.
    pub(super) runs: Vec<Run>,
    /// How many items fit each node that the array must contain.
    pub(super) contained: Vec<u32>,
}

/// A node that a value has to fit for some alternative of the value around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) node: NodeId,
    pub(super) live: bool,
}

/// An open value.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) start: Start,
    /// Whether this value, with all inside, is not judged: every value fits, or it was judged already.
    pub(super) skipped: bool,
    pub(super) slots: Vec<Slot>,
    pub(super) threads: Vec<Thread>,
    /// Which alternatives of the value around it need which slots; sorted. An alternative falls once all its slots have.
    pub(super) links: Vec<(usize, usize)>,
    /// Which alternatives of the array around it look for items that fit which slot: the alternative, the place in its
    /// `contained`, and the slot.
    pub(super) witnesses: Vec<(usize, usize, usize)>,
    /// How many items or members have begun.
    pub(super) count: usize,
    /// The required names that have come, as bits.
    pub(super) seen: Vec<u64>,
    /// The name of the member that is being read. Long names are cut.
    pub(super) name: String,
    /// Whether the name was cut.
    pub(super) name_cut: bool,
    /// What the member's value has to fit, for which alternative.
    pub(super) demands: Vec<(usize, NodeId)>,
    /// Whether the member's value is not judged.
    pub(super) skips_member: bool,
}

impl Frame {
    pub(super) fn new() -> Self {
        Self {
            start: Start::Null,
            skipped: false,
            slots: Vec::new(),
            threads: Vec::new(),
            links: Vec::new(),
            witnesses: Vec::new(),
            count: 0,
            seen: Vec::new(),
            name: String::new(),
            name_cut: false,
            demands: Vec::new(),
            skips_member: false,
        }
    }

    /// Makes it the frame of a new value. Memory is kept.
    pub(super) fn open(&mut self, start: Start, names: usize) {
        self.start = start;
        self.skipped = false;
        self.slots.clear();
        self.threads.clear();
        self.links.clear();
        self.witnesses.clear();
        self.count = 0;
        self.seen.clear();
        if start == Start::Object {
            self.seen.resize(names.div_ceil(64), 0);
        }
        self.begin_name();
    }

    pub(super) fn begin_name(&mut self) {
        self.name.clear();
        self.name_cut = false;
        self.demands.clear();
        self.skips_member = false;
    }

    /// Judges nothing more of the value.
    pub(super) fn skip(&mut self) {
        self.skipped = true;
        self.threads.clear();
    }

    pub(super) fn see(&mut self, name: usize) {
        if let Some(bits) = self.seen.get_mut(name / 64) {
            *bits |= 1 << (name % 64);
        }
    }

    pub(super) fn has_seen(&self, name: usize) -> bool {
        self.seen.get(name / 64).is_some_and(|bits| bits & (1 << (name % 64)) != 0)
    }

    /// The slot of a node.
    pub(super) fn slot(&mut self, node: NodeId) -> usize {
        self.slots.iter().position(|slot| slot.node == node).unwrap_or_else(|| {
            self.slots.push(Slot { node, live: true });
            self.slots.len() - 1
        })
    }
}

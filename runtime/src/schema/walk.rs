//! A walk through all values of a document, with the place of each.

use serde_json::Value;

use super::members::members;
use super::pointer::extend_pointer;

/// Yields values of a document with their numbers. It begins with the document itself, whose number is 0, and goes into those
/// values that are [entered](Self::enter). Every value comes before those in it, in the order of the document.
#[derive(Debug)]
pub struct Walk<'s> {
    /// The values that were visited or will be: each with the number of the value that contains it, and its place there.
    known: Vec<(usize, PathStep<'s>)>,
    /// The values that will be visited, with their numbers; the next one is the last.
    pending: Vec<(&'s Value, usize)>,
}

/// Where a value is in the value that contains it.
#[derive(Clone, Copy, Debug)]
enum PathStep<'s> {
    Member(&'s str),
    Item(usize),
}

impl<'s> Walk<'s> {
    /// A walk through a document.
    pub fn through(root: &'s Value) -> Self {
        Self { known: vec![(0, PathStep::Item(0))], pending: vec![(root, 0)] }
    }

    /// Plans to visit what a value contains, except members with certain names.
    pub fn enter(&mut self, value: &'s Value, number: usize, except: &[&str]) {
        match value {
            Value::Object(object) => {
                for (name, member) in members(object).into_iter().rev() {
                    if !except.contains(&name.as_str()) {
                        self.plan(member, (number, PathStep::Member(name)));
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().rev() {
                    self.plan(item, (number, PathStep::Item(index)));
                }
            }
            _ => {}
        }
    }

    fn plan(&mut self, value: &'s Value, step: (usize, PathStep<'s>)) {
        self.pending.push((value, self.known.len()));
        self.known.push(step);
    }

    /// How many values have a number.
    pub(super) fn known(&self) -> usize {
        self.known.len()
    }

    /// The JSON pointer to the value with a number.
    pub fn pointer(&self, mut number: usize) -> String {
        let mut path = Vec::new();
        while number != 0 {
            let (within, step) = self.known[number];
            path.push(step);
            number = within;
        }
        let mut pointer = String::new();
        for step in path.into_iter().rev() {
            match step {
                PathStep::Member(name) => extend_pointer(&mut pointer, name),
                PathStep::Item(index) => extend_pointer(&mut pointer, &index.to_string()),
            }
        }
        pointer
    }
}

impl<'s> Iterator for Walk<'s> {
    type Item = (&'s Value, usize);

    fn next(&mut self) -> Option<Self::Item> {
        self.pending.pop()
    }
}

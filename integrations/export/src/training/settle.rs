//! Takes a statement apart until each part is written by the model always or never.

use std::collections::BTreeMap;

use super::conditions::telling;
use super::expression::{literal, quoted};
use super::probe::{Execution, Written};

/// The maximum number of nested conditions that tell text of the model from text of the prompt.
const DEEPEST: usize = 4;

/// What is written in place of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// `{{ … }}`
    Emit(String),
    /// The beginning, the middle and the end of a text: the number of characters of the first and of the last.
    Slices(String, usize, usize),
    /// `{% if … %}`
    If(String, Vec<Segment>, Vec<Segment>),
}

/// An operand of a statement.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) text: String,
    /// The operator before it.
    pub(super) operator: char,
}

/// Whether the model writes what an operand writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    Nothing,
    All,
    None,
    Part,
}

fn share(written: &Written) -> Share {
    match (written.mask.contains(&true), written.mask.contains(&false)) {
        (false, false) => Share::Nothing,
        (true, false) => Share::All,
        (false, true) => Share::None,
        (true, true) => Share::Part,
    }
}

/// The share of an operand that is the same in all runs.
fn steady(runs: &[&Execution], at: usize) -> Option<Share> {
    let mut found = Share::Nothing;
    for run in runs {
        match share(run.pieces.get(at)?) {
            Share::Nothing => {}
            Share::Part => return None,
            other if found == Share::Nothing || found == other => found = other,
            _ => return None,
        }
    }
    Some(found)
}

/// A statement and its runs.
pub(super) struct Settling {
    pub(super) operands: Vec<Operand>,
    pub(super) runs: Vec<Execution>,
    pub(super) conditions: Vec<String>,
}

impl Settling {
    /// The parts of the statement; nothing if no condition tells what the model writes.
    pub(super) fn settle(mut self) -> Option<Vec<Segment>> {
        self.cut_literals();
        let runs: Vec<&Execution> = self.runs.iter().collect();
        self.range(0..self.operands.len(), &runs, DEEPEST)
    }

    /// Cuts string literals wherever a run changes between the model and the prompt.
    fn cut_literals(&mut self) {
        let mut at = 0;
        while at < self.operands.len() {
            let cut = self.runs.iter().find_map(|run| {
                let mask = &run.pieces.get(at)?.mask;
                mask.windows(2).position(|pair| pair[0] != pair[1]).map(|place| place + 1)
            });
            let text = self.operands.get(at).and_then(|operand| literal(&operand.text));
            let parts = cut.and_then(|cut| {
                let text = text.as_ref()?;
                Some((text.get(..cut)?.to_owned(), text.get(cut..)?.to_owned(), cut))
            });
            let same = self.runs.iter().all(|run| run.pieces.get(at).map(|piece| &piece.text) == text.as_ref());
            if let Some((first, second, cut)) = parts.filter(|_| same) {
                if let Some(operand) = self.operands.get_mut(at) {
                    operand.text = quoted(&first);
                }
                self.operands.insert(at + 1, Operand { text: quoted(&second), operator: '~' });
                for run in &mut self.runs {
                    if let Some(piece) = run.pieces.get_mut(at) {
                        let rest = Written { text: piece.text.split_off(cut), mask: piece.mask.split_off(cut) };
                        run.pieces.insert(at + 1, rest);
                    }
                }
            }
            at += 1;
        }
    }

    fn range(&self, range: std::ops::Range<usize>, runs: &[&Execution], depth: usize) -> Option<Vec<Segment>> {
        let shares: Vec<Option<Share>> = range.clone().map(|at| steady(runs, at)).collect();
        let unsteady = |share: &Option<Share>| share.is_none();
        let (Some(first), Some(last)) = (shares.iter().position(unsteady), shares.iter().rposition(unsteady)) else {
            return Some(self.grouped(range, &shares));
        };
        let (from, to) = (range.start + first, range.start + last + 1);
        let middle = self.unsteady(from..to, runs, depth)?;
        let mut found = self.grouped(range.start..from, shares.get(..first)?);
        found.extend(middle);
        found.extend(self.grouped(to..range.end, shares.get(last + 1..)?));
        Some(found)
    }

    fn unsteady(&self, range: std::ops::Range<usize>, runs: &[&Execution], depth: usize) -> Option<Vec<Segment>> {
        if let Some(slices) = self.slices(&range, runs) {
            return Some(vec![slices]);
        }
        if depth == 0 {
            return None;
        }
        let shares = |run: &Execution| -> Vec<Share> {
            run.pieces.get(range.clone()).unwrap_or_default().iter().map(share).collect()
        };
        let all: Vec<Vec<Share>> = runs.iter().map(|run| shares(run)).collect();
        let by_model = |shares: &Vec<Share>| shares.iter().any(|share| matches!(share, Share::All | Share::Part));
        let mut wanted: Vec<Vec<bool>> = vec![all.iter().map(by_model).collect()];
        let mut classes: BTreeMap<&Vec<Share>, usize> = BTreeMap::new();
        all.iter().for_each(|shares| *classes.entry(shares).or_default() += 1);
        wanted.extend(classes.keys().take(8).map(|class| all.iter().map(|shares| shares == *class).collect()));
        let answers: Vec<Vec<bool>> = (0..self.conditions.len())
            .map(|at| runs.iter().map(|run| run.answers.get(at).copied().unwrap_or_default()).collect())
            .collect();
        for wanted in wanted.iter().filter(|wanted| wanted.contains(&true) && wanted.contains(&false)) {
            let Some(condition) = telling(&self.conditions, &answers, wanted) else { continue };
            let of = |side: bool| -> Vec<&Execution> {
                runs.iter().zip(wanted).filter(|(_, is)| **is == side).map(|(run, _)| *run).collect()
            };
            let yes = self.range(range.clone(), &of(true), depth - 1);
            let no = self.range(range.clone(), &of(false), depth - 1);
            if let (Some(yes), Some(no)) = (yes, no) {
                return Some(vec![Segment::If(condition, yes, no)]);
            }
        }
        if range.len() < 2 {
            return None;
        }
        // Operands that depend on different things.
        let mut found = Vec::new();
        for at in range {
            found.extend(self.range(at..at + 1, runs, depth - 1)?);
        }
        Some(found)
    }

    /// One operand that always begins and ends with the same text of the prompt.
    fn slices(&self, range: &std::ops::Range<usize>, runs: &[&Execution]) -> Option<Segment> {
        if range.len() != 1 {
            return None;
        }
        let mut ends: Option<(&str, &str)> = None;
        for run in runs {
            let Written { text, mask } = run.pieces.get(range.start)?;
            if mask.is_empty() {
                continue;
            }
            let (first, last) = (mask.iter().position(|by| *by)?, mask.iter().rposition(|by| *by)?);
            if !mask.get(first..last)?.iter().all(|by| *by) {
                return None;
            }
            let found = (text.get(..first)?, text.get(last + 1..)?);
            if ends.is_some_and(|ends| ends != found) {
                return None;
            }
            ends = Some(found);
        }
        let (before, after) = ends?;
        let text = &self.operands.get(range.start)?.text;
        Some(Segment::Slices(text.clone(), before.chars().count(), after.chars().count()))
    }

    /// Operands in a row that have the same share are one expression.
    fn grouped(&self, range: std::ops::Range<usize>, shares: &[Option<Share>]) -> Vec<Segment> {
        let operands = self.operands.get(range).unwrap_or_default();
        let mut groups: Vec<(Share, Vec<&Operand>)> = Vec::new();
        for (operand, share) in operands.iter().zip(shares) {
            let share = share.unwrap_or(Share::Part);
            match groups.last_mut() {
                Some((known, group)) if *known == share || share == Share::Nothing => group.push(operand),
                Some((known, group)) if *known == Share::Nothing => {
                    *known = share;
                    group.push(operand);
                }
                _ => groups.push((share, vec![operand])),
            }
        }
        groups.iter().map(|(_, group)| Segment::Emit(self.sum(group))).collect()
    }

    /// The operands as one expression. A sum of texts fails where one of them is none, and so does each of its parts.
    fn sum(&self, group: &[&Operand]) -> String {
        let mut text = String::new();
        for (at, operand) in group.iter().enumerate() {
            if at > 0 {
                text.push_str(&format!(" {} ", operand.operator));
            }
            text.push_str(&operand.text);
        }
        let is_added = self.operands.iter().any(|operand| operand.operator == '+');
        let is_text = |operand: &&Operand| {
            let filtered = ["trim", "tojson", "string"]
                .iter()
                .any(|filter| operand.text.rsplit_once('|').is_some_and(|(_, last)| last.trim() == *filter));
            filtered || literal(&operand.text).is_some()
        };
        let joined = group.iter().skip(1).any(|operand| operand.operator == '~');
        if !is_added || self.operands.len() < 2 || joined || group.iter().any(is_text) {
            text
        } else {
            format!("'' + {text}")
        }
    }
}

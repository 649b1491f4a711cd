//! Puts `{% generation %}` around the longest runs of statements that only the model writes.

use std::collections::BTreeMap;

use super::probe::{keeps_break, keeps_indent};
use super::tree::{Effect, Node, NodeKind};
use crate::tags::{Sign, Tag, tags};

/// Whether the model writes what a statement writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) by_model: bool,
    pub(super) by_prompt: bool,
}

/// The source with `{% generation %}` around what the model writes. `seen` has the statements by their first byte.
pub(super) fn wrapped(source: &str, nodes: &[Node], seen: &BTreeMap<usize, Seen>) -> String {
    let tags = tags(source);
    let mut wrapper = Wrapper { source, tags: &tags, seen, inserted: Vec::new() };
    wrapper.body(nodes);
    let mut text = String::with_capacity(source.len() + 64 * wrapper.inserted.len());
    let mut from = 0;
    wrapper.inserted.sort_by_key(|(at, order, _)| (*at, *order));
    for (at, _, tag) in &wrapper.inserted {
        text.push_str(&source[from..*at]);
        text.push_str(tag);
        from = *at;
    }
    text.push_str(&source[from..]);
    text
}

struct Wrapper<'s> {
    source: &'s str,
    tags: &'s [Tag],
    seen: &'s BTreeMap<usize, Seen>,
    /// The place, the order at one place (closers come first), and the tag.
    inserted: Vec<(usize, u8, String)>,
}

impl Wrapper<'_> {
    fn body(&mut self, nodes: &[Node]) {
        let mut run: Vec<&Node> = Vec::new();
        for node in nodes {
            let seen = self.seen_in(node);
            if !seen.by_prompt && node.effect() == Effect::Nothing {
                run.push(node);
                continue;
            }
            self.wrap(&std::mem::take(&mut run));
            if let NodeKind::Block(block) = &node.kind {
                block.bodies.iter().for_each(|body| self.body(body));
            }
        }
        self.wrap(&run);
    }

    fn seen_in(&self, node: &Node) -> Seen {
        match &node.kind {
            NodeKind::Block(block) => block.bodies.iter().flatten().fold(Seen::default(), |sum, node| {
                let seen = self.seen_in(node);
                Seen { by_model: sum.by_model || seen.by_model, by_prompt: sum.by_prompt || seen.by_prompt }
            }),
            NodeKind::Silent(_) => Seen::default(),
            _ => self.seen.get(&node.range.start).copied().unwrap_or_default(),
        }
    }

    /// Marks a run, without what writes nothing at its ends.
    fn wrap(&mut self, run: &[&Node]) {
        let writes = |node: &&Node| self.seen_in(node).by_model;
        let (Some(first), Some(last)) = (run.iter().position(writes), run.iter().rposition(writes)) else { return };
        let (Some(first), Some(last)) = (run.get(first), run.get(last)) else { return };
        self.open(first);
        self.close(last);
    }

    fn open(&mut self, node: &Node) {
        let (at, open, close) = match &node.kind {
            NodeKind::Text(written) => {
                let text = &self.source[written.start..];
                let is_cut = written.start > node.range.start;
                let before = if is_cut { Sign::None } else { keeps_indent(&self.source[..written.start]) };
                (written.start, before, keeps_break(text))
            }
            NodeKind::Emit(tag) if tag.open != Sign::Minus => {
                (node.range.start, keeps_indent(&self.source[..node.range.start]), Sign::None)
            }
            _ => (node.range.start, self.tag_at(node.range.start).map_or(Sign::None, |tag| tag.open), Sign::None),
        };
        self.inserted.push((at, 1, format!("{{%{} generation {}%}}", open.text(), close.text())));
    }

    fn close(&mut self, node: &Node) {
        let end = node.range.end;
        let last = self.tags.iter().find(|tag| tag.range.end == end);
        let (at, open, close) = match &node.kind {
            NodeKind::Text(written) => match self.tag_at(end) {
                // The white space that the next tag removes is before it.
                Some(next) if written.end < end || next.open == Sign::Minus => (end, next.open, Sign::None),
                _ => (written.end, keeps_indent(&self.source[..written.end]), Sign::None),
            },
            NodeKind::Emit(tag) if tag.close != Sign::Minus => (end, Sign::None, keeps_break(&self.source[end..])),
            _ => (end, Sign::None, last.map_or(Sign::None, |tag| tag.close)),
        };
        self.inserted.push((at, 0, format!("{{%{} endgeneration {}%}}", open.text(), close.text())));
    }

    fn tag_at(&self, at: usize) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.range.start == at)
    }
}

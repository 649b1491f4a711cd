//! The source of a template as a tree: texts, `{{ … }}` and blocks, with their places and the white space that belongs to each.

use std::ops::Range;

use crate::tags::{Sign, Tag, TagKind, tags};

/// A part of a template.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its bytes in the source: of a text those between two tags, of a block all of it.
    pub(super) range: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    /// A text, and the part of it that is written.
    Text(Range<usize>),
    /// `{{ … }}`
    Emit(Tag),
    /// A block whose bodies are written where it is.
    Block(BlockNode),
    /// A block that hands its body to something else, or `raw`: its parts cannot be marked.
    Opaque,
    /// A tag or a block that writes nothing.
    Silent(Effect),
}

/// What a tag that writes nothing does to the tags after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It sets a variable.
    Binds,
    /// It leaves the loop.
    Jumps,
}

#[derive(Clone, Debug)]
pub(super) struct BlockNode {
    pub(super) word: String,
    pub(super) tags: Vec<Tag>,
    pub(super) bodies: Vec<Vec<Node>>,
    /// The variable of a loop, if it is one name.
    pub(super) item: Option<String>,
}

/// A part that writes.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) range: Range<usize>,
    pub(super) kind: LeafKind,
    /// The variables of the loops around it, the innermost last.
    pub(super) items: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum LeafKind {
    Text(Range<usize>),
    Emit(Tag),
    Opaque,
}

impl Node {
    /// Whether it may not be put into a block whose variables end with it.
    pub(super) fn effect(&self) -> Effect {
        match &self.kind {
            NodeKind::Silent(effect) => *effect,
            NodeKind::Block(block) => {
                let mut effects = block.bodies.iter().flatten().map(Node::effect);
                let is_loop = block.word == "for";
                let is_scope = is_loop || block.word != "if";
                effects
                    .find(|effect| match effect {
                        Effect::Nothing => false,
                        Effect::Binds => !is_scope,
                        Effect::Jumps => !is_loop,
                    })
                    .unwrap_or(Effect::Nothing)
            }
            _ => Effect::Nothing,
        }
    }
}

/// The tree of a source. Blocks that are not closed end with it.
pub(super) fn tree(source: &str) -> Vec<Node> {
    let tags = tags(source);
    let mut reader = Reader { source, tags: &tags, next: 0 };
    let mut nodes = Vec::new();
    while reader.next < tags.len() || nodes.is_empty() {
        let before = reader.next;
        nodes.extend(reader.body(&[]));
        if reader.next == before {
            break;
        }
    }
    nodes
}

/// The parts that write, in order.
pub(super) fn leaves(nodes: &[Node]) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(nodes, &[], &mut found);
    found
}

fn collect(nodes: &[Node], items: &[String], found: &mut Vec<Leaf>) {
    for node in nodes {
        let kind = match &node.kind {
            NodeKind::Text(written) => LeafKind::Text(written.clone()),
            NodeKind::Emit(tag) => LeafKind::Emit(tag.clone()),
            NodeKind::Opaque => LeafKind::Opaque,
            NodeKind::Silent(_) => continue,
            NodeKind::Block(block) => {
                let mut inner = items.to_vec();
                inner.extend(block.item.clone());
                block.bodies.iter().for_each(|body| collect(body, &inner, found));
                continue;
            }
        };
        found.push(Leaf { range: node.range.clone(), kind, items: items.to_vec() });
    }
}

struct Reader<'s> {
    source: &'s str,
    tags: &'s [Tag],
    next: usize,
}

impl Reader<'_> {
    /// The nodes up to a tag with one of these words, which is not taken.
    fn body(&mut self, ends: &[&str]) -> Vec<Node> {
        let mut nodes = Vec::new();
        loop {
            nodes.extend(self.text());
            let Some(tag) = self.tags.get(self.next).cloned() else { return nodes };
            let word = tag.word(self.source).to_owned();
            if ends.contains(&word.as_str()) {
                return nodes;
            }
            self.next += 1;
            nodes.push(self.node(tag, &word));
        }
    }

    fn node(&mut self, tag: Tag, word: &str) -> Node {
        let start = tag.range.start;
        let content = tag.content(self.source).to_owned();
        let kind = match (tag.kind, word) {
            (TagKind::Comment, _) => NodeKind::Silent(Effect::Nothing),
            (TagKind::Emit, _) => NodeKind::Emit(tag),
            // Python collects the text of such a loop before it hands it on.
            (_, "for") if content.split_whitespace().last() == Some("recursive") => self.skip(word, NodeKind::Opaque),
            (_, "if" | "for" | "with" | "generation" | "autoescape") => {
                NodeKind::Block(self.block(tag, word, &content))
            }
            (_, "call" | "filter" | "block") => self.skip(word, NodeKind::Opaque),
            (_, "macro") => self.skip(word, NodeKind::Silent(Effect::Binds)),
            (_, "raw") => {
                self.next += 1;
                NodeKind::Opaque
            }
            (_, "set") if is_set_block(&content) => self.skip(word, NodeKind::Silent(set_effect(&content))),
            (_, "set") => NodeKind::Silent(set_effect(&content)),
            (_, "do") => NodeKind::Silent(Effect::Nothing),
            (_, "break" | "continue") => NodeKind::Silent(Effect::Jumps),
            _ => NodeKind::Silent(Effect::Binds),
        };
        let last = self.tags.get(self.next.saturating_sub(1));
        let end = last.map_or(self.source.len(), |last| last.range.end);
        Node { range: start..end, kind }
    }

    fn block(&mut self, tag: Tag, word: &str, content: &str) -> BlockNode {
        let end = format!("end{word}");
        let ends = ["elif", "else", end.as_str()];
        let item = (word == "for").then(|| content.strip_prefix("for")?.split_once(" in ").map(|(name, _)| name));
        let item = item.flatten().map(|name| name.trim().to_owned()).filter(|name| crate::tags::name(name) == name);
        let mut block = BlockNode { word: word.to_owned(), tags: vec![tag], bodies: Vec::new(), item };
        loop {
            block.bodies.push(self.body(&ends));
            let Some(tag) = self.tags.get(self.next).cloned() else { return block };
            self.next += 1;
            let is_end = tag.word(self.source) == end;
            block.tags.push(tag);
            if is_end {
                return block;
            }
        }
    }

    /// Continues after the end of a block.
    fn skip(&mut self, word: &str, kind: NodeKind) -> NodeKind {
        let end = format!("end{word}");
        let mut depth = 1_usize;
        while let Some(tag) = self.tags.get(self.next) {
            self.next += 1;
            let found = tag.word(self.source);
            if found == word && (word != "set" || is_set_block(tag.content(self.source))) {
                depth += 1;
            } else if found == end {
                depth -= 1;
            }
            if depth == 0 {
                break;
            }
        }
        kind
    }

    /// The text before the next tag, if something of it is written.
    fn text(&self) -> Option<Node> {
        let before = self.next.checked_sub(1).and_then(|last| self.tags.get(last));
        let after = self.tags.get(self.next);
        let range = before.map_or(0, |tag| tag.range.end)..after.map_or(self.source.len(), |tag| tag.range.start);
        let text = self.source.get(range.clone())?;
        let trims = |tag: &Tag, sign: Sign| tag.kind != TagKind::Emit && sign == Sign::None;
        let led = match before {
            Some(tag) if tag.close == Sign::Minus => text.trim_start(),
            Some(tag) if trims(tag, tag.close) => text.strip_prefix('\n').unwrap_or(text),
            _ => text,
        };
        let cut = text.len() - led.len();
        let begins_line = text.get(..cut).is_some_and(|cut| cut.ends_with('\n')) || range.start + cut == 0;
        let ended = match after {
            Some(tag) if tag.open == Sign::Minus => led.trim_end(),
            Some(tag) if trims(tag, tag.open) => {
                let rest = led.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
                if rest.ends_with('\n') || rest.is_empty() && begins_line { rest } else { led }
            }
            Some(_) => led,
            None => led.strip_suffix('\n').unwrap_or(led),
        };
        let written = range.start + cut..range.start + cut + ended.len();
        (!written.is_empty()).then_some(Node { range, kind: NodeKind::Text(written) })
    }
}

/// `{% set x %}…{% endset %}` has no `=` outside of brackets and strings.
fn is_set_block(content: &str) -> bool {
    let mut depth = 0_i32;
    let mut at = 0;
    while let Some(c) = content[at..].chars().next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '=' if depth == 0 => return false,
            _ => {}
        }
        let quoted = crate::tags::string(&content[at..]).map(str::len);
        at += quoted.unwrap_or(c.len_utf8());
    }
    true
}

/// `{% set ns.x = … %}` changes an object and sets no variable.
fn set_effect(content: &str) -> Effect {
    let target = content.strip_prefix("set").unwrap_or(content).split(['=', '|']).next().unwrap_or_default().trim();
    let is_attribute = target.contains('.') && !target.contains(',');
    if is_attribute { Effect::Nothing } else { Effect::Binds }
}

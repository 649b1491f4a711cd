//! Regular expressions of schemas (ECMA-262), compiled into the rules for the inside of a JSON string. `crate::regex` parses
//! them.
//!
//! Greedy and lazy repetition are the same to a grammar. Look-around, back references, word boundaries and Unicode
//! properties are not supported. Length and nesting of expressions are limited, and an expression is only ever run
//! against a text with a limited number of steps.

mod node;
mod write;

use super::bounds::Count;
use super::json;
use crate::builder::Builder;
use crate::expr::Expr;
use node::{Node, Why, anchored};

const LENGTH: usize = 10_000;
/// The maximum number of branches of an expression with anchors.
const BRANCHES: usize = 64;
/// The maximum number of steps to test a text.
const STEPS: usize = 100_000;

#[derive(Clone, Debug)]
pub(crate) struct Regex {
    /// The alternatives. Anchors occur only at their ends, and are the two flags.
    branches: Vec<RegexBranch>,
}

#[derive(Clone, Debug)]
struct RegexBranch {
    at_start: bool,
    node: Node,
    at_end: bool,
}

impl Regex {
    pub fn parse(source: &str) -> Result<Self, Why> {
        if source.len() > LENGTH {
            return Err("the expression is too long");
        }
        let node = Node::parse(source)?;
        let mut branches = Vec::new();
        divide(node, false, false, &mut branches)?;
        Ok(Self { branches })
    }

    /// The expression that matches every text.
    pub fn anything() -> Self {
        Self { branches: vec![RegexBranch { at_start: false, node: Node::Sequence(Vec::new()), at_end: false }] }
    }

    /// Whether it is [`anything`](Self::anything).
    pub fn is_anything(&self) -> bool {
        matches!(
            self.branches.as_slice(),
            [RegexBranch { at_start: false, node: Node::Sequence(nodes), at_end: false }] if nodes.is_empty()
        )
    }

    /// Whether it matches anywhere in a text. `None` if that takes too many steps.
    pub fn matches(&self, text: &str) -> Option<bool> {
        let text: Vec<char> = text.chars().collect();
        let mut steps = STEPS;
        for branch in &self.branches {
            for from in 0..=if branch.at_start { 0 } else { text.len() } {
                let ends = ends(&branch.node, &text, vec![from], &mut steps)?;
                if ends.iter().any(|&end| !branch.at_end || end == text.len()) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Applies the limits of a length. `None` if the expression cannot express them, `Some(false)` if no text remains.
    pub fn limit(&mut self, length: Count) -> Option<bool> {
        if length.is_any() {
            return Some(true);
        }
        let mut known = true;
        self.branches.retain_mut(|branch| {
            let (min, mut max) = branch.node.length();
            if !(branch.at_start && branch.at_end) {
                max = None;
            }
            if min >= u64::from(length.min)
                && max.is_some_and(|max| length.max.is_none_or(|most| max <= u64::from(most)))
            {
                return true;
            }
            if length.max.is_some_and(|most| min > u64::from(most))
                || max.is_some_and(|max| max < u64::from(length.min))
            {
                return false;
            }
            if !(branch.at_start && branch.at_end) {
                known = false;
                return true;
            }
            // One repeated class can be limited, also between parts of fixed length.
            let nodes = match &mut branch.node {
                Node::Sequence(nodes) => nodes.as_mut_slice(),
                node => std::slice::from_mut(node),
            };
            let open = |node: &Node| node.length().1 != Some(node.length().0);
            let mut variable = nodes.iter_mut().filter(|node| open(node));
            if let (Some(Node::Repeat(body, least, most)), None) = (variable.next(), variable.next())
                && matches!(**body, Node::Class(_))
            {
                // The other parts have a fixed length.
                let fixed = u32::try_from(min - u64::from(*least)).unwrap_or(u32::MAX);
                *least = (*least).max(length.min.saturating_sub(fixed));
                if let Some(limit) = length.max {
                    let limit = limit.saturating_sub(fixed);
                    *most = Some(most.map_or(limit, |most| most.min(limit)));
                }
                return most.is_none_or(|most| *least <= most);
            }
            known = false;
            true
        });
        if self.branches.is_empty() { Some(false) } else { known.then_some(true) }
    }

    /// The strings that match, without their quotes.
    pub fn write(&self, builder: &mut Builder, hint: &str) -> Result<Expr, Why> {
        let mut alternatives = Vec::new();
        for branch in &self.branches {
            let any = |builder: &mut Builder| {
                let character = json::character(builder);
                builder.many(character)
            };
            let before = if branch.at_start { Expr::EMPTY } else { any(builder) };
            let after = if branch.at_end { Expr::EMPTY } else { any(builder) };
            let inside = branch.node.write(builder, hint)?;
            alternatives.push(builder.sequence(&[before, inside, after]));
        }
        Ok(builder.choice(&alternatives))
    }
}

/// The ends of all matches of a node that start at one of these places, sorted and without repeats.
fn ends(node: &Node, text: &[char], from: Vec<usize>, steps: &mut usize) -> Option<Vec<usize>> {
    *steps = steps.checked_sub(1 + from.len())?;
    let mut found = match node {
        Node::Class(class) => from
            .into_iter()
            .filter(|&at| text.get(at).is_some_and(|&next| class.contains(next)))
            .map(|at| at + 1)
            .collect(),
        Node::Sequence(nodes) => nodes.iter().try_fold(from, |from, node| ends(node, text, from, steps))?,
        Node::Choice(nodes) => {
            let mut all = Vec::new();
            for node in nodes {
                all.extend(ends(node, text, from.clone(), steps)?);
            }
            all
        }
        Node::Repeat(body, min, max) => {
            let mut at = from;
            for _ in 0..*min {
                at = ends(body, text, at, steps)?;
                if at.is_empty() {
                    return Some(at);
                }
            }
            let mut all = at.clone();
            for _ in *min..max.unwrap_or(u32::MAX) {
                at = ends(body, text, at, steps)?;
                at.retain(|end| !all.contains(end));
                if at.is_empty() {
                    break;
                }
                all.extend(&at);
            }
            all
        }
        Node::Start => from.into_iter().filter(|&at| at == 0).collect(),
        Node::End => from.into_iter().filter(|&at| at == text.len()).collect(),
    };
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Divides an expression into alternatives with anchors only at their ends.
fn divide(node: Node, at_start: bool, at_end: bool, branches: &mut Vec<RegexBranch>) -> Result<(), Why> {
    const WHY: Why = "an anchor is at a place where a grammar cannot express it";
    if branches.len() >= BRANCHES {
        return Err(WHY);
    }
    let mut nodes = match node {
        Node::Choice(nodes) if nodes.iter().any(anchored) => {
            return nodes.into_iter().try_for_each(|node| divide(node, at_start, at_end, branches));
        }
        Node::Sequence(nodes) => nodes,
        node => vec![node],
    };
    let (mut at_start, mut at_end) = (at_start, at_end);
    while nodes.first() == Some(&Node::Start) {
        nodes.remove(0);
        at_start = true;
    }
    while nodes.last() == Some(&Node::End) {
        nodes.pop();
        at_end = true;
    }
    // Alternatives at either end may contain anchors.
    for last in [false, true] {
        let at = if last { nodes.len().saturating_sub(1) } else { 0 };
        if nodes.get(at).is_some_and(anchored) {
            match nodes.remove(at) {
                Node::Choice(inner) => {
                    return inner.into_iter().try_for_each(|node| {
                        let mut all = nodes.clone();
                        let inner = if let Node::Sequence(inner) = node { inner } else { vec![node] };
                        all.splice(at..at, inner);
                        divide(Node::Sequence(all), at_start, at_end, branches)
                    });
                }
                Node::Sequence(inner) => {
                    nodes.splice(at..at, inner);
                    return divide(Node::Sequence(nodes), at_start, at_end, branches);
                }
                _ => return Err(WHY),
            }
        }
    }
    if nodes.iter().any(anchored) {
        return Err(WHY);
    }
    branches.push(RegexBranch { at_start, node: Node::Sequence(nodes), at_end });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(source: &str) -> Option<Why> {
        Regex::parse(source).err()
    }

    #[test]
    fn what_a_grammar_cannot_express_is_named() {
        for (source, expected) in [
            (r"\bfoo\b", "word boundaries are not supported"),
            (r"(?=a)b", "look-ahead and look-behind are not supported"),
            (r"a(?<!a)b", "look-ahead and look-behind are not supported"),
            (r"(a)\1", "back references are not supported"),
            (r"(?<x>a)\k<x>", "back references are not supported"),
            (r"\p{L}+", "Unicode properties are not supported"),
            (r"[^\P{L}]", "Unicode properties are not supported"),
            ("(?i:a)", "this kind of group is not supported"),
            ("a{200000}", "a count is too high"),
            ("a^b", "an anchor is at a place where a grammar cannot express it"),
            ("(^a)*", "an anchor is at a place where a grammar cannot express it"),
            ("(a", "this group is not closed"),
            (r"\A", "the expression has an unknown escape"),
        ] {
            assert_eq!(why(source), Some(expected), "{source}");
        }
        assert_eq!(why(&"a".repeat(LENGTH + 1)), Some("the expression is too long"));
    }

    #[test]
    fn sets_are_those_of_ecma() {
        for (source, inside, outside) in [
            (r"^\s$", "\t\n\u{b}\u{c}\r \u{a0}\u{1680}\u{2003}\u{2028}\u{3000}\u{feff}", "a\u{85}\u{200b}"),
            (r"^\d$", "059", "a٣"),
            (r"^\w$", "aZ0_", "é-"),
            (r"^[^\W_]$", "aZ0", "_é"),
            ("^.$", "a\u{85}😀", "\n\r\u{2028}\u{2029}"),
            (r"^[\w-.]$", "a-.", "!"),
            (r"^[^]$", "a\n", ""),
            (r"^[]$", "", "a]"),
            (r"^[\cJ\0\x41\u{1F600}\ud83d\ude01]$", "\n\0A😀😁", "JB"),
        ] {
            let regex = Regex::parse(source).unwrap();
            let matches = |character: char| regex.matches(character.encode_utf8(&mut [0; 4])) == Some(true);
            assert!(inside.chars().all(matches), "{source}");
            assert!(!outside.chars().any(matches), "{source}");
        }
    }
}

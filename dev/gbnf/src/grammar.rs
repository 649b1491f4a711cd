//! A grammar as the engine stores it: rules with alternatives of elements. Groups and repetitions are rules of their own.

/// One step of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// One code point of the class of that number.
    Class(u32),
    /// What the rule of that number matches.
    Rule(u32),
    /// The alternative ends.
    End,
}

/// A set of code points.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    pub negated: bool,
    /// First and last of each range, as written.
    pub ranges: Vec<(u32, u32)>,
}

impl Class {
    /// Never a NUL: the engine refuses one whatever the grammar says.
    pub fn contains(&self, code: u32) -> bool {
        code != 0 && self.meets(code, code)
    }

    /// Whether the class contains a code point. For a negated class only the simplest case is recognised.
    pub fn matches_some(&self) -> bool {
        !self.negated || !self.ranges.iter().any(|range| range.0 == 0 && range.1 >= 0x10_FFFF)
    }

    /// Whether the class may contain a code point between these two. A negated class is treated as the engine does: not if one of
    /// the two is excluded.
    pub fn meets(&self, low: u32, high: u32) -> bool {
        self.ranges.iter().any(|&(first, last)| first <= high && low <= last) != self.negated
    }
}

/// A grammar: its sentences are what the rule `root` matches.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// All alternatives of all rules, each closed by an end.
    pub(crate) elements: Vec<Element>,
    /// Where the alternatives of each rule begin in `elements`.
    pub(crate) rules: Vec<Vec<u32>>,
    pub(crate) classes: Vec<Class>,
    /// The names of rules; a rule that was made of a group has its owner's.
    pub(crate) names: Vec<String>,
    /// Where in `elements` each rule begins that has any, in that order.
    pub(crate) order: Vec<(u32, u32)>,
    pub(crate) root: u32,
    /// The fewest code points that each rule matches; `None` for a rule that matches nothing.
    pub(crate) shortest: Vec<Option<u32>>,
}

impl Grammar {
    /// How many rules the engine makes: the written ones, one for each group, and one for each count of a repetition.
    pub fn size(&self) -> usize {
        self.rules.len()
    }

    /// What the element of that index is.
    pub(crate) fn element(&self, at: u32) -> Element {
        self.elements.get(at as usize).copied().unwrap_or(Element::End)
    }

    /// Where the alternatives of a rule begin.
    pub(crate) fn alternatives(&self, rule: u32) -> &[u32] {
        self.rules.get(rule as usize).map_or(&[], |rule| rule)
    }

    pub(crate) fn class(&self, class: u32) -> Option<&Class> {
        self.classes.get(class as usize)
    }

    /// The elements from there to the end of the alternative.
    pub(crate) fn rest(&self, from: u32) -> &[Element] {
        let rest = self.elements.get(from as usize..).unwrap_or_default();
        let end = rest.iter().position(|element| *element == Element::End).unwrap_or(rest.len());
        &rest[..end]
    }

    /// The fewest code points of the elements from there to the end of the alternative.
    pub(crate) fn shortest_rest(&self, from: u32) -> Option<u32> {
        self.rest(from).iter().try_fold(0_u32, |sum, element| match element {
            Element::Rule(rule) => Some(sum.saturating_add((*self.shortest.get(*rule as usize)?)?)),
            Element::Class(class) => {
                self.class(*class).filter(|class| class.matches_some()).map(|_| sum.saturating_add(1))
            }
            Element::End => Some(sum),
        })
    }

    /// What is expected at an element, as GBNF: the literal that follows, or the class.
    pub(crate) fn describe(&self, from: u32) -> String {
        let rest = self.rest(from);
        let single = |element: &Element| match element {
            Element::Class(class) => {
                let class = self.class(*class)?;
                (!class.negated && class.ranges.len() == 1).then_some(())?;
                class.ranges.first().filter(|range| range.0 == range.1).and_then(|range| char::from_u32(range.0))
            }
            _ => None,
        };
        let literal: String = rest.iter().map_while(single).take(40).collect();
        match rest.first() {
            Some(Element::Class(class)) if literal.is_empty() => self.class(*class).map(show).unwrap_or_default(),
            _ => format!("{literal:?}"),
        }
    }

    /// Finds the shortest sentence of each rule.
    pub(crate) fn measure(&mut self) {
        // A rule made of a group or a repetition comes after the rule that it is in, and uses those made before it.
        self.shortest = vec![None; self.rules.len()];
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        loop {
            let mut changed = false;
            for &rule in &order {
                let shortest = self.rules[rule].iter().filter_map(|&from| self.shortest_rest(from)).min();
                changed |= shortest != self.shortest[rule];
                self.shortest[rule] = shortest;
            }
            if !changed {
                break;
            }
            // What is written uses what comes later, what is made of it uses what came before.
            order.reverse();
        }
    }

    /// The name of the rule that an element is in.
    pub(crate) fn rule_of(&self, at: u32) -> &str {
        let after = self.order.partition_point(|&(from, _)| from <= at);
        let rule = after.checked_sub(1).and_then(|before| self.order.get(before));
        rule.and_then(|&(_, rule)| self.names.get(rule as usize)).map_or("", |name| name)
    }

    /// Finds a left-recursive rule.
    pub(crate) fn left_recursive(&self) -> Option<u32> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.rules.len()];
        for start in 0..self.rules.len() as u32 {
            // The rules that are open, each with those at its left edge that are still to be seen.
            let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut next = Some(start);
            loop {
                match next {
                    Some(rule) if marks[rule as usize] == Mark::Open => return Some(rule),
                    Some(rule) if marks[rule as usize] == Mark::New => {
                        marks[rule as usize] = Mark::Open;
                        path.push((rule, self.left_edge(rule)));
                    }
                    _ => {}
                }
                let Some((rule, edge)) = path.last_mut() else { break };
                next = edge.pop();
                if next.is_none() {
                    marks[*rule as usize] = Mark::Done;
                    path.pop();
                }
            }
        }
        None
    }

    /// The rules that a rule can begin with, itself apart.
    fn left_edge(&self, rule: u32) -> Vec<u32> {
        let mut edge = Vec::new();
        for &from in self.alternatives(rule) {
            for element in self.rest(from) {
                let Element::Rule(other) = *element else { break };
                edge.push(other);
                if self.shortest[other as usize] != Some(0) {
                    break;
                }
            }
        }
        edge
    }
}

/// A class as GBNF.
fn show(class: &Class) -> String {
    let mut out = String::from(if class.negated { "[^" } else { "[" });
    let push = |code: u32, out: &mut String| match char::from_u32(code) {
        Some(character @ ('[' | ']' | '-')) => out.extend(['\\', character]),
        Some(character @ ('"' | '\'')) => out.push(character),
        Some(character) => out.extend(character.escape_debug()),
        None => out.push_str(&format!("\\u{code:04X}")),
    };
    for &(first, last) in &class.ranges {
        push(first, &mut out);
        if first != last {
            out.push('-');
            push(last, &mut out);
        }
    }
    out.push(']');
    out
}

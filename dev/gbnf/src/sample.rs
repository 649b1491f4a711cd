//! Draws random sentences of a grammar.

use crate::grammar::{Class, Element, Grammar};

/// Soft limits for a random sentence: beyond them it takes the shortest path to an end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Code points.
    pub length: usize,
    /// Nesting of rules.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { length: 2000, depth: 60 }
    }
}

impl Grammar {
    /// Draws a random sentence. The same seed gives the same sentence; the seed is advanced. `None` if the grammar has no sentence,
    /// or if no code point was found for a class.
    pub fn sample(&self, seed: &mut u64, limits: Limits) -> Option<String> {
        self.shortest.get(self.root as usize).copied().flatten()?;
        let mut out = String::new();
        let mut length = 0;
        // Where to continue, innermost last.
        let mut stack = vec![self.alternative(self.root, seed, false)?];
        while let Some(at) = stack.pop() {
            match self.element(at) {
                Element::End => {}
                Element::Class(class) => {
                    out.push(self.class(class)?.draw(seed)?);
                    length += 1;
                    stack.push(at + 1);
                }
                Element::Rule(rule) => {
                    if self.element(at + 1) != Element::End {
                        stack.push(at + 1);
                    }
                    let hurry = length >= limits.length || stack.len() >= limits.depth;
                    stack.push(self.alternative(rule, seed, hurry)?);
                }
            }
        }
        Some(out)
    }

    /// One of the alternatives of a rule that lead to a sentence; beyond the limits, the shortest one.
    fn alternative(&self, rule: u32, seed: &mut u64, hurry: bool) -> Option<u32> {
        let all = self.alternatives(rule);
        let mut possible = all.iter().filter_map(|&from| Some((self.shortest_rest(from)?, from)));
        if hurry {
            return possible.min().map(|(_, from)| from);
        }
        let count = possible.clone().count();
        possible.nth(below(seed, count)).map(|(_, from)| from)
    }
}

impl Class {
    /// A code point of the class, mostly a common one or one that has caused errors.
    fn draw(&self, seed: &mut u64) -> Option<char> {
        const TROUBLE: [char; 20] = [
            '"', '\\', '\'', '<', '>', '{', '}', '[', ']', '/', '\n', '\t', ' ', 'é', '｜', '漢', '\u{7f}', '😀', '`',
            '&',
        ];
        for _ in 0..8 {
            let character = match below(seed, 4) {
                0 => TROUBLE[below(seed, TROUBLE.len())],
                _ => char::from(b' ' + u8::try_from(below(seed, 95)).unwrap_or(0)),
            };
            if self.contains(u32::from(character)) {
                return Some(character);
            }
        }
        if self.negated {
            let mut anything = (0..).filter_map(|_| char::from_u32(below(seed, 0x11_0000) as u32));
            return anything.by_ref().take(1000).find(|&character| self.contains(u32::from(character)));
        }
        for _ in 0..1000 {
            let (first, last) = *self.ranges.get(below(seed, self.ranges.len()))?;
            let code = first + below(seed, (last.saturating_sub(first) as usize).saturating_add(1)) as u32;
            if let Some(character) = char::from_u32(code).filter(|&character| self.contains(u32::from(character))) {
                return Some(character);
            }
        }
        None
    }
}

/// A number below `n`, or 0.
fn below(seed: &mut u64, n: usize) -> usize {
    // SplitMix64.
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *seed;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ mixed >> 31) % n.max(1) as u64) as usize
}

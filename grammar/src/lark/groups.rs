//! Groups the stop markers of a free text that have the same continuation everywhere. A group shares one rule and its final
//! states. Formats whose headers have many parts have hundreds of such markers.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::expr::{Expr, ExprKind, RuleId};

/// What follows each stop of a text where the text is used once: the numbers of expressions.
type Continuations = HashMap<usize, Vec<usize>>;

#[derive(Default)]
pub(super) struct Groups {
    /// For each text and each of its stops: the first stop of its group.
    first: HashMap<(usize, usize), usize>,
    /// The rules of texts: by the text, the state in which it begins, and its stop.
    rules: HashMap<(usize, usize, usize), RuleId>,
}

impl Groups {
    /// The groups in the rules that an expression needs.
    pub(super) fn new(builder: &Builder, root: Expr) -> Self {
        let order = builder.needed(root, |rule| rule.text.is_some());
        let rules = order.iter().filter_map(|id| builder.get(*id));
        let exprs = rules.filter(|rule| rule.text.is_none()).filter_map(|rule| rule.expr).chain([root]);
        let mut finder = Finder { builder, known: HashMap::new(), uses: HashMap::new() };
        exprs.for_each(|expr| finder.visit(expr));
        let mut groups = Self::default();
        for (text, uses) in finder.uses {
            let mut stops: Vec<usize> = uses.iter().flat_map(|next| next.keys().copied()).collect();
            stops.sort_unstable();
            stops.dedup();
            let mut firsts: HashMap<Vec<Option<&Vec<usize>>>, usize> = HashMap::new();
            for stop in stops {
                let follows = uses.iter().map(|next| next.get(&stop)).collect();
                let first = *firsts.entry(follows).or_insert(stop);
                groups.first.insert((text, stop), first);
            }
        }
        for id in order {
            if let Some(part) = builder.get(id).and_then(|rule| rule.text)
                && let Some(stop) = part.stop
            {
                let group = groups.of(part.text, stop);
                groups.rules.entry((part.text, part.from, group)).or_insert(id);
            }
        }
        groups
    }

    pub(super) fn of(&self, text: usize, stop: usize) -> usize {
        self.first.get(&(text, stop)).copied().unwrap_or(stop)
    }

    /// The stops of a text that lead anywhere.
    pub(super) fn used(&self, text: usize) -> HashSet<usize> {
        self.first.keys().filter(|(known, _)| *known == text).map(|(_, stop)| *stop).collect()
    }

    /// The rule to write in place of a rule: that of the first stop of its group.
    pub(super) fn rule(&self, builder: &Builder, id: RuleId) -> RuleId {
        let part = builder.get(id).and_then(|rule| rule.text);
        let key = part.and_then(|part| Some((part.text, part.from, self.of(part.text, part.stop?))));
        key.and_then(|key| self.rules.get(&key)).copied().unwrap_or(id)
    }
}

struct Finder<'b> {
    builder: &'b Builder,
    /// Numbers of what follows texts.
    known: HashMap<Vec<Expr>, usize>,
    uses: HashMap<usize, Vec<Continuations>>,
}

impl Finder<'_> {
    fn visit(&mut self, expr: Expr) {
        let mut here: HashMap<usize, Continuations> = HashMap::new();
        for one in self.builder.alternatives(expr).iter() {
            let parts = self.builder.parts(*one);
            for (at, part) in parts.iter().enumerate() {
                match self.builder.kind(*part) {
                    ExprKind::Rule(rule) if at == 0 => {
                        let part = self.builder.get(rule).and_then(|rule| rule.text);
                        if let Some((text, stop)) = part.and_then(|part| Some((part.text, part.stop?))) {
                            let rest = self.number(&parts[1..]);
                            here.entry(text).or_default().entry(stop).or_default().push(rest);
                        }
                    }
                    // A text inside a sequence: a use of its own.
                    ExprKind::Rule(_) | ExprKind::Choice(_) | ExprKind::Sequence(_) => self.visit(*part),
                    ExprKind::Repeat(this) => self.visit(this.body),
                    ExprKind::Text(_) | ExprKind::Class(_) => {}
                }
            }
        }
        for (text, mut continuations) in here {
            for rests in continuations.values_mut() {
                rests.sort_unstable();
                rests.dedup();
            }
            self.uses.entry(text).or_default().push(continuations);
        }
    }

    fn number(&mut self, rest: &[Expr]) -> usize {
        let fresh = self.known.len();
        *self.known.entry(rest.to_vec()).or_insert(fresh)
    }
}

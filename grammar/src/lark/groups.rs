//! Which stops of a free text are followed by the same, wherever the text stands. Their rules are one, and their markers share
//! their last states. Formats whose headers have many parts have hundreds of such markers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Builder, Expr, RuleId};

/// What follows each stop of a text, in one place: the numbers of expressions.
type Place = BTreeMap<usize, BTreeSet<usize>>;

/// The stops of all texts, in groups.
#[derive(Default)]
pub(super) struct Groups {
    /// For each text and each of its stops: the first stop of its group.
    first: HashMap<(usize, usize), usize>,
    /// The rules of texts: by the text, the state in which it begins, and its stop.
    rules: HashMap<(usize, usize, usize), RuleId>,
}

impl Groups {
    /// The groups in the rules that an expression needs.
    pub(super) fn new(builder: &Builder, root: &Expr) -> Self {
        let order = builder.needed(root, |rule| rule.text.is_some());
        let rules = order.iter().filter_map(|id| builder.get(*id));
        let exprs = rules.filter(|rule| rule.text.is_none()).filter_map(|rule| rule.expr.as_ref()).chain([root]);
        let mut finder = Finder { builder, known: HashMap::new(), places: BTreeMap::new() };
        exprs.for_each(|expr| finder.visit(expr));
        let mut groups = Self::default();
        for (text, places) in &finder.places {
            let stops: BTreeSet<usize> = places.iter().flat_map(|place| place.keys().copied()).collect();
            let mut firsts: HashMap<Vec<Option<&BTreeSet<usize>>>, usize> = HashMap::new();
            for stop in stops {
                let follows = places.iter().map(|place| place.get(&stop)).collect();
                let first = *firsts.entry(follows).or_insert(stop);
                groups.first.insert((*text, stop), first);
            }
        }
        for id in order {
            if let Some(part) = builder.get(id).and_then(|rule| rule.text)
                && let Some(stop) = part.stop
            {
                groups.rules.entry((part.text, part.from, groups.of(part.text, stop))).or_insert(id);
            }
        }
        groups
    }

    /// The first stop of a stop's group.
    pub(super) fn of(&self, text: usize, stop: usize) -> usize {
        self.first.get(&(text, stop)).copied().unwrap_or(stop)
    }

    /// The stops of a text that lead anywhere.
    pub(super) fn used(&self, text: usize) -> BTreeSet<usize> {
        self.first.keys().filter(|(known, _)| *known == text).map(|(_, stop)| *stop).collect()
    }

    /// The rule that stands for a rule: that of the first stop of its group.
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
    places: BTreeMap<usize, Vec<Place>>,
}

impl Finder<'_> {
    fn visit(&mut self, expr: &Expr) {
        let alternatives = match expr {
            Expr::Choice(all) => all.as_slice(),
            expr => std::slice::from_ref(expr),
        };
        let mut here: BTreeMap<usize, Place> = BTreeMap::new();
        for one in alternatives {
            let parts = match one {
                Expr::Sequence(parts) => parts.as_slice(),
                one => std::slice::from_ref(one),
            };
            for (at, part) in parts.iter().enumerate() {
                match part {
                    Expr::Rule(rule) if at == 0 => {
                        let part = self.builder.get(*rule).and_then(|rule| rule.text);
                        if let Some((text, stop)) = part.and_then(|part| Some((part.text, part.stop?))) {
                            let rest = self.number(&parts[1..]);
                            here.entry(text).or_default().entry(stop).or_default().insert(rest);
                        }
                    }
                    // A text inside a sequence: a place of its own.
                    Expr::Rule(_) => self.visit(part),
                    Expr::Repeat(this) => self.visit(&this.body),
                    Expr::Choice(_) | Expr::Sequence(_) => self.visit(part),
                    Expr::Text(_) | Expr::Class(_) => {}
                }
            }
        }
        for (text, place) in here {
            self.places.entry(text).or_default().push(place);
        }
    }

    fn number(&mut self, rest: &[Expr]) -> usize {
        let fresh = self.known.len();
        *self.known.entry(rest.to_vec()).or_insert(fresh)
    }
}

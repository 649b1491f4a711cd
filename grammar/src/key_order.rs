//! The order in which templates write the keys of an object: that of the schema, or a sorted one.

use std::collections::HashMap;

use serde_json::Value;
use unjinja_runtime::abi::KeyOrder;

use crate::builder::Builder;
use crate::expr::{Expr, RuleId};
use crate::members::Members;

/// The maximum number of named members that may come in either order without two readings of one text. The number of
/// alternatives grows with its square.
const EITHER: usize = 16;

/// A sorted order in which a template writes keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sorting {
    ignoring_case: bool,
}

/// How a template sorts, if it does.
pub(crate) fn sorting(order: KeyOrder) -> Option<Sorting> {
    match order {
        KeyOrder::Given => None,
        KeyOrder::Sorted => Some(Sorting { ignoring_case: false }),
        KeyOrder::SortedIgnoringCase => Some(Sorting { ignoring_case: true }),
    }
}

impl Sorting {
    /// The places of names in this order, by their places among `names`.
    pub(crate) fn places(self, names: &[&str]) -> Vec<usize> {
        let key = |name: &str| if self.ignoring_case { name.to_lowercase() } else { name.to_owned() };
        let mut order: Vec<(String, usize)> = names.iter().enumerate().map(|(at, name)| (key(name), at)).collect();
        order.sort_unstable();
        let mut places = vec![0; names.len()];
        order.into_iter().enumerate().for_each(|(place, (_, at))| places[at] = place);
        places
    }

    /// The value with all keys sorted. `None` if that is the same text. The value must not be nested deeply.
    pub(crate) fn sorted(self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(items) => {
                let sorted: Vec<Option<Value>> = items.iter().map(|item| self.sorted(item)).collect();
                let changed = sorted.iter().any(Option::is_some);
                let new = items.iter().zip(sorted).map(|(item, sorted)| sorted.unwrap_or_else(|| item.clone()));
                changed.then(|| Value::Array(new.collect()))
            }
            Value::Object(members) => {
                let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
                let places = self.places(&names);
                let mut changed = !places.is_sorted();
                let mut new: Vec<Option<(&String, Value)>> = vec![None; names.len()];
                for ((name, member), place) in members.iter().zip(places) {
                    let sorted = self.sorted(member);
                    changed |= sorted.is_some();
                    new[place] = Some((name, sorted.unwrap_or_else(|| member.clone())));
                }
                let new = new.into_iter().flatten().map(|(name, member)| (name.clone(), member));
                changed.then(|| Value::Object(new.collect()))
            }
            _ => None,
        }
    }

    /// One or more of the items, all required ones among them: in their own order and then any number of others, or in this
    /// order with others anywhere. `None` if there is nothing that could be written.
    pub(crate) fn either_order(self, builder: &mut Builder, hint: &str, members: Members) -> Option<Expr> {
        let names: Vec<&str> = members.items.iter().map(|item| item.name.as_str()).collect();
        let places = self.places(&names);
        either_order(builder, hint, members, places)
    }
}

/// [`Sorting::either_order`] with the places of the items in the sorted order.
fn either_order(builder: &mut Builder, hint: &str, mut members: Members, places: Vec<usize>) -> Option<Expr> {
    let in_order = places.is_sorted();
    if in_order && members.extra.is_none() {
        return members.one_or_more(builder, hint);
    }
    if members.items.len() > EITHER {
        let mut sorted = members.clone();
        places.into_iter().zip(&members.items).for_each(|(place, item)| sorted.items[place] = item.clone());
        let own = members.one_or_more(builder, hint);
        let sorted = sorted.one_or_more(builder, &format!("{hint}-sorted"));
        return Some(builder.choice(&own.into_iter().chain(sorted).collect::<Vec<_>>()));
    }
    for item in &mut members.items {
        item.expr = builder.rule(&format!("{hint}-{}", item.name), item.expr).into();
    }
    let mut orders = Orders { builder, hint, members, places, known: HashMap::new() };
    orders.from(Reached { own: Some(0), sorted: Some(0) })
}

/// How far a text has come in each order: the place of the next item. `None` if the text is not in this order. In their
/// own order, all items come before what is extra.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Reached {
    own: Option<usize>,
    sorted: Option<usize>,
}

/// The rules of a list of members in either order. Each text has one reading, so the rules follow both orders at once.
struct Orders<'a> {
    builder: &'a mut Builder,
    hint: &'a str,
    members: Members,
    places: Vec<usize>,
    known: HashMap<Reached, RuleId>,
}

impl Orders<'_> {
    /// One or more members from here on. `None` if no more may come.
    fn from(&mut self, at: Reached) -> Option<Expr> {
        if let Some(rule) = self.known.get(&at) {
            return Some((*rule).into());
        }
        let steps = self.steps(at);
        if steps.is_empty() {
            return None;
        }
        let rule = self.builder.reserve(&format!("{}-members", self.hint));
        self.known.insert(at, rule);
        let alternatives: Vec<Expr> = steps
            .into_iter()
            .map(|(member, to)| {
                let more = self.from(to).map(|more| self.builder.sequence(&[self.members.between, more]));
                let more = match more {
                    Some(more) if self.may_end(to) => self.builder.option(more),
                    more => more.unwrap_or(Expr::EMPTY),
                };
                self.builder.sequence(&[member, more])
            })
            .collect();
        self.builder.define(rule, self.builder.choice(&alternatives));
        Some(rule.into())
    }

    /// The members that may come next, and how far the text has come then.
    fn steps(&self, at: Reached) -> Vec<(Expr, Reached)> {
        let mut steps = Vec::new();
        for (own, item) in self.members.items.iter().enumerate() {
            let sorted = self.places[own];
            let to = Reached {
                own: at.own.filter(|from| *from <= own && !self.is_missing(|place, _| (*from..own).contains(&place))),
                sorted: at
                    .sorted
                    .filter(|from| *from <= sorted && !self.is_missing(|_, place| (*from..sorted).contains(&place))),
            };
            let to = Reached { own: to.own.map(|_| own + 1), sorted: to.sorted.map(|_| sorted + 1) };
            if to.own.is_some() || to.sorted.is_some() {
                steps.push((item.expr, to));
            }
        }
        if let Some(extra) = self.members.extra {
            let own =
                at.own.filter(|from| !self.is_missing(|place, _| place >= *from)).map(|_| self.members.items.len());
            if own.is_some() || at.sorted.is_some() {
                steps.push((extra, Reached { own, ..at }));
            }
        }
        steps
    }

    fn may_end(&self, at: Reached) -> bool {
        at.own.is_some_and(|from| !self.is_missing(|place, _| place >= from))
            || at.sorted.is_some_and(|from| !self.is_missing(|_, place| place >= from))
    }

    /// Whether one of the required items is at such places: its own, and that in the sorted order.
    fn is_missing(&self, at: impl Fn(usize, usize) -> bool) -> bool {
        self.members.items.iter().enumerate().any(|(own, item)| item.required && at(own, self.places[own]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::Item;

    /// The rules of `b`, `C` and `a`, of which `C` is required, where the template ignores case, and of other members.
    fn grammar() -> unjinja_gbnf::Grammar {
        let mut builder = Builder::new();
        let (extra, comma) = (builder.text("x"), builder.text(","));
        let item = |name: &str, required| Item { expr: builder.text(name), name: name.to_owned(), required };
        let items = vec![item("b", false), item("C", true), item("a", false)];
        let members = Members { items, extra: Some(extra), between: comma };
        let sorting = sorting(KeyOrder::SortedIgnoringCase);
        let some = sorting.and_then(|sorting| sorting.either_order(&mut builder, "all", members));
        let text = builder.grammar(some.unwrap_or(Expr::EMPTY));
        unjinja_gbnf::Grammar::parse(&text).unwrap_or_else(|error| unreachable!("{error}\n{text}"))
    }

    #[test]
    fn members_come_in_either_order() {
        let grammar = grammar();
        for accepted in ["C", "b,C", "b,C,a", "C,a", "a,b,C", "a,C", "x,C", "a,x,x,b,C,x", "b,C,x", "b,C,a,x"] {
            assert!(grammar.check(accepted).is_ok(), "{accepted} is refused");
        }
        for refused in ["", "b", "a,b", "C,b", "C,C", "a,C,b", "b,a,C", "C,a,b", "b,x,C,a", "x", "C,x,a", "C,"] {
            assert!(grammar.check(refused).is_err(), "{refused} is accepted");
        }
    }
}

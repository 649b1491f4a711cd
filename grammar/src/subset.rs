//! Some of several things, in their order: optional properties in any subset, in linear size.

use super::{Builder, Expr, choice, many, option, sequence};

/// One of the things.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub expr: Expr,
    /// A name for the rule that begins with it.
    pub name: String,
    /// Whether it must be there.
    pub required: bool,
}

/// Any of the items in their order, those that are required always, then any number of `extra`, with `between` between
/// any two. Matches the empty text if nothing is required.
///
/// From each item on there is one rule: this item and what may follow it, or, if it may be left out, what the next
/// item's rule says. So there are as many rules as items, and what stands between is read once.
pub fn subset(builder: &mut Builder, hint: &str, items: Vec<Item>, extra: Option<Expr>, between: &Expr) -> Expr {
    let all_optional = !items.iter().any(|item| item.required);
    match one_or_more(builder, hint, items, extra, between) {
        Some(some) if all_optional => option(some),
        Some(some) => some,
        None => Expr::EMPTY,
    }
}

/// As [`subset`], but never empty. `None` if there is nothing that it could have.
pub fn one_or_more(
    builder: &mut Builder,
    hint: &str,
    items: Vec<Item>,
    extra: Option<Expr>,
    between: &Expr,
) -> Option<Expr> {
    // What begins with the item at hand or one behind it; and whether one of those is required.
    let mut from = extra.map(|extra| {
        let again = sequence([between.clone(), extra.clone()]);
        sequence([extra, many(again)])
    });
    let mut required = false;
    for item in items.into_iter().rev() {
        let more = match &from {
            None => Expr::EMPTY,
            Some(from) => sequence([between.clone(), from.clone()]),
        };
        let this = sequence([item.expr, if required { more } else { option(more) }]);
        let begins = match from.filter(|_| !item.required) {
            Some(from) => choice([this, from]),
            None => this,
        };
        required |= item.required;
        from = Some(builder.rule(&format!("{hint}-{}", item.name), begins).into());
    }
    from
}

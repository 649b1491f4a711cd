//! Any subset of several items in a fixed order. Optional properties are written this way; the size is linear.

use super::{Builder, Expr};

/// One of the items.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it matches.
    pub expr: Expr,
    /// A name for the rule that begins with it.
    pub name: String,
    /// Whether it must be present.
    pub required: bool,
}

/// Any subset of the items in their order that has all required ones, then any number of `extra`; with `between`
/// between any two. It matches the empty text if nothing is required.
///
/// There is one rule per item: the item and what may follow it, or, if the item is optional, the rule of the next item.
/// So the size is linear, and `between` is read once.
pub fn subset(builder: &mut Builder, hint: &str, items: Vec<Item>, extra: Option<Expr>, between: Expr) -> Expr {
    let all_optional = !items.iter().any(|item| item.required);
    match one_or_more(builder, hint, items, extra, between) {
        Some(some) if all_optional => builder.option(some),
        Some(some) => some,
        None => Expr::EMPTY,
    }
}

/// Like [`subset`], but never empty. `None` if there is nothing that could be written.
pub fn one_or_more(
    builder: &mut Builder,
    hint: &str,
    items: Vec<Item>,
    extra: Option<Expr>,
    between: Expr,
) -> Option<Expr> {
    // The rule that begins with this item or a later one, and whether one of those is required.
    let mut from = extra.map(|extra| builder.read("$0 ($1 $0)*", &[extra, between]));
    let mut required = false;
    for item in items.into_iter().rev() {
        let more = match &from {
            None => Expr::EMPTY,
            Some(from) => builder.sequence(&[between, *from]),
        };
        let this = builder.sequence(&[item.expr, if required { more } else { builder.option(more) }]);
        let begins = match from.filter(|_| !item.required) {
            Some(from) => builder.choice(&[this, from]),
            None => this,
        };
        required |= item.required;
        from = Some(builder.rule(&format!("{hint}-{}", item.name), begins).into());
    }
    from
}

//! The members of an object: any subset of several items in a fixed order, and others after them. The size is linear.

use crate::builder::Builder;
use crate::expr::Expr;

#[derive(Clone, Debug)]
pub(crate) struct Members {
    /// Those that are known, in their order.
    pub(crate) items: Vec<Item>,
    pub(crate) extra: Option<Expr>,
    pub(crate) between: Expr,
}

/// A member that is known.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) expr: Expr,
    /// A name for the rule that begins with the member.
    pub(crate) name: String,
    pub(crate) required: bool,
}

impl Members {
    /// One or more of the items in their order, all required ones among them, then any number of others. `None` if there is
    /// nothing that could be written.
    ///
    /// There is one rule per item: the item and what may follow it, or, if the item is optional, the rule of the next item.
    /// So the size is linear, and `between` is read once.
    pub(crate) fn one_or_more(self, builder: &mut Builder, hint: &str) -> Option<Expr> {
        let Self { items, extra, between } = self;
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
}

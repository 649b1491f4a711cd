//! T5: in which order the template writes arguments, and the keys of objects in them.

use unjinja_spec::ArgumentOrder;

use crate::ask::CallTurns;
use crate::sentinels::SENTINELS;

/// The order of arguments; if that is the one of the message, the order of the keys of an object in one of them.
pub(super) fn of(calls: &CallTurns) -> ArgumentOrder {
    let Some(turn) = &calls.unsorted else { return ArgumentOrder::Given };
    let mut orders = SENTINELS.unsorted.iter().map(|keys| order(&turn.text, keys));
    orders.find(|order| *order != ArgumentOrder::Given).unwrap_or_default()
}

/// The order in which a text has these keys.
fn order(text: &str, keys: &[&str; 3]) -> ArgumentOrder {
    if !keys.iter().all(|key| text.contains(key)) {
        return ArgumentOrder::Given;
    }
    let mut shown = *keys;
    shown.sort_by_cached_key(|key| text.find(key).unwrap_or_default());
    if shown.is_sorted() {
        ArgumentOrder::Sorted
    } else if shown.is_sorted_by_key(|key| key.to_lowercase()) {
        ArgumentOrder::SortedIgnoringCase
    } else {
        ArgumentOrder::Given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_told_from_the_others() {
        let [keys, _] = &SENTINELS.unsorted;
        let told = |text: &str| order(text, keys);
        assert_eq!(told("prundle Quorvex blimset"), ArgumentOrder::Given);
        assert_eq!(told("Quorvex blimset prundle"), ArgumentOrder::Sorted);
        assert_eq!(told("blimset prundle Quorvex"), ArgumentOrder::SortedIgnoringCase);
        // An order of its own, and keys that the template does not write, say nothing.
        assert_eq!(told("prundle blimset Quorvex"), ArgumentOrder::Given);
        assert_eq!(told("blimset Quorvex"), ArgumentOrder::Given);
    }
}

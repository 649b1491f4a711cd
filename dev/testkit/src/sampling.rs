//! Tests that would take minutes take a sample. `UNJINJA_TESTS=all` runs them whole, as `.ci/full` does.

/// Whether the tests are to run whole: `UNJINJA_TESTS=all`.
pub fn whole() -> bool {
    std::env::var("UNJINJA_TESTS").is_ok_and(|value| value == "all")
}

/// Every `n`th item, the first one included; all items where the tests run whole ([`whole`]). It is the same sample on every
/// machine.
pub fn sample<T>(items: impl IntoIterator<Item = T>, n: usize) -> impl Iterator<Item = T> {
    items.into_iter().step_by(if whole() { 1 } else { n.max(1) })
}

/// How many results a test of a sample must have at least, where all items have `count`: half of the sample's share.
pub fn share(count: usize, n: usize) -> usize {
    if whole() { count } else { count / n / 2 }
}

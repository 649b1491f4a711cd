//! Sorting in little code. The standard library compiles its sorts anew for each type, some ten KiB each; here the work is
//! done on numbers, once for all types.

use std::cmp::Ordering;

/// Sorts by a comparison. Equal items keep their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut places = places(items.len(), &|one, other| compare(&items[one], &items[other]));
    for at in 0..items.len() {
        while places[at] != at {
            let place = places[at];
            items.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// Sorts. Equal items keep their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts by a key. Items with equal keys keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Where each of `count` items belongs, as a comparison of two of their numbers says. Equal items keep their order.
pub fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places = vec![0; count];
    for (place, at) in order(count, compare).into_iter().enumerate() {
        places[at] = place;
    }
    places
}

/// The numbers of `count` items, in the order that a comparison of two of them says: sorted by merging runs of twice
/// the length each time.
pub fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    let mut length = 1;
    while length < count {
        merged.clear();
        for runs in order.chunks(length * 2) {
            let (mut left, mut right) = runs.split_at(length.min(runs.len()));
            while let ([one, others @ ..], [other, later @ ..]) = (left, right) {
                if compare(*other, *one).is_lt() {
                    merged.push(*other);
                    right = later;
                } else {
                    merged.push(*one);
                    left = others;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        length *= 2;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_like_the_standard_library() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        for count in (0..40).chain([1000]) {
            let items: Vec<(u32, usize)> = (0..count).map(|at| (next() % 16, at)).collect();
            let (mut mine, mut expected) = (items.clone(), items);
            sort_by(&mut mine, |one, other| one.0.cmp(&other.0));
            expected.sort_by_key(|item| item.0);
            assert_eq!(mine, expected);
        }
        // One long cycle takes linear time.
        let mut turned: Vec<u32> = (1..200_000).chain([0]).collect();
        sort_by(&mut turned, u32::cmp);
        assert!(turned.is_sorted());
    }
}

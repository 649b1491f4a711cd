//! Sorting, maps and sets in little code.
//!
//! The standard library compiles its sorts and its hash tables anew for each type: some ten KiB of code for each sort and two
//! for each map, and this crate sorts and looks up values of thirty types. Here the work is done on numbers, once for all types.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

pub(crate) use unjinja_runtime::abi::{places, sort, sort_by};
pub(crate) use unjinja_runtime::schema::{member, members};

/// Sorts, and leaves out all but one of equal items.
pub(crate) fn sort_and_dedup<T: Ord>(items: &mut Vec<T>) {
    sort(items);
    items.dedup();
}

/// Makes a list of what an iterator yields. `collect` contains the code of the iterator twice, and that of a list that grows.
pub(crate) trait List: Iterator + Sized {
    fn list(mut self) -> Vec<Self::Item> {
        gather(&mut Source(&mut self))
    }
}

impl<I: Iterator> List for I {}

/// An iterator, of which nothing but the next item is asked. A `dyn Iterator` would link all its ways to skip items.
trait Next<T> {
    fn next(&mut self) -> Option<T>;
}

struct Source<'a, I>(&'a mut I);

impl<I: Iterator> Next<I::Item> for Source<'_, I> {
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
}

#[inline(never)]
fn gather<T>(source: &mut dyn Next<T>) -> Vec<T> {
    let mut items = Vec::new();
    while let Some(item) = source.next() {
        items.push(item);
    }
    items
}

/// A map that keeps its entries in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Map<K, V> {
    entries: Vec<(K, V)>,
    index: Index,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: Index::default() }
    }
}

impl<K: Eq + Hash, V> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn find<Q: Eq + Hash + ?Sized>(&self, hash: u32, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        self.index.find(hash, &|at| self.entries[at].0.borrow() == key)
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(self.index.hash(key), key).map(|at| &self.entries[at].1)
    }

    pub(crate) fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(self.index.hash(key), key).map(|at| &mut self.entries[at].1)
    }

    pub(crate) fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let hash = self.index.hash(&key);
        match self.find(hash, &key) {
            Some(at) => self.entries[at].1 = value,
            None => self.add(hash, key, value),
        }
    }

    /// The value of a key, which is made if the key is new.
    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = self.place_or_insert_with(key, make);
        &mut self.entries[at].1
    }

    fn place_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> usize {
        let hash = self.index.hash(&key);
        match self.find(hash, &key) {
            Some(at) => at,
            None => {
                self.add(hash, key, make());
                self.entries.len() - 1
            }
        }
    }

    fn add(&mut self, hash: u32, key: K, value: V) {
        self.index.add(hash);
        self.entries.push((key, value));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The entries, in their order.
    pub(crate) fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }
}

/// A set that keeps its members in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Set<T>(Map<T, ()>);

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<T: Eq + Hash> Set<T> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The place of a member, which is added if it is new.
    pub(crate) fn place(&mut self, member: T) -> usize {
        self.0.place_or_insert_with(member, || ())
    }

    /// The member at a place.
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.0.entries.get(place).map(|(member, ())| member)
    }

    /// Adds a member. Returns whether it is new.
    pub(crate) fn insert(&mut self, member: T) -> bool {
        let before = self.0.len();
        self.0.get_or_insert_with(member, || ());
        self.0.len() > before
    }

    pub(crate) fn contains<Q: Eq + Hash + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains(member)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Eq + Hash> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut set = Self::new();
        for member in members {
            set.insert(member);
        }
        set
    }
}

/// The places of entries by the hashes of their keys: a table with open addressing. Nothing is ever taken out.
#[derive(Clone, Debug)]
struct Index {
    /// A hash, and the place of the entry plus one; zero where a slot is free. Their number is a power of two.
    slots: Vec<(u32, u32)>,
    len: u32,
    /// Names come from outside. Nobody can choose names that collide, because the seed is a random number.
    seed: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0, seed: seed() }
    }
}

// Not inlined: every place that makes a map would contain it.
#[inline(never)]
fn seed() -> u64 {
    RandomState::new().hash_one(0_u8)
}

impl Index {
    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u32 {
        let mut hasher = Folded(self.seed);
        key.hash(&mut hasher);
        hasher.0 as u32
    }

    /// The slots in which an entry with this hash may be, in order.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let count = self.slots.len();
        (0..count).map(move |step| (hash as usize).wrapping_add(step) & (count - 1))
    }

    #[inline(never)]
    fn find(&self, hash: u32, same: &dyn Fn(usize) -> bool) -> Option<usize> {
        for slot in self.probe(hash) {
            match self.slots[slot] {
                (_, 0) => return None,
                (other, place) if other == hash && same(place as usize - 1) => return Some(place as usize - 1),
                _ => {}
            }
        }
        None
    }

    /// Adds the entry that comes next.
    #[inline(never)]
    fn add(&mut self, hash: u32) {
        if self.len as usize * 4 >= self.slots.len() * 3 {
            let larger = vec![(0, 0); (self.slots.len() * 2).max(8)];
            for (hash, place) in std::mem::replace(&mut self.slots, larger) {
                if place > 0 {
                    self.place(hash, place);
                }
            }
        }
        self.len += 1;
        self.place(hash, self.len);
    }

    fn place(&mut self, hash: u32, place: u32) {
        let free = self.probe(hash).find(|&slot| self.slots[slot].1 == 0);
        if let Some(free) = free {
            self.slots[free] = (hash, place);
        }
    }
}

/// A fast hash: folds eight bytes at a time with a multiplication.
struct Folded(u64);

impl Folded {
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.fold(word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
        self.fold(words.remainder().iter().fold(1, |word, &byte| word << 8 | u64::from(byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.fold(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.fold(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.fold(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A value as JSON text. (`Value::to_string` would also link what writes it on many lines.)
pub(crate) fn json_text(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let mut map: Map<String, usize> = Map::new();
        assert!(map.get("0").is_none() && map.is_empty());
        for number in 0..5000 {
            map.insert(number.to_string(), number);
            *map.get_or_insert_with((number / 2).to_string(), || usize::MAX) += 1;
        }
        map.insert("7".to_owned(), 7);
        assert_eq!((map.len(), map.get("7"), map.get("4999"), map.get("5000")), (5000, Some(&7), Some(&4999), None));
        assert_eq!(map.get("8"), Some(&10));
        assert!(map.keys().enumerate().all(|(at, key)| at.to_string() == *key));
        let mut set: Set<char> = "abca".chars().collect();
        assert!(set.contains(&'c') && !set.insert('a') && set.insert('d'));
        assert_eq!(set.len(), 4);
    }
}

//! Python's `dict` as a data structure: an ordered map and its keys. It knows nothing of the values that it holds.

use std::collections::HashMap;
use std::sync::Arc;

/// A hashable value as a key. Equal numbers are equal keys, whatever their type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    None,
    Undefined,
    Int(i128),
    Float(u64),
    Str(Arc<str>),
    Tuple(Vec<Key>),
}

/// One entry.
#[derive(Clone)]
pub(crate) struct Entry<V> {
    key: Key,
    /// The key as the template wrote it: `1`, `1.0` and `True` are one [`Key`].
    pub(crate) shown: V,
    pub(crate) value: V,
}

/// A map that keeps the order of insertion.
#[derive(Clone)]
pub(crate) struct Map<V> {
    pub(crate) entries: Vec<Entry<V>>,
    /// Positions by key; empty while the map is small.
    index: HashMap<Key, usize>,
}

/// From this size on, keys are looked up by hash. A linear search is faster in smaller maps, which most messages are.
const INDEXED: usize = 12;

impl<V> Default for Map<V> {
    fn default() -> Map<V> {
        Map { entries: Vec::new(), index: HashMap::new() }
    }
}

impl<V> Map<V> {
    fn position(&self, key: &Key) -> Option<usize> {
        if self.entries.len() < INDEXED {
            return self.entries.iter().position(|e| e.key == *key);
        }
        self.index.get(key).copied()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&V> {
        self.position(key).and_then(|i| self.entries.get(i)).map(|e| &e.value)
    }

    pub(crate) fn get_str(&self, key: &str) -> Option<&V> {
        if self.entries.len() < INDEXED {
            return self.entries.iter().find(|e| matches!(&e.key, Key::Str(s) if **s == *key)).map(|e| &e.value);
        }
        self.get(&Key::Str(Arc::from(key)))
    }

    /// Sets the value of `key`. A new key goes to the end; `shown` is kept from the first insertion, as in Python.
    pub(crate) fn insert(&mut self, key: Key, shown: V, value: V) {
        if let Some(entry) = self.position(&key).and_then(|i| self.entries.get_mut(i)) {
            entry.value = value;
            return;
        }
        self.entries.push(Entry { key: key.clone(), shown, value });
        let n = self.entries.len();
        if n == INDEXED {
            self.reindex();
        } else if n > INDEXED {
            self.index.insert(key, n - 1);
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Entry<V>> {
        let position = self.position(key)?;
        let entry = self.entries.remove(position);
        self.reindex();
        Some(entry)
    }

    fn reindex(&mut self) {
        self.index.clear();
        if self.entries.len() >= INDEXED {
            self.index.extend(self.entries.iter().enumerate().map(|(i, e)| (e.key.clone(), i)));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

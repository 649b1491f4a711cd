//! What a template looked for in its context: the analyzer finds a template's capabilities by watching.

use std::collections::BTreeSet;

/// The places of the context that a render looked at, as paths: `tools`, `messages[].tool_calls[].id`.
///
/// A list's elements are `[]`, whatever their index. A path is here also when the context had nothing
/// there: `message.get('x')`, `'x' in message`, `message.x is defined` and `message['x']` all look for
/// `messages[].x`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    paths: BTreeSet<String>,
    whole: BTreeSet<String>,
}

impl Reads {
    /// Every path that was looked for.
    pub fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    /// The paths of objects and lists taken as a whole: printed, serialised (`tojson`), or walked by key
    /// (`items()`), so that everything below them counts as read.
    pub fn whole(&self) -> &BTreeSet<String> {
        &self.whole
    }

    /// Whether this very path was looked for, or lies within something taken as a whole.
    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains(path) || self.within_whole(path)
    }

    fn within_whole(&self, path: &str) -> bool {
        let inside = |rest: &str| rest.starts_with('.') || rest.starts_with('[');
        self.whole.iter().any(|whole| path.strip_prefix(whole.as_str()).is_some_and(inside))
    }

    /// Adds what another render read.
    pub fn merge(&mut self, other: &Reads) {
        self.paths.extend(other.paths.iter().cloned());
        self.whole.extend(other.whole.iter().cloned());
    }

    pub(crate) fn key(&mut self, container: &str, key: &str) {
        let path = if container.is_empty() { key.to_owned() } else { format!("{container}.{key}") };
        self.paths.insert(path);
    }

    pub(crate) fn element(&mut self, container: &str) {
        self.paths.insert(format!("{container}[]"));
    }

    pub(crate) fn took_whole(&mut self, container: &str) {
        if !self.whole.contains(container) && !self.within_whole(container) {
            self.whole.insert(container.to_owned());
        }
    }
}

//! The record of what a render looked at in its context.

use std::collections::{BTreeMap, BTreeSet};

/// The parts of the context that a render looked at, as paths: `tools`, `messages[].tool_calls[].id`.
///
/// `[]` means any element of a list. A path is recorded whether or not the context has something there:
/// `message.get('x')`, `'x' in message`, `message.x is defined` and `message['x']` all record `messages[].x`. So the paths
/// tell which fields a template knows.
///
/// See [`RenderOptions::record_reads`](crate::RenderOptions::record_reads).
///
/// ```
/// use unjinja_render::{RenderOptions, Template};
///
/// let template = Template::parse("t.jinja", "{% for m in messages %}{{ m.content }}{{ m.name or '' }}{% endfor %}")?;
/// let context = serde_json::json!({ "messages": [{ "content": "Hi!" }] });
/// let reads = template.render_with(&context, &RenderOptions::new().record_reads(true)).reads;
/// assert!(reads.contains("messages[].name"));
/// assert!(!reads.contains("messages[].role"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    paths: BTreeSet<String>,
    whole: BTreeSet<String>,
    decided: BTreeSet<String>,
    sought: BTreeMap<String, BTreeSet<String>>,
}

impl Reads {
    /// Every recorded path.
    pub fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    /// The paths of objects and lists that were used as a whole: printed, serialised with `tojson`, or iterated with
    /// `items()`. Everything below them counts as read.
    pub fn whole(&self) -> &BTreeSet<String> {
        &self.whole
    }

    /// The paths of the values that were tested: by a condition, `and`, `or` or `not`, a comparison, `in`, `is`,
    /// `startswith` and the like, or because their length was asked for. What is in here and in no label only decided
    /// something.
    ///
    /// Only a [labelled](crate::RenderOptions::label) render records this, and the paths are those of its labels:
    /// `messages[1].content`. A field that the context does not have is not in here, but in [`paths`](Reads::paths).
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{% if messages[0].role == 'user' %}{{ messages[0].content }}{% endif %}")?;
    /// let context = serde_json::json!({ "messages": [{ "role": "user", "content": "Hi!" }] });
    /// let reads = template.render_with(&context, &RenderOptions::new().label(true)).reads;
    /// assert_eq!(reads.decided().iter().collect::<Vec<_>>(), ["messages[0].role"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decided(&self) -> &BTreeSet<String> {
        &self.decided
    }

    /// The texts that were looked for in the value at this path or below it, or compared with it: by `split`, `find`, `in`, `==` and the
    /// like. The template may have put them together.
    ///
    /// Only a [labelled](crate::RenderOptions::label) render records this, and the paths are those of its labels.
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{{ messages[0].content.split('<' ~ 'hr>')[-1] }}")?;
    /// let context = serde_json::json!({ "messages": [{ "content": "Hi!" }] });
    /// let reads = template.render_with(&context, &RenderOptions::new().label(true)).reads;
    /// assert_eq!(reads.sought("messages[0].content").collect::<Vec<_>>(), ["<hr>"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sought<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r str> {
        let below = self.sought.range(path.to_owned()..).take_while(move |(other, _)| other.starts_with(path));
        let is_inside = move |other: &str| other.len() == path.len() || other[path.len()..].starts_with(['.', '[']);
        below.filter(move |(other, _)| is_inside(other)).flat_map(|(_, texts)| texts).map(String::as_str)
    }

    /// Whether this path was read, on its own or as a part of something that was used as a whole.
    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains(path) || self.within_whole(path)
    }

    fn within_whole(&self, path: &str) -> bool {
        let inside = |rest: &str| rest.starts_with('.') || rest.starts_with('[');
        self.whole.iter().any(|whole| path.strip_prefix(whole.as_str()).is_some_and(inside))
    }

    /// Adds the reads of another render.
    pub fn merge(&mut self, other: &Reads) {
        self.paths.extend(other.paths.iter().cloned());
        self.whole.extend(other.whole.iter().cloned());
        self.decided.extend(other.decided.iter().cloned());
        for (path, texts) in &other.sought {
            self.sought.entry(path.clone()).or_default().extend(texts.iter().cloned());
        }
    }

    pub(crate) fn decided_by(&mut self, paths: BTreeSet<String>, sought: BTreeMap<String, BTreeSet<String>>) {
        (self.decided, self.sought) = (paths, sought);
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

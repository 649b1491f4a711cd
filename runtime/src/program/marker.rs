//! One marker: a piece of syntax that a template writes, and what must follow it.

use std::borrow::Cow;

use super::text::{List, Text, set};

/// A piece of syntax, split into its core and the white space that the template writes on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The text that must be there. Never empty.
    pub core: Text,
    /// White space before the core. It is syntax where it is present, and is not required.
    pub before: Text,
    /// White space after the core. It is syntax where it is present, and is not required.
    pub after: Text,
    /// What must follow the core; if it does not, the text is no marker.
    pub confirm: Confirm,
    /// Whether the core is consumed, or left for the next state to read.
    pub take: bool,
    /// The name that belongs into the core, if the marker repeats one.
    pub repeats: Option<RepeatedName>,
    /// The names that confirm the marker too, with the text around them.
    pub names: List<NextName>,
    /// Whether it counts only at the start of a line. White space before it must then be its layout.
    pub line: bool,
    /// What it is where text comes before it. Directly after another marker, or at the start of the turn, it counts.
    pub in_text: InText,
}

/// A name that a marker repeats: it was read before, and the marker counts only with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedName {
    /// Whose name it is.
    pub of: NameOf,
    /// Where it belongs in the core, in bytes.
    pub at: usize,
}

/// Whose name a marker repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// The function that is called.
    Function,
    /// The argument that was read last.
    Argument,
}

/// What a marker is where text comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InText {
    /// A marker.
    Marker,
    /// Text: a model that writes about the format does not use it.
    Text,
    /// A marker, unless it is mentioned: a blank or punctuation follows.
    Unmentioned,
}

/// Whether a byte after a marker shows that the marker is mentioned in prose: it is a blank or punctuation.
pub fn is_mention(next: u8) -> bool {
    b" .,;:!?'\"`)".contains(&next)
}

impl Marker {
    /// A marker without white space around it that needs no confirmation.
    pub const fn new(core: &'static str) -> Self {
        Self {
            core: Cow::Borrowed(core),
            before: Cow::Borrowed(""),
            after: Cow::Borrowed(""),
            confirm: Confirm::Nothing,
            take: true,
            repeats: None,
            names: Cow::Borrowed(&[]),
            line: false,
            in_text: InText::Marker,
        }
    }

    /// Sets the white space that the template writes before and after the core.
    pub const fn layout(mut self, before: &'static str, after: &'static str) -> Self {
        set(&mut self.before, Cow::Borrowed(before));
        set(&mut self.after, Cow::Borrowed(after));
        self
    }

    /// Requires that one of `cores` or the end of the text follows; white space may come between.
    pub const fn followed_by(mut self, cores: &'static [Text]) -> Self {
        set(&mut self.confirm, Confirm::Next(Cow::Borrowed(cores)));
        self
    }

    /// Lets names confirm the marker too.
    pub const fn or_named(mut self, names: &'static [NextName]) -> Self {
        set(&mut self.names, Cow::Borrowed(names));
        self
    }

    /// Requires that it is at the start of a line.
    pub const fn on_line(mut self) -> Self {
        self.line = true;
        self
    }

    /// Requires that nothing but white space comes between it and the marker or the start of the turn before it.
    pub const fn leading(mut self) -> Self {
        self.in_text = InText::Text;
        self
    }

    /// Requires the same, or that neither a blank nor punctuation follows.
    pub const fn unmentioned(mut self) -> Self {
        self.in_text = InText::Unmentioned;
        self
    }

    /// Whether it may be at this offset of a text, of which the part before `from` is read. There is no text before
    /// `lead_end` but white space.
    #[inline]
    pub(crate) fn may_be_at(&self, text: &[u8], from: usize, at: usize, lead_end: usize) -> bool {
        (!self.line || (at > from && text[at - 1] == b'\n')) && (self.in_text != InText::Text || at < lead_end)
    }

    /// Whether the core is white space. Then nothing may come between it and what confirms it.
    pub(crate) fn is_space(&self) -> bool {
        self.core.bytes().all(|byte| byte.is_ascii_whitespace())
    }

    /// Requires that the end of the text follows, or one of `cores`, which end a text; white space may come between.
    pub const fn at_end(mut self, cores: &'static [Text]) -> Self {
        set(&mut self.confirm, Confirm::End(Cow::Borrowed(cores)));
        self
    }

    /// The text that the marker consumes: its core, or nothing if the core is left for the next state.
    pub fn consumed(&self) -> &str {
        if self.take { &self.core } else { "" }
    }

    /// Puts the name of the open argument into the core, at this offset in bytes.
    pub const fn with_name_at(mut self, at: usize) -> Self {
        self.repeats = Some(RepeatedName { of: NameOf::Argument, at });
        self
    }

    /// Puts the name of the open call's function into the core, at this offset in bytes.
    pub const fn with_function_at(mut self, at: usize) -> Self {
        self.repeats = Some(RepeatedName { of: NameOf::Function, at });
        self
    }

    /// Whether the core holds a name of this kind.
    pub fn is_named_by(&self, of: NameOf) -> bool {
        self.repeats.is_some_and(|name| name.of == of)
    }

    /// The core, before and after the name that it repeats. `None` if it repeats none.
    pub fn around_name(&self) -> Option<(&str, &str)> {
        self.repeats.and_then(|name| self.core.split_at_checked(name.at))
    }

    /// The core with this name in its place; the core itself if it holds no name.
    pub fn core_for(&self, name: &str) -> Text {
        self.core_in(name, Cow::Borrowed(""))
    }

    /// Like [`core_for`](Self::core_for), in the memory of another text.
    pub(super) fn core_in(&self, name: &str, memory: Text) -> Text {
        let Some((before, after)) = self.around_name() else {
            return self.core.clone();
        };
        let mut core = match memory {
            Cow::Owned(core) => core,
            Cow::Borrowed(_) => String::new(),
        };
        core.clear();
        core.reserve(self.core.len() + name.len());
        core.extend([before, name, after]);
        Cow::Owned(core)
    }

    /// Leaves the core for the next state to read.
    pub const fn peek(mut self) -> Self {
        self.take = false;
        self
    }
}

/// A name that confirms a marker, with the punctuation around it: the name of an argument that the tool declares, or of
/// a function that is offered. If nothing is declared or offered, any name does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextName {
    /// What is named.
    pub kind: NameKind,
    /// The text between the marker and the name; often empty.
    pub before: Text,
    /// The text after the name, on the same line. Never empty.
    pub after: Text,
}

impl NextName {
    /// A name between these texts.
    pub const fn new(kind: NameKind, before: &'static str, after: &'static str) -> Self {
        Self { kind, before: Cow::Borrowed(before), after: Cow::Borrowed(after) }
    }
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// An argument of the open call.
    Argument,
    /// A function.
    Function,
}

/// What must follow a marker before it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Nothing: the marker counts at once.
    Nothing,
    /// One of these texts, or the end of the output; white space may come between.
    Next(List<Text>),
    /// The end of the output, or one of these texts, which end a text; white space may come between.
    End(List<Text>),
}

impl Confirm {
    /// Whether the marker ends a turn.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::End(_))
    }
}

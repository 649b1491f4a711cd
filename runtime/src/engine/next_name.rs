//! Names that confirm a marker: a value without a closer of its own ends where the name of another argument follows. Which
//! names count is said by the tools that are offered.
//!
//! It must not look for markers; it is told where one ends.

use super::work::Work;
use crate::byte_set::ByteSet;
use crate::limits::{CONFIRM_SPACE, MAX_NAME};
use crate::program::{Marker, NameKind, NextName};
use crate::tools::Tools;

/// The names that count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    tools: Option<&'a Tools>,
    /// The tool of the open call, by its position.
    tool: Option<usize>,
    /// A function's name may be followed by the name of an argument, with white space between them.
    splits: bool,
}

impl<'a> Names<'a> {
    pub(super) const ANY: Self = Self { tools: None, tool: None, splits: false };

    /// The offered functions, and the arguments of the tool at this position.
    pub(super) fn of(tools: &'a Tools, tool: Option<usize>) -> Self {
        Self { tools: Some(tools), tool, splits: false }
    }

    /// The offered functions, each perhaps with the name of an argument after it.
    pub(super) fn of_functions(tools: &'a Tools) -> Self {
        Self { tools: Some(tools), tool: None, splits: true }
    }

    /// Whether the open call's tool names an argument that begins with this text, or is it. Without an open
    /// call: whether the text is the name of a function and, after white space, such a beginning.
    pub(super) fn begins_argument(self, text: &[u8]) -> bool {
        let Some(tools) = self.tools else { return false };
        let text = text.trim_ascii_start();
        match self.tool {
            Some(tool) => !text.is_empty() && tools.begins_argument(tool, text),
            None => self.splits && tools.begins_argument_of_function(text),
        }
    }

    /// Whether an argument of the open call follows a comma, with a colon after its name; `None` while more text is needed to
    /// tell.
    pub(super) fn argument_follows(self, probe: &mut NameProbe, text: &[u8], work: &mut Work) -> Option<bool> {
        const NEXT: NextName = NextName::new(NameKind::Argument, ",", ":");
        probe.compare(text, &NEXT, false, self, work)
    }

    fn has(self, kind: NameKind, name: &[u8]) -> bool {
        let (Some(tools), Ok(name)) = (self.tools, std::str::from_utf8(name)) else { return self.tools.is_none() };
        match kind {
            NameKind::Argument => self.tool.is_none_or(|tool| tools.may_have(tool, name)),
            NameKind::Function => tools.is_empty() || tools.get(name).is_some(),
        }
    }
}

/// How far the text after a marker was compared with the names that may follow, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct NameProbe {
    /// Which of them is compared.
    which: usize,
    /// How many bytes were compared with it.
    read: usize,
    stage: ProbeStage,
    /// Where the name begins, and later where it ends.
    from: usize,
}

/// What is compared: a name, or what is around it.
#[derive(Clone, Copy, Debug)]
enum ProbeStage {
    /// What comes before the name, from this byte on.
    Before(usize),
    Space,
    Name,
    Gap,
    /// What comes after the name, from this byte on.
    After(usize),
}

impl Default for ProbeStage {
    fn default() -> Self {
        Self::Before(0)
    }
}

impl NameProbe {
    /// Whether one of the names of `marker` follows; `None` while more text is needed to tell. `after` is the text
    /// after the marker and the white space after it.
    pub(super) fn follows(
        &mut self,
        after: &[u8],
        marker: &Marker,
        names: Names<'_>,
        last: bool,
        work: &mut Work,
    ) -> Option<bool> {
        while let Some(next) = marker.names.get(self.which) {
            match self.compare(after, next, marker.is_space(), names, work) {
                Some(true) => return Some(true),
                None if !last => return None,
                _ => *self = Self { which: self.which + 1, ..Self::default() },
            }
        }
        Some(false)
    }

    /// With `exact`, no white space may come before the name.
    fn compare(
        &mut self,
        after: &[u8],
        next: &NextName,
        exact: bool,
        names: Names<'_>,
        work: &mut Work,
    ) -> Option<bool> {
        loop {
            let &byte = after.get(self.read)?;
            let space = byte.is_ascii_whitespace() && self.read < self.from + CONFIRM_SPACE;
            let expected = |text: &str, at: usize| text.as_bytes().get(at).copied();
            let (read, stage) = match self.stage {
                ProbeStage::Before(at) => match expected(&next.before, at) {
                    Some(expected) if expected == byte => (true, ProbeStage::Before(at + 1)),
                    Some(_) => return Some(false),
                    None => (false, ProbeStage::Space),
                },
                ProbeStage::Space if space && !exact => (true, self.stage),
                ProbeStage::Space => {
                    self.from = self.read;
                    (false, ProbeStage::Name)
                }
                ProbeStage::Name
                    if ByteSet::NAME.has(byte)
                        || next.kind == NameKind::Argument
                            && (byte == b' ' && self.read > self.from && next.before == "<"
                                || names.begins_argument(&after[self.from..=self.read])) =>
                {
                    if self.read - self.from >= MAX_NAME {
                        return Some(false);
                    }
                    (true, self.stage)
                }
                ProbeStage::Name => {
                    if self.read == self.from || !names.has(next.kind, &after[self.from..self.read]) {
                        return Some(false);
                    }
                    self.from = self.read;
                    (false, ProbeStage::Gap)
                }
                // A tag or a fence may be on the next line.
                ProbeStage::Gap if space && (next.after.starts_with(['<', '`']) || !matches!(byte, b'\n' | b'\r')) => {
                    (true, self.stage)
                }
                ProbeStage::Gap => (false, ProbeStage::After(0)),
                ProbeStage::After(at) => match expected(&next.after, at) {
                    Some(expected) if expected == byte && at + 1 == next.after.len() => return Some(true),
                    Some(expected) if expected == byte => (true, ProbeStage::After(at + 1)),
                    _ => return Some(false),
                },
            };
            self.stage = stage;
            if read {
                self.read += 1;
                work.add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_joints() {
        for byte in 0..=u8::MAX {
            let joint = matches!(byte, b'_' | b'-' | b'.');
            assert_eq!(ByteSet::NAME.has(byte), byte.is_ascii_alphanumeric() || joint || byte >= 0x80, "{byte}");
        }
    }

    #[test]
    fn a_name_counts_with_the_text_around_it() {
        const LINE: &[NextName] = &[NextName::new(NameKind::Argument, "", "=")];
        const LIST: &[NextName] =
            &[NextName::new(NameKind::Argument, "", "="), NextName::new(NameKind::Function, ",", "(")];
        let line = Marker::new("\n").or_named(LINE);
        let list = Marker::new(")").or_named(LIST);
        for (marker, after, expected) in [
            (&line, "city = x", Some(true)),
            (&line, "city=", Some(true)),
            (&line, "city ", None),
            (&line, "the city = x", Some(false)),
            (&line, " city = x", Some(false)),
            (&line, "city\n=", Some(false)),
            (&line, "= x", Some(false)),
            (&list, "city =", Some(true)),
            (&list, ", \n find(", Some(true)),
            (&list, ", find", None),
            (&list, ", find it", Some(false)),
            (&list, ") ", Some(false)),
        ] {
            let mut probe = NameProbe::default();
            let mut found = None;
            // However the text is cut, the answer is the same.
            for end in 0..=after.len() {
                found = probe.follows(&after.as_bytes()[..end], marker, Names::ANY, false, &mut Work::default());
                if found.is_some() {
                    break;
                }
            }
            assert_eq!(found, expected, "{after}");
        }
    }
}

//! Which parts of the buffered text are special tokens of the tokenizer. A marker that holds one counts only where the
//! token arrived as one; text that merely spells it is text.
//!
//! It must not know what a marker means.

use std::sync::Arc;

use crate::byte_set::ByteSet;

/// The special tokens that markers may hold, and where such tokens are in the buffered text.
#[derive(Clone, Debug)]
pub(crate) struct SpecialTokens {
    texts: Arc<[String]>,
    /// The bytes with which they begin.
    firsts: ByteSet,
    /// The parts that arrived as special tokens: from and to, in order. Neighbours are one part.
    parts: Vec<(usize, usize)>,
}

impl SpecialTokens {
    pub(super) fn new(texts: &Arc<[String]>) -> Self {
        let firsts = texts.iter().filter_map(|text| text.bytes().next()).fold(ByteSet::EMPTY, ByteSet::with);
        Self { texts: texts.clone(), firsts, parts: Vec::new() }
    }

    /// The text between two offsets arrives as a special token.
    pub(super) fn add(&mut self, from: usize, to: usize) {
        match self.parts.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ if from < to => self.parts.push((from, to)),
            _ => {}
        }
    }

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.parts.retain(|part| part.1 > count);
        for part in &mut self.parts {
            *part = (part.0.saturating_sub(count), part.1 - count);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn knows(&self, text: &str) -> bool {
        self.texts.iter().any(|known| known == text)
    }

    /// Whether this core, which is at `at`, counts: every special token in it arrived as one.
    pub(super) fn allow(&self, core: &[u8], at: usize) -> bool {
        let mut offset = 0;
        while let Some(&byte) = core.get(offset) {
            let fits = |text: &&String| !text.is_empty() && core[offset..].starts_with(text.as_bytes());
            let token =
                if self.firsts.has(byte) { self.texts.iter().filter(fits).map(|text| text.len()).max() } else { None };
            let Some(length) = token else {
                offset += 1;
                continue;
            };
            let (from, to) = (at + offset, at + offset + length);
            if !self.parts.iter().any(|part| part.0 <= from && to <= part.1) {
                return false;
            }
            offset += length;
        }
        true
    }

    /// How far the text from `from` on is of one kind: the offset where it changes, and whether it is special tokens.
    pub(super) fn stretch(&self, from: usize) -> (Option<usize>, bool) {
        match self.parts.iter().find(|part| part.1 > from) {
            Some(part) if part.0 <= from => (Some(part.1), true),
            Some(part) => (Some(part.0), false),
            None => (None, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str]) -> SpecialTokens {
        SpecialTokens::new(&texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn a_marker_counts_where_its_tokens_are_special() {
        let mut tokens = tokens(&["<s>", "<s>>", "<t>"]);
        tokens.add(3, 6);
        assert!(tokens.allow(b"<s>assistant", 3) && tokens.allow(b"plain", 0));
        assert!(!tokens.allow(b"<s>", 2) && !tokens.allow(b"<t>", 6) && !tokens.allow(b"<s>\n<t>", 3));
        tokens.add(6, 9);
        assert!(tokens.allow(b"<s><t>", 3));
        // The longest token at a place is meant.
        assert!(!tokens.allow(b"<s>>", 6));
        tokens.rebase(4);
        assert_eq!(tokens.stretch(0), (Some(5), true));
        tokens.rebase(5);
        assert!(tokens.is_empty());
    }

    #[test]
    fn a_stretch_ends_where_the_kind_changes() {
        let mut tokens = tokens(&["<q>"]);
        tokens.add(2, 5);
        assert_eq!(
            [0, 2, 4, 5].map(|from| tokens.stretch(from)),
            [(Some(2), false), (Some(5), true), (Some(5), true), (None, false)]
        );
        assert!(tokens.knows("<q>") && !tokens.knows("<q"));
    }
}

//! A stack of the kinds of open brackets, two bits each.

/// A stack of kinds (0 to 3). The innermost 32 are kept in one word, so that usual depths never allocate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nesting {
    len: usize,
    /// The last kind is in the lowest bits.
    top: u64,
    below: Vec<u64>,
}

impl Nesting {
    const PER_WORD: usize = 32;

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, kind: u8) {
        if self.len > 0 && self.len.is_multiple_of(Self::PER_WORD) {
            self.below.push(self.top);
        }
        self.top = self.top << 2 | u64::from(kind & 3);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<u8> {
        (self.len > 0).then_some((self.top & 3) as u8)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u8> {
        let kind = self.last()?;
        self.len -= 1;
        self.top >>= 2;
        if self.len.is_multiple_of(Self::PER_WORD) {
            self.top = self.below.pop().unwrap_or(0);
        }
        Some(kind)
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.top = 0;
        self.below.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Nesting;

    #[test]
    fn pops_what_was_pushed_across_words() {
        let mut nesting = Nesting::default();
        let kinds = |i: usize| (i * 7 % 4) as u8;
        for i in 0..200 {
            nesting.push(kinds(i));
            assert_eq!(nesting.last(), Some(kinds(i)));
        }
        for i in (0..200).rev() {
            assert_eq!(nesting.len(), i + 1);
            assert_eq!(nesting.pop(), Some(kinds(i)));
        }
        assert_eq!(nesting.pop(), None);
    }
}

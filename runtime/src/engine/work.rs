//! Counts the bytes that a parser looks at, so that tests can check that each is looked at a few times only.

/// Counts bytes that are looked at, in test builds.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    #[cfg(feature = "testing")]
    bytes: u64,
}

impl Work {
    #[inline]
    pub(super) fn add(&mut self, _bytes: usize) {
        #[cfg(feature = "testing")]
        {
            self.bytes += _bytes as u64;
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

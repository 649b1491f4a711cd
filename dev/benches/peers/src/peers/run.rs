//! What a parser is to the measurement: something that reads pieces or a whole output, until its time is up.

use std::time::Instant;

use crate::message::Heard;

/// Why a run did not finish.
pub enum Stop {
    /// Its time was up.
    Late,
    /// The parser failed, with this message.
    Failed(String),
}

impl<E: std::fmt::Display> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.to_string())
    }
}

/// One parser, set up for one input.
pub struct Runner {
    /// The crate.
    pub peer: &'static str,
    /// The interface that is called, and the parser's name in it.
    pub called: String,
    pub run: Box<dyn Run>,
}

/// A parser at work. Only `stream` and `batch` are timed.
pub trait Run {
    /// Makes the parser new, for an output that will come in these pieces.
    fn ready(&mut self, chunks: &[&str]) -> Result<(), Stop>;

    /// Feeds the pieces, appends what is reported, and ends the turn; gives up when the time is up.
    fn stream(&mut self, chunks: &[&str], clock: Clock, heard: &mut Heard) -> Result<(), Stop>;

    /// Parses the whole output.
    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop>;
}

/// The deadline of a run. The clock is read once in 64 pieces.
#[derive(Clone, Copy)]
pub struct Clock {
    until: Instant,
    fed: u32,
}

impl Clock {
    pub fn until(until: Instant) -> Self {
        Self { until, fed: 0 }
    }

    /// Counts one piece. Returns whether the time is up.
    pub(super) fn late(&mut self) -> bool {
        self.fed += 1;
        self.fed.is_multiple_of(64) && Instant::now() > self.until
    }

    /// Whether the time is up, now.
    pub(super) fn over(self) -> Result<(), Stop> {
        if Instant::now() > self.until { Err(Stop::Late) } else { Ok(()) }
    }

    pub(super) fn check(&mut self) -> Result<(), Stop> {
        if self.late() { Err(Stop::Late) } else { Ok(()) }
    }
}

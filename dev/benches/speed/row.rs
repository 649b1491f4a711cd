//! What a run measures: one row for each workload and each way to pass it to a parser.

use std::fmt;

use unjinja_testkit::workloads::Shape;

/// The two lengths whose times are compared for growth, in bytes. Ratios are judged at the first.
pub const FROM: usize = 64 << 10;
pub const TO: usize = 1 << 20;

/// The sizes of pieces, in bytes.
pub const PIECES: [usize; 4] = [1, 4, 16, 4096];

/// How an output is passed to a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In one piece, into a message that borrows from it.
    Borrowed,
    /// In one piece, into an owned message.
    Batch,
    /// In pieces of this many bytes.
    Stream(usize),
}

/// The reference work that a parser is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `memchr::memmem`, one pass for each marker.
    Memmem,
    /// `serde_json::from_str::<IgnoredAny>` over the arguments.
    IgnoredAny,
    /// `String::push_str` of the same pieces.
    PushStr,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Memmem => "memmem",
            Limit::IgnoredAny => "IgnoredAny",
            Limit::PushStr => "push_str",
        })
    }
}

/// One workload in one mode.
#[derive(Clone, Debug)]
pub struct Row {
    pub format: String,
    /// Whether arguments are translated to JSON.
    pub translates: bool,
    pub shape: Shape,
    /// Whether the output has tool calls.
    pub calls: bool,
    /// The nominal length of the output, in bytes.
    pub size: usize,
    /// Its real length, in bytes.
    pub bytes: usize,
    pub mode: Mode,
    /// Median time of the parser.
    pub nanoseconds: f64,
    pub limit: Limit,
    /// Median of the ratios of parser to reference work, by round.
    pub ratio: f64,
    /// Time at 1 MiB divided by time at 64 KiB, median by round; for a row at 64 KiB that has a partner at 1 MiB.
    pub growth: Option<f64>,
}

impl Row {
    /// Megabytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.nanoseconds * 1e3
    }
}

impl Mode {
    pub fn name(self) -> String {
        match self {
            Mode::Borrowed => "borrowed".to_owned(),
            Mode::Batch => "owned".to_owned(),
            Mode::Stream(size) => format!("by {size}"),
        }
    }
}

/// The median; of an even number of figures, the lower one of the two in the middle.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

//! The parsers behind one interface. Each is used as its documentation and its server use it: its incremental
//! interface, with the tools of the request, and made before the clock starts.

mod dynamo;
mod dynamo_v2;
mod ours;
mod smg;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::inputs::Input;
use crate::message::Heard;
use crate::turn::Turn;

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
    fn late(&mut self) -> bool {
        self.fed += 1;
        self.fed.is_multiple_of(64) && Instant::now() > self.until
    }

    /// Whether the time is up, now.
    fn over(self) -> Result<(), Stop> {
        if Instant::now() > self.until { Err(Stop::Late) } else { Ok(()) }
    }

    fn check(&mut self) -> Result<(), Stop> {
        if self.late() { Err(Stop::Late) } else { Ok(()) }
    }
}

/// The parsers that could be set up, and the peers that could not, with the reasons.
pub type Found = (Vec<Runner>, Vec<(&'static str, String)>);

/// Our parser, then every peer that knows the format.
pub fn runners(input: &Input) -> Found {
    sorted([("unjinja", ours::runners(input))].into_iter().chain(set_up(&input.turn)))
}

/// Every peer that knows the format of a turn.
pub fn others(turn: &Turn) -> Found {
    sorted(set_up(turn))
}

type SetUp = (&'static str, Result<Vec<Runner>, Stop>);

fn set_up(turn: &Turn) -> impl Iterator<Item = SetUp> {
    let all = [
        ("tool-parser, reasoning-parser", smg::runners(turn)),
        ("dynamo-parsers", dynamo::runners(turn)),
        ("dynamo-parsers-v2", dynamo_v2::runners(turn)),
    ];
    all.into_iter()
}

fn sorted(all: impl Iterator<Item = SetUp>) -> Found {
    let mut runners = Vec::new();
    let mut missing = Vec::new();
    for (peer, result) in all {
        match result {
            Ok(more) => runners.extend(more),
            Err(Stop::Failed(why)) => missing.push((peer, why)),
            Err(Stop::Late) => missing.push((peer, "late".into())),
        }
    }
    (runners, missing)
}

/// Runs a parser; its panic is a failure like any other.
pub fn guarded(run: impl FnOnce() -> Result<(), Stop>) -> Result<(), Stop> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Err(Stop::Failed(format!("panicked: {}", text.unwrap_or("?"))))
    })
}

//! The parsers with one interface. Each is used as its documentation and its server use it: its incremental
//! interface, with the tools of the request, and made before the clock starts.

mod dynamo;
mod dynamo_v2;
mod ours;
mod run;
mod smg;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::inputs::Input;
use crate::turn::TurnInput;

pub use run::{Clock, Run, Runner, Stop};

/// The parsers that could be set up, and the peers that could not, with the reasons.
pub type FoundRunners = (Vec<Runner>, Vec<(&'static str, String)>);

/// Our parser, then every peer that knows the format.
pub fn runners(input: &Input) -> FoundRunners {
    sorted([("unjinja", ours::runners(input))].into_iter().chain(set_up(&input.turn)))
}

/// Every peer that knows the format of a turn.
pub fn others(turn: &TurnInput) -> FoundRunners {
    sorted(set_up(turn))
}

type SetUp = (&'static str, Result<Vec<Runner>, Stop>);

fn set_up(turn: &TurnInput) -> impl Iterator<Item = SetUp> {
    let all = [
        ("tool-parser, reasoning-parser", smg::runners(turn)),
        ("dynamo-parsers", dynamo::runners(turn)),
        ("dynamo-parsers-v2", dynamo_v2::runners(turn)),
    ];
    all.into_iter()
}

fn sorted(all: impl Iterator<Item = SetUp>) -> FoundRunners {
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

//! Times parsers on one input, their samples in turn, and compares what each reported. Time is the process's CPU time,
//! in which nothing else happens meanwhile.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use unjinja_peers::message::Heard;
use unjinja_peers::peers::{Clock, Run, Runner, Stop, guarded};
use unjinja_peers::turn::TurnInput;

/// How the output is fed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In pieces of four bytes.
    Stream,
    /// In pieces of four bytes, every tag in a piece of its own.
    WholeTags,
    /// At once.
    Batch,
}

/// What one parser did with one turn.
pub struct Figure {
    pub verdict: Verdict,
    /// The median of the samples; `None` where the time was up or the parser failed.
    pub median: Option<Duration>,
}

/// Whether the message was the one that was meant.
#[derive(Clone, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// What differs.
    Wrong(String),
    /// The parser failed.
    Failed(String),
    /// The sample took longer than it may.
    Late,
    /// Not tried: smaller inputs say that it would be late.
    Skipped,
}

/// How long a sample may take.
pub const CAP: Duration = Duration::from_secs(5);
const MOST_SAMPLES: usize = 25;
/// The minimum, for work that does not take much longer than its budget.
const LEAST_SAMPLES: u32 = 3;

struct Sample {
    time: Duration,
    heard: Heard,
    result: Result<(), Stop>,
}

fn sample(run: &mut dyn Run, turn: &TurnInput, chunks: &[&str], mode: Mode) -> Sample {
    let mut heard = Heard::default();
    let mut time = Duration::ZERO;
    let mut timed = || -> Result<(), Stop> {
        run.ready(chunks)?;
        let until = Instant::now() + CAP;
        let start = ProcessTime::now();
        let result = match mode {
            Mode::Stream | Mode::WholeTags => run.stream(chunks, Clock::until(until), &mut heard),
            Mode::Batch => run.batch(&turn.output, &mut heard),
        };
        time = start.elapsed();
        result
    };
    let result = guarded(&mut timed);
    Sample { time, heard, result }
}

/// Times all of them. `budget` is what the samples of each may take together; one sample is always taken, but of
/// those that `skip` names.
pub fn measure(runners: &mut [Runner], turn: &TurnInput, mode: Mode, budget: Duration, skip: &[bool]) -> Vec<Figure> {
    let chunks = match mode {
        Mode::Stream => turn.chunks(),
        Mode::WholeTags => turn.chunks_with_whole_tags(),
        Mode::Batch => Vec::new(),
    };
    let mut times: Vec<Vec<Duration>> = runners.iter().map(|_| Vec::new()).collect();
    let mut verdicts = Vec::new();
    for ((runner, times), skip) in runners.iter_mut().zip(&mut times).zip(skip) {
        if *skip {
            verdicts.push(Verdict::Skipped);
            continue;
        }
        let sample = sample(&mut *runner.run, turn, &chunks, mode);
        times.push(sample.time);
        verdicts.push(match sample.result {
            Err(Stop::Late) => Verdict::Late,
            Err(Stop::Failed(why)) => Verdict::Failed(why),
            Ok(()) => sample.heard.differs(&turn.meant).map_or(Verdict::Right, Verdict::Wrong),
        });
    }
    let timed = |verdict: &Verdict| matches!(verdict, Verdict::Right | Verdict::Wrong(_));
    loop {
        let mut any = false;
        for ((runner, times), verdict) in runners.iter_mut().zip(&mut times).zip(&verdicts) {
            let spent: Duration = times.iter().sum();
            // The first sample of a fast parser is a cold one; of a slow one it has to do.
            let few = (times.len() as u32) < LEAST_SAMPLES && spent < budget * LEAST_SAMPLES;
            if timed(verdict) && times.len() < MOST_SAMPLES && (few || spent < budget) {
                times.push(sample(&mut *runner.run, turn, &chunks, mode).time);
                any = true;
            }
        }
        if !any {
            break;
        }
    }
    let figures = verdicts.into_iter().zip(times).map(|(verdict, mut times)| {
        times.sort();
        let median = timed(&verdict).then(|| times[times.len() / 2]);
        Figure { verdict, median }
    });
    figures.collect()
}

//! Measures one shape of one format at all its lengths. Parser and reference work, short and long inputs run in turns, so that a
//! busy machine affects all of them; a ratio is the median of the ratios of all rounds.
//!
//! The processor time of the thread is measured, which does not include other processes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use unjinja::Options;

use crate::row::{FROM, Limit, Mode, PIECES, Row, TO, median};
use crate::subjects::{Passes, Sink, Subject, ignored, push_str};
use unjinja_testkit::Failure;
use unjinja_testkit::workloads::{Format, Workload};

/// The least duration of one sample, in nanoseconds. The clock is too coarse for shorter ones.
const SAMPLE: f64 = 100e3;

/// The longest time for a shape, provided that each contender ran three times.
const PATIENCE: Duration = Duration::from_secs(5);

/// Processor time of this thread, in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Something that is timed over and over.
pub struct Contender<'w> {
    run: Box<dyn FnMut() + 'w>,
    times: usize,
    samples: Vec<f64>,
}

impl<'w> Contender<'w> {
    /// Times this function.
    pub fn new<T>(mut run: impl FnMut() -> T + 'w) -> Self {
        Self { run: Box::new(move || drop(black_box(run()))), times: 1, samples: Vec::new() }
    }

    /// Nanoseconds that one run takes.
    fn sample(&mut self) -> f64 {
        let begin = now();
        for _ in 0..self.times {
            (self.run)();
        }
        (now() - begin) / self.times as f64
    }

    /// Runs it a few times, and finds out how often it has to run to be timed well.
    pub fn warm_up(&mut self) {
        self.sample();
        let once = self.sample().max(1.0);
        self.times = (SAMPLE / once).ceil().max(1.0) as usize;
    }

    /// Takes one more sample.
    pub fn add_sample(&mut self) {
        let time = self.sample();
        self.samples.push(time);
    }

    /// Nanoseconds that one run took, sample by sample.
    pub fn into_samples(self) -> Vec<f64> {
        self.samples
    }
}

/// A workload with its contenders: for each mode the parser and its reference work.
struct Entry<'w> {
    workload: &'w Workload,
    size: usize,
    modes: Vec<(Mode, Limit)>,
    contenders: Vec<Contender<'w>>,
}

/// The modes that are measured: all of them at the lengths at which ratios are judged, elsewhere those for growth.
fn modes(workload: &Workload, size: usize) -> Vec<Mode> {
    let four = Mode::Stream(4);
    match size {
        _ if workload.shape.is_adversarial() => vec![Mode::Borrowed, four],
        TO => vec![Mode::Borrowed, Mode::Batch, four],
        _ => [Mode::Borrowed, Mode::Batch].into_iter().chain(PIECES.map(Mode::Stream)).collect(),
    }
}

/// Prepares a workload.
struct Ready {
    workload: Workload,
    size: usize,
    options: Options,
    arguments: Vec<String>,
}

impl Ready {
    fn new(workload: Workload, size: usize, subject: Subject) -> Result<Self, Failure> {
        let options = workload.options()?;
        let message = (subject.parse)(&workload.output, &options);
        workload.check(&message)?;
        let arguments = message.tool_calls.into_iter().map(|call| call.arguments).collect();
        Ok(Self { workload, size, options, arguments })
    }
}

impl<'w> Entry<'w> {
    fn new(ready: &'w Ready, passes: &'w [Passes; 2], subject: Subject) -> Self {
        let Ready { workload, size, options, arguments } = ready;
        let output = workload.output.as_str();
        let limit = if workload.calls.is_empty() { Limit::Memmem } else { Limit::IgnoredAny };
        let mut entry = Self { workload, size: *size, modes: Vec::new(), contenders: Vec::new() };
        let limits = || match limit {
            Limit::Memmem => Contender::new(|| {
                let [reasoned, answered] = passes;
                reasoned.run(black_box(&workload.reasoning)) + answered.run(black_box(&workload.content))
            }),
            _ => Contender::new(|| ignored(black_box(arguments))),
        };
        for mode in modes(workload, *size) {
            let (ours, bound) = match mode {
                Mode::Borrowed => (Contender::new(move || (subject.borrow)(black_box(output), options)), limits()),
                Mode::Batch => (Contender::new(move || (subject.parse)(black_box(output), options)), limits()),
                Mode::Stream(piece) => {
                    let ours = Contender::new(move || {
                        let mut sink = Sink::default();
                        (subject.stream)(black_box(output), black_box(piece), options, &mut sink);
                        sink
                    });
                    (ours, Contender::new(move || push_str(black_box(output), black_box(piece))))
                }
            };
            entry.modes.push((mode, if matches!(mode, Mode::Stream(_)) { Limit::PushStr } else { limit }));
            entry.contenders.extend([ours, bound]);
        }
        entry
    }

    fn samples(&self, mode: usize) -> &[f64] {
        &self.contenders[2 * mode].samples
    }
}

/// The rows of one shape of a format.
pub fn measure(
    format: &Format,
    workloads: Vec<(usize, Workload)>,
    subject: Subject,
    rounds: usize,
) -> Result<Vec<Row>, Failure> {
    let passes = [&format.markers.reasoning, &format.markers.content].map(|markers| Passes::new(markers));
    let ready = workloads.into_iter().map(|(size, workload)| Ready::new(workload, size, subject));
    let ready = ready.collect::<Result<Vec<_>, _>>()?;
    let mut entries: Vec<Entry<'_>> = ready.iter().map(|ready| Entry::new(ready, &passes, subject)).collect();

    entries.iter_mut().flat_map(|entry| &mut entry.contenders).for_each(Contender::warm_up);
    let begin = Instant::now();
    for round in 0..rounds.max(1) {
        if round >= 3 && begin.elapsed() > PATIENCE {
            break;
        }
        for contender in entries.iter_mut().flat_map(|entry| &mut entry.contenders) {
            contender.add_sample();
        }
    }

    let long = entries.iter().find(|entry| entry.size == TO);
    let samples_of = |entry: &Entry<'_>, mode: Mode| {
        let number = entry.modes.iter().position(|(other, _)| *other == mode)?;
        Some(entry.samples(number).to_vec())
    };
    let mut rows = Vec::new();
    for entry in &entries {
        let long = long.filter(|_| entry.size == FROM);
        for (number, (mode, limit)) in entry.modes.iter().copied().enumerate() {
            let (ours, limits) = (entry.samples(number), &entry.contenders[2 * number + 1].samples);
            let bytes = entry.workload.output.len();
            rows.push(Row {
                format: entry.workload.format.clone(),
                translates: format.translates,
                shape: entry.workload.shape.clone(),
                calls: !entry.workload.calls.is_empty(),
                size: entry.size,
                bytes,
                mode,
                nanoseconds: median(ours.iter().copied()),
                limit,
                ratio: median(ours.iter().zip(limits).map(|(ours, limit)| ours / limit.max(1.0))),
                growth: long.and_then(|long| {
                    let longs = samples_of(long, mode)?;
                    // The lengths are not exactly 16 to 1.
                    let exact = (bytes * TO) as f64 / (long.workload.output.len() * FROM) as f64;
                    Some(median(ours.iter().zip(longs).map(|(short, long)| long / short * exact)))
                }),
            });
        }
    }
    Ok(rows)
}

//! Measures one workload: parser and limits run by turns, so that what disturbs the machine disturbs both, and a ratio
//! is the median of the ratios of the rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::report::{Limit, Mode, Row};
use crate::subjects::{Passes, Sink, Subject, ignored, push_str};
use crate::workloads::{Failure, Format, Workload};

/// The sizes of pieces, in bytes.
pub const PIECES: [usize; 4] = [1, 4, 16, 4096];

/// What one sample takes at least: below that, the clock is what is measured.
const SAMPLE: Duration = Duration::from_micros(40);

/// What a workload takes at most, as long as each contender ran three times.
const PATIENCE: Duration = Duration::from_secs(4);

struct Contender<'w> {
    run: Box<dyn FnMut() + 'w>,
    times: usize,
    samples: Vec<f64>,
}

impl<'w> Contender<'w> {
    fn new<T>(mut run: impl FnMut() -> T + 'w) -> Self {
        Self { run: Box::new(move || drop(black_box(run()))), times: 1, samples: Vec::new() }
    }

    /// Nanoseconds that one run takes.
    fn sample(&mut self) -> f64 {
        let begin = Instant::now();
        for _ in 0..self.times {
            (self.run)();
        }
        begin.elapsed().as_nanos() as f64 / self.times as f64
    }

    fn warm_up(&mut self) {
        self.sample();
        let once = self.sample().max(1.0);
        self.times = (SAMPLE.as_nanos() as f64 / once).ceil().max(1.0) as usize;
    }
}

/// The rows of one workload.
pub fn measure(
    format: &Format,
    workload: &Workload,
    size: usize,
    subject: Subject,
    rounds: usize,
) -> Result<Vec<Row>, Failure> {
    let options = workload.options()?;
    let output = workload.output.as_str();
    let message = (subject.parse)(output, &options);
    workload.check(&message)?;
    let arguments: Vec<String> = message.tool_calls.iter().map(|call| call.arguments.clone()).collect();
    let reasoned = Passes::new(&format.markers.reasoning);
    let answered = Passes::new(&format.markers.content);

    // Adversarial texts are about growth; one cutting shows it.
    let pieces = if workload.shape.is_adversarial() { &PIECES[1..2] } else { &PIECES[..] };
    let mut modes = vec![Mode::Batch];
    let mut contenders = vec![Contender::new(|| (subject.parse)(black_box(output), &options))];
    let batch_limit = if workload.calls.is_empty() {
        contenders.push(Contender::new(|| {
            reasoned.run(black_box(&workload.reasoning)) + answered.run(black_box(&workload.content))
        }));
        Limit::Memmem
    } else {
        contenders.push(Contender::new(|| ignored(black_box(&arguments))));
        Limit::IgnoredAny
    };
    for &piece in pieces {
        let options = &options;
        modes.push(Mode::Stream(piece));
        contenders.push(Contender::new(move || {
            let mut sink = Sink::default();
            (subject.stream)(black_box(output), black_box(piece), options, &mut sink);
            sink
        }));
        contenders.push(Contender::new(move || push_str(black_box(output), black_box(piece))));
    }

    contenders.iter_mut().for_each(Contender::warm_up);
    let begin = Instant::now();
    for round in 0..rounds.max(1) {
        if round >= 3 && begin.elapsed() > PATIENCE {
            break;
        }
        for contender in &mut contenders {
            let time = contender.sample();
            contender.samples.push(time);
        }
    }
    let pairs = modes.into_iter().zip(contenders.chunks(2));
    Ok(pairs
        .map(|(mode, pair)| {
            let (ours, limit) = (&pair[0].samples, &pair[1].samples);
            Row {
                format: workload.format.clone(),
                translates: format.translates,
                shape: workload.shape.clone(),
                calls: !workload.calls.is_empty(),
                size,
                bytes: output.len(),
                mode,
                nanoseconds: median(ours.clone()),
                limit: if mode == Mode::Batch { batch_limit } else { Limit::PushStr },
                limit_nanoseconds: median(limit.clone()),
                ratio: median(ours.iter().zip(limit).map(|(ours, limit)| ours / limit.max(1.0)).collect()),
            }
        })
        .collect())
}

/// The middle of some figures; of an even number of them, the lower one.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

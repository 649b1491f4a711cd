//! How much slower the interpreter is than compiled code: both parse the same outputs in turns, whole and in pieces of 4 bytes.

use std::fmt::Write;
use std::hint::black_box;

use unjinja::{Interpreter, Options, parse_borrowed};

use crate::row::{FROM, median};
use crate::sample::Contender;
use crate::subjects::{Sink, Subject, stream};
use unjinja_testkit::Failure;
use unjinja_testkit::workloads::{Format, Shape, Workload};

/// The length of the pieces of a stream, in bytes.
const PIECE: usize = 4;

/// How many realistic turns are parsed of each format.
const TURNS: usize = 52;

/// The ratios of one kind of output: one for each format, whole and in pieces.
#[derive(Default)]
struct Ratios {
    name: &'static str,
    whole: Vec<(f64, String)>,
    pieces: Vec<(f64, String)>,
}

/// The table: for each kind of output, the time of the interpreter divided by the time of compiled code.
pub fn table(rounds: usize, subject: impl Fn(&str) -> Result<Subject, Failure>) -> Result<String, Failure> {
    let mut kinds: [Ratios; 3] =
        ["text", "one long string argument", "realistic turns"].map(|name| Ratios { name, ..Ratios::default() });
    for format in Format::all(unjinja_app::SPECS)? {
        let subject = subject(&format.name)?;
        let one = |shape: &Shape| format.workload(shape, FROM).into_iter().collect::<Vec<_>>();
        let outputs = [one(&Shape::Prose), one(&Shape::CodeArgument), format.mixture(TURNS)];
        for (kind, outputs) in kinds.iter_mut().zip(outputs) {
            if outputs.is_empty() {
                continue;
            }
            let [whole, pieces] = ratios(&outputs, subject, rounds)?;
            kind.whole.push((whole, format.name.clone()));
            kind.pieces.push((pieces, format.name.clone()));
        }
    }
    let mut out = String::from(
        "| interpreted, to compiled | whole, median | whole, worst | by 4, median | by 4, worst |\n|---|---:|---:|---:|---:|\n",
    );
    for Ratios { name, whole, pieces } in &kinds {
        let of = |ratios: &[(f64, String)]| {
            let worst = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0));
            let worst = worst.map_or_else(String::new, |(ratio, format)| format!("{ratio:.2}, `{format}`"));
            format!("{:.2} | {worst}", median(ratios.iter().map(|(ratio, _)| *ratio)))
        };
        let _ = writeln!(out, "| {name} | {} | {} |", of(whole), of(pieces));
    }
    Ok(out)
}

/// The ratio of the interpreter's time to that of compiled code, for all these outputs together: whole, and in pieces.
fn ratios(outputs: &[Workload], subject: Subject, rounds: usize) -> Result<[f64; 2], Failure> {
    let parser = Interpreter::from_static(subject.program);
    let outputs: Vec<(&str, Options)> = outputs
        .iter()
        .map(|workload| {
            let options = workload.options()?;
            workload.check(&parse_borrowed(parser.clone(), &*workload.output, &options).into_owned())?;
            Ok((&*workload.output, options))
        })
        .collect::<Result<_, Failure>>()?;
    let each =
        |run: &dyn Fn(&str, &Options)| outputs.iter().for_each(|(output, options)| run(black_box(output), options));
    let pieces = |run: &dyn Fn(&str, &Options, &mut Sink)| {
        each(&|output, options| {
            let mut sink = Sink::default();
            run(output, options, &mut sink);
            black_box(sink);
        });
    };
    let mut contenders = [
        Contender::new(|| each(&|output, options| drop(black_box(parse_borrowed(parser.clone(), output, options))))),
        Contender::new(|| each(&|output, options| drop(black_box((subject.borrow)(output, options))))),
        Contender::new(|| pieces(&|output, options, sink| stream(parser.clone(), output, PIECE, options, sink))),
        Contender::new(|| pieces(&|output, options, sink| (subject.stream)(output, PIECE, options, sink))),
    ];
    contenders.iter_mut().for_each(Contender::warm_up);
    for _ in 0..rounds.max(1) {
        contenders.iter_mut().for_each(Contender::add_sample);
    }
    let [interpreted, compiled, interpreted_pieces, compiled_pieces] = contenders.map(Contender::into_samples);
    let ratio = |a: &[f64], b: &[f64]| median(a.iter().zip(b).map(|(a, b)| a / b.max(1.0)));
    Ok([ratio(&interpreted, &compiled), ratio(&interpreted_pieces, &compiled_pieces)])
}

//! Realistic turns, each parsed on its own: those that our own templates write and, with the feature `corpus`, the easy
//! turns of the corpus. Measures the time of a turn, whole and in pieces of 4 bytes, and that of `String::push_str` of the same
//! pieces. It judges nothing: turns are short, so what a new parser costs is a good part of these times.

use std::fmt::Write;
use std::hint::black_box;

use unjinja::Options;

use crate::row::median;
use crate::sample::Contender;
use crate::subjects::{Sink, Subject, push_str};
use unjinja_testkit::Failure;
use unjinja_testkit::workloads::{Format, Workload};

/// The number of turns of each format.
const TURNS: usize = 52;

/// The length of the pieces of a stream, in bytes.
const PIECE: usize = 4;

/// One turn, ready to be parsed.
pub struct BenchTurn {
    pub output: String,
    pub options: Options,
    pub parser: Parser,
}

/// What parses a turn.
pub enum Parser {
    /// A parser of our own templates, by name.
    Own(Subject),
    /// A parser of a released model.
    #[cfg(feature = "corpus")]
    Released(&'static dyn unjinja::ChatParser),
}

impl BenchTurn {
    fn whole(&self) {
        let output = black_box(self.output.as_str());
        match self.parser {
            Parser::Own(subject) => drop(black_box((subject.borrow)(output, &self.options))),
            #[cfg(feature = "corpus")]
            Parser::Released(parser) => drop(black_box(parser.parse_borrowed(output.into(), &self.options))),
        }
    }

    fn in_pieces(&self) {
        let mut sink = Sink::default();
        let output = black_box(self.output.as_str());
        match self.parser {
            Parser::Own(subject) => (subject.stream)(output, black_box(PIECE), &self.options, &mut sink),
            #[cfg(feature = "corpus")]
            Parser::Released(parser) => {
                let mut stream = parser.stream(&self.options);
                for piece in crate::subjects::pieces(output, black_box(PIECE)) {
                    stream.push(piece, &mut |event| sink.take(&event));
                }
                stream.finish(&mut |event| sink.take(&event));
            }
        }
        black_box(sink);
    }
}

/// The realistic turns of a format.
pub fn of_format(format: &Format, subject: Subject) -> Result<Vec<BenchTurn>, Failure> {
    let turn = |turn: Workload| {
        let options = turn.options()?;
        turn.check(&(subject.parse)(&turn.output, &options))?;
        Ok(BenchTurn { output: turn.output, options, parser: Parser::Own(subject) })
    };
    format.mixture(TURNS).into_iter().map(turn).collect()
}

/// A line of the table for each group of turns: its name, and medians over `rounds` rounds.
pub fn table(groups: &[(&str, Vec<BenchTurn>)], rounds: usize) -> String {
    let mut out = String::from(
        "| realistic turns | count | bytes a turn | whole, ns a turn | by 4, ns a turn | by 4, of `push_str` |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (name, turns) in groups.iter().filter(|(_, turns)| !turns.is_empty()) {
        let [whole, streamed, limit] = measure(turns, rounds);
        let count = turns.len() as f64;
        let bytes = turns.iter().map(|turn| turn.output.len()).sum::<usize>() as f64;
        let ratio = median(streamed.iter().zip(&limit).map(|(ours, limit)| ours / limit.max(1.0)));
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| {name} | {count} | {:.0} | {:.0} | {:.0} | {ratio:.1} |",
            bytes / count,
            median(whole) / count,
            median(streamed) / count,
        );
    }
    out
}

/// Nanoseconds that all turns take together in each round: whole, in pieces, and their pieces appended.
fn measure(turns: &[BenchTurn], rounds: usize) -> [Vec<f64>; 3] {
    let mut contenders = [
        Contender::new(|| turns.iter().for_each(BenchTurn::whole)),
        Contender::new(|| turns.iter().for_each(BenchTurn::in_pieces)),
        Contender::new(|| {
            turns.iter().map(|turn| push_str(black_box(&turn.output), black_box(PIECE)).len()).sum::<usize>()
        }),
    ];
    contenders.iter_mut().for_each(Contender::warm_up);
    for _ in 0..rounds.max(1) {
        contenders.iter_mut().for_each(Contender::add_sample);
    }
    contenders.map(Contender::into_samples)
}

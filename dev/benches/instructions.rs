//! Counts the instructions of a fixed set of workloads with callgrind. Unlike times, the counts do not vary. The command
//! `dev/benches/count_instructions` runs this, compares with `instructions.tsv` and fails where one of them grew.

#![allow(clippy::expect_used, reason = "a benchmark that cannot be set up is over")]
#![allow(missing_docs, reason = "the macros of gungraun write public items")]

mod subjects;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use subjects::{Sink, Subject, subject};
use unjinja::{BorrowedMessage, Options};
use unjinja_testkit::workloads::{Format, Shape, Workload};

/// Length of the outputs, in bytes. They are short, because callgrind is about fifty times slower than the processor.
const SIZE: usize = 16 << 10;

struct Ready {
    subject: Subject,
    output: String,
    options: Options,
}

impl Ready {
    fn new(subject: Subject, workload: Workload) -> Self {
        let options = workload.options().expect("tools in OpenAI's form");
        // The first run loads the pages of the program.
        workload.check(&(subject.parse)(&workload.output, &options)).expect("the message of the workload");
        Self { subject, output: workload.output, options }
    }
}

/// Makes the workload; none of this is counted.
fn ready(format: &str, shape: Shape) -> &'static Ready {
    let read = Format::read(unjinja_app::SPECS, format).expect("a spec of each template");
    let workload = read.workload(&shape, SIZE).expect("a shape that the template can write");
    let subject = subject(format).expect("a parser for each template");
    Box::leak(Box::new(Ready::new(subject, workload)))
}

/// The formats of the mixture: one of each way to write a call, and two more in JSON, as most models write.
const MIXED: [&str; 8] =
    ["qwen3", "hermes", "call_id_marker", "channels", "xml_parameters", "python_calls", "python_dict", "quote_tokens"];

/// The number of realistic turns of each of these formats.
const TURNS: usize = 52;

/// Makes the turns of the mixture; none of this is counted.
fn mixed(parse: fn(&'static Ready)) -> (&'static [Ready], fn(&'static Ready)) {
    let turns = MIXED.iter().flat_map(|format| {
        let read = Format::read(unjinja_app::SPECS, format).expect("a spec of each template");
        let subject = subject(format).expect("a parser for each template");
        let turns = read.mixture(TURNS);
        assert!(turns.len() > TURNS / 2, "{format}: too few turns");
        turns.into_iter().map(move |turn| Ready::new(subject, turn))
    });
    (turns.collect::<Vec<_>>().leak(), parse)
}

fn whole(ready: &'static Ready) -> BorrowedMessage<'static> {
    (ready.subject.borrow)(black_box(&ready.output), &ready.options)
}

fn in_pieces(ready: &'static Ready) -> Sink {
    let mut sink = Sink::default();
    (ready.subject.stream)(black_box(&ready.output), black_box(4), &ready.options, &mut sink);
    sink
}

fn near_marker() -> Shape {
    Shape::NearMarker("<tool_call".to_owned())
}

fn first_byte() -> Shape {
    Shape::FirstByte("<".to_owned())
}

#[library_benchmark(setup = ready)]
#[bench::text("qwen3", Shape::Prose)]
#[bench::reasoning("qwen3", Shape::Reasoning)]
#[bench::json_string("qwen3", Shape::CodeArgument)]
#[bench::json_values("qwen3", Shape::SmallValues)]
#[bench::json_calls("qwen3", Shape::SmallCalls)]
#[bench::tagged("xml_parameters", Shape::CodeArgument)]
#[bench::expression("python_calls", Shape::CodeArgument)]
#[bench::quote_tokens("quote_tokens", Shape::CodeArgument)]
#[bench::first_byte("qwen3", first_byte())]
#[bench::near_marker("qwen3", near_marker())]
fn batch(ready: &'static Ready) -> BorrowedMessage<'static> {
    whole(ready)
}

#[library_benchmark(setup = ready)]
#[bench::text("qwen3", Shape::Prose)]
#[bench::reasoning("qwen3", Shape::Reasoning)]
#[bench::json_string("qwen3", Shape::CodeArgument)]
#[bench::json_values("qwen3", Shape::SmallValues)]
#[bench::json_calls("qwen3", Shape::SmallCalls)]
#[bench::tagged("xml_parameters", Shape::CodeArgument)]
#[bench::expression("python_calls", Shape::CodeArgument)]
#[bench::quote_tokens("quote_tokens", Shape::CodeArgument)]
#[bench::first_byte("qwen3", first_byte())]
#[bench::near_marker("qwen3", near_marker())]
fn by_four(ready: &'static Ready) -> Sink {
    in_pieces(ready)
}

// Realistic turns of several formats: one parser for each turn.
#[library_benchmark(setup = mixed)]
#[bench::batch(|ready| drop(whole(ready)))]
#[bench::by_four(|ready| drop(in_pieces(ready)))]
fn mixture((turns, parse): (&'static [Ready], fn(&'static Ready))) {
    for ready in turns {
        parse(black_box(ready));
    }
}

library_benchmark_group!(name = parsing, benchmarks = [batch, by_four, mixture]);
main!(library_benchmark_groups = parsing);

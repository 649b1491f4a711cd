//! Single benchmarks, for use while changing one thing: a shape, a format and a length, in one piece and in small ones, with the
//! work that it is compared with. The published table is made by `speed`.
//!
//! They use divan, which runs a matrix of arguments and filters by name:
//!
//! ```text
//! cargo bench -p unjinja-benches --bench streaming -- prose
//! cargo bench -p unjinja-benches --bench streaming -- "borrowed.*qwen3/.*/65536"
//! ```

#![allow(clippy::expect_used, reason = "a benchmark that cannot be set up is over")]

mod subjects;

use std::fmt;
use std::sync::LazyLock;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use subjects::{Passes, Sink, Subject, ignored, push_str, subject};
use unjinja::Options;
use unjinja_testkit::workloads::{Format, SIZES, Shape, Workload};

fn main() {
    divan::main();
}

/// A workload that is made when it is first measured, because most are filtered out.
#[derive(Clone)]
struct Case {
    format: &'static Format,
    shape: Shape,
    calls: bool,
    size: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.format.name, self.shape.to_string().escape_debug(), self.size)
    }
}

static FORMATS: LazyLock<Vec<Format>> =
    LazyLock::new(|| Format::all(unjinja_app::SPECS).expect("specs of the templates"));

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut cases = Vec::new();
    for format in FORMATS.iter() {
        for shape in Shape::all(&format.markers) {
            // A small workload shows whether the template can write the shape.
            let Some(small) = format.workload(&shape, 1024) else { continue };
            let calls = !small.calls.is_empty();
            cases.extend(SIZES.map(|size| Case { format, shape: shape.clone(), calls, size }));
        }
    }
    cases
});

impl Case {
    fn ready(&self) -> (Subject, Workload, Options) {
        let workload = self.format.workload(&self.shape, self.size).expect("a shape that can be written");
        let subject = subject(&self.format.name).expect("a parser for each template");
        let options = workload.options().expect("tools in OpenAI's form");
        (subject, workload, options)
    }
}

fn every() -> impl Iterator<Item = Case> {
    CASES.iter().cloned()
}

fn texts() -> impl Iterator<Item = Case> {
    every().filter(|case| !case.calls)
}

fn calls() -> impl Iterator<Item = Case> {
    every().filter(|case| case.calls)
}

#[divan::bench(args = every())]
fn borrowed(bencher: Bencher<'_, '_>, case: &Case) {
    let (subject, workload, options) = case.ready();
    bencher
        .counter(BytesCount::of_str(&workload.output))
        .bench_local(|| (subject.borrow)(black_box(&workload.output), &options));
}

#[divan::bench(args = every())]
fn batch(bencher: Bencher<'_, '_>, case: &Case) {
    let (subject, workload, options) = case.ready();
    bencher
        .counter(BytesCount::of_str(&workload.output))
        .bench_local(|| (subject.parse)(black_box(&workload.output), &options));
}

#[divan::bench(args = every(), consts = [1, 4, 16, 4096])]
fn stream<const PIECE: usize>(bencher: Bencher<'_, '_>, case: &Case) {
    let (subject, workload, options) = case.ready();
    bencher.counter(BytesCount::of_str(&workload.output)).bench_local(|| {
        let mut sink = Sink::default();
        (subject.stream)(black_box(&workload.output), black_box(PIECE), &options, &mut sink);
        sink
    });
}

#[divan::bench(args = every(), consts = [1, 4, 16, 4096])]
fn limit_push_str<const PIECE: usize>(bencher: Bencher<'_, '_>, case: &Case) {
    let (_, workload, _) = case.ready();
    bencher
        .counter(BytesCount::of_str(&workload.output))
        .bench_local(|| push_str(black_box(&workload.output), black_box(PIECE)));
}

#[divan::bench(args = texts())]
fn limit_memmem(bencher: Bencher<'_, '_>, case: &Case) {
    let (_, workload, _) = case.ready();
    let (reasoning, content) = (&case.format.markers.reasoning, &case.format.markers.content);
    let (reasoning, content) = (Passes::new(reasoning), Passes::new(content));
    bencher
        .counter(BytesCount::of_str(&workload.output))
        .bench_local(|| reasoning.run(black_box(&workload.reasoning)) + content.run(black_box(&workload.content)));
}

#[divan::bench(args = calls())]
fn limit_ignored_any(bencher: Bencher<'_, '_>, case: &Case) {
    let (_, workload, _) = case.ready();
    let arguments: Vec<String> = workload.calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
    bencher.counter(BytesCount::of_str(&workload.output)).bench_local(|| ignored(black_box(&arguments)));
}

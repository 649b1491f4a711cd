//! Measures the peak memory of a parser after 16 MiB, 256 MiB and 1 GiB of a stream, above the peak after the first MiB: for every
//! wire format, with an answer, a string argument and endless calls. Fails if memory grows with the stream. It reads the peak of
//! the process from the system, so it runs on Linux only.
//!
//! ```text
//! cargo bench -p unjinja-benches --bench memory [-- FILTER]
//! ```

use std::fs;
use std::hint::black_box;

use unjinja::{ChatParser, ChatStream, Event};
use unjinja_testkit::Failure;
use unjinja_testkit::workloads::{Format, Shape, Workload};

/// The lengths at which the peak is read, in bytes.
const STAGES: [usize; 3] = [16 << 20, 256 << 20, 1 << 30];

/// The pieces of the stream, in bytes.
const PIECE: usize = 4096;

/// How much a peak may vary from run to run because of the allocator, in KiB.
const NOISE: u64 = 256;

fn main() -> Result<(), Failure> {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    calibrate()?;
    let mut grown = Vec::new();
    println!("KiB beyond the peak after 1 MiB\n{:<40} {:>10} {:>10} {:>10}", "stream", "16 MiB", "256 MiB", "1 GiB");
    for format in Format::all(unjinja_app::SPECS)? {
        for shape in [Shape::Prose, Shape::ProseArgument, Shape::SmallCalls] {
            let Some(workload) = format.workload(&shape, 64 << 10) else { continue };
            if !workload.name().contains(&filter) {
                continue;
            }
            let peaks = measure(&workload)?;
            println!("{:<40} {:>10} {:>10} {:>10}", workload.name(), peaks[0], peaks[1], peaks[2]);
            if peaks[2] > NOISE {
                grown.push(workload.name());
            }
        }
    }
    if grown.is_empty() { Ok(()) } else { Err(format!("memory grows with the stream: {}", grown.join(", ")).into()) }
}

/// Checks the measurement itself: 8 MiB that are touched and freed must show.
fn calibrate() -> Result<(), Failure> {
    let before = peak_from_here()?;
    drop(black_box(vec![1_u8; 8 << 20]));
    let grown = peak_so_far()?.saturating_sub(before);
    if grown < 7 << 10 { Err(format!("8 MiB show as {grown} KiB").into()) } else { Ok(()) }
}

/// The peak at each stage, above the peak after the first MiB, in KiB.
fn measure(workload: &Workload) -> Result<[u64; 3], Failure> {
    let parser = unjinja_app::all().into_iter().find(|parser| parser.info().name == workload.format);
    let parser: &dyn ChatParser = parser.ok_or("a format without a parser")?;
    let mut stream = parser.stream(&workload.options()?);
    let output = workload.output.as_bytes();
    // The first half opens reasoning, a call or a value; what is repeated from then on stays inside it.
    let (head, body) = match workload.shape {
        Shape::SmallCalls => (&output[..0], output),
        _ => (&output[..output.len() / 2], &output[output.len() / 4..output.len() / 2]),
    };
    let (mut fed, mut told) = (0, 0);
    feed(&mut *stream, head, &mut fed, &mut told);
    while fed < 1 << 20 {
        feed(&mut *stream, body, &mut fed, &mut told);
    }
    let before = peak_from_here()?;
    let mut peaks = [0; 3];
    for (stage, peak) in STAGES.into_iter().zip(&mut peaks) {
        while fed < stage {
            feed(&mut *stream, body, &mut fed, &mut told);
        }
        *peak = peak_so_far()?.saturating_sub(before);
    }
    if told < fed / 8 {
        return Err(format!("{}: only {told} of {fed} bytes were told", workload.name()).into());
    }
    Ok(peaks)
}

fn feed(stream: &mut (dyn ChatStream + Send), bytes: &[u8], fed: &mut usize, told: &mut usize) {
    for piece in bytes.chunks(PIECE) {
        *fed += piece.len();
        stream.push_bytes(piece, &mut |event| {
            if let Event::Reasoning(text) | Event::Content(text) | Event::ToolCallArguments { json: text, .. } = event {
                *told += black_box(text).len();
            }
        });
    }
}

/// Resets the peak; returns the memory in use, in KiB.
fn peak_from_here() -> Result<u64, Failure> {
    fs::write("/proc/self/clear_refs", "5")?;
    peak_so_far()
}

/// The peak memory, in KiB.
fn peak_so_far() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak is told here")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

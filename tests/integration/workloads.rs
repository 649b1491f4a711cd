//! Every workload of the benchmarks is read as the message that it was made from, in one piece and in small ones. A benchmark
//! therefore measures correct parsing.

use unjinja::{Chunk, Message};
use unjinja_testkit::workloads::{Format, SIZES, Workload};
use unjinja_testkit::{Failure, root, sample};

/// How many turns of the mixture are tried of each format; every kind comes more than once.
const TURNS: usize = 60;

fn formats() -> Result<Vec<Format>, Failure> {
    Format::all(unjinja_app::SPECS)
}

/// How the parsed workload differs from its message, in one piece and in pieces of several sizes.
fn problems(workload: &Workload) -> Result<Vec<String>, Failure> {
    let parser = unjinja_app::all().into_iter().find(|parser| parser.info().name == workload.format);
    let parser = parser.ok_or_else(|| format!("no parser for {}", workload.format))?;
    let options = workload.options()?;
    let mut found = Vec::new();
    let mut check = |how: &str, message: &Message| {
        if let Err(problem) = workload.check(message) {
            found.push(format!("{how}: {problem}"));
        }
    };
    check("whole", &parser.parse(Chunk::from(&workload.output), &options));
    check("borrowed", &parser.parse_borrowed(Chunk::from(&workload.output), &options).into_owned());
    for size in [1, 4, 16, 4096] {
        let mut message = Message::default();
        let mut stream = parser.stream(&options);
        for piece in workload.output.as_bytes().chunks(size) {
            stream.push_bytes(piece, &mut |event| message.apply(&event));
        }
        stream.finish(&mut |event| message.apply(&event));
        check(&format!("in pieces of {size}"), &message);
    }
    Ok(found)
}

#[test]
fn every_workload_comes_back() -> Result<(), Failure> {
    let (mut failures, mut count) = (Vec::new(), 0);
    for format in sample(formats()?, 3) {
        let workloads = format.workloads(SIZES[0]);
        assert!(workloads.len() >= 5, "{}: only {} shapes can be written", format.name, workloads.len());
        for workload in workloads {
            count += 1;
            failures.extend(problems(&workload)?);
        }
    }
    assert!(failures.is_empty(), "{} of {count} do not hold:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}

#[test]
fn every_turn_of_the_mixture_comes_back() -> Result<(), Failure> {
    let (mut failures, mut count) = (Vec::new(), 0);
    for format in sample(formats()?.into_iter().skip(1), 3) {
        let turns = format.mixture(TURNS);
        assert!(turns.len() >= TURNS / 4, "{}: only {} turns can be written", format.name, turns.len());
        for turn in turns {
            count += 1;
            failures.extend(problems(&turn)?);
        }
    }
    assert!(failures.is_empty(), "{} of {count} do not hold:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}

#[test]
fn sizes_are_what_they_say() -> Result<(), Failure> {
    for format in sample(formats()?, 10) {
        for workload in format.workloads(SIZES[1]) {
            let off = (workload.output.len() as f64 / SIZES[1] as f64 - 1.0).abs();
            assert!(off < 0.05, "{} is {} bytes long", workload.name(), workload.output.len());
        }
    }
    Ok(())
}

/// The benchmarks call each parser by name, so the list of names is written by hand. A template that it lacks would end them.
#[test]
fn the_benchmarks_know_every_template() -> Result<(), Failure> {
    let source = std::fs::read_to_string(root().join("dev/benches/subjects/mod.rs"))?;
    let (_, list) = source.split_once("\nsubjects! {").ok_or("there is no list of subjects")?;
    let listed: Vec<&str> = list.split('}').next().unwrap_or_default().split_whitespace().collect();
    let templates = formats()?;
    assert_eq!(listed, templates.iter().map(|format| &*format.name).collect::<Vec<_>>());
    Ok(())
}

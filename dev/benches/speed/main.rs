//! The command for the figures of `docs/performance.md`: times every workload with every parser, in turns with the work
//! that it is compared with, and prints a table of ratios.
//!
//! ```text
//! cargo bench -p unjinja-benches --bench speed                       # the table
//! cargo bench -p unjinja-benches --bench speed -- --write            # and writes it into docs/performance.md
//! cargo bench -p unjinja-benches --bench speed -- --shapes           # and the time of each shape
//! cargo bench -p unjinja-benches --bench speed -- --format qwen3 --rounds 31
//! cargo bench -p unjinja-benches --bench speed -- --mixture          # realistic turns alone
//! cargo bench -p unjinja-benches --bench speed --features corpus -- --mixture   # and those of the corpus
//! cargo bench -p unjinja-benches --bench speed -- --interpreted      # the interpreter, compared with compiled code
//! ```

#[cfg(feature = "corpus")]
mod corpus;
mod interpreted;
mod mixture;
mod report;
mod row;
mod sample;
#[path = "../subjects/mod.rs"]
mod subjects;

use row::Row;
use subjects::Subject;
use unjinja_testkit::workloads::{Format, SIZES, Shape};
use unjinja_testkit::{Failure, root};

/// The command line.
struct Wanted {
    rounds: usize,
    sizes: Vec<usize>,
    format: Option<String>,
    shape: Option<String>,
    shapes: bool,
    mixture: bool,
    interpreted: bool,
    write: bool,
}

impl Wanted {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut wanted = Self {
            rounds: 1,
            sizes: vec![SIZES[0]],
            format: None,
            shape: None,
            shapes: false,
            mixture: false,
            interpreted: false,
            write: false,
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
            match argument.as_str() {
                // Passed by `cargo bench`. Without it (`cargo test`), one small pass shows that the benchmark runs.
                "--bench" => (wanted.rounds, wanted.sizes) = (wanted.rounds.max(9), SIZES.to_vec()),
                "--rounds" => wanted.rounds = value()?.parse()?,
                "--size" => wanted.sizes = vec![value()?.parse::<usize>()? << 10],
                "--format" => wanted.format = Some(value()?),
                "--shape" => wanted.shape = Some(value()?),
                "--shapes" => wanted.shapes = true,
                "--mixture" => wanted.mixture = true,
                "--interpreted" => wanted.interpreted = true,
                "--write" => wanted.write = true,
                _ => return Err(format!("{argument}: not known; see the head of dev/benches/speed/main.rs").into()),
            }
        }
        Ok(wanted)
    }

    fn includes(&self, format: &str, shape: &Shape) -> bool {
        self.format.as_deref().is_none_or(|wanted| wanted.split(',').any(|name| name == format))
            && self.shape.as_deref().is_none_or(|wanted| wanted == shape.kind())
    }
}

/// Realistic turns: of our own templates, and of the corpus where that is asked for.
fn realistic_turns() -> Result<Vec<(&'static str, Vec<mixture::BenchTurn>)>, Failure> {
    let mut own = Vec::new();
    for format in Format::all(unjinja_app::SPECS)? {
        own.extend(mixture::of_format(&format, subject(&format.name)?)?);
    }
    let groups = vec![("our own templates", own)];
    #[cfg(feature = "corpus")]
    let groups = groups.into_iter().chain([("the corpus", corpus::turns()?)]).collect();
    Ok(groups)
}

fn subject(name: &str) -> Result<Subject, Failure> {
    Ok(subjects::subject(name).ok_or_else(|| format!("no parser for {name}"))?)
}

fn main() -> Result<(), Failure> {
    let wanted = Wanted::read(std::env::args().skip(1))?;
    if wanted.mixture {
        print!("{}", mixture::table(&realistic_turns()?, wanted.rounds));
        return Ok(());
    }
    if wanted.interpreted {
        print!("{}", interpreted::table(wanted.rounds, subject)?);
        return Ok(());
    }
    let mut rows: Vec<Row> = Vec::new();
    for format in Format::all(unjinja_app::SPECS)? {
        let subject = subject(&format.name)?;
        for shape in Shape::all(&format.markers) {
            if !wanted.includes(&format.name, &shape) {
                continue;
            }
            let sizes = wanted.sizes.iter().copied();
            let workloads = sizes.filter_map(|size| Some((size, format.workload(&shape, size)?)));
            rows.extend(sample::measure(&format, workloads.collect(), subject, wanted.rounds)?);
        }
        eprintln!("{} measured", format.name);
    }
    let report = report::Report::of(rows);
    print!("{}", report.table());
    if wanted.shapes {
        print!("\n{}", report.shapes());
    }
    if wanted.write {
        report.write(&root())?;
    }
    Ok(())
}

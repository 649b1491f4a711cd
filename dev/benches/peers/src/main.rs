//! Measures other parsers of model output and ours on the same inputs, and compares their messages. See README.md.

mod measure;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use unjinja_peers::formats::FORMATS;
use unjinja_peers::inputs::{Input, Shape};
use unjinja_peers::peers;

use measure::{CAP, Figure, Mode, Verdict, measure};
use report::{Row, SIZES};

/// The lines around the figures in `docs/lab/peers.md`.
const MARKS: [&str; 2] = ["<!-- figures -->\n", "<!-- end of figures -->\n"];

const USAGE: &str = "usage: unjinja-peers [--only TEXT] [--quick] [--check] [--write] [--require]
  --only TEXT  only formats or inputs whose name holds TEXT; may be given more than once
  --quick      only 64 KiB, streamed
  --check      only the messages, at 4 KiB
  --write      write the figures into docs/lab/peers.md
  --require    exit with 1 where a promise does not hold";

#[derive(Default)]
struct Arguments {
    only: Vec<String>,
    quick: bool,
    check: bool,
    write: bool,
    require: bool,
}

fn arguments() -> Option<Arguments> {
    let mut found = Arguments::default();
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--only" => found.only.push(rest.next()?),
            "--quick" => found.quick = true,
            "--check" => found.check = true,
            "--write" => found.write = true,
            "--require" => found.require = true,
            _ => return None,
        }
    }
    Some(found)
}

/// The results. The rows of one input are adjacent; ours is the first.
fn rows(arguments: &Arguments) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for format in FORMATS {
        for shape in Shape::ALL {
            let title = shape.title(format);
            let wanted = |text: &String| format.name.contains(text) || title.contains(text);
            if !(arguments.only.is_empty() || arguments.only.iter().any(wanted)) {
                continue;
            }
            let first = rows.len();
            for (index, size) in SIZES.into_iter().enumerate() {
                if (arguments.quick && index != 1) || (arguments.check && index != 0) {
                    continue;
                }
                let Some(input) = Input::new(format, shape, size) else { break };
                let (mut runners, missing) = peers::runners(&input);
                for (peer, why) in missing {
                    eprintln!("{}, {title}: {peer} cannot be set up: {why}", format.name);
                }
                if rows.len() == first {
                    rows.extend(runners.iter().map(|runner| Row {
                        format: format.name,
                        shape,
                        input: title.clone(),
                        peer: runner.peer,
                        called: runner.called.clone(),
                        stream: vec![None, None, None],
                        whole_tags: None,
                        batch: None,
                    }));
                }
                let budget = match (arguments.check, index) {
                    (true, _) => Duration::ZERO,
                    (false, 1) => Duration::from_millis(150),
                    _ => Duration::from_millis(60),
                };
                let skip: Vec<bool> = rows[first..].iter().map(|row| hopeless(&row.stream[..index])).collect();
                let figures = measure(&mut runners, &input.turn, Mode::Stream, budget, &skip);
                for (row, figure) in rows[first..].iter_mut().zip(figures) {
                    row.stream[index] = Some(figure);
                }
                if (index == 1 && !arguments.quick) || arguments.check {
                    let figures = measure(&mut runners, &input.turn, Mode::WholeTags, budget, &skip);
                    for (row, figure) in rows[first..].iter_mut().zip(figures) {
                        row.whole_tags = Some(figure);
                    }
                    let figures = measure(&mut runners, &input.turn, Mode::Batch, budget, &vec![false; skip.len()]);
                    for (row, figure) in rows[first..].iter_mut().zip(figures) {
                        row.batch = Some(figure);
                    }
                }
            }
            eprintln!("{}, {title}", format.name);
        }
    }
    if arguments.check {
        for row in &mut rows {
            row.stream.swap(0, 1);
        }
    }
    rows
}

/// Whether the next size would take too long, judged by the smaller ones.
fn hopeless(smaller: &[Option<Figure>]) -> bool {
    let Some(Some(last)) = smaller.last() else { return false };
    if matches!(last.verdict, Verdict::Late | Verdict::Skipped) {
        return true;
    }
    let Some(time) = last.median.map(|time| time.as_secs_f64()) else { return false };
    let before = smaller.iter().rev().nth(1).and_then(|figure| figure.as_ref()?.median);
    let growth = before.map_or(16.0, |before| (time / before.as_secs_f64()).max(16.0));
    time * growth > CAP.as_secs_f64()
}

fn write_page(figures: &str) -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/lab/peers.md");
    let page = std::fs::read_to_string(path)?;
    let [open, close] = MARKS;
    let missing = || std::io::Error::other(format!("{path} lacks `{}` or `{}`", open.trim(), close.trim()));
    let (before, rest) = page.split_once(open).ok_or_else(missing)?;
    let (_, after) = rest.split_once(close).ok_or_else(missing)?;
    std::fs::write(path, format!("{before}{open}{figures}{close}{after}"))
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let _inside = runtime.enter();
    // A panic of a peer is a result like any other.
    std::panic::set_hook(Box::new(|_| {}));
    let rows = rows(&arguments);
    let summary = report::summary(&rows);
    let text = format!("\n{}\n\n{}{}\n", report::circumstances(), summary.text, report::tables(&rows));
    println!("{text}");
    if arguments.write
        && let Err(error) = write_page(&text)
    {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    if arguments.require && !summary.holds { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

//! Runs outputs that models really wrote, and outputs of other parsers' test suites, through unjinja and the peers, and
//! writes what each reads into `docs/outputs.md`. See README.md.

mod asking;
mod cases;
mod data;
mod judge;
mod known_differences;
mod page;
mod readers;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use unjinja_peers::formats::Peers;
use unjinja_peers::turn::TurnInput;

use asking::{PEERS, Right};
use cases::Case;
use page::Row;
use readers::Reader;

const USAGE: &str = "usage: outputs [--write | --json] [--show]
  --write  write the page into docs/outputs.md, instead of to standard output
  --json   print the counts of each template as JSON instead of the page, for site/scoreboard
  --show   also say on standard error who reads which output";

fn row(case: &Case, reader: &Reader, runtime: &Handle) -> Result<Row, String> {
    let meant = case.meant();
    let ours = judge::differs(&meant, &case.not_asserted, &reader.read(case)?);
    let mut peers = Right::default();
    if let Some(names) = reader.peers {
        for turn in turns(case, reader, names) {
            let found = asking::ask(&Arc::new(turn), runtime, |heard| {
                judge::differs(&meant, &case.not_asserted, heard).is_none()
            });
            for (peer, found) in peers.iter_mut().zip(found) {
                *peer = (*peer).max(found);
            }
        }
    }
    let template = case.template.trim_end_matches(".jinja").to_owned();
    Ok(Row { id: case.id.clone(), template, class: case.class.clone(), ours, peers })
}

/// The output for parsers of calls alone, and with parsers of reasoning.
fn turns(case: &Case, reader: &Reader, peers: &'static Peers) -> impl Iterator<Item = TurnInput> {
    let opened = reader.opened(case);
    let ways = [(false, false), (true, opened)];
    ways.into_iter().take(if case.extract_reasoning { 2 } else { 1 }).map(move |(reasons, opened)| TurnInput {
        peers,
        framed: reader.frames(),
        output: case.output.clone(),
        meant: case.meant(),
        tools: case.tools.clone(),
        reasons,
        opened,
    })
}

fn rows(runtime: &Handle, show: bool) -> Result<Vec<Row>, String> {
    let corpus = cases::corpus();
    let mut readers: HashMap<_, Reader> = HashMap::new();
    let mut rows = Vec::new();
    for case in cases::read(&corpus)? {
        let path = case.path();
        if !readers.contains_key(&path) {
            let reader = Reader::of(&corpus.join(&path)).map_err(|error| format!("{}: {error}", path.display()))?;
            readers.insert(path.clone(), reader);
        }
        let row = row(&case, &readers[&path], runtime).map_err(|error| format!("{}: {error}", case.id))?;
        if show {
            let peers: Vec<String> =
                PEERS.iter().zip(row.peers).map(|(name, right)| format!("{name} {right:?}")).collect();
            eprintln!(
                "{} ({}, {}): ours differs in {:?}; {}",
                row.id,
                row.class,
                case.template,
                row.ours,
                peers.join("; ")
            );
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Where the result goes.
#[derive(Clone, Copy)]
enum Output {
    /// The page, on standard output.
    Print,
    /// The page, in its file.
    Write,
    /// The counts as JSON, on standard output.
    Json,
}

fn run(output: Output, show: bool) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    // A panic of a peer is a result like any other.
    std::panic::set_hook(Box::new(|_| {}));
    let rows = rows(runtime.handle(), show)?;
    for difference in &known_differences::KNOWN_DIFFERENCES {
        for id in difference.listed() {
            if !rows.iter().any(|row| row.id == *id && row.ours.is_some()) {
                eprintln!("{id} is listed as `{}`, but is read as expected: take it out", difference.title);
            }
        }
    }
    match output {
        Output::Print => print!("{}", page::page(&rows)),
        Output::Write => {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/outputs.md");
            std::fs::write(path, page::page(&rows)).map_err(|error| format!("{path}: {error}"))?;
        }
        Output::Json => println!("{:#}", data::document(&rows)),
    }
    // This does not wait for parsers that hang.
    runtime.shutdown_background();
    Ok(())
}

fn main() -> ExitCode {
    let (mut output, mut show) = (Output::Print, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--write" => output = Output::Write,
            "--json" => output = Output::Json,
            "--show" => show = true,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match run(output, show) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

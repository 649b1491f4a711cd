//! The tables and the summary, as Markdown.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use unjinja_peers::inputs::Shape;

use crate::measure::{Figure, Verdict};

/// The sizes of the inputs; the middle one is what the summary is about.
pub const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// The result of one parser for one shape of one format.
pub struct Row {
    pub format: &'static str,
    pub shape: Shape,
    /// The shape, for the table.
    pub input: String,
    pub peer: &'static str,
    pub called: String,
    /// Streamed, one for each size.
    pub stream: Vec<Option<Figure>>,
    /// Streamed with every tag in a piece of its own, of the middle size.
    pub whole_tags: Option<Figure>,
    /// In one piece, at the middle size.
    pub batch: Option<Figure>,
}

impl Row {
    fn streamed(&self) -> Option<&Figure> {
        self.stream[1].as_ref()
    }

    fn time(&self) -> Option<Duration> {
        self.streamed().and_then(|figure| figure.median)
    }

    fn time_with_whole_tags(&self) -> Option<Duration> {
        self.whole_tags.as_ref().and_then(|figure| figure.median)
    }

    fn time_at_once(&self) -> Option<Duration> {
        self.batch.as_ref().and_then(|figure| figure.median)
    }

    fn is_ours(&self) -> bool {
        self.peer == "unjinja"
    }
}

fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..10.0 => format!("{micros:.1} µs"),
        ..1000.0 => format!("{micros:.0} µs"),
        ..10_000.0 => format!("{:.2} ms", micros / 1e3),
        ..1_000_000.0 => format!("{:.0} ms", micros / 1e3),
        _ => format!("{:.1} s", micros / 1e6),
    }
}

fn cell(figure: Option<&Figure>) -> String {
    match figure {
        None => "".into(),
        Some(Figure { median: Some(time), .. }) => shown(*time),
        Some(Figure { verdict: Verdict::Late | Verdict::Skipped, .. }) => "> 5 s".into(),
        Some(_) => "failed".into(),
    }
}

fn ratio(peer: Option<Duration>, ours: Option<Duration>) -> Option<f64> {
    Some(peer?.as_secs_f64() / ours?.as_secs_f64())
}

fn ratio_cell(ratio: Option<f64>) -> String {
    match ratio {
        None => String::new(),
        Some(ratio) if ratio < 10.0 => format!("{ratio:.1}"),
        Some(ratio) => format!("{ratio:.0}"),
    }
}

/// Whether the message was correct: for each streamed size, and in one piece, if these differ.
fn verdict(row: &Row) -> String {
    let say = |verdict: &Verdict| match verdict {
        Verdict::Right => "yes".to_owned(),
        Verdict::Wrong(how) => format!("**no**: {how}"),
        Verdict::Failed(why) => format!("**no**: fails: {}", why.replace(['|', '\n'], " ").trim()),
        Verdict::Late | Verdict::Skipped => "not in time".to_owned(),
    };
    let kind = |verdict: &Verdict| match verdict {
        Verdict::Right => Some(true),
        Verdict::Wrong(_) | Verdict::Failed(_) => Some(false),
        Verdict::Late | Verdict::Skipped => None,
    };
    let Some(main) = row.streamed() else { return String::new() };
    let mut text = say(&main.verdict);
    for (index, title) in [(0, "4 KiB"), (2, "1 MiB")] {
        if let Some(other) = &row.stream[index]
            && let (Some(right), main) = (kind(&other.verdict), kind(&main.verdict))
            && main != Some(right)
        {
            let _ = write!(text, "; {title}: {}", say(&other.verdict));
        }
    }
    for (other, title) in [(&row.whole_tags, "whole tags"), (&row.batch, "batch")] {
        if let Some(other) = other
            && let Some(right) = kind(&other.verdict)
            && kind(&main.verdict) != Some(right)
        {
            let _ = write!(text, "; {title}: {}", say(&other.verdict));
        }
    }
    text
}

/// All tables, one for each format.
pub fn tables(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut formats: Vec<&str> = rows.iter().map(|row| row.format).collect();
    formats.dedup();
    for format in formats {
        let _ = write!(
            out,
            "\n#### {format}\n\n| input | parser | called | same message | 4 KiB | 64 KiB | 1 MiB | × ours, 64 KiB | whole \
             tags | × ours | batch | × ours |\n|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        let rows = rows.iter().filter(|row| row.format == format);
        let mut ours: Option<&Row> = None;
        for row in rows {
            if row.is_ours() {
                ours = Some(row);
            }
            let against = |time: fn(&Row) -> Option<Duration>| {
                let ratio = if row.is_ours() { None } else { ratio(time(row), ours.and_then(time)) };
                ratio_cell(ratio)
            };
            let peer = if row.is_ours() { "**unjinja**" } else { row.peer };
            let _ = writeln!(
                out,
                "| {} | {peer} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.input,
                row.called,
                verdict(row),
                cell(row.stream[0].as_ref()),
                cell(row.streamed()),
                cell(row.stream[2].as_ref()),
                against(Row::time),
                cell(row.whole_tags.as_ref()),
                against(Row::time_with_whole_tags),
                cell(row.batch.as_ref()),
                against(Row::time_at_once),
            );
        }
    }
    out
}

/// What the run shows, and whether the promises hold: five times the fastest correct peer on every input, and fifteen
/// times `dynamo-parsers-v2`.
pub struct Summary {
    pub text: String,
    pub holds: bool,
}

struct Least {
    ratio: f64,
    place: String,
}

/// One column of figures.
type Column = fn(&Row) -> Option<&Figure>;

fn right(figure: Option<&Figure>) -> bool {
    figure.is_some_and(|figure| figure.verdict == Verdict::Right)
}

/// For each input, the ratio of the fastest other row to ours; ascending.
fn least(rows: &[Row], column: Column, mut counts: impl FnMut(&Row) -> bool) -> Vec<Least> {
    let time = |row: &Row| column(row).and_then(|figure| figure.median);
    let mut found = Vec::new();
    for ours in rows.iter().filter(|row| row.is_ours()) {
        let peers = rows.iter().filter(|row| row.format == ours.format && row.shape == ours.shape && !row.is_ours());
        let Some(fastest) = peers.filter(|row| right(column(row)) && counts(row)).min_by_key(|row| time(row)) else {
            continue;
        };
        let Some(ratio) = ratio(time(fastest), time(ours)) else { continue };
        let [theirs, our] = [fastest, ours].map(|row| cell(column(row)));
        let place =
            format!("{}, {}: {} {} ({theirs} against {our})", ours.format, ours.input, fastest.peer, fastest.called);
        found.push(Least { ratio, place });
    }
    found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    found
}

pub fn summary(rows: &[Row]) -> Summary {
    /// How many of the lowest ratios are listed.
    const LISTED: usize = 12;
    let mut text = String::new();
    let ours: Vec<&Row> = rows.iter().filter(|row| row.is_ours()).collect();
    let all_right = |row: &Row| {
        let mut all = row.stream.iter().chain([&row.whole_tags, &row.batch]).flatten();
        all.all(|figure| figure.verdict == Verdict::Right)
    };
    let correct = ours.iter().filter(|row| all_right(row)).count();
    let mut holds = correct == ours.len();
    let _ = writeln!(text, "- unjinja is right on {correct} of {} inputs, at every size and however fed.", ours.len());
    let mut peers: Vec<&str> = rows.iter().filter(|row| !row.is_ours()).map(|row| row.peer).collect();
    peers.sort_unstable();
    peers.dedup();
    let [four, whole, batch]: [Column; 3] = [Row::streamed, |row| row.whole_tags.as_ref(), |row| row.batch.as_ref()];
    for peer in peers {
        let tried = rows.iter().filter(|row| row.peer == peer);
        let counted =
            [(four, "in 4-byte chunks"), (whole, "with whole tags"), (batch, "at once")].map(|(column, how)| {
                let run = tried.clone().any(|row| column(row).is_some());
                run.then(|| format!("{} {how}", tried.clone().filter(|row| right(column(row))).count()))
            });
        let counted: Vec<String> = counted.into_iter().flatten().collect();
        let _ = writeln!(text, "- {peer}, of {} inputs, is right on {}.", tried.clone().count(), counted.join(", "));
    }
    let v2 = |row: &Row| row.peer == "dynamo-parsers-v2";
    for (name, feeding, wanted, promised, found) in [
        ("the fastest peer that is right", "in 4-byte chunks", 5.0, true, least(rows, four, |_| true)),
        ("dynamo-parsers-v2 where it is right", "in 4-byte chunks", 15.0, true, least(rows, four, v2)),
        ("the fastest peer that is right", "with whole tags", 5.0, false, least(rows, whole, |_| true)),
        ("dynamo-parsers-v2 where it is right", "with whole tags", 15.0, false, least(rows, whole, v2)),
    ] {
        let below = found.iter().filter(|least| least.ratio < wanted).count();
        let Some(first) = found.first() else { continue };
        let median = found[found.len() / 2].ratio;
        let _ = writeln!(
            text,
            "- **against {name}**, 64 KiB {feeding}: at least {:.1} ×, median {median:.0} ×, over {} inputs; \
             {below} are below {wanted} ×. The lowest:",
            first.ratio,
            found.len(),
        );
        holds &= !promised || below == 0;
        for least in found.iter().take(if promised { below.clamp(3, LISTED) } else { 3 }) {
            let _ = writeln!(text, "  - {:.1} ×: {}", least.ratio, least.place);
        }
    }
    let growth = ours.iter().filter_map(|row| {
        let of = |index: usize| row.stream[index].as_ref().and_then(|figure| figure.median);
        Some((ratio(of(2), of(1))?, row))
    });
    if let Some((most, row)) = growth.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            text,
            "- unjinja at 1 MiB takes at most {most:.1} × its time at 64 KiB ({}, {}); 16 is linear.",
            row.format, row.input
        );
    }
    Summary { text, holds }
}

/// The machine, the day, and the versions.
pub fn circumstances() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown machine");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let versions = ["tool-parser", "reasoning-parser", "dynamo-parsers", "dynamo-parsers-v2"].map(version).join(", ");
    format!(
        "{}, {cores} cores; {}; {}; unjinja at {}; {versions}.",
        model.trim_start_matches([' ', '\t', ':']),
        said("date", &["+%F"]).unwrap_or_default(),
        said("rustc", &["-V"]).unwrap_or_default(),
        said("git", &["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "--short", "HEAD"])
            .unwrap_or_else(|| "an unknown commit".into()),
    )
}

/// A package and its version, as the lock file has it.
fn version(package: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let found = lock.split("[[package]]").find_map(|entry| {
        entry.lines().find(|line| *line == format!("name = \"{package}\""))?;
        entry.lines().find_map(|line| line.strip_prefix("version = "))
    });
    format!("{package} {}", found.unwrap_or("?").trim_matches('"'))
}

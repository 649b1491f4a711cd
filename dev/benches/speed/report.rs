//! The report of a run: the table of ratios with the promised limits, and its place in `docs/performance.md`.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::row::{FROM, Limit, Mode, PIECES, Row, median};
use unjinja_testkit::Failure;

/// A promised limit: a column of the table.
struct Promise {
    title: &'static str,
    what: &'static str,
    at_most: f64,
    /// The figure of a row, if the promise applies to it.
    figure: fn(&Report, &Row) -> Option<f64>,
}

const PROMISES: [Promise; 7] = [
    Promise {
        title: "batch text",
        what: "whole outputs of text, borrowed, to one `memchr::memmem` pass for each marker that is looked for there",
        at_most: 1.5,
        figure: |report, row| report.measured(row, !row.calls && row.mode == Mode::Borrowed),
    },
    Promise {
        title: "batch string, JSON",
        what: "whole outputs of one long string argument, borrowed, to `serde_json::from_str::<IgnoredAny>` over the arguments",
        at_most: 1.0,
        figure: |report, row| {
            report.measured(row, row.shape.is_one_string() && row.mode == Mode::Borrowed && !row.translates)
        },
    },
    Promise {
        title: "batch string, translated",
        what: "the same where arguments are tagged, Python's or otherwise not JSON",
        at_most: 2.0,
        figure: |report, row| {
            report.measured(row, row.shape.is_one_string() && row.mode == Mode::Borrowed && row.translates)
        },
    },
    Promise {
        title: "stream text",
        what: "text in pieces of 4 bytes, to `String::push_str` of the same pieces",
        at_most: 4.0,
        figure: |report, row| report.measured(row, !row.calls && row.mode == Mode::Stream(4)),
    },
    Promise {
        title: "stream string",
        what: "one long string argument in pieces of 4 bytes, to the same",
        at_most: 8.0,
        figure: |report, row| report.measured(row, row.shape.is_one_string() && row.mode == Mode::Stream(4)),
    },
    Promise {
        title: "growth",
        what: "time at 1 MiB to time at 64 KiB, whole and borrowed, or in pieces of 4 bytes, for text and one long string",
        at_most: 17.0,
        figure: |_, row| {
            let counts = !row.shape.is_adversarial() && (!row.calls || row.shape.is_one_string());
            row.growth.filter(|_| counts && row.mode != Mode::Batch)
        },
    },
    Promise {
        title: "growth, adversarial",
        what: "the same for texts that are made to be slow",
        at_most: 17.0,
        figure: |_, row| row.growth.filter(|_| row.shape.is_adversarial()),
    },
];

/// All rows of a run.
pub struct Report {
    rows: Vec<Row>,
}

impl Report {
    pub fn of(rows: Vec<Row>) -> Self {
        Self { rows }
    }

    /// The length at which ratios are compared with limits; in a small run, the greatest length.
    fn size(&self) -> usize {
        let sizes = self.rows.iter().map(|row| row.size);
        if sizes.clone().any(|size| size == FROM) { FROM } else { sizes.max().unwrap_or(0) }
    }

    fn measured(&self, row: &Row, applies: bool) -> Option<f64> {
        (applies && row.size == self.size() && !row.shape.is_adversarial()).then_some(row.ratio)
    }

    fn formats(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.format.as_str()).collect();
        names.dedup();
        names
    }

    /// The worst figure for a promise, and its row.
    fn worst(&self, promise: &Promise, format: Option<&str>) -> Option<(f64, &Row)> {
        let rows = self.rows.iter().filter(|row| format.is_none_or(|name| name == row.format));
        let figures = rows.filter_map(|row| Some(((promise.figure)(self, row)?, row)));
        figures.max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The table of ratios: for each format the worst of all shapes, and the promised limits.
    pub fn table(&self) -> String {
        let mut out = String::from("| wire format |");
        let cells = |out: &mut String, cell: &dyn Fn(&Promise) -> String| {
            for promise in &PROMISES {
                let _ = write!(out, " {} |", cell(promise));
            }
            out.push('\n');
        };
        let figure = |promise: &Promise, format| match self.worst(promise, format) {
            Some((figure, _)) if figure > promise.at_most => format!("**{figure:.2}**"),
            Some((figure, _)) => format!("{figure:.2}"),
            None => "–".to_owned(),
        };
        cells(&mut out, &|promise| promise.title.to_owned());
        out.push_str("|---|");
        cells(&mut out, &|_| "---:".to_owned());
        for name in self.formats() {
            let _ = write!(out, "| `{name}` |");
            cells(&mut out, &|promise| figure(promise, Some(name)));
        }
        out.push_str("| worst |");
        cells(&mut out, &|promise| figure(promise, None));
        out.push_str("| promised at most |");
        cells(&mut out, &|promise| format!("{}", promise.at_most));
        out.push_str("| holds |");
        cells(&mut out, &|promise| match self.worst(promise, None) {
            Some((figure, _)) => if figure <= promise.at_most { "yes" } else { "no" }.to_owned(),
            None => "–".to_owned(),
        });
        out.push('\n');
        for promise in &PROMISES {
            let Some((figure, row)) = self.worst(promise, None) else { continue };
            let (shape, mode) = (&row.shape, row.mode.name());
            let _ = writeln!(
                out,
                "- {}: {}. Worst: {figure:.2}, `{}`, {shape:?}, {mode}.",
                promise.title, promise.what, row.format
            );
        }
        out
    }

    /// The figures of each shape: median and worst over the formats.
    pub fn shapes(&self) -> String {
        let mut out = String::from(
            "| shape | mode | limit | MB/s | ratio, median | ratio, worst | of | growth, worst | of |\n|---|---|---|---:|---:|---:|---|---:|---|\n",
        );
        let modes = [Mode::Borrowed, Mode::Batch].into_iter().chain(PIECES.map(Mode::Stream));
        for mode in modes {
            for kind in self.kinds() {
                for limit in [Limit::Memmem, Limit::IgnoredAny, Limit::PushStr] {
                    let rows: Vec<&Row> = self
                        .rows
                        .iter()
                        .filter(|row| {
                            row.size == self.size()
                                && row.mode == mode
                                && row.shape.kind() == kind
                                && row.limit == limit
                        })
                        .collect();
                    let Some(worst) = rows.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio)) else { continue };
                    let growth = rows.iter().filter_map(|row| Some((row.growth?, *row)));
                    let growth = growth.max_by(|(a, _), (b, _)| a.total_cmp(b));
                    let (growth, of) = growth.map_or((f64::NAN, ""), |(growth, row)| (growth, row.format.as_str()));
                    let _ = writeln!(
                        out,
                        "| {kind} | {} | {limit} | {:.0} | {:.2} | {:.2} | {} | {growth:.1} | {of} |",
                        mode.name(),
                        median(rows.iter().map(|row| row.rate())),
                        median(rows.iter().map(|row| row.ratio)),
                        worst.ratio,
                        worst.format,
                    );
                }
            }
        }
        out
    }

    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&'static str> = Vec::new();
        for row in &self.rows {
            if !kinds.contains(&row.shape.kind()) {
                kinds.push(row.shape.kind());
            }
        }
        kinds
    }

    /// Writes the table into `docs/performance.md`.
    pub fn write(&self, root: &Path) -> Result<(), Failure> {
        let page = root.join("docs/performance.md");
        let whole = fs::read_to_string(&page)?;
        let (from, to) = ("<!-- speed -->\n", "<!-- end of speed -->");
        let (before, rest) = whole.split_once(from).ok_or("docs/performance.md has no line `<!-- speed -->`")?;
        let (_, after) = rest.split_once(to).ok_or("docs/performance.md has no line `<!-- end of speed -->`")?;
        let part = self.part()?;
        fs::write(page, format!("{before}{from}{part}{to}{after}"))?;
        Ok(())
    }

    fn part(&self) -> Result<String, Failure> {
        let (machine, date) = (machine()?, date()?);
        Ok(format!(
            "{machine}, {date}; medians of interleaved samples at 64 KiB. For each format the worst of all shapes that count and that its template can\nwrite; bold is above the limit. `--shapes` prints the other shapes too: calls of a few bytes, and many small arguments.\n\n{}",
            self.table()
        ))
    }
}

/// The processor, and the number of available cores.
fn machine() -> Result<String, Failure> {
    let cores = std::thread::available_parallelism()?;
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    Ok(format!("{}, {cores} cores", model.unwrap_or(std::env::consts::ARCH)))
}

fn date() -> Result<String, Failure> {
    Ok(String::from_utf8(Command::new("date").arg("+%F").output()?.stdout)?.trim().to_owned())
}

//! The report of a run: the table of ratios with the promised limits, the same as data, and `docs/performance.md`.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use serde_json::json;

use crate::sample::{PIECES, median};
use crate::{FROM, plot};
use unjinja_testkit::Failure;
use unjinja_testkit::workloads::Shape;

/// How an output is passed to a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In one piece, into a message that borrows from it.
    Borrowed,
    /// In one piece, into an owned message.
    Batch,
    /// In pieces of this many bytes.
    Stream(usize),
}

/// The reference work that a parser is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `memchr::memmem`, one pass for each marker.
    Memmem,
    /// `serde_json::from_str::<IgnoredAny>` over the arguments.
    IgnoredAny,
    /// `String::push_str` of the same pieces.
    PushStr,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Memmem => "memmem",
            Limit::IgnoredAny => "IgnoredAny",
            Limit::PushStr => "push_str",
        })
    }
}

/// One workload in one mode.
#[derive(Clone, Debug)]
pub struct Row {
    pub format: String,
    /// Whether arguments are translated to JSON.
    pub translates: bool,
    pub shape: Shape,
    /// Whether the output has tool calls.
    pub calls: bool,
    /// The nominal length of the output, in bytes.
    pub size: usize,
    /// Its real length, in bytes.
    pub bytes: usize,
    pub mode: Mode,
    /// Median time of the parser.
    pub nanoseconds: f64,
    pub limit: Limit,
    /// Median time of the reference work.
    pub limit_nanoseconds: f64,
    /// Median of the ratios of parser to reference work, by round.
    pub ratio: f64,
    /// Time at 1 MiB divided by time at 64 KiB, median by round; for a row at 64 KiB that has a partner at 1 MiB.
    pub growth: Option<f64>,
}

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

    /// Writes `docs/speed/` and the tables of `docs/performance.md`.
    pub fn write(&self, root: &Path) -> Result<(), Failure> {
        let folder = root.join("docs/speed");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("ratios.tsv"), self.tsv())?;
        fs::write(folder.join("length.svg"), plot::length(&self.lengths()))?;
        fs::write(folder.join("throughput.svg"), plot::throughput(&self.rates()))?;
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
            "{machine}, {date}; medians of interleaved samples at 64 KiB. For each format the worst of all shapes that count and that its template can\nwrite; bold is above the limit. `--shapes` prints the other shapes too: calls of a few bytes, and many small arguments.\n\n{}\n\
             ![Time against length, in pieces of 4 bytes](speed/length.svg)\n\
             ![Throughput by shape](speed/throughput.svg)\n",
            self.table()
        ))
    }

    /// The ratios of the run, one line for each format and shape.
    fn tsv(&self) -> String {
        let mut out = String::from("format\tshape\tbytes\tborrowed ns\tlimit\tlimit ns\tborrowed ratio");
        for piece in PIECES {
            let _ = write!(out, "\tby {piece} ns\tby {piece} ratio");
        }
        out.push_str("\tborrowed growth\tby 4 growth\n");
        let of = |row: &Row, mode| {
            let same = |other: &&Row| {
                other.size == row.size && other.format == row.format && other.shape == row.shape && other.mode == mode
            };
            self.rows.iter().find(same)
        };
        for row in self.rows.iter().filter(|row| row.size == self.size() && row.mode == Mode::Borrowed) {
            let shape = json!(row.shape.to_string());
            let _ = write!(
                out,
                "{}\t{}\t{}\t{:.0}\t{}\t{:.0}\t{:.2}",
                row.format,
                shape.as_str().unwrap_or_default().escape_debug(),
                row.bytes,
                row.nanoseconds,
                row.limit,
                row.limit_nanoseconds,
                row.ratio
            );
            for piece in PIECES {
                match of(row, Mode::Stream(piece)) {
                    Some(row) => _ = write!(out, "\t{:.0}\t{:.2}", row.nanoseconds, row.ratio),
                    None => out.push_str("\t\t"),
                }
            }
            for mode in [Mode::Borrowed, Mode::Stream(4)] {
                match of(row, mode).and_then(|row| row.growth) {
                    Some(growth) => _ = write!(out, "\t{growth:.1}"),
                    None => out.push('\t'),
                }
            }
            out.push('\n');
        }
        out
    }

    /// Time against length, in pieces of 4 bytes: for each plain shape the median of all formats, and the slowest adversarial
    /// shape.
    fn lengths(&self) -> Vec<plot::Line> {
        let mut sizes: Vec<usize> = self.rows.iter().map(|row| row.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let streamed = |row: &&Row| row.mode == Mode::Stream(4);
        let mut lines = Vec::new();
        for kind in ["prose", "reasoning", "code argument", "small calls", "nested arguments"] {
            let points = sizes.iter().filter_map(|&size| {
                let rows = self.rows.iter().filter(streamed).filter(|row| row.size == size && row.shape.kind() == kind);
                let times: Vec<f64> = rows.map(|row| row.nanoseconds).collect();
                (!times.is_empty()).then(|| (size as f64, median(times)))
            });
            lines.push(plot::Line { name: kind.to_owned(), points: points.collect() });
        }
        let slowest = sizes.iter().filter_map(|&size| {
            let rows = self.rows.iter().filter(streamed).filter(|row| row.size == size && row.shape.is_adversarial());
            Some((size as f64, rows.map(|row| row.nanoseconds).max_by(f64::total_cmp)?))
        });
        lines.push(plot::Line { name: "slowest of the adversarial".to_owned(), points: slowest.collect() });
        lines
    }

    /// Bytes per second for each shape: in one piece, in pieces of 4 bytes, and appended to a `String`.
    fn rates(&self) -> Vec<plot::Bars> {
        let kinds = self.kinds().into_iter();
        let bars = kinds.filter_map(|kind| {
            let rates = |mode: Mode, rate: fn(&Row) -> f64| {
                let rows = self.rows.iter().filter(|row| row.size == self.size() && row.shape.kind() == kind);
                let rates: Vec<f64> = rows.filter(|row| row.mode == mode).map(rate).collect();
                (!rates.is_empty()).then(|| median(rates))
            };
            Some(plot::Bars {
                name: kind.to_owned(),
                batch: rates(Mode::Borrowed, Row::rate)?,
                stream: rates(Mode::Stream(4), Row::rate)?,
                limit: rates(Mode::Stream(4), |row| row.bytes as f64 / row.limit_nanoseconds * 1e3)?,
            })
        });
        bars.collect()
    }
}

impl Row {
    /// Megabytes per second.
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.nanoseconds * 1e3
    }
}

impl Mode {
    fn name(self) -> String {
        match self {
            Mode::Borrowed => "borrowed".to_owned(),
            Mode::Batch => "owned".to_owned(),
            Mode::Stream(size) => format!("by {size}"),
        }
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
    let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    // Counted from the first of March of the year 0: a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    Ok(format!("{:04}-{month:02}-{date:02}", year + era * 400 + u64::from(month <= 2)))
}

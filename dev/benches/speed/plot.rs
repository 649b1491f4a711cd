//! The two plots, as self-contained SVG whose colours follow the reader's light or dark scheme.

use std::fmt::Write;

/// A line of the plot of time against length.
pub struct Line {
    pub name: String,
    /// Length in bytes, time in nanoseconds.
    pub points: Vec<(f64, f64)>,
}

/// The bars of one shape, in megabytes a second.
pub struct Bars {
    pub name: String,
    pub batch: f64,
    pub stream: f64,
    /// The rate of appending to a `String`.
    pub limit: f64,
}

/// Colours that are visible on white and on black. Dash patterns distinguish the lines without colour.
const LINES: [(&str, &str); 6] = [
    ("#2f7ed8", ""),
    ("#2a9d57", "7 3"),
    ("#d9822b", ""),
    ("#9b5de5", "2 3"),
    ("#c2410c", "7 3"),
    ("#d6336c", "10 3 2 3"),
];

const STYLE: &str = "<style>text{font:12px system-ui,sans-serif;fill:#24292f}.small{font-size:11px}.title{font-size:14px;font-weight:600}\
.grid{stroke:#8c959f;stroke-opacity:.35}.axis{stroke:#57606a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.axis{stroke:#9198a1}}</style>";

/// A logarithmic scale from decade to decade.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// From the power of `base` below the figures to the one above.
    fn over(figures: impl Iterator<Item = f64> + Clone, base: f64, from: f64, to: f64) -> Self {
        let (least, most) = figures.fold((f64::INFINITY, 0.0_f64), |(least, most), f| (least.min(f), most.max(f)));
        let (least, most) = if least < most { (least, most) } else { (1.0, base) };
        let (low, high) = ((least.log(base) + 1e-9).floor(), (most.log(base) - 1e-9).ceil());
        Self { low: base.powf(low), high: base.powf(high), from, to }
    }

    fn at(&self, figure: f64) -> f64 {
        let part = (figure / self.low).ln() / (self.high / self.low).ln();
        self.from + (self.to - self.from) * part
    }

    /// The powers of `base` on the scale.
    fn ticks(&self, base: f64) -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut tick = self.low;
        while tick <= self.high * 1.001 {
            ticks.push(tick);
            tick *= base;
        }
        ticks
    }
}

/// Time against length; each line is labelled with its slope.
pub fn length(lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points).copied();
    let x = Scale::over(points().map(|(bytes, _)| bytes), 4.0, 70.0, 470.0);
    let y = Scale::over(points().map(|(_, time)| time), 10.0, 330.0, 50.0);
    let mut out = open(
        760,
        380,
        "Time against length, in pieces of 4 bytes",
        "both axes logarithmic; medians of all wire formats",
    );
    for tick in x.ticks(4.0) {
        let at = x.at(tick);
        let _ = write!(out, "<line class=\"grid\" x1=\"{at:.1}\" y1=\"50\" x2=\"{at:.1}\" y2=\"330\"/>");
        let _ =
            write!(out, "<text class=\"small\" x=\"{at:.1}\" y=\"348\" text-anchor=\"middle\">{}</text>", bytes(tick));
    }
    for tick in y.ticks(10.0) {
        let at = y.at(tick);
        let _ = write!(out, "<line class=\"grid\" x1=\"70\" y1=\"{at:.1}\" x2=\"470\" y2=\"{at:.1}\"/>");
        let _ = write!(
            out,
            "<text class=\"small\" x=\"62\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            at + 4.0,
            time(tick)
        );
    }
    out.push_str("<line class=\"axis\" x1=\"70\" y1=\"330\" x2=\"470\" y2=\"330\"/><line class=\"axis\" x1=\"70\" y1=\"50\" x2=\"70\" y2=\"330\"/>");
    out.push_str("<text class=\"small\" x=\"270\" y=\"368\" text-anchor=\"middle\">length of the output</text>");
    for (number, (line, (colour, dashes))) in lines.iter().zip(LINES.iter().cycle()).enumerate() {
        let path: Vec<String> = line.points.iter().map(|&(b, t)| format!("{:.1},{:.1}", x.at(b), y.at(t))).collect();
        let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
        let _ = write!(out, "<polyline points=\"{}\" fill=\"none\" {stroke}/>", path.join(" "));
        for point in &line.points {
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                x.at(point.0),
                y.at(point.1)
            );
        }
        let at = 70.0 + 30.0 * number as f64;
        let _ = write!(out, "<line x1=\"490\" y1=\"{at}\" x2=\"520\" y2=\"{at}\" {stroke}/>");
        let slope = slope(&line.points);
        let _ = write!(out, "<text x=\"528\" y=\"{}\">{}: slope {slope:.2}</text>", at + 4.0, line.name);
    }
    let at = 70.0 + 30.0 * lines.len() as f64;
    let _ =
        write!(out, "<text class=\"small\" x=\"490\" y=\"{}\">slope 1: time in proportion to length</text>", at + 4.0);
    out.push_str("</svg>\n");
    out
}

/// Bytes per second, by shape.
pub fn throughput(bars: &[Bars]) -> String {
    let row = 38.0;
    let bottom = 74.0 + row * bars.len() as f64;
    let all = || bars.iter().flat_map(|bar| [bar.batch, bar.stream, bar.limit]);
    let x = Scale::over(all(), 10.0, 170.0, 640.0);
    let mut out = open(
        760,
        bottom as usize + 34,
        "Throughput by shape, outputs of 64 KiB",
        "logarithmic; medians of all wire formats",
    );
    for (at, colour, name) in [(400.0, LINES[0].0, "whole"), (470.0, LINES[2].0, "in pieces of 4 bytes")] {
        let _ = write!(out, "<rect x=\"{at}\" y=\"34\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{colour}\"/>");
        let _ = write!(out, "<text class=\"small\" x=\"{}\" y=\"44\">{name}</text>", at + 17.0);
    }
    out.push_str("<line class=\"axis\" stroke-width=\"3\" x1=\"606\" y1=\"34\" x2=\"606\" y2=\"46\"/><text class=\"small\" x=\"614\" y=\"44\">pieces appended only</text>");
    for tick in x.ticks(10.0) {
        let at = x.at(tick);
        let _ = write!(out, "<line class=\"grid\" x1=\"{at:.1}\" y1=\"58\" x2=\"{at:.1}\" y2=\"{bottom}\"/>");
        let _ = write!(
            out,
            "<text class=\"small\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            rate(tick)
        );
    }
    for (number, bar) in bars.iter().enumerate() {
        let top = 66.0 + row * number as f64;
        let _ = write!(out, "<text x=\"160\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", top + 17.0, bar.name);
        for (offset, figure, colour) in [(0.0, bar.batch, LINES[0].0), (13.0, bar.stream, LINES[2].0)] {
            let (top, width) = (top + offset, (x.at(figure) - 170.0).max(1.0));
            let _ = write!(
                out,
                "<rect x=\"170\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"12\" rx=\"2\" fill=\"{colour}\"/>"
            );
            let _ = write!(
                out,
                "<text class=\"small\" x=\"740\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                top + 10.0,
                rate(figure)
            );
        }
        let at = x.at(bar.limit);
        let _ = write!(
            out,
            "<line class=\"axis\" stroke-width=\"3\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>",
            top + 12.0,
            top + 26.0
        );
    }
    let _ = write!(out, "<line class=\"axis\" x1=\"170\" y1=\"58\" x2=\"170\" y2=\"{bottom}\"/>");
    out.push_str("</svg>\n");
    out
}

fn open(width: usize, height: usize, title: &str, note: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">{STYLE}\
         <text class=\"title\" x=\"20\" y=\"22\">{title}</text><text class=\"small\" x=\"20\" y=\"40\">{note}</text>"
    )
}

/// The slope of the straight line that fits the logarithms best.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let (x, y) = logs().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / n, sum.1 + y / n));
    let (above, below) = logs().fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x).powi(2)));
    above / below
}

fn bytes(figure: f64) -> String {
    let kib = figure / 1024.0;
    if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.0} MiB", kib / 1024.0) }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.0} µs", n / 1e3),
        n if n < 1e9 => format!("{:.0} ms", n / 1e6),
        n => format!("{:.0} s", n / 1e9),
    }
}

fn rate(megabytes: f64) -> String {
    match megabytes {
        m if m < 10.0 => format!("{m:.1} MB/s"),
        m if m < 1e3 => format!("{m:.0} MB/s"),
        m if m < 1e4 => format!("{:.1} GB/s", m / 1e3),
        m => format!("{:.0} GB/s", m / 1e3),
    }
}

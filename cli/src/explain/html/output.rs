//! The section about an output: the output with each piece in its colour, the places where it does not match, the message,
//! and a table of the pieces.

use std::fmt::Write as _;

use super::escape::{block, ceil, escape, floor, inline, legend, value_text};
use crate::explain::model::{OutputView, SpanView, StopView};
use crate::visible;

/// How a piece of text can be read: the CSS class, and the label.
const PIECES: [(&str, &str); 9] = [
    ("content", "content"),
    ("reasoning", "reasoning"),
    ("function_name", "name"),
    ("argument_name", "arg name"),
    ("arguments", "arguments"),
    ("call_id", "id"),
    ("syntax", "syntax"),
    ("unparsed", "broken markup"),
    ("held", "held back"),
];

/// The section.
pub(super) fn section(output: &OutputView) -> String {
    let verdict = match (output.stops.len(), output.over) {
        (0, true) => "<span class=\"ok\">All of it matches the format.</span>".to_owned(),
        (0, false) => "<span class=\"ok\">All of it matches the format until here.</span>".to_owned(),
        (1, _) => "At one place it does not match the format.".to_owned(),
        (count, _) => format!("At {count} places it does not match the format."),
    };
    let mut out = format!("<p class=\"lead\">{} bytes; the colour shows how each is read. {verdict}</p>", output.bytes);
    let used = |class: &str| output.spans.iter().any(|span| span.taken == class);
    out.push_str(&legend(PIECES.iter().filter(|(class, _)| used(class)).copied()));
    out.push_str("<pre class=\"output\" tabindex=\"0\">");
    let marks = marks(output);
    for span in &output.spans {
        piece(span, &marks, &mut out);
    }
    for mark in marks.iter().filter(|mark| mark.at >= output.bytes) {
        out.push_str(&mark.link);
    }
    out.push_str("</pre>");
    for (index, stop) in output.stops.iter().enumerate() {
        out.push_str(&self::stop(index, stop));
    }
    let _ = write!(
        out,
        "<p>Reading ended in state <a href=\"#state-{0}\"><code>{0}</code></a>{1}.</p>",
        inline(&output.state),
        waits_for(output)
    );
    if !output.diagnostics.is_empty() {
        out.push_str("<ul class=\"findings\">");
        for (index, diagnostic) in output.diagnostics.iter().enumerate() {
            let mark = if diagnostic.at.is_some() {
                format!("<span class=\"here\">! {}</span> ", index + 1)
            } else {
                String::new()
            };
            let _ = write!(out, "<li class=\"bad\" id=\"diagnostic-{index}\">{mark}{}</li>", inline(&diagnostic.text));
        }
        out.push_str("</ul>");
    }
    let message = serde_json::to_string_pretty(&output.message).unwrap_or_default();
    let _ = write!(
        out,
        "<h3>The message</h3><pre tabindex=\"0\">{}</pre><h3>Piece by piece</h3>{}",
        escape(&visible::lines(&message)),
        pieces(output)
    );
    out
}

/// The markers that the last state waits for.
fn waits_for(output: &OutputView) -> String {
    let markers = output.expected.iter();
    let markers: Vec<String> =
        markers.map(|one| format!("{} <span class=\"note\">{}</span>", value_text(&one.text), one.key)).collect();
    if markers.is_empty() { String::new() } else { format!(", which waits for {}", markers.join(", ")) }
}

/// A mark on a byte of the output: a place where it does not match the format, or a diagnostic.
struct Mark {
    at: usize,
    /// The link to what is said about it.
    link: String,
}

/// The marks, in order.
fn marks(output: &OutputView) -> Vec<Mark> {
    let link = |id: &str, sign: &str, index: usize| {
        format!("<a class=\"here\" href=\"#{id}-{index}\">{sign} {}</a>", index + 1)
    };
    let stops =
        output.stops.iter().enumerate().map(|(index, stop)| Mark { at: stop.at, link: link("stop", "✗", index) });
    let diagnostics = output.diagnostics.iter().enumerate();
    let diagnostics =
        diagnostics.filter_map(|(index, one)| Some(Mark { at: one.at?, link: link("diagnostic", "!", index) }));
    let mut marks: Vec<Mark> = stops.chain(diagnostics).collect();
    marks.sort_by_key(|mark| mark.at);
    marks
}

/// A piece of the output, with its marks.
fn piece(span: &SpanView, marks: &[Mark], out: &mut String) {
    let label = PIECES.iter().find(|(class, _)| *class == span.taken).map_or(span.taken, |(_, label)| *label);
    let call = span.call.map_or(String::new(), |call| format!(" {call}"));
    let title = if span.key.is_empty() { format!("{label}{call}") } else { format!("{label}{call}: {}", span.key) };
    let data = if span.taken == "syntax" { String::new() } else { format!(" data-l=\"{label}{call}\"") };
    let _ = write!(out, "<span class=\"p {}\"{data} title=\"{title}\">", span.taken);
    let mut from = 0;
    for mark in marks {
        let inside = mark.at.checked_sub(span.start).filter(|_| mark.at < span.end);
        // The text of invalid UTF-8 is longer than its bytes.
        let Some(at) = inside.filter(|&at| at >= from && span.text.is_char_boundary(at)) else { continue };
        out.push_str(&block(&span.text[from..at]));
        out.push_str(&mark.link);
        from = at;
    }
    out.push_str(&block(&span.text[from..]));
    out.push_str("</span>");
}

fn stop(index: usize, stop: &StopView) -> String {
    let (number, state) = (index + 1, inline(&stop.state));
    // Text that only looked like a call is not an error.
    let class = if stop.held_from.is_some() { "stop mild" } else { "stop" };
    let mut out = format!(
        "<div class=\"{class}\" id=\"stop-{index}\"><h4><span class=\"here\">✗ {number}</span> byte {}, line {}, column {}\
         </h4><p>In state <a href=\"#state-{state}\"><code>{state}</code></a>: {}; so {}.</p><dl><dt>expected</dt><dd>",
        stop.at,
        stop.line,
        stop.column,
        stop.sentence(),
        stop.consequence()
    );
    let mut expected: Vec<String> = Vec::new();
    if !stop.reads.is_empty() {
        expected.push(stop.reads.to_owned());
    }
    for one in &stop.expected {
        expected.push(format!("{} <span class=\"note\">{}</span>", value_text(&one.text), one.key));
    }
    let found = if stop.found.is_empty() { "the end of the output".to_owned() } else { value_text(&stop.found) };
    let _ = write!(out, "{}</dd><dt>found</dt><dd>{found}</dd></dl></div>", expected.join("<br>"));
    out
}

fn pieces(output: &OutputView) -> String {
    let mut out = "<details><summary><span class=\"what\">A table of all pieces</span></summary><div class=\"scroll\"><table class=\"stacks\"><thead><tr>\
                   <th>bytes</th><th>read as</th><th>call</th><th>key</th><th>text</th></tr></thead><tbody>"
        .to_owned();
    for span in &output.spans {
        let call = span.call.map_or(String::new(), |call| call.to_string());
        let _ = write!(
            out,
            "<tr><td class=\"n\">{}…{}</td><td class=\"keys\"><span class=\"p {}\">{}</span></td><td class=\"n\">{call}</td>\
             <td class=\"keys\"><code>{}</code></td><td class=\"wide\"><code>{}</code></td></tr>",
            span.start,
            span.end,
            span.taken,
            span.taken.replace('_', " "),
            span.key,
            inline(&middle_cut(&span.text))
        );
    }
    out.push_str("</tbody></table></div></details>");
    out
}

/// A text; if it is long, without its middle.
fn middle_cut(text: &str) -> String {
    const SIDE: usize = 160;
    let (head, tail) = (floor(text, SIDE), ceil(text, text.len().saturating_sub(SIDE)));
    if head >= tail { text.to_owned() } else { format!("{} … {}", &text[..head], &text[tail..]) }
}

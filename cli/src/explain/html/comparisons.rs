//! The section about the comparisons of an analysis: what each rendered, what differed, and what was concluded.

use std::fmt::Write as _;
use std::ops::Range;

use unjinja_analyzer::trace::{Comparison, Field, Rendering};

use super::escape::{block, ceil, escape, floor, inline, legend, value};
use crate::explain::model::{ComparisonView, Explanation, Group};
use crate::visible;

/// How much of a render is shown before and after the part that differs, and how much of that part, in bytes.
const AROUND: usize = 1_200;
const DIFFERENCE: usize = 4_000;

/// The section.
pub(super) fn section(explanation: &Explanation) -> String {
    let mut out = String::from(
        "<p class=\"lead\">Each comparison renders conversations that differ in one respect. Every field holds a sentinel, a \
         text that occurs nowhere else. The part that differs is in \
         <span class=\"d\">brackets</span>.</p>",
    );
    out.push_str(&legend(Field::ALL.iter().map(|&field| (class_of(field), field.title()))));
    for Group { title, comparisons, idle } in explanation.groups() {
        if !(comparisons.is_empty() && idle.is_empty()) {
            let _ = write!(out, "<h3>{title}</h3>");
        }
        for (index, one) in comparisons {
            out.push_str(&comparison(index, one));
        }
        if !idle.is_empty() {
            let count = idle.len();
            let _ = write!(
                out,
                "<details><summary><span class=\"line\"><span class=\"what\">{count} probes that found nothing</span> <span class=\"varied\">\
                 markers on which the template might split an answer</span></span></summary><div class=\"body\">"
            );
            for (index, one) in idle {
                out.push_str(&comparison(index, one));
            }
            out.push_str("</div></details>");
        }
    }
    out
}

fn comparison(index: usize, one: &ComparisonView) -> String {
    let made = &one.made;
    let name = match made.experiment.name() {
        name if name.len() == 2 => format!("<span class=\"key mono\">{name}</span>"),
        _ => String::new(),
    };
    let found = match made.findings.len() {
        0 => String::new(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let mut out = format!(
        "<details id=\"c{index}\"><summary><span class=\"line\">{name}<span class=\"what\">{}</span><span class=\"varied\">{}</span></span>\
         <span class=\"found\">{found}</span></summary><div class=\"body\">",
        one.title,
        inline(&made.varied)
    );
    out.push_str(&renders(made));
    if !made.findings.is_empty() {
        out.push_str("<ul class=\"findings\">");
        for finding in &made.findings {
            let _ = write!(out, "<li><code>{}</code> = {}</li>", inline(&finding.key), value(&finding.value));
        }
        out.push_str("</ul>");
    }
    if !made.because.is_empty() {
        let _ = write!(out, "<p class=\"because\">Because {}.</p>", inline(made.because.trim_end_matches('.')));
    }
    out.push_str("</div></details>\n");
    out
}

fn renders(one: &Comparison) -> String {
    let mut out = String::new();
    for render in &one.renders {
        let text = match &render.error {
            Some(error) => format!("<pre class=\"error\" tabindex=\"0\">{}</pre>", escape(&visible::lines(error))),
            None => format!("<pre tabindex=\"0\">{}</pre>", self::render(render)),
        };
        let _ = write!(out, "<figure><figcaption>{}</figcaption>{text}</figure>", inline(&render.of));
    }
    out
}

/// A render with its fields and the part that differs. A long render is cut around that part.
fn render(render: &Rendering) -> String {
    let text = &render.text;
    if text.is_empty() {
        return "<span class=\"cut\">empty</span>".to_owned();
    }
    let focus = render.differs.clone().unwrap_or(0..text.len());
    let from = if render.differs.is_some() { floor(text, focus.start.saturating_sub(AROUND)) } else { 0 };
    let to = if render.differs.is_some() { ceil(text, (focus.end + AROUND).min(text.len())) } else { text.len() };
    let mut out = String::new();
    cut(from, &mut out);
    fields(render, from..focus.start, &mut out);
    if render.differs.is_some() {
        out.push_str("<span class=\"d\">");
    }
    let head = floor(text, (focus.start + DIFFERENCE / 2).min(focus.end));
    let tail = ceil(text, focus.end.saturating_sub(DIFFERENCE / 2).max(focus.start));
    if head < tail {
        fields(render, focus.start..head, &mut out);
        cut(tail - head, &mut out);
        fields(render, tail..focus.end, &mut out);
    } else {
        fields(render, focus.clone(), &mut out);
    }
    if render.differs.is_some() {
        out.push_str("</span>");
    }
    fields(render, focus.end..to, &mut out);
    cut(text.len() - to, &mut out);
    out
}

fn cut(bytes: usize, out: &mut String) {
    if bytes > 0 {
        let _ = write!(out, "<span class=\"cut\"> … {bytes} bytes … </span>");
    }
}

fn fields(render: &Rendering, range: Range<usize>, out: &mut String) {
    let mut at = range.start;
    for span in &render.fields {
        let (start, end) = (span.start.clamp(at, range.end), span.end.clamp(at, range.end));
        if start < end {
            out.push_str(&block(&render.text[at..start]));
            let (class, label) = (class_of(span.field), span.field.title());
            let text = block(&render.text[start..end]);
            let _ = write!(out, "<span class=\"p {class}\" data-l=\"{label}\">{text}</span>");
            at = end;
        }
    }
    out.push_str(&block(&render.text[at..range.end]));
}

fn class_of(field: Field) -> &'static str {
    match field {
        Field::User => "user",
        Field::Content => "content",
        Field::Reasoning => "reasoning",
        Field::FunctionName => "function_name",
        Field::ArgumentName => "argument_name",
        Field::ArgumentValue => "argument_value",
        _ => "call_id",
    }
}

//! The explanation as one page: no script, nothing from elsewhere, and every text that came from a template or an output
//! escaped. What colour says, a label or the style of a line says too.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;
use unjinja_analyzer::trace::{Comparison, Field, Rendering};
use unjinja_runtime::trace::StateView;

use super::model::{ComparisonView, Explanation, Group, Kind, Outcome, OutputView, SpanView, StopView};
use crate::diagram;
use crate::visible::{self, Shown};

const STYLE: &str = include_str!("page.css");

/// How much of a render stands before and behind the part that differs, and of that part, in bytes.
const AROUND: usize = 1_200;
const DIFFERENCE: usize = 4_000;

/// What a piece of text can be: its class, and its label.
const PIECES: [(&str, &str); 8] = [
    ("content", "content"),
    ("reasoning", "reasoning"),
    ("function_name", "name"),
    ("argument_name", "arg name"),
    ("arguments", "arguments"),
    ("call_id", "id"),
    ("syntax", "syntax"),
    ("held", "held back"),
];

/// The page.
pub(crate) fn page(explanation: &Explanation) -> String {
    let mut sections: Vec<(&str, &str, Option<usize>, String)> = Vec::new();
    if let Some(output) = &explanation.output {
        sections.push(("output", "Output", None, self::output(output)));
    }
    if explanation.kind == Kind::Template {
        let count = explanation.comparisons.len();
        sections.push(("comparisons", "Comparisons", Some(count), comparisons(explanation)));
    }
    if !explanation.keys.is_empty() {
        sections.push(("spec", "Spec", Some(explanation.keys.len()), spec(explanation)));
    }
    if !explanation.generation_prompts.is_empty() {
        let count = explanation.generation_prompts.len();
        sections.push(("prompts", "Generation prompts", Some(count), prompts(explanation)));
    }
    if !explanation.states.is_empty() {
        sections.push(("states", "States", Some(explanation.states.len()), states(&explanation.states)));
    }
    if let Some(section) = grammar(explanation) {
        sections.push(("grammar", "Grammar", None, section));
    }
    let mut body = head(explanation);
    body.push_str("<div class=\"layout\"><nav aria-label=\"Contents\"><ol>");
    for (id, title, count, _) in &sections {
        let count = count.map_or(String::new(), |count| format!(" <span class=\"count\">{count}</span>"));
        let _ = write!(body, "<li><a href=\"#{id}\">{title}{count}</a></li>");
    }
    body.push_str("</ol></nav><main>");
    for (id, title, _, section) in &sections {
        let _ = writeln!(body, "<section id=\"{id}\"><h2>{title}</h2>{section}</section>");
    }
    body.push_str(
        "<footer>Written by <code>unjinja explain</code>. This page needs no network and runs no script.</footer>",
    );
    body.push_str("</main></div>");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{} · unjinja explain</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        inline(&explanation.file)
    )
}

fn head(explanation: &Explanation) -> String {
    let (class, outcome) = match explanation.outcome {
        Outcome::Supported => ("good", "✓ supported"),
        Outcome::Unsupported => ("bad", "✗ unsupported"),
        Outcome::Failed => ("bad", "✗ no spec"),
    };
    let kind = if explanation.kind == Kind::Template { "chat template" } else { "format spec" };
    let mut out = format!(
        "<header><p class=\"eyebrow\">unjinja explain · {kind}</p><h1>{}</h1><p class=\"facts\">\
         <span class=\"badge {class}\">{outcome}</span>",
        inline(&explanation.file)
    );
    let mut fact = |what: &str, value: String| {
        let _ = write!(out, "<span>{what} <b>{value}</b></span>");
    };
    let key = |name: &str| explanation.keys.iter().find(|key| key.key == name).and_then(|key| key.value.as_str());
    if let Some(format) = key("tools.format") {
        fact("calls", inline(format));
    }
    if let Some(mode) = key("reasoning.mode") {
        fact("reasoning", inline(mode));
    }
    if let Some(evidence) = &explanation.evidence {
        fact("round trips", format!("{} of {}", evidence.round_trips.held, evidence.round_trips.tried));
        fact("renders", evidence.renders.to_string());
    }
    out.push_str("</p>");
    if let Some(reason) = &explanation.reason {
        let _ =
            write!(out, "<p class=\"reason\"><b>Why there is no parser.</b> {}</p>", escape(&visible::lines(reason)));
    }
    out.push_str("</header>");
    out
}

// ----- an output -----

fn output(output: &OutputView) -> String {
    let verdict = match (output.stops.len(), output.over) {
        (0, true) => "<span class=\"ok\">All of it fits.</span>".to_owned(),
        (0, false) => "<span class=\"ok\">All of it fits so far.</span>".to_owned(),
        (1, _) => "In one place it stopped fitting.".to_owned(),
        (count, _) => format!("In {count} places it stopped fitting."),
    };
    let mut out = format!("<p class=\"lead\">{} bytes, each by what it is taken for. {verdict}</p>", output.bytes);
    let used = |class: &str| output.spans.iter().any(|span| span.taken == class);
    out.push_str(&legend(PIECES.iter().filter(|(class, _)| used(class)).copied()));
    out.push_str("<pre class=\"output\" tabindex=\"0\">");
    for span in &output.spans {
        piece(span, &output.stops, &mut out);
    }
    for (index, _) in output.stops.iter().enumerate().filter(|(_, stop)| stop.at >= output.bytes) {
        let _ = write!(out, "<a class=\"here\" href=\"#stop-{index}\">✗ {}</a>", index + 1);
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
        for diagnostic in &output.diagnostics {
            let _ = write!(out, "<li class=\"bad\">{}</li>", inline(diagnostic));
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

/// A piece of the output, with a mark in it where it stopped fitting.
fn piece(span: &SpanView, stops: &[StopView], out: &mut String) {
    let label = PIECES.iter().find(|(class, _)| *class == span.taken).map_or(span.taken, |(_, label)| *label);
    let call = span.call.map_or(String::new(), |call| format!(" {call}"));
    let title = if span.key.is_empty() { format!("{label}{call}") } else { format!("{label}{call}: {}", span.key) };
    let data = if span.taken == "syntax" { String::new() } else { format!(" data-l=\"{label}{call}\"") };
    let _ = write!(out, "<span class=\"p {}\"{data} title=\"{title}\">", span.taken);
    let mut from = 0;
    for (index, stop) in stops.iter().enumerate() {
        let inside = stop.at.checked_sub(span.start).filter(|_| stop.at < span.end);
        // Where bytes are no UTF-8 the text is longer than they are.
        let Some(at) = inside.filter(|&at| at >= from && span.text.is_char_boundary(at)) else { continue };
        out.push_str(&block(&span.text[from..at]));
        let _ = write!(out, "<a class=\"here\" href=\"#stop-{index}\">✗ {}</a>", index + 1);
        from = at;
    }
    out.push_str(&block(&span.text[from..]));
    out.push_str("</span>");
}

fn stop(index: usize, stop: &StopView) -> String {
    let (number, state) = (index + 1, inline(&stop.state));
    // Text that looked like a call and was none is nothing bad.
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
                   <th>bytes</th><th>taken for</th><th>call</th><th>key</th><th>text</th></tr></thead><tbody>"
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

/// A text without its middle, where it is long.
fn middle_cut(text: &str) -> String {
    const SIDE: usize = 160;
    let (head, tail) = (floor(text, SIDE), ceil(text, text.len().saturating_sub(SIDE)));
    if head >= tail { text.to_owned() } else { format!("{} … {}", &text[..head], &text[tail..]) }
}

// ----- comparisons -----

fn comparisons(explanation: &Explanation) -> String {
    let wrong = explanation.comparisons.iter().filter(|one| !one.consistent).count();
    let verdict = match wrong {
        _ if !explanation.made_twice() => "The analysis ended before the second set.".to_owned(),
        0 => "Both sets of sentinels gave the same answers.".to_owned(),
        1 => "In one of them the two sets of sentinels gave different answers.".to_owned(),
        count => format!("In {count} of them the two sets of sentinels gave different answers."),
    };
    let mut out = format!(
        "<p class=\"lead\">Each renders conversations that differ in one thing, with a sentinel in every field, and is made \
         twice with sentinels that have nothing in common. {verdict} What differs stands between <span class=\"d\">brackets</span>.</p>"
    );
    let fields = [
        Field::User,
        Field::Content,
        Field::Reasoning,
        Field::FunctionName,
        Field::ArgumentName,
        Field::ArgumentValue,
        Field::CallId,
    ];
    out.push_str(&legend(fields.into_iter().map(|field| (class_of(field), field.title()))));
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
    let open = if one.consistent { "" } else { " open" };
    let name = if one.experiment.len() == 2 {
        format!("<span class=\"key mono\">{}</span>", one.experiment)
    } else {
        String::new()
    };
    let found = match (one.consistent, one.first.findings.len()) {
        (false, _) => "<span class=\"badge bad\">✗ inconsistent</span>".to_owned(),
        (true, 0) => String::new(),
        (true, 1) => "1 finding".to_owned(),
        (true, count) => format!("{count} findings"),
    };
    let mut out = format!(
        "<details id=\"c{index}\"{open}><summary><span class=\"line\">{name}<span class=\"what\">{}</span><span class=\"varied\">{}</span></span>\
         <span class=\"found\">{found}</span></summary><div class=\"body\">",
        one.title,
        inline(&one.varied)
    );
    out.push_str(&renders(&one.first));
    if !one.first.findings.is_empty() || !one.inconsistent.is_empty() {
        out.push_str("<ul class=\"findings\">");
        for finding in &one.first.findings {
            let _ = write!(out, "<li><code>{}</code> = {}</li>", inline(&finding.key), value(&finding.value));
        }
        for wrong in &one.inconsistent {
            let _ = write!(
                out,
                "<li class=\"bad\"><code>{}</code> is {} with one set of sentinels and {} with the other</li>",
                inline(&wrong.key),
                value(&wrong.first),
                value(&wrong.second)
            );
        }
        out.push_str("</ul>");
    }
    if !one.first.because.is_empty() {
        let _ = write!(out, "<p class=\"because\">Because {}.</p>", inline(one.first.because.trim_end_matches('.')));
    }
    match &one.second {
        Some(second) if !second.renders.is_empty() => {
            let _ = write!(
                out,
                "<details{open}><summary><span class=\"varied\">With the other set of sentinels</span></summary>\
                 <div class=\"body\">{}</div></details>",
                renders(second)
            );
        }
        Some(_) => {}
        None => out.push_str("<p class=\"note\">It was made with one set of sentinels only.</p>"),
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

/// A render with its fields and the part that differs; of a long one, what stands around that part.
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

fn legend<'l>(entries: impl Iterator<Item = (&'l str, &'l str)>) -> String {
    let mut out = "<ul class=\"legend\" aria-label=\"Legend\">".to_owned();
    for (class, label) in entries {
        let _ = write!(out, "<li><span class=\"p {class}\">{label}</span></li>");
    }
    out.push_str("</ul>");
    out
}

// ----- the spec and what is made of it -----

fn spec(explanation: &Explanation) -> String {
    let mut out = "<p class=\"lead\">What the spec says, and which comparisons found it.</p><div class=\"scroll\"><table class=\"stacks\"><thead><tr>\
                   <th>key</th><th>value</th><th>found by</th></tr></thead><tbody>"
        .to_owned();
    for key in &explanation.keys {
        let _ = write!(
            out,
            "<tr><td class=\"keys\"><code>{}</code></td><td class=\"wide\">{}",
            inline(&key.key),
            value(&key.value)
        );
        if let Some(before) = &key.overlaid {
            let _ =
                write!(out, "<br><span class=\"note\">an overlay says so; the analysis found {}</span>", value(before));
        }
        out.push_str("</td><td class=\"by\">");
        if key.found_by.is_empty() {
            out.push_str("<span class=\"note\">follows from others</span>");
        }
        for name in &key.found_by {
            let finds = |one: &ComparisonView| {
                one.experiment == *name
                    && one.first.findings.iter().any(|f| key.key.starts_with(&f.key) || f.key.starts_with(&key.key))
            };
            let index = explanation.comparisons.iter().position(finds);
            let index = index.or_else(|| explanation.comparisons.iter().position(|one| one.experiment == *name));
            let _ = write!(out, "<a href=\"#c{}\">{}</a>", index.unwrap_or(0), name.replace('_', " "));
        }
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table></div>");
    if let Some(toml) = &explanation.toml {
        let _ = write!(
            out,
            "<details style=\"margin-top:.8rem\"><summary><span class=\"what\">The spec as TOML</span></summary><div class=\"body\"><pre tabindex=\"0\">{}</pre></div></details>",
            escape(&visible::lines(toml))
        );
    }
    out
}

fn prompts(explanation: &Explanation) -> String {
    let mut out =
        "<p class=\"lead\">What the template adds where the model is to go on, and where the parser begins then.</p>"
            .to_owned();
    for prompt in &explanation.generation_prompts {
        let thinking = match prompt.thinking {
            None => "as it is",
            Some(true) => "thinking on",
            Some(false) => "thinking off",
        };
        let state = prompt.state.as_deref().map_or("no parser".to_owned(), |state| {
            format!("state <a href=\"#state-{0}\"><code>{0}</code></a>", inline(state))
        });
        let starts_in = inline(prompt.starts_in.as_str().unwrap_or_default());
        let _ = write!(
            out,
            "<figure><figcaption>{thinking} · begins in {starts_in} · {state}</figcaption><pre tabindex=\"0\">{}</pre></figure>",
            if prompt.text.is_empty() { "<span class=\"cut\">empty</span>".to_owned() } else { block(&prompt.text) }
        );
    }
    out
}

fn states(states: &[StateView]) -> String {
    let mut out = "<p class=\"lead\">The machine that reads a turn: in each state a marker, or the end of what it reads, says where \
                   to go on.</p><div class=\"panel\">"
        .to_owned();
    for state in states {
        let reads = if state.reads.is_empty() { "markers only" } else { state.reads };
        let end = if state.may_end { " · the turn may end here" } else { "" };
        let _ = write!(
            out,
            "<div class=\"state\" id=\"state-{0}\"><h4 class=\"mono\">{0}<span>{reads}{end}</span></h4><ul>",
            inline(&state.name)
        );
        let link = |name: &str| format!("<a href=\"#state-{0}\"><code>{0}</code></a>", inline(name));
        for marker in &state.markers {
            let mut notes = marker.does.clone();
            if !marker.confirmed_by.is_empty() {
                notes.push(format!("if {} follows", marker.confirmed_by.join(" or ")));
            }
            if marker.at_the_end {
                notes.push("at the end of the output".to_owned());
            }
            notes.push(marker.key.to_owned());
            let _ = write!(
                out,
                "<li>{} → {} <span class=\"note\">{}</span></li>",
                value_text(&marker.text),
                link(&marker.next),
                inline(&notes.join(" · "))
            );
        }
        if let Some(next) = &state.otherwise {
            let what = if state.reads.is_empty() { "anything else" } else { "when it is complete" };
            let does = inline(&state.otherwise_does.join(" · "));
            let _ = write!(
                out,
                "<li><span class=\"note\">{what}</span> → {} <span class=\"note\">{does}</span></li>",
                link(next)
            );
        }
        out.push_str("</ul></div>");
    }
    out.push_str("</div>");
    out
}

fn grammar(explanation: &Explanation) -> Option<String> {
    let grammar = explanation.grammar.as_ref()?;
    let holds = if grammar.lazy {
        "It holds from a trigger on; until one comes, all text is free."
    } else {
        "It holds for the whole turn."
    };
    let mut out = format!("<p class=\"lead\">What a sampler can hold the model to. {holds}</p>");
    if let Some(problem) = &grammar.problem {
        let _ = write!(out, "<p class=\"error\">{}</p>", inline(problem));
        return Some(out);
    }
    for trigger in &grammar.triggers {
        let _ = write!(out, "<p>Trigger, a {}: {}</p>", inline(trigger.kind), value_text(&trigger.value));
    }
    for wider in &grammar.widened {
        let _ = write!(out, "<p class=\"note\">Wider than the schema: {}</p>", inline(wider));
    }
    if grammar.text.is_empty() {
        out.push_str("<p>Nothing is to be constrained.</p>");
        return Some(out);
    }
    out.push_str("<div class=\"panel\">");
    for (name, svg) in diagram::rules(&visible::lines(&grammar.text)) {
        let _ = write!(
            out,
            "<div class=\"rule\"><h4 class=\"mono\">{}</h4><div class=\"track\" tabindex=\"0\">{svg}</div></div>",
            inline(&name)
        );
    }
    let _ = write!(
        out,
        "</div><details style=\"margin-top:.8rem\"><summary><span class=\"what\">The grammar as GBNF</span></summary><div class=\"body\"><pre tabindex=\"0\">{}</pre></div></details>",
        escape(&visible::lines(&grammar.text))
    );
    Some(out)
}

// ----- text -----

/// The characters that mean something in HTML, escaped; for text and for attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text on one line.
fn inline(text: &str) -> String {
    escape(&visible::line(text))
}

/// A text of several lines in a block that keeps them.
fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match visible::shown(c) {
            Shown::Newline => out.push_str("<span class=\"nl\">↵</span>\n"),
            Shown::Escape(text) => {
                let _ = write!(out, "<span class=\"esc\">{}</span>", escape(&text));
            }
            Shown::Char(c) => out.push_str(&escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

/// A value of a spec.
fn value(value: &Value) -> String {
    match value {
        Value::Null => "<span class=\"note\">nothing</span>".to_owned(),
        Value::String(text) if !text.is_empty() => value_text(text),
        Value::Array(items) => items.iter().map(self::value).collect::<Vec<_>>().join(" "),
        other => format!("<code>{}</code>", inline(&other.to_string())),
    }
}

fn value_text(text: &str) -> String {
    format!("<code class=\"v\">{}</code>", inline(text))
}

/// The character boundary at or before an offset.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The character boundary at or behind an offset.
fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

//! The explanation for a terminal. Control characters in text from a template or an output are escaped. Nothing is shown by
//! colour alone.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use unjinja_analyzer::trace::{Comparison, Field, Rendering};
use unjinja_dynamic::explain::{
    ComparisonGroup, ComparisonView, ExplainedKind, Explanation, OutputView, ParserOutcome, SpanView, StopView,
};
use unjinja_runtime::trace::{MarkerView, StateView};

use crate::ui::{BAD, FAINT as DIM, GOOD, HEADING as TITLE, WARNING as MARK};
use crate::{gaps, visible};

const SECTION: Style = AnsiColor::Cyan.on_default().bold();

/// How much of a render is shown before and after the part that differs, and how much of that part, in characters.
const AROUND: usize = 48;
const DIFFERENCE: usize = 160;

/// How many lines of a grammar are shown.
const GRAMMAR_LINES: usize = 24;

/// How wide the column of keys is.
const KEYS: usize = 34;

/// One line: the file and the result.
pub(crate) fn summary(explanation: &Explanation) -> String {
    let outcome = match explanation.outcome {
        ParserOutcome::Supported => format!("{GOOD}supported{GOOD:#}"),
        ParserOutcome::Partial => format!("{MARK}partial{MARK:#}"),
        ParserOutcome::Unsupported => format!("{BAD}unsupported{BAD:#}"),
        ParserOutcome::Failed => format!("{BAD}no spec{BAD:#}"),
    };
    let format = explanation.keys.iter().find(|key| key.key == "tools.format").and_then(|key| key.value.as_str());
    let mut parts = vec![outcome];
    parts.extend(format.map(|format| format!("calls: {format}")));
    if let Some(evidence) = &explanation.evidence {
        let trips = evidence.round_trips;
        parts.push(format!("{} of {} round trips", trips.held, trips.tried));
        parts.push(format!("{} renders", evidence.renders));
        parts.extend(gaps::described(&evidence.described).map(str::to_owned));
    }
    if explanation.kind == ExplainedKind::Template {
        let count = explanation.comparisons.len();
        parts.push(format!("{count} comparison{}", if count == 1 { "" } else { "s" }));
    }
    format!("{TITLE}{}{TITLE:#}  {}", visible::line(&explanation.file), parts.join(" · "))
}

/// A section of the explanation.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Section {
    /// The comparisons of the analysis.
    Comparisons,
    /// The spec, key by key.
    Spec,
    /// The generation prompts.
    Prompts,
    /// What templates write in a turn.
    Plan,
    /// The states of the parser.
    States,
    /// The grammar.
    Grammar,
    /// The output.
    Output,
}

/// Writes these sections; all if none is named.
pub(crate) fn write(explanation: &Explanation, parts: &[Section], out: &mut impl Write) -> io::Result<()> {
    let wanted = |part| parts.is_empty() || parts.contains(&part);
    writeln!(out, "{}", summary(explanation))?;
    if let Some(reason) = &explanation.reason {
        writeln!(out, "{BAD}why:{BAD:#} {}", visible::lines(reason))?;
    }
    for gap in explanation.gaps.iter().filter(|_| explanation.outcome == ParserOutcome::Partial) {
        writeln!(out, "{MARK}missing:{MARK:#} {}", visible::lines(gap))?;
    }
    for correction in &explanation.corrections {
        writeln!(out, "{MARK}overlay:{MARK:#} {}; --without-known-formats leaves it out", visible::lines(correction))?;
    }
    if wanted(Section::Comparisons) && explanation.kind == ExplainedKind::Template {
        comparisons(explanation, out)?;
    }
    if wanted(Section::Spec) && !explanation.keys.is_empty() {
        keys(explanation, out)?;
    }
    if wanted(Section::Prompts) && !explanation.generation_prompts.is_empty() {
        prompts(explanation, out)?;
    }
    if wanted(Section::Plan) && !explanation.plan.is_empty() {
        section(out, "Plan", "  what templates write, without what is only tolerated")?;
        for line in explanation.plan.lines() {
            writeln!(out, "  {}", visible::line(line))?;
        }
    }
    if wanted(Section::States) && !explanation.states.is_empty() {
        states(&explanation.states, out)?;
    }
    if wanted(Section::Grammar) {
        grammar(explanation, out)?;
    }
    match &explanation.output {
        Some(output) if wanted(Section::Output) => self::output(output, out),
        _ => Ok(()),
    }
}

fn section(out: &mut impl Write, title: &str, more: &str) -> io::Result<()> {
    writeln!(out, "\n{SECTION}{}{SECTION:#}{DIM}{more}{DIM:#}", title.to_uppercase())
}

// ----- comparisons -----

fn comparisons(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    section(out, "Comparisons", "")?;
    write!(out, "{DIM}⟦ ⟧ the part that differs   ↵ the end of a line   fields:{DIM:#}")?;
    for &field in Field::ALL {
        let style = style_of(field);
        write!(out, " {style}{}{style:#}", field.title())?;
    }
    writeln!(out)?;
    for ComparisonGroup { title, comparisons, idle } in explanation.groups() {
        if comparisons.is_empty() && idle.is_empty() {
            continue;
        }
        writeln!(out, "\n{SECTION}{title}{SECTION:#}")?;
        for (_, one) in comparisons {
            comparison(one, out)?;
        }
        if !idle.is_empty() {
            writeln!(out, "\n{TITLE}{} probes that found nothing{TITLE:#}", idle.len())?;
        }
        for (_, one) in idle {
            writeln!(out, "  {}: {}", visible::line(&one.made.varied), visible::line(&one.made.because))?;
        }
    }
    Ok(())
}

fn comparison(one: &ComparisonView, out: &mut impl Write) -> io::Result<()> {
    let name = one.made.experiment.name();
    let name = if name.len() == 2 { format!("{name} ") } else { String::new() };
    writeln!(out, "\n{TITLE}{name}{}{TITLE:#}  {}", one.title, visible::line(&one.made.varied))?;
    renders(&one.made, out)?;
    for finding in &one.made.findings {
        writeln!(out, "  {GOOD}→{GOOD:#} {} = {}", finding.key, value(&finding.value))?;
    }
    if !one.made.because.is_empty() {
        writeln!(out, "  {DIM}because{DIM:#} {}", visible::line(&one.made.because))?;
    }
    Ok(())
}

fn renders(one: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let width = one.renders.iter().map(|render| render.of.chars().count()).max().unwrap_or(0).min(46);
    for render in &one.renders {
        write!(out, "  {DIM}{:width$}{DIM:#}  ", visible::line(&render.of))?;
        match &render.error {
            Some(error) => writeln!(out, "{BAD}{}{BAD:#}", visible::line(error.lines().next().unwrap_or_default()))?,
            None => writeln!(out, "{}", trimmed(render))?,
        }
    }
    Ok(())
}

/// A render on one line, with the part that differs in view.
fn trimmed(render: &Rendering) -> String {
    let text = &render.text;
    let differs = render.differs.clone();
    let focus = differs.clone().unwrap_or(0..text.len());
    let from = back(text, focus.start, AROUND);
    let to = forth(text, focus.end, AROUND);
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    if differs.is_some() {
        styled(render, from..focus.start, &mut out);
        out.push_str(&format!("{MARK}⟦{MARK:#}"));
    }
    let (head, tail) = (forth(text, focus.start, DIFFERENCE / 2), back(text, focus.end, DIFFERENCE / 2));
    if head < tail {
        styled(render, focus.start..head, &mut out);
        out.push_str(&format!("{DIM}…{} bytes…{DIM:#}", tail - head));
        styled(render, tail..focus.end, &mut out);
    } else {
        styled(render, focus.clone(), &mut out);
    }
    if differs.is_some() {
        out.push_str(&format!("{MARK}⟧{MARK:#}"));
        styled(render, focus.end..to, &mut out);
    }
    if to < text.len() {
        out.push('…');
    }
    if text.is_empty() {
        out.push_str(&format!("{DIM}(empty){DIM:#}"));
    }
    out
}

fn back(text: &str, from: usize, count: usize) -> usize {
    text[..from].char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at)
}

fn forth(text: &str, from: usize, count: usize) -> usize {
    text[from..].char_indices().nth(count).map_or(text.len(), |(at, _)| from + at)
}

/// A part of a render with its fields coloured.
fn styled(render: &Rendering, range: Range<usize>, out: &mut String) {
    let mut at = range.start;
    for span in &render.fields {
        let (start, end) = (span.start.clamp(at, range.end), span.end.clamp(at, range.end));
        if start < end {
            out.push_str(&visible::line(&render.text[at..start]));
            let style = style_of(span.field);
            out.push_str(&format!("{style}{}{style:#}", visible::line(&render.text[start..end])));
            at = end;
        }
    }
    out.push_str(&visible::line(&render.text[at..range.end]));
}

fn style_of(field: Field) -> Style {
    match field {
        Field::User => AnsiColor::BrightBlack.on_default().underline(),
        Field::Content => AnsiColor::Green.on_default().underline(),
        Field::Reasoning => AnsiColor::Magenta.on_default().underline(),
        Field::FunctionName => AnsiColor::Blue.on_default().bold(),
        Field::ArgumentName => AnsiColor::Cyan.on_default(),
        Field::ArgumentValue => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Red.on_default(),
    }
}

// ----- the spec and the parser -----

fn keys(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    section(out, "Spec", "  key, value, and the comparisons that found it")?;
    for key in &explanation.keys {
        let found =
            if key.found_by.is_empty() { String::new() } else { format!("  {DIM}{}{DIM:#}", key.found_by.join(", ")) };
        writeln!(out, "  {:KEYS$} {MARK}{}{MARK:#}{found}", visible::line(&key.key), value(&key.value))?;
        if let Some(before) = &key.overlaid {
            writeln!(out, "  {:KEYS$} {DIM}set by an overlay; the analysis found {}{DIM:#}", "", value(before))?;
        }
    }
    Ok(())
}

fn prompts(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    section(out, "Generation prompts", "")?;
    for prompt in &explanation.generation_prompts {
        let thinking = match prompt.thinking {
            None => "not set",
            Some(true) => "thinking on",
            Some(false) => "thinking off",
        };
        let state = prompt.state.as_deref().unwrap_or("none");
        write!(out, "  {thinking:13} {MARK}{}{MARK:#}", visible::line(&prompt.text))?;
        writeln!(out, "  {DIM}begins in {}, state {state}{DIM:#}", prompt.starts_in.as_str().unwrap_or_default())?;
    }
    Ok(())
}

fn states(states: &[StateView], out: &mut impl Write) -> io::Result<()> {
    section(out, "States", &format!("  {} of them", states.len()))?;
    for state in states {
        let reads = if state.reads.is_empty() { "markers only" } else { state.reads };
        let end = if state.may_end { ", the turn may end here" } else { "" };
        writeln!(out, "  {TITLE}{}{TITLE:#}  {DIM}{reads}{end}{DIM:#}", state.name)?;
        for (marker, others) in state.grouped() {
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            let text = visible::line(&marker.text);
            writeln!(out, "    {MARK}{text}{MARK:#}{more} → {}{}", marker.next, notes(marker))?;
        }
        if let Some(next) = &state.otherwise {
            let what = if state.reads.is_empty() { "anything else" } else { "at its end" };
            let does = doing(&state.otherwise_does);
            writeln!(out, "    {what} → {next}{DIM}{does}{DIM:#}")?;
        }
    }
    Ok(())
}

fn notes(marker: &MarkerView) -> String {
    let mut notes = doing(&marker.does);
    if !marker.confirmed_by.is_empty() {
        let texts: Vec<String> = marker.confirmed_by.iter().map(|text| visible::line(text)).collect();
        notes.push_str(&format!(", if {} follows", texts.join(" or ")));
    }
    if marker.at_the_start {
        notes.push_str(", only before text");
    }
    if marker.at_the_end {
        notes.push_str(", at the end of the output");
    }
    format!("{DIM}{notes}  {}{DIM:#}", marker.key)
}

fn doing(does: &[String]) -> String {
    if does.is_empty() { String::new() } else { format!(", {}", visible::line(&does.join(", "))) }
}

fn grammar(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    let Some(grammar) = &explanation.grammar else { return Ok(()) };
    let holds = if grammar.lazy { "  from a trigger on" } else { "  for the whole turn" };
    section(out, "Grammar", holds)?;
    if let Some(problem) = &grammar.problem {
        return writeln!(out, "  {BAD}{}{BAD:#}", visible::line(problem));
    }
    for trigger in &grammar.triggers {
        writeln!(out, "  {DIM}trigger ({}):{DIM:#} {MARK}{}{MARK:#}", trigger.kind, visible::line(&trigger.value))?;
    }
    for wider in &grammar.widened {
        writeln!(out, "  {DIM}not enforced:{DIM:#} {}", visible::line(wider))?;
    }
    if grammar.text.is_empty() {
        return writeln!(out, "  there is nothing to constrain");
    }
    for line in grammar.text.lines().take(GRAMMAR_LINES) {
        match line.split_once(" ::= ") {
            Some((name, body)) => writeln!(out, "  {TITLE}{name}{TITLE:#} ::= {}", visible::line(body))?,
            None => writeln!(out, "  {}", visible::line(line))?,
        }
    }
    match grammar.text.lines().count().saturating_sub(GRAMMAR_LINES) {
        0 => Ok(()),
        more => writeln!(out, "  {DIM}… {more} more rules: `unjinja grammar` prints all{DIM:#}"),
    }
}

/// A value as JSON, on one line.
fn value(value: &Value) -> String {
    visible::line(&value.to_string())
}

// ----- an output -----

fn output(output: &OutputView, out: &mut impl Write) -> io::Result<()> {
    section(out, "Output", &format!("  {} bytes", output.bytes))?;
    let width = output.bytes.to_string().len();
    for span in &output.spans {
        let call = span.call.map_or(String::new(), |call| format!(" {call}"));
        let label = format!("{}{call}", span.taken.replace('_', " "));
        let style = style_of_span(span);
        let text = long_line(&span.text);
        let rule = span.rule.map_or(String::new(), |rule| format!("  {BAD}tolerated: {rule}{BAD:#}"));
        let key = if span.key.is_empty() { rule } else { format!("  {DIM}{}{DIM:#}{rule}", span.key) };
        writeln!(
            out,
            "  {DIM}{:>width$}…{:<width$}{DIM:#} {label:16} {style}{text}{style:#}{key}",
            span.start, span.end
        )?;
        for diagnostic in
            output.diagnostics.iter().filter(|one| one.at.is_some_and(|at| span.start <= at && at < span.end))
        {
            writeln!(
                out,
                "  {:indent$} {BAD}! {}{BAD:#}",
                "",
                visible::line(&diagnostic.text),
                indent = 2 * width + 1
            )?;
        }
    }
    if output.spans.is_empty() {
        writeln!(out, "  {DIM}(empty){DIM:#}")?;
    }
    for stop in &output.stops {
        self::stop(stop, out)?;
    }
    writeln!(
        out,
        "\n  ends in state {TITLE}{}{TITLE:#}{}",
        output.state,
        if output.over { "" } else { ", more may come" }
    )?;
    for expected in &output.expected {
        let (text, key) = (visible::line(&expected.text), expected.key);
        writeln!(out, "    {DIM}waits for{DIM:#} {MARK}{text}{MARK:#}  {DIM}{key}{DIM:#}")?;
    }
    for diagnostic in output.diagnostics.iter().filter(|one| one.at.is_none_or(|at| at >= output.bytes)) {
        writeln!(out, "  {BAD}!{BAD:#} {}", visible::line(&diagnostic.text))?;
    }
    let message = serde_json::to_string_pretty(&output.message).map_err(io::Error::from)?;
    message.lines().try_for_each(|line| writeln!(out, "  {}", visible::line(line)))
}

fn stop(stop: &StopView, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "\n  {BAD}✗ byte {}{BAD:#} (line {}, column {}), state {TITLE}{}{TITLE:#}: {}",
        stop.at, stop.line, stop.column, stop.state, stop.sentence
    )?;
    if !stop.reads.is_empty() {
        writeln!(out, "    {DIM}expected{DIM:#} {}, or", stop.reads)?;
    }
    for expected in &stop.expected {
        writeln!(
            out,
            "    {DIM}expected{DIM:#} {MARK}{}{MARK:#}  {DIM}{}{DIM:#}",
            visible::line(&expected.text),
            expected.key
        )?;
    }
    let found = if stop.found.is_empty() { "the end of the output".to_owned() } else { visible::line(&stop.found) };
    writeln!(out, "    {DIM}found{DIM:#}    {found}")?;
    writeln!(out, "    {DIM}so{DIM:#}       {}", stop.consequence)
}

/// A text on one line. If it is long, its middle is left out.
fn long_line(text: &str) -> String {
    let (head, tail) = (forth(text, 0, DIFFERENCE), back(text, text.len(), AROUND));
    if head >= tail {
        return visible::line(text);
    }
    format!("{}…{} bytes…{}", visible::line(&text[..head]), tail - head, visible::line(&text[tail..]))
}

fn style_of_span(span: &SpanView) -> Style {
    match span.taken {
        "content" => style_of(Field::Content),
        "reasoning" => style_of(Field::Reasoning),
        "function_name" => style_of(Field::FunctionName),
        "argument_name" => style_of(Field::ArgumentName),
        "arguments" => style_of(Field::ArgumentValue),
        "call_id" => style_of(Field::CallId),
        "held" | "unparsed" => BAD,
        _ => DIM,
    }
}

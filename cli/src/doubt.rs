//! `unjinja verify --doubt`: what is certain of a template, what is derived, and what is unknown, on one page. A maintainer reads it
//! before a release. It asks nothing of its own but names of arguments; the rest is what the trials found.

use std::io::Write;

use unjinja_analyzer::{ContinuationKind, Verification, render_calls, verify_after_results};
use unjinja_build::{ROUND_TRIPS, Source, SourceExt};
use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_runtime::{Options, parse};
use unjinja_spec::{FormatSpec, MarkerKey, ReasoningMode, ToolFormat, tags};

use crate::failure::Failure;
use crate::ui::{BAD, GOOD, WARNING, paint};
use crate::{gaps, visible};

/// Names of arguments that other languages than ours would not take for names.
const NAMES: [&str; 4] = ["line width", "größe", "x-axis", "a.b"];

/// Writes the page of one template.
pub(crate) fn print(out: &mut impl Write, source: &Source, spec: &FormatSpec, seed: u64) -> Result<(), Failure> {
    let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
    let tried = verify_after_results(&template, spec, ROUND_TRIPS, seed);
    let (mut certain, mut unknown) = (of_trials(&tried, spec), spec.gaps.clone());
    unknown.extend(tried.gaps(spec).into_iter().map(|(_, gap)| gap).filter(|gap| !spec.gaps.contains(gap)));
    if let Some(lost) = names(&template, spec) {
        match lost.as_slice() {
            [] => certain.push(format!("arguments are read whatever their names: {}", NAMES.join(", "))),
            lost => unknown.push(format!("arguments with such names are not read: {}", lost.join(", "))),
        }
    }
    writeln!(out, "{}: {}", visible::lines(&source.file()), spec.status.name())?;
    let derived = derived(&tried, &template, spec);
    for (title, style, lines) in [("certain", GOOD, certain), ("derived", WARNING, derived), ("unknown", BAD, unknown)]
    {
        writeln!(out, "  {}", paint(style, title))?;
        if lines.is_empty() {
            writeln!(out, "    nothing")?;
        }
        for line in lines {
            writeln!(out, "    {}", visible::lines(&line))?;
        }
    }
    Ok(())
}

/// What came back in every trial.
fn of_trials(tried: &Verification, spec: &FormatSpec) -> Vec<String> {
    let held = tried.kinds.iter().filter(|(_, tally)| tally.held == tally.tried);
    let mut lines: Vec<String> =
        held.map(|(kind, tally)| format!("{kind}: {} of {}", tally.held, tally.tried)).collect();
    for kind in tried.covered().into_iter().skip(lines.len()) {
        lines.push(kind);
    }
    let wrong = |kind| tried.wrong_continuations().any(|one| one.kind == kind);
    let settings = tried.continuations.iter().filter_map(|one| one.thinking).count();
    let turns = [
        (tried.held > 0 && !wrong(ContinuationKind::LaterTurn), "the same turn later in a conversation".to_owned()),
        (tried.held > 0 && !wrong(ContinuationKind::Blanks), "texts with white space around them".to_owned()),
        (!tried.quoting.is_empty(), format!("calls that quote a marker of the roles: {}", tried.quoting.len())),
        (!tried.after_results.is_empty(), format!("turns after results of calls: {}", tried.after_results.len())),
        (
            settings > 0 && tried.wrong_continuations().all(|one| one.thinking.is_none()),
            format!("prompts with `{}` on and off", spec.reasoning.switch),
        ),
    ];
    lines.extend(turns.into_iter().filter(|(holds, _)| *holds).map(|(_, line)| line));
    lines
}

/// What no trial shows, and the spec says all the same; and what the template does to texts.
fn derived(tried: &Verification, template: &Template, spec: &FormatSpec) -> Vec<String> {
    let prompts = spec.generation_prompt.iter().map(|prompt| &prompt.text);
    let texts: Vec<&String> = tried.turns.iter().map(|turn| &turn.body).chain(prompts).collect();
    let is_asked = |key| !matches!(key, MarkerKey::UserStart | MarkerKey::OtherToken);
    let is_shown = |text: &str| texts.iter().any(|shown| tags(text).iter().all(|tag| shown.contains(tag)));
    let hidden = spec.markers().filter(|(key, text)| is_asked(*key) && !text.contains("${") && !is_shown(text));
    let mut lines: Vec<String> =
        hidden.map(|(key, text)| format!("`{}` = {text:?}: no trial shows it", key.as_str())).collect();
    if spec.reasoning.mode != ReasoningMode::None && !tried.kinds.keys().any(|kind| kind.reasoning) {
        lines.push("no past turn shows reasoning: prompts and outputs that continue them do".to_owned());
    }
    lines.extend(gaps::described(&spec.evidence.described).map(str::to_owned));
    let plain = |text: &str| text.replace('｜', "|").replace('▁', "_");
    let literals = template.string_literals();
    let written: Vec<&str> = spec.markers().flat_map(|(_, text)| tags(text)).collect();
    let mut twins: Vec<&str> = literals.iter().flat_map(|text| tags(text)).collect();
    twins.retain(|tag| !written.contains(tag) && written.iter().any(|marker| plain(marker) == plain(tag)));
    twins.sort_unstable();
    twins.dedup();
    lines.extend(twins.into_iter().map(|twin| format!("{twin} is another spelling of a marker")));
    lines.extend(spec.tokens.other.iter().map(|token| format!("{token} is in the template and in no marker")));
    let counts = [
        (tried.changed_by_template, "have a text that the template changes; it came back as written"),
        (tried.lost_by_template - tried.changed_by_template, "were not rendered whole by the template"),
    ];
    lines
        .extend(counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} random conversations {what}")));
    lines
}

/// The names of arguments that do not come back in a call that no tool declares; `None` if the template renders none.
fn names(template: &Template, spec: &FormatSpec) -> Option<Vec<&'static str>> {
    let parser = interpreter(spec).ok().filter(|_| spec.tools.format != ToolFormat::None)?;
    let mut lost = Vec::new();
    for name in NAMES {
        let arguments = serde_json::json!({name: "Paris"}).to_string();
        let body = render_calls(template, spec, &[("get_weather", &arguments)])?;
        if !body.contains("get_weather") {
            return None;
        }
        let options = Options::new().generation_prompt(&spec.turn.assistant_start);
        let message = parse(parser.clone(), &body, &options);
        if message.tool_calls.first().is_none_or(|call| call.arguments.replace(": ", ":") != arguments) {
            lost.push(name);
        }
    }
    Some(lost)
}

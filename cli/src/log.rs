//! `-v`: each comparison of an analysis on standard error, one line each, as it is made.

use std::sync::atomic::{AtomicBool, Ordering};

use unjinja_analyzer::Naming;
use unjinja_analyzer::trace::{Comparison, Finding};
use unjinja_build::{BuildError, Source};
use unjinja_spec::FormatSpec;

use crate::visible;

/// The variable that does what `-v` does.
const VARIABLE: &str = "UNJINJA_LOG";

/// How much of a value is shown, in characters.
const LONGEST: usize = 60;

static ON: AtomicBool = AtomicBool::new(false);

/// Turns it on, where the flag or the environment says so.
pub(crate) fn begin(flag: bool) {
    let set = std::env::var(VARIABLE).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "off" | "false"));
    ON.store(flag || set, Ordering::Relaxed);
}

pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Analyses a template, as [`unjinja_build::analyze_source`] does.
pub(crate) fn analyze(source: &Source, naming: &Naming) -> Result<FormatSpec, BuildError> {
    if !is_on() {
        return unjinja_build::analyze_source(source, naming);
    }
    unjinja_build::analyze_source_traced(source, naming, &mut |made| comparison(&naming.file, made))
}

/// Writes one line about a comparison, if it is on.
pub(crate) fn comparison(file: &str, made: &Comparison) {
    if is_on() {
        eprintln!("{}", line(file, made));
    }
}

fn line(file: &str, made: &Comparison) -> String {
    let findings: Vec<String> = made.findings.iter().map(finding).collect();
    let failed = made.renders.iter().find_map(|render| render.error.as_deref());
    let said = match (failed, findings.is_empty()) {
        (_, false) => findings.join(", "),
        (Some(error), true) => format!("{} ({})", made.because, error.lines().next().unwrap_or_default()),
        (None, true) => made.because.clone(),
    };
    let sentinels = if made.sentinels == 1 { "" } else { " [again]" };
    visible::line(&format!("{file}: {}{sentinels} {}: {said}", made.experiment, made.varied))
}

fn finding(finding: &Finding) -> String {
    let value = finding.value.to_string();
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} = {}…", finding.key, &value[..at]),
        None => format!("{} = {value}", finding.key),
    }
}

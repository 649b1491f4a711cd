//! `--verbose`: writes each comparison of an analysis to standard error, on one line, as soon as it is made. `serve` logs requests
//! instead.

use std::sync::atomic::{AtomicBool, Ordering};

use unjinja_analyzer::trace::{Comparison, Finding};
use unjinja_dynamic::{Correction, Input, LoadError, Loaded, Loader};

use crate::visible;

/// The environment variable that has the same effect as `--verbose`.
const VARIABLE: &str = "UNJINJA_LOG";

/// The longest part of a value that is shown, in characters.
const LONGEST: usize = 60;

static ON: AtomicBool = AtomicBool::new(false);

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Turns the log on if the flag `verbose` or the environment variable asks for it.
pub(crate) fn begin(verbose: bool, quiet: bool) {
    let set = std::env::var(VARIABLE).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "off" | "false"));
    ON.store(verbose || set, Ordering::Relaxed);
    QUIET.store(quiet, Ordering::Relaxed);
}

pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Loads a spec, and logs the comparisons if it takes an analysis. An overlay that was written for another template is named on
/// standard error, unless the command is quiet.
pub(crate) fn load(loader: &Loader, input: Input) -> Result<Loaded, LoadError> {
    let file = file_of(&input);
    let loaded =
        if is_on() { loader.load_observed(input, &mut |made| comparison(&file, made))? } else { loader.load(input)? };
    remark(&file, &loaded);
    Ok(loaded)
}

/// The same without the comparisons, for a command whose log is about something else.
#[cfg(feature = "serve")]
pub(crate) fn load_silently(loader: &Loader, input: Input) -> Result<Loaded, LoadError> {
    let file = file_of(&input);
    let loaded = loader.load(input)?;
    remark(&file, &loaded);
    Ok(loaded)
}

fn file_of(input: &Input) -> String {
    input.place().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names what was corrected with something that is not the template's own.
fn remark(file: &str, loaded: &Loaded) {
    for remark in loaded.corrections.iter().filter_map(Correction::remark) {
        if !QUIET.load(Ordering::Relaxed) {
            let line = format!("{file}: {remark}; --without-known-formats leaves it out");
            anstream::eprintln!("{}", visible::line(&line));
        }
    }
}

/// Writes one line about a comparison if the log is on.
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
    visible::line(&format!("{file}: {} {}: {said}", made.experiment, made.varied))
}

fn finding(finding: &Finding) -> String {
    let value = finding.value.to_string();
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} = {}…", finding.key, &value[..at]),
        None => format!("{} = {value}", finding.key),
    }
}

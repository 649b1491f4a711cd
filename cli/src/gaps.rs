//! What is missing from a spec, and where help may be found: the report of a gap, and the overlay of a known model that
//! writes the same format. Nothing here changes a spec.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use unjinja_analyzer::{GapReport, Verification, gap_report, suggest, verify};
use unjinja_build::{ROUND_TRIPS, Source, SourceExt};
use unjinja_dynamic::{Input, Loader};
use unjinja_spec::{Described, FormatSpec, Overlay, Status, ToolFormat, Tools};

use crate::failure::Done;
use crate::ui::{FAINT, WARNING, paint};
use crate::{models, output, visible};

/// What is missing from the spec of a template; `None` for a supported format.
pub(crate) fn of(source: &Source, spec: &FormatSpec) -> Option<GapReport> {
    if spec.status == Status::Supported {
        return None;
    }
    let template = source.template().ok()?;
    let verification = verify(&template, spec, ROUND_TRIPS, 1);
    report(source, spec, &verification)
}

/// What is missing from the spec of a template, or read wrongly by its parser.
pub(crate) fn report(source: &Source, spec: &FormatSpec, verification: &Verification) -> Option<GapReport> {
    gap_report(&source.template().ok()?, spec, verification, &argument(source))
}

/// The template as an argument of a command.
fn argument(source: &Source) -> String {
    match &source.variant {
        Some(variant) => output::argument(Path::new(&format!("{}#{variant}", source.path.display()))),
        None => output::argument(&source.path),
    }
}

/// Writes the lines of a report below its template, without the sentence, which is printed next to the template.
pub(crate) fn write(out: &mut impl Write, report: &GapReport) -> Done {
    let text = report.to_string();
    let text = visible::lines(&text);
    let skipped = visible::lines(&report.sentence).lines().count();
    for line in text.lines().skip(skipped) {
        writeln!(out, "  {}", line.strip_prefix("  ").unwrap_or(line))?;
    }
    Ok(())
}

/// The report of a template, for programs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReportDocument {
    /// File name of the template.
    pub file: String,
    #[serde(flatten)]
    pub report: GapReport,
}

/// `partial` or `unsupported` with the gaps, for one line; empty for a supported format.
pub(crate) fn status(spec: &FormatSpec) -> String {
    match spec.status {
        Status::Supported => String::new(),
        status => format!("{}: {}", paint(WARNING, status.name()), visible::lines(&spec.gaps.join("; "))),
    }
}

/// What no render shows and the prompt describes; `None` if there is nothing.
pub(crate) fn described(described: &Described) -> Option<&'static str> {
    match (&described.tool_calls, &described.reasoning) {
        (Some(_), Some(_)) => Some("no render shows calls and reasoning, the prompt describes them"),
        (Some(_), None) => Some("no render shows a call, the prompt describes it"),
        (None, Some(_)) => Some("no render shows reasoning, the prompt describes it"),
        (None, None) => None,
    }
}

/// Whether the overlay of another spec may correct this one, which has the same format before it is corrected: both must
/// announce calls in the same way. Models that share the markers of a turn write calls in many ways, so a template that
/// renders no calls must at least describe them, unless it is the same template. `corrected` is the other spec with its
/// overlay applied.
pub(crate) fn fits(source: &Source, spec: &FormatSpec, corrected: &FormatSpec) -> bool {
    if spec.tools.format != ToolFormat::None || spec.template.sha256 == corrected.template.sha256 {
        return true;
    }
    let announced = |spec: &FormatSpec| {
        let Tools { format, section_start, per_call_start, .. } = &spec.tools;
        (*format, section_start.trim().to_owned(), per_call_start.trim().to_owned())
    };
    let described = || {
        let draft = suggest(&source.template().ok()?, spec)?;
        Overlay::from_toml(&draft.overlay, "the draft").ok()?.apply(spec).ok()
    };
    corrected.tools.format != ToolFormat::None
        && described().is_some_and(|described| announced(&described) == announced(corrected))
}

/// A known model that writes the format of a template, and whose spec has an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OverlayHint {
    /// The name of the model's spec.
    pub name: String,
    /// The command that copies the overlay to where it is applied.
    pub command: String,
}

impl OverlayHint {
    /// The overlay of a built-in model with the format of this spec, for the file `target`.
    pub(crate) fn built_in(source: &Source, spec: &FormatSpec, target: &Path) -> Option<Self> {
        let is_fitting = |bare: &FormatSpec| {
            let known = Loader::new().load(Input::known(&bare.template.name));
            known.is_ok_and(|known| !known.corrections.is_empty() && fits(source, spec, &known.spec))
        };
        let name = models::by_format(&spec.format_hash()).find(is_fitting)?.template.name;
        let command = format!("unjinja list --overlay-of {name} > {}", output::argument(target));
        Some(Self { name, command })
    }

    /// What it offers, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { name, command } = self;
        format!("this is the format of {name}, whose overlay corrects it; to use the overlay here: {command}")
    }

    /// Writes the sentence below its template.
    pub(crate) fn write(&self, out: &mut impl Write) -> Done {
        Ok(writeln!(out, "  {}", paint(FAINT, &visible::lines(&self.sentence())))?)
    }
}

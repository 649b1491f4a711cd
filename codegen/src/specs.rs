//! A table of specs for people. This module reads no files.

use unjinja_spec::{FormatSpec, ReasoningMode};

/// A spec that is committed, and perhaps an overlay next to it.
#[derive(Clone, Copy, Debug)]
pub struct SpecEntry<'s> {
    /// The spec without its overlay.
    pub bare: &'s FormatSpec,
    /// The spec with its overlay.
    pub spec: &'s FormatSpec,
    /// Whether it has an overlay.
    pub has_overlay: bool,
}

/// A Markdown table of specs: the source of each template, the status of its spec with the gaps, how the
/// format writes calls and reasoning, and how many random conversations survived the round trip.
pub fn table<'s>(specs: impl IntoIterator<Item = SpecEntry<'s>>) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut out =
        "| spec | template of | status | calls | reasoning | round trips |\n|---|---|---|---|---|---|\n".to_owned();
    for SpecEntry { spec, has_overlay, .. } in specs {
        let overlay = if has_overlay { " (overlay)" } else { "" };
        let calls = spec.tools.format.name();
        let status = match spec.gaps.as_slice() {
            [] => spec.status.name().to_owned(),
            gaps => format!("{}: {}", spec.status.name(), cell(&gaps.join("; "))),
        };
        let (start, end) = (cell(spec.reasoning.start.trim()), cell(spec.reasoning.end.trim()));
        let reasoning = match spec.reasoning.mode {
            ReasoningMode::None => String::new(),
            _ if start.is_empty() => format!("… `{end}`"),
            _ => format!("`{start}` … `{end}`"),
        };
        let info = &spec.template;
        let source = cell(&info.of_models());
        let trips = spec.evidence.round_trips;
        let (name, held, tried) = (&info.name, trips.held, trips.tried);
        let row = format!("| `{name}`{overlay} | {source} | {status} | {calls} | {reasoning} | {held} of {tried} |\n");
        out.push_str(&row);
    }
    out
}

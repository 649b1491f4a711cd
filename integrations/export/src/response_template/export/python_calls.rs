//! Calls as in Python: as one list for the content parser that reads it, or one by one with patterns.

use serde_json::json;
use unjinja_spec::{FormatSpec, MarkerText, REPEATED_NAME};

use super::calls::{Calls, Maker, Means, Region, function};
use super::loss::LossKind;
use super::mark::{Mark, escaped, pattern_of};

impl Maker<'_> {
    /// The region of a list of calls with its brackets; `None` if the format is not such a list.
    fn call_list(&self) -> Option<Region> {
        let tools = &self.spec.tools;
        let start = format!("{}{}{}", tools.section_start, tools.per_call_start, tools.function.name_prefix);
        let end = format!("{}{}", tools.per_call_end, tools.section_end);
        let (open, close) = (start.trim_end().strip_suffix('[')?, end.trim_start().strip_prefix(']')?);
        let is_list = tools.separator.trim() == "," && tools.arguments.separator.trim() == ",";
        if !is_list && self.spec.capabilities.parallel_tool_calls {
            return None;
        }
        let open = match MarkerText::new(open).is_layout() {
            // Only the list announces itself.
            true => Mark::Pattern(r"(?=\[\s*[A-Za-z_][\w.-]*\()".to_owned()),
            false => Mark::Pattern(format!(r"{}\s*(?=\[)", pattern_of(open.trim_end()))),
        };
        let last = r"(?<=\])\s*";
        let ends = match MarkerText::new(close).is_layout() {
            true => self.ends.iter().map(|end| format!("{last}{}", escaped(end))).collect(),
            false => vec![format!("{last}{}", pattern_of(close.trim_start()))],
        };
        Some(Region { open, close: (!ends.is_empty()).then(|| Mark::Pattern(ends.join("|"))) })
    }

    /// Calls as in Python, as far as patterns can read them: an argument ends where the name of another one follows, a call
    /// where another one or the end of the section does.
    pub fn python_calls(&self) -> Calls {
        let tools = &self.spec.tools;
        let losses = vec![LossKind::PythonCalls];
        let brackets = (tools.function.name_suffix.trim(), tools.function.close.trim());
        let start = format!("{}{}{}", tools.section_start, tools.per_call_start, tools.function.name_prefix);
        if brackets != ("(", ")") || tools.arguments.name_suffix.trim() != "=" || MarkerText::new(&start).is_layout() {
            return Calls { field: None, losses };
        }
        if self.means == Means::CallLists
            && let Some(region) = self.call_list()
        {
            let transform = function("{name}", "{arguments}");
            let content = json!({"content": "python-call-list", "transform": transform, "transform_each": true});
            return Calls { field: Some(region.field(content)), losses: Vec::new() };
        }
        let name = r"(?P<name>[\w.-]+)\(";
        let separator = match tools.separator.trim() {
            "" => "\\s*".to_owned(),
            separator => format!("\\s*{}\\s*", escaped(separator)),
        };
        let next = format!(r"{separator}[\w.-]+\(");
        let end = format!("{}{}", tools.per_call_end, tools.section_end);
        let end = if end.trim().is_empty() { "$".to_owned() } else { pattern_of(&end) };
        let region = Region {
            open: Mark::Pattern(format!(r"(?:{}|(?<=\)){separator}){name}", pattern_of(&start))),
            close: Some(Mark::Pattern(format!(r"\)(?:\s*{end}|(?={next}))"))),
        };
        let quotes = json!({"string_delims": [["'", "'"]], "allow_non_json": true});
        let args = json!({
            "tag_pattern": r"(?P<key>\w+)\s*=\s*(?P<value>.*?)(?=\s*,\s*\w+\s*=|\s*$)",
            "value_parser": {"name": "json", "args": quotes},
        });
        let content = json!({
            "content": "xml-inline", "content_args": args, "repeats": true, "transform": function("{name}", "{content}"),
        });
        Calls { field: Some(region.field(content)), losses }
    }
}

/// A call as a format with Python's values writes it, and the arguments in JSON: for a loss that no conversation shows, because
/// some templates do not render calls.
pub(crate) fn sample(spec: &FormatSpec) -> (String, &'static str) {
    let tools = &spec.tools;
    let (function, arguments) = (&tools.function, &tools.arguments);
    let name = "set_rules";
    let call = [
        &tools.section_start,
        &tools.per_call_start,
        &function.name_prefix,
        name,
        &function.name_suffix,
        &arguments.start,
        &arguments.name_prefix,
        "values",
        &arguments.name_suffix,
        "[True, None]",
        &arguments.end,
        &function.close,
        &tools.per_call_end,
        &tools.section_end,
    ];
    (call.concat().replace(REPEATED_NAME, name), r#"{"values": [true, null]}"#)
}

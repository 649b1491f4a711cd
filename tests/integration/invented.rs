//! Templates that were invented to be hard, in `dev/fresh/templates`, and what their models write, in `dev/fresh/turns.jsonl`. Both were
//! written before the analysis saw them. What a spec calls supported must be read.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{Failure, root};
use crate::turns::{is_expected, read};
use serde_json::Value;
use unjinja_analyzer::{Naming, analyze, verified};
use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_spec::Status;

/// Templates of which some questions are not read, how many, and why. Their specs say that they are partial.
const KNOWN: &[(&str, usize, &str)] = &[
    ("b05_slip_digit.jinja", 1, "a digit follows each value: the template has a slip, and models write none"),
    ("b10_numbered_in.jinja", 1, "a number that grows with the conversation stands before each answer"),
    ("b11_numbered_calls.jinja", 1, "a number that grows with the conversation is in the opener of each call"),
    ("b13_calls_after_end.jinja", 1, "after an answer, the calls follow the end of the turn"),
    ("b16_bare_call.jinja", 4, "nothing announces a call, and nothing is around its texts"),
    ("b23_count_total.jinja", 8, "the opener of all calls has their number"),
    ("c07_macro_lines.jinja", 8, "a call is a block of lines `key = value` between two words"),
    ("c15_param_value.jinja", 8, "values are attributes of tags without an end"),
    ("c17_inst_list.jinja", 4, "after an answer, no white space and no special token is before the calls"),
    ("c24_action_list.jinja", 1, "an answer before calls has a label, and one alone has none"),
];

#[test]
fn invented_templates_are_read_or_not_supported() -> Result<(), Failure> {
    let folder = root().join("dev/fresh");
    let tools: Value = serde_json::from_str(&fs::read_to_string(folder.join("tools.json"))?)?;
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("turns.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        rows.entry(row["template"].as_str().unwrap_or("").to_owned()).or_default().push(row);
    }
    let (mut whole, mut wrong) = (0, Vec::new());
    for (file, rows) in &rows {
        let template = Template::parse(file, &fs::read_to_string(folder.join("templates").join(file))?)?;
        let spec = verified(&template, analyze(&template, &Naming::of_file(file))?);
        let parser = interpreter(&spec)?;
        let mut lost = Vec::new();
        for row in rows {
            let message = read(&parser, row, if row["tools"] == true { &tools } else { &Value::Null })?;
            if !is_expected(&message, &row["expect"]) {
                lost.push(format!("    {}: {}\n    {message:?}", row["id"], row["output"]));
            }
        }
        whole += usize::from(lost.is_empty());
        let known = KNOWN.iter().find(|(known, ..)| known == file).map_or(0, |(_, count, _)| *count);
        if lost.len() != known || (known > 0 && spec.status == Status::Supported) {
            let lost_now = lost.len();
            wrong.push(format!("{file}: {:?}, {lost_now} lost, {known} known\n{}", spec.status, lost.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() > 40 && whole * 100 >= rows.len() * 86, "{whole} of {} templates are read whole", rows.len());
    Ok(())
}

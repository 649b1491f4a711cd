//! What typed calls read of the values in `dev/gbnf/tests/schemas`: every valid value, but for those that are named here, and
//! some that are not valid. The table in `docs/types.md` is what these cases show; `UPDATE_EXPECT=1` writes it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_runtime::ToolCall as Call;
use unjinja_types::{REFUSED, ToolCall};

/// Schemas that no types are made of.
const NO_TYPES: [&str; 6] = ["ref-7", "ref-8", "ref-9", "refused-6", "refused-16", "type-15"];
/// Valid values that are not read: an integer with a fraction of zero, one above those of `i64`, and values that are no
/// object or list although their schema speaks of members or items.
const NOT_READ: [(&str, &str); 8] = [
    ("array-19", "\"x\""),
    ("array-19", "1"),
    ("const-1", "2.0"),
    ("properties-15", "1"),
    ("properties-15", "\"x\""),
    ("type-1", "12345678901234567890"),
    ("type-1", "1.0"),
    ("type-1", "-0.0"),
];

#[derive(Default)]
struct Counts {
    schemas: usize,
    types: usize,
    valid: (usize, usize),
    invalid: (usize, usize),
}

#[test]
fn every_valid_value_is_read_but_for_a_few() -> Result<(), Box<dyn Error>> {
    let mut rows: BTreeMap<String, Counts> = BTreeMap::new();
    let mut not_read = Vec::new();
    for entry in fs::read_dir(env!("SCHEMAS"))? {
        let file = entry?.path();
        let keyword = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let counts = rows.entry(keyword.clone()).or_default();
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file)?)?;
        for (index, case) in cases.iter().enumerate() {
            let name = format!("{keyword}-{index}");
            counts.schemas += 1;
            if REFUSED.iter().any(|(tool, _)| *tool == name) {
                continue;
            }
            counts.types += 1;
            let read = |value: &Value| Call::new(&*name, json!({"value": value}).to_string()).typed::<ToolCall>();
            for value in case["valid"].as_array().into_iter().flatten() {
                counts.valid.1 += 1;
                match read(value) {
                    Ok(_) => counts.valid.0 += 1,
                    Err(error) => not_read.push((name.clone(), value.to_string(), error.to_string())),
                }
            }
            for value in case["invalid"].as_array().into_iter().flatten() {
                counts.invalid.1 += 1;
                counts.invalid.0 += usize::from(read(value).is_err());
            }
        }
    }
    not_read.sort_by_key(|(name, _, _)| name.clone());
    let found: Vec<(&str, &str)> = not_read.iter().map(|(name, value, _)| (name.as_str(), value.as_str())).collect();
    assert_eq!(found, NOT_READ, "{not_read:#?}");
    let mut refused: Vec<&str> = REFUSED.iter().map(|(tool, _)| *tool).collect();
    refused.sort_by_key(|name| (name.trim_end_matches(|c: char| c.is_ascii_digit()), name.len(), *name));
    assert_eq!(refused, NO_TYPES, "{REFUSED:#?}");
    check_table(&rows)
}

fn check_table(rows: &BTreeMap<String, Counts>) -> Result<(), Box<dyn Error>> {
    let mut table =
        "| keyword | schemas | with types | valid, read | invalid, refused |\n|---|---|---|---|---|\n".to_owned();
    for (keyword, Counts { schemas, types, valid, invalid }) in rows {
        let (read, refused) = (format!("{} of {}", valid.0, valid.1), format!("{} of {}", invalid.0, invalid.1));
        writeln!(table, "| `{keyword}` | {schemas} | {types} | {read} | {refused} |")?;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/types.md");
    let text = fs::read_to_string(&page)?;
    let start = text.find("| keyword |").ok_or("the page has no table")?;
    let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end + 1);
    let written = format!("{}{table}{}", &text[..start], &text[end..]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&page, &written)?;
    }
    assert!(fs::read_to_string(&page)? == written, "UPDATE_EXPECT=1 writes the table in docs/types.md:\n{table}");
    Ok(())
}

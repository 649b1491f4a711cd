//! `docs/spec.md` describes the keys that the parser knows, and no others, and their values, which are those of
//! `docs/json/spec.schema.json`; and the values of the page's examples are values that a spec may have.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::Value;
use unjinja_spec::FormatSpec;

type Failure = Box<dyn Error>;

fn document(name: &str) -> Result<String, Failure> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name))?)
}

/// The rows of the page's tables: key, meaning and example.
fn rows(page: &str) -> Vec<[String; 3]> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let row = row.replace("\\|", "\u{0}");
        let mut cells = row.split('|').skip(1).map(|cell| cell.trim().replace('\u{0}', "|"));
        let mut next = || cells.next().unwrap_or_default();
        let (key, meaning, example) = (next(), next(), next());
        [key.trim_matches('`').to_owned(), meaning, example.trim_matches('`').to_owned()]
    })
    .collect()
}

#[test]
fn the_page_lists_every_key_once_and_no_other() -> Result<(), Failure> {
    let rows = rows(&document("spec.md")?);
    let listed: Vec<&str> = rows.iter().map(|[key, ..]| key.as_str()).collect();
    let unique: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "a key is listed twice");
    let keys = FormatSpec::keys();
    let known: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    assert!(known.len() > 60, "{known:?}");
    assert_eq!(unique, known);
    for [key, meaning, example] in &rows {
        assert!(meaning.ends_with('.') && !example.is_empty(), "{key} lacks a meaning or an example");
    }
    Ok(())
}

/// The keys of a schema that have one of several values, dotted, and these values.
fn choices(schema: &Value, node: &Value, path: &str, keys: &mut Vec<(String, Vec<String>)>) -> Result<(), Failure> {
    let node = match node.get("$ref").and_then(Value::as_str) {
        Some(reference) => schema.pointer(reference.trim_start_matches('#')).ok_or("a reference leads nowhere")?,
        None => node,
    };
    for (name, inner) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        choices(schema, inner, &path, keys)?;
    }
    if let Some(items) = node.get("items") {
        choices(schema, items, &format!("{path}[]"), keys)?;
    }
    let values = node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<String> = values.filter_map(|value| Some(value.get("const")?.as_str()?.to_owned())).collect();
    if !values.is_empty() {
        keys.push((path.to_owned(), values));
    }
    Ok(())
}

#[test]
fn the_page_explains_each_value() -> Result<(), Failure> {
    let schema: Value = serde_json::from_str(&document("json/spec.schema.json")?)?;
    let mut keys = Vec::new();
    choices(&schema, &schema, "", &mut keys)?;
    let rows = rows(&document("spec.md")?);
    let mut explained = 0;
    for (key, values) in &keys {
        let [_, meaning, _] = rows.iter().find(|[name, ..]| name == key).ok_or_else(|| format!("no row for {key}"))?;
        for value in values {
            assert!(meaning.contains(&format!("`{value}`")), "the page does not explain {key} = {value}");
            explained += 1;
        }
    }
    assert!(explained > 35, "{explained} values");
    Ok(())
}

#[test]
fn every_example_is_toml_of_the_right_type() -> Result<(), Failure> {
    let spec = include_str!("base.toml");
    for [key, _, example] in rows(&document("spec.md")?) {
        let text = match key.as_str() {
            // The example of this table is one of its entries.
            "alternatives" => format!("[alternatives]\n{example}\n"),
            key => match key.strip_prefix("generation_prompt[].") {
                Some(name) => {
                    let others = [("text", "'x'"), ("starts_in", "'content'")].into_iter().filter(|(k, _)| *k != name);
                    let others: String = others.map(|(key, value)| format!("{key} = {value}\n")).collect();
                    format!("[[generation_prompt]]\n{name} = {example}\n{others}")
                }
                None => format!("{key} = {example}\n"),
            },
        };
        // Values are shown cut short; what counts is that the key takes such a value.
        let given: toml::Table = toml::from_str(&text).map_err(|error| format!("{key}: {error}"))?;
        let mut whole: toml::Table = toml::from_str(spec)?;
        merge(&mut whole, given);
        let read: Result<FormatSpec, _> = whole.try_into();
        assert!(read.is_ok(), "{key} = {example}: {read:?}");
    }
    Ok(())
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => merge(inner, value),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

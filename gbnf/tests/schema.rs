//! JSON schemas compiled into grammars: which values the grammar accepts, beside those that the schema does.
//!
//! Cases are data, in the form of the JSON-Schema-Test-Suite: `schemas/KEYWORD.json` is a list of schemas, each with
//! values and whether they are valid. No crate carries the suite itself; where `UNJINJA_SCHEMA_SUITE` names its folder
//! `tests/draft2020-12`, its cases go through the same test.
//!
//! The promise: no valid value is refused, and where a grammar accepts an invalid one, the report said so. The table of
//! keywords in `docs/schema.md` is what these cases show; `UPDATE_EXPECT=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use unjinja_gbnf::Grammar;
use unjinja_runtime::grammar::{Builder, SchemaError, Widened, compile_schema};

/// A schema that became a grammar.
struct Compiled {
    text: String,
    grammar: Grammar,
    widened: Vec<Widened>,
}

fn compile(schema: &Value) -> Result<Compiled, SchemaError> {
    let mut builder = Builder::new();
    let (expr, widened) = compile_schema(&mut builder, "it", schema)?;
    let text = builder.grammar(expr);
    let grammar = Grammar::parse(&text).unwrap_or_else(|error| panic!("{error}\n{schema}\n{text}"));
    Ok(Compiled { text, grammar, widened })
}

/// The value in the ways that a model writes it.
fn spellings(value: &Value) -> [String; 3] {
    let mut spaced = String::new();
    spell(value, &mut spaced);
    [value.to_string(), spaced, format!("{value:#}")]
}

/// As Python writes JSON: a blank behind each comma and colon.
fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                spell(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                let _ = write!(out, "{}: ", Value::from(name.as_str()));
                spell(member, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The value with its properties in the order in which the schema names them.
fn ordered(value: &Value, order: &[&str]) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| ordered(item, order)).collect(),
        Value::Object(members) => {
            let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(usize::MAX);
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| place(name));
            Value::Object(
                members.into_iter().map(|(name, member)| (name.clone(), ordered(member, order))).collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}

/// The names of properties as they come, those that are only required behind the others.
fn names<'s>(schema: &'s Value, keyword: &str, found: &mut Vec<&'s str>) {
    match schema {
        Value::Object(keywords) => {
            match (keyword, keywords.get(keyword)) {
                ("properties", Some(Value::Object(properties))) => found.extend(properties.keys().map(String::as_str)),
                ("required", Some(Value::Array(names))) => found.extend(names.iter().filter_map(Value::as_str)),
                _ => {}
            }
            keywords.values().for_each(|value| names(value, keyword, found));
        }
        Value::Array(items) => items.iter().for_each(|value| names(value, keyword, found)),
        _ => {}
    }
}

/// What the cases of one keyword showed.
#[derive(Default)]
struct Row {
    schemas: usize,
    /// Reported nothing, and every invalid value was rejected.
    exact: usize,
    refused: usize,
    valid: usize,
    invalid: usize,
    rejected: usize,
    reasons: Vec<String>,
}

/// Runs the cases of a file; what is wrong is added to the problems.
fn run(keyword: &str, cases: &[Value], problems: &mut Vec<String>) -> Row {
    let mut row = Row::default();
    for case in cases {
        let schema = &case["schema"];
        let tests = case["tests"].as_array().expect("tests");
        let about = format!("{keyword}: {}: {schema}", case["description"]);
        row.schemas += 1;
        let compiled = match compile(schema) {
            Ok(compiled) => compiled,
            Err(error) => {
                row.refused += 1;
                if tests.iter().any(|test| test["valid"] == true) {
                    problems.push(format!("{about}\n  refused, and there are valid values: {error}"));
                }
                continue;
            }
        };
        let mut order = Vec::new();
        names(schema, "properties", &mut order);
        names(schema, "required", &mut order);
        let mut wide = false;
        for test in tests {
            let value = ordered(&test["data"], &order);
            let results = spellings(&value).map(|text| compiled.grammar.check(&text).map_err(|error| (text, error)));
            if test["valid"] == true {
                row.valid += 1;
                for (text, error) in results.into_iter().filter_map(Result::err) {
                    problems.push(format!("{about}\n  valid and rejected: {text}\n  {error}\n{}", compiled.text));
                }
            } else {
                row.invalid += 1;
                let accepted = results.iter().any(Result::is_ok);
                row.rejected += usize::from(!accepted);
                wide |= accepted;
                if accepted && compiled.widened.is_empty() {
                    problems.push(format!("{about}\n  invalid, accepted and not reported: {value}\n{}", compiled.text));
                }
            }
        }
        if compiled.widened.is_empty() && !wide {
            row.exact += 1;
        }
        row.reasons.extend(compiled.widened.iter().map(|widened| format!("`{}`: {}", widened.keyword, widened.why)));
    }
    row
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn run_folder(folder: &Path, problems: &mut Vec<String>) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for file in files(folder) {
        let text = std::fs::read_to_string(&file).expect("a file");
        let cases: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let keyword = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        rows.insert(keyword.clone(), run(&keyword, &cases, problems));
    }
    rows
}

fn table(rows: &BTreeMap<String, Row>) -> String {
    let mut out =
        String::from("| keyword | schemas | exact | widened | refused | valid, accepted | invalid, rejected |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for (keyword, row) in rows {
        let widened = row.schemas - row.exact - row.refused;
        let Row { schemas, exact, refused, valid, invalid, rejected, .. } = row;
        let _ = writeln!(
            out,
            "| `{keyword}` | {schemas} | {exact} | {widened} | {refused} | {valid} of {valid} | {rejected} of {invalid} |"
        );
    }
    out
}

#[test]
fn the_suite_where_it_is_at_hand() {
    let Some(folder) = std::env::var_os("UNJINJA_SCHEMA_SUITE") else {
        println!("SKIPPED: UNJINJA_SCHEMA_SUITE names no folder");
        return;
    };
    let mut problems = Vec::new();
    let rows = run_folder(Path::new(&folder), &mut problems);
    println!("{}", table(&rows));
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n\n"));
}

//! What each reader of schemas does with a keyword: typing (the parser), grammars and generated types. The cases are
//! data: `keywords.json` lists schemas, each with a keyword, arguments that fit, and arguments that do not fit because of that
//! keyword. What the readers do with them is the table in `docs/schema.md`, which the module [`schema`](super::schema)
//! compares.

#![expect(clippy::expect_used, clippy::panic, reason = "a test")]

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_gbnf::Grammar;
use unjinja_grammar::{Builder, WhiteSpace, compile_schema};
use unjinja_runtime::schema::MAX_DEPTH;
use unjinja_runtime::{Tool, Tools, Types};

/// A line of the table.
struct Row {
    keyword: String,
    cells: [&'static str; 3],
}

/// A tool with one argument `a`, or with these parameters.
fn tools(parameters: &Value) -> Tools {
    Tools::new(vec![Tool::new("f", parameters.clone())]).expect("a tool")
}

fn types(parameters: &Value) -> Types {
    tools(parameters).argument_types("f", "a")
}

/// Whether the grammar rejects a text; `None` if it does not and its report says so.
fn rejects(parameters: &Value, arguments: &Value) -> Result<Option<bool>, String> {
    let mut builder = Builder::new();
    builder.set_open_objects(true);
    builder.set_white_space(WhiteSpace::Free);
    let (expr, widened) = compile_schema(&mut builder, "it", parameters).map_err(|error| error.to_string())?;
    let text = builder.grammar(expr);
    let grammar = Grammar::parse(&text).unwrap_or_else(|error| panic!("{error}\n{parameters}\n{text}"));
    let rejected = grammar.check(&arguments.to_string()).is_err();
    Ok((rejected || widened.is_empty()).then_some(rejected))
}

/// The code of the generated types.
fn code(parameters: &Value) -> Result<String, String> {
    let path = "::unjinja_runtime".parse().expect("a path");
    unjinja_build::type_items(&tools(parameters), &path)
        .map(|items| items.to_string())
        .map_err(|error| error.to_string())
}

/// The row of a case. What is wrong with it is added to the problems.
fn row(case: &Value, problems: &mut Vec<String>) -> Row {
    let keyword = case["keyword"].as_str().expect("a keyword").to_owned();
    // A case has the schema of the argument `a` and values for it, or the parameters and whole arguments.
    let of_argument = case.get("schema").is_some();
    let wrap = |schema: &Value| match of_argument {
        true => json!({"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": case["$defs"],
            "definitions": case["definitions"]}),
        false => schema.clone(),
    };
    let schema = if of_argument { &case["schema"] } else { &case["parameters"] };
    let mut without = schema.clone();
    without.as_object_mut().expect("an object").remove(&keyword).expect("the schema has the keyword");
    let without = case.get("without").unwrap_or(&without);
    let (with, without) = (wrap(schema), wrap(without));
    let value = |key: &str| if of_argument { json!({"a": case[key]}) } else { case[key].clone() };
    // Most keywords forbid values. Where one adds a value, what does not fit without it is `bad`.
    let adds = case.get("adds").is_some();
    let (good, bad) = (value("good"), value(if adds { "adds" } else { "bad" }));
    let (strict, loose) = if adds { (&without, &with) } else { (&with, &without) };

    let typing = if types(&with) == types(&without) { "ignored" } else { "yes" };
    let grammar = match (rejects(strict, &good), rejects(strict, &bad)) {
        (Err(_), _) | (_, Err(_)) => "refused",
        (_, Ok(Some(true))) => "yes",
        (_, Ok(Some(false))) => "ignored in silence",
        (_, Ok(None)) => "reported",
    };
    for (is_wrong, why) in [
        (rejects(strict, &good) == Ok(Some(true)), "the grammar rejects what fits"),
        (grammar == "ignored in silence", "the grammar accepts what does not fit, and does not report it"),
        (rejects(loose, &bad) == Ok(Some(true)), "the grammar rejects what does not fit for another reason"),
    ] {
        problems.extend(is_wrong.then(|| format!("{why}: {case}")));
    }
    let types = match code(&with) {
        Err(_) => "refused",
        Ok(text) if Ok(&text) == code(&without).as_ref() => "ignored",
        Ok(_) => "yes",
    };
    let title = case["title"].as_str().map_or_else(|| format!("`{keyword}`"), str::to_owned);
    Row { keyword: title, cells: [typing, grammar, types] }
}

fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keywords.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
    let mut problems = Vec::new();
    let rows = cases.iter().map(|case| row(case, &mut problems)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    rows
}

/// The table of the page.
pub fn table() -> String {
    let mut out = String::from("| keyword | typing | grammars | types |\n|---|---|---|---|\n");
    for Row { keyword, cells } in rows() {
        let _ = writeln!(out, "| {keyword} | {} |", cells.join(" | "));
    }
    out
}

#[test]
fn every_reader_resolves_every_spelling_of_a_reference() {
    let rows = rows();
    let is_reference = |row: &&Row| row.keyword.contains("Ref`") || row.keyword.contains("$ref`");
    let references: Vec<&Row> = rows.iter().filter(is_reference).collect();
    assert!(references.len() > 8, "{}", references.len());
    for Row { keyword, cells } in references {
        let to_nothing = ["ignored", "reported", "refused"];
        let expected = if keyword.contains("no schema") { to_nothing } else { ["yes"; 3] };
        assert_eq!(cells, &expected, "{keyword}");
    }
}

/// A schema at the end of a chain of references.
fn chain(length: usize) -> Value {
    let mut defs = Map::new();
    for at in 0..length {
        defs.insert(format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)}));
    }
    defs.insert(format!("d{length}"), json!({"type": "integer"}));
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": defs})
}

#[test]
fn every_reader_follows_references_equally_far() {
    let bad = json!({"a": "x"});
    let near = chain(MAX_DEPTH - 4);
    assert_eq!(types(&near), Types::INTEGER);
    assert_eq!(rejects(&near, &bad), Ok(Some(true)));
    assert!(code(&near).is_ok_and(|code| code.contains("i64")));
    for length in [MAX_DEPTH + 4, 1000, 10_000] {
        let far = chain(length);
        assert_eq!(types(&far), Types::UNKNOWN);
        assert_eq!(rejects(&far, &bad), Ok(None));
        let error = code(&far).expect_err("it is too deep");
        assert!(error.contains("nested too deeply"), "{error}");
    }
}

/// Where a schema lists values itself, they are tested against its references in each spelling.
#[test]
fn listed_values_are_tested_through_every_reference() {
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        let refers = json!({keyword: "#/$defs/int"});
        let schema = |schema: Value| {
            json!({"type": "object", "properties": {"a": schema}, "required": ["a"],
                "$defs": {"int": {"type": "integer"}}})
        };
        for (schema, good, bad) in [
            (schema(json!({"enum": ["x", 1], "allOf": [refers.clone()]})), json!({"a": 1}), json!({"a": "x"})),
            (schema(json!({"enum": ["x", 1], "not": refers})), json!({"a": "x"}), json!({"a": 1})),
        ] {
            assert_eq!(
                (rejects(&schema, &good), rejects(&schema, &bad)),
                (Ok(Some(false)), Ok(Some(true))),
                "{schema}"
            );
        }
    }
}

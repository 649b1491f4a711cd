//! JSON schemas compiled into grammars: which values the grammar accepts, compared with those that the schema allows.
//!
//! Cases are data: `schemas/KEYWORD.json` is a list of schemas, each with values that are valid and values that are not.
//! No crate carries the JSON-Schema-Test-Suite; where `UNJINJA_SCHEMA_SUITE` names its folder `tests/draft2020-12`, its
//! cases go through the same test.
//!
//! The promise: no valid value is refused, and where a grammar accepts an invalid one, the report said so. The figures
//! in `docs/schema.md` are what these cases show; `UPDATE_EXPECT=1` writes that page.

#![expect(clippy::expect_used, clippy::panic, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use unjinja_gbnf::Grammar;
use unjinja_grammar::{Builder, SchemaError, WhiteSpace, Widened, compile_schema};
use unjinja_runtime::schema::{MAX_DEPTH, MAX_SCHEMAS};

use super::keywords;

/// A schema that became a grammar.
struct Compiled {
    grammar: Grammar,
    widened: Vec<Widened>,
}

fn compile(schema: &Value) -> Result<Compiled, SchemaError> {
    let mut builder = Builder::new();
    builder.set_open_objects(true);
    builder.set_white_space(WhiteSpace::Free);
    let (expr, widened) = compile_schema(&mut builder, "it", schema)?;
    let text = builder.grammar(expr);
    let grammar = Grammar::parse(&text).unwrap_or_else(|error| panic!("{error}\n{schema}\n{text}"));
    Ok(Compiled { grammar, widened })
}

/// The value in the ways that a model writes it.
fn spellings(value: &Value) -> [String; 3] {
    let mut spaced = String::new();
    spell(value, &mut spaced);
    [value.to_string(), spaced, format!("{value:#}")]
}

/// JSON as Python writes it: a space after each comma and colon.
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

/// The value with the properties of its outermost object in every order, as far as there are few.
fn reordered(value: &Value) -> Vec<Value> {
    let Some(members) = value.as_object().filter(|members| members.len() < 6) else { return vec![value.clone()] };
    let mut orders: Vec<Vec<(String, Value)>> = vec![Vec::new()];
    for (name, member) in members {
        let mut longer = Vec::new();
        for order in orders {
            for at in 0..=order.len() {
                let mut order = order.clone();
                order.insert(at, (name.clone(), member.clone()));
                longer.push(order);
            }
        }
        orders = longer;
    }
    orders.into_iter().map(|order| Value::Object(order.into_iter().collect())).collect()
}

/// The names of properties in order; those that are only required come last.
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
    accepted: usize,
    invalid: usize,
    rejected: usize,
    widened: BTreeSet<String>,
}

/// The values of a case, and whether they are valid: as here, or as the suite has them.
fn values(case: &Value) -> Vec<(&Value, bool)> {
    let list = |key: &str| case[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let listed =
        list("valid").iter().map(|value| (value, true)).chain(list("invalid").iter().map(|value| (value, false)));
    listed.chain(list("tests").iter().map(|test| (&test["data"], test["valid"] == true))).collect()
}

/// Runs the cases of a file; what is wrong is added to the problems.
fn run(keyword: &str, cases: &[Value], any_order: bool, problems: &mut Vec<String>) -> Row {
    let mut row = Row::default();
    for case in cases {
        let schema = &case["schema"];
        let tests = values(case);
        assert!(!tests.is_empty(), "{keyword}: {}: no values", case["description"]);
        let about = format!("{keyword}: {}: {schema}", case["description"]);
        row.schemas += 1;
        let compiled = match compile(schema) {
            Ok(compiled) => compiled,
            Err(error) => {
                row.refused += 1;
                if tests.iter().any(|test| test.1) {
                    problems.push(format!("{about}\n  refused, and there are valid values: {error}"));
                }
                continue;
            }
        };
        let mut order = Vec::new();
        names(schema, "properties", &mut order);
        names(schema, "required", &mut order);
        let mut wide = false;
        for (value, valid) in tests {
            let value = ordered(value, &order);
            let results = spellings(&value).map(|text| compiled.grammar.check(&text).map_err(|error| (text, error)));
            if valid {
                row.valid += 1;
                row.accepted += 1;
                // A grammar fixes the order. The suite's values have none in particular.
                let in_order =
                    || reordered(&value).iter().any(|value| compiled.grammar.check(&value.to_string()).is_ok());
                if let Some((text, error)) = results.into_iter().find_map(Result::err)
                    && !(any_order && in_order())
                {
                    problems.push(format!("{about}\n  valid and rejected: {text}\n  {error}"));
                    row.accepted -= 1;
                }
            } else {
                row.invalid += 1;
                let accepted = results.iter().any(Result::is_ok);
                row.rejected += usize::from(!accepted);
                wide |= accepted;
                if accepted && compiled.widened.is_empty() {
                    problems.push(format!("{about}\n  invalid, accepted and not reported: {value}"));
                }
            }
        }
        if compiled.widened.is_empty() && !wide {
            row.exact += 1;
        }
        row.widened.extend(compiled.widened.iter().map(|widened| format!("`{}`: {}", widened.keyword, widened.why)));
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

fn run_folder(folder: &Path, any_order: bool, problems: &mut Vec<String>) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for file in files(folder) {
        let text = std::fs::read_to_string(&file).expect("a file");
        let cases: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let keyword = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        rows.insert(keyword.clone(), run(&keyword, &cases, any_order, problems));
    }
    rows
}

fn table(rows: &BTreeMap<String, Row>) -> String {
    let mut out =
        String::from("| keyword | schemas | exact | widened | refused | valid, accepted | invalid, rejected |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for (keyword, row) in rows {
        let widened = row.schemas - row.exact - row.refused;
        let Row { schemas, exact, refused, valid, accepted, invalid, rejected, .. } = row;
        let _ = writeln!(
            out,
            "| `{keyword}` | {schemas} | {exact} | {widened} | {refused} | {accepted} of {valid} | {rejected} of {invalid} |"
        );
    }
    out
}

#[test]
fn no_valid_value_is_refused_and_what_is_widened_is_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut problems = Vec::new();
    let rows = run_folder(&root.join("tests/schemas"), false, &mut problems);
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n\n"));
    let schemas: usize = rows.values().map(|row| row.schemas).sum();
    let mut page = format!(
        "{INTRODUCTION}{}{RESOLVER}{}## How exactly a grammar checks\n\nThe figures come from the {schemas} test schemas in `dev/gbnf/tests/schemas`.\n\n\
         - *Exact*: the grammar rejected every invalid value.\n\
         - *Widened*: the grammar accepts more than the schema, and its report says what is not checked.\n\
         - *Refused*: no value satisfies the schema, which is an error.\n\n{}\n## What is widened\n\nThe keywords that a grammar does not check completely, and why:\n\n",
        keywords::table(),
        limits(),
        table(&rows)
    );
    let widened: BTreeSet<&String> = rows.values().flat_map(|row| &row.widened).collect();
    widened.into_iter().for_each(|why| page.push_str(&format!("- {why}\n")));
    page.push_str(FIXED);
    let file = root.join("../../docs/schema.md");
    if let Err(problem) = unjinja_testkit::expect::file(&file, &page) {
        panic!("{problem}");
    }
}

/// The beginning of the page.
const INTRODUCTION: &str = "# JSON schemas

A tool says with a JSON schema which arguments it takes. Three parts of unjinja read it: *typing*, by which the parser knows whether
the text `7` is a number or a string; *grammars* for constrained sampling; and generated Rust *types*. They share one resolver, `runtime/src/schema`, so they agree on which schema a reference names and how far
it is followed. The tests in `dev/gbnf/tests` write this page (`UPDATE_EXPECT=1 cargo test -p unjinja-gbnf --test integration`).

## What is supported

Each line is a schema in `dev/gbnf/tests/keywords.json` with arguments that fit it, and arguments that do not fit because of the
keyword.

- *yes*: the parser gives the argument another type; the grammar rejects the arguments; the Rust type is another one.
- *ignored*: nothing changes.
- *reported*: the grammar accepts the arguments, and its report says what is not checked.
- *refused*: an error, with the place in the schema.

";

/// What the readers share.
const RESOLVER: &str = "
A keyword that is not in the table is ignored. The names of types are those of JSON Schema; typing and grammars also read
`str`, `int`, `float`, `bool`, `dict`, `list` and the like in any case of letters, types refuse them. Where a format writes nested
values as tags, typing reads `items` too. `nullable` is a word of OpenAPI. Transformers writes it for `str | None`, and other
readers then [refuse null](../findings/transformers_nullable_parameter.sh).

## References and combinations

- A reference names a schema of the same document: by a JSON pointer (`#/$defs/city`, with `~1` for `/`, `~0` for `~`, and percent
  escapes), by an `$anchor` or `$dynamicAnchor` (`#city`), by an `$id`, or by an `$id` and one of these. Nothing is loaded.
- `$dynamicRef` and `$recursiveRef` are read as `$ref`. Keywords next to a reference hold too.
- A schema with an `$id` inside a document is a resource of its own, and references in it are relative to it. Where two resources
  of a document have a schema for a reference, it names none.
- A reference to no schema is ignored by typing, reported by grammars, and refused by types. References in a circle,
  with nothing between, say nothing; types refuse them.
- `allOf`: typing intersects the types of the parts; if they exclude each other, the first one counts. Grammars check
  all parts. Types merge objects: `properties` and `required` are joined, a member that several parts describe is merged in turn,
  and `additionalProperties: false` of one part is dropped. If a part has another type, `enum`, `const`, `items`, `anyOf`, `oneOf`,
  `nullable`, or a schema in `additionalProperties`, the whole is a `serde_json::Value`.

## Limits

";

/// The limits, as the code has them.
fn limits() -> String {
    format!(
        "| limit | typing | grammars | types |\n|---|---|---|---|\n\
         | {MAX_SCHEMAS} schemas, counted each time that a reference leads to one | unknown type | reported | refused |\n\
         | {MAX_DEPTH} schemas inside each other, or in a chain of references | unknown type | reported | refused |\n\n"
    )
}

/// What a schema leaves open and a grammar decides.
const FIXED: &str = "
## Strings that are written as raw text

Many formats write a string verbatim between two markers, without quotes and escapes (`<parameter=city>Paris</parameter>`). A
grammar keeps to `enum` and `const` there too, to `maxLength` up to about 100,000, and to a `format` without a `pattern` or a length.
`minLength` and `pattern` are not checked.

The length of such a text is not counted exactly: it may be longer where it contains the beginning of its closing marker, and by the
white space that the template writes before that marker. The grammar reports this. No valid text is refused. A length is not checked
where the schema has no `type`: the text may then be a number.

## What a grammar requires beyond the schema

A schema allows one value to be written in several ways. A grammar is stricter:

- Properties come in the order of `properties` in the schema, then those that are only in `required`, then all others.
- Where a schema has `properties` and does not say whether there may be others (`additionalProperties`, `patternProperties`,
  `unevaluatedProperties`), there are none, at every depth, for tools and answers alike, as llama.cpp, XGrammar and OpenAI's strict mode
  read it. An object without `properties` is open. `GrammarOptions::open_objects` opens all of them, as JSON Schema does; the figures
  above are for open objects.
- White space is one blank at most, or what the template writes. With `WhiteSpace::Free` it is at most four spaces, then at most two
  line breaks with an indentation of at most 80 spaces.
- Names and constant values are written in one way, with the escapes that JSON requires. Elsewhere any JSON escape is accepted,
  except inside a `pattern`: there `\\u` is accepted only where the pattern allows any character, or any beyond ASCII.
- `strict` of a tool changes nothing: a schema always holds.
- A number has at most 20 digits before the point and 20 after it; 64 bits have no more.
- Integers have no exponent, and no fraction except zeros. With `GrammarOptions::integers(Integers::Plain)` they have none at all: `4.0` is
  an integer for JSON Schema, but not for most typed languages. A number with an exponent that has a lower or upper bound begins
  with one digit other than 0 and a fraction.
";

/// Objects that name their properties are closed unless a schema says something else; the validator judges the same values by the open
/// reading.
#[test]
fn objects_are_closed_by_default() {
    let properties = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        schema.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        schema
    };
    let (named, other) = (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#);
    for (schema, closed) in [
        (properties(json!({})), true),
        (properties(json!({"additionalProperties": false})), true),
        (properties(json!({"additionalProperties": true})), false),
        (properties(json!({"additionalProperties": {"type": "integer"}})), false),
        (properties(json!({"unevaluatedProperties": true})), false),
        (properties(json!({"patternProperties": {"^b$": {"type": "integer"}}})), false),
        (properties(json!({"patternProperties": {"^c$": {"type": "integer"}}})), true),
        (properties(json!({"minProperties": 2})), false),
        (properties(json!({"required": ["a", "b"]})), false),
        (json!({"allOf": [properties(json!({})), {"properties": {"b": {}}}]}), false),
        (json!({"anyOf": [properties(json!({})), {"type": "string"}]}), true),
        (json!({"type": "object"}), false),
        (json!({"type": "object", "required": ["a"]}), false),
    ] {
        let mut builder = Builder::new();
        let (expr, _) = compile_schema(&mut builder, "it", &schema).expect("a value fits");
        let grammar = Grammar::parse(&builder.grammar(expr)).expect("a grammar");
        assert!(
            grammar.check(named).is_ok() || schema["required"] == json!(["a", "b"]) || schema["minProperties"] == 2,
            "{schema}"
        );
        assert_eq!(grammar.check(other).is_err(), closed, "{schema}");
        assert!(
            compile(&schema).expect("a value fits").grammar.check(other).is_ok()
                || schema["additionalProperties"] == false,
            "{schema}"
        );
    }
}

/// A constant is accepted as templates write it (Python's digits) and in digits alone.
#[test]
fn constants_are_written_in_several_ways() {
    for (schema, texts) in [
        (r#"{"enum": [0.001, 0.0001, 1e-05]}"#, &["0.001", "0.0001", "0.00001", "1e-05"][..]),
        (r#"{"const": 2.5e-06}"#, &["0.0000025", "2.5e-06", "2.5e-6"]),
        (r#"{"const": 100000000000000000000}"#, &["100000000000000000000", "1e+20"]),
        (r#"{"const": 18446744073709551616}"#, &["18446744073709551616", "1.8446744073709552e+19"]),
        (r#"{"const": 2.0}"#, &["2", "2.0"]),
    ] {
        let grammar = compile(&serde_json::from_str(schema).expect("JSON")).expect("a value fits").grammar;
        for text in texts {
            assert!(grammar.check(text).is_ok(), "{schema}: {text}");
        }
    }
    let many: Vec<String> = (0..600).map(|number| format!("value {number}")).collect();
    assert_eq!(compile(&json!({"enum": many})).expect("a value fits").widened, Vec::new());
}

#[test]
#[ignore = "set UNJINJA_SCHEMA_SUITE to a folder of the JSON Schema Test Suite"]
fn the_suite_where_it_is_at_hand() {
    let Some(folder) = std::env::var_os("UNJINJA_SCHEMA_SUITE") else {
        return unjinja_testkit::skip("UNJINJA_SCHEMA_SUITE names no folder", ("UNJINJA_SCHEMA_SUITE", ""))
            .expect("not required");
    };
    let folder = Path::new(&folder);
    let mut problems = Vec::new();
    let mut rows = BTreeMap::new();
    for folder in [folder.to_owned(), folder.join("optional"), folder.join("optional/format")] {
        for (keyword, row) in run_folder(&folder, true, &mut problems) {
            rows.insert(keyword, row);
        }
    }
    // There a format says nothing, a schema has a language of its own, and integers are written with an exponent.
    let skipped = ["format: ", "vocabulary: ", "bignum: \"integer\"", "float-overflow: "];
    problems.retain(|problem| !skipped.iter().any(|skipped| problem.starts_with(skipped)));
    println!("{}", table(&rows));
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n\n"));
}

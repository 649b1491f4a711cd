//! Types of tools: what they look like (`types/tools.rs`, which `UPDATE_EXPECT=1` rewrites), what they read, and which
//! schemas make none. The expected file is compiled into this test.

use std::error::Error;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use quote::quote;
use serde_json::{Value, json};
use unjinja_build::type_items;
use unjinja_codegen::rust::format;
use unjinja_runtime::{Message, ToolCall as Call, Tools, TypedCallProblem};

/// Included, so that rustfmt leaves the file as it was written.
#[deny(warnings)]
mod typed {
    include!("types/tools.rs");
}

use typed::{ToolCall, arguments};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

const TOOLS: &str = include_str!("types/tools.json");

#[test]
fn types_look_as_expected() -> Done {
    let items = type_items(&Tools::from_json(TOOLS)?, &quote!(unjinja_runtime))?;
    let found = format!("// @generated from tools.json by types.rs.\n\n{}", format(items)?);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types/tools.rs");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &found)?;
    }
    assert!(fs::read_to_string(&path)? == found, "UPDATE_EXPECT=1 rewrites {}\n{found}", path.display());
    Ok(())
}

fn read(name: &str, arguments: Value) -> Result<ToolCall, TypedCallProblem> {
    Call::new(name, arguments.to_string()).typed().map_err(|error| error.problem)
}

/// The place and the reason of a mismatch.
fn mismatch<T: Debug>(result: Result<T, TypedCallProblem>) -> (String, String) {
    match result {
        Err(TypedCallProblem::Mismatch { path, reason }) => (path, reason),
        other => (String::new(), format!("{other:?}")),
    }
}

#[test]
fn what_fits_is_read() -> Done {
    let weather = read("get_weather", json!({"city": "Paris", "at": {"lat": 1, "lon": 2.5}, "unit": "celsius"}));
    let Ok(ToolCall::GetWeather(weather)) = weather else { return Err(format!("{weather:?}").into()) };
    assert_eq!((weather.city.as_str(), weather.days, weather.language), ("Paris", 3, None));
    assert_eq!(weather.unit, Some(arguments::GetWeatherUnit::Celsius));
    assert_eq!(weather.at, Some(arguments::GetWeatherPosition { lat: 1.0, lon: 2.5 }));

    assert_eq!(read("now", json!({"whatever": 1})), Ok(ToolCall::Now(arguments::Now {})));

    let search = read(
        "search",
        json!({
            "query": ["a", "b"], "limit": null, "level": 2, "operator": "<", "mixed": 1, "labels": {"x": 1},
            "extra": {"any": []}, "pair": ["a", 1], "exact": "yes", "number": 3, "anything": {"x": null},
            "filter": {"not": {"field": "a", "value": "b"}},
        }),
    );
    let Ok(ToolCall::Search(search)) = search else { return Err(format!("{search:?}").into()) };
    assert_eq!(search.query, arguments::SearchQuery::Array(vec!["a".into(), "b".into()]));
    assert_eq!((search.limit, search.operator.as_deref(), search.labels["x"]), (None, Some("<"), 1));
    assert_eq!(search.level.map(i64::from), Some(2));
    assert_eq!(search.number, Some(arguments::SearchNumber::Integer(3)));
    assert_eq!(search.mixed, Some(json!(1)));
    let Some(arguments::SearchFilter::Variant1(filter)) = search.filter else {
        return Err(format!("{:?}", search.filter).into());
    };
    let inner = arguments::SearchFilterEquals { field: "a".into(), value: "b".into() };
    assert_eq!(*filter.not, Some(arguments::SearchFilter::Equals(inner)));

    let moved = read("move-file", json!({"from": "a", "to": "b"}));
    let Ok(ToolCall::MoveFile(moved)) = moved else { return Err(format!("{moved:?}").into()) };
    assert_eq!(moved.mode, arguments::MoveFileMode::Copy);

    let Ok(ToolCall::Default(others)) = read("default", json!({"a": true})) else { return Err("default".into()) };
    assert!(others["a"]);
    Ok(())
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    for (tool, arguments, path, reason) in [
        ("get_weather", json!({"city": 3}), "city", "invalid type: integer `3`, expected a string"),
        ("get_weather", json!({}), "", "missing field `city`"),
        ("get_weather", json!({"city": "", "days": -1}), "days", "invalid value: integer `-1`, expected u64"),
        ("get_weather", json!({"city": "", "at": {"lat": 0}}), "at", "missing field `lon`"),
        ("get_weather", json!({"city": "", "town": ""}), "town", "unknown field `town`"),
        ("get_weather", json!({"city": "", "unit": "kelvin"}), "unit", "unknown variant `kelvin`"),
        ("search", json!({"query": "", "exact": "no"}), "exact", "unknown variant `no`"),
        ("search", json!({"query": "", "exact": "yes", "level": 4}), "level", "invalid value"),
        ("search", json!({"query": {}, "exact": "yes"}), "query", "did not match any variant"),
        (
            "search",
            json!({"query": "", "exact": "yes", "labels": {"x": 1, "y": "1"}}),
            "labels.y",
            "invalid type: string",
        ),
        ("default", json!({"a": 1}), "a", "invalid type: integer `1`, expected a boolean"),
    ] {
        let (found, said) = mismatch(read(tool, arguments.clone()));
        assert!(found == path && said.contains(reason), "{tool} {arguments}: {found:?}: {said}");
    }
    let Err(TypedCallProblem::UnknownTool { expected }) = read("noon", json!({})) else { panic!("noon is no tool") };
    assert_eq!(expected, ["get_weather", "now", "search", "move-file", "default"]);
}

#[test]
fn a_call_is_written_as_it_is_read() -> Done {
    let form = json!({"name": "move-file", "arguments": {"from": "a", "to": "b", "mode": "move"}});
    let call: ToolCall = serde_json::from_value(form.clone())?;
    assert_eq!(serde_json::to_value(&call)?, form);
    let mut message = Message::default();
    message.tool_calls.push(Call::new("move-file", form["arguments"].to_string()));
    assert_eq!(message.typed_calls::<ToolCall>().collect::<Result<Vec<_>, _>>()?, [call]);
    Ok(())
}

/// The problems of a list of tools: each with the tool, the path, the cause and the next step.
fn problems(tools: &Value) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let Err(error) = type_items(&Tools::from_json(&tools.to_string())?, &quote!(::unjinja)) else {
        return Ok(Vec::new());
    };
    Ok(error.to_string().lines().map(str::to_owned).collect())
}

#[test]
fn a_schema_that_makes_no_type_is_an_error_with_its_place() -> Done {
    let with = |member: Value| json!([{"name": "f", "parameters": {"type": "object", "properties": {"a": member}}}]);
    for (tools, path, says) in [
        (with(json!({"type": "dict"})), "parameters.properties.a.type", "no type \"dict\"; write one of \"string\""),
        (with(json!(3)), "parameters.properties.a", "no JSON schema"),
        (with(json!({"enum": []})), "parameters.properties.a.enum", "no list of values"),
        (
            with(json!({"$ref": "#/$defs/b"})),
            "parameters.properties.a.$ref",
            "leads to no schema of the tool; refer to",
        ),
        (
            with(json!({"$ref": "https://example.com"})),
            "parameters.properties.a.$ref",
            "leads to no schema of the tool",
        ),
        (with(json!({"$ref": "#/properties/a"})), "parameters.properties.a", "leads back to itself"),
        (
            with(json!({"$defs": {"b": {"anyOf": [{"$ref": "#/$defs/c"}, {"type": "string"}]}}, "$ref": "#/$defs/b"})),
            "parameters.properties.a.$ref",
            "leads to no schema of the tool",
        ),
        (with(json!({"type": "array", "items": {"type": 3}})), "parameters.properties.a.items.type", "no type 3"),
        (with(json!({"type": "integer", "default": "x"})), "parameters.properties.a", "does not conform"),
        (with(json!({"properties": {"b": {"type": "any"}}})), "parameters.properties.a.properties.b.type", "no type"),
        (with(json!({"properties": 1})), "parameters.properties.a.properties", "no object"),
        (
            with(json!({"properties": {"b": true}, "required": "b"})),
            "parameters.properties.a.required",
            "no list of names",
        ),
        (
            json!([{"name": "f", "parameters": {"type": "array"}}]),
            "parameters.type",
            "arguments of a call are an object",
        ),
        (
            json!([{"name": "f", "parameters": {"properties": {"a-b": true, "a_b": true}}}]),
            "parameters",
            "two names become `a_b` in Rust; rename one",
        ),
        (
            json!([{"name": "f_g"}, {"name": "f"}, {"name": "f.g"}]),
            "",
            "its variant would be `Fg`, as that of the tool `f_g`",
        ),
    ] {
        let problems = problems(&tools)?;
        let [problem] = problems.as_slice() else { return Err(format!("{tools}: {problems:?}").into()) };
        let Some((place, said)) = problem.split_once(": ") else { return Err(format!("{tools}: {problem}").into()) };
        let (tool, found) = place.split_once(", ").unwrap_or((place, ""));
        assert!(tool.starts_with("tool `f") && found == path && said.contains(says), "{tools}: {problem}");
    }
    let all = problems(&json!([
        {"name": "f", "parameters": {"properties": {"a": {"type": "str"}, "b": {"type": "int"}}}},
        {"name": "g", "parameters": {"type": "string"}},
    ]))?;
    assert_eq!(all.len(), 3, "{all:?}");
    let error = type_items(&Tools::from_json("[]")?, &quote!(super::unjinja)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("relative") && error.contains("crate::"), "{error}");
    Ok(())
}

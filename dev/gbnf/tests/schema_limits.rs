//! Schemas that are big, deep, circular or nonsense: the compiler ends soon, with a grammar that loads or an error. And
//! numbers tried one by one against the bounds that they were compiled from.

#![expect(clippy::panic, reason = "a test")]

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use unjinja_gbnf::{Grammar, Limits};
use unjinja_grammar::{Builder, SchemaError, WhiteSpace, Widened, compile_schema};

type Compiled = (String, Vec<Widened>);

fn compile(schema: &Value) -> Result<Compiled, SchemaError> {
    let mut builder = Builder::new();
    builder.set_open_objects(true);
    builder.set_white_space(WhiteSpace::Free);
    let (expr, widened) = compile_schema(&mut builder, "it", schema)?;
    Ok((builder.grammar(expr), widened))
}

fn grammar(schema: &Value) -> Grammar {
    let (text, _) = compile(schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    Grammar::parse(&text).unwrap_or_else(|error| panic!("{error}\n{schema}\n{text}"))
}

fn wrap(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn and(mut schema: Value, key: &str, value: Value) -> Value {
    schema[key] = value;
    schema
}

/// A schema inside of itself that often.
fn nested(times: usize, around: impl Fn(Value) -> Value) -> Value {
    (0..times).fold(json!({"type": "string"}), |schema, _| around(schema))
}

fn names(count: usize) -> impl Iterator<Item = (String, Value)> {
    (0..count).map(|at| (format!("property_{at}"), json!({"type": ["string", "null"], "maxLength": at + 1})))
}

#[test]
fn hostile_schemas_end_soon() {
    let circle = |keyword: &str| {
        let mut defs = Map::new();
        for at in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", (at + 1) % 60)});
            let minimum = json!({"allOf": [next, {"minimum": at}]});
            defs.insert(
                format!("d{at}"),
                json!({keyword: [next, minimum, next], "properties": {"a": next, "b": minimum}}),
            );
        }
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let any_of_many = |count: usize| {
        let all: Vec<Value> =
            (0..count).map(|at| json!({"type": "string", "minLength": at, "maxLength": 2 * at})).collect();
        json!({"anyOf": all})
    };
    let products = json!({"allOf": (0..40).map(|at| json!({"anyOf": [
        {"properties": {format!("a{at}"): {"type": "string"}}, "required": [format!("a{at}")]},
        {"properties": {format!("b{at}"): {"type": "string"}}, "required": [format!("b{at}")]},
    ]})).collect::<Vec<_>>()});
    let dependent: Map<String, Value> =
        (0..500).map(|at| (format!("n{at}"), json!([format!("n{}", at + 1), format!("n{}", at + 2)]))).collect();
    let schemas = [
        ("deep alternatives", nested(100_000, |schema| wrap("anyOf", Value::Array(vec![schema])))),
        ("deep joins", nested(100_000, |schema| wrap("allOf", Value::Array(vec![schema])))),
        ("deep negations", nested(100_000, |schema| wrap("not", schema))),
        ("deep conditions", nested(100_000, |schema| and(wrap("if", schema), "then", json!({"type": "string"})))),
        (
            "deep properties",
            nested(100_000, |schema| and(wrap("properties", wrap("a", schema)), "required", json!(["a"]))),
        ),
        ("deep items", nested(100_000, |schema| and(wrap("items", schema), "type", json!("array")))),
        ("a deep constant", wrap("const", nested(100_000, |schema| Value::Array(vec![schema])))),
        ("circles of alternatives", circle("anyOf")),
        ("circles of joins", circle("allOf")),
        ("circles of one", circle("oneOf")),
        ("many alternatives", any_of_many(4_000)),
        ("too many alternatives", any_of_many(20_000)),
        ("products of alternatives", products),
        ("many dependencies", json!({"dependentRequired": dependent})),
        ("many properties", json!({"properties": Map::from_iter(names(5_000))})),
        ("a long name", json!({"properties": {"long".repeat(5_000): {}}, "patternProperties": {"(l?o?n?g?)*x$": {}}})),
        ("many joins", json!({"allOf": (0..20_000).map(|at| json!({"minLength": at})).collect::<Vec<_>>()})),
        (
            "long lists joined",
            json!({"allOf": [{"enum": (0..3_000).collect::<Vec<_>>()}, {"enum": (1_000..4_000).collect::<Vec<_>>()}]}),
        ),
        ("a hard pattern", json!({"type": "string", "pattern": "^(((a?){50}b?){50}c*){50}(x+x+)+y$"})),
        ("a hard pattern for names", json!({"enum": ["a".repeat(5_000)], "pattern": "^(a|aa|a*)*(a*a*)*b$"})),
        ("deep groups", json!({"pattern": "(".repeat(5_000) + &")".repeat(5_000)})),
        ("high counts", json!({"pattern": "^(a{1000}){1000}$"})),
        (
            "counts that are too high",
            json!({"minItems": 4_000_000_000_u32, "minLength": 1e300, "pattern": "a{4000000000}"}),
        ),
        ("a long tuple", json!({"prefixItems": vec![json!({"type": "string"}); 10_000]})),
        ("huge bounds", json!({"type": "number", "minimum": -1e300, "maximum": 1e-300, "multipleOf": 0})),
        ("huge integers", json!({"type": "integer", "minimum": -1e300, "exclusiveMaximum": 1e39})),
        (
            "nonsense",
            json!({"type": 3, "enum": 4, "properties": [], "required": {}, "items": 5, "anyOf": {}, "allOf": [7, "x"],
            "$ref": [], "minLength": "x", "pattern": {}, "additionalProperties": 9, "not": 3.5, "if": null, "then": []}),
        ),
        ("not a schema", json!(["type", "string"])),
        ("a broken pattern", json!({"pattern": "[z-a"})),
        ("a pattern that is half an escape", json!({"pattern": "\\"})),
    ];
    for (about, schema) in schemas {
        let start = Instant::now();
        match compile(&schema) {
            Ok((text, _)) => {
                let built = start.elapsed();
                assert!(text.len() < 5_000_000, "{about}: {} bytes", text.len());
                let loads = Grammar::parse(&text);
                assert!(loads.is_ok(), "{about}: {:?}", loads.err());
                println!("{about}: {} bytes, {built:?}", text.len());
            }
            Err(error) => println!("{about}: {error}"),
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{about}: {:?}", start.elapsed());
        // Dropping what is so deep would recurse inside serde_json.
        std::mem::forget(schema);
    }
}

#[test]
fn the_size_is_linear_in_the_schema() {
    let optional = |count: usize| json!({"type": "object", "properties": Map::from_iter(names(count))});
    let objects = |count: usize| {
        let inner = |at: usize| {
            (format!("o{at}"), json!({"type": "object", "properties": {format!("p{at}"): {"type": "integer"}}}))
        };
        wrap("properties", Value::Object((0..count).map(inner).collect()))
    };
    let listed = |count: usize| json!({"enum": (0..count).map(|at| format!("value {at}")).collect::<Vec<_>>()});
    let deep = |count: usize| {
        nested(count / 2, |schema| json!({"type": "object", "properties": {"next": schema}, "required": ["next"]}))
    };
    type Made<'m> = (&'m str, &'m dyn Fn(usize) -> Value, usize);
    let all: [Made<'_>; 4] =
        [("optional", &optional, 400), ("objects", &objects, 400), ("listed", &listed, 400), ("deep", &deep, 60)];
    for (about, schema, count) in all {
        let size = |count: usize| compile(&schema(count)).expect("it compiles").0.len();
        let (one, two, four) = (size(count / 4), size(count / 2), size(count));
        // Names and numbers become longer, with the logarithm.
        assert!(four - two < 3 * (two - one), "{about}: {one}, {two}, {four}");
    }
}

#[test]
fn an_error_says_where() {
    let list = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 1,
        "items": {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 2}]}}}});
    for (schema, path, why) in [
        (json!(false), "", "the schema is `false`"),
        (list, "/properties/a/items", "no integer is in the range"),
        (json!({"$ref": "#/$defs/a~b", "$defs": {"a~b": {"enum": []}}}), "/$defs/a~0b", "none of the listed values"),
        (json!({"properties": {"a/b": false}, "required": ["a/b"], "type": "object"}), "/properties/a~1b", "`false`"),
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}),
            "/properties/a",
            "contain itself",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {"anyOf": [{"$ref": "#"}, false]}}),
            "/items",
            "contain itself",
        ),
    ] {
        let error = compile(&schema).expect_err("no value fits");
        assert_eq!(error.path, path, "{schema}: {error}");
        assert!(error.why.contains(why), "{schema}: {error}");
    }
}

#[test]
fn a_report_says_where_and_each_thing_once() {
    let schema = json!({"type": "object", "properties": {
        "b": {"type": "array", "uniqueItems": true},
        "a/~": {"anyOf": [{"type": "string", "pattern": "(?=x)"}, {"$ref": "#/$defs/odd"}]},
        "c": {"$ref": "#/$defs/odd"},
    }, "$defs": {"odd": {"type": "integer", "multipleOf": 7}}});
    let (_, widened) = compile(&schema).expect("it compiles");
    let said: Vec<String> = widened.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "#/properties/b: `uniqueItems`: a grammar cannot compare items",
            "#/properties/a~1~0/anyOf/0: `pattern`: look-ahead and look-behind are not supported",
            "#/$defs/odd: `multipleOf`: a grammar cannot check divisibility",
        ]
    );
}

/// Numbers, the same for the same seed.
fn below(seed: &mut u64, n: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % n
}

#[test]
fn integers_are_in_their_range_exactly() {
    let mut seed = 1;
    for round in 0..160 {
        let wide = [12, 120, 1_300, 50_000][round % 4];
        let mut bound = || below(&mut seed, 2 * wide) as i64 - wide as i64;
        let (one, other) = (bound(), bound());
        let (low, high) = (one.min(other), one.max(other));
        let schema = match round % 5 {
            0 => json!({"type": "integer", "minimum": low}),
            1 => json!({"type": "integer", "maximum": high}),
            _ => json!({"type": "integer", "minimum": low, "maximum": high}),
        };
        let (low, high) = (if round % 5 == 1 { i64::MIN } else { low }, if round % 5 == 0 { i64::MAX } else { high });
        let grammar = grammar(&schema);
        let near = |bound: i64| (-3..=3).map(move |off| bound.saturating_add(off));
        let tried = near(low)
            .chain(near(high))
            .chain(near(0))
            .chain((0..40).map(|_| below(&mut seed, 4 * wide) as i64 - 2 * wide as i64));
        for number in tried.collect::<Vec<_>>() {
            let fits = (low..=high).contains(&number);
            assert_eq!(grammar.check(&number.to_string()).is_ok(), fits, "{number}: {schema}");
        }
        for _ in 0..20 {
            let written = grammar.sample(&mut seed, Limits { length: 12, depth: 12 }).expect("a number");
            let number: f64 = written.parse().expect("a number");
            assert!(number.fract() == 0.0 && number >= low as f64 && number <= high as f64, "{written}: {schema}");
        }
    }
}

#[test]
fn numbers_are_in_their_range_exactly() {
    let mut seed = 7;
    for round in 0..200 {
        let mut bound = || {
            let digits = below(&mut seed, 20_000) as f64 - 10_000.0;
            let scale = [1.0, 10.0, 100.0, 1e4, 1e7, 1e-6][below(&mut seed, 6) as usize];
            // As it would be written.
            format!("{}", digits / scale).parse::<f64>().expect("a number")
        };
        let (one, other) = (bound(), bound());
        let (low, high) = (one.min(other), one.max(other));
        let (below_it, above_it) = [("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum")][round % 2];
        let mut schema = json!({"type": "number"});
        let (from, to) = (round % 5 != 1, round % 5 != 0);
        if from {
            schema[below_it] = json!(low);
        }
        if to {
            schema[above_it] = json!(high);
        }
        let fits = |number: f64| {
            let inside = |inside: bool, on: bool| inside || (round % 2 == 0 && on);
            (!from || inside(number > low, number == low)) && (!to || inside(number < high, number == high))
        };
        let Ok((text, widened)) = compile(&schema) else {
            assert!(from && to && low == high && round % 2 == 1, "{schema}");
            continue;
        };
        assert!(widened.is_empty(), "{schema}: {widened:?}");
        let grammar = Grammar::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let near = |bound: f64| [-1.0, -0.01, -1e-9, 0.0, 1e-9, 0.01, 1.0].map(|off| bound + off);
        let scaled = |bound: f64| [0.1, 0.5, 2.0, 10.0, -1.0].map(|factor| bound * factor);
        let tried = near(low)
            .into_iter()
            .chain(near(high))
            .chain(scaled(low))
            .chain(scaled(high))
            .chain([0.0, -0.0, 1e-30, -1e-30, 1e30]);
        for number in tried {
            for written in
                [json!(number).to_string(), format!("{number}"), format!("{number:e}"), format!("{number:.12}")]
            {
                // What is written is tried, not what it was written of.
                let number: f64 = written.parse().unwrap_or_else(|error| panic!("{error}: {written}"));
                if number == 0.0 && written.contains('e') {
                    continue;
                }
                assert_eq!(grammar.check(&written).is_ok(), fits(number), "{written}: {schema}\n{text}");
            }
        }
        for _ in 0..20 {
            let written = grammar.sample(&mut seed, Limits { length: 20, depth: 20 }).expect("a number");
            let number: f64 = written.parse().unwrap_or_else(|error| panic!("{error}: {written}"));
            // More digits than a number holds, and what lies below the least, is rounded: perhaps onto the bound.
            let close = number == low || number == high || number == 0.0 || number.is_infinite();
            assert!(fits(number) || close, "{written}: {schema}");
        }
    }
}

#[test]
fn what_a_grammar_writes_is_json_of_the_schema() {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 20},
        "unit": {"enum": ["celsius", "fahrenheit", null]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z\"/\\n]{1,5}$"}, "maxItems": 3},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
    }, "required": ["city", "days"]});
    let grammar = grammar(&schema);
    let mut seed = 3;
    for _ in 0..500 {
        let written = grammar.sample(&mut seed, Limits { length: 300, depth: 40 }).expect("an object");
        let value: Value = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert!((1..=20).contains(&value["city"].as_str().expect("a city").chars().count()), "{written}");
        assert!((1.0..=14.0).contains(&value["days"].as_f64().expect("days")), "{written}");
        assert!(
            value
                .get("unit")
                .is_none_or(|unit| json!(["celsius", "fahrenheit", null]).as_array().expect("a list").contains(unit))
        );
        assert!(value.get("tags").is_none_or(|tags| tags.as_array().expect("a list").len() <= 3), "{written}");
        assert!(value.get("place").is_none_or(|place| place["lat"].is_number()), "{written}");
    }
}

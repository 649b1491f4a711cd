//! When each kind of verdict is certain.

use super::*;

/// Each case: a schema, a text, and after which byte of it what is found.
#[test]
fn each_kind_is_certain_at_its_place() {
    use VerdictKind::*;
    let unit = json!({"type": "object", "properties": {"u": {"enum": ["celsius", "kelvin"]}}, "required": ["u"]});
    let closed = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    let listed = json!({"enum": [1, 123, -5, 0.5]});
    let union = json!({"anyOf": [
        {"properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}, "required": ["kind"], "type": "object"},
        {"properties": {"kind": {"const": "b"}, "v": {"type": "string"}}, "required": ["kind"], "type": "object"},
    ]});
    let tree = json!({"$defs": {"t": {"type": "object", "properties": {"n": {"$ref": "#/$defs/t"}, "v": {"type": "integer"}},
        "additionalProperties": false}}, "$ref": "#/$defs/t"});
    let both = json!({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}], "minimum": 0});
    let cases = [
        (&unit, r#"{"u":"#, r#"7"#, [(WrongType, "/u")]),
        (&unit, r#"{"u": "c"#, "h", [(NotListed, "/u")]),
        (&unit, r#"{"u": "celsius"#, "x", [(NotListed, "/u")]),
        (&unit, r#"{"u": "cel"#, "\"", [(NotListed, "/u")]),
        (&unit, r#"{"v": 1"#, "}", [(MissingMember, "")]),
        (&unit, "", "[", [(WrongType, "")]),
        (&closed, r#"{"b"#, "\"", [(UnknownMember, "/b")]),
        (&closed, r#"{"a": 1.5"#, "}", [(WrongType, "/a")]),
        (&closed, r#"{"a": 1"#, ";", [(Malformed, "/a")]),
        (&listed, "", "2", [(NotListed, "")]),
        (&listed, "12", "4", [(NotListed, "")]),
        (&listed, "-", "1", [(NotListed, "")]),
        (&union, r#"{"kind": ""#, "c", [(NotListed, "/kind")]),
        (&union, r#"{"kind": "a", "v": "#, "\"", [(WrongType, "/v")]),
        (&union, r#"{"v": "x", "kind": ""#, "a", [(NotListed, "/kind")]),
        (&union, r#"{"v": "#, "t", [(WrongType, "/v")]),
        (&tree, r#"{"n": {"n": {"v": "#, "n", [(WrongType, "/n/n/v")]),
        (&tree, r#"{"n": {"n": {"a/b"#, "\"", [(UnknownMember, "/n/n/a~1b")]),
        (&both, "", "\"", [(WrongType, "")]),
        (&both, "-0", "1", [(Malformed, "")]),
        (&both, "-", "1", [(OutOfRange, "")]),
    ];
    for (schema, before, byte, expected) in cases {
        let table = Arc::new(Table::of(schema));
        let mut judge = Judge::new(Arc::clone(&table), 16);
        let mut found = Vec::new();
        told(judge.read(before), &mut found);
        assert_eq!(found, [], "{schema}: {before}");
        told(judge.read(byte), &mut found);
        let kinds: Vec<(VerdictKind, &str)> = found.iter().map(|found| (found.0, found.1.as_str())).collect();
        assert_eq!(kinds, expected, "{schema}: {before}{byte}: {found:?}");
    }
}

#[test]
fn each_kind_is_put_into_words() {
    for (schema, text, expected) in [
        (json!({"type": "integer"}), "1.5", ["an integer", "1.5"]),
        (json!({"type": ["integer", "null"]}), "\"a\"", ["an integer or null", "a string"]),
        (json!({"minLength": 2}), "\"a\"", ["at least 2 characters", "1 character"]),
        (json!({"maxLength": 2}), "\"abcd\"", ["at most 2 characters", "3 characters…"]),
        (json!({"minItems": 2}), "[1]", ["at least 2 items", "1 item"]),
        (json!({"prefixItems": [{}], "items": false}), "[1, 2, 3]", ["at most 1 items", "2 items"]),
        (json!({"minProperties": 1}), "{}", ["at least 1 members", "0 members"]),
        (json!({"maximum": 5, "exclusiveMinimum": -1}), "6", ["a number above -1 and at most 5", "6"]),
        (json!({"pattern": "^a"}), "\"ba\"", ["a string with the pattern `^a`", "\"b\"…"]),
        (json!({"format": "date"}), "\"2024-13-01\"", ["a string with the format `date`", "\"2024-13\"…"]),
        (json!({"required": ["a", "b"], "type": "object"}), "{}", ["the members `a`, `b`", "the end of the object"]),
        (json!({"enum": ["a", 1, true, null]}), "\"b\"", ["\"a\", 1, true or null", "\"b\"…"]),
        (json!({"not": {"const": "no"}}), "\"no\"", ["a value other than \"no\"", "\"no\""]),
        (json!({"propertyNames": {"maxLength": 1}}), r#"{"ab": 1}"#, ["no such member", "the member `ab`"]),
        (json!({"properties": {"a": false}, "type": "object"}), r#"{"a": 1}"#, ["no such member", "the member `a`"]),
        (json!({}), "[1 2]", ["a comma or `]`", "'2'"]),
        (json!({}), "[1", ["the rest of the JSON", "the end of the arguments"]),
    ] {
        let table = Arc::new(Table::of(&schema));
        let mut judge = Judge::new(table, 16);
        let mut found = judge.read(text);
        found.extend(judge.finish());
        let words: Vec<[&str; 2]> = found.iter().map(|found| [&*found.expected, &*found.found]).collect();
        assert_eq!(words, [expected], "{schema}: {text}");
    }
}

/// After a verdict the rest is judged as if the value had fitted.
#[test]
fn one_mistake_hides_no_other() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "string"}}},
        "required": ["a", "c"], "additionalProperties": {"type": "boolean"}});
    let table = Arc::new(Table::of(&schema));
    let (found, _) = find(&table, r#"{"a": [1, {}], "b": ["x", 1, "y", null], "d": 1, "a": 2}"#);
    let paths: Vec<&str> = found.iter().map(|found| found.1.as_str()).collect();
    assert_eq!(paths, ["/a", "/b/1", "/b/3", "/d", ""]);
    assert_eq!(Judge::new(table, 2).read(r#"{"a": "x", "b": [1, 2, 3, 4"#).len(), 2);
}

/// What has no bound is given up quietly.
#[test]
fn what_is_too_large_is_not_judged() {
    let anything = Arc::new(Table::of(&json!({"type": ["array", "null"], "items": {"$ref": "#"}})));
    let deep = format!("{}1{}", "[".repeat(600), "]".repeat(600));
    assert_eq!(find(&anything, &deep).0, []);
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(find(&anything, &deep).0.len(), 1);
    let alternatives: Vec<Value> = (0..300).map(|n| json!({"type": "string", "minLength": n + 1})).collect();
    assert_eq!(find(&Arc::new(Table::of(&json!({"anyOf": alternatives}))), "3").0, []);
    let constants: Vec<Value> = (0..3000).map(|n| json!({"const": format!("value-{n}")})).collect();
    let constants = Arc::new(Table::of(&json!({"oneOf": constants})));
    assert_eq!(find(&constants, "\"value-2999\"").0, []);
    assert_eq!(find(&constants, "\"value-30000\"").0.len(), 1);
    // Many alternatives with many members each take no memory.
    let wide: serde_json::Map<String, Value> =
        (0..2000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let branches: Vec<Value> = (0..250).map(|n| json!({"minProperties": n})).collect();
    let inner = json!({"type": "object", "properties": wide, "anyOf": branches});
    let wide = json!({"properties": {"a": {"allOf": [inner]}, "b": {"anyOf": [inner]}, "c": inner}, "type": "object"});
    assert_eq!(find(&Arc::new(Table::of(&wide)), r#"{"a": {"p1": ""}, "b": {}}"#).0, []);
    let number = format!("1{}", "0".repeat(5000));
    assert_eq!(find(&Arc::new(Table::of(&json!({"maximum": 5}))), &number).0.len(), 1);
    assert_eq!(find(&Arc::new(Table::of(&json!({"minimum": 5, "type": "integer"}))), &number).0, []);
    let name = "x".repeat(5000);
    let table = Arc::new(Table::of(&json!({"properties": {"a": {}}, "additionalProperties": false})));
    let (found, _) = find(&table, &format!("{{{name:?}: 1}}"));
    assert!(found.len() == 1 && found[0].1.len() < 300, "{found:?}");
}

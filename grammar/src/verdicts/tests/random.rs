//! Random schemas and values, judged and validated.

use serde_json::Map;

use super::*;

const NAMES: [&str; 5] = ["a", "ab", "b", "kind", "x~/y"];
const STRINGS: [&str; 8] = ["", "a", "ab", "abc", "b", "celsius", "é😀", "2024-02-29"];
const NUMBERS: [&str; 14] =
    ["0", "-0", "1", "12", "123", "-1", "-12", "0.5", "1.5", "1e1", "1.5e1", "120e-1", "10000000000", "-0.25"];

fn pick<T: Clone>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())].clone()
}

fn number(random: &mut Random) -> Value {
    let text = pick(random, &NUMBERS);
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn scalar(random: &mut Random) -> Value {
    match random.below(5) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => number(random),
        _ => pick(random, &STRINGS).into(),
    }
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0..5 => scalar(random),
        5..7 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let members = (0..random.below(4)).map(|_| (pick(random, &NAMES).to_owned(), value(random, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// A random schema. `refer` says whether it may refer to others for the same value: definitions that do so could go round in
/// a circle, and then the standard does not say what they mean.
fn schema(random: &mut Random, depth: usize, refer: bool) -> Value {
    let mut keywords = Map::new();
    let inner =
        |random: &mut Random| if depth == 0 { json!({"type": "string"}) } else { schema(random, depth - 1, true) };
    let same =
        |random: &mut Random| if depth == 0 { json!({"type": "string"}) } else { schema(random, depth - 1, refer) };
    let several = |random: &mut Random| -> Value { (0..1 + random.below(3)).map(|_| same(random)).collect() };
    if random.below(4) > 0 {
        let names = ["string", "integer", "number", "boolean", "null", "array", "object", "object", "array"];
        let one = pick(random, &names);
        let other = pick(random, &names);
        let two = random.below(4) == 0 && one != other;
        keywords.insert("type".into(), if two { json!([one, other]) } else { one.into() });
    }
    for _ in 0..1 + random.below(3) {
        let count = random.below(4);
        let (keyword, value) = match random.below(26) {
            0 => ("enum", (0..1 + random.below(4)).map(|_| value(random, 1)).collect()),
            1 => ("const", value(random, 2)),
            2 => ("minimum", number(random)),
            3 => ("maximum", number(random)),
            4 => ("exclusiveMinimum", number(random)),
            5 => ("exclusiveMaximum", number(random)),
            6 => ("minLength", count.into()),
            7 => ("maxLength", count.into()),
            8 => (
                "pattern",
                pick(random, &["^a", "b$", "^ab?c*$", "a|é", "^(celsius|kelvin)$", "^.{2}$", "^[^a]*$"]).into(),
            ),
            9 => ("minItems", count.into()),
            10 => ("maxItems", count.into()),
            11 | 12 => ("items", inner(random)),
            13 => ("prefixItems", (0..1 + random.below(3)).map(|_| inner(random)).collect()),
            14 | 15 => ("required", [pick(random, &NAMES)].into_iter().map(Value::from).collect()),
            16 | 17 => {
                let members = (0..1 + random.below(3)).map(|_| (pick(random, &NAMES).to_owned(), inner(random)));
                let members: Map<String, Value> = members.collect();
                keywords.insert("properties".into(), Value::Object(members));
                ("additionalProperties", if random.below(2) == 0 { false.into() } else { inner(random) })
            }
            18 => ("minProperties", count.into()),
            19 => ("maxProperties", count.into()),
            20 => ("patternProperties", json!({pick(random, &["^a", "b"]): inner(random)})),
            21 => ("anyOf", several(random)),
            22 => ("oneOf", several(random)),
            23 => ("allOf", several(random)),
            24 if !refer => ("minItems", count.into()),
            24 => ("$ref", pick(random, &["#/$defs/one", "#/$defs/two"]).into()),
            _ => match random.below(6) {
                4 => ("contains", inner(random)),
                5 => {
                    keywords.insert("maximum".into(), 40.into());
                    keywords.insert("minimum".into(), (-3).into());
                    ("multipleOf", (1 + count).into())
                }
                0 => ("not", json!({"const": scalar(random)})),
                1 => ("propertyNames", json!({"maxLength": count})),
                2 => ("dependentRequired", json!({pick(random, &NAMES): [pick(random, &NAMES)]})),
                _ => {
                    keywords.insert("then".into(), same(random));
                    ("if", json!({"required": [pick(random, &NAMES)]}))
                }
            },
        };
        keywords.insert(keyword.to_owned(), value);
    }
    Value::Object(keywords)
}

/// A value that a schema may allow: it follows the keywords one by one.
fn fitting(random: &mut Random, root: &Value, schema: &Value, depth: usize) -> Value {
    if depth == 0 || random.below(12) == 0 {
        return value(random, 1);
    }
    let mut at = schema;
    for keyword in ["allOf", "anyOf", "oneOf"] {
        if let Some(all) = schema.get(keyword).and_then(Value::as_array)
            && random.below(2) == 0
        {
            at = &all[random.below(all.len())];
        }
    }
    if let Some(target) = at.get("$ref").and_then(Value::as_str).and_then(|name| root.pointer(&name[1..])) {
        at = target;
    }
    if let Some(listed) = at.get("enum").and_then(Value::as_array) {
        return pick(random, listed);
    }
    if let Some(value) = at.get("const") {
        return value.clone();
    }
    let named = match at.get("type") {
        Some(Value::Array(types)) => pick(random, types),
        Some(one) => one.clone(),
        None => Value::Null,
    };
    let any = json!({});
    match named.as_str() {
        Some("string") => pick(random, &STRINGS).into(),
        Some("integer") | Some("number") => number(random),
        Some("boolean") => Value::Bool(random.below(2) == 0),
        Some("array") => {
            let prefix = at.get("prefixItems").and_then(Value::as_array);
            let item = |at_item: usize| prefix.and_then(|all| all.get(at_item)).or(at.get("items")).unwrap_or(&any);
            (0..random.below(4)).map(|at| fitting(random, root, item(at), depth - 1)).collect()
        }
        Some("object") => {
            let mut members = Map::new();
            let required = at.get("required").and_then(Value::as_array);
            let mut names: Vec<String> =
                required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            let declared = at.get("properties").and_then(Value::as_object);
            for name in declared.into_iter().flat_map(Map::keys) {
                if random.below(3) > 0 {
                    names.push(name.clone());
                }
            }
            if random.below(4) == 0 {
                names.push(pick(random, &NAMES).to_owned());
            }
            for name in names {
                let of = declared.and_then(|all| all.get(&name)).or(at.get("additionalProperties")).unwrap_or(&any);
                members.insert(name, fitting(random, root, of, depth - 1));
            }
            Value::Object(members)
        }
        _ => value(random, depth.min(2)),
    }
}

/// Against a validator of whole values: a valid value has no verdict at any prefix; where a grammar of the schema is exact, an
/// invalid value has one by its end. What is found does not depend on the cuts.
///
/// And no text that begins like one with a verdict, up to the verdict, is valid.
#[test]
fn verdicts_agree_with_a_validator() {
    let (mut valid, mut invalid, mut early) = (0, 0, 0);
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let mut root = schema(&mut random, 2, true);
        root["$defs"] = json!({"one": schema(&mut random, 1, false), "two": schema(&mut random, 1, false)});
        let Ok(validator) = jsonschema::validator_for(&root) else { continue };
        let table = Arc::new(Table::of(&root));
        let is_exact = is_exact(&root);
        let (mut fitting_texts, mut certain): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for _ in 0..24 {
            let value = fitting(&mut random, &root, &root, 4);
            let fits = validator.is_valid(&value);
            let text = pick(&mut random, &spellings(&value));
            let (found, first) = find(&table, &text);
            if fits {
                assert_eq!(found, [], "seed {seed}: {root}\n{text}");
                valid += 1;
                fitting_texts.push(text);
                continue;
            }
            if is_exact {
                assert!(!found.is_empty(), "seed {seed}: {root}\n{text}");
                invalid += 1;
                early += usize::from(first.is_some_and(|first| first < text.len()));
            }
            certain.extend(first.map(|first| text[..first].to_owned()));
        }
        for prefix in &certain {
            let fits = fitting_texts.iter().find(|text| text.starts_with(prefix.as_str()));
            assert_eq!(fits, None, "seed {seed}: {root}\n{prefix}");
        }
    }
    println!("{valid} valid; {invalid} invalid with an exact grammar, {early} of these before the end");
    assert!(valid > 5000 && invalid > 5000 && early > 2000, "{valid} {invalid} {early}");
}

/// Broken text is found malformed where a parser of JSON refuses it, and never where it is complete.
#[test]
fn text_that_is_not_json_is_malformed() {
    let table = Arc::new(Table::of(&json!({})));
    let anything = Arc::new(Table::of(&json!({"items": {"minimum": -1_000_000_000_000_i64}})));
    let mut random = Random::new(1);
    for _ in 0..4000 {
        let mut text: Vec<char> = value(&mut random, 3).to_string().chars().collect();
        let at = random.below(text.len());
        match random.below(3) {
            0 => _ = text.remove(at),
            1 => {
                text.insert(at, pick(&mut random, &['"', '\\', '{', ']', ',', ':', '0', '-', '.', 'e', 'x', '\n', 'é']))
            }
            _ => text.truncate(at),
        }
        let text: String = text.into_iter().collect();
        if text.trim().is_empty() {
            continue;
        }
        let valid = serde_json::from_str::<Value>(&text).is_ok();
        for table in [&table, &anything] {
            let (found, _) = find(table, &text);
            let malformed = found.iter().any(|found| found.0 == VerdictKind::Malformed);
            assert_eq!(malformed, !valid, "{text:?}: {found:?}");
        }
    }
}

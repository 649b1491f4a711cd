//! Untrusted texts in a spec, a tool name or a schema stay inside their literals: the generated Rust contains nothing but a
//! parser, the TOML is read back as the same spec, and the grammar accepts that very text.

use serde_json::json;
use unjinja_codegen::interpreter;
use unjinja_fuzz::seeds::Failure;
use unjinja_fuzz::{models, schemas, specs};
use unjinja_spec::FormatSpec;
use unjinja_testkit::whole;

/// Texts that end a literal, a comment or a line in some language, that look like code, or that are invisible.
const HOSTILE: [&str; 27] = [
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "\n",
    "\r\n",
    "\"#",
    "\"##",
    "r#\"",
    "*/",
    "/*",
    "//",
    "{}",
    "{0}",
    "${x}",
    // It stands for a name in some markers.
    unjinja_spec::REPEATED_NAME,
    "%0A::error::x",
    "\"; std::process::exit(1); \"",
    "\u{0}",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}\u{2069}",
    "\u{2028}",
    "\u{feff}",
    "</script><!-- ]]> -->",
];

/// Every text of a spec that may come from a template or a model, by its place.
fn places(value: &toml::Value, path: Vec<String>, out: &mut Vec<Vec<String>>) {
    match value {
        toml::Value::String(_) => out.push(path),
        toml::Value::Table(table) => {
            for (key, value) in table {
                places(value, [path.clone(), vec![key.clone()]].concat(), out);
            }
        }
        toml::Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                places(value, [path.clone(), vec![index.to_string()]].concat(), out);
            }
        }
        _ => {}
    }
}

fn at<'v>(value: &'v mut toml::Value, path: &[String]) -> Option<&'v mut toml::Value> {
    path.iter().try_fold(value, |value, key| match value {
        toml::Value::Table(table) => table.get_mut(key),
        toml::Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    })
}

#[test]
fn no_text_of_a_spec_leaves_its_literal() -> Result<(), Failure> {
    let (mut tried, mut lowered, mut problems) = (0, 0, Vec::new());
    // Over all models, each text is tried in some places, and each place with some texts.
    let one_in = if whole() { 5 } else { 60 };
    for (number, model) in models::all().iter().enumerate() {
        let spec: toml::Value = toml::Value::Table(model.spec.to_toml().parse()?);
        let mut all = Vec::new();
        places(&spec, Vec::new(), &mut all);
        for (place, path) in all.iter().enumerate().filter(|(place, _)| (7 * number + place) % one_in == 0) {
            let hostile = HOSTILE[(number + place / 5) % HOSTILE.len()];
            for text in [format!("{{}}{hostile}"), format!("{hostile}{{}}")] {
                let mut changed = spec.clone();
                let Some(toml::Value::String(value)) = at(&mut changed, path) else { continue };
                *value = text.replacen("{}", value, 1);
                let text = toml::to_string(&changed)?;
                tried += 1;
                lowered += usize::from(FormatSpec::from_toml(&text, "s.toml").is_ok_and(|s| interpreter(&s).is_ok()));
                if let Err(problem) = specs::check(&text) {
                    problems.push(format!("{}, {}: {problem}", model.spec.template.name, path.join(".")));
                }
            }
        }
    }
    println!("{tried} specs, {lowered} lowered");
    assert!(problems.is_empty(), "{} of {tried}; the first:\n{}", problems.len(), problems[0]);
    assert!(lowered * 4 > tried, "{lowered} of {tried} were lowered: too few to show anything");
    Ok(())
}

#[test]
fn no_text_of_a_tool_leaves_its_literal() -> Result<(), Failure> {
    let mut problems = Vec::new();
    for (number, model) in models::all().iter().enumerate() {
        for hostile in HOSTILE.iter().copied().skip(number % 6).step_by(6) {
            for tools in [
                json!([{"name": format!("f{hostile}g")}]),
                json!([{"name": "f", "description": hostile, "parameters": {"type": "object", "properties": {
                    format!("a{hostile}b"): {"type": "string", "description": hostile, "enum": [hostile, format!("{hostile}x")]},
                    "c": {"const": {hostile: hostile}}, "d": {"type": "string", "pattern": "^[^\"\\\\]+$"}}}}]),
            ] {
                if let Err(problem) = schemas::check(model, &tools) {
                    problems.push(format!("{hostile:?}: {problem}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}; the first:\n{}", problems.len(), problems[0]);
    Ok(())
}

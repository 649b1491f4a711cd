//! Calls whose arguments an independent validator has judged: each engine takes the valid ones, and refuses the others, but where
//! `widened` says that the grammar does not check all of the schema.

mod support;

use serde_json::{Value, json};
use support::{All, Engines, Failure, models};
use unjinja_grammar::{GrammarOptions, Target, ToolChoice, WhiteSpace};
use unjinja_runtime::{ChatParser, Tool, Tools};

/// Schemas and arguments.
type File = (Vec<Value>, Vec<Value>);

/// The cases of the grammars' own tests, by file: the parameters of tools with an argument of each schema, and arguments of all values.
fn cases() -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    let folder = unjinja_testkit::root().join("dev/gbnf/tests/schemas");
    for file in std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()? {
        let (mut schemas, mut arguments) = (Vec::new(), Vec::new());
        for case in serde_json::from_str::<Vec<Value>>(&std::fs::read_to_string(file.path())?)? {
            let schema = &case["schema"];
            let mut all = json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
            for defined in ["$defs", "definitions"] {
                if let Some(definitions) = schema.get(defined) {
                    all[defined] = definitions.clone();
                }
            }
            schemas.push(all);
            for value in ["valid", "invalid"].iter().filter_map(|key| case[*key].as_array()).flatten() {
                let value = json!({"a": value});
                if !arguments.contains(&value) {
                    arguments.push(value);
                }
            }
        }
        files.push((schemas, arguments));
    }
    Ok(files)
}

/// Schemas and arguments about which we say something else than the validator, and why.
const OTHERWISE: [(&str, &str); 5] = [
    (r#""nullable":true"#, "the validator does not know this keyword of OpenAPI"),
    (
        r##""anyOf":[{"$ref":"#/$defs/t"}"##,
        "an alternative that is the schema itself adds nothing; the validator takes it for true",
    ),
    (r#"{"a":1e+300}"#, "numbers have at most 20 digits"),
    (r#"{"a":{"a":"x","bb":"1","":1}}"#, "members without a schema come behind those with one"),
    (r#"{"a":{"a":1,"b":"x"}}"#, "as above"),
];

#[test]
fn arguments_are_judged_as_by_a_validator() -> Result<(), Failure> {
    let engines = Engines::new()?;
    let models = models()?;
    let parser = models.iter().find(|model| &*model.info().name == "qwen_qwen3_0_6b").ok_or("no model")?;
    let options = GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false).thinking(false);
    // As the validator reads schemas.
    let options = options.open_objects(true).white_space(WhiteSpace::Free);
    let (mut schemas, mut unjudged, mut wrong) = (0, 0, Vec::new());
    let (mut valid, mut refused, mut loose) = (0, 0, 0);
    for (schema, arguments) in cases()?.iter().flat_map(|(some, all)| some.iter().map(move |one| (one, all))) {
        let tools = Tools::new(vec![Tool::new("f", schema.clone())])?;
        let make = |target| support::grammar(parser, Some(&tools), &options, target);
        let validator = jsonschema::options().should_validate_formats(true).build(schema);
        let (Ok(validator), Ok(_)) = (validator, make(Target::Gbnf)) else {
            unjudged += 1;
            continue;
        };
        schemas += 1;
        let made = All::make(&engines, parser, Some(&tools), &options)?.ok_or("no grammar")?;
        let mut widened = Vec::new();
        for target in [Target::Gbnf, Target::XGrammar, Target::Llguidance] {
            widened.push(make(target)?.is_some_and(|grammar| !grammar.widened.is_empty()));
        }
        for given in arguments {
            let text = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {given}}}\n</tool_call>");
            let [xgrammar, llguidance] = made.accept(&text)?;
            let found = [made.rules.check(&text).is_ok(), xgrammar, llguidance];
            let expected = validator.is_valid(given);
            for ((engine, found), widened) in ["gbnf", "xgrammar", "llguidance"].iter().zip(found).zip(&widened) {
                match (expected, found) {
                    (true, true) => valid += 1,
                    (false, false) => refused += 1,
                    (false, true) if *widened => loose += 1,
                    _ => {
                        let verb = if found { "takes" } else { "refuses" };
                        wrong.push(format!("{engine} {verb}: {given} of {schema}"));
                    }
                }
            }
        }
    }
    println!(
        "{schemas} schemas × 3 engines: {valid} valid calls taken, {refused} others refused, {loose} taken and named in `widened`; \
         of {unjudged} schemas there is no grammar or no validator"
    );
    for (part, why) in OTHERWISE {
        let before = wrong.len();
        wrong.retain(|line| !line.contains(part));
        assert!(wrong.len() < before, "nothing is judged otherwise any more because {why}");
    }
    assert!(wrong.is_empty(), "{} are judged otherwise:\n{}", wrong.len(), wrong.join("\n"));
    assert!(valid > 1_000 && refused > 5_000, "{valid}, {refused}");
    Ok(())
}

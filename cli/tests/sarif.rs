//! `unjinja lint --format sarif` writes SARIF 2.1.0: what the standard requires is there, and each finding is at its statement.

use std::error::Error;
use std::fs;

use serde_json::Value;
use unjinja_testkit::root;

type Failure = Box<dyn Error>;

#[test]
fn findings_are_sarif() -> Result<(), Failure> {
    let folder = crate::support::folder("sarif", "all")?;
    folder
        .write("some models/chat.jinja", b"{% for m in messages %}\n<{{ m.role }}>{{ m.content + '' }}{% endfor %}")?;
    let config =
        serde_json::json!({"chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"});
    folder.write("m/tokenizer_config.json", config.to_string().as_bytes())?;
    let said = folder.run("unjinja lint 'some models/chat.jinja' m/tokenizer_config.json --format sarif", b"")?;
    let document: Value = serde_json::from_str(&said.stdout)?;
    let schema: Value = serde_json::from_str(&fs::read_to_string(root().join("cli/tests/sarif.schema.json"))?)?;
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema)?;
    let wrong: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("at {}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let run = &document["runs"][0];
    let results = run["results"].as_array().ok_or("results")?;
    for result in results {
        let index = result["ruleIndex"].as_u64().ok_or("ruleIndex")? as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let physical = |uri: &str| {
        let places = results.iter().map(|result| &result["locations"][0]["physicalLocation"]);
        places.filter(|place| place["artifactLocation"]["uri"] == uri).collect::<Vec<&Value>>()
    };
    let own = physical("some%20models/chat.jinja");
    assert!(
        own.iter().any(|place| place["region"]["startLine"] == 2 && place["region"]["startColumn"].is_u64()),
        "{own:?}"
    );
    // Lines of a template in JSON are not lines of the file.
    let inside = physical("m/tokenizer_config.json");
    assert!(!inside.is_empty() && inside.iter().all(|place| place.get("region").is_none()), "{inside:?}");

    // A document that lacks what is required is not valid.
    for pointer in ["/version", "/runs/0/tool/driver/name", "/runs/0/results/0/message/text"] {
        let mut broken = document.clone();
        let (parent, key) = pointer.rsplit_once('/').ok_or("a pointer")?;
        broken.pointer_mut(parent).and_then(Value::as_object_mut).ok_or("an object")?.remove(key);
        assert!(!validator.is_valid(&broken), "{pointer}");
    }
    Ok(())
}

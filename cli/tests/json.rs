//! The JSON that the commands print matches `docs/json/*.schema.json`, for good input and bad.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

type Failure = Box<dyn Error>;

/// Whether the output is one JSON document or one per line.
#[derive(Clone, Copy)]
enum Shape {
    Document,
    Lines,
}
use Shape::{Document, Lines};
use unjinja_testkit::commands::CommandFolder;
use unjinja_testkit::root;

/// A command, its exit code, the schema of its output, and the shape of the output.
const COMMANDS: &[(&str, i32, &str, Shape)] = &[
    ("unjinja analyze templates --format json", 0, "analyze", Document),
    ("unjinja analyze templates bad --format json", 1, "analyze", Document),
    ("unjinja analyze templates bytes.jinja --format json", 2, "analyze", Document),
    ("unjinja analyze m/tokenizer_config.json --format json", 0, "analyze", Document),
    ("unjinja analyze strange.jinja --format json", 0, "analyze", Document),
    ("unjinja analyze strange.jinja offers.jinja --strict --format json", 1, "analyze", Document),
    ("unjinja analyze offers.jinja --suggest --format json", 0, "analyze", Document),
    ("unjinja check templates --specs specs --format json", 0, "check", Document),
    ("unjinja check other --specs specs --format json", 1, "check", Document),
    ("unjinja check templates bad --specs old --format json", 1, "check", Document),
    ("unjinja diff specs/hermes.toml specs/hermes.toml --format json", 0, "check", Document),
    ("unjinja diff specs/hermes.toml specs/qwen3.toml --format json", 1, "check", Document),
    ("unjinja diff templates/hermes.jinja templates/qwen3.jinja --format json", 1, "check", Document),
    ("unjinja verify templates --count 20 --format json", 0, "verify", Document),
    (
        "unjinja verify templates strange.jinja bad lossy.jinja --count 20 --failures 3 --format json",
        1,
        "verify",
        Document,
    ),
    ("unjinja export templates/hermes.jinja --for transformers --count 20 --format json", 0, "export", Document),
    ("unjinja export lines_of_calls.jinja --for transformers --count 20 --format json", 1, "export", Document),
    ("unjinja render templates/hermes.jinja --format json < context.json", 0, "render", Document),
    ("unjinja parse --template templates/qwen3.jinja --format json output.txt", 0, "parse", Document),
    ("unjinja parse --template templates/qwen3.jinja --format json cut.txt", 0, "parse", Document),
    ("unjinja parse --template templates/qwen3.jinja --format json empty.txt", 0, "parse", Document),
    ("unjinja parse --template templates/qwen3.jinja --format json bytes.jinja", 0, "parse", Document),
    (
        "unjinja parse --template templates/qwen3.jinja --tools tools.json --no-parallel --format json two.txt",
        0,
        "parse",
        Document,
    ),
    ("unjinja parse --template templates/counted_ids.jinja --stream --format json ids.txt", 0, "parse-event", Lines),
    ("unjinja parse --template templates/qwen3.jinja --stream --format json output.txt", 0, "parse-event", Lines),
    (
        "unjinja parse --template templates/qwen3.jinja --stream --tools tools.json --format json cut.txt",
        0,
        "parse-event",
        Lines,
    ),
    ("unjinja parse --template templates/qwen3.jinja --format openai output.txt", 0, "parse-completion", Document),
    ("unjinja parse --template templates/qwen3.jinja --format openai cut.txt", 0, "parse-completion", Document),
    ("unjinja parse --template templates/qwen3.jinja --format openai empty.txt", 0, "parse-completion", Document),
    ("unjinja parse --template templates/qwen3.jinja --stream --format openai output.txt", 0, "parse-chunk", Lines),
    ("unjinja parse --template templates/qwen3.jinja --stream --format openai empty.txt", 0, "parse-chunk", Lines),
    ("unjinja grammar --template templates/qwen3.jinja --format json", 0, "grammar", Document),
    (
        "unjinja grammar --template templates/qwen3.jinja --tools tools.json --tool-choice required --thinking off --format json",
        0,
        "grammar",
        Document,
    ),
    (
        "unjinja grammar --template templates/qwen3.jinja --schema unique.json --tool-choice none --format json",
        0,
        "grammar",
        Document,
    ),
    ("unjinja codegen templates/hermes.jinja --format json", 0, "codegen", Document),
    #[cfg(feature = "fetch")]
    ("unjinja fetch --manifest kept.toml --out hub --format json", 0, "fetch", Document),
    #[cfg(feature = "fetch")]
    ("HF_ENDPOINT=http://127.0.0.1:9 unjinja fetch --manifest all.toml --out hub --format json", 1, "fetch", Document),
    ("unjinja lint templates/no_tools.jinja --format json", 0, "lint", Document),
    ("unjinja lint templates bad m/tokenizer_config.json --format json", 1, "lint", Document),
    ("unjinja list --format json", 0, "list", Document),
    ("unjinja list --specs specs --format json", 0, "list", Document),
    (
        "unjinja explain templates/qwen3.jinja --output output.txt --tools tools.json --format json",
        0,
        "explain",
        Document,
    ),
    ("unjinja explain specs/counted_ids.toml --output ids.txt --partial --format json", 0, "explain", Document),
    ("unjinja explain strange.jinja --output cut.txt --format json", 0, "explain", Document),
    ("unjinja explain bad/refuses.jinja --format json", 1, "explain", Document),
];

/// Commands that print no JSON, and formats of other commands that are not JSON.
const WITHOUT_JSON: &[&str] = &["completions", "help", "serve"];

fn folder() -> Result<CommandFolder, Failure> {
    let folder = crate::support::folder("json", "all")?;
    for name in ["hermes", "qwen3", "counted_ids", "no_tools"] {
        folder.write(&format!("templates/{name}.jinja"), &fs::read(root().join(format!("templates/{name}.jinja")))?)?;
    }
    let hermes = folder.read("templates/hermes.jinja")?;
    folder.write("other/hermes.jinja", hermes.replace("tool_call>", "call>").as_bytes())?;
    folder.write("other/new.jinja", hermes.replace("<|im_end|>", "<|end|>").as_bytes())?;
    folder.write("bad/broken.jinja", b"{% for message in messages %}{{ message")?;
    folder.write("bad/refuses.jinja", b"{{ raise_exception('no') }}")?;
    folder.write("bytes.jinja", b"\xff\xfe <tool_call>")?;
    folder.write("context.json", json!({"messages": [{"role": "user", "content": "Hi"}]}).to_string().as_bytes())?;
    let call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
    folder.write("output.txt", format!("<think>\nHm.\n</think>\n\nSo:\n{call}<|im_end|>\n").as_bytes())?;
    folder.write("two.txt", format!("{call}\n{}", call.replace("get_time", "other")).as_bytes())?;
    folder.write("cut.txt", call[..call.len() - 20].replace("get_time", "unknown").as_bytes())?;
    folder.write(
        "ids.txt",
        b"<|ACTIONS|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {}}\n]<|END_ACTIONS|>",
    )?;
    folder.write("empty.txt", b"")?;
    let config = json!({"bos_token": "<s>", "eos_token": "</s>", "chat_template": {"default": hermes, "rag": hermes}});
    folder.write("m/tokenizer_config.json", config.to_string().as_bytes())?;
    let kept = "[[source]]\nname = \"own\"\nnot_fetched = \"our own\"\n";
    folder.write("kept.toml", kept.as_bytes())?;
    folder.write("all.toml", format!("{kept}[[source]]\nname = \"other\"\nrepo = \"org/other\"\n").as_bytes())?;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tools = json!([{"type": "function", "function": {"name": "get_time", "parameters": schema}}]);
    folder.write("tools.json", tools.to_string().as_bytes())?;
    folder.write(
        "unique.json",
        json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true}).to_string().as_bytes(),
    )?;
    // Closes a call with what opens one: nothing can say where it ends.
    let strange = hermes.replace("'}\\n</tool_call>'", "'}\\n<tool_call>'");
    folder.write("strange.jinja", strange.as_bytes())?;
    // Offers tools, describes a call, and renders none.
    let offers = "{% if tools %}Write calls like this: <call>{\"name\": \"f\", \"arguments\": {}}</call>\n{{ tools | tojson }}{% endif %}\
                  {% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
                  {% if add_generation_prompt %}<|assistant|>{% endif %}";
    folder.write("offers.jinja", offers.as_bytes())?;
    // Writes half of what it is given.
    let lossy = hermes.replace("{{ message.content or '' }}", "{{ (message.content or '') ~ '<tool_call>' }}");
    folder.write("lossy.jinja", lossy.as_bytes())?;
    // Its calls are not JSON, and no response template can express them.
    folder.write("lines_of_calls.jinja", &fs::read(root().join("templates/lines_of_calls.jinja"))?)?;
    let fields = json!({
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
    });
    let response_template = json!({"start_anchor": "<|im_start|>assistant\n", "fields": fields});
    folder.write("response_template.json", response_template.to_string().as_bytes())?;
    for specs in ["specs", "old"] {
        folder.run(&format!("mkdir {specs}"), b"")?;
        assert_eq!(folder.run(&format!("unjinja analyze templates -o {specs}"), b"")?.code, 0);
    }
    folder.write("old/hermes.toml", b"spec_version = 'one'")?;
    folder.write("old/left.toml", folder.read("old/qwen3.toml")?.as_bytes())?;
    folder.write("old/qwen3.overlay.toml", b"[tools]\nname_field = 'name' # As it is.\n")?;
    Ok(folder)
}

/// What a command prints for an engine is JSON, not only with `--format json`.
#[test]
fn a_structural_tag_is_one_document() -> Result<(), Failure> {
    let folder = crate::support::folder("json", "tag")?;
    folder.write("hermes.jinja", &fs::read(root().join("templates/hermes.jinja"))?)?;
    let command = "unjinja grammar --template hermes.jinja --tool-choice required --engine xgrammar > tag.json";
    assert_eq!(folder.run(command, b"")?.code, 0);
    let tag: Value = serde_json::from_str(&folder.read("tag.json")?)?;
    assert_eq!(tag["type"], "structural_tag");
    Ok(())
}

fn schemas() -> Result<Vec<(String, Value)>, Failure> {
    let mut schemas = Vec::new();
    for entry in fs::read_dir(root().join("docs/json"))? {
        let path: PathBuf = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".schema.json") {
            schemas.push((name.to_owned(), serde_json::from_str(&fs::read_to_string(&path)?)?));
        }
    }
    schemas.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(schemas)
}

#[test]
fn answers_have_the_documented_shape() -> Result<(), Failure> {
    let schemas = schemas()?;
    let mut registry = jsonschema::Registry::new();
    for (name, schema) in &schemas {
        assert!(jsonschema::meta::is_valid(schema), "{name} is no JSON schema");
        registry = registry.add(schema["$id"].as_str().ok_or("no $id")?, schema)?;
    }
    let registry = registry.prepare()?;
    let folder = folder()?;
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::from(["spec".to_owned()]);
    for (command, code, name, shape) in COMMANDS {
        seen.insert((*name).to_owned());
        let (_, schema) = schemas.iter().find(|(known, _)| known == name).ok_or(*name)?;
        let validator = jsonschema::options().with_registry(&registry).build(schema)?;
        let said = folder.run(command, b"")?;
        assert_eq!(said.code, *code, "{command}\n{}{}", said.stdout, said.stderr);
        let documents: Vec<Value> = match shape {
            Document => vec![serde_json::from_str(&said.stdout).map_err(|e| format!("{command}: {e}"))?],
            Lines => said.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?,
        };
        assert!(!documents.is_empty(), "{command}");
        for document in documents {
            for error in validator.iter_errors(&document) {
                wrong.push(format!("{command}\n  at {}: {error}", error.instance_path()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // No schema without a command, and none without its line in the table.
    let index = fs::read_to_string(root().join("docs/json/README.md"))?;
    for (name, _) in &schemas {
        assert!(seen.contains(name), "no command is tested against {name}");
        assert!(index.contains(&format!("({name}.schema.json)")), "{name} is not in the table");
    }
    Ok(())
}

/// The schemas allow nothing that they do not name, and say what each thing is.
#[test]
fn the_shapes_are_closed_and_described() -> Result<(), Failure> {
    fn walk(value: &Value, path: &str, wrong: &mut Vec<String>) {
        let Value::Object(object) = value else {
            value.as_array().into_iter().flatten().for_each(|item| walk(item, path, wrong));
            return;
        };
        if object.contains_key("properties") && object.get("additionalProperties") != Some(&json!(false)) {
            wrong.push(format!("{path} allows other properties"));
        }
        for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // The name of an event says what it is, a range has a start and an end, and what is one of several is described as a whole.
            let is_plain =
                property.get("const").is_some() || path.contains("/Range_") || path.ends_with("Rendered/oneOf");
            if !is_plain && property.get("description").is_none_or(|text| text == "") {
                wrong.push(format!("{path}.{name} has no description"));
            }
        }
        object.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"), wrong));
    }
    let mut wrong = Vec::new();
    schemas()?.iter().for_each(|(name, schema)| walk(schema, name, &mut wrong));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Every command has `--format json`, and is among those above.
#[test]
fn every_command_has_it() -> Result<(), Failure> {
    let folder = crate::support::folder("json", "help")?;
    let help = folder.run("unjinja --help", b"")?.stdout;
    let list = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n")).ok_or("no commands")?.0;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        if WITHOUT_JSON.contains(&name) {
            continue;
        }
        let help = folder.run(&format!("unjinja {name} --help"), b"")?.stdout;
        assert!(help.contains("--format <FORMAT>") && help.contains("json"), "{name}: {help}");
        assert!(help.contains("Example"), "{name} has no example");
        let is_it = |(command, ..): &&(&str, i32, &str, Shape)| command.starts_with(&format!("unjinja {name} "));
        assert!(COMMANDS.iter().any(|command| is_it(&command)), "{name} is not tested");
    }
    Ok(())
}

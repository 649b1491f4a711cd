//! `unjinja fetch` with a small Hub on loopback: what it writes, what it requests, and its errors.
#![cfg(feature = "fetch")]

use std::error::Error;
use std::fs;

use crate::support::hub::{Answer, COMMIT, Hub};
use serde_json::{Value, json};
use unjinja_testkit::commands::{Place, Said};
use unjinja_testkit::root;

type Done = Result<(), Box<dyn Error>>;

const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
const OTHER: &str = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}";

/// A manifest entry for a model.
fn entry(name: &str, more: &str) -> String {
    format!("[[source]]\nname = \"{name}\"\nrepo = \"org/{name}\"\n{more}\n")
}

fn file(text: &str) -> Answer {
    Answer::File(text.to_owned())
}

/// A Hub, and a folder with a manifest.
struct Scene {
    hub: Hub,
    place: Place,
}

impl Scene {
    fn new(name: &str, manifest: &str) -> Result<Self, Box<dyn Error>> {
        let place = crate::support::place("fetch", name)?;
        place.write("sources.toml", manifest.as_bytes())?;
        Ok(Self { hub: Hub::start()?, place })
    }

    /// Runs `fetch` with these variables and arguments.
    fn fetch(&self, environment: &str, arguments: &str) -> Result<Said, Box<dyn Error>> {
        let endpoint = self.hub.endpoint();
        self.place.run(&format!("HF_ENDPOINT={endpoint} {environment} unjinja fetch --out out {arguments}"), b"")
    }

    /// The one error of a run that fails, with `HUB` in place of the address.
    fn error(&self, environment: &str) -> Result<String, Box<dyn Error>> {
        let said = self.fetch(environment, "")?;
        assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
        Ok(said.stderr.replace(&self.hub.endpoint(), "HUB"))
    }
}

#[test]
fn new_unchanged_changed() -> Done {
    let manifest = [
        entry("one", ""),
        entry(
            "two",
            "file = \"tokenizer_config.json\"\ntemplate = \"tool_use\"\nsave_as = \"Two.jinja\"\nrevision = \"v1\"",
        ),
        entry("three", ""),
    ];
    let scene = Scene::new("outcomes", &manifest.concat())?;
    let named =
        json!({"chat_template": [{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": OTHER}]});
    scene.hub.put("org/one", "main", "chat_template.jinja", file(TEMPLATE));
    scene.hub.put("org/two", "v1", "tokenizer_config.json", file(&named.to_string()));
    scene.hub.put("org/three", "main", "tokenizer_config.json", file(&json!({"chat_template": TEMPLATE}).to_string()));
    let before = scene.fetch("", "--check")?;
    assert_eq!(before.code, 1, "{}", before.stderr);
    assert!(
        before.stderr.contains("3 templates differ from those on the Hub; to download them: unjinja fetch "),
        "{}",
        before.stderr
    );
    assert!(scene.place.read("out/one.jinja").is_err(), "--check writes nothing");

    let first = scene.fetch("", "")?;
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(
        first.stdout,
        "one: new: one.jinja org/one, chat_template.jinja\n\
         two: new: Two.jinja org/two (tool_use), tokenizer_config.json\n\
         three: new: three.jinja org/three, tokenizer_config.json\n\
         3 new\n"
    );
    assert_eq!(scene.place.read("out/one.jinja")?, TEMPLATE);
    assert_eq!(scene.place.read("out/Two.jinja")?, OTHER);
    assert_eq!(scene.fetch("", "")?.stdout, "3 unchanged\n");
    assert_eq!(scene.fetch("", "--check")?.code, 0);

    scene.hub.put("org/one", "main", "chat_template.jinja", file(OTHER));
    let again = scene.fetch("", "--format json")?;
    assert_eq!(again.code, 0, "{}", again.stderr);
    let rows: Value = serde_json::from_str(&again.stdout)?;
    let outcomes: Vec<&str> = rows.as_array().into_iter().flatten().filter_map(|row| row["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["changed", "unchanged", "unchanged"]);
    assert_eq!(rows[0]["commit"], COMMIT);
    assert_eq!(rows[1]["revision"], "v1");
    has_the_documented_shape(&rows)?;
    assert_eq!(scene.place.read("out/one.jinja")?, OTHER);
    Ok(())
}

#[test]
fn some_by_name() -> Done {
    let scene =
        Scene::new("names", &[entry("one", ""), entry("two", "save_as = \"Two.jinja\""), entry("three", "")].concat())?;
    for model in ["org/one", "org/two", "org/three"] {
        scene.hub.put(model, "main", "chat_template.jinja", file(TEMPLATE));
    }
    let said = scene.fetch("", "three Two.jinja")?;
    assert!(said.stdout.ends_with("2 new\n"), "{}{}", said.stdout, said.stderr);
    assert!(scene.place.read("out/one.jinja").is_err());
    let wrong = scene.fetch("", "thre")?;
    assert_eq!(wrong.code, 2);
    assert_eq!(wrong.stderr, "error: sources.toml: it lists no template called \"thre\"; did you mean three?\n");
    Ok(())
}

#[test]
fn named_templates_in_files_of_their_own() -> Done {
    let scene = Scene::new("additional", &entry("one", "template = \"rag\""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", file(TEMPLATE));
    scene.hub.put("org/one", "main", "additional_chat_templates/rag.jinja", file(OTHER));
    assert_eq!(scene.fetch("", "")?.code, 0);
    assert_eq!(scene.place.read("out/one.jinja")?, OTHER);
    Ok(())
}

#[test]
fn the_cache_is_the_hubs() -> Done {
    let scene = Scene::new("cache", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", file(TEMPLATE));
    assert_eq!(scene.fetch("", "")?.code, 0);
    let cached = format!("hf_home/hub/models--org--one/snapshots/{COMMIT}/chat_template.jinja");
    assert_eq!(scene.place.read(&cached)?, TEMPLATE, "where other clients look");
    let read = scene.hub.asked().into_iter().filter(|asked| asked.method == "GET").map(|asked| asked.path);
    assert_eq!(read.collect::<Vec<_>>(), ["/org/one/resolve/main/chat_template.jinja"]);
    assert_eq!(scene.fetch("", "")?.stdout, "1 unchanged\n");
    let asked = scene.hub.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.method == "HEAD"), "nothing is read twice: {asked:?}");
    // A commit cannot change, so nothing is requested.
    scene.place.write("sources.toml", entry("one", &format!("revision = \"{COMMIT}\"")).as_bytes())?;
    assert_eq!(scene.fetch("", "")?.stdout, "1 unchanged\n");
    assert!(scene.hub.asked().is_empty());
    // Without a network the cache is used; another cache is empty.
    scene.place.write("sources.toml", entry("one", "").as_bytes())?;
    let nowhere = "HF_ENDPOINT=http://127.0.0.1:9";
    assert_eq!(scene.fetch(nowhere, "")?.stdout, "1 unchanged\n");
    let said = scene.fetch(&format!("{nowhere} HF_HUB_CACHE=elsewhere"), "")?;
    assert_eq!(said.code, 1, "{}", said.stdout);
    Ok(())
}

#[test]
fn no_network() -> Done {
    let scene = Scene::new("network", &entry("one", ""))?;
    let said = scene.fetch("HF_ENDPOINT=http://127.0.0.1:9", "")?;
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: one: no connection to http://127.0.0.1:9: "), "{}", said.stderr);
    assert!(said.stderr.ends_with("; check the network, or set HF_ENDPOINT to a mirror\n"), "{}", said.stderr);
    assert_eq!(said.stdout, "one: failed\n1 failed\n");
    scene.hub.go_down();
    assert!(scene.error("")?.contains("one: HUB/org/one: the request failed: "), "a closed connection");
    Ok(())
}

#[test]
fn a_server_that_does_not_answer() -> Done {
    let scene = Scene::new("silence", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Silence);
    let expected = "error: one: HUB did not answer within 1 seconds; HF_HUB_DOWNLOAD_TIMEOUT sets the limit\n";
    assert_eq!(scene.error("HF_HUB_DOWNLOAD_TIMEOUT=1")?, expected);
    Ok(())
}

#[test]
fn models_that_ask_for_a_licence() -> Done {
    let scene = Scene::new("gated", &entry("one", ""))?;
    let said = |status: u16, code: &'static str| {
        scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Status(status, code));
        scene.error("")
    };
    assert_eq!(
        said(401, "GatedRepo")?,
        "error: one: HUB/org/one: access is restricted (401): accept the licence there, and set HF_TOKEN to a token of that account\n"
    );
    assert_eq!(
        said(403, "GatedRepo")?,
        "error: one: HUB/org/one: the token has no access (403): accept the licence there with its account, or set HF_TOKEN to another\n"
    );
    assert_eq!(
        said(401, "RepoNotFound")?,
        "error: one: HUB/org/one: there is no such model, or it is private; for a private model set HF_TOKEN to a token that may read it\n"
    );
    assert!(said(500, "Oops")?.contains("HUB/org/one: the Hub answered 500 Internal Server Error"));
    Ok(())
}

#[test]
fn missing_things_are_named() -> Done {
    let scene = Scene::new("missing", &entry("one", ""))?;
    assert_eq!(scene.error("")?, "error: one: HUB/org/one: there is no such model\n");
    scene.hub.put("org/one", "v2", "chat_template.jinja", file(TEMPLATE));
    assert_eq!(scene.error("")?, "error: one: HUB/org/one: there is no revision `main`\n");
    scene.hub.put("org/one", "main", "config.json", file("{}"));
    assert_eq!(
        scene.error("")?,
        "error: one: HUB/org/one: at revision `main` there is no file chat_template.jinja, nor chat_template.json, nor tokenizer_config.json\n"
    );
    scene.hub.put("org/one", "main", "tokenizer_config.json", file("{\"model_max_length\": 1}"));
    let error = scene.error("")?;
    assert!(
        error.contains("HUB/org/one, tokenizer_config.json: the file has no template under `chat_template`: it has `model_max_length`"),
        "{error}"
    );
    Ok(())
}

/// Answers that are not templates, and the errors.
const NO_TEMPLATES: [(&str, &str, &str); 5] = [
    ("chat_template.jinja", "<html>Log in</html>", "this is not a chat template: it does not read `messages`"),
    ("chat_template.jinja", "{% for m in messages %}", "this is not a template: "),
    ("tokenizer_config.json", "<html></html>", "the file is not valid JSON: expected value at line 1 column 1"),
    ("tokenizer_config.json", "{\"chat_template\": 1}", "`chat_template` must be a string with a template"),
    (
        "tokenizer_config.json",
        "{\"chat_template\": {\"default\": \"a\", \"rag\": \"b\"}}",
        "the file holds 2 templates: `default`, `rag`; choose one in the manifest: template = \"default\"",
    ),
];

#[test]
fn what_is_not_a_template_is_not_written() -> Done {
    for (index, (name, text, expected)) in NO_TEMPLATES.into_iter().enumerate() {
        let scene = Scene::new(&format!("no_template_{index}"), &entry("one", ""))?;
        scene.hub.put("org/one", "main", name, file(text));
        let error = scene.error("")?;
        assert!(error.starts_with(&format!("error: one: HUB/org/one, {name}: {expected}")), "{error}");
        assert!(scene.place.read("out/one.jinja").is_err(), "{name}: {text}");
    }
    let scene = Scene::new("no_hub", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Page("<html>Log in</html>".to_owned()));
    let error = scene.error("")?;
    assert!(
        error.contains("HUB/org/one: the answer is not one of the Hub: missing ETag header; check HF_ENDPOINT"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_spoilt_cache_is_read_anew() -> Done {
    let scene = Scene::new("spoilt", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", file(TEMPLATE));
    assert_eq!(scene.fetch("", "")?.code, 0);
    scene.place.write(&format!("hf_home/hub/models--org--one/snapshots/{COMMIT}/chat_template.jinja"), b"Forbidden")?;
    let said = scene.fetch("", "")?;
    assert_eq!((said.code, said.stdout.as_str()), (0, "1 unchanged\n"), "{}", said.stderr);
    Ok(())
}

#[test]
fn one_failure_stops_no_other() -> Done {
    let elsewhere = "[[source]]\nname = \"own\"\nnot_fetched = \"written by the community\"\n";
    let manifest =
        [entry("a", ""), entry("b", ""), entry("c", ""), entry("d", ""), entry("e", ""), elsewhere.to_owned()];
    let scene = Scene::new("others", &manifest.concat())?;
    for model in ["org/b", "org/d", "org/e"] {
        scene.hub.put(model, "main", "chat_template.jinja", file(TEMPLATE));
    }
    let said = scene.fetch("", "")?;
    assert_eq!(said.code, 1);
    let endpoint = scene.hub.endpoint();
    assert_eq!(
        said.stderr,
        format!(
            "error: a: {endpoint}/org/a: there is no such model\nerror: c: {endpoint}/org/c: there is no such model\n"
        )
    );
    assert!(
        said.stdout.ends_with("own: not fetched: written by the community\n3 new, 1 skipped, 2 failed\n"),
        "{}",
        said.stdout
    );
    let said = scene.fetch("", "--format json")?;
    assert_eq!(said.code, 1);
    has_the_documented_shape(&serde_json::from_str(&said.stdout)?)
}

#[test]
fn the_token_goes_to_the_endpoint_alone() -> Done {
    const TOKEN: &str = "hf_tokenthatnobodymaysee";
    let scene = Scene::new("token", &[entry("one", ""), entry("two", "")].concat())?;
    let other = Hub::start()?;
    scene.hub.put(
        "org/one",
        "main",
        "chat_template.jinja",
        Answer::Moved(format!("{}/org/one/resolve/main/x", other.endpoint())),
    );
    scene.hub.put("org/two", "main", "chat_template.jinja", Answer::Status(403, "GatedRepo"));
    other.put("org/one", "main", "x", file(TEMPLATE));
    for environment in [format!("HF_TOKEN={TOKEN}"), "HF_HOME=with_token".to_owned()] {
        scene.place.write("with_token/token", TOKEN.as_bytes())?;
        let said = scene.fetch(&environment, "")?;
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert_eq!(scene.place.read("out/one.jinja")?, TEMPLATE);
        let (here, there) = (scene.hub.asked(), other.asked());
        let bearer = format!("Bearer {TOKEN}");
        assert!(here.iter().all(|asked| asked.authorization.as_ref() == Some(&bearer)), "{environment}: {here:?}");
        assert!(
            !there.is_empty() && there.iter().all(|asked| asked.authorization.is_none()),
            "{environment}: {there:?}"
        );
        assert!(!format!("{}{}", said.stdout, said.stderr).contains("hf_token"), "{}{}", said.stdout, said.stderr);
    }
    Ok(())
}

#[test]
fn analyze_and_check_read_the_manifest() -> Done {
    let scene = Scene::new("sources", &entry("hermes", "template = \"tool_use\""))?;
    scene.place.write("out/hermes.jinja", &fs::read(root().join("templates/hermes.jinja"))?)?;
    let said = scene.place.run("unjinja analyze out --sources sources.toml -o specs", b"")?;
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(scene.place.read("specs/hermes.toml")?.contains("source = \"org/hermes (tool_use)\"\n"));
    assert_eq!(scene.place.run("unjinja check out --specs specs --sources sources.toml", b"")?.code, 0);
    // A downloaded template does not contain the model's tokens; the manifest does.
    let ending = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}";
    scene.place.write("out/hermes.jinja", ending.as_bytes())?;
    scene.place.write("sources.toml", entry("hermes", "eos_token = \"<end>\"").as_bytes())?;
    assert_eq!(scene.place.run("unjinja analyze out --sources sources.toml -o specs", b"")?.code, 0);
    let spec = scene.place.read("specs/hermes.toml")?;
    assert!(spec.contains("end = \"<end>\"\n") && spec.contains("eos = \"<end>\"\n"), "{spec}");
    Ok(())
}

fn has_the_documented_shape(rows: &Value) -> Done {
    let schema = serde_json::from_str(&fs::read_to_string(root().join("docs/json/fetch.schema.json"))?)?;
    let validator = jsonschema::validator_for(&schema)?;
    let wrong: Vec<String> = validator.iter_errors(rows).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

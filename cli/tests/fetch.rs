//! `unjinja fetch` with a small Hub on loopback: what it writes, what it requests, and its errors.
#![cfg(feature = "fetch")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::hub::{Answer, Hub};
use crate::support::workflow;
use serde_json::{Value, json};
use unjinja_testkit::commands::{CommandFolder, Said};
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
    folder: CommandFolder,
}

impl Scene {
    fn new(name: &str, manifest: &str) -> Result<Self, Box<dyn Error>> {
        let folder = crate::support::folder("fetch", name)?;
        folder.write("sources.toml", manifest.as_bytes())?;
        Ok(Self { hub: Hub::start()?, folder })
    }

    /// Runs `fetch` with these variables and arguments.
    fn fetch(&self, environment: &str, arguments: &str) -> Result<Said, Box<dyn Error>> {
        let endpoint = self.hub.endpoint();
        self.folder.run(&format!("HF_ENDPOINT={endpoint} {environment} unjinja fetch --out out {arguments}"), b"")
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
    assert!(scene.folder.read("out/one.jinja").is_err(), "--check writes nothing");

    let first = scene.fetch("", "")?;
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(
        first.stdout,
        "one: new: one.jinja org/one, chat_template.jinja\n\
         two: new: Two.jinja org/two (tool_use), tokenizer_config.json\n\
         three: new: three.jinja org/three, tokenizer_config.json\n\
         3 new\n"
    );
    assert_eq!(scene.folder.read("out/one.jinja")?, TEMPLATE);
    assert_eq!(scene.folder.read("out/Two.jinja")?, OTHER);
    assert_eq!(scene.fetch("", "")?.stdout, "3 unchanged\n");
    assert_eq!(scene.fetch("", "--check")?.code, 0);

    scene.hub.put("org/one", "main", "chat_template.jinja", file(OTHER));
    let again = scene.fetch("", "--format json")?;
    assert_eq!(again.code, 0, "{}", again.stderr);
    let rows: Value = serde_json::from_str(&again.stdout)?;
    let outcomes: Vec<&str> = rows.as_array().into_iter().flatten().filter_map(|row| row["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["changed", "unchanged", "unchanged"]);
    assert_eq!(rows[0]["commit"], scene.hub.commit("org/one"));
    assert_eq!(rows[1]["revision"], "v1");
    has_the_documented_shape(&rows)?;
    assert_eq!(scene.folder.read("out/one.jinja")?, OTHER);
    Ok(())
}

/// A model by its id, without a manifest: to the cache, in which the other commands find it, or to a folder.
#[test]
fn a_model_by_its_id() -> Done {
    let scene = Scene::new("by_id", "no manifest")?;
    let hub = format!("HF_ENDPOINT={} unjinja fetch", scene.hub.endpoint());
    scene.hub.put("org/Robin-7B", "main", "chat_template.jinja", file(TEMPLATE));
    scene.hub.put("org/Robin-7B", "main", "tokenizer_config.json", file(r#"{"bos_token": "<s>"}"#));
    let run = |command: &str| scene.folder.run(command, br#"[{"role": "user", "content": "Hi"}]"#);
    let before = run("unjinja analyze org/Robin-7B")?;
    assert!(before.stderr.contains("; `unjinja fetch org/Robin-7B` downloads its template"), "{}", before.stderr);
    let said = run(&format!("{hub} org/Robin-7B"))?;
    assert_eq!(
        said.stdout, "org/Robin-7B: new in the Hub's cache org/Robin-7B, chat_template.jinja\n1 new\n",
        "{}",
        said.stderr
    );
    assert_eq!(run(&format!("{hub} org/Robin-7B"))?.stdout, "1 unchanged\n");
    assert_eq!(run("unjinja render org/Robin-7B")?.stdout, "<user>Hi");
    assert_eq!(run(&format!("{hub} org/Robin-7B --out out"))?.code, 0);
    assert_eq!(scene.folder.read("out/org-Robin-7B.jinja")?, TEMPLATE);
    assert_eq!(run(&format!("{hub} org/../etc --out out"))?.code, 2);
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
    assert!(scene.folder.read("out/one.jinja").is_err());
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
    assert_eq!(scene.folder.read("out/one.jinja")?, OTHER);
    Ok(())
}

#[test]
fn the_cache_is_the_hubs() -> Done {
    let scene = Scene::new("cache", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "tokenizer_config.json", file(&json!({"chat_template": TEMPLATE}).to_string()));
    let commit = scene.hub.commit("org/one");
    let wanted = ["chat_template.jinja", "chat_template.json", "tokenizer_config.json"];
    let asked = |method: &str| -> Vec<String> {
        let asked = scene.hub.asked().into_iter();
        asked.map(|asked| format!("{} {}", asked.method, asked.path)).filter(|one| one.starts_with(method)).collect()
    };
    assert_eq!(scene.fetch("", "")?.code, 0);
    assert_eq!(asked(""), wanted.map(|file| format!("GET /org/one/resolve/main/{file}")));
    // Where other clients look.
    let model = "hf_home/hub/models--org--one";
    assert_eq!(scene.folder.read(&format!("{model}/refs/main"))?, commit);
    assert!(scene.folder.read(&format!("{model}/snapshots/{commit}/tokenizer_config.json"))?.contains("chat_template"));
    assert_eq!(scene.folder.read(&format!("{model}/.no_exist/{commit}/chat_template.jinja"))?, "");
    assert_eq!(scene.fetch("", "")?.stdout, "1 unchanged\n");
    let again = asked("GET /org/one/resolve/main/tokenizer_config.json");
    assert!(again.is_empty(), "nothing is read twice: {again:?}");
    // Without a network the cache is used; another cache is empty.
    let nowhere = "HF_ENDPOINT=http://127.0.0.1:9";
    assert_eq!(scene.fetch(nowhere, "")?.stdout, "1 unchanged\n");
    assert_eq!(scene.fetch(&format!("{nowhere} HF_HUB_CACHE=elsewhere"), "")?.code, 1);
    assert_eq!(scene.fetch("HF_HUB_OFFLINE=1", "")?.stdout, "1 unchanged\n");
    let said = scene.fetch("HF_HUB_OFFLINE=1 HF_HUB_CACHE=elsewhere", "")?;
    assert!(said.stderr.ends_with("it is not in the cache; unset HF_HUB_OFFLINE to download it\n"), "{}", said.stderr);
    // A commit cannot change, so nothing is requested.
    scene.hub.asked();
    scene.folder.write("sources.toml", entry("one", &format!("revision = \"{commit}\"")).as_bytes())?;
    assert_eq!(scene.fetch("", "")?.stdout, "1 unchanged\n");
    assert!(asked("").is_empty());
    Ok(())
}

#[test]
fn files_of_other_clients_are_used() -> Done {
    let scene = Scene::new("other_clients", &entry("one", ""))?;
    let commit = "0123456789abcdef0123456789abcdef01234567";
    scene.folder.write("cache/models--org--one/refs/main", format!("{commit}\n").as_bytes())?;
    let kept = format!("cache/models--org--one/snapshots/{commit}/chat_template.jinja");
    scene.folder.write(&kept, TEMPLATE.as_bytes())?;
    let said = scene.fetch("HF_ENDPOINT=http://127.0.0.1:9 HF_HUB_CACHE=cache", "")?;
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(scene.folder.read("out/one.jinja")?, TEMPLATE);
    Ok(())
}

#[test]
fn no_name_leads_out_of_the_cache() -> Done {
    let scene = Scene::new("out_of_the_cache", &entry("one", "revision = \"../../outside\""))?;
    scene.hub.put("org/one", "..%2F..%2Foutside", "chat_template.jinja", file(TEMPLATE));
    assert_eq!(scene.fetch("", "")?.code, 0);
    assert!(scene.folder.read("hf_home/hub/outside").is_err() && scene.folder.read("hf_home/outside").is_err());
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
    let own = |status: u16| {
        scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Status(status, ""));
        Ok::<_, Box<dyn Error>>(scene.fetch("HF_TOKEN=hf_old", "")?.stderr)
    };
    assert!(own(401)?.contains("the Hub does not accept the token (401): set HF_TOKEN to another, or log in again"));
    assert!(said(429, "")?.contains("too many requests (429): try again later"));
    assert!(said(500, "Oops")?.contains("HUB/org/one: the Hub answered 500 Internal Server Error"));
    Ok(())
}

#[test]
fn a_busy_hub_is_asked_again() -> Done {
    let scene = Scene::new("busy", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Busy(503, TEMPLATE.to_owned()));
    let said = scene.fetch("", "")?;
    assert_eq!((said.code, scene.hub.asked().len()), (0, 2), "{}", said.stderr);
    Ok(())
}

#[test]
fn an_endpoint_that_is_no_address_is_named() -> Done {
    let scene = Scene::new("endpoint", &entry("one", ""))?;
    for endpoint in ["huggingface.co", "ftp://mirror", "https://me:secret@mirror"] {
        let said = scene.folder.run(&format!("HF_ENDPOINT={endpoint} unjinja fetch --out out"), b"")?;
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(said.stderr.contains("check HF_ENDPOINT") && !said.stderr.contains("secret"), "{}", said.stderr);
    }
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
        "the file holds 2 templates: `default`, `rag`; choose one: org/one#default, or in a manifest template = \"default\"",
    ),
];

#[test]
fn what_is_not_a_template_is_not_written() -> Done {
    for (index, (name, text, expected)) in NO_TEMPLATES.into_iter().enumerate() {
        let scene = Scene::new(&format!("no_template_{index}"), &entry("one", ""))?;
        scene.hub.put("org/one", "main", name, file(text));
        let error = scene.error("")?;
        assert!(error.starts_with(&format!("error: one: HUB/org/one, {name}: {expected}")), "{error}");
        assert!(scene.folder.read("out/one.jinja").is_err(), "{name}: {text}");
    }
    let scene = Scene::new("no_hub", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Page("<html>Log in</html>".to_owned()));
    let error = scene.error("")?;
    assert!(
        error.contains("HUB/org/one: the answer is not one of the Hub: it has no header x-repo-commit with a commit; check HF_ENDPOINT"),
        "{error}"
    );
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Moved("https://127.0.0.1:1/".to_owned()));
    assert!(scene.error("")?.contains("no connection to "), "a redirection to nowhere");
    scene.hub.put(
        "org/one",
        "main",
        "chat_template.jinja",
        Answer::Moved("/org/one/resolve/main/chat_template.jinja".to_owned()),
    );
    assert!(scene.error("")?.contains("it is the last of 10 redirections"), "a redirection to itself");
    scene.hub.put("org/one", "main", "chat_template.jinja", Answer::Part(40_000_000));
    assert!(scene.error("")?.contains("the file is larger than 33554432 bytes: it is not a template"), "a large file");
    Ok(())
}

#[test]
fn a_spoilt_cache_is_read_anew() -> Done {
    let scene = Scene::new("spoilt", &entry("one", ""))?;
    scene.hub.put("org/one", "main", "chat_template.jinja", file(TEMPLATE));
    assert_eq!(scene.fetch("", "")?.code, 0);
    let commit = scene.hub.commit("org/one");
    scene
        .folder
        .write(&format!("hf_home/hub/models--org--one/snapshots/{commit}/chat_template.jinja"), b"Forbidden")?;
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
    let places = ["HF_HOME=with_token", "HF_TOKEN_PATH=with_token/token HF_HUB_CACHE=another"].map(str::to_owned);
    for environment in places.into_iter().chain([format!("HF_TOKEN={TOKEN}")]) {
        scene.folder.write("with_token/token", format!("{TOKEN}\n").as_bytes())?;
        let said = scene.fetch(&environment, "")?;
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert_eq!(scene.folder.read("out/one.jinja")?, TEMPLATE);
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
    scene.folder.write("out/hermes.jinja", &fs::read(root().join("templates/hermes.jinja"))?)?;
    let said = scene.folder.run("unjinja analyze out --sources sources.toml -o specs", b"")?;
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(scene.folder.read("specs/hermes.toml")?.contains("source = \"org/hermes (tool_use)\"\n"));
    assert_eq!(scene.folder.run("unjinja check out --specs specs --sources sources.toml", b"")?.code, 0);
    // A downloaded template does not contain the model's tokens; the manifest does.
    let ending = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}";
    scene.folder.write("out/hermes.jinja", ending.as_bytes())?;
    scene.folder.write("sources.toml", entry("hermes", "eos_token = \"<end>\"").as_bytes())?;
    assert_eq!(scene.folder.run("unjinja analyze out --sources sources.toml -o specs", b"")?.code, 0);
    let spec = scene.folder.read("specs/hermes.toml")?;
    assert!(spec.contains("end = \"<end>\"\n") && spec.contains("eos = \"<end>\"\n"), "{spec}");
    Ok(())
}

/// A repository on loopback that follows `docs/watch-templates.md`, and a program in the place of `gh` that keeps a record.
#[cfg(unix)]
struct Watched {
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
    steps: Vec<workflow::WorkflowStep>,
}

#[cfg(unix)]
impl Watched {
    /// Commits what the page says.
    fn new(hub: &Hub, manifest: &str) -> Result<Self, Box<dyn Error>> {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let commands = crate::support::folder("fetch", "watched")?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fetch/watched");
        let gh = "#!/bin/sh\necho \"$1 $2 $3\" >> \"$HOME/gh.txt\"\ncase $2 in\n\
                  list) if [ -e \"$HOME/opened\" ]; then echo 7; fi;;\ncreate) touch \"$HOME/opened\";;\nesac\n";
        commands.write("bin/gh", gh.as_bytes())?;
        fs::set_permissions(folder.join("bin/gh"), fs::Permissions::from_mode(0o755))?;
        symlink(env!("CARGO_BIN_EXE_unjinja"), folder.join("bin/unjinja"))?;
        let path = std::env::var("PATH")?;
        let environment = vec![
            ("PATH", format!("{}:{path}", folder.join("bin").display())),
            ("HOME", folder.display().to_string()),
            ("HF_HOME", folder.join("hf_home").display().to_string()),
            ("HF_ENDPOINT", hub.endpoint()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("GITHUB_STEP_SUMMARY", folder.join("summary.md").display().to_string()),
        ];
        let page = fs::read_to_string(root().join("docs/watch-templates.md"))?;
        let steps = workflow::steps(workflow::block(&page, "yaml")?);
        let watched = Self { folder, environment, steps };
        commands.write("repository/sources.toml", manifest.as_bytes())?;
        let setup = "git init -q -b main . && git config user.name a && git config user.email a@b";
        watched.shell("repository", setup)?;
        watched.shell("repository", workflow::block(&page, "sh")?)?;
        let commit = "git add . && git commit -qm specs && git clone -q --bare . ../origin.git";
        watched.shell("repository", commit)?;
        Ok(watched)
    }

    fn shell(&self, folder: &str, script: &str) -> Result<String, Box<dyn Error>> {
        let mut command = workflow::bash(script, &self.folder.join(folder));
        let output = command.envs(self.environment.iter().map(|(name, value)| (name, value))).output()?;
        let said = String::from_utf8([output.stdout, output.stderr].concat())?;
        if output.status.success() { Ok(said) } else { Err(format!("{script}: {said}").into()) }
    }

    /// Runs the workflow on a new checkout. Returns whether it succeeds, what it printed, and what was asked of `gh`.
    fn day(&self, name: &str) -> Result<(bool, String, String), Box<dyn Error>> {
        let _ = fs::remove_file(self.folder.join("gh.txt"));
        let _ = fs::remove_file(self.folder.join("summary.md"));
        self.shell(".", &format!("git clone -q origin.git {name}"))?;
        let (is_well, printed) = workflow::run(&self.steps, &self.folder.join(name), &self.environment)?;
        let summary = fs::read_to_string(self.folder.join("summary.md"))?;
        let asked = fs::read_to_string(self.folder.join("gh.txt")).unwrap_or_default();
        Ok((is_well, printed + &summary, asked))
    }
}

#[cfg(unix)]
#[test]
fn the_workflow_of_the_page_watches_templates() -> Done {
    let hub = Hub::start()?;
    let hermes = fs::read_to_string(root().join("templates/hermes.jinja"))?;
    let ending = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}\
                  {% if add_generation_prompt %}<|assistant|>{% endif %}";
    let put = |model: &str, answer: Answer| hub.put(&format!("org/{model}"), "main", "chat_template.jinja", answer);
    put("hermes", file(&hermes));
    put("ending", file(ending));
    put("plain", file(OTHER));
    let manifest = [entry("hermes", ""), entry("ending", "eos_token = \"<end>\""), entry("plain", "")].concat();
    let watched = Watched::new(&hub, &manifest)?;
    assert_eq!(watched.steps.len(), 5, "{:?}", watched.steps);

    let (is_well, printed, asked) = watched.day("unchanged")?;
    assert!(is_well && printed.contains("### Format specs: 3 unchanged\n") && asked.is_empty(), "{printed}{asked}");
    assert_eq!(watched.shell("origin.git", "git branch --list 'templates*'")?, "");

    // A changed comment breaks nothing, and is proposed all the same.
    put("hermes", file(&format!("{{# New. #}}{hermes}")));
    let (is_well, printed, asked) = watched.day("comment")?;
    assert!(is_well && printed.contains("### Format specs: 1 changed, 2 unchanged\n"), "{printed}");
    assert_eq!(asked, "pr list --head\npr create --head\n", "{printed}");
    let proposed = watched.shell("origin.git", "git diff --stat=200 main templates-upstream")?;
    assert!(proposed.contains("specs/hermes.toml") && proposed.contains("2 files changed"), "{proposed}");

    // A model that cannot be read stops no other, and the pull request remains the same.
    put("hermes", file(&hermes.replace("tool_call>", "call>")));
    put("plain", Answer::Status(403, "GatedRepo"));
    let (is_well, printed, asked) = watched.day("breaking")?;
    assert!(!is_well && printed.contains("error: plain: "), "{printed}");
    assert!(printed.contains("::error file=specs/hermes.toml,") && printed.contains("title=breaking%3A "), "{printed}");
    assert_eq!(asked, "pr list --head\npr edit 7\n", "{printed}");
    assert_eq!(watched.shell("origin.git", "git rev-list --count main..templates-upstream")?, "1\n");
    Ok(())
}

/// The commands of CONTRIBUTING.md, in a copy of what they change.
#[test]
fn a_model_can_be_added_without_the_corpus() -> Done {
    let generated = root().join("generated");
    let manifest = fs::read_to_string(generated.join("sources.toml"))? + "\n" + &entry("robin", "");
    let scene = Scene::new("add_a_model", "")?;
    scene.folder.write("generated/sources.toml", manifest.as_bytes())?;
    for one in fs::read_dir(generated.join("specs"))? {
        let one = one?;
        scene
            .folder
            .write(&format!("generated/specs/{}", one.file_name().to_string_lossy()), &fs::read(one.path())?)?;
    }
    let hermes = fs::read_to_string(root().join("templates/hermes.jinja"))?;
    scene.hub.put("org/robin", "main", "chat_template.jinja", file(&hermes));
    let page = fs::read_to_string(root().join("CONTRIBUTING.md"))?;
    let section =
        page.split_once("## Add a model").and_then(|(_, rest)| rest.split_once("\n## ")).ok_or("no section")?.0;
    let endpoint = scene.hub.endpoint();
    let mut count = 0;
    for command in section.lines().filter_map(|line| line.trim().strip_prefix("cargo run -p unjinja-cli -- ")) {
        count += 1;
        let said = scene.folder.run(&format!("HF_ENDPOINT={endpoint} unjinja {command}"), b"")?;
        assert_eq!(said.code, 0, "{command}: {}{}", said.stdout, said.stderr);
    }
    assert_eq!(count, 2, "{section}");
    assert!(scene.folder.read("generated/specs/robin.toml")?.contains("source = \"org/robin\"\n"));
    Ok(())
}

fn has_the_documented_shape(rows: &Value) -> Done {
    let schema = serde_json::from_str(&fs::read_to_string(root().join("docs/json/fetch.schema.json"))?)?;
    let validator = jsonschema::validator_for(&schema)?;
    let wrong: Vec<String> = validator.iter_errors(rows).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

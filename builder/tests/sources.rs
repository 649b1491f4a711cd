//! Templates from JSON files and folders, and what the special tokens do to a spec.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use unjinja_build::{Build, Input, Source, Templates, sources_in};

type Done = Result<(), Box<dyn Error>>;

/// An empty folder.
fn folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources").join(name);
    if path.exists() {
        fs::remove_dir_all(&path)?;
    }
    fs::create_dir_all(&path)?;
    Ok(path)
}

/// Writes files, making their folders.
fn write(root: &Path, files: &[(&str, &str)]) -> Done {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// A template that writes both special tokens.
const WITH_TOKENS: &str = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\
    {% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

/// What a JSON file is, and the templates in it: name, text, bos, eos.
type Templated =
    (&'static str, &'static [(Option<&'static str>, &'static str, Option<&'static str>, Option<&'static str>)]);

const TEMPLATED: [Templated; 6] = [
    (r#"{"chat_template": "A", "bos_token": "<s>", "eos_token": "</s>"}"#, &[(None, "A", Some("<s>"), Some("</s>"))]),
    (
        r#"{"chat_template": "A", "bos_token": null, "eos_token": {"content": "</s>", "lstrip": false}}"#,
        &[(None, "A", None, Some("</s>"))],
    ),
    (
        r#"{"chat_template": [{"name": "default", "template": "A"}, {"name": "rag", "template": "B"}]}"#,
        &[(Some("default"), "A", None, None), (Some("rag"), "B", None, None)],
    ),
    (
        r#"{"chat_template": {"default": "A", "tool_use": "B"}}"#,
        &[(Some("default"), "A", None, None), (Some("tool_use"), "B", None, None)],
    ),
    (r#"{"chat_template": ""}"#, &[(None, "", None, None)]),
    ("  {\"chat_template\": \"A\\u00e9\"}\n", &[(None, "Aé", None, None)]),
];

#[test]
fn templates_in_json() -> Done {
    for (json, expected) in TEMPLATED {
        // By its name and by its first bytes.
        for path in ["tokenizer_config.json", "-"] {
            let sources = Source::from_bytes(path, json.as_bytes()).map_err(|error| format!("{json}: {error}"))?;
            let found: Vec<_> = sources
                .iter()
                .map(|s| (s.variant.as_deref(), s.text.as_str(), s.tokens.bos.as_deref(), s.tokens.eos.as_deref()))
                .collect();
            assert_eq!(found, expected, "{json}");
        }
    }
    Ok(())
}

/// What a JSON file is, and what is wrong with it.
const WRONG: [(&str, &str); 12] = [
    ("{", "x.json: the file is no JSON: EOF while parsing an object at line 1 column 1"),
    ("[1]", "x.json: the file is JSON, but a list, no object with a `chat_template`"),
    ("{}", "x.json: it holds no `chat_template`, but nothing; many models keep it in a chat_template.jinja beside it"),
    (
        r#"{"a": 1, "b": 2}"#,
        "x.json: it holds no `chat_template`, but `a`, `b`; many models keep it in a chat_template.jinja beside it",
    ),
    (
        r#"{"chat_template": null, "b": 2}"#,
        "x.json: it holds no `chat_template`, but `chat_template`, `b`; many models keep it in a chat_template.jinja beside it",
    ),
    (
        r#"{"chat_template": 7}"#,
        "x.json: `chat_template` is to be a template's text or a list of named ones, but is a number",
    ),
    (r#"{"chat_template": []}"#, "x.json: `chat_template` is empty: it lists no template"),
    (r#"{"chat_template": ["A"]}"#, "x.json: `chat_template[0]` has no `name`: each entry holds `name` and `template`"),
    (
        r#"{"chat_template": [{"name": "a"}]}"#,
        "x.json: `chat_template[0]` has no `template`: each entry holds `name` and `template`",
    ),
    (
        r#"{"chat_template": [{"name": 1, "template": "A"}]}"#,
        "x.json: `chat_template[0].name` is to be a text, but is a number",
    ),
    (r#"{"chat_template": {"a": null}}"#, "x.json: `chat_template.a` is to be a template's text, but is null"),
    (
        r#"{"chat_template": [{"name": "a", "template": "A"}, {"name": "a", "template": "B"}]}"#,
        "x.json: `chat_template` lists two templates called `a`",
    ),
];

#[test]
fn json_without_templates_says_what_it_holds() {
    for (json, expected) in WRONG {
        let error = Source::from_bytes("x.json", json.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, expected, "{json}");
    }
}

#[test]
fn text_is_a_template_whatever_it_begins_with() -> Done {
    for text in ["{%- if x %}{% endif %}", "{{ x }}", "{# c #}", "plain", "", "{ x"] {
        let sources = Source::from_bytes("-", text.as_bytes())?;
        assert_eq!(sources.iter().map(|s| s.text.as_str()).collect::<Vec<_>>(), [text]);
    }
    let source = Source::from_bytes("odd.jinja", br#"{"chat_template": "A"}"#)?;
    assert_eq!(source[0].text, r#"{"chat_template": "A"}"#, "the file's name says what it is");
    let error = Source::from_bytes("x.jinja", b"ab\xff").unwrap_err().to_string();
    assert_eq!(error, "x.jinja: the file is not UTF-8: bad byte at offset 2");
    Ok(())
}

#[test]
fn a_folder_of_all_kinds() -> Done {
    let root = folder("kinds")?;
    let config = |template: &str| format!(r#"{{"chat_template": "{template}", "eos_token": "</s>"}}"#);
    write(
        &root,
        &[
            ("plain.jinja", "P"),
            ("notes.md", "no template"),
            ("tools.json", "[]"),
            ("apple.tokenizer_config.json", &config("A")),
            ("Bare/tokenizer_config.json", r#"{"model_max_length": 4096}"#),
            ("Both/chat_template.jinja", "J"),
            ("Both/chat_template.json", r#"{"chat_template": "not read"}"#),
            ("Both/tokenizer_config.json", &config("not read")),
            ("Both/additional_chat_templates/rag.jinja", "R"),
            ("Cfg/tokenizer_config.json", &config("C")),
            ("Deep/er/tokenizer_config.json", &config("not read")),
            ("Wrong/tokenizer_config.json", "{"),
        ],
    )?;
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gguf/named.gguf"), root.join("named.gguf"))?;
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gguf/bare.gguf"), root.join("bare.gguf"))?;
    let found: Vec<String> = sources_in(&root)?
        .into_iter()
        .map(|source| match source {
            Ok(source) => format!("{} {} {:?}", source.name(), source.file(), source.tokens.eos.unwrap_or_default()),
            Err(error) => error.to_string().replace(&root.display().to_string(), ""),
        })
        .collect();
    let expected = [
        "both_rag rag.jinja \"</s>\"",
        "both chat_template.jinja \"</s>\"",
        "cfg tokenizer_config.json \"</s>\"",
        "/Wrong/tokenizer_config.json: the file is no JSON: EOF while parsing an object at line 1 column 1",
        "apple apple.tokenizer_config.json \"</s>\"",
        "named named.gguf#default \"</s>\"",
        "named_tool_use named.gguf#tool_use \"</s>\"",
        "named_rag named.gguf#rag \"</s>\"",
        "plain plain.jinja \"\"",
    ];
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn a_file_that_keeps_its_template_elsewhere_says_where() -> Done {
    let root = folder("elsewhere")?;
    write(&root, &[("chat_template.jinja", "J"), ("tokenizer_config.json", r#"{"eos_token": "</s>"}"#)])?;
    let error = Source::read(root.join("tokenizer_config.json")).unwrap_err().to_string();
    assert!(error.contains("it holds no `chat_template`, but `eos_token`; there is also "), "{error}");
    assert!(error.ends_with("chat_template.jinja"), "{error}");
    let error = Source::read(root.join("chat_template.jinja#rag")).unwrap_err().to_string();
    assert!(
        error.contains("it holds one template, without a name, and none called `rag`: leave `#rag` out"),
        "{error}"
    );
    Ok(())
}

#[test]
fn special_tokens_are_in_the_spec() -> Done {
    let root = folder("tokens")?;
    let config =
        serde_json::json!({"chat_template": WITH_TOKENS, "bos_token": "<begin>", "eos_token": {"content": "<end>"}});
    write(&root, &[("M/tokenizer_config.json", &config.to_string()), ("plain.jinja", WITH_TOKENS)])?;
    let known = Build::new(Input::template(root.join("M/tokenizer_config.json"))).spec()?;
    assert_eq!(known.template.name, "m");
    assert_eq!(known.turn.end, "<end>\n");
    assert_eq!((known.tokens.bos.as_deref(), known.tokens.eos.as_deref()), (Some("<begin>"), Some("<end>")));
    assert_eq!(known.evidence.round_trips.held, known.evidence.round_trips.tried);
    let unknown = Build::new(Input::template(root.join("plain.jinja"))).spec()?;
    assert_eq!(unknown.turn.end, "\n");
    assert!(!unknown.to_toml().contains("eos"), "what nobody said is not in the spec");
    assert_eq!(known.template.sha256, unknown.template.sha256);
    Ok(())
}

#[test]
fn a_build_script_takes_all_kinds() -> Done {
    let root = folder("build")?;
    let config = serde_json::json!({"chat_template": WITH_TOKENS, "eos_token": "<end>"}).to_string();
    write(
        &root,
        &[
            ("M/tokenizer_config.json", &config),
            ("M/m.overlay.toml", "[turn]\n# So says who trained it.\nend = \"<stop>\"\n"),
        ],
    )?;
    let specs = Templates::new(&root).specs()?;
    assert_eq!(specs.iter().map(|spec| spec.turn.end.as_str()).collect::<Vec<_>>(), ["<stop>"]);
    write(&root, &[("m.jinja", WITH_TOKENS)])?;
    let error = Templates::new(&root).specs().unwrap_err().to_string();
    assert_eq!(error, "tokenizer_config.json and m.jinja both make a parser named `m`");
    Ok(())
}

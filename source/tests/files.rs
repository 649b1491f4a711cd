//! Templates from JSON files and from folders, and the error for each kind of file that has none.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unjinja_source::{Source, SourceErrorKind, sources_in};

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

/// The text of a JSON file, and the templates in it: name, text, bos, eos.
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

#[test]
fn a_jinja_file_gets_the_tokens_of_its_folder() -> Done {
    let root = folder("tokens_next_to")?;
    let config = r#"{"bos_token": "<s>", "chat_template": "not read"}"#;
    write(&root, &[("corrected.jinja", "A"), ("tokenizer_config.json", config)])?;
    let source = Source::read_one(root.join("corrected.jinja"))?;
    assert_eq!((source.text.as_str(), source.tokens.bos.as_deref(), source.knows_tokens()), ("A", Some("<s>"), true));
    Ok(())
}

/// `special_tokens_map.json` counts where `tokenizer_config.json` has no `added_tokens_decoder`.
#[test]
fn tokens_of_a_map() -> Done {
    let map = r#"{"bos_token": {"content": "<b>", "lstrip": false}, "pad_token": "<p>", "image_token": "<m>"}"#;
    let cases = [
        (
            r#"{"bos_token": "<s>", "image_token": "<i>", "chat_template": "A"}"#,
            Some("<b>"),
            json!({"pad_token": "<p>", "image_token": "<i>"}),
        ),
        (r#"{"bos_token": "<s>", "chat_template": "A", "added_tokens_decoder": {}}"#, Some("<s>"), json!({})),
    ];
    for (number, (config, bos, others)) in cases.into_iter().enumerate() {
        let root = folder(&format!("tokens_map_{number}"))?;
        write(&root, &[("tokenizer_config.json", config), ("special_tokens_map.json", map), ("t.jinja", "A")])?;
        for file in ["t.jinja", "tokenizer_config.json"] {
            let tokens = Source::read_one(root.join(file))?.tokens;
            assert_eq!((tokens.bos.as_deref(), Value::Object(tokens.others)), (bos, others.clone()), "{config} {file}");
        }
    }
    Ok(())
}

/// The tokens that a tokenizer hands to its template in addition to `bos_token` and `eos_token`.
#[test]
fn other_tokens_in_json() -> Done {
    let cases = [
        (r#"{"chat_template": "A", "eos_token": "</s>"}"#, json!({})),
        (
            r#"{"chat_template": "A", "pad_token": "<pad>", "unk_token": null, "sep_token": {"content": "<sep>"},
                "cls_token": "", "mask_token": 7, "cls_token_id": 3}"#,
            json!({"pad_token": "<pad>", "sep_token": "<sep>", "cls_token": ""}),
        ),
        (
            r#"{"chat_template": "A", "additional_special_tokens": ["<a>", {"content": "<b>"}],
                "extra_special_tokens": {"image_token": "<image>"}}"#,
            json!({"image_token": "<image>"}),
        ),
        // As transformers 5.24 has them, read from a folder with each of these files.
        (
            r#"{"chat_template": "A", "image_token": "<img>", "model_specific_special_tokens": {"image_token": "<i>", "eot": "<e>"}}"#,
            json!({"image_token": "<img>"}),
        ),
        (
            r#"{"chat_template": "A", "model_specific_special_tokens": {"image_token": "<i>", "eot": "<e>"}}"#,
            json!({"image_token": "<i>", "eot": "<e>"}),
        ),
        (
            r#"{"chat_template": "A", "boi_token": {"__type": "AddedToken", "content": "<boi>"}, "eoi_token": {"content": "<eoi>"},
                "add_bos_token": true, "token_limit": "7"}"#,
            json!({"boi_token": "<boi>"}),
        ),
        // A list gives the tokens no names.
        (r#"{"chat_template": "A", "extra_special_tokens": ["<a>"], "additional_special_tokens": []}"#, json!({})),
    ];
    for (json, expected) in cases {
        let sources = Source::from_bytes("tokenizer_config.json", json.as_bytes())?;
        assert_eq!(Value::Object(sources[0].tokens.others.clone()), expected, "{json}");
    }
    Ok(())
}

/// The special tokens of a file, which are in three places; without all of them nothing is known.
#[test]
fn special_tokens_in_json() -> Done {
    let cases: [(&str, Option<&[&str]>); 5] = [
        (r#"{"chat_template": "A", "extra_special_tokens": ["<a>", "<b>"]}"#, Some(&["<a>", "<b>"])),
        (r#"{"chat_template": "A", "eos_token": "</s>"}"#, None),
        (r#"{"chat_template": "A", "additional_special_tokens": []}"#, None),
        (r#"{"chat_template": "A", "additional_special_tokens": ["<b>", {"content": "<a>"}]}"#, Some(&["<a>", "<b>"])),
        (
            r#"{"chat_template": "A", "additional_special_tokens": ["<a>"], "added_tokens_decoder": {
                "1": {"content": "<a>", "special": true}, "2": {"content": "<c>", "special": true},
                "3": {"content": "<d>", "special": false}, "4": {"special": true}}}"#,
            Some(&["<a>", "<c>"]),
        ),
    ];
    for (json, expected) in cases {
        let sources = Source::from_bytes("tokenizer_config.json", json.as_bytes())?;
        let found = sources[0].special_tokens.as_ref();
        let found: Option<Vec<&str>> = found.map(|tokens| tokens.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected, "{json}");
    }
    Ok(())
}

/// The text of a JSON file, and the error.
const WRONG: [(&str, &str); 12] = [
    ("{", "x.json: the file is not valid JSON: EOF while parsing an object at line 1 column 1"),
    ("[1]", "x.json: the file is a list in JSON; expected an object with the key `chat_template`"),
    (
        "{}",
        "x.json: the file has no template under `chat_template`: the object is empty; many models keep the template in a file chat_template.jinja next to it",
    ),
    (
        r#"{"a": 1, "b": 2}"#,
        "x.json: the file has no template under `chat_template`: it has `a`, `b`; many models keep the template in a file chat_template.jinja next to it",
    ),
    (
        r#"{"chat_template": null, "b": 2}"#,
        "x.json: the file has no template under `chat_template`: it has `chat_template`, `b`; many models keep the template in a file chat_template.jinja next to it",
    ),
    (
        r#"{"chat_template": 7}"#,
        "x.json: `chat_template` must be a string with a template, or a list of named templates, but is a number",
    ),
    (r#"{"chat_template": []}"#, "x.json: `chat_template` is empty: it lists no template"),
    (r#"{"chat_template": ["A"]}"#, "x.json: `chat_template[0]` has no `name`; each entry needs `name` and `template`"),
    (
        r#"{"chat_template": [{"name": "a"}]}"#,
        "x.json: `chat_template[0]` has no `template`; each entry needs `name` and `template`",
    ),
    (
        r#"{"chat_template": [{"name": 1, "template": "A"}]}"#,
        "x.json: `chat_template[0].name` must be a string, but is a number",
    ),
    (r#"{"chat_template": {"a": null}}"#, "x.json: `chat_template.a` must be a string with a template, but is null"),
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
            ("Own/chat_template.jinja", "not read"),
            ("Own/additional_chat_templates/default.jinja", "D"),
            ("Hides/tokenizer_config.json", &config("not read")),
            ("Hides/additional_chat_templates/rag.jinja", "R"),
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
        "hides_rag rag.jinja \"</s>\"",
        "own default.jinja \"\"",
        "/Wrong/tokenizer_config.json: the file is not valid JSON: EOF while parsing an object at line 1 column 1",
        "apple apple.tokenizer_config.json \"</s>\"",
        "named named.gguf#default \"</s>\"",
        "named_tool_use named.gguf#tool_use \"</s>\"",
        "named_rag named.gguf#rag \"</s>\"",
        "plain plain.jinja \"\"",
    ];
    assert_eq!(found, expected);
    Ok(())
}

/// A folder is that of a model: its own files, or else its one template.
#[test]
fn one_template_of_a_folder() -> Done {
    let root = folder("one_of_a_folder")?;
    write(
        &root,
        &[
            ("Own/chat_template.jinja", "J"),
            ("Own/other.jinja", "not read"),
            ("Own/additional_chat_templates/rag.jinja", "R"),
            ("Lone/tokenizer_config.json", r#"{"chat_template": "not read"}"#),
            ("Lone/additional_chat_templates/rag.jinja", "L"),
            ("One/plain.jinja", "P"),
            ("Two/a.jinja", "A"),
            ("Two/b.jinja", "B"),
            ("None/notes.md", "no template"),
        ],
    )?;
    let read = |name: &str| Source::read_one(root.join(name)).map_err(|error| error.problem().to_owned());
    let text = |name: &str| read(name).map(|source| source.text);
    assert_eq!([text("Own"), text("Own#rag"), text("One")], ["J", "R", "P"].map(|text| Ok(text.to_owned())));
    assert_eq!(
        [text("Lone#rag"), text("Lone/additional_chat_templates/rag.jinja")],
        ["L", "L"].map(|text| Ok(text.to_owned()))
    );
    assert!(text("Lone").unwrap_err().starts_with("the model has no default template, only one named rag: choose it"));
    assert!(
        text("Two").unwrap_err().starts_with("this is a folder, and one template is needed: name the file, such as ")
    );
    assert!(text("None").unwrap_err().starts_with("the folder holds no template"));
    for (name, next) in
        [("acme/Robin-7B-of-no-cache", "`unjinja fetch acme/Robin-7B-of-no-cache`"), ("robin", "OWNER/NAME")]
    {
        let error = Source::read_one(name).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Unknown);
        assert!(error.problem().contains(next), "{error}");
    }
    Ok(())
}

#[test]
fn a_file_that_keeps_its_template_elsewhere_says_where() -> Done {
    let root = folder("elsewhere")?;
    write(&root, &[("chat_template.jinja", "J"), ("tokenizer_config.json", r#"{"eos_token": "</s>"}"#)])?;
    let error = Source::read(root.join("tokenizer_config.json")).unwrap_err().to_string();
    assert!(error.contains("the file has no template under `chat_template`: it has `eos_token`; try "), "{error}");
    assert!(error.ends_with("chat_template.jinja next to it"), "{error}");
    let error = Source::read(root.join("chat_template.jinja#rag")).unwrap_err().to_string();
    assert!(
        error.contains("the file holds one template, which has no name, so there is no `rag`: leave `#rag` out"),
        "{error}"
    );
    Ok(())
}

#[test]
fn each_error_has_its_kind() -> Done {
    let root = folder("error_kinds")?;
    let config = r#"{"chat_template": [{"name": "default", "template": "A"}, {"name": "rag", "template": "B"}]}"#;
    write(&root, &[("several.json", config), ("empty.json", "{}"), ("damaged.json", "{")])?;
    for (file, kind) in [
        ("nowhere.json", SourceErrorKind::Unreadable),
        ("damaged.json", SourceErrorKind::Invalid),
        ("empty.json", SourceErrorKind::NoTemplate),
        ("several.json#other", SourceErrorKind::UnknownVariant),
        ("several.json", SourceErrorKind::Ambiguous),
    ] {
        let error = Source::read_one(root.join(file)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.is_without_template(), kind == SourceErrorKind::NoTemplate, "{error}");
        assert!(error.path().starts_with(&root), "{error}");
    }
    Ok(())
}

//! From files to specs: the special tokens that a file gives become part of the spec, and a build script takes files of all
//! kinds.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use unjinja_build::{Build, Input, Templates};

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
fn one_template_makes_one_parser() -> Done {
    let root = folder("one_parser")?;
    let config = serde_json::json!({"chat_template": WITH_TOKENS.replace("<|", "<"), "eos_token": "<end>"}).to_string();
    let overlay = "[turn]\n# So says who trained it.\nend = \"<stop>\"\n";
    write(
        &root,
        &[
            ("M/tokenizer_config.json", &config),
            ("M/m.overlay.toml", overlay),
            ("one.jinja", WITH_TOKENS),
            ("one.overlay.toml", overlay),
            ("other.toml", &overlay.replace("stop", "other")),
        ],
    )?;
    // A folder of templates, and each of them alone.
    for (file, folder) in [("M/tokenizer_config.json", root.join("M")), ("one.jinja", root.clone())] {
        let specs = Templates::new(folder).specs()?;
        let loaded = Build::new(Input::template(root.join(file))).load()?;
        assert!(specs.contains(&loaded.spec) && loaded.spec.turn.end == "<stop>", "{file}: {}", loaded.spec.turn.end);
        let applied = loaded.corrections.into_iter().find_map(|one| one.file);
        assert!(applied.is_some_and(|path| path.ends_with("m.overlay.toml") || path.ends_with("one.overlay.toml")));
    }
    let template = || Build::new(Input::template(root.join("one.jinja")));
    assert_eq!(template().overlay(root.join("other.toml")).spec()?.turn.end, "<other>");
    // An overlay goes with the spec that is used.
    let bare = Build::new(Input::template(root.join("one.jinja"))).overlay(root.join("other.toml")).spec()?;
    write(&root, &[("specs/one.toml", &bare.to_toml())])?;
    let ends = || -> Result<[String; 2], Box<dyn Error>> {
        let spec = root.join("specs/one.toml");
        Ok([Build::new(Input::spec(&spec)).spec()?.turn.end, template().committed_spec(spec).spec()?.turn.end])
    };
    assert_eq!(ends()?, ["<other>", "<other>"]);
    write(&root, &[("specs/one.overlay.toml", overlay)])?;
    assert_eq!(ends()?, ["<stop>", "<stop>"]);
    Ok(())
}

/// Takes a template out of use.
const UNSUPPORTED: &str = "# Its model answers in a format of its own.\nstatus = \"unsupported\"\n\
    # See above.\ngaps = [\"the model does not write what the template writes\"]\n";

#[test]
fn an_unsupported_template_is_an_error_unless_it_is_left_out() -> Done {
    let root = folder("unsupported")?;
    let odd = WITH_TOKENS.replace('<', "<<");
    write(&root, &[("fine.jinja", WITH_TOKENS), ("odd.jinja", &odd), ("odd.overlay.toml", UNSUPPORTED)])?;
    let out = root.join("out.rs");
    let error = Templates::new(&root).compile(&out).unwrap_err();
    assert_eq!(error.path(), Some(&*root.join("odd.jinja")));
    let text = error.to_string();
    assert!(text.contains("the format is marked as unsupported: "), "{text}");
    assert!(text.contains("run `unjinja verify TEMPLATE`"), "{text}");
    Templates::new(&root).leave_out_unsupported().compile(&out)?;
    let code = fs::read_to_string(&out)?;
    assert!(code.contains("mod fine") && !code.contains("mod odd"), "{code}");
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
    assert_eq!(error, "tokenizer_config.json and m.jinja would both become the module `m`: rename one of them");
    Ok(())
}

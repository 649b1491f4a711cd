//! Every error of a build says which file is at fault, on which line if there is one, what was expected, what was found,
//! and what to do.

use std::error::Error;
use std::fs;
use std::path::Path;

use unjinja_build::{Build, BuildError, Input, LoadError, SourceErrorKind, Templates};

type Done = Result<(), Box<dyn Error>>;

const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

const FILES: &[(&str, &str)] = &[
    ("good.jinja", TEMPLATE),
    ("other.jinja", "{# another #}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"),
    ("syntax.jinja", "{% for m in messages %}\n{{ m.content }\n{% endfor %}"),
    ("refuses.jinja", "{{ raise_exception('no') }}"),
    ("bad.overlay.toml", "[turn]\n\nend = \"x\"\n"),
    ("tools.json", "{}"),
    (
        "config.json",
        "{\"chat_template\": [{\"name\": \"a\", \"template\": \"\"}, {\"name\": \"b\", \"template\": \"\"}]}",
    ),
];

/// An error, the file at fault, its line, and parts of what it says and of the next step.
type Case = (BuildError, Option<&'static str>, Option<usize>, &'static str, &'static str);

#[test]
fn errors_have_a_place_a_cause_and_a_next_step() -> Done {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors");
    fs::create_dir_all(&root)?;
    for (name, text) in FILES {
        fs::write(root.join(name), text)?;
    }
    let at = |name: &str| root.join(name);
    let template = |name: &str| Build::new(Input::template(at(name)));
    let spec = template("good.jinja").spec()?.to_toml();
    fs::write(at("good.toml"), &spec)?;
    let bad = spec.replacen("\n[template]", "\ncolour = \"red\"\n\n[template]", 1);
    let bad_line = bad.lines().position(|line| line.starts_with("colour")).map(|index| index + 1);
    fs::write(at("bad.toml"), &bad)?;
    let error = |build: &Build| build.tokens().map(|_| ()).unwrap_err();
    let cases: [Case; 9] = [
        (error(&template("none.jinja")), Some("none.jinja"), None, "No such file", "another file"),
        (error(&template("config.json")), Some("config.json"), None, "2 templates", "FILE#NAME"),
        (error(&template("syntax.jinja")), Some("syntax.jinja"), Some(2), "}", "correct the template"),
        (error(&template("refuses.jinja")), Some("refuses.jinja"), None, "no", "unjinja explain"),
        (
            error(&Build::new(Input::spec(at("bad.toml")))),
            Some("bad.toml"),
            bad_line,
            "unknown key `colour`",
            "remove it",
        ),
        (
            error(&template("good.jinja").overlay(at("bad.overlay.toml"))),
            Some("bad.overlay.toml"),
            Some(3),
            "`turn.end` gives no reason",
            "comment",
        ),
        (
            error(&template("other.jinja").committed_spec(at("good.toml"))),
            Some("good.toml"),
            None,
            "another template",
            "unjinja check",
        ),
        (
            error(&template("good.jinja").tools(at("tools.json"))),
            Some("tools.json"),
            None,
            "list of tools",
            "JSON list",
        ),
        (Templates::new(at("nowhere")).specs().unwrap_err(), Some("nowhere"), None, "No such file", ""),
    ];
    for (error, path, line, says, next) in cases {
        let shown = error.to_string();
        assert_eq!(format!("{error:?}"), shown);
        assert_eq!(error.path(), path.map(at).as_deref(), "{shown}");
        assert_eq!(error.line(), line, "{shown}");
        assert!(shown.contains(says), "{shown}");
        assert!(error.next_step().contains(next), "{}: {shown}", error.next_step());
    }
    Ok(())
}

#[test]
fn errors_of_types_say_what_is_missing_or_wrong() -> Done {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("type_errors");
    fs::create_dir_all(&root)?;
    fs::write(root.join("good.jinja"), TEMPLATE)?;
    fs::write(root.join("tools.json"), r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "int"}}}}]"#)?;
    let build = Build::new(Input::template(root.join("good.jinja")));
    let error = |build: &Build| build.tokens().map(|_| ()).unwrap_err();
    let none = error(&build.clone().types());
    assert!(matches!(none, BuildError::TypesWithoutTools), "{none:?}");
    assert!(none.to_string().contains("no tools were given") && none.path().is_none(), "{none}");

    let bad = error(&build.tools(root.join("tools.json")).types());
    let folder = Templates::new(&root).tools(root.join("tools.json")).types().compile(root.join("out.rs")).unwrap_err();
    assert_eq!(bad.to_string(), folder.to_string());
    if cfg!(feature = "types") {
        assert_eq!(bad.path(), Some(root.join("tools.json").as_path()));
        assert!(bad.to_string().contains("tool `f`, parameters.properties.a.type: "), "{bad}");
        assert!(bad.next_step().contains("correct the file"), "{}", bad.next_step());
    } else {
        assert!(matches!(bad, BuildError::TypesNotCompiled), "{bad:?}");
        assert!(bad.to_string().contains("need the feature `types`"), "{bad}");
    }
    Ok(())
}

#[test]
fn errors_of_a_folder_come_all_at_once() -> Done {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("folder_errors");
    fs::create_dir_all(&root)?;
    for (name, text) in [("a.jinja", "{{ x }"), ("b.json.gguf", "GGUF"), ("c.jinja", "{% for %}")] {
        fs::write(root.join(name), text)?;
    }
    match Templates::new(&root).specs().unwrap_err() {
        BuildError::Several(errors) => {
            let syntax =
                errors.iter().filter(|error| matches!(error, BuildError::Load(LoadError::Template { .. }))).count();
            let invalid = |error: &&BuildError| matches!(error, BuildError::Load(LoadError::Source(error)) if error.kind() == SourceErrorKind::Invalid);
            assert_eq!((errors.len(), syntax, errors.iter().filter(invalid).count()), (3, 2, 1), "{errors:?}");
        }
        other => return Err(format!("one error: {other:?}").into()),
    }
    Ok(())
}

//! Every template and every committed spec of the project loads at run time, and its model reads what the interpreter of the
//! code generator reads.

use std::fs;
use std::path::PathBuf;

use unjinja_dynamic::{ChatParser, ChatStream, Loader, Message, Model, ModelStream, Options, Status, Tools};
use unjinja_testkit::{Failure, root, sample, share};

/// Streams and models can be moved between tasks.
const _: () = {
    const fn is_owned<T: Send + Sync + 'static>() {}
    const fn moves<T: Send + 'static>() {}
    is_owned::<Model>();
    is_owned::<Loader>();
    is_owned::<unjinja_dynamic::Loaded>();
    is_owned::<unjinja_dynamic::ModelError>();
    moves::<ModelStream>();
};

/// The files of a folder with this extension, in the order of their names.
pub fn files(folder: &str, extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(root().join(folder))?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, Failure>>()?;
    paths.retain(|path| path.extension().is_some_and(|known| known == extension));
    paths.sort();
    Ok(paths)
}

/// The outputs of the cases of a template.
fn outputs(stem: &str) -> Result<Vec<String>, Failure> {
    let cases: toml::Table = fs::read_to_string(root().join(format!("tests/cases/{stem}.toml")))?.parse()?;
    let cases = cases["case"].as_array().ok_or("no cases")?;
    Ok(cases.iter().filter_map(|case| Some(case.get("output")?.as_str()?.to_owned())).collect())
}

fn streamed(mut stream: ModelStream, output: &str) -> Message {
    let mut message = Message::default();
    for piece in output.as_bytes().chunks(3) {
        stream.push_bytes(piece, &mut |event| message.apply(&event));
    }
    stream.finish(|event| message.apply(&event));
    message
}

#[test]
fn every_template_of_the_project_loads_and_reads_its_calls() -> Result<(), Failure> {
    let options = Options::new().tools(&Tools::from_json(&fs::read_to_string(root().join("tests/cases/tools.json"))?)?);
    let (mut with_calls, mut seen) = (0, 0);
    for path in sample(files("templates", "jinja")?, 3) {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path)?;
        let model = Model::from_template(&text).map_err(|error| format!("{name}: {error}"))?;
        assert_eq!(model.template(), Some(&*text), "{name}");
        assert_eq!(model.status() == Status::Supported, model.gaps().is_empty(), "{name}");
        if !model.status().makes_parser() {
            continue;
        }
        let reference = unjinja_codegen::interpreter(model.spec())?;
        let mut calls = 0;
        for output in outputs(&path.file_stem().unwrap_or_default().to_string_lossy())? {
            seen += 1;
            let message = model.parse(&output, &options);
            assert_eq!(message, reference.parse(output.as_str().into(), &options), "{name}: {output}");
            assert_eq!(message, model.parse_borrowed(&output, &options).into_owned(), "{name}: {output}");
            assert_eq!(message, streamed(model.stream(&options), &output), "{name}: {output}");
            calls += message.tool_calls.len();
        }
        with_calls += usize::from(calls > 0);
    }
    assert!(
        with_calls > share(30, 3) && seen > share(150, 3),
        "{with_calls} templates and {seen} outputs are too few to show anything"
    );
    Ok(())
}

#[test]
fn every_committed_spec_loads() -> Result<(), Failure> {
    let mut seen = 0;
    for path in sample(files("generated/specs", "toml")?, 3) {
        if path.to_string_lossy().ends_with(".overlay.toml") {
            continue;
        }
        seen += 1;
        let loader = Loader::new().without_known_formats();
        let bare =
            loader.from_spec(&fs::read_to_string(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        assert_eq!((bare.template(), bare.corrections().len()), (None, 0));
        // From the file, with the overlay next to it.
        let model = Model::from_file(&path)?;
        assert_eq!(model.corrections().len(), usize::from(path.with_extension("overlay.toml").is_file()));
        assert_eq!(model.parser().info().name, path.file_stem().unwrap_or_default().to_string_lossy());
    }
    assert!(seen > share(40, 3), "{seen} specs");
    Ok(())
}

#[test]
fn a_model_without_a_parser_for_calls_still_reads_the_rest() -> Result<(), Failure> {
    // The calls of this template have no markers, so the spec language cannot express them.
    let text = "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}\
        {% for c in m.tool_calls or [] %}{{ c.function.name | upper | reverse }}{{ c.function.arguments | string | length }}\
        {% endfor %}</>{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let model = Model::from_template(text)?;
    assert_ne!(model.status(), Status::Supported);
    assert_ne!(model.gaps(), &[] as &[String]);
    assert_eq!(model.parse("Hello!</>", &Options::new()).content, "Hello!");

    // The same for a spec that says so.
    let spec = model.spec().to_toml().replacen(r#"status = "partial""#, r#"status = "unsupported""#, 1);
    let model = Model::from_spec(&spec)?;
    assert_eq!(model.status(), Status::Unsupported);
    assert_eq!(model.parse("Hello!</>", &Options::new()).content, "Hello!");
    Ok(())
}

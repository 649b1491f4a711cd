//! Every front end makes the same program of the same template: the macro, the build script, `unjinja-dynamic`, the command and the
//! proxy, with an overlay and without. The Python package compares itself with the command (`tests/test_front_ends.py`).

use std::fs;
use std::path::{Path, PathBuf};

use unjinja_build::{Build, Input, Templates};
use unjinja_dynamic::{FormatSpec, Loader, Model, Reason};
use unjinja_testkit::commands::CommandFolder;
use unjinja_testkit::{Failure, root};

/// No overlay is next to this template.
mod plain {
    unjinja::include_template_parser!("../templates/hermes.jinja");
}

/// `corrected.overlay.toml` is next to this template.
mod corrected {
    unjinja::include_template_parser!("../unjinja/tests/satellite/templates/corrected/corrected.jinja");
}

const CORRECTED: &str = "unjinja/tests/satellite/templates/corrected/corrected.jinja";

/// Templates of the project in four kinds of formats.
const TEMPLATES: [&str; 4] = ["hermes", "qwen3", "python_calls", "xml_parameters"];

/// Changes every program: each of these formats marks the end of a turn.
const OVERLAY: &str = "[alternatives]\n# Only a test knows it.\n'turn.end' = ['<|other|>']\n";

/// The program of a spec, as text.
fn program(spec: &FormatSpec) -> Result<String, Failure> {
    Ok(format!("{:?}", unjinja_codegen::program(spec)?))
}

/// A folder that holds one template and perhaps its overlay.
struct Case {
    folder: CommandFolder,
    path: PathBuf,
}

impl Case {
    fn new(name: &str, template: &str, overlay: Option<&str>) -> Result<Self, Failure> {
        let folder = crate::support::folder("one_program", name)?;
        folder.write("template/robin.jinja", template.as_bytes())?;
        if let Some(overlay) = overlay {
            folder.write("template/robin.overlay.toml", overlay.as_bytes())?;
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one_program").join(name).join("template/robin.jinja");
        Ok(Self { folder, path })
    }

    /// The program that all front ends make of the template.
    fn program(&self) -> Result<String, Failure> {
        let model = Model::from_file(&self.path)?;
        let made = program(model.spec())?;
        let all = [
            ("dynamic", format!("{:?}", model.parser().program())),
            ("build", program(&Build::new(Input::template(&self.path)).spec()?)?),
            ("build script", self.of_build_script()?),
        ];
        for (front_end, program) in all {
            assert_eq!(program, made, "{}: {front_end}", self.path.display());
        }
        // The Rust that is compiled: of the macro's function, and of the command.
        let rust = |tokens| unjinja_codegen::rust::format(tokens);
        let of_macro = rust(Build::new(Input::template(&self.path)).tokens()?)?;
        let runtime = "::unjinja".parse::<proc_macro2::TokenStream>()?;
        assert_eq!(of_macro, rust(unjinja_codegen::rust::items(model.parser().program(), &runtime))?);
        let expected = unjinja_codegen::rust::source(model.spec()).map_err(|error| error.to_string())?;
        let printed = self.folder.run("unjinja codegen template/robin.jinja", b"")?;
        assert_eq!(printed.stdout, expected, "{}: codegen", self.path.display());
        Ok(made)
    }

    /// The spec that a build script writes next to the code that it makes of it.
    fn of_build_script(&self) -> Result<String, Failure> {
        let folder = self.path.parent().ok_or("no folder")?;
        let out = folder.with_file_name("out");
        Templates::new(folder).write_specs(&out).compile(out.join("unjinja.rs"))?;
        program(&FormatSpec::from_toml(&fs::read_to_string(out.join("robin.toml"))?, "robin.toml")?)
    }
}

#[test]
fn front_ends_agree_with_an_overlay_and_without() -> Result<(), Failure> {
    for name in TEMPLATES {
        let template = fs::read_to_string(root().join("templates").join(format!("{name}.jinja")))?;
        let without = Case::new(&format!("{name}_without"), &template, None)?.program()?;
        let with = Case::new(&format!("{name}_with"), &template, Some(OVERLAY))?;
        assert_ne!(with.program()?, without, "{name}: the overlay changes nothing, so this shows nothing");
        // Commands that analyse anew, whatever is known.
        let analysed = with.folder.run("unjinja analyze template/robin.jinja", b"")?.stdout;
        assert_eq!(program(&FormatSpec::from_toml(&analysed, "robin.toml")?)?, with.program()?, "{name}: analyze");
        let explained = with.folder.run("unjinja explain template/robin.jinja", b"")?.stdout;
        assert!(explained.contains("<|other|>"), "{name}: explain");
    }
    Ok(())
}

#[test]
fn macros_are_expanded_to_the_same_program() -> Result<(), Failure> {
    for (path, expanded) in [("templates/hermes.jinja", &plain::PROGRAM), (CORRECTED, &corrected::PROGRAM)] {
        let model = Model::from_file(root().join(path))?;
        assert_eq!(format!("{expanded:?}"), format!("{:?}", model.parser().program()), "{path}");
    }
    let bare = Loader::new().only_given_overlays().from_file(root().join(CORRECTED))?;
    assert_ne!(format!("{:?}", corrected::PROGRAM), format!("{:?}", bare.parser().program()));
    Ok(())
}

#[test]
fn front_ends_agree_about_known_formats() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    // A supported model with an overlay, one without, and a template that nobody has seen in the format of the first.
    let read = |file: &str| fs::read_to_string(corpus.join("templates").join(file));
    let (with_overlay, without) = (read("openai-gpt-oss-120b.jinja")?, read("Qwen-Qwen3-0.6B.jinja")?);
    let unseen = format!("{{# A comment. #}}{with_overlay}");
    let cases = [
        ("known_overlay", &with_overlay, Some(Reason::SameTemplate)),
        ("known", &without, None),
        ("unseen", &unseen, Some(Reason::SameFormat)),
    ];
    for (name, template, reason) in cases {
        let known = Case::new(name, template, None)?;
        let model = Model::from_file(&known.path)?;
        assert_eq!(model.corrections().first().map(|correction| correction.reason), reason, "{name}");
        assert_eq!(model.name(), "robin", "the model has the name of the file, whatever is known about its template");
        let program = known.program()?;
        let bare = Loader::new().without_known_formats().from_file(&known.path)?;
        assert_ne!(format!("{:?}", bare.parser().program()), program, "{name}");
        // An overlay next to the template takes the place of the known one.
        let own = Case::new(&format!("{name}_own"), template, Some(OVERLAY))?;
        assert_ne!(own.program()?, program, "{name}");
        let corrections = Model::from_file(&own.path)?.corrections().to_vec();
        assert_eq!(corrections.iter().map(|one| one.reason).collect::<Vec<_>>(), [Reason::NextToSource], "{name}");
    }
    Ok(())
}

/// The proxy shows its program by what it reads.
#[cfg(all(feature = "serve", unix))]
#[test]
fn the_proxy_applies_the_same_overlay() -> Result<(), Failure> {
    let template = fs::read_to_string(root().join("templates/hermes.jinja"))?;
    for overlay in [None, Some(OVERLAY)] {
        let case = Case::new("proxy", &template, overlay)?;
        let content = Model::from_file(&case.path)?.parse("Hello<|other|>", &Default::default()).content;
        let told = crate::serve::content_of(&case.path, "Hello<|other|>").map_err(|error| error.to_string())?;
        assert_eq!(told, content, "{overlay:?}");
        assert_eq!(content.contains("other"), overlay.is_none(), "the overlay changes nothing");
    }
    Ok(())
}

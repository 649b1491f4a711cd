//! The committed specs and code are up to date: the analyzer makes these specs from the corpus, byte for byte, and the
//! code generator makes this code from the specs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unjinja_spec::FormatSpec;
use unjinja_testkit::released_template;

type Failure = Box<dyn Error>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn unjinja(arguments: &[&Path]) -> Result<Output, Failure> {
    Ok(Command::new(env!("CARGO_BIN_EXE_unjinja")).args(arguments).current_dir(root()).output()?)
}

/// The specs of a folder, without overlays, and without the lists of models: people write those.
fn specs(folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut specs = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") && !name.ends_with(".overlay.toml") {
            let mut spec = FormatSpec::from_toml(&fs::read_to_string(entry.path())?, &name)?;
            spec.template.models.clear();
            specs.insert(name, spec.to_toml());
        }
    }
    Ok(specs)
}

/// Copies the templates of the committed specs into a folder, under the names that the specs have for them: the corpus has each
/// somewhere. Returns where they come from, as `--sources` reads it.
fn gather(corpus: &Path, committed: &Path, templates: &Path) -> Result<String, Failure> {
    let mut sources = String::new();
    for (_, loaded) in unjinja_dynamic::specs_in(committed)? {
        let info = loaded.spec.template;
        let text = released_template(corpus, &info.sha256).map_err(|error| format!("{}: {error}", info.name))?;
        for file in std::iter::once(&info.file).chain(&info.also) {
            fs::write(templates.join(file), &text)?;
            sources += &format!("{file}\t{}\n", info.source);
        }
    }
    Ok(sources)
}

#[test]
fn committed_specs_are_what_the_analyzer_makes() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("specs");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let committed = root().join("generated/specs");
    let (templates, sources) = (out.join("templates"), out.join("sources.tsv"));
    fs::create_dir_all(&templates)?;
    fs::write(&sources, gather(&corpus, &committed, &templates)?)?;
    let output =
        unjinja(&["analyze".as_ref(), &templates, "--sources".as_ref(), &sources, "-o".as_ref(), out.as_ref()])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut committed, made) = (specs(&committed)?, specs(&out)?);
    let mut differing = Vec::new();
    for (name, text) in &made {
        match committed.remove(name) {
            Some(old) if old == *text => {}
            Some(old) => {
                let at = old.lines().zip(text.lines()).position(|(old, new)| old != new);
                let at = at.unwrap_or_else(|| old.lines().count().min(text.lines().count()));
                let line = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
                differing.push(format!("{name}:{}: committed {}, made {}", at + 1, line(&old), line(text)));
            }
            None => differing.push(format!("{name}: not committed")),
        }
    }
    differing.extend(committed.keys().map(|name| format!("{name}: committed, but made of no template")));
    assert!(
        differing.is_empty(),
        "{}\nrun `unjinja check {} --specs generated/specs --sources {} --write`",
        differing.join("\n"),
        templates.display(),
        sources.display(),
    );
    assert!(made.len() >= 60, "{} specs", made.len());
    Ok(())
}

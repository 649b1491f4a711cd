//! Response templates that others have written, next to ours for the same chat template: both go through the same executor with
//! the same random conversations. The table is a part of `docs/response-templates.md`.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use unjinja_analyzer::{Naming, analyze, verify_after_results};
use unjinja_export::response_template::{ResponseTemplate, came_back, export};
use unjinja_render::Template;
use unjinja_spec::Overlay;
use unjinja_testkit::Failure;

use super::cases;
use super::python::Reader;

/// How many conversations are tried.
const CONVERSATIONS: u32 = 100;

/// A response template and the chat template that it is for.
#[derive(Deserialize)]
struct Other {
    /// Its name where it comes from.
    name: String,
    file: String,
    chat_template: String,
    template: Json,
}

/// Compares the templates that transformers ships, and those of TRL where its source is there. The second half of the result
/// says whether it is.
pub fn compare(reader: &mut Reader) -> Result<(String, bool), Failure> {
    let mut table = String::from("| chat template | of | theirs came back | ours came back |\n|---|---|---:|---:|\n");
    let mut worse = Vec::new();
    for (whose, others) in [("transformers", of_transformers(reader)?), ("TRL", of_trl()?)] {
        for other in &others {
            let (theirs, ours, tried) = tried(other)?;
            writeln!(
                table,
                "| `{}` | {whose}: `{}` | {theirs} of {tried} | {ours} of {tried} |",
                other.file, other.name
            )?;
            if ours < theirs {
                worse.push(format!("{whose} {} reads {theirs} of {tried} of {}, ours {ours}", other.name, other.file));
            }
        }
    }
    assert!(worse.is_empty(), "{worse:#?}\n{table}");
    Ok((table, sources("trl").is_some()))
}

fn tried(other: &Other) -> Result<(u32, u32, u32), Failure> {
    let template = Template::parse(&other.file, &other.chat_template)?;
    let mut spec = analyze(&template, &Naming::of_file(&other.file))?;
    let overlay = unjinja_testkit::root().join("generated/specs");
    for entry in fs::read_dir(overlay)? {
        // The corrections of a supported model hold for exactly its template.
        let path = entry?.path();
        let name = path.to_string_lossy().into_owned();
        let Some(base) = name.strip_suffix(".overlay.toml") else { continue };
        if fs::read_to_string(format!("{base}.toml"))?.contains(&spec.template.sha256) {
            spec = Overlay::from_toml(&fs::read_to_string(&path)?, &name)?.apply(&spec)?;
        }
    }
    let verification = verify_after_results(&template, &spec, CONVERSATIONS, 1);
    let theirs = ResponseTemplate::from_json(&other.template)?;
    let held = came_back(&theirs, &spec, &verification);
    let ours = export(&spec, &verification)?;
    Ok((held, ours.held, ours.tried))
}

/// The templates of the installed transformers, for the chat templates of the corpus that `cases.json` names.
fn of_transformers(reader: &mut Reader) -> Result<Vec<Other>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for (name, files) in cases::shipped()? {
        let template = reader.ask(&json!({"shipped": name}))?["template"].take();
        for file in files {
            let chat_template = fs::read_to_string(corpus.join("templates").join(&file))?;
            all.push(Other { name: name.clone(), file, chat_template, template: template.clone() });
        }
    }
    Ok(all)
}

/// TRL's templates, for the chat templates that it recognises and brings along.
fn of_trl() -> Result<Vec<Other>, Failure> {
    let Some(folder) = sources("trl") else { return Ok(Vec::new()) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/trl.py");
    let output = Command::new("python3").arg(script).arg(folder).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn sources(name: &str) -> Option<std::path::PathBuf> {
    let folder = Path::new(&std::env::var_os("UNJINJA_READERS_SOURCES")?).join(name);
    folder.is_dir().then_some(folder)
}

//! `unjinja check` notices what changed, says whether it breaks, finds overlays that do nothing, and mends.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Failure = Box<dyn Error>;

/// A folder with a copy of one of our templates and its spec.
struct Place {
    templates: PathBuf,
    specs: PathBuf,
}

impl Place {
    fn new(name: &str) -> Result<Self, Failure> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check").join(name);
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let place = Self { templates: root.join("templates"), specs: root.join("specs") };
        fs::create_dir_all(&place.templates)?;
        fs::create_dir_all(&place.specs)?;
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/hermes.jinja");
        fs::copy(ours, place.templates.join("hermes.jinja"))?;
        let written = place.check(&["--write"])?;
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        Ok(place)
    }

    fn check(&self, more: &[&str]) -> Result<Output, Failure> {
        let command = &mut Command::new(env!("CARGO_BIN_EXE_unjinja"));
        Ok(command.arg("check").arg(&self.templates).arg("--specs").arg(&self.specs).args(more).output()?)
    }

    /// Changes the template's text.
    fn edit(&self, from: &str, to: &str) -> Result<(), Failure> {
        let path = self.templates.join("hermes.jinja");
        let text = fs::read_to_string(&path)?;
        assert!(text.contains(from), "{from:?} does not stand in the template");
        Ok(fs::write(path, text.replace(from, to))?)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn nothing_changed() -> Result<(), Failure> {
    let place = Place::new("nothing")?;
    let output = place.check(&[])?;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "1 of 1 unchanged\n");
    Ok(())
}

#[test]
fn a_renamed_marker_breaks_and_is_mended() -> Result<(), Failure> {
    let place = Place::new("renamed")?;
    place.edit("tool_call>", "function_call>")?;
    let output = place.check(&[])?;
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    let (_, change) = said.split_once("breaking: tools.per_call_start\n").ok_or("the marker is not named")?;
    let mut sides = change.lines().map(str::trim_start);
    assert!(sides.next().is_some_and(|old| old.starts_with("- ") && old.contains("<tool_call>")), "{said}");
    assert!(sides.next().is_some_and(|new| new.starts_with("+ ") && new.contains("<function_call>")), "{said}");
    assert!(text(&output.stderr).contains("--write"), "the command that mends is not printed");
    assert_eq!(place.check(&["--write"])?.status.code(), Some(0));
    assert_eq!(place.check(&[])?.status.code(), Some(0));
    Ok(())
}

#[test]
fn json_names_what_came_and_went() -> Result<(), Failure> {
    let place = Place::new("json")?;
    fs::rename(place.templates.join("hermes.jinja"), place.templates.join("other.jinja"))?;
    let output = place.check(&["--format", "json"])?;
    assert_eq!(output.status.code(), Some(1));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let outcome = |name: &str| {
        let row = rows.as_array()?.iter().find(|row| row["name"] == name)?;
        row["outcome"].as_str().map(str::to_owned)
    };
    assert_eq!(outcome("other").as_deref(), Some("new"));
    assert_eq!(outcome("hermes").as_deref(), Some("gone"));
    Ok(())
}

#[test]
fn an_overlay_that_changes_nothing_is_an_error() -> Result<(), Failure> {
    let place = Place::new("idle")?;
    let overlay = place.specs.join("hermes.overlay.toml");
    fs::write(&overlay, "[tools]\n# The analysis says so too.\nname_field = \"name\"\n")?;
    let output = place.check(&[])?;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("line 3: `tools.name_field` changes nothing"), "{}", text(&output.stdout));
    fs::write(&overlay, "[tools]\n# The model was trained on another key.\nname_field = \"function\"\n")?;
    assert_eq!(place.check(&[])?.status.code(), Some(0));
    Ok(())
}

#[test]
fn a_folder_that_is_not_there_is_wrong_usage() -> Result<(), Failure> {
    let place = Place::new("missing")?;
    fs::remove_dir_all(&place.specs)?;
    let output = place.check(&[])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no such folder of specs"));
    Ok(())
}

//! The scoreboard is what its command writes from measured data, and the command is strict about that data.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use unjinja_testkit::skip;

use crate::support::{Failure, root};

/// What the scoreboard is read from, and the scoreboard.
const INPUTS: [&str; 6] = [
    "docs/outputs.md",
    "docs/vllm.md",
    "docs/sglang.md",
    "docs/transformers.md",
    "docs/response-templates.md",
    "integrations/export/tests/exports.expected",
];

/// Runs the generator of a folder with `--check`; `None` where there is no Node.js.
fn check(folder: &Path) -> Result<Option<Output>, Failure> {
    let mut command = Command::new("node");
    command.arg(folder.join("site/scoreboard/build.js")).arg("--check");
    match command.output() {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip("node is missing, so the scoreboard was not compared with its data", ("UNJINJA_WASM", "required"))?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Copies a folder and what is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[test]
fn the_scoreboard_is_what_its_command_writes() -> Result<(), Failure> {
    let Some(output) = check(root())? else { return Ok(()) };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A figure that changed, a table that is gone and a sum that is wrong are found.
#[test]
fn a_scoreboard_that_is_out_of_date_is_found() -> Result<(), Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scoreboard");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    copy(&root().join("site/scoreboard"), &folder.join("site/scoreboard"))?;
    for path in INPUTS {
        let target = folder.join(path);
        fs::create_dir_all(target.parent().ok_or("no folder")?)?;
        fs::copy(root().join(path), target)?;
    }
    let Some(output) = check(&folder)? else { return Ok(()) };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (path, from, to, said) in [
        ("docs/vllm.md", "| 1036 | 941, ", "| 1036 | 940, ", "run `node site/scoreboard/build.js`"),
        ("docs/vllm.md", "| template | vLLM's parsers |", "| model | vLLM's parsers |", "there is no table"),
        ("docs/sglang.md", "| 3,383 | 2,192 |", "| 3,383 | many |", "many is no number"),
        ("site/scoreboard/data/published.json", "\"supported\": 469", "\"supported\": 470", "vLLM: the families have"),
    ] {
        let file = folder.join(path);
        let text = fs::read_to_string(&file)?;
        assert!(text.contains(from), "{path} has no {from}");
        fs::write(&file, text.replacen(from, to, 1))?;
        let Some(output) = check(&folder)? else { return Ok(()) };
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(said), "{path}, {to}: {errors}");
        fs::write(&file, text)?;
    }
    Ok(())
}

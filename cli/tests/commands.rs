//! Runs commands and compares what they print: `commands/NAME.txt` has the commands, `commands/NAME.expected` the expected
//! output, which `UPDATE_EXPECT=1` rewrites.
//!
//! A case begins with lines `$ COMMAND`; see `unjinja_testkit::commands` for what they may be. Files follow as
//! `-- NAME --` and their text, or as `-- NAME < PATH --`, which copies a file of this repository. `-- stdin --` is the
//! standard input of the commands. `\xNN` in a text is that byte. The commands run in a folder that holds these files
//! and nothing else.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn commands_print_what_is_expected() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "no cases");
    let mut differing = Vec::new();
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let found = run(&name, &fs::read_to_string(path)?).map_err(|e| format!("{name}: {e}"))?;
        let expected_path = path.with_extension("expected");
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if update {
            fs::write(&expected_path, &found)?;
        } else if found != expected {
            differing.push(format!("== {name}\n-- expected\n{expected}-- found\n{found}"));
        }
    }
    assert!(
        differing.is_empty(),
        "{} of {} cases differ; UPDATE_EXPECT=1 rewrites them\n{}",
        differing.len(),
        paths.len(),
        differing.join("\n")
    );
    Ok(())
}

/// Specs are written before anything is printed, whatever becomes of what is printed.
#[cfg(target_os = "linux")]
#[test]
fn specs_are_written_though_nothing_can_be_printed() -> Result<(), Box<dyn Error>> {
    let specs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unprinted");
    fs::create_dir_all(&specs)?;
    fs::remove_dir_all(&specs)?;
    let templates = ["hermes.jinja", "qwen3.jinja"].map(|file| unjinja_testkit::root().join("templates").join(file));
    let full = fs::File::options().write(true).open("/dev/full")?;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_unjinja"));
    let said = command.arg("analyze").args(templates).arg("-o").arg(&specs).stdout(full).output()?;
    assert!(!said.status.success());
    assert_eq!(fs::read_dir(&specs)?.count(), 2);
    Ok(())
}

/// Runs one case. Returns what its commands printed and their exit codes.
fn run(name: &str, case: &str) -> Result<String, Box<dyn Error>> {
    let folder = crate::support::folder("commands", name)?;
    let end = case.find("\n-- ").map_or(case.len(), |at| at + 1);
    let (commands, rest) = case.split_at(end);
    let mut input = Vec::new();
    for (file, text) in files(rest) {
        match (file, file.split_once(" < ")) {
            ("stdin", _) => input = bytes(text)?,
            (_, Some((file, path))) => folder.write(file, &fs::read(unjinja_testkit::root().join(path))?)?,
            _ => folder.write(file, &bytes(text)?)?,
        }
    }
    let mut said = String::new();
    for line in commands.lines() {
        let command = line.strip_prefix("$ ").ok_or("a case begins with lines `$ COMMAND`")?;
        let one = folder.run(command, &input)?;
        said.push_str(&format!("$ {command}\n{}", one.stdout));
        if !one.stdout.is_empty() && !one.stdout.ends_with('\n') {
            said.push_str("\n-- no newline --\n");
        }
        if !one.stderr.is_empty() {
            said.push_str(&format!("-- stderr --\n{}", one.stderr));
        }
        said.push_str(&format!("-- exit {} --\n", one.code));
    }
    Ok(said)
}

/// The files of a case: their names and texts.
fn files(mut text: &str) -> Vec<(&str, &str)> {
    let mut files = Vec::new();
    while let Some((name, rest)) = text.strip_prefix("-- ").and_then(|text| text.split_once(" --\n")) {
        // After an empty file the next one follows at once.
        let end = if rest.starts_with("-- ") { 0 } else { rest.find("\n-- ").map_or(rest.len(), |at| at + 1) };
        files.push((name, &rest[..end]));
        text = &rest[end..];
    }
    files
}

/// A text with each `\xNN` as its byte.
fn bytes(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut parts = text.split("\\x");
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2.min(part.len()));
        out.push(u8::from_str_radix(digits, 16).map_err(|e| format!("\\x{digits}: {e}"))?);
        out.extend_from_slice(rest.as_bytes());
    }
    Ok(out)
}

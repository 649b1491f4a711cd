//! Bad input and the message that it gets: `bad_input/NAME.txt` and `bad_input/NAME.expected`, which
//! `UPDATE_EXPECT=1` rewrites.
//!
//! A case is a line `$ unjinja ARGUMENTS`, then files as `-- NAME --` and their text. `-- stdin --` is standard input.
//! `\xNN` in a text is that byte. The command runs in a folder that holds these files and nothing else.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No bad input may keep the program busy for longer, in a debug build on a slow machine.
const LONGEST: Duration = Duration::from_secs(30);

#[test]
fn bad_input_gets_its_message() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_input");
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

/// Runs one case; gives what it printed and how it ended.
fn run(name: &str, case: &str) -> Result<String, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad_input").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let (first, rest) = case.split_once('\n').ok_or("an empty case")?;
    let arguments = first.strip_prefix("$ unjinja ").ok_or("the first line is to be `$ unjinja …`")?;
    let mut input = Vec::new();
    for (file, text) in files(rest) {
        match file {
            "stdin" => input = bytes(text)?,
            _ => fs::write(folder.join(file), bytes(text)?)?,
        }
    }
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments.split_whitespace())
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ends early does not read it all.
        let _ = stdin.write_all(&input);
    }
    let output = child.wait_with_output()?;
    if begin.elapsed() > LONGEST {
        return Err(format!("took {:?}", begin.elapsed()).into());
    }
    let code = output.status.code().ok_or("the program was killed")?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    if stderr.contains("panicked") {
        return Err(format!("the program panicked: {stderr}").into());
    }
    Ok(format!("-- stdout --\n{stdout}-- stderr --\n{stderr}-- exit {code} --\n"))
}

/// The files of a case: their names and texts.
fn files(mut text: &str) -> Vec<(&str, &str)> {
    let mut files = Vec::new();
    while let Some((name, rest)) = text.strip_prefix("-- ").and_then(|text| text.split_once(" --\n")) {
        let end = rest.find("\n-- ").map_or(rest.len(), |at| at + 1);
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

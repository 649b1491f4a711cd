//! Uses the macros and a build script in a crate outside of the workspace, `satellite/`. Checks where they find files, their options, the
//! errors that they report at the path literal (`satellite/errors.expected`, which `UPDATE_EXPECT=1` rewrites), the
//! warning about a partial format, that cargo rebuilds the crate when a template or its overlay changes, and that the macro and
//! a build script make the same program.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

type Failure = Box<dyn Error>;

/// The satellite, copied to where it can be built and changed.
struct Satellite {
    folder: PathBuf,
}

impl Satellite {
    fn new() -> Result<Self, Failure> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("satellite");
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
        let from = workspace.join("unjinja/tests/satellite");
        for part in ["src", "templates"] {
            if folder.join(part).exists() {
                fs::remove_dir_all(folder.join(part))?;
            }
        }
        copy(&from, &folder)?;
        let manifest = fs::read_to_string(from.join("Cargo.toml.in"))?;
        fs::write(folder.join("Cargo.toml"), manifest.replace("@WORKSPACE@", &workspace.display().to_string()))?;
        // The workspace's lock file: its packages are already downloaded.
        fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self { folder })
    }

    fn build(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(env!("CARGO"));
        command.arg("build").args(arguments).args(["--offline", "--quiet", "--target-dir", "target"]);
        // Cargo set these for this test; the satellite must not inherit them.
        for name in ["RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_ENCODED_RUSTFLAGS"] {
            command.env_remove(name);
        }
        Ok(command.current_dir(&self.folder).output()?)
    }

    fn run(&self, name: &str) -> Result<String, Failure> {
        let program = self.folder.join("target/debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let output = Command::new(program).output().map_err(|e| format!("{name}: {e}"))?;
        if !output.status.success() {
            return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The errors or warnings of each program: the marked text with its line, and the message.
    fn messages(&self, output: &Output, level: &str) -> Result<BTreeMap<String, String>, Failure> {
        let mut errors: BTreeMap<String, String> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line: Value = serde_json::from_str(line)?;
            let message = &line["message"];
            let text = message["message"].as_str().unwrap_or_default();
            if message["level"] != level || text.starts_with("aborting due to") {
                continue;
            }
            let entry = errors.entry(line["target"]["name"].as_str().unwrap_or_default().to_owned()).or_default();
            for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
                let line = &span["text"][0];
                let column = |key: &str| line[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1) - 1;
                let marked =
                    line["text"].as_str().and_then(|t| t.get(column("highlight_start")..column("highlight_end")));
                writeln!(entry, "at `{}`, line {}", marked.unwrap_or_default(), span["line_start"])?;
            }
            writeln!(entry, "{}", text.replace(&self.folder.display().to_string(), "$CRATE"))?;
        }
        Ok(errors)
    }
}

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

// One test: its parts share one crate and one build.
#[test]
#[ignore = "compiles the macros once more, for a crate outside of the workspace: .ci/full runs it"]
fn macros_find_files_report_errors_and_watch_what_they_read() -> Result<(), Failure> {
    let satellite = Satellite::new()?;

    let output = satellite.build(&["--bins", "--keep-going", "--message-format", "json"])?;
    let errors = satellite.messages(&output, "error")?;
    let mut found = String::new();
    for (program, text) in &errors {
        writeln!(found, "== {program}\n{text}")?;
    }
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/satellite/errors.expected");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&expected, &found)?;
    }
    let expected = fs::read_to_string(&expected)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(found == expected, "UPDATE_EXPECT=1 rewrites\n-- expected\n{expected}-- found\n{found}{stderr}");
    let failing = fs::read_dir(satellite.folder.join("src/bin"))?
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("error_")));
    assert_eq!(failing.count(), errors.len(), "a program compiled that should not: {stderr}");

    let warnings = satellite.messages(&output, "warning")?;
    assert_eq!(warnings.keys().collect::<Vec<_>>(), ["partial"], "{warnings:?}");
    assert_eq!(
        warnings["partial"],
        "at `\"partial.jinja\"`, line 4\nuse of deprecated constant `parser::_::PARTIAL_PARSER`: \
         $CRATE/templates/partial.jinja: the parser is partial: tools are offered, but no render shows a call, so how the \
         model writes calls is unknown; `unjinja analyze $CRATE/templates/partial.jinja` shows more\n"
    );
    assert_eq!(satellite.run("partial")?, "Hello.\n");
    satellite.run("paths")?;
    satellite.run("options")?;
    satellite.run("types")?;
    satellite.run("built")?;

    assert_eq!(satellite.run("watched")?, "a\n");
    let template = satellite.folder.join("templates/watched.jinja");
    let changed = fs::read_to_string(&template)?.replace("<call>", "<changed>").replace("</call>", "</changed>");
    fs::write(&template, changed)?;
    let output = satellite.build(&["--bin", "watched"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(satellite.run("watched")?, "b\n", "the program was not rebuilt");

    assert_eq!(satellite.run("corrected")?, "Rain.\n");
    let overlay = satellite.folder.join("templates/corrected/corrected.overlay.toml");
    fs::write(&overlay, fs::read_to_string(&overlay)?.replace("<|halt|>", "<|stop|>"))?;
    let output = satellite.build(&["--bin", "corrected"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(satellite.run("corrected")?, "Rain.<|halt|>\n", "the program was not rebuilt");
    Ok(())
}

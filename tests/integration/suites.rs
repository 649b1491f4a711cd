//! `.ci/suites` runs a heavy suite only if something that it depends on has changed since it last passed. This is tried in a
//! repository of its own, whose suites only write down that they ran. `.ci/test` counts what tests lacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unjinja_testkit::skip;

use crate::support::{Failure, root};

/// The suites of the test: one that passes and depends on the folder `a`, one that fails, and one that only `.ci/full` runs.
const SUITES: &str = "# a comment\nright\tgate\techo x >>ran\ta\nwrong\tgate\tfalse\tb\nrare\tfull\techo y >>rare\tb\n";

/// A small repository with the script under test.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    fn new(name: &str) -> Result<Self, Failure> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join(".ci"))?;
        let repository = Self { folder };
        fs::copy(root().join(".ci/suites"), repository.folder.join(".ci/suites"))?;
        repository.write(".ci/suites.tsv", SUITES)?;
        // What suites write is not a change.
        repository.write(".gitignore", "/ran\n/rare\n")?;
        for path in ["a/code.rs", "a/page.md", "b/code.rs", "other/code.rs"] {
            repository.write(path, "1")?;
        }
        repository.git(&["init", "--quiet"])?;
        repository.commit()?;
        Ok(repository)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(fs::write(path, text)?)
    }

    fn git(&self, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("git");
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command.env(name, "test");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "test@example.org");
        }
        let output = said(command.args(arguments), &self.folder)?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?.trim().to_owned()),
            false => Err(format!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }

    fn commit(&self) -> Result<(), Failure> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]).map(drop)
    }

    /// Runs `.ci/suites`: whether it succeeded, and what it printed.
    fn suites(&self, arguments: &[&str]) -> Result<(bool, String), Failure> {
        let output = said(Command::new("bash").arg(".ci/suites").args(arguments), &self.folder)?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8(text)?))
    }

    /// How often the suite that passes has run.
    fn runs(&self) -> usize {
        fs::read_to_string(self.folder.join("ran")).map_or(0, |text| text.lines().count())
    }

    /// Says whether the suite that passes is due, and why.
    fn listed(&self) -> Result<String, Failure> {
        let (_, text) = self.suites(&["--list", "right"])?;
        Ok(text.trim().to_owned())
    }
}

/// What a command prints in a folder. What is set for the project's own repository, or for its gate, is not inherited.
fn said(command: &mut Command, folder: &Path) -> Result<Output, Failure> {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "UNJINJA_SUITES", "UNJINJA_SUITES_UNTIL"] {
        command.env_remove(name);
    }
    // Nor is what the user has set for all repositories: to sign commits, for example.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    Ok(command.current_dir(folder).output()?)
}

/// A repository whose suite `right` is recorded. Nothing where there is no git.
fn recorded(name: &str) -> Result<Option<Repository>, Failure> {
    if Command::new("git").arg("--version").output().is_err() || Command::new("bash").arg("--version").output().is_err()
    {
        skip("there is no git or no bash", ("CI", "true"))?;
        return Ok(None);
    }
    let repository = Repository::new(name)?;
    let (passed, text) = repository.suites(&["--all", "--record", "right"])?;
    assert!(passed, "{text}");
    assert_eq!(repository.runs(), 1);
    let record = fs::read_to_string(repository.folder.join(".ci/passed/right"))?;
    assert_eq!(record.split(' ').next(), Some(&*repository.git(&["rev-parse", "HEAD"])?));
    repository.commit()?;
    Ok(Some(repository))
}

#[test]
fn a_suite_runs_again_only_if_an_input_changed() -> Result<(), Failure> {
    let Some(repository) = recorded("changes")? else { return Ok(()) };
    // Other files, and pages for readers, are not inputs.
    repository.write("other/code.rs", "2")?;
    repository.write("a/page.md", "2")?;
    repository.commit()?;
    let (_, text) = repository.suites(&["right"])?;
    assert!(text.contains("unchanged since it passed"), "{text}");
    let (_, text) = repository.suites(&["rare"])?;
    assert!(text.contains("only in .ci/full") && !repository.folder.join("rare").exists(), "{text}");
    assert_eq!(repository.runs(), 1);

    // A change that is not committed yet, a file that git does not know yet, and a change that is committed.
    repository.write("a/code.rs", "2")?;
    assert!(repository.listed()?.contains("due: a/code.rs changed since"), "{}", repository.listed()?);
    repository.write("a/code.rs", "1")?;
    repository.write("a/new.rs", "1")?;
    assert!(repository.listed()?.contains("due: a/new.rs changed since"), "{}", repository.listed()?);
    repository.write("a/code.rs", "2")?;
    repository.commit()?;
    assert!(repository.listed()?.contains("due: a/code.rs changed, and 1 more since"), "{}", repository.listed()?);
    let (passed, _) = repository.suites(&["right"])?;
    assert!(passed);
    assert_eq!(repository.runs(), 2);
    Ok(())
}

#[test]
fn a_suite_without_a_usable_record_runs() -> Result<(), Failure> {
    let Some(repository) = recorded("records")? else { return Ok(()) };
    let record = fs::read_to_string(repository.folder.join(".ci/passed/right"))?;
    let (_, hash) = record.trim().split_once(' ').ok_or("no hash")?;
    repository.write(".ci/passed/right", "0123456789012345678901234567890123456789\n")?;
    assert!(repository.listed()?.contains("which this clone does not know"), "{}", repository.listed()?);
    repository.write(".ci/passed/right", "not a commit\n")?;
    assert!(repository.listed()?.contains("which this clone does not know"), "{}", repository.listed()?);
    // A clone without history, or whose commits were joined: the hash of the inputs decides.
    let unknown = ["0123456789012345678901234567890123456789", hash].join(" ");
    repository.write(".ci/passed/right", &unknown)?;
    assert!(repository.listed()?.contains("nothing that it depends on has changed"), "{}", repository.listed()?);
    repository.write("a/code.rs", "2")?;
    assert!(repository.listed()?.contains("and other inputs"), "{}", repository.listed()?);
    repository.commit()?;
    assert!(repository.listed()?.contains("and other inputs"), "{}", repository.listed()?);
    fs::remove_file(repository.folder.join(".ci/passed/right"))?;
    assert!(repository.listed()?.contains("due: it has no record"), "{}", repository.listed()?);
    assert!(repository.suites(&["right"])?.0);
    assert_eq!(repository.runs(), 2);
    // Without `--record` nothing is written.
    assert!(!repository.folder.join(".ci/passed/right").exists());
    Ok(())
}

#[test]
fn a_suite_that_fails_is_not_recorded() -> Result<(), Failure> {
    let Some(repository) = recorded("failures")? else { return Ok(()) };
    let (passed, text) = repository.suites(&["--all", "--record", "wrong"])?;
    assert!(!passed && text.contains("suite wrong: failed"), "{text}");
    assert!(!repository.folder.join(".ci/passed/wrong").exists());
    // The others run all the same, but the result is a failure.
    let (passed, text) = repository.suites(&["--all"])?;
    assert!(!passed && text.contains("suite right: passed"), "{text}");
    assert!(repository.folder.join("rare").exists(), "{text}");

    // A record is about a commit, so its inputs must be committed.
    repository.write("a/code.rs", "2")?;
    let (passed, text) = repository.suites(&["--all", "--record", "right"])?;
    assert!(!passed && text.contains("commit them first"), "{text}");
    let (passed, text) = repository.suites(&["--all", "rihgt"])?;
    assert!(!passed && text.contains("there is no suite rihgt"), "{text}");
    Ok(())
}

/// A runner shows nothing of a test that passes, so `.ci/test` counts what tests lacked. It gets a `cargo` that runs none.
#[cfg(unix)]
#[test]
fn what_tests_lacked_is_counted() -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;

    const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "nextest --version") ;;
    nextest*)
        printf 'one\tno corpus\ntwo\tno corpus\ntwo\tno engine\n' >> "$UNJINJA_SKIPS"
        echo "     Summary [   1.0s] 7 tests run: 6 passed, 1 skipped" ;;
    *) echo "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out" ;;
esac
"#;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_cargo");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("cargo"), CARGO)?;
    fs::set_permissions(folder.join("cargo"), fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.display(), std::env::var("PATH")?);
    let mut command = Command::new("bash");
    let output = said(command.args([".ci/test", "-p", "some"]).env("PATH", path), root())?;
    let text = String::from_utf8([output.stdout, output.stderr].concat())?;
    assert!(output.status.success(), "{text}");
    let end = "tests: 6 passed, 0 failed, 1 ignored\ntests that did not do all their work: 2\n    \
               SKIPPED, 2 times: no corpus\n    SKIPPED, 1 times: no engine\n";
    assert!(text.ends_with(end), "{text}");
    Ok(())
}

/// Such a test says what it lacked. This one runs itself in a process that lacks something.
#[test]
fn a_test_that_lacks_something_is_noted() -> Result<(), Failure> {
    const LACKS: &str = "UNJINJA_TEST_LACKS";
    if std::env::var_os(LACKS).is_some() {
        return skip("no corpus,\nand no\tengine", (LACKS, "required"));
    }
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lacked");
    fs::write(&log, "")?;
    let run = |value: &str| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "suites::a_test_that_lacks_something_is_noted", "--nocapture"]);
        let variables = [(LACKS, value), ("NEXTEST_TEST_NAME", "some_test")];
        said(command.envs(variables).env("UNJINJA_SKIPS", &log), root())
    };
    let output = run("wanted")?;
    let text = String::from_utf8([output.stdout, output.stderr].concat())?;
    assert!(output.status.success() && text.contains("SKIPPED: no corpus,\nand no\tengine; "), "{text}");
    assert_eq!(fs::read_to_string(&log)?, "some_test\tno corpus, and no engine\n");
    // Where it is required, the test fails.
    assert!(!run("required")?.status.success());
    Ok(())
}

/// Each suite of the project is a script that exists, and its inputs exist.
#[test]
fn the_inputs_of_suites_exist() -> Result<(), Failure> {
    let text = fs::read_to_string(root().join(".ci/suites.tsv"))?;
    let mut seen = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, at, command, inputs] = fields[..] else { return Err(format!("not four fields: {line}").into()) };
        assert!(["gate", "full"].contains(&at), "{name} runs in {at}");
        let script = command.split(' ').find(|word| word.starts_with(".ci/")).ok_or("a suite without a script")?;
        for path in inputs.split(' ').filter(|path| *path != "COMPILER").chain([script]) {
            assert!(root().join(path).exists(), "{name}: there is no {path}");
        }
        assert!(inputs.split(' ').any(|path| path == script), "{name}: its own script is an input");
        seen += 1;
    }
    assert!(seen >= 10, "{seen} suites");
    Ok(())
}

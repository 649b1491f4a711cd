//! A test that lacks something on this machine says so.

use std::fs;
use std::path::Path;
use std::process::Command;

use unjinja_testkit::skip;

use crate::support::Failure;

/// This test runs itself in a process that lacks something.
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
        command.args(["--exact", "skips::a_test_that_lacks_something_is_noted", "--nocapture"]);
        let variables = [(LACKS, value), ("NEXTEST_TEST_NAME", "some_test")];
        command.envs(variables).env("UNJINJA_SKIPS", &log).output()
    };
    let output = run("wanted")?;
    let text = String::from_utf8([output.stdout, output.stderr].concat())?;
    assert!(output.status.success() && text.contains("SKIPPED: no corpus,\nand no\tengine; "), "{text}");
    assert_eq!(fs::read_to_string(&log)?, "some_test\tno corpus, and no engine\n");
    // Where it is required, the test fails.
    assert!(!run("required")?.status.success());
    Ok(())
}

//! Tests that cannot do all their work say so here. `.ci/test` counts what they said and prints it at its end, because a test
//! runner shows nothing of a test that passes.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

use crate::Failure;

/// The environment variable with the path of the file to which each skip is appended, as one line.
const LOG: &str = "UNJINJA_SKIPS";

/// Says that something is missing on this machine, and that this test therefore did not do all its work.
///
/// # Errors
///
/// `demand` is a name and a value, as `("CI", "true")`. If the environment variable of that name has that value, the missing
/// thing is required, and the error is the reason.
pub fn skip(reason: impl Display, demand: (&str, &str)) -> Result<(), Failure> {
    let (variable, value) = demand;
    if std::env::var(variable).is_ok_and(|set| set == value) {
        return Err(format!("{reason}; {variable}={value} requires it").into());
    }
    // Not `eprintln!`: the test harness captures it and shows nothing of a test that passes.
    writeln!(std::io::stderr(), "SKIPPED: {reason}; {variable}={value} makes this an error")?;
    if let Some(path) = std::env::var_os(LOG) {
        let thread = std::thread::current();
        let test = std::env::var("NEXTEST_TEST_NAME").ok().or_else(|| thread.name().map(str::to_owned));
        let line = format!("{}\t{}\n", test.unwrap_or_default(), reason.to_string().replace(['\n', '\t'], " "));
        // One write, so that lines of tests that run at the same time do not mix.
        OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())?;
    }
    Ok(())
}

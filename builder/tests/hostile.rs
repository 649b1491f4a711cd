//! Hostile templates, each analysed in a process of its own: the analysis ends within limits of time and memory, with a
//! spec or with an error that says why.
//!
//! The promise is one second and 256 MiB for optimised code, which `cargo test --release` checks. Unoptimised code gets
//! more time.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Deserialize;
use unjinja_analyzer::Naming;
use unjinja_build::analyze_text;

type Failure = Box<dyn std::error::Error>;

/// How long an analysis may take.
const TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 60_000 } else { 1000 });

/// How much memory an analysis may use, in KiB.
const MEMORY: u64 = 256 << 10;

/// The address space of the child process, in bytes, so that a bug cannot exhaust the machine.
const ADDRESSES: u64 = 2 << 30;

/// The variable that tells a child process which template to analyse.
const CHILD: &str = "UNJINJA_HOSTILE";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    template: Vec<Hostile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hostile {
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    head: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    times: usize,
    #[serde(default)]
    tail: String,
    /// A text that the result must contain; if empty, any spec will do.
    says: String,
}

impl Hostile {
    fn all() -> Result<Vec<Self>, Failure> {
        Ok(toml::from_str::<File>(include_str!("hostile.toml"))?.template)
    }

    fn source(&self) -> String {
        format!("{}{}{}{}", self.text, self.head, self.body.repeat(self.times), self.tail)
    }
}

/// Analyses one template in the child process. Without the variable this test does nothing.
#[test]
fn child() -> Result<(), Failure> {
    let Ok(name) = std::env::var(CHILD) else { return Ok(()) };
    setrlimit(Resource::As, Rlimit { current: Some(ADDRESSES), maximum: Some(ADDRESSES) })?;
    let all = Hostile::all()?;
    let hostile = all.iter().find(|hostile| hostile.name == name).ok_or("no such template")?;
    let source = hostile.source();
    let started = Instant::now();
    let outcome = match analyze_text(&source, &Naming::of_file("hostile.jinja")) {
        Ok(spec) => format!("spec: {}", spec.gaps.join("; ")),
        Err(error) => format!("error: {error}"),
    };
    let took = started.elapsed().as_millis();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    println!("\noutcome {took} {} {}", peak.trim().trim_end_matches(" kB"), outcome.replace('\n', " "));
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn hostile_templates_end_soon_and_small() -> Result<(), Failure> {
    let (mut problems, mut slowest, mut largest) = (Vec::new(), (0, String::new()), (0, String::new()));
    let all = Hostile::all()?;
    for hostile in &all {
        let outcome = match run(&hostile.name)? {
            Ok(outcome) => outcome,
            Err(problem) => {
                problems.push(format!("{}: {problem}", hostile.name));
                continue;
            }
        };
        let mut parts = outcome.splitn(3, ' ');
        let (Some(took), Some(peak), Some(said)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("{}: {outcome:?}", hostile.name).into());
        };
        let (took, peak) = (took.parse::<u64>()?, peak.parse::<u64>()?);
        slowest = slowest.max((took, hostile.name.clone()));
        largest = largest.max((peak, hostile.name.clone()));
        if Duration::from_millis(took) > TIME {
            problems.push(format!("{}: {took} ms", hostile.name));
        }
        if peak > MEMORY {
            problems.push(format!("{}: {} MiB", hostile.name, peak >> 10));
        }
        if !said.contains(&hostile.says) || said.contains("panicked") || said.contains("root:") {
            problems.push(format!("{}: {said}", hostile.name));
        }
    }
    println!(
        "{} templates; at most {} ms ({}), {} MiB ({})",
        all.len(),
        slowest.0,
        slowest.1,
        largest.0 >> 10,
        largest.1
    );
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), all.len(), problems.join("\n"));
    Ok(())
}

/// The line that the child printed about a template, or how the child ended without one.
fn run(name: &str) -> Result<Result<String, String>, Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", "hostile::child", "--nocapture"])
        .env(CHILD, name)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let started = Instant::now();
    // The child writes less than a pipe holds, so it can be read after it ended.
    while child.try_wait()?.is_none() {
        if started.elapsed() > 3 * TIME + Duration::from_secs(10) {
            child.kill()?;
            child.wait()?;
            return Ok(Err(format!("still running after {:?}", started.elapsed())));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let outcome = said.lines().find_map(|line| line.strip_prefix("outcome ")).map(str::to_owned);
    Ok(outcome.ok_or_else(|| format!("{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr))))
}

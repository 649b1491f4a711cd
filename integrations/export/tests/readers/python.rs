//! Starts the real readers.

use std::env;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;
use unjinja_testkit::Failure;
use unjinja_testkit::python::environment;

/// The version of transformers whose behaviour ours follows.
const TRANSFORMERS: &str = "transformers==5.24.0";

/// The readers that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    Transformers,
    Vllm,
    Sglang,
}

impl Real {
    fn name(self) -> &'static str {
        match self {
            Real::Transformers => "transformers",
            Real::Vllm => "vllm",
            Real::Sglang => "sglang",
        }
    }
}

/// A real reader, which answers requests.
pub struct Reader {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Reader {
    /// Starts a reader. Nothing where it is not there; standard error then says that it is skipped.
    pub fn start(real: Real) -> Result<Option<Self>, Failure> {
        let what = match source(real) {
            Ok(what) => what,
            Err(reason) => return skip(real, &reason),
        };
        let python = match python() {
            Ok(python) => python,
            Err(reason) => return skip(real, &reason),
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/reader.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(what)
            .env("PYTHONIOENCODING", "utf-8")
            .env("HF_HUB_OFFLINE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = BufWriter::new(child.stdin.take().ok_or("the reader has no standard input")?);
        let output = BufReader::new(child.stdout.take().ok_or("the reader has no standard output")?);
        Ok(Some(Self { child, input, output }))
    }

    /// The answer to a request.
    pub fn ask(&mut self, request: &Json) -> Result<Json, Failure> {
        writeln!(self.input, "{request}")?;
        self.input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)
            .map_err(|error| format!("{error}: the reader answered {line:?} to {request}"))?)
    }
}

impl Reader {
    /// The answers to many requests. They are written while the answers are read, so that neither side waits for the other.
    pub fn ask_all(&mut self, requests: &[Json]) -> Result<Vec<Json>, Failure> {
        let Self { input, output, .. } = self;
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                requests.iter().try_for_each(|request| writeln!(input, "{request}"))?;
                input.flush()
            });
            let mut answers = Vec::new();
            for request in requests {
                let mut line = String::new();
                output.read_line(&mut line)?;
                let answer = serde_json::from_str(&line);
                answers.push(answer.map_err(|error| format!("{error}: the answer to {request} is {line:?}"))?);
            }
            writing.join().map_err(|_| "the requests could not be written")??;
            Ok(answers)
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It ends by itself when its input does; this makes sure that it does not outlive the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the script is told to run.
fn source(real: Real) -> Result<String, String> {
    let name = real.name();
    if real == Real::Transformers {
        return Ok(name.to_owned());
    }
    let Some(folder) = env::var_os("UNJINJA_READERS_SOURCES") else {
        return Err("UNJINJA_READERS_SOURCES is not set; .ci/readers sets it".to_owned());
    };
    let folder = PathBuf::from(folder).join(name);
    if !folder.is_dir() {
        return Err(format!("there is no folder {}", folder.display()));
    }
    Ok(format!("{name}={}", folder.display()))
}

/// Where a reader cannot be run.
fn skip(real: Real, reason: &str) -> Result<Option<Reader>, Failure> {
    let reason = format!("{} cannot be run: {reason}", real.name());
    // Who names a folder with the sources of the servers wants them to be run.
    if real != Real::Transformers && env::var_os("UNJINJA_READERS_SOURCES").is_some() {
        return Err(reason.into());
    }
    unjinja_testkit::skip(reason, ("UNJINJA_READERS", "required"))?;
    Ok(None)
}

/// The Python of a virtual environment with transformers and what vLLM's and SGLang's parsers need.
fn python() -> Result<PathBuf, String> {
    let version = TRANSFORMERS.rsplit('=').next().unwrap_or_default();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readers-{version}"));
    let check = format!(
        "import jinja2, msgspec, pydantic, regex, transformers; assert transformers.__version__ == '{version}'"
    );
    environment(&folder, &[TRANSFORMERS, "jinja2>=3.1.6", "msgspec>=0.20", "pydantic>=2"], &check)
}

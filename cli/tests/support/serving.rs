//! `unjinja serve` as a process.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use unjinja_testkit::root;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long something may take that should be quick, on a slow machine.
pub const LONG: Duration = Duration::from_secs(20);

/// A running command. It is ended with this value.
pub struct Serve {
    pub child: Child,
    pub address: String,
    said: Arc<Mutex<String>>,
}

impl Serve {
    /// Starts it with these arguments and variables, and waits until it listens.
    pub fn start(upstream: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self, Failure> {
        Self::with(template(), upstream, arguments, variables)
    }

    /// The same with a template.
    pub fn with(
        template: impl AsRef<OsStr>,
        upstream: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let mut command = command();
        command.args(["--listen", "127.0.0.1:0", "--upstream", upstream, "--template"]).arg(template);
        command.args(arguments).envs(variables.iter().copied());
        Self::of(command)
    }

    /// Starts this command.
    pub fn of(command: Command) -> Result<Self, Failure> {
        Self::heard(command, |_| {})
    }

    /// The same; `hears` gets each line that comes before it listens.
    pub fn heard(mut command: Command, mut hears: impl FnMut(&str)) -> Result<Self, Failure> {
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no standard error")?).lines();
        let (mut before, mut address) = (String::new(), None);
        for line in lines.by_ref() {
            let line = line?;
            hears(&line);
            address =
                line.strip_prefix("listening on http://").and_then(|rest| Some(rest.split_once(' ')?.0.to_owned()));
            before.push_str(&line);
            before.push('\n');
            if address.is_some() {
                break;
            }
        }
        let address = address.ok_or_else(|| format!("it does not listen: {before}"))?;
        let said = Arc::new(Mutex::new(before));
        let kept = said.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut said = kept.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        Ok(Self { child, address, said })
    }

    /// What it has printed until now.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it prints something.
    pub fn waits_for(&self, part: &str) -> String {
        let began = Instant::now();
        while !self.said().contains(part) {
            assert!(began.elapsed() < LONG, "it does not say {part:?}: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        self.said()
    }

    pub fn signal(&self, name: &str) -> Result<(), Failure> {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(format!("kill: {status}").into()) }
    }

    /// Waits until it has ended.
    pub fn ended(&mut self) -> Result<ExitStatus, Failure> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            assert!(began.elapsed() < LONG, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Begins a streamed request.
    pub fn ask(&self, headers: &str) -> Result<TcpStream, Failure> {
        let body = r#"{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}"#;
        let mut connection = TcpStream::connect(&self.address)?;
        connection.set_read_timeout(Some(LONG))?;
        write!(
            connection,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(connection)
    }

    /// The whole response to a request.
    pub fn answer(&self, headers: &str) -> Result<String, Failure> {
        let mut text = String::new();
        self.ask(headers)?.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn template() -> PathBuf {
    root().join("templates/qwen3.jinja")
}

/// `unjinja serve`, without what the environment of the tests may set.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
    command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null());
    let variables = "UNJINJA_LOG UNJINJA_API_KEY UNJINJA_UPSTREAM_API_KEY SSL_CERT_FILE SSL_CERT_DIR HF_TOKEN HF_TOKEN_PATH \
        HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HUB_DISABLE_IMPLICIT_TOKEN HF_HUB_OFFLINE HF_HUB_DOWNLOAD_TIMEOUT";
    for variable in variables.split_whitespace() {
        command.env_remove(variable);
    }
    command
}

pub fn local() -> Result<TcpListener, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?)
}

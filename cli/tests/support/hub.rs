//! A small Hugging Face Hub on loopback: it serves files of models with the headers of the Hub, answers questions about
//! models and revisions, and records the requests.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The commit of every revision.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The answer to a request for a file.
#[derive(Clone)]
pub enum Answer {
    /// A file.
    File(String),
    /// A status, with the Hub's code of the error.
    Status(u16, &'static str),
    /// A redirection to another server.
    Moved(String),
    /// A page of something that is not a Hub.
    Page(String),
    /// No answer for as long as the test runs.
    Silence,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
}

#[derive(Default)]
struct State {
    /// The key is `MODEL/resolve/REVISION/FILE`.
    answers: BTreeMap<String, Answer>,
    asked: Vec<Asked>,
    is_down: bool,
}

/// The server; its threads end with the test.
#[derive(Clone)]
pub struct Hub {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Hub {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let hub = Self { address: listener.local_addr()?, state: Arc::default() };
        let server = hub.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        Ok(hub)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the answer for a file.
    pub fn put(&self, model: &str, revision: &str, file: &str, answer: Answer) {
        self.state().answers.insert(format!("{model}/resolve/{revision}/{file}"), answer);
    }

    /// Closes every further connection without an answer.
    pub fn go_down(&self) {
        self.state().is_down = true;
    }

    /// The requests since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state().asked)
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (mut authorization, mut known) = (None, None);
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "authorization" => authorization = Some(value.to_owned()),
                "if-none-match" => known = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut state = self.state();
        if state.is_down {
            return Ok(());
        }
        state.asked.push(Asked { method: method.to_owned(), path: path.to_owned(), authorization });
        let answer = answer(&state, path.trim_start_matches('/'));
        drop(state);
        if matches!(answer, Answer::Silence) {
            loop {
                std::thread::park();
            }
        }
        (&stream).write_all(response(method, answer, known.as_deref()).as_bytes())
    }
}

fn answer(state: &State, path: &str) -> Answer {
    if let Some(answer) = state.answers.get(path) {
        return answer.clone();
    }
    let holds = |model: &str| state.answers.keys().any(|key| key.starts_with(&format!("{model}/resolve/")));
    match path.strip_prefix("api/models/") {
        Some(rest) => match rest.split_once("/revision/") {
            Some((model, revision)) => {
                let start = format!("{model}/resolve/{revision}/");
                if state.answers.keys().any(|key| key.starts_with(&start)) {
                    Answer::Page(format!("{{\"id\": \"{model}\", \"sha\": \"{COMMIT}\"}}"))
                } else {
                    Answer::Status(404, "RevisionNotFound")
                }
            }
            None if holds(rest) => Answer::Page(format!("{{\"id\": \"{rest}\"}}")),
            None => Answer::Status(404, "RepoNotFound"),
        },
        None => Answer::Status(404, "EntryNotFound"),
    }
}

/// The text of a response.
fn response(method: &str, answer: Answer, known: Option<&str>) -> String {
    let with = |status: &str, headers: &str, body: &str| {
        let shown = if method == "HEAD" { "" } else { body };
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{shown}")
    };
    match answer {
        Answer::File(text) => {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let tag = format!("\"{:016x}\"", hasher.finish());
            let headers = format!("etag: {tag}\r\nx-repo-commit: {COMMIT}\r\n");
            if method == "HEAD" && known == Some(tag.as_str()) {
                return with("304 Not Modified", &headers, "");
            }
            with("200 OK", &headers, &text)
        }
        Answer::Status(status, code) => {
            with(&format!("{status} No"), &format!("x-error-code: {code}\r\nx-error-message: {code}\r\n"), "")
        }
        Answer::Moved(to) => with(
            "302 Found",
            &format!("location: {to}\r\nx-linked-etag: \"moved\"\r\nx-linked-size: 10\r\nx-repo-commit: {COMMIT}\r\n"),
            "",
        ),
        Answer::Page(text) => with("200 OK", "content-type: text/html\r\n", &text),
        Answer::Silence => String::new(),
    }
}

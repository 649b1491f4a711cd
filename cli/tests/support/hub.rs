//! A small Hugging Face Hub on loopback: it serves files of models with the headers of the Hub, and records the requests.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answer to a request for a file.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A file.
    File(String),
    /// A status, with the Hub's code of the error.
    Status(u16, &'static str),
    /// A redirection to another server.
    Moved(String),
    /// A page of something that is not a Hub.
    Page(String),
    /// The first bytes of a file with this number of bytes.
    Part(u64),
    /// Only the first request is answered with this status, all later ones with the file.
    Busy(u16, String),
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

    /// The commit of all revisions of a model. It changes with every file.
    pub fn commit(&self, model: &str) -> String {
        commit(&self.state(), model)
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
        let mut authorization = None;
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(": ") else { break };
            if name.eq_ignore_ascii_case("authorization") {
                authorization = Some(value.to_owned());
            }
        }
        let mut state = self.state();
        if state.is_down {
            return Ok(());
        }
        state.asked.push(Asked { method: method.to_owned(), path: path.to_owned(), authorization });
        let path = path.trim_start_matches('/');
        let (answer, commit) = answer(&state, path);
        if let Answer::Busy(_, text) = &answer {
            state.answers.insert(path.to_owned(), Answer::File(text.clone()));
        }
        drop(state);
        if matches!(answer, Answer::Silence) {
            loop {
                std::thread::park();
            }
        }
        (&stream).write_all(response(method, answer, commit.as_deref()).as_bytes())
    }
}

/// The answer for a path, and the commit that it is about.
fn answer(state: &State, path: &str) -> (Answer, Option<String>) {
    let parts = path.split_once("/resolve/").and_then(|(model, rest)| Some((model, rest.split_once('/')?)));
    let Some((model, (revision, file))) = parts else { return (Answer::Status(404, ""), None) };
    let has = |start: String| state.answers.keys().any(|key| key.starts_with(&start));
    if !has(format!("{model}/resolve/")) {
        return (Answer::Status(404, "RepoNotFound"), None);
    }
    let commit = commit(state, model);
    let revision = if revision == commit { "main" } else { revision };
    if !has(format!("{model}/resolve/{revision}/")) {
        return (Answer::Status(404, "RevisionNotFound"), None);
    }
    let answer = state.answers.get(&format!("{model}/resolve/{revision}/{file}")).cloned();
    (answer.unwrap_or(Answer::Status(404, "EntryNotFound")), Some(commit))
}

/// 40 digits that depend on all files of a model.
fn commit(state: &State, model: &str) -> String {
    let mut hasher = DefaultHasher::new();
    let files = state.answers.iter().filter(|(key, _)| key.starts_with(&format!("{model}/resolve/")));
    files.for_each(|(key, answer)| (key, format!("{answer:?}")).hash(&mut hasher));
    format!("{:016x}{:024x}", hasher.finish(), 0)
}

/// The text of a response.
fn response(method: &str, answer: Answer, commit: Option<&str>) -> String {
    let commit = commit.map_or(String::new(), |commit| format!("x-repo-commit: {commit}\r\n"));
    let of_length = |status: &str, headers: &str, body: &str, length: u64| {
        let shown = if method == "HEAD" { "" } else { body };
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{shown}")
    };
    let with = |status: &str, headers: &str, body: &str| of_length(status, headers, body, body.len() as u64);
    match answer {
        Answer::File(text) => with("200 OK", &commit, &text),
        Answer::Part(length) => of_length("200 OK", &commit, "{", length),
        Answer::Status(status, "") | Answer::Busy(status, _) => with(&format!("{status} No"), "", ""),
        Answer::Status(status, code) => {
            let headers = format!("x-error-code: {code}\r\nx-error-message: {code}\r\n{commit}");
            with(&format!("{status} No"), &headers, "")
        }
        Answer::Moved(to) => with("302 Found", &format!("location: {to}\r\n{commit}"), ""),
        Answer::Page(text) => with("200 OK", "content-type: text/html\r\n", &text),
        Answer::Silence => String::new(),
    }
}

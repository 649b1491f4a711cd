//! The server that completes text: sends it a prompt and reads its answer piece by piece. The protocols are `openai` and
//! `llama_cpp`; everything that they share is here.

mod llama_cpp;
mod openai;
mod piece;
mod room;
mod vocabulary;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::client::{cause, client_builder};
use super::config::{Bos, Config, Timeouts, UpstreamApi, UpstreamConfig};
use super::discover::{Listed, with_key};
use super::guard::Trace;
use super::lines::Events;
use super::log::Log;
use crate::finish::Finish;
use piece::{Agreements, excerpt, refused};

pub(crate) use piece::{Ask, AskedIds, Piece, Trouble};
pub(crate) use vocabulary::VOCABULARY;

/// The most bytes of an error that are read.
const ERROR: usize = 64 << 10;

/// How long the upstream may take to say whether it is well.
const PROBE: Duration = Duration::from_secs(2);

/// The endpoints that complete a text.
const COMPLETIONS: &str = "/v1/completions";
const COMPLETION: &str = "/completion";

/// The connection to the upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    client: Client,
    config: UpstreamConfig,
    timeouts: Timeouts,
    longest: usize,
    /// Whether llama.cpp begins prompts with BOS, once it has said so.
    adds_bos: Mutex<Option<bool>>,
    listed: Listed,
    /// It has no endpoint that counts tokens.
    counts_nothing: AtomicBool,
    /// What is known of its vocabularies.
    agreements: Mutex<Agreements>,
    log: Log,
}

impl Upstream {
    pub(crate) fn new(config: &Config) -> Result<Self, reqwest::Error> {
        let (upstream, timeouts) = (config.upstream.clone(), config.timeouts);
        let client = client_builder(&upstream.url).connect_timeout(timeouts.connect).build()?;
        let (longest, adds_bos, listed) = (config.limits.line, Mutex::default(), Listed::default());
        let (counts_nothing, agreements, log) = (AtomicBool::new(false), Mutex::default(), config.log.clone());
        Ok(Self { client, config: upstream, timeouts, longest, adds_bos, listed, counts_nothing, agreements, log })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.config.base())
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(self.url(path)).header("content-type", "application/json");
        with_key(request.body(body.to_string()), self.config.key.as_ref())
    }

    /// The status with which the upstream answers when it is asked for its health.
    pub(crate) async fn probe(&self) -> Result<u16, Trouble> {
        match timeout(PROBE, self.client.get(self.url("/health")).send()).await {
            Err(_) => Err(silent("nothing", PROBE)),
            Ok(Err(error)) => Err(unreachable(&error)),
            Ok(Ok(answer)) => Ok(answer.status().as_u16()),
        }
    }

    /// Whether the upstream puts BOS before a prompt.
    pub(crate) async fn adds_bos(&self) -> bool {
        match (self.config.bos, self.config.api) {
            (Bos::Upstream, _) => true,
            // With OpenAI's protocol it is told what to do.
            (Bos::Template, _) | (Bos::Auto, UpstreamApi::OpenAi) => false,
            // Most models of llama.cpp want BOS.
            (Bos::Auto, UpstreamApi::LlamaCpp) => self.says_bos().await.unwrap_or(true),
        }
    }

    /// Whether llama.cpp puts BOS before a prompt by itself. It is asked once for a model: it says of which tokens an empty text consists.
    /// `None` if it does not say; it is then asked again with the next prompt.
    pub(crate) async fn says_bos(&self) -> Option<bool> {
        // If it has another model now, what it said before is forgotten.
        self.models().await;
        let known = || self.adds_bos.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = *known() {
            return Some(said);
        }
        let ask = async {
            let body = json!({"content": "", "add_special": true});
            let answer = self.post("/tokenize", &body).send().await.ok()?;
            let answer: Value = serde_json::from_slice(&beginning(answer, ERROR).await).ok()?;
            answer["tokens"].as_array().map(|tokens| !tokens.is_empty())
        };
        let said = timeout(self.timeouts.connect, ask).await.ok()??;
        *known() = Some(said);
        Some(said)
    }

    /// Sends a request. Returns its answer, if that is no error.
    pub(crate) async fn forward(&self, path: &str, body: &Value, trace: &Trace) -> Result<Response, Trouble> {
        let send = || timeout(self.timeouts.first_byte, self.post(path, body).headers(trace.headers()).send());
        let mut sent = send().await;
        if let Ok(Err(error)) = &sent
            && error.is_request()
            && !error.is_connect()
            && !error.is_timeout()
        {
            // The upstream had closed a connection that was kept. Completing a text changes nothing, so it can be asked twice.
            sent = send().await;
        }
        let response = match sent {
            Err(_) => return Err(silent("no token", self.timeouts.first_byte)),
            Ok(Err(error)) => return Err(unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = timeout(self.timeouts.idle, beginning(response, ERROR));
        let trouble = refused(status, &wait.await.unwrap_or_default());
        if status == StatusCode::NOT_FOUND {
            // It may have been restarted since it listed the model.
            self.listed.expire();
        }
        Err(trouble)
    }

    /// Sends a prompt; `choice` says which of several answers to it this is. The answer begins to be read when its first piece is asked for.
    pub(crate) async fn send(&self, ask: &Ask, choice: usize) -> Result<Answer, Trouble> {
        let gives_ids = match &ask.ids {
            Some(asked) => self.agree(&asked.encoding, &self.name_of(&ask.model, ask.any_name).await).await?.gives_ids,
            None => false,
        };
        let (path, body) = match self.config.api {
            UpstreamApi::OpenAi => {
                let (name, room) = self.name_and_room(ask).await;
                (COMPLETIONS, openai::body(ask, choice, &name, room, gives_ids))
            }
            UpstreamApi::LlamaCpp => (COMPLETION, llama_cpp::body(ask, choice, gives_ids)),
        };
        let began = Instant::now();
        let response = self.forward(path, &body, &ask.trace).await?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        // vLLM repeats the ids of the prompt, each with a comma.
        let prompt = ask.ids.as_ref().map_or(0, |asked| asked.ids.len());
        let longest = self.longest.saturating_add(12 * prompt);
        let form = match &kind {
            kind if kind.contains("event-stream") => Form::Events(Events::new(longest)),
            kind if kind.contains("json") => Form::Whole(Vec::new()),
            _ => {
                let wait = timeout(self.timeouts.idle, beginning(response, ERROR));
                let seen = wait.await.unwrap_or_default();
                return Err(Trouble::garbage(&format!("an answer of type {:?}", excerpt(&kind)), &seen));
            }
        };
        Ok(Answer {
            response,
            form,
            read: match self.config.api {
                UpstreamApi::OpenAi => openai::read,
                UpstreamApi::LlamaCpp => llama_cpp::read,
            },
            waiting: VecDeque::new(),
            since: Some(began),
            limit: self.timeouts.first_byte,
            idle: self.timeouts.idle,
            longest,
            stop_ids: ask.stop_ids(gives_ids),
            stopped: false,
            finished: false,
            ended: false,
        })
    }
}

fn silent(what: &str, waited: Duration) -> Trouble {
    let seconds = waited.as_secs_f64();
    Trouble::new(
        "timeout",
        504,
        format!("the upstream sent {what} for {seconds} seconds; send the request again later"),
    )
}

fn unreachable(error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::new("unreachable", 504, "no connection to the upstream in time; check that it runs");
    }
    let cause = cause(error);
    let next = if cause.contains("certificate") {
        "if you trust it, name the file with its authority in SSL_CERT_FILE"
    } else {
        "check that it runs"
    };
    Trouble::new("unreachable", 502, format!("the upstream cannot be reached: {cause}; {next}"))
}

/// The beginning of a body.
async fn beginning(mut response: Response, most: usize) -> Vec<u8> {
    let mut seen = Vec::new();
    while let (true, Ok(Some(more))) = (seen.len() < most, response.chunk().await) {
        seen.extend_from_slice(&more);
    }
    seen.truncate(most);
    seen
}

/// In which form an answer arrives.
#[derive(Debug)]
enum Form {
    Events(Events),
    /// As one JSON text: servers that do not stream.
    Whole(Vec<u8>),
}

/// An answer of the upstream. Dropping it closes the connection, at which servers stop generating.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    form: Form,
    /// Reads an event.
    read: fn(&[u8]) -> Result<Piece, Trouble>,
    waiting: VecDeque<Result<Piece, Trouble>>,
    /// Since when a token is waited for, if it is.
    since: Option<Instant>,
    /// How long the next token may take.
    limit: Duration,
    idle: Duration,
    longest: usize,
    /// The tokens that end the output.
    stop_ids: Vec<u32>,
    /// One of them has been read.
    stopped: bool,
    /// The reason of the end has been read.
    finished: bool,
    ended: bool,
}

impl Answer {
    /// The next piece; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, Trouble> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                match self.note(piece)? {
                    Some(piece) => return Ok(Some(piece)),
                    None => continue,
                }
            }
            if self.ended {
                return Ok(None);
            }
            let left = self.limit.saturating_sub(self.since.get_or_insert_with(Instant::now).elapsed());
            let bytes = match timeout(left, self.response.chunk()).await {
                Ok(Ok(bytes)) => bytes,
                // What follows the reason of the end may get lost: nothing of the answer does.
                Ok(Err(_)) | Err(_) if self.finished => return Ok(None),
                Ok(Err(_)) => return Err(Trouble::cut_off()),
                Err(_) => return Err(silent("no token", self.limit)),
            };
            match bytes {
                Some(bytes) => self.take(&bytes),
                None => self.end(),
            }
        }
    }

    /// What a piece says; nothing if it says nothing. After the end of the answer, only the usage counts.
    fn note(&mut self, piece: Result<Piece, Trouble>) -> Result<Option<Piece>, Trouble> {
        if self.finished {
            let Piece { usage, last, .. } = piece.unwrap_or_default();
            self.ended |= last;
            return Ok(usage.map(|usage| Piece { usage: Some(usage), ..Piece::default() }));
        }
        let piece = self.cut(piece?);
        self.finished = piece.finish.is_some() || piece.last;
        self.ended |= piece.last;
        if self.finished || !piece.text.is_empty() || !piece.ids.is_empty() {
            self.token();
        }
        Ok(Some(piece).filter(|piece| *piece != Piece::default()))
    }

    /// Ends the output after a token that ends it. Most upstreams do so themselves, and then tell what it cost; one that writes on is
    /// not waited for.
    fn cut(&mut self, mut piece: Piece) -> Piece {
        let says_more = !piece.text.is_empty() || !piece.ids.is_empty();
        if self.stopped && says_more && piece.finish.is_none() {
            return Piece { finish: Some((Finish::Stop, None)), last: true, ..Piece::default() };
        }
        if let Some(at) = piece.ids.iter().position(|id| self.stop_ids.contains(id)) {
            piece.ids.truncate(at + 1);
            self.stopped = true;
        }
        piece
    }

    /// A token has arrived: the next one is not waited for yet.
    fn token(&mut self) {
        (self.since, self.limit) = (None, self.idle);
    }

    fn take(&mut self, bytes: &[u8]) {
        let Self { form, waiting, read, longest, .. } = self;
        let begins = |bytes: &[u8]| bytes[..bytes.len().min(80)].to_vec();
        let wrong = match form {
            Form::Events(events) => {
                let taken = events.push(bytes, &mut |data| waiting.push_back(read(data)));
                taken.err().map(|_| Trouble::garbage("a line that is too long", &begins(bytes)))
            }
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                let long = body.len() > *longest;
                let wrong = long.then(|| Trouble::garbage("an answer that is too long", &begins(body)));
                // Its tokens are not seen.
                self.token();
                wrong
            }
        };
        if let Some(wrong) = wrong {
            self.waiting.push_back(Err(wrong));
            self.ended = true;
        }
    }

    /// The connection has ended. That is the end of the answer if its reason was told.
    fn end(&mut self) {
        let Self { form, waiting, read, .. } = self;
        match form {
            Form::Events(events) => {
                // Data that was cut off in the middle is not an event.
                let mut rest = VecDeque::new();
                let _ = events.finish(&mut |data| rest.push_back(read(data)));
                waiting.extend(rest.into_iter().filter(Result::is_ok));
            }
            Form::Whole(body) => waiting.push_back(read(body)),
        }
        let told =
            |piece: &Result<Piece, Trouble>| piece.as_ref().map_or(true, |piece| piece.finish.is_some() || piece.last);
        if !self.finished && !waiting.iter().any(told) {
            waiting.push_back(Err(Trouble::cut_off()));
        }
        self.ended = true;
    }
}

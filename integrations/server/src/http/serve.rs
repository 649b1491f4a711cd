//! Listens, and ends in good order: no new connections, then a time limit for the answers that are being written, then an error
//! event for those that are left.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::budget::Budget;
use super::config::{Bos, Config, Secret, UpstreamApi};
use super::log::LogLine;
use super::memory::Memory;
use super::metrics::Metrics;
use super::models::{Models, ServedModel};
use super::router::router;
use super::state::{Replaceable, State};
use super::upstream::{Upstream, VOCABULARY};

/// How long clients may take to read the last event.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The longest time limit for the head of a request: a point in time that is too far away cannot be written.
const HEAD: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The proxy.
///
/// ```no_run
/// use unjinja_dynamic::Model;
/// use unjinja_server::http::{Config, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ServedModel::new("my-model", Model::from_file("chat_template.jinja")?)?;
/// let config = Config::new(UpstreamConfig::new("http://127.0.0.1:8000", UpstreamApi::OpenAi)?);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// let proxy = Proxy::new(config, Models::new(vec![model])?)?;
/// proxy.serve(listener, async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    state: Arc<State>,
    close: watch::Sender<bool>,
}

impl Proxy {
    /// A proxy for these models.
    ///
    /// # Errors
    /// If no client for the upstream can be made; with [`Bos::Template`], if a template writes a BOS whose text is not known.
    pub fn new(config: Config, models: Models) -> Result<Self, SetupError> {
        check_models(&config, &models)?;
        let (close, closing) = watch::channel(false);
        let slots = Arc::new(Semaphore::new(config.limits.concurrent.min(Semaphore::MAX_PERMITS)));
        let budget = Budget::new(&config.limits);
        let (metrics, memory) = (Arc::new(Metrics::new()), Arc::new(Memory::new(config.limits.responses)));
        let upstream = Upstream::new(&config);
        let upstream = upstream.map_err(|error| SetupError::Client { cause: error.to_string() })?;
        let replaced = RwLock::new(Arc::new(Replaceable { models, key: config.key.clone() }));
        let state = State { config, replaced, upstream, metrics, memory, slots, budget, closing };
        Ok(Self { state: Arc::new(state), close })
    }

    /// Replaces the models and the key while the proxy runs.
    pub fn reloader(&self) -> Reloader {
        Reloader(self.state.clone())
    }

    /// Asks whether the upstream answers, and whether prompts begin with one BOS: llama.cpp says whether it adds one. Says why not.
    /// For a warning at the start: the proxy works without, and every request asks the upstream again.
    pub fn upstream_problem(&self) -> impl Future<Output = Option<String>> + Send + use<> {
        let state = self.state.clone();
        async move {
            if let Err(trouble) = state.upstream.probe().await {
                return Some(format!("{}; every request asks it again", trouble.error.message()));
            }
            let upstream = &state.config.upstream;
            let now = state.now();
            if now.models.iter().all(|model| model.encoding.is_some()) {
                return None;
            }
            if upstream.api == UpstreamApi::OpenAi || !now.models.iter().any(|model| model.tokens.begins) {
                return None;
            }
            let said = state.upstream.says_bos().await;
            now.models.iter().find_map(|model| bos_problem(upstream.bos, said, model))
        }
    }

    /// Compares the vocabularies of the models that have a tokenizer with that of the upstream. Says why ids cannot go there. If the
    /// upstream cannot be reached now, this is done before its first prompt.
    pub fn vocabulary_problem(&self) -> impl Future<Output = Option<String>> + Send + use<> {
        let state = self.state.clone();
        async move {
            let now = state.now();
            for model in now.models.iter() {
                let Some(encoding) = &model.encoding else { continue };
                let known = model.upstream_name();
                let name = state.upstream.name_of(known.unwrap_or(model.name()), known.is_none()).await;
                match state.upstream.agree(encoding, &name).await {
                    Err(trouble) if trouble.kind == VOCABULARY => {
                        let (base, problem) = (state.config.upstream.base(), trouble.error.message());
                        return Some(format!("{}: {base}: {problem}", model.name()));
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            None
        }
    }

    /// Serves until `stop` resolves and all answers are written, or the time limit for them is over.
    ///
    /// # Errors
    /// None at present: if a connection cannot be accepted, the next one is waited for.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let Self { state, close } = self;
        let (log, limit) = (state.config.log.clone(), state.config.timeouts.shutdown);
        let (stopping, mut stopped) = watch::channel(false);
        let noted = log.clone();
        let signal = async move {
            stop.await;
            noted.write(LogLine::Note("shutting down: answers that are being written are completed".to_owned()));
            let _ = stopping.send(true);
            // The other end must not see this sender go.
            std::future::pending::<()>().await;
        };
        tokio::spawn(signal);
        let served = accept(listener, state, stopped.clone());
        let overdue = async {
            let _ = stopped.wait_for(|stopped| *stopped).await;
            sleep(limit).await;
            log.write(LogLine::Note(
                "shutting down: the time limit is over; the other answers end with an error".to_owned(),
            ));
            let _ = close.send(true);
            sleep(LAST_WORD).await;
        };
        tokio::select! {
            () = served => {}
            () = overdue => {}
        }
        Ok(())
    }
}

/// Replaces the models and the key of a [`Proxy`] that runs. Requests that are being answered keep what they began with.
#[derive(Debug, Clone)]
pub struct Reloader(Arc<State>);

impl Reloader {
    /// From now on, these models are served, and clients must send this key.
    ///
    /// # Errors
    /// As [`Proxy::new`]; nothing is replaced then.
    pub fn replace(&self, models: Models, key: Option<Secret>) -> Result<(), SetupError> {
        check_models(&self.0.config, &models)?;
        let replaced = Arc::new(Replaceable { models, key });
        *self.0.replaced.write().unwrap_or_else(PoisonError::into_inner) = replaced;
        Ok(())
    }
}

/// With [`Bos::Template`], the text of every BOS has to be known. Prompts that go as ids have their BOS, and tokens in the description
/// of tools would be text there.
fn check_models(config: &Config, models: &Models) -> Result<(), SetupError> {
    let mut encoded = models.iter().filter(|model| model.encoding.is_some());
    let adds_bos = config.upstream.bos == Bos::Upstream;
    if let Some(model) = encoded.find(|model| adds_bos || (config.describe_tools && model.can_describe_tools())) {
        let (model, choice) = (model.name().to_owned(), if adds_bos { "bos" } else { "describe_tools" });
        return Err(SetupError::Ids { model, choice });
    }
    let lacking = models.iter().find(|model| config.upstream.bos == Bos::Template && model.lacks_bos());
    lacking.map_or(Ok(()), |model| Err(SetupError::NoBos { model: model.name().to_owned() }))
}

/// Why the prompts of a model whose template writes BOS do not begin with one, or why this is not known. `said` is whether llama.cpp adds one.
fn bos_problem(bos: Bos, said: Option<bool>, model: &ServedModel) -> Option<String> {
    let name = model.name();
    match (bos, said) {
        // Ids begin with what the template writes.
        _ if !model.tokens.begins || model.encoding.is_some() => None,
        (Bos::Auto | Bos::Upstream, Some(false)) if model.lacks_bos() => Some(format!(
            "it adds no BOS, and the template of {name} does not say what BOS is: prompts lack it; give the model's \
             tokenizer_config.json or GGUF file"
        )),
        (Bos::Upstream, Some(false)) => Some(format!(
            "it adds no BOS, and that of the template of {name} is left out: prompts lack it; choose --bos auto"
        )),
        (Bos::Template, Some(true)) => Some(format!(
            "it adds BOS by itself, and the template of {name} writes it: prompts begin with two; choose --bos auto"
        )),
        (Bos::Auto, None) => Some(
            "it does not say whether it adds BOS, and is taken to do so; say it with --bos upstream or --bos template"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Accepts connections until it is told to stop, and then waits for the answers that are being written. A client that does not
/// send the head of its next request in time loses its connection.
async fn accept(mut listener: TcpListener, state: Arc<State>, mut stopped: watch::Receiver<bool>) {
    let limit = state.config.timeouts.client.min(HEAD);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limit);
    let (service, open) = (TowerToHyperService::new(router(state)), GracefulShutdown::new());
    loop {
        let stream = tokio::select! {
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => break,
            stream = next(&mut listener) => stream,
        };
        let (http, service, watcher, mut stopped) = (http.clone(), service.clone(), open.watcher(), stopped.clone());
        tokio::spawn(async move {
            // At the end, a connection on which nothing was ever sent is not waited for.
            let begun = tokio::select! {
                biased;
                begun = timeout(limit, stream.readable()) => matches!(begun, Ok(Ok(()))),
                _ = stopped.wait_for(|stopped| *stopped) => false,
            };
            if begun {
                // The client learns of an error by its connection.
                let _ = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await;
            }
        });
    }
    drop(listener);
    open.shutdown().await;
}

/// The next connection. Each piece of an answer is sent at once: otherwise the system keeps a small one until the client has
/// confirmed the one before, and clients wait about 40 ms with that.
async fn next(listener: &mut TcpListener) -> TcpStream {
    let (stream, _) = Listener::accept(listener).await;
    // Without the option the connection is slower, and works.
    let _ = stream.set_nodelay(true);
    stream
}

/// Why there is no proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// No client for the upstream can be made.
    Client {
        /// What is wrong.
        cause: String,
    },
    /// The proxy is to write the BOS of this model, and does not know its text.
    NoBos {
        /// The model.
        model: String,
    },
    /// Prompts of this model go as token ids, and another choice does not fit that.
    Ids {
        /// The model.
        model: String,
        /// The field of the configuration: `bos` or `describe_tools`.
        choice: &'static str,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { cause } => {
                write!(f, "the client for the upstream cannot be made: {cause}; check the certificates of this machine")
            }
            Self::NoBos { model } => write!(
                f,
                "{model}: the template writes bos_token, and this file does not say what that is: give the model's \
                 tokenizer_config.json or GGUF file, or let the upstream add the token"
            ),
            Self::Ids { model, choice: "bos" } => write!(
                f,
                "{model}: prompts go as token ids, which have the BOS that the template writes: leave out --bos upstream, or --tokenizer"
            ),
            Self::Ids { model, .. } => write!(
                f,
                "{model}: tools would be described with special tokens that --tokenizer makes ordinary text: leave out \
                 --describe-tools, or --tokenizer"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_are_sent_at_once() -> Result<(), io::Error> {
        let mut listener = TcpListener::bind("127.0.0.1:0").await?;
        let _client = TcpStream::connect(listener.local_addr()?).await?;
        assert!(next(&mut listener).await.nodelay()?);
        Ok(())
    }
}

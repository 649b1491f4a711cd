//! What an operator chooses: the upstream, limits, time limits and keys. Reading it from the command line is the command's
//! work.

use std::fmt;
use std::time::Duration;

use subtle::ConstantTimeEq;
use unjinja_dynamic::{CutCalls, Target};

use super::log::Log;

/// What an operator chooses. `Config::new(upstream)` has the defaults of `unjinja serve`.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server that completes text.
    pub upstream: UpstreamConfig,
    /// Limits on requests.
    pub limits: Limits,
    /// Time limits.
    pub timeouts: Timeouts,
    /// The key that clients must send; anybody may ask if there is none.
    pub key: Option<Secret>,
    /// The names in the header `Host` under which requests are answered; with `None`, any.
    pub hosts: Option<Vec<String>>,
    /// The pages that may ask, by their header `Origin`; `*` means any. A page that is reached under the proxy's own name may ask in
    /// any case.
    pub origins: Vec<String>,
    /// Whether answers have the diagnostics of the parser, in an extra field.
    pub diagnostics: bool,
    /// Fields of requests that are left out, besides those on which no answer depends. A member of one is named as `field.member`.
    pub ignore_fields: Vec<String>,
    /// Whether a request with an image or a document is refused. Otherwise a sentence replaces it.
    pub refuse_media: bool,
    /// What becomes of calls that the model does not close.
    pub cut_calls: CutCalls,
    /// What becomes of requests whose messages spell a special token of the model.
    pub markers: SpelledMarkers,
    /// What becomes of requests of which the template does not write something.
    pub missing: MissingParts,
    /// Whether tools that a template does not print are described in the system message. Otherwise such a request is refused.
    pub describe_tools: bool,
    /// Whether the model thinks where a request does not say, if its template has a switch. `None`: the template decides.
    pub thinking: Option<bool>,
    /// What becomes of requests for a guarantee that cannot be enforced.
    pub unenforced: Unenforced,
    /// Takes the lines of the log.
    pub log: Log,
}

impl Config {
    /// The defaults, with this upstream.
    pub fn new(upstream: UpstreamConfig) -> Self {
        let (limits, timeouts) = (Limits::default(), Timeouts::default());
        Self {
            upstream,
            limits,
            timeouts,
            key: None,
            hosts: None,
            origins: Vec::new(),
            diagnostics: false,
            ignore_fields: Vec::new(),
            refuse_media: false,
            cut_calls: CutCalls::Keep,
            markers: SpelledMarkers::default(),
            missing: MissingParts::default(),
            describe_tools: false,
            thinking: None,
            unenforced: Unenforced::default(),
            log: Log::none(),
        }
    }
}

/// The server that completes text.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// Its address without the path of an endpoint: `http://127.0.0.1:8000`.
    pub(crate) url: reqwest::Url,
    /// Its protocol.
    pub api: UpstreamApi,
    /// The key that it wants, sent as `Authorization: Bearer`.
    pub key: Option<Secret>,
    /// When it gets a grammar.
    pub grammar: GrammarUse,
    /// The engine with which it constrains sampling, and with it the field in which it gets a grammar.
    pub engine: Target,
    /// Who begins a prompt with the token that begins a text (BOS).
    pub bos: Bos,
    /// Fields of requests that are passed on to the upstream, besides those of the sampler.
    pub pass_fields: Vec<String>,
    /// The limit of tokens for requests that name none; `None` means all that the context has room for.
    pub max_tokens: Option<u64>,
}

impl UpstreamConfig {
    /// The upstream at an address. A path `/v1` at the end of the address is dropped.
    ///
    /// # Errors
    /// If this is no address with `http` or `https`.
    pub fn new(url: &str, api: UpstreamApi) -> Result<Self, UpstreamUrlError> {
        let grammar = match api {
            UpstreamApi::OpenAi => GrammarUse::Never,
            UpstreamApi::LlamaCpp => GrammarUse::ForGuarantees,
        };
        let bos = Bos::default();
        let (engine, pass_fields) = (Target::Gbnf, Vec::new());
        let url = address(url)?;
        Ok(Self { url, api, key: None, grammar, engine, bos, pass_fields, max_tokens: None })
    }

    /// The address, to which the path of an endpoint is added.
    pub(crate) fn base(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }
}

/// Reads the address of an upstream.
fn address(url: &str) -> Result<reqwest::Url, UpstreamUrlError> {
    let failed = |cause: String| UpstreamUrlError { url: url.to_owned(), cause };
    let mut parsed = reqwest::Url::parse(url).map_err(|error| failed(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(failed("it has to begin with http:// or https:// and a host".to_owned()));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(UpstreamUrlError {
            url: String::from("the address"),
            cause: "it holds a user or a password, which would appear in logs".to_owned(),
        });
    }
    if cfg!(not(feature = "tls")) && parsed.scheme() == "https" {
        return Err(failed("https needs the feature `tls` of unjinja-server".to_owned()));
    }
    let path = parsed.path().trim_end_matches('/');
    if let Some(end) = ENDPOINTS.into_iter().find(|end| path.ends_with(end)) {
        return Err(failed(format!("it ends with the endpoint {end}; leave that out")));
    }
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    parsed.set_path(&path);
    parsed.set_query(None);
    parsed.set_fragment(None);
    Ok(parsed)
}

/// Endpoints of upstreams, which their addresses do not have.
const ENDPOINTS: [&str; 5] = ["/completions", "/completion", "/messages", "/responses", "/models"];

/// Why an address cannot be that of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrlError {
    url: String,
    cause: String,
}

impl fmt::Display for UpstreamUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, cause } = self;
        write!(f, "{url}: this is no address of an upstream: {cause}; give one like http://127.0.0.1:8000")
    }
}

impl std::error::Error for UpstreamUrlError {}

/// The protocol of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpstreamApi {
    /// `/v1/completions`: vLLM, SGLang, TGI and others.
    #[default]
    OpenAi,
    /// `/completion` of llama.cpp's server.
    LlamaCpp,
}

/// Who begins a prompt with the token that begins a text (BOS), if the template does so at all.
///
/// A model that gets none, or two, answers worse, and nothing else shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bos {
    /// The proxy sends the BOS that the template writes, unless llama.cpp says that it adds one by itself. If the text of the token
    /// is not known, because the template came without its tokenizer, the upstream is asked to add it.
    #[default]
    Auto,
    /// The proxy, and the upstream adds none. A model whose template writes a BOS with an unknown text is not served.
    Template,
    /// The upstream. The proxy leaves out what the template writes.
    Upstream,
}

/// When the upstream gets a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrammarUse {
    /// Never. Whether a guarantee holds then depends on the model alone.
    #[default]
    Never,
    /// Where the request asks for what only a grammar can guarantee: a call, a certain tool, no call, JSON, or arguments that follow their
    /// schema.
    ForGuarantees,
    /// For every request with tools or a response format.
    Always,
}

/// What becomes of a request for a guarantee that cannot be enforced: a call, JSON, or arguments that follow their schema, without a
/// grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unenforced {
    /// It is refused, with status 400.
    #[default]
    Refuse,
    /// It is accepted. The answer may lack what was guaranteed.
    Accept,
}

/// What becomes of a request of which the template does not write a tool, a call or a result. The header `x-unjinja-missing` names these,
/// and contents and reasoning of the present turn, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingParts {
    /// It is refused, with status 400.
    #[default]
    Refuse,
    /// It is answered. The model does not know of what is missing.
    Report,
}

/// What becomes of a request in which a text spells a special token of the model. If the upstream reads it as that token, a text from
/// elsewhere can end a message and begin another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpelledMarkers {
    /// It is answered. The log and the metrics say so. With a tokenizer, the model reads the same text as ordinary tokens; without one,
    /// it reads the token.
    #[default]
    Report,
    /// It is refused, with status 400. Every field of the request counts, and the error names it.
    Refuse,
    /// It is answered, and the model reads the token.
    Trust,
}

/// Limits on requests.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest body of a request, in bytes.
    pub body: usize,
    /// The most tools in a request.
    pub tools: usize,
    /// How many requests are answered at the same time. The next one gets status 429.
    pub concurrent: usize,
    /// The longest line that the upstream may send, in bytes.
    pub line: usize,
    /// How much memory large requests may take together while they are read and rendered, in bytes.
    pub memory: usize,
    /// How much of the responses is kept for `previous_response_id` and for items that requests name, in bytes; 0 keeps nothing.
    pub responses: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 8 << 20, tools: 256, concurrent: 256, line: 4 << 20, memory: 1 << 30, responses: 64 << 20 }
    }
}

/// Time limits.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a connection to the upstream.
    pub connect: Duration,
    /// From the request to the first token of the upstream's answer: the time that the prompt takes.
    pub first_byte: Duration,
    /// Between two tokens.
    pub idle: Duration,
    /// Until a stream in which nothing comes from the model has a ping, and its first one the head of the response.
    pub silence: Duration,
    /// For a client to send the head of a request, its body, and to take a piece of the answer.
    pub client: Duration,
    /// For answers that are being written when the proxy is told to end.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(5),
            first_byte: seconds(300),
            idle: seconds(60),
            silence: seconds(10),
            client: seconds(60),
            shutdown: seconds(30),
        }
    }
}

/// A key. It is compared in constant time, and never printed.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A key. White space around it, such as the line break at the end of a file, is no part of it. Nothing remains of an
    /// empty text.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Whether a client sent this key. The time depends on the lengths alone.
    pub(crate) fn is(&self, sent: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(sent).into()
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

//! The flags of `unjinja serve`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use unjinja_dynamic::RenderLimits;
use unjinja_server::http::Limits;

use crate::arguments::{CutArgs, Engine};
use crate::parser_args::ParserArgs;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = address)]
    pub(super) listen: SocketAddr,
    /// The server that completes text. For several servers, give the address of a router in front of them.
    #[arg(long, value_name = "URL")]
    pub(super) upstream: String,
    /// The protocol of the upstream. Without it, the upstream is asked.
    #[arg(long, value_enum)]
    pub(super) upstream_api: Option<Api>,
    /// The chat template: a .jinja, tokenizer_config.json or GGUF file, a folder with one of them, or the id of a model on the
    /// Hugging Face Hub. Give it several times, as NAME=FILE, to serve several models; a single one answers to every name. Without it,
    /// the upstream is asked which model it has.
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(super) template: Vec<String>,
    /// The model's tokenizer: its folder, or its tokenizer.json. Prompts then go as token ids, in which no text of a request becomes a
    /// special token, and the model's own special tokens are told by their ids. Give it several times, as NAME=FOLDER, for several models.
    #[arg(long, value_name = "[NAME=]FOLDER")]
    pub(super) tokenizer: Vec<String>,
    /// Another name to which a model answers, where several are served: agents have names of models built in.
    #[arg(long, value_name = "NAME=MODEL")]
    pub(super) alias: Vec<String>,
    #[command(flatten)]
    pub(super) parser: ParserArgs,
    /// The name of the model at the upstream; by default NAME, or else the name that the client sends.
    #[arg(long, value_name = "NAME")]
    pub(super) upstream_model: Option<String>,
    /// When to constrain the sampler: `guaranteed` where a request demands a call, a certain tool, no call, JSON, or arguments that follow
    /// their schema. The default is `guaranteed` for llama.cpp, vLLM and SGLang, and `none` otherwise.
    #[arg(long, value_enum)]
    pub(super) grammar: Option<Grammar>,
    /// The engine with which the upstream constrains the sampler. The default is `xgrammar` for vLLM and SGLang, and `gbnf` otherwise;
    /// with that, only llama.cpp gets grammars that begin in the middle of an output.
    #[arg(long, value_name = "ENGINE", value_enum)]
    pub(super) grammar_for: Option<Engine>,
    /// What becomes of a request for a guarantee that cannot be enforced: a call (`tool_choice`), JSON (`response_format`), or arguments
    /// that follow their schema (`strict`).
    #[arg(long, value_enum, default_value = "refuse")]
    pub(super) unenforced: OnUnenforced,
    /// Describe tools in the system message if the template does not print them. Otherwise such a request is refused.
    #[arg(long)]
    pub(super) describe_tools: bool,
    /// Whether the model thinks where a request does not say, if its template has a switch for that. llama.cpp's own server always sets
    /// `enable_thinking`, so there some models think that do not here.
    #[arg(long, value_enum, default_value = "template")]
    pub(super) thinking: Thinking,
    /// What becomes of a request of which the template does not write a tool, a call or a result. The header `x-unjinja-missing` of an
    /// answer names these, and contents and reasoning that the prompt lacks.
    #[arg(long, value_enum, default_value = "refuse")]
    pub(super) missing: OnMissing,
    /// Who begins prompts with BOS, the token that begins a text. With `auto` it is the template; or the upstream, if llama.cpp
    /// does so anyway, or the template came without its tokenizer, so that the text of the token is not known.
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) bos: BosFrom,
    /// The limit of tokens for requests without one. Without it, it is what the context has room for, as far as the upstream says
    /// how long that is, and 4096 otherwise. llama.cpp needs none.
    #[arg(long, value_name = "TOKENS", value_parser = positive::<u64>)]
    pub(super) max_tokens: Option<u64>,
    /// Refuse requests with images and documents. Otherwise a sentence replaces each.
    #[arg(long)]
    pub(super) refuse_media: bool,
    /// A name under which the proxy is reached, besides those of this machine (`localhost`, `127.0.0.1`, `[::1]`). On an address that
    /// other machines reach, any name is answered unless some are given.
    #[arg(long, value_name = "NAME", help_heading = "Security")]
    pub(super) allow_host: Vec<String>,
    /// A web page that may ask, such as `https://chat.example`; `*` for any. Without it, requests of pages are refused.
    #[arg(long, value_name = "ORIGIN", help_heading = "Security")]
    pub(super) cors: Vec<String>,
    /// What becomes of requests that spell a special token, such as `<|im_end|>`. With --tokenizer the model reads it as ordinary text,
    /// and without it as that token.
    #[arg(long, value_enum, default_value = "report", help_heading = "Security")]
    pub(super) markers: Markers,
    /// A field of requests that is passed on to the upstream. Without it, only those are that say how to sample.
    #[arg(long, value_name = "FIELD", help_heading = "Security")]
    pub(super) pass_field: Vec<String>,
    /// A field of requests that is left out, or a member of one (`output_config.task_budget`). Without it, a field on which the answer
    /// may depend, and that is not known here, has status 400.
    #[arg(long, value_name = "FIELD", help_heading = "Security")]
    pub(super) ignore_field: Vec<String>,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    /// How lines of the log are written: as text, or as one JSON object each, with the time in seconds since 1970.
    #[arg(long, value_enum, default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Add the parser's diagnostics to answers, in an extra field.
    #[arg(long)]
    pub(super) diagnostics: bool,
    /// A file with the key that clients must send; overrides UNJINJA_API_KEY.
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub(super) api_key_file: Option<PathBuf>,
    /// A file with the key for the upstream; overrides UNJINJA_UPSTREAM_API_KEY.
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub(super) upstream_api_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// The flags for limits.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// The longest request, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body, value_parser = positive::<usize>)]
    pub(super) max_body: usize,
    /// The most tools in a request; with 0, none.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().tools)]
    pub(super) max_tools: usize,
    /// The most requests at the same time; further ones get status 429.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().concurrent, value_parser = positive::<usize>)]
    pub(super) max_concurrent: usize,
    /// How much memory large requests may take together while they are read and rendered, in bytes; one that takes more is refused.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().memory, value_parser = positive::<usize>)]
    pub(super) max_memory: usize,
    /// How much of OpenAI's responses is kept for requests that name them (`previous_response_id`), in bytes; with 0, nothing.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().responses)]
    pub(super) keep_responses: usize,
    /// How many steps a template may take for each byte of a long conversation; a render that takes more has status 400.
    #[arg(long, value_name = "COUNT", default_value_t = RenderLimits::default().fuel_per_byte, value_parser = positive::<u64>)]
    pub(super) steps_per_byte: u64,
    /// Seconds for a connection to the upstream.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = positive::<u64>)]
    pub(super) connect_timeout: u64,
    /// Seconds until the upstream's first token.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = positive::<u64>)]
    pub(super) first_token_timeout: u64,
    /// Seconds between two tokens.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = positive::<u64>)]
    pub(super) idle_timeout: u64,
    /// Seconds of silence after which a stream has a ping.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = positive::<u64>)]
    pub(super) ping_after: u64,
    /// Seconds for a client to send the head of a request, or its body, or to take a piece of the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = positive::<u64>)]
    pub(super) client_timeout: u64,
    /// Seconds for answers that are being written when the command is told to end; with 0, they end at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(super) shutdown_timeout: u64,
}

/// The protocol of the upstream.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Api {
    /// `/v1/completions`: vLLM, SGLang, TGI and others.
    Openai,
    /// `/completion` of llama.cpp.
    #[value(name = "llama.cpp")]
    LlamaCpp,
}

/// When the upstream gets a grammar.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Grammar {
    None,
    #[value(alias = "promised")]
    Guaranteed,
    Always,
}

/// What becomes of requests whose messages spell a special token.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Markers {
    /// They are answered. The log and the metrics say so.
    Report,
    /// They have status 400.
    Refuse,
    /// They are answered, and the model reads the token.
    Trust,
}

/// Whether the model thinks where a request does not say.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Thinking {
    On,
    Off,
    /// What the template writes where nothing switches it.
    Template,
}

/// What becomes of requests of which the template does not write something.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum OnMissing {
    /// They have status 400.
    Refuse,
    /// They are answered; a header names what is missing.
    Report,
}

/// How lines of the log are written.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// What becomes of requests for a guarantee that cannot be enforced.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum OnUnenforced {
    /// They have status 400.
    Refuse,
    /// They are answered, without the guarantee.
    Accept,
}

/// Who begins prompts with BOS.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum BosFrom {
    /// The template if it can, else the upstream.
    Auto,
    /// The template; a template whose BOS is not known is refused.
    Template,
    /// The upstream; the template's is left out.
    Upstream,
}

/// A number above 0.
fn positive<N: FromStr + PartialOrd + Default>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| "give a whole number of at least 1".to_owned())
}

/// An address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| "give an address and a port, like 127.0.0.1:8080 or localhost:8080".to_owned())
}

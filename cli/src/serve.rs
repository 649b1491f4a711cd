//! `unjinja serve`: OpenAI's and Anthropic's chat APIs in front of a server that completes text. The proxy itself is
//! `unjinja_server::http`; this reads its configuration and its models, and prints its log. It must never print a key.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unjinja_dynamic::{Input, LoadError, Loader, Model, ModelError, Status};
use unjinja_server::http::{
    Bos, Config, GrammarUse, Limits, Log, LogLevel, LogLine, ModelNameError, Models, Proxy, Reloader, Secret,
    ServedModel, SpelledMarkers, Timeouts, Unkept, UpstreamApi, UpstreamConfig, UpstreamFacts, UpstreamServer,
    discover,
};

use crate::arguments::{CutArgs, Engine};
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::ui::{Ui, WARNING, paint};
use crate::{input, log, visible};
#[cfg(feature = "fetch")]
use contact::is_hub_id;
use contact::{TemplatePlace, in_folder, of_upstream};

mod contact;
mod page;

/// Environment variables with keys.
const KEY: &str = "UNJINJA_API_KEY";
const UPSTREAM_KEY: &str = "UNJINJA_UPSTREAM_API_KEY";

/// The arguments of `serve`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = address)]
    listen: SocketAddr,
    /// The server that completes text.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// The protocol of the upstream. Without it, the upstream is asked.
    #[arg(long, value_enum)]
    upstream_api: Option<Api>,
    /// The chat template: a .jinja, tokenizer_config.json or GGUF file, a folder with one of them, or the id of a model on the
    /// Hugging Face Hub. Give it several times, as NAME=FILE, to serve several models; a single one answers to every name. Without it,
    /// the upstream is asked which model it has.
    #[arg(long, value_name = "[NAME=]FILE")]
    template: Vec<String>,
    /// Another name to which a model answers, where several are served: agents have names of models built in.
    #[arg(long, value_name = "NAME=MODEL")]
    alias: Vec<String>,
    #[command(flatten)]
    parser: ParserArgs,
    /// The name of the model at the upstream; by default NAME, or else the name that the client sends.
    #[arg(long, value_name = "NAME")]
    upstream_model: Option<String>,
    /// When to constrain the sampler: `promised` where a request demands a call, a certain tool, no call, JSON, or arguments that follow
    /// their schema. The default is `promised` for llama.cpp, vLLM and SGLang, and `none` otherwise.
    #[arg(long, value_enum)]
    grammar: Option<Grammar>,
    /// The engine with which the upstream constrains the sampler. The default is `xgrammar` for vLLM and SGLang, and `gbnf` otherwise;
    /// with that, only llama.cpp gets grammars that begin in the middle of an output.
    #[arg(long, value_name = "ENGINE", value_enum)]
    grammar_for: Option<Engine>,
    /// What becomes of a request that promises what nobody makes the model keep: a call (`tool_choice`), JSON (`response_format`), or
    /// arguments that follow their schema (`strict`).
    #[arg(long, value_enum, default_value = "refuse")]
    unkept_promises: UnkeptPromises,
    /// Describe tools in the system message if the template does not print them. Otherwise such a request is refused.
    #[arg(long)]
    describe_tools: bool,
    /// Who begins prompts with BOS, the token that begins a text. With `auto` it is the template; or the upstream, if llama.cpp
    /// does so anyway, or the template came without its tokenizer, so that the text of the token is not known.
    #[arg(long, value_enum, default_value = "auto")]
    bos: BosFrom,
    /// The limit of tokens for requests without one. Without it, it is what the context has room for, as far as the upstream says
    /// how long that is, and 4096 otherwise. llama.cpp needs none.
    #[arg(long, value_name = "TOKENS", value_parser = positive::<u64>)]
    max_tokens: Option<u64>,
    /// Refuse requests with images and documents. Otherwise a sentence stands in the place of each.
    #[arg(long)]
    refuse_media: bool,
    /// A name under which the proxy is reached, besides those of this machine (`localhost`, `127.0.0.1`, `[::1]`). On an address that
    /// other machines reach, any name is answered unless some are given.
    #[arg(long, value_name = "NAME", help_heading = "Security")]
    allow_host: Vec<String>,
    /// A web page that may ask, such as `https://chat.example`; `*` for any. Without it, requests of pages are refused.
    #[arg(long, value_name = "ORIGIN", help_heading = "Security")]
    cors: Vec<String>,
    /// What becomes of requests whose messages spell a special token, such as `<|im_end|>`: the model reads it as that token.
    #[arg(long, value_enum, default_value = "report", help_heading = "Security")]
    markers: Markers,
    /// A field of requests that goes on to the upstream. Without it, only those go on that say how to sample.
    #[arg(long, value_name = "FIELD", help_heading = "Security")]
    pass_field: Vec<String>,
    #[command(flatten)]
    cut: CutArgs,
    /// How lines of the log are written: as text, or as one JSON object each, with the time in seconds since 1970.
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// Add the parser's diagnostics to answers, in an extra field.
    #[arg(long)]
    diagnostics: bool,
    /// A file with the key that clients must send; overrides UNJINJA_API_KEY.
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    api_key_file: Option<PathBuf>,
    /// A file with the key for the upstream; overrides UNJINJA_UPSTREAM_API_KEY.
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    upstream_api_key_file: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The flags for limits.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// The longest request, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body, value_parser = positive::<usize>)]
    max_body: usize,
    /// The most tools in a request; with 0, none.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().tools)]
    max_tools: usize,
    /// The most requests at the same time; further ones get status 429.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().concurrent, value_parser = positive::<usize>)]
    max_concurrent: usize,
    /// How much memory large requests may take together while they are read and rendered, in bytes; one that takes more is refused.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().memory, value_parser = positive::<usize>)]
    max_memory: usize,
    /// How much of OpenAI's responses is kept for requests that name them (`previous_response_id`), in bytes; with 0, nothing.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().responses)]
    keep_responses: usize,
    /// Seconds for a connection to the upstream.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = positive::<u64>)]
    connect_timeout: u64,
    /// Seconds until the upstream's first token.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = positive::<u64>)]
    first_token_timeout: u64,
    /// Seconds between two tokens.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = positive::<u64>)]
    idle_timeout: u64,
    /// Seconds of silence after which a stream has a ping.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = positive::<u64>)]
    ping_after: u64,
    /// Seconds for a client to send the head of a request, or its body, or to take a piece of the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = positive::<u64>)]
    client_timeout: u64,
    /// Seconds for answers that are being written when the command is told to end; with 0, they end at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    shutdown_timeout: u64,
}

/// The protocol of the upstream.
#[derive(Clone, Copy, ValueEnum)]
enum Api {
    /// `/v1/completions`: vLLM, SGLang, TGI and others.
    Openai,
    /// `/completion` of llama.cpp.
    #[value(name = "llama.cpp")]
    LlamaCpp,
}

/// When the upstream gets a grammar.
#[derive(Clone, Copy, ValueEnum)]
enum Grammar {
    None,
    Promised,
    Always,
}

/// What becomes of requests whose messages spell a special token.
#[derive(Clone, Copy, ValueEnum)]
enum Markers {
    /// They are answered. The log and the metrics say so.
    Report,
    /// They have status 400.
    Refuse,
}

/// How lines of the log are written.
#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// What becomes of promises that nobody makes the model keep.
#[derive(Clone, Copy, ValueEnum)]
enum UnkeptPromises {
    /// The request has status 400.
    Refuse,
    /// The model may keep them or not.
    Accept,
}

/// Who begins prompts with BOS.
#[derive(Clone, Copy, ValueEnum)]
enum BosFrom {
    /// The template if it can, else the upstream.
    Auto,
    /// The template; a template whose BOS is not known is refused.
    Template,
    /// The upstream; the template's is left out.
    Upstream,
}

/// Runs the command until it is told to end.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // What the command line says is looked at first: it may be wrong, and the upstream is not needed to see that.
    config(arguments, &UpstreamFacts::default(), ui)?;
    let given = match arguments.template.is_empty() {
        true => None,
        false => Some(models(arguments, &UpstreamFacts::default(), ui)?),
    };
    let asked = found(arguments, &runtime, ui)?;
    let config = config(arguments, &asked, ui)?;
    let models = given.map_or_else(|| models(arguments, &asked, ui), Ok)?;
    let names: Vec<String> = models.iter().map(|model| model.name().to_owned()).collect();
    let has_key = config.key.is_some();
    if !ui.quiet {
        anstream::eprint!("{}", visible::lines(&page::of(&config, &asked, &models)));
    }
    let proxy = Proxy::new(config, models).map_err(|error| Failure::Input(error.to_string()))?;
    let served = runtime.block_on(async {
        let place = arguments.listen;
        let listener = TcpListener::bind(place)
            .await
            .map_err(|error| Failure::Input(format!("{place}: {error}; choose another address with --listen")))?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && !has_key {
            warn(ui, &format!("{address} can be reached from other machines, and no key is set; set {KEY}"));
        }
        // Before anybody is told that the command runs: a signal has to end it in good order from then on.
        let stop = signals()?;
        if !ui.quiet {
            anstream::eprintln!("listening on http://{address} for {}", visible::line(&names.join(", ")));
        }
        let reloads = reloads(arguments, proxy.reloader(), ui)?;
        let (upstream, problem) = (arguments.upstream.clone(), proxy.upstream_problem());
        tokio::spawn(async move {
            if let Some(problem) = problem.await {
                warn(ui, &format!("{upstream}: {problem}"));
            }
        });
        // A task of its own: connections are taken while templates are read again.
        let serves = tokio::spawn(proxy.serve(listener, async move {
            let _ = stop.await;
        }));
        tokio::select! {
            served = serves => Ok(served.map_err(std::io::Error::other)??),
            () = reloads => Ok(()),
        }
    });
    // What a request still computes is not waited for.
    runtime.shutdown_background();
    served
}

/// Resolves at the first signal to end. A second one ends the process at once, with the exit code that shells expect.
fn signals() -> Result<oneshot::Receiver<()>, Failure> {
    let (send, receive) = oneshot::channel();
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    #[cfg(unix)]
    let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    tokio::spawn(async move {
        let mut send = Some(send);
        loop {
            #[cfg(unix)]
            let code = std::future::poll_fn(|context| {
                // Both have to be polled, so that both wake this task.
                match (terminate.poll_recv(context), interrupt.poll_recv(context)) {
                    (std::task::Poll::Ready(_), _) => std::task::Poll::Ready(143),
                    (_, std::task::Poll::Ready(_)) => std::task::Poll::Ready(130),
                    _ => std::task::Poll::Pending,
                }
            })
            .await;
            #[cfg(not(unix))]
            let code = match tokio::signal::ctrl_c().await {
                Ok(()) => 130,
                Err(_) => return,
            };
            match send.take() {
                Some(send) => drop(send.send(())),
                None => std::process::exit(code),
            }
        }
    });
    Ok(receive)
}

/// Reads templates and keys again at each SIGHUP. If that fails, what was read before stays.
#[cfg(unix)]
fn reloads(arguments: &Arguments, reloader: Reloader, ui: Ui) -> Result<impl Future<Output = ()>, Failure> {
    let mut signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?;
    Ok(async move {
        while signal.recv().await.is_some() {
            // Reading templates takes a while; answers are written by other threads meanwhile.
            match tokio::task::block_in_place(|| reload(arguments, &reloader, ui)) {
                Ok(count) if !ui.quiet => {
                    anstream::eprintln!("reloaded: the templates of all models ({count}), and the key")
                }
                Ok(_) => {}
                Err(failure) => warn(ui, &format!("nothing was reloaded: {failure}")),
            }
        }
    })
}

/// There is no such signal elsewhere.
#[cfg(not(unix))]
fn reloads(_: &Arguments, _: Reloader, _: Ui) -> Result<impl Future<Output = ()>, Failure> {
    Ok(std::future::pending())
}

#[cfg(unix)]
fn reload(arguments: &Arguments, reloader: &Reloader, ui: Ui) -> Result<usize, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let facts = found(arguments, &runtime, ui)?;
    let (models, key) = (models(arguments, &facts, ui)?, key(arguments.api_key_file.as_deref(), KEY)?);
    let count = models.iter().count();
    reloader.replace(models, key).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(count)
}

fn warn(ui: Ui, text: &str) {
    if !ui.quiet {
        anstream::eprintln!("{} {}", paint(WARNING, "warning:"), visible::lines(text));
    }
}

/// The upstream as the command line names it, with this protocol.
fn upstream(arguments: &Arguments, api: UpstreamApi) -> Result<UpstreamConfig, Failure> {
    let mut upstream =
        UpstreamConfig::new(&arguments.upstream, api).map_err(|error| Failure::Input(error.to_string()))?;
    upstream.key = key(arguments.upstream_api_key_file.as_deref(), UPSTREAM_KEY)?;
    Ok(upstream)
}

/// What the upstream says of itself, as far as the command line leaves it open. Without a template on the command line, it has to say
/// which model it has.
fn found(arguments: &Arguments, runtime: &tokio::runtime::Runtime, ui: Ui) -> Result<UpstreamFacts, Failure> {
    let given = arguments.upstream_api.map(|api| match api {
        Api::Openai => UpstreamApi::OpenAi,
        Api::LlamaCpp => UpstreamApi::LlamaCpp,
    });
    let config = upstream(arguments, given.unwrap_or_default())?;
    let limit = Duration::from_secs(arguments.limits.connect_timeout);
    let mut facts = match runtime.block_on(discover(&config, limit)) {
        Ok(facts) => facts,
        Err(problem) if arguments.template.is_empty() => {
            let next = "start it first, or name the model's template with --template";
            return Err(Failure::Input(format!("{}: {problem}; {next}", arguments.upstream)));
        }
        Err(problem) => {
            if given.is_none() {
                let next = "it is taken for a server with OpenAI's protocol; say otherwise with --upstream-api";
                warn(ui, &format!("{}: {problem}; {next}", arguments.upstream));
            }
            UpstreamFacts::default()
        }
    };
    facts.api = given.unwrap_or(facts.api);
    Ok(facts)
}

fn config(arguments: &Arguments, facts: &UpstreamFacts, ui: Ui) -> Result<Config, Failure> {
    let mut upstream = upstream(arguments, facts.api)?;
    upstream.max_tokens = arguments.max_tokens;
    upstream.pass_fields.clone_from(&arguments.pass_field);
    upstream.bos = match arguments.bos {
        BosFrom::Auto => Bos::Auto,
        BosFrom::Template => Bos::Template,
        BosFrom::Upstream => Bos::Upstream,
    };
    let takes_tags = matches!(facts.server, UpstreamServer::Vllm | UpstreamServer::Sglang);
    match arguments.grammar {
        None if takes_tags => upstream.grammar = GrammarUse::WhenPromised,
        None => {}
        Some(Grammar::None) => upstream.grammar = GrammarUse::Never,
        Some(Grammar::Promised) => upstream.grammar = GrammarUse::WhenPromised,
        Some(Grammar::Always) => upstream.grammar = GrammarUse::Always,
    }
    let engine = arguments.grammar_for.unwrap_or(if takes_tags { Engine::XGrammar } else { Engine::Gbnf });
    if facts.api == UpstreamApi::LlamaCpp && engine == Engine::XGrammar {
        let next = "use --grammar-for gbnf, or llguidance if it is built with that";
        return Err(Failure::Input(format!("llama.cpp takes no structural tags; {next}")));
    }
    upstream.engine = engine.into();
    let mut config = Config::new(upstream);
    config.key = key(arguments.api_key_file.as_deref(), KEY)?;
    config.diagnostics = arguments.diagnostics;
    config.refuse_media = arguments.refuse_media;
    config.describe_tools = arguments.describe_tools;
    config.markers = match arguments.markers {
        Markers::Report => SpelledMarkers::Report,
        Markers::Refuse => SpelledMarkers::Refuse,
    };
    config.unkept = match arguments.unkept_promises {
        UnkeptPromises::Refuse => Unkept::Refuse,
        UnkeptPromises::Accept => Unkept::Accept,
    };
    config.origins.clone_from(&arguments.cors);
    let local = arguments.listen.ip().is_loopback();
    if local || !arguments.allow_host.is_empty() {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        config.hosts = Some(own.into_iter().chain(arguments.allow_host.iter().cloned()).collect());
    }
    config.cut_calls = arguments.cut.cut_calls();
    let limits = &arguments.limits;
    (config.limits.body, config.limits.tools) = (limits.max_body, limits.max_tools);
    (config.limits.concurrent, config.limits.responses) = (limits.max_concurrent, limits.keep_responses);
    config.limits.memory = limits.max_memory;
    let seconds = Duration::from_secs;
    config.timeouts = Timeouts {
        connect: seconds(limits.connect_timeout),
        first_byte: seconds(limits.first_token_timeout),
        idle: seconds(limits.idle_timeout),
        silence: seconds(limits.ping_after),
        client: seconds(limits.client_timeout),
        shutdown: seconds(limits.shutdown_timeout),
    };
    let format = arguments.log_format;
    config.log = Log::to(move |line| {
        let important = !matches!(line, LogLine::Request { .. }) || line.level() == LogLevel::Error;
        if log::is_on() || (important && !ui.quiet) {
            anstream::eprintln!("{}", written(line, format, SystemTime::now()));
        }
    });
    Ok(config)
}

/// A line of the log, with its time and level.
fn written(line: &LogLine, format: LogFormat, now: SystemTime) -> String {
    match format {
        LogFormat::Text => {
            let time = httpdate::fmt_http_date(now);
            format!("{time} {}: {}", line.level().name(), visible::line(&line.to_string()))
        }
        LogFormat::Json => {
            let mut object = line.to_json();
            let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            object["time"] = since.as_secs_f64().into();
            object.to_string()
        }
    }
}

/// The key in a file, or else in an environment variable.
fn key(file: Option<&Path>, variable: &str) -> Result<Option<Secret>, Failure> {
    let (place, text) = match (file, std::env::var_os(variable)) {
        (Some(path), _) => {
            let next = format!("write the key into this file, or set {variable} instead");
            let text = input::text(path).map_err(|error| Failure::Input(format!("{error}; {next}")))?;
            (path.display().to_string(), text)
        }
        (None, Some(text)) => {
            let text = text.into_string().map_err(|_| Failure::Input(format!("{variable}: the key is not UTF-8")))?;
            (variable.to_owned(), text)
        }
        (None, None) => return Ok(None),
    };
    // A header can hold no such character, so no client could send the key.
    if text.trim().contains(|c: char| c.is_control()) {
        return Err(Failure::Input(format!("{place}: a key is one line without control characters; write it alone")));
    }
    match Secret::new(&text) {
        // An empty variable is as good as none; an empty file is a mistake.
        None if file.is_some() => Err(Failure::Input(format!("{place}: the file is empty; write the key into it"))),
        key => Ok(key),
    }
}

/// The models to serve: those of the command line, or the one of the upstream.
fn models(arguments: &Arguments, facts: &UpstreamFacts, ui: Ui) -> Result<Models, Failure> {
    let count = arguments.template.len();
    arguments.parser.for_templates(count)?;
    if arguments.upstream_model.is_some() && count != 1 {
        return Err(Failure::Input(format!("--upstream-model is about one template, but there are {count}")));
    }
    let loader = arguments.parser.committed().unwrap_or_else(|| arguments.parser.loader());
    let mut served = Vec::new();
    if arguments.template.is_empty() {
        let (name, input) = of_upstream(&arguments.upstream, facts)?;
        let one = match input {
            TemplatePlace::Text(source) => loaded(&loader, Input::source(source))?,
            TemplatePlace::File(file) => load(&loader, &file)?,
        };
        served.push(ready(&name, &name, one, arguments, ui)?.upstream_name_is(&name));
    }
    for template in &arguments.template {
        let (name, file) = match template.split_once('=') {
            // A file may have this character in its name.
            Some((name, file)) if !Path::new(template).exists() => (Some(name), file),
            _ => (None, template.as_str()),
        };
        #[cfg(feature = "fetch")]
        if is_hub_id(file) && !ui.quiet {
            anstream::eprintln!("downloading the template of {} from the Hugging Face Hub", visible::line(file));
        }
        let model = load(&loader, file)?;
        let shown = name.unwrap_or(model.name()).to_owned();
        let mut one = ready(&shown, file, model, arguments, ui)?;
        if let Some(upstream) = arguments.upstream_model.as_deref().or(name) {
            one = one.upstream_name_is(upstream);
        }
        served.push(one);
    }
    let named = |error: ModelNameError| Failure::Input(error.to_string());
    arguments.alias.iter().try_fold(Models::new(served).map_err(named)?, |models, alias| {
        let parts = alias.split_once('=').filter(|(name, model)| !name.is_empty() && !model.is_empty());
        let Some((name, model)) = parts else {
            return Err(Failure::Input(format!("--alias {alias}: write it as NAME=MODEL")));
        };
        models.alias(name, model).map_err(named)
    })
}

/// A model to serve, after a word about what it lacks. `file` is where it comes from.
fn ready(name: &str, file: &str, model: Model, arguments: &Arguments, ui: Ui) -> Result<ServedModel, Failure> {
    if model.status() != Status::Supported {
        let gaps = model.gaps().join("; ");
        let next = format!("`unjinja verify {file}` shows an example");
        warn(ui, &format!("{name}: this format is not fully supported: {gaps}; {next}"));
    }
    let one = ServedModel::new(name, model).map_err(|error| Failure::Input(error.to_string()))?;
    about_prompts(name, &one, arguments.bos, ui);
    Ok(one)
}

/// Says what prompts lack because the template came without its tokenizer, and what else requests will meet.
fn about_prompts(name: &str, model: &ServedModel, bos: BosFrom, ui: Ui) {
    let next = "put the model's tokenizer_config.json next to the template, or give its GGUF file";
    let unknown = "and this file does not say what that is";
    if model.lacks_bos() && matches!(bos, BosFrom::Auto) {
        warn(ui, &format!("{name}: the template writes bos_token, {unknown}: the upstream is asked to add it; {next}"));
    }
    if !model.lost_tokens().is_empty() {
        let tokens = model.lost_tokens().join(" and ");
        warn(ui, &format!("{name}: the template reads {tokens}, {unknown}: prompts are rendered without it; {next}"));
    }
    if let Some(refusal) = model.refusal() {
        let next = "what else the template needs, requests have to send in `chat_template_kwargs`";
        warn(ui, &format!("{name}: the template refuses every small conversation: {refusal}; {next}"));
    }
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

fn loaded(loader: &Loader, input: Input) -> Result<Model, Failure> {
    let loaded = log::load(loader, input).map_err(refused)?;
    loaded.model().map_err(|error| Failure::Found(error.to_string()))
}

fn load(loader: &Loader, file: &str) -> Result<Model, Failure> {
    if Path::new(file).is_dir() {
        return loaded(loader, Input::file(in_folder(file)));
    }
    #[cfg(feature = "fetch")]
    if is_hub_id(file) {
        let source = crate::hub::Hub::from_env().and_then(|hub| hub.model(file));
        let source =
            source.map_err(|problem| Failure::Input(format!("{file}: there is no such file, and {problem}")))?;
        return loaded(loader, Input::source(source));
    }
    loaded(loader, Input::file(file))
}

/// The error with the next step: a proxy is started from scripts, whose readers have not just typed the command.
fn refused(error: LoadError) -> Failure {
    let told = ModelError::from(error.clone()).to_string();
    match error.into() {
        Failure::Input(_) => Failure::Input(told),
        Failure::Found(_) => Failure::Found(told),
        other => other,
    }
}

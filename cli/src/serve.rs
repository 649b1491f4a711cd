//! `unjinja serve`: OpenAI's and Anthropic's chat APIs in front of a server that completes text. The proxy itself is
//! `unjinja_server::http`; this reads its configuration and its models, and prints its log. It must never print a key.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unjinja_dynamic::{Input, LoadError, Loader, Model, ModelError, RenderLimits, Status};
use unjinja_server::http::{
    Bos, Config, DiscoverError, GrammarUse, Log, LogLevel, LogLine, MissingParts, ModelNameError, Models, Proxy,
    Reloader, Secret, ServedModel, SpelledMarkers, Timeouts, Unenforced, UpstreamApi, UpstreamConfig, UpstreamFacts,
    UpstreamServer, discover,
};

use crate::arguments::Engine;
use crate::failure::{Done, Failure};
#[cfg(feature = "fetch")]
use crate::manifest::OnHub;
use crate::ui::{Ui, WARNING, paint};
use crate::{input, log, visible};
use arguments::{Api, BosFrom, Grammar, LogFormat, Markers, OnMissing, OnUnenforced, Thinking};
use contact::{TemplatePlace, of_upstream};
#[cfg(feature = "fetch")]
use unjinja_build::is_hub_id;

use tokenizers::Tokenizers;

pub(crate) use arguments::Arguments;

mod arguments;
mod contact;
mod page;
mod tokenizers;

/// Environment variables with keys.
const KEY: &str = "UNJINJA_API_KEY";
const UPSTREAM_KEY: &str = "UNJINJA_UPSTREAM_API_KEY";

/// The pause between two questions to an upstream that is being started.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs the command until it is told to end.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // What the command line says is looked at first: it may be wrong, and the upstream is not needed to see that.
    config(arguments, &UpstreamFacts::default(), ui)?;
    let given = match arguments.template.is_empty() {
        true => None,
        false => Some(models(arguments, &UpstreamFacts::default(), ui)?),
    };
    let facts = found(arguments, &runtime, ui)?;
    let config = config(arguments, &facts, ui)?;
    let models = given.map_or_else(|| models(arguments, &facts, ui), Ok)?;
    let names: Vec<String> = models.iter().map(|model| model.name().to_owned()).collect();
    let has_key = config.key.is_some();
    if !ui.quiet {
        anstream::eprint!("{}", visible::lines(&page::of(&config, &facts, &models)));
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
        if let Some(problem) = proxy.vocabulary_problem().await {
            return Err(Failure::Input(problem));
        }
        // Before anybody is told that the command runs: a signal has to end it in good order from then on.
        let stop = signals()?;
        if !ui.quiet {
            anstream::eprintln!("listening on http://{address} for {}", visible::line(&names.join(", ")));
        }
        let reloads = reloads(arguments, proxy.reloader(), ui)?;
        let problem = proxy.upstream_problem();
        tokio::spawn(async move {
            if let Some(problem) = problem.await {
                warn(ui, &problem);
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
    // Only an upstream that says which template it has is asked again.
    let facts = if arguments.template.is_empty() { found(arguments, &runtime, ui)? } else { UpstreamFacts::default() };
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

/// The upstream of the command line, with this protocol.
fn upstream(arguments: &Arguments, api: UpstreamApi) -> Result<UpstreamConfig, Failure> {
    let upstream = UpstreamConfig::new(&arguments.upstream, api);
    let mut upstream = upstream.map_err(|error| Failure::Input(error.to_string()))?;
    upstream.key = key(arguments.upstream_api_key_file.as_deref(), UPSTREAM_KEY)?;
    Ok(upstream)
}

/// What the upstream says of itself, as far as the command line leaves it open. If the command line says all that is needed, the upstream
/// need not answer.
fn found(arguments: &Arguments, runtime: &tokio::runtime::Runtime, ui: Ui) -> Result<UpstreamFacts, Failure> {
    let given = arguments.upstream_api.map(|api| match api {
        Api::Openai => UpstreamApi::OpenAi,
        Api::LlamaCpp => UpstreamApi::LlamaCpp,
    });
    let is_described = given.is_some() && !arguments.template.is_empty();
    let config = upstream(arguments, given.unwrap_or_default())?;
    let mut facts = match told(arguments, &config, is_described, runtime, ui) {
        Ok(facts) => facts,
        Err(_) if is_described => UpstreamFacts::default(),
        Err(problem) => {
            let next = match problem {
                DiscoverError::Key { .. } => "write it into UNJINJA_UPSTREAM_API_KEY",
                DiscoverError::Untrusted { .. } => "if you trust it, name the file with its authority in SSL_CERT_FILE",
                _ => "start it first, or say what it is with --upstream-api and --template",
            };
            return Err(Failure::Input(format!("{}: {problem}; {next}", arguments.upstream)));
        }
    };
    facts.api = given.unwrap_or(facts.api);
    Ok(facts)
}

/// What the upstream says of itself. One that is being started is waited for, unless the command line says what it is.
fn told(
    arguments: &Arguments,
    config: &UpstreamConfig,
    is_described: bool,
    runtime: &tokio::runtime::Runtime,
    ui: Ui,
) -> Result<UpstreamFacts, DiscoverError> {
    let seconds = Duration::from_secs;
    let (limit, began) = (seconds(arguments.limits.connect_timeout), Instant::now());
    let mut is_told = false;
    loop {
        let problem = match runtime.block_on(discover(config, limit)) {
            Err(problem) if !is_described => problem,
            other => return other,
        };
        let patience = match problem {
            DiscoverError::Loading => seconds(arguments.limits.first_token_timeout),
            DiscoverError::Unreachable { .. } => limit,
            _ => return Err(problem),
        };
        if began.elapsed() + PAUSE > patience {
            return Err(problem);
        }
        if !is_told && !ui.quiet {
            anstream::eprintln!("{}", visible::line(&format!("{}: {problem}; waiting", arguments.upstream)));
        }
        is_told = true;
        std::thread::sleep(PAUSE);
    }
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
        None if takes_tags => upstream.grammar = GrammarUse::ForGuarantees,
        None => {}
        Some(Grammar::None) => upstream.grammar = GrammarUse::Never,
        Some(Grammar::Guaranteed) => upstream.grammar = GrammarUse::ForGuarantees,
        Some(Grammar::Always) => upstream.grammar = GrammarUse::Always,
    }
    let engine = arguments.grammar_for.unwrap_or(if takes_tags { Engine::XGrammar } else { Engine::Gbnf });
    if facts.api == UpstreamApi::LlamaCpp && engine == Engine::XGrammar {
        let next = "use --grammar-for gbnf, or llguidance if it is built with that";
        return Err(Failure::Input(format!("llama.cpp takes no structural tags; {next}")));
    }
    upstream.engine = engine.into();
    let mut config = Config::new(upstream);
    config.ignore_fields.clone_from(&arguments.ignore_field);
    config.key = key(arguments.api_key_file.as_deref(), KEY)?;
    config.diagnostics = arguments.diagnostics;
    config.refuse_media = arguments.refuse_media;
    config.describe_tools = arguments.describe_tools;
    config.markers = match arguments.markers {
        Markers::Report => SpelledMarkers::Report,
        Markers::Refuse => SpelledMarkers::Refuse,
        Markers::Trust => SpelledMarkers::Trust,
    };
    config.thinking = match arguments.thinking {
        Thinking::On => Some(true),
        Thinking::Off => Some(false),
        Thinking::Template => None,
    };
    config.missing = match arguments.missing {
        OnMissing::Refuse => MissingParts::Refuse,
        OnMissing::Report => MissingParts::Report,
    };
    config.unenforced = match arguments.unenforced {
        OnUnenforced::Refuse => Unenforced::Refuse,
        OnUnenforced::Accept => Unenforced::Accept,
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
        let important = !matches!(line, LogLine::Request { .. }) || line.level() != LogLevel::Info;
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
    let count = arguments.template.len().max(1);
    arguments.parser.for_templates(count)?;
    if arguments.upstream_model.is_some() && count != 1 {
        return Err(Failure::Input(format!("--upstream-model is about one template, but there are {count}")));
    }
    let loader = arguments.parser.committed().unwrap_or_else(|| arguments.parser.loader());
    let mut limits = RenderLimits::default();
    limits.fuel_per_byte = arguments.limits.steps_per_byte;
    let loader = loader.limits(limits);
    let tokenizers = Tokenizers::of(&arguments.tokenizer, count)?;
    let mut served = Vec::<ServedModel>::new();
    let mut wanted = Vec::new();
    if arguments.template.is_empty() {
        let (name, place) = of_upstream(&arguments.upstream, facts)?;
        wanted.push((Some(name), place));
    }
    for template in &arguments.template {
        wanted.push(match template.split_once('=') {
            // A file may have this character in its name.
            Some((name, file)) if !Path::new(template).exists() => {
                (Some(name.to_owned()), TemplatePlace::File(file.to_owned()))
            }
            _ => (None, TemplatePlace::File(template.clone())),
        });
    }
    for (name, place) in wanted {
        let tokenizer = tokenizers.get(name.as_deref());
        let knowing = tokenizer.map_or_else(|| Ok(loader.clone()), |tokenizer| tokenizer.loader(&loader))?;
        let (model, origin) = match place {
            TemplatePlace::Text(source) => (loaded(&knowing, Input::source(source))?, "the upstream".to_owned()),
            TemplatePlace::File(file) => {
                #[cfg(feature = "fetch")]
                if is_hub_id(&file) && !ui.quiet {
                    anstream::eprintln!(
                        "downloading the template of {} from the Hugging Face Hub",
                        visible::line(&file)
                    );
                }
                (load(&knowing, &file)?, file)
            }
        };
        let shown = name.clone().unwrap_or_else(|| model.name().to_owned());
        let mut one = ready(&shown, &origin, model, arguments, ui)?.origin_is(&origin);
        if let Some(upstream) = arguments.upstream_model.as_ref().or(name.as_ref()) {
            one = one.upstream_name_is(upstream);
        }
        served.push(match tokenizer {
            Some(tokenizer) => tokenizer.give(one)?,
            None => one,
        });
    }
    tokenizers.all_used()?;
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

fn loaded(loader: &Loader, input: Input) -> Result<Model, Failure> {
    // `--verbose` is about requests here.
    let loaded = log::load_silently(loader, input).map_err(refused)?;
    loaded.model().map_err(|error| Failure::Found(error.to_string()))
}

fn load(loader: &Loader, file: &str) -> Result<Model, Failure> {
    #[cfg(feature = "fetch")]
    if is_hub_id(file) {
        let fetched = crate::hub::Hub::from_env().and_then(|hub| hub.model(&OnHub::of(file)));
        let fetched = fetched.map_err(|problem| {
            let next = "give the model's tokenizer_config.json, chat_template.jinja or GGUF file with --template";
            Failure::Input(format!("{file}: there is no such file, and {problem}; {next}"))
        })?;
        return loaded(loader, Input::source(fetched.source));
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

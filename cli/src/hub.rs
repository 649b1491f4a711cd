//! Downloads templates from the Hugging Face Hub with the Hub's own client. The client honours `HF_ENDPOINT`, `HF_TOKEN`,
//! the token of an earlier login, and the Hub's cache.
//!
//! This module must never print or forward the token, and never return an answer that is not a chat template.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use hf_hub::{HFClient, HFClientSync, HFError, HFRepositorySync, RepoTypeModel, split_id};
use unjinja_build::{MODEL_FILES, Source, SourceExt};

use crate::manifest::OnHub;

/// How often a request is repeated if the connection fails or the server is busy.
const RETRIES: usize = 2;

/// The variable with the time limit for one template in seconds, which the Hub's other clients use too, and its default.
const TIMEOUT: (&str, u64) = ("HF_HUB_DOWNLOAD_TIMEOUT", 60);

/// A downloaded template, and where it was found.
pub(crate) struct Fetched {
    pub text: String,
    /// The file of the model that holds it.
    pub file: String,
    /// The commit that the revision stands for.
    pub commit: String,
}

/// Why a file gives no template.
enum Trouble {
    /// The model has no such file.
    Missing,
    /// The file holds no template.
    Empty(String),
    /// Anything else.
    Problem(String),
}

/// A connection to the Hub.
#[derive(Clone)]
pub(crate) struct Hub {
    client: HFClientSync,
    endpoint: String,
    longest: Duration,
}

impl Hub {
    /// The Hub that the environment variables choose.
    pub(crate) fn from_env() -> Result<Self, String> {
        let failed = |error: HFError| format!("the Hub cannot be used: {error}; check HF_ENDPOINT");
        let client = HFClient::builder()
            .retry_max_attempts(RETRIES)
            .user_agent(concat!("unjinja/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(failed)?;
        let endpoint = client.endpoint().to_owned();
        let (variable, seconds) = TIMEOUT;
        let seconds = match std::env::var(variable) {
            Ok(text) => text.parse().map_err(|_| format!("{variable} must be a number of seconds, but is {text:?}"))?,
            Err(_) => seconds,
        };
        let longest = Duration::from_secs(seconds);
        Ok(Self { client: HFClientSync::from_inner(client).map_err(failed)?, endpoint, longest })
    }

    /// Downloads a template.
    pub(crate) fn fetch(&self, wanted: &OnHub) -> Result<Fetched, String> {
        // The client has no time limit of its own, so it runs on a thread that can be abandoned.
        let (send, receive) = std::sync::mpsc::channel();
        let (hub, asked) = (self.clone(), wanted.clone());
        let spawned = std::thread::Builder::new().name("fetch".to_owned()).spawn(move || {
            // Sending fails after a time-out, when nobody receives.
            let _ = send.send(hub.fetch_here(&asked));
        });
        spawned.map_err(|error| format!("a thread for the download cannot be started: {error}"))?;
        receive.recv_timeout(self.longest).unwrap_or_else(|_| {
            let (endpoint, seconds, variable) = (&self.endpoint, self.longest.as_secs(), TIMEOUT.0);
            Err(format!("{endpoint} did not answer within {seconds} seconds; {variable} sets the limit"))
        })
    }

    fn fetch_here(&self, wanted: &OnHub) -> Result<Fetched, String> {
        let (owner, name) = split_id(&wanted.repo);
        let model = self.client.model(owner, name);
        let files = files(wanted);
        let mut empty = None;
        for file in &files {
            match self.read(&model, wanted, file) {
                Ok(fetched) => return Ok(fetched),
                Err(Trouble::Missing) => {}
                Err(Trouble::Empty(problem)) => empty = Some(problem),
                Err(Trouble::Problem(problem)) => return Err(problem),
            }
        }
        match empty {
            Some(problem) => Err(problem),
            None => Err(self.missing(&model, wanted, &files)),
        }
    }

    /// Reads the template in one of the model's files.
    fn read(&self, model: &HFRepositorySync<RepoTypeModel>, wanted: &OnHub, file: &str) -> Result<Fetched, Trouble> {
        let get = |is_forced: bool| {
            let download = model.download_file().filename(file).revision(wanted.revision.as_str());
            download.force_download(is_forced).send().map_err(|error| self.trouble(&error, wanted))
        };
        let path = get(false)?;
        let text = match text_in(&path, wanted) {
            // The cache may hold a broken answer from earlier: download once more.
            Err(_) => text_in(&get(true)?, wanted).map_err(|trouble| match trouble {
                Trouble::Empty(problem) => Trouble::Empty(format!("{}, {file}: {problem}", self.page(wanted))),
                Trouble::Problem(problem) => Trouble::Problem(format!("{}, {file}: {problem}", self.page(wanted))),
                Trouble::Missing => Trouble::Missing,
            })?,
            Ok(text) => text,
        };
        // The cache keeps it as `snapshots/COMMIT/FILE`.
        let mut folders = path.iter().skip_while(|part| *part != "snapshots");
        let commit = folders.nth(1).map(|commit| commit.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Fetched { text, file: file.to_owned(), commit })
    }

    /// The model's page.
    fn page(&self, wanted: &OnHub) -> String {
        format!("{}/{}", self.endpoint, wanted.repo)
    }

    /// The client's error, in words that say what to do.
    fn trouble(&self, error: &HFError, wanted: &OnHub) -> Trouble {
        let page = self.page(wanted);
        let problem = match error {
            HFError::EntryNotFound { .. } => return Trouble::Missing,
            HFError::AuthRequired { context } if context.error_code.as_deref() == Some("RepoNotFound") => {
                format!(
                    "{page}: there is no such model, or it is private; for a private model set HF_TOKEN to a token that may read it"
                )
            }
            HFError::AuthRequired { .. } => format!(
                "{page}: access is restricted (401): accept the licence there, and set HF_TOKEN to a token of that account"
            ),
            HFError::Forbidden { .. } => format!(
                "{page}: the token has no access (403): accept the licence there with its account, or set HF_TOKEN to another"
            ),
            HFError::RepoNotFound { .. } => format!("{page}: there is no such model"),
            HFError::RevisionNotFound { revision, .. } => format!("{page}: there is no revision `{revision}`"),
            HFError::RateLimited { retry_after, .. } => match retry_after {
                Some(wait) => format!("{page}: too many requests (429): try again in {} seconds", wait.as_secs()),
                None => format!("{page}: too many requests (429): try again later, with HF_TOKEN set"),
            },
            HFError::Request { source, .. } if source.is_connect() || source.is_timeout() => format!(
                "no connection to {}: {}; check the network, or set HF_ENDPOINT to a mirror",
                self.endpoint,
                innermost(source)
            ),
            HFError::Request { source, .. } => format!("{page}: the request failed: {}", innermost(source)),
            HFError::MalformedResponse { what, .. } => {
                format!("{page}: the answer is not one of the Hub: {what}; check HF_ENDPOINT")
            }
            HFError::Http { context } => format!("{page}: the Hub answered {}; try again later", context.status),
            other => format!("{page}: {other}"),
        };
        Trouble::Problem(problem)
    }

    /// Finds out what is missing: the model, the revision, or the file.
    fn missing(&self, model: &HFRepositorySync<RepoTypeModel>, wanted: &OnHub, files: &[String]) -> String {
        let page = self.page(wanted);
        let say = |error: HFError| match self.trouble(&error, wanted) {
            Trouble::Problem(problem) | Trouble::Empty(problem) => problem,
            Trouble::Missing => format!("{page}: there is no such model"),
        };
        match model.exists().send() {
            Ok(true) => {}
            Ok(false) => return format!("{page}: there is no such model"),
            Err(error) => return say(error),
        }
        match model.revision_exists().revision(wanted.revision.as_str()).send() {
            Ok(true) => {}
            Ok(false) => return format!("{page}: there is no revision `{}`", wanted.revision),
            Err(error) => return say(error),
        }
        format!("{page}: at revision `{}` there is no file {}", wanted.revision, files.join(", nor "))
    }
}

/// The files that may hold the template, in the order in which they are tried.
fn files(wanted: &OnHub) -> Vec<String> {
    match (&wanted.file, &wanted.template) {
        (Some(file), _) => vec![file.clone()],
        (None, None) => MODEL_FILES.map(str::to_owned).to_vec(),
        (None, Some(name)) => {
            let own = format!("additional_chat_templates/{name}.jinja");
            std::iter::once(own).chain(MODEL_FILES[1..].iter().map(|file| (*file).to_owned())).collect()
        }
    }
}

/// The text of the template in a file. Fails if it is not a chat template.
fn text_in(path: &PathBuf, wanted: &OnHub) -> Result<String, Trouble> {
    let sources = Source::read(path).map_err(|error| {
        let problem = error.problem().to_owned();
        if error.is_without_template() { Trouble::Empty(problem) } else { Trouble::Problem(problem) }
    })?;
    let names: Vec<&str> = sources.iter().filter_map(|source| source.variant.as_deref()).collect();
    let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let source = match &wanted.template {
        Some(name) => sources.iter().find(|source| source.variant.as_ref() == Some(name)).ok_or_else(|| {
            let others =
                if listed.is_empty() { "it holds one without a name".to_owned() } else { format!("it holds {listed}") };
            Trouble::Empty(format!("the file holds no template called `{name}`; {others}"))
        })?,
        None if names.len() > 1 => {
            let problem = format!(
                "the file holds {} templates: {listed}; choose one in the manifest: template = \"{}\"",
                names.len(),
                names[0]
            );
            return Err(Trouble::Problem(problem));
        }
        None => sources.first().ok_or_else(|| Trouble::Empty("the file holds no template".to_owned()))?,
    };
    let template = source.template().map_err(|error| Trouble::Problem(format!("this is not a template: {error}")))?;
    if !template.variables().contains("messages") {
        return Err(Trouble::Problem("this is not a chat template: it does not read `messages`".to_owned()));
    }
    Ok(source.text.clone())
}

/// The innermost cause of an error.
fn innermost(error: &dyn Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

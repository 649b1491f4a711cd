//! Finds the templates of models on the Hugging Face Hub. `environment` says where it is and what to send it, `cache` holds files
//! that were downloaded before, and `download` requests others.
//!
//! This module must never print or forward the token, and never return an answer that is not a chat template.

mod cache;
mod download;
mod environment;

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Runtime;
use unjinja_build::{MODEL_FILES, Source, SourceExt};

use self::cache::{Cache, Cached, Kept, is_commit};
use self::download::{Remote, Trouble};
use self::environment::{Environment, too_late};
use crate::manifest::OnHub;

/// The file with a tokenizer's special tokens.
const TOKENS: &str = "tokenizer_config.json";

/// A template that was found.
pub(crate) struct Fetched {
    pub source: Source,
    /// The file of the model that holds it.
    pub file: String,
    /// The commit of the revision.
    pub commit: String,
}

/// A connection to the Hub.
#[derive(Debug)]
pub(crate) struct Hub {
    remote: Remote,
    cache: Cache,
    is_offline: bool,
    longest: Duration,
    runtime: Runtime,
}

impl Hub {
    /// The Hub that the environment variables choose.
    pub(crate) fn from_env() -> Result<Self, String> {
        let environment = Environment::read()?;
        let remote = Remote::new(&environment)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| format!("a thread for downloads cannot be started: {error}"))?;
        let Environment { cache, is_offline, longest, .. } = environment;
        Ok(Self { remote, cache: Cache(cache), is_offline, longest, runtime })
    }

    /// Finds a template.
    pub(crate) fn fetch(&self, wanted: &OnHub) -> Result<Fetched, String> {
        self.in_time(self.template(wanted))
    }

    /// Finds the template of a model, with its special tokens.
    pub(crate) fn model(&self, wanted: &OnHub) -> Result<Fetched, String> {
        self.in_time(async {
            let mut fetched = self.template(wanted).await?;
            if !fetched.source.knows_tokens() {
                // Of the same commit, so that the files belong together.
                let wanted = OnHub { revision: fetched.commit.clone(), ..wanted.clone() };
                fetched.source = match self.file(&wanted, TOKENS, false).await {
                    Ok((config, _)) => fetched.source.with_tokens_of(&String::from_utf8_lossy(&config.bytes)),
                    // A model without this file has no tokens to tell.
                    Err(trouble) => unless_missing(trouble).map(|()| fetched.source)?,
                };
            }
            fetched.source.path = wanted.file_name().into();
            Ok(fetched)
        })
    }

    /// Waits for an answer, but no longer than the environment says.
    fn in_time<T>(&self, answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let limited = async { tokio::time::timeout(self.longest, answer).await };
        self.runtime.block_on(limited).unwrap_or_else(|_| Err(too_late(self.remote.endpoint(), self.longest)))
    }

    /// Looks into the model's files, one after the other.
    async fn template(&self, wanted: &OnHub) -> Result<Fetched, String> {
        let files = files(wanted);
        let mut empty = None;
        for file in &files {
            match self.read(wanted, file).await {
                Ok(fetched) => return Ok(fetched),
                Err(Trouble::Empty(problem)) => empty = Some(problem),
                Err(trouble) => unless_missing(trouble)?,
            }
        }
        Err(empty.unwrap_or_else(|| {
            let (page, revision) = (self.remote.page(wanted), &wanted.revision);
            format!("{page}: at revision `{revision}` there is no file {}", files.join(", nor "))
        }))
    }

    /// Reads the template in one of the model's files.
    async fn read(&self, wanted: &OnHub, file: &str) -> Result<Fetched, Trouble> {
        let (mut found, is_cached) = self.file(wanted, file, false).await?;
        let mut source = source_in(&found, file, wanted);
        // The cache may hold a broken answer from earlier: download once more.
        if source.is_err() && is_cached && !self.is_offline {
            found = self.file(wanted, file, true).await?.0;
            source = source_in(&found, file, wanted);
        }
        let place = |problem: String| format!("{}, {file}: {problem}", self.remote.page(wanted));
        let source = source.map_err(|trouble| match trouble {
            Trouble::Empty(problem) => Trouble::Empty(place(problem)),
            Trouble::Problem(problem) => Trouble::Problem(place(problem)),
            other => other,
        })?;
        Ok(Fetched { source, file: file.to_owned(), commit: found.commit })
    }

    /// One of the model's files, and whether it was in the cache. With `anew`, what the cache holds is not used.
    async fn file(&self, wanted: &OnHub, file: &str, anew: bool) -> Result<(Cached, bool), Trouble> {
        let kept = self.cache.read(wanted, file).filter(|_| !anew);
        let from_cache = |kept: Kept| match kept {
            Kept::File(cached) => Ok((cached, true)),
            Kept::Missing => Err(Trouble::Missing { commit: None }),
        };
        let found = match kept {
            Some(kept) if self.is_offline || is_commit(&wanted.revision) => return from_cache(kept),
            None if self.is_offline => {
                let next = "unset HF_HUB_OFFLINE to download it";
                let problem = format!("{}, {file}: it is not in the cache; {next}", self.remote.page(wanted));
                return Err(Trouble::Empty(problem));
            }
            Some(Kept::File(cached)) => match self.remote.commit(wanted, file).await {
                Ok(commit) if commit == cached.commit => return Ok((cached, true)),
                Ok(_) => self.remote.get(wanted, file).await,
                Err(Trouble::NoConnection(_)) => return Ok((cached, true)),
                Err(trouble) => Err(trouble),
            },
            Some(Kept::Missing) => match self.remote.get(wanted, file).await {
                Err(Trouble::NoConnection(_)) => return from_cache(Kept::Missing),
                found => found,
            },
            None => self.remote.get(wanted, file).await,
        };
        match &found {
            Ok(found) => self.cache.keep(wanted, file, found),
            Err(Trouble::Missing { commit: Some(commit) }) => self.cache.keep_missing(wanted, file, commit),
            Err(_) => {}
        }
        found.map(|found| (found, false))
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

/// Fails unless a file is merely missing.
fn unless_missing(trouble: Trouble) -> Result<(), String> {
    match trouble {
        Trouble::Missing { .. } => Ok(()),
        Trouble::Empty(problem) | Trouble::NoConnection(problem) | Trouble::Problem(problem) => Err(problem),
    }
}

/// The template in a file. Fails if it is not a chat template.
fn source_in(found: &Cached, file: &str, wanted: &OnHub) -> Result<Source, Trouble> {
    let mut sources = Source::from_bytes(Path::new(file), &found.bytes).map_err(|error| {
        let problem = error.problem().to_owned();
        if error.is_without_template() { Trouble::Empty(problem) } else { Trouble::Problem(problem) }
    })?;
    let names: Vec<&str> = sources.iter().filter_map(|source| source.variant.as_deref()).collect();
    let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let at = match &wanted.template {
        Some(name) => sources.iter().position(|source| source.variant.as_ref() == Some(name)).ok_or_else(|| {
            let others =
                if listed.is_empty() { "it holds one without a name".to_owned() } else { format!("it holds {listed}") };
            Trouble::Empty(format!("the file holds no template called `{name}`; {others}"))
        })?,
        None if names.len() > 1 => {
            let problem = format!(
                "the file holds {} templates: {listed}; choose one: {}#{first}, or in a manifest template = \"{first}\"",
                names.len(),
                wanted.repo,
                first = names[0],
            );
            return Err(Trouble::Problem(problem));
        }
        // The reader returns an error instead of an empty list.
        None => 0,
    };
    let source = sources.swap_remove(at);
    let template = source.template().map_err(|error| Trouble::Problem(format!("this is not a template: {error}")))?;
    if !template.variables().contains("messages") {
        return Err(Trouble::Problem("this is not a chat template: it does not read `messages`".to_owned()));
    }
    Ok(source)
}

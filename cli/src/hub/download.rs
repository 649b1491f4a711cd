//! Requests the files of models from the Hub. The token goes to the Hub's own address and to no other.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Method, Response, StatusCode, Url};

use super::cache::{Cached, LARGEST, is_commit};
use super::environment::Environment;
use crate::manifest::OnHub;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a request is repeated if the server is busy or drops the connection, and the pause before.
const RETRIES: u32 = 2;
const PAUSE: Duration = Duration::from_millis(300);

/// How many redirections are followed.
const REDIRECTIONS: usize = 10;

/// The header with the commit of a revision. Every answer of the Hub about a file has it.
const COMMIT: &str = "x-repo-commit";

/// The header with the cause of a refusal.
const CODE: &str = "x-error-code";

/// Why a file gives no template.
pub(super) enum Trouble {
    /// The model has no such file, at this commit.
    Missing { commit: Option<String> },
    /// The file holds no template.
    Empty(String),
    /// The Hub was not reached: the cache may help.
    NoConnection(String),
    /// Anything else.
    Problem(String),
}

/// The connection to the Hub.
#[derive(Debug)]
pub(super) struct Remote {
    client: Client,
    endpoint: Url,
    token: Option<header::HeaderValue>,
}

/// An answer, and the commit that it or a redirection to it named.
struct Answer {
    response: Response,
    commit: String,
}

impl Remote {
    pub(super) fn new(environment: &Environment) -> Result<Self, String> {
        let endpoint = environment.endpoint.clone();
        let client = unjinja_server::http::client_builder(&endpoint)
            .connect_timeout(CONNECT)
            .user_agent(concat!("unjinja/", env!("CARGO_PKG_VERSION")));
        let client = client.build().map_err(|error| {
            format!("the Hub cannot be used: {}; check the certificates of this machine", innermost(&error))
        })?;
        Ok(Self { client, endpoint, token: environment.token.clone() })
    }

    /// The address of the Hub, as messages show it.
    pub(super) fn endpoint(&self) -> &str {
        self.endpoint.as_str().trim_end_matches('/')
    }

    /// A model's page.
    pub(super) fn page(&self, wanted: &OnHub) -> String {
        format!("{}/{}", self.endpoint(), wanted.repo)
    }

    /// The commit that the revision is now, if it has this file.
    pub(super) async fn commit(&self, wanted: &OnHub, file: &str) -> Result<String, Trouble> {
        Ok(self.ask(Method::HEAD, wanted, file).await?.commit)
    }

    /// Downloads a file.
    pub(super) async fn get(&self, wanted: &OnHub, file: &str) -> Result<Cached, Trouble> {
        let Answer { mut response, commit } = self.ask(Method::GET, wanted, file).await?;
        let (mut bytes, mut length) = (Vec::new(), response.content_length().unwrap_or_default());
        while length <= LARGEST {
            let Some(more) = response.chunk().await.map_err(|error| self.failed(wanted, &error))? else {
                return Ok(Cached { bytes, commit });
            };
            bytes.extend_from_slice(&more);
            length = length.max(bytes.len() as u64);
        }
        let page = self.page(wanted);
        Err(Trouble::Problem(format!("{page}, {file}: the file is larger than {LARGEST} bytes: it is not a template")))
    }

    /// Asks for a file, again if the server is busy.
    async fn ask(&self, method: Method, wanted: &OnHub, file: &str) -> Result<Answer, Trouble> {
        let mut retries = 0;
        loop {
            let asked = self.ask_once(&method, wanted, file).await;
            match asked {
                Err(Asked::Again(_)) if retries < RETRIES => {}
                Err(Asked::Again(trouble) | Asked::Never(trouble)) => return Err(trouble),
                Ok(answer) => return Ok(answer),
            }
            retries += 1;
            tokio::time::sleep(PAUSE * retries).await;
        }
    }

    /// Asks for a file, and follows redirections. For a question about the commit alone, an answer that names it is enough.
    async fn ask_once(&self, method: &Method, wanted: &OnHub, file: &str) -> Result<Answer, Asked> {
        let (mut url, mut commit) = (self.address(wanted, file)?, None);
        for _ in 0..REDIRECTIONS {
            let mut request = self.client.request(method.clone(), url.clone());
            if let Some(token) = self.token.as_ref().filter(|_| url.origin() == self.endpoint.origin()) {
                request = request.header(header::AUTHORIZATION, token.clone());
            }
            let response = request.send().await.map_err(|error| match error.is_connect() || error.is_timeout() {
                true => Asked::Never(self.failed(wanted, &error)),
                false => Asked::Again(self.failed(wanted, &error)),
            })?;
            let status = response.status();
            commit = commit
                .or_else(|| text(response.headers(), COMMIT).filter(|commit| is_commit(commit)).map(str::to_owned));
            if !status.is_success() && !status.is_redirection() {
                return Err(self.refused(wanted, status, response.headers(), commit));
            }
            if let (Some(commit), true) = (&commit, status.is_success() || *method == Method::HEAD) {
                return Ok(Answer { commit: commit.clone(), response });
            }
            if status.is_success() {
                return Err(self.no_hub(wanted, &format!("it has no header {COMMIT} with a commit")));
            }
            let next = text(response.headers(), header::LOCATION.as_str()).and_then(|to| url.join(to).ok());
            let next = next.ok_or_else(|| self.no_hub(wanted, "it is a redirection without an address"))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(self.no_hub(wanted, "it is a redirection to an address without https"));
            }
            url = next;
        }
        Err(self.no_hub(wanted, &format!("it is the last of {REDIRECTIONS} redirections")))
    }

    /// The address of a file. Every part is escaped: a revision may contain `/`.
    fn address(&self, wanted: &OnHub, file: &str) -> Result<Url, Asked> {
        let mut url = self.endpoint.clone();
        match url.path_segments_mut() {
            Ok(mut parts) => {
                parts.pop_if_empty().extend(wanted.repo.split('/')).push("resolve").push(&wanted.revision);
                parts.extend(file.split('/'));
            }
            Err(()) => return Err(self.no_hub(wanted, "its address has no path")),
        }
        Ok(url)
    }

    fn no_hub(&self, wanted: &OnHub, what: &str) -> Asked {
        let page = self.page(wanted);
        Asked::Never(Trouble::Problem(format!("{page}: the answer is not one of the Hub: {what}; check HF_ENDPOINT")))
    }

    /// A request that got no answer.
    fn failed(&self, wanted: &OnHub, error: &reqwest::Error) -> Trouble {
        let cause = innermost(error);
        if error.is_connect() || error.is_timeout() {
            let endpoint = self.endpoint();
            let next = "check the network, or set HF_ENDPOINT to a mirror";
            return Trouble::NoConnection(format!("no connection to {endpoint}: {cause}; {next}"));
        }
        Trouble::NoConnection(format!("{}: the request failed: {cause}", self.page(wanted)))
    }

    /// What a status means, in words that say what to do.
    fn refused(&self, wanted: &OnHub, status: StatusCode, headers: &HeaderMap, commit: Option<String>) -> Asked {
        let page = self.page(wanted);
        let code = text(headers, CODE).unwrap_or_default();
        let problem = match (status.as_u16(), code) {
            (404, "EntryNotFound" | "") => return Asked::Never(Trouble::Missing { commit }),
            (401, "RepoNotFound") => format!(
                "{page}: there is no such model, or it is private; for a private model set HF_TOKEN to a token that may read it"
            ),
            (_, "RepoNotFound") => format!("{page}: there is no such model"),
            (_, "RevisionNotFound") => format!("{page}: there is no revision `{}`", wanted.revision),
            (401, "") if self.token.is_some() => {
                format!("{page}: the Hub does not accept the token (401): set HF_TOKEN to another, or log in again")
            }
            (401, _) => format!(
                "{page}: access is restricted (401): accept the licence there, and set HF_TOKEN to a token of that account"
            ),
            (403, _) => format!(
                "{page}: the token has no access (403): accept the licence there with its account, or set HF_TOKEN to another"
            ),
            (429, _) => match text(headers, header::RETRY_AFTER.as_str()).and_then(|wait| wait.parse::<u64>().ok()) {
                Some(wait) => format!("{page}: too many requests (429): try again in {wait} seconds"),
                None => format!("{page}: too many requests (429): try again later, with HF_TOKEN set"),
            },
            _ => format!("{page}: the Hub answered {status}; try again later"),
        };
        let trouble = Trouble::Problem(problem);
        if status.is_server_error() { Asked::Again(trouble) } else { Asked::Never(trouble) }
    }
}

/// A request that failed, and whether it is worth another one.
enum Asked {
    Again(Trouble),
    Never(Trouble),
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The innermost cause of an error: the outer ones name addresses, which may be signed.
fn innermost(error: &dyn Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

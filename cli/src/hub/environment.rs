//! What the environment says about the Hub: its address, the token, the cache, and limits. The variables are those of the Hub's
//! other clients. This must never print the token.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use unjinja_build::{hub_cache, hub_home};

/// The address without `HF_ENDPOINT`.
const ENDPOINT: &str = "https://huggingface.co";

/// The variable with the time limit for one template in seconds, and its default.
const TIMEOUT: (&str, u64) = ("HF_HUB_DOWNLOAD_TIMEOUT", 60);

/// What the environment says.
#[derive(Debug)]
pub(super) struct Environment {
    pub endpoint: Url,
    /// The value of the header `Authorization`. It is marked as sensitive, so that nothing prints it.
    pub token: Option<HeaderValue>,
    /// The folder of the cache. `None` without a home folder.
    pub cache: Option<PathBuf>,
    /// Only the cache is used.
    pub is_offline: bool,
    /// How long one template may take.
    pub longest: Duration,
}

impl Environment {
    pub(super) fn read() -> Result<Self, String> {
        Ok(Self {
            endpoint: endpoint()?,
            token: token(hub_home())?,
            cache: hub_cache(),
            is_offline: is_on("HF_HUB_OFFLINE"),
            longest: longest()?,
        })
    }
}

/// What to say if the time limit is over.
pub(super) fn too_late(endpoint: &str, longest: Duration) -> String {
    let (seconds, variable) = (longest.as_secs(), TIMEOUT.0);
    format!("{endpoint} did not answer within {seconds} seconds; {variable} sets the limit")
}

fn longest() -> Result<Duration, String> {
    let (variable, seconds) = TIMEOUT;
    let seconds = match std::env::var(variable) {
        Ok(text) => text.parse().map_err(|_| format!("{variable} must be a number of seconds, but is {text:?}"))?,
        Err(_) => seconds,
    };
    Ok(Duration::from_secs(seconds))
}

fn endpoint() -> Result<Url, String> {
    let text = std::env::var("HF_ENDPOINT").ok().filter(|text| !text.is_empty());
    let text = text.as_deref().unwrap_or(ENDPOINT);
    let wrong =
        |cause: &str| format!("the Hub cannot be used: {cause}; check HF_ENDPOINT, which must be like {ENDPOINT}");
    let url = Url::parse(text.trim_end_matches('/'))
        .map_err(|error| wrong(&format!("{text:?} is not an address: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("its address holds a user or a password, which would appear in messages"));
    }
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong(&format!("{text:?} is not an address with http:// or https://"))),
    }
}

/// The token of `HF_TOKEN`, or else the one that a login saved.
fn token(home: Option<PathBuf>) -> Result<Option<HeaderValue>, String> {
    if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        return Ok(None);
    }
    let set = std::env::var("HF_TOKEN").ok().map(|token| ("HF_TOKEN".to_owned(), token));
    let saved = || {
        let set = std::env::var_os("HF_TOKEN_PATH").filter(|path| !path.is_empty());
        let file = set.map(PathBuf::from).or_else(|| Some(home?.join("token")))?;
        Some((file.display().to_string(), std::fs::read_to_string(&file).ok()?))
    };
    let is_set = |(_, token): &(String, String)| !token.trim().is_empty();
    let Some((place, token)) = set.filter(is_set).or_else(saved).filter(is_set) else { return Ok(None) };
    authorization(&token)
        .map(Some)
        .ok_or_else(|| format!("{place}: the token has characters that no token has; log in again"))
}

fn authorization(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn is_on(variable: &str) -> bool {
    let value = std::env::var(variable).unwrap_or_default();
    ["1", "ON", "TRUE", "YES"].iter().any(|on| value.eq_ignore_ascii_case(on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_the_token() {
        let header = authorization("hf_secret\n");
        assert_eq!(header.as_ref().and_then(|header| header.to_str().ok()), Some("Bearer hf_secret"));
        assert!(!format!("{header:?}").contains("secret"));
        assert!(authorization("hf_\u{7f}").is_none());
    }
}

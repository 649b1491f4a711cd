//! The HTTP client, for the upstream and for downloads: which TLS it speaks, and when it uses the proxy of the environment.

use std::error::Error;
use std::net::IpAddr;

use reqwest::{ClientBuilder, Url, redirect};

/// A builder of a client for the server at this address. With the feature `tls` it speaks https.
///
/// - It follows no redirection: that could carry a key to another server. The caller decides.
/// - An address of this machine is asked directly, without the proxy that `HTTP_PROXY` and similar variables name.
/// - TLS needs an implementation of cryptography, of which rustls keeps one for the whole process. If the application has not
///   chosen one before, this chooses *ring*.
///
/// ```
/// let address = "http://127.0.0.1:8000".parse()?;
/// let client = unjinja_server::http::client_builder(&address).user_agent("my-server").build()?;
/// # let _ = client;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_builder(address: &Url) -> ClientBuilder {
    #[cfg(feature = "tls")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, so there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    // Small requests are sent at once; see `serve`.
    let builder = ClientBuilder::new().redirect(redirect::Policy::none()).tcp_nodelay(true);
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if is_local { builder.no_proxy() } else { builder }
}

/// Why a request failed, without the address, which may be internal.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

//! The one HTTP client: rustls with ring, the certificates of the operating system, and the proxies that the environment
//! names. It follows no redirect and repeats no request by itself.

use std::io;

use reqwest::{Certificate, Client, ClientBuilder, redirect::Policy, retry};
use rustls::crypto::ring;

/// What all clients share. The certificates of the operating system are used, so that the authority of a company is
/// accepted and a withdrawn one is not.
pub(crate) fn client() -> ClientBuilder {
    use_ring();
    Client::builder()
        .user_agent(concat!("oneact/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .retry(retry::never())
        .referer(false)
}

/// Makes ring the cryptography of every client of this process.
pub(crate) fn use_ring() {
    // It fails if ring is used already.
    let _ = ring::default_provider().install_default();
}

/// Accepts the certificates of a PEM text, too.
pub(crate) fn trusting(client: ClientBuilder, pem: &[u8]) -> io::Result<ClientBuilder> {
    let certificates = Certificate::from_pem_bundle(pem).map_err(io::Error::other)?;
    if certificates.is_empty() {
        return Err(io::Error::other("it contains no certificate"));
    }
    Ok(client.tls_certs_merge(certificates))
}

/// The innermost cause of an error. The outer ones repeat the URL, which may contain secrets.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match std::error::Error::source(error) {
        Some(_) => cause.to_string(),
        None => "the request cannot be sent".to_owned(),
    }
}

//! The one HTTP client: rustls with ring, the certificates of the operating system, and the proxies that the environment
//! names. It follows no redirect and repeats no request by itself. What its errors mean is said here, too.

use std::{error::Error, io, iter};

use reqwest::{
    Certificate, Client, ClientBuilder, Method, Response, StatusCode,
    header::{ACCEPT_ENCODING, RANGE},
    redirect::Policy,
    retry,
};
use rustls::crypto::ring;
use url::Url;

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
fn use_ring() {
    // It fails if ring is used already.
    let _ = ring::default_provider().install_default();
}

/// Asks for the headers of a URL. If the server refuses HEAD, a GET of the first byte decides: a URL that is presigned for
/// GET answers HEAD with 403, and some servers do not support HEAD.
pub(crate) async fn look(client: &Client, url: &Url) -> reqwest::Result<Response> {
    // The length must be that of the content itself.
    let ask = |method| {
        let request = client.request(method, url.clone());
        request.header(ACCEPT_ENCODING, "identity")
    };
    let head = ask(Method::HEAD).send().await?;
    let status = head.status();
    let is_refused = status == StatusCode::NOT_IMPLEMENTED
        || (status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS);
    if !is_refused {
        return Ok(head);
    }
    ask(Method::GET).header(RANGE, "bytes=0-0").send().await
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
    if error.is_timeout() {
        return "it timed out".to_owned();
    }
    if let Some(rustls::Error::InvalidMessage(_)) = within(error) {
        // The text of this error says "corrupt", which would be taken for a corrupt input.
        return "it does not speak TLS".to_owned();
    }
    let last = causes(error).last().map(ToString::to_string);
    last.unwrap_or_else(|| "the request cannot be sent".to_owned())
}

/// The cause of this type, if an error has one.
pub(crate) fn within<E: Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// What an error was caused by, the outermost first.
pub(crate) fn causes<'e>(
    error: &'e reqwest::Error,
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let next = |&cause: &&'e (dyn Error + 'static)| {
        // The cause of an I/O error that contains another error is that of the other.
        match cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner as &'e (dyn Error + 'static)),
            None => cause.source(),
        }
    };
    iter::successors(error.source(), next)
}

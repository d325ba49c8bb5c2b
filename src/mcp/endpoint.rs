//! A server over HTTP as the catalog names it: its address, the headers of every request, and where its token comes from.

use std::{fmt, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use camino::Utf8PathBuf;
use reqwest::{
    Client, Response,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use url::{Host, Url, form_urlencoded::Serializer};

use super::refusal::{Refusal, Trouble, whole};
use crate::{
    host::{self, Interrupts, Program},
    task::{Secrets, presentable},
    web,
};

/// How long the command that prints a token may take.
const COMMAND: Duration = Duration::from_secs(30);
/// The longest file with a token, and the longest answer with one.
const TOKEN_BYTES: usize = 64 << 10;

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    /// Headers of every request. Their values are secrets.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) token: Token,
    /// Certificates that are accepted in addition to those of the operating system.
    pub(crate) ca_file: Option<Utf8PathBuf>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Endpoint {
    /// Whether nothing is asked but this machine, without TLS.
    pub(super) fn is_here(&self) -> bool {
        let here = match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(v4)) => v4.is_loopback(),
            Some(Host::Ipv6(v6)) => v6.is_loopback(),
            None => false,
        };
        here && self.url.scheme() == "http" && !matches!(self.token, Token::Client { .. })
    }

    /// The address without what grants access.
    pub(crate) fn shown(&self) -> String {
        presentable(&self.url)
    }
}

/// Where the bearer token comes from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Token {
    None,
    Given(String),
    File(Utf8PathBuf),
    /// The first line that a program prints.
    Command(Program),
    /// Client credentials (RFC 6749, 4.4).
    Client {
        url: Url,
        id: String,
        secret: String,
        scope: Option<String>,
    },
}

impl Token {
    /// Whether another one may be there if this one is refused.
    pub(super) fn is_renewable(&self) -> bool {
        !matches!(self, Self::None | Self::Given(_))
    }

    pub(super) async fn fetch(
        &self,
        client: &Client,
        interrupts: &Interrupts,
    ) -> Result<Option<String>, Refusal> {
        let got = match self {
            Self::None => return Ok(None),
            Self::Given(token) => Ok(token.clone()),
            Self::File(path) => host::read_named(path, TOKEN_BYTES as u64)
                .map_err(|error| format!("its `bearer_file` {path} cannot be read: {error}"))
                .map(|text| String::from_utf8_lossy(&text).into_owned()),
            Self::Command(program) => {
                let (program, interrupts) = (program.clone(), interrupts.clone());
                let asked = spawn_blocking(move || printed(&program, &interrupts)).await;
                let asked = asked.map_err(|error| error.to_string()).flatten();
                asked.map_err(|why| format!("its `bearer_command` gave no token: {why}"))
            }
            Self::Client {
                url,
                id,
                secret,
                scope,
            } => granted(client, url, (id, secret), scope.as_deref()).await,
        };
        let why = |why| Refusal::new(Trouble::Denied, why);
        let token = got.map_err(why)?.trim().to_owned();
        if token.is_empty() || !token.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            let problem = "cannot be asked: its bearer token is empty, or contains spaces or other characters that no token has";
            return Err(why(problem.to_owned()));
        }
        Ok(Some(token))
    }
}

/// The first line that the program prints. What it writes to stderr is logged.
fn printed(program: &Program, interrupts: &Interrupts) -> Result<String, String> {
    let said = host::ask(program, COMMAND, interrupts)?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let token = text.lines().next().unwrap_or_default().to_owned();
    let stderr = String::from_utf8_lossy(&said.stderr);
    for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
        let line = Secrets::new([token.trim().to_owned()]).shown(line);
        tracing::info!("`bearer_command` says: {line}");
    }
    said.failed.map_or(Ok(token), Err)
}

/// Asks the token endpoint with client credentials.
async fn granted(
    client: &Client,
    url: &Url,
    (id, secret): (&str, &str),
    scope: Option<&str>,
) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Grant {
        access_token: String,
    }
    #[derive(Deserialize)]
    struct Problem {
        error: String,
    }
    let form = Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .extend_pairs(scope.map(|scope| ("scope", scope)))
        .finish();
    let encoded =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    let asked = client
        .post(url.clone())
        .header(
            AUTHORIZATION,
            format!("Basic {}", BASE64_STANDARD.encode(pair)),
        )
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await;
    let at = presentable(url);
    let failed = |why: String| format!("got no token from {at}: {why}; correct its `oauth`");
    let response: Response = asked.map_err(|error| failed(web::cause(&error)))?;
    let status = response.status();
    let body = whole(response, TOKEN_BYTES).await.unwrap_or_default();
    if !status.is_success() {
        let said = serde_json::from_slice(&body).map(|problem: Problem| problem.error);
        let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
        return Err(failed(format!("HTTP {}{said}", status.as_u16())));
    }
    let grant = serde_json::from_slice(&body).map(|grant: Grant| grant.access_token);
    grant.map_err(|_| failed("its answer has no `access_token`".to_owned()))
}

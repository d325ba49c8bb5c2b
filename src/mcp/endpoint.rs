//! A server over HTTP as the catalog names it: its address, the headers of every request, and where its token comes from.

use std::{fmt, process::Stdio, time::Duration};

use camino::Utf8PathBuf;
use reqwest::{Client, Response, header::CONTENT_TYPE};
use serde::Deserialize;
use tokio::time::{sleep, timeout};
use url::{Host, Url, form_urlencoded::Serializer};

use super::refusal::{Partial, Refusal, Trouble, whole};
use crate::{
    host::{self, Program, Running, Said},
    task::{Secrets, presentable},
    web,
};

/// How long the command that prints a token may take.
const COMMAND: Duration = Duration::from_secs(30);
/// How often it is looked at whether the command has ended.
const LOOK: Duration = Duration::from_millis(5);
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
        secrets: &Secrets,
    ) -> Result<Option<String>, Refusal> {
        let denied = |why| Refusal::new(Trouble::Denied, why);
        let (token, from) = match self {
            Self::None => return Ok(None),
            Self::Given(token) => (token.clone(), String::new()),
            Self::File(path) => {
                let text = host::read_named(path, TOKEN_BYTES as u64).map_err(|error| {
                    denied(format!("its `bearer_file` {path} cannot be read: {error}"))
                })?;
                let text = String::from_utf8_lossy(&text).into_owned();
                (text, format!(" from its `bearer_file` {path}"))
            }
            Self::Command(program) => {
                let printed = printed(program, secrets).await;
                let printed = printed
                    .map_err(|why| denied(format!("its `bearer_command` gave no token: {why}")))?;
                let name = program.argv.first().map_or("", String::as_str);
                (printed, format!(" from its `bearer_command` {name}"))
            }
            Self::Client {
                url,
                id,
                secret,
                scope,
            } => {
                let token = granted(client, url, (id, secret), scope.as_deref()).await?;
                (token, format!(" from {}", presentable(url)))
            }
        };
        let token = token.trim().to_owned();
        if token.is_empty() || !token.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err(denied(format!(
                "cannot be asked: its bearer token{from} is empty, or contains spaces or other characters that no token has"
            )));
        }
        Ok(Some(token))
    }
}

/// Whether a URL leads to this machine.
pub(super) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => v6.is_loopback(),
        None => false,
    }
}

/// The first line that the program prints. What it writes to stderr is logged. The program is killed if this wait is
/// given up.
async fn printed(program: &Program, secrets: &Secrets) -> Result<String, String> {
    let mut asked = Running::start(program, Vec::new(), Stdio::piped)?;
    let waited = async {
        loop {
            match asked.look()? {
                Some(said) => return Ok(said),
                None => sleep(LOOK).await,
            }
        }
    };
    let said: Result<Said, String> = timeout(COMMAND, waited).await.unwrap_or_else(|_| {
        let name = program.argv.first().map_or("", String::as_str);
        Err(format!("{name} did not end within {COMMAND:?}"))
    });
    let said = said?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let token = text.lines().next().unwrap_or_default().to_owned();
    let secrets = secrets.and(vec![token.trim().to_owned()]);
    let stderr = String::from_utf8_lossy(&said.stderr);
    for line in secrets.shown(&stderr).lines() {
        if !line.trim().is_empty() {
            tracing::info!("`bearer_command` says: {line}");
        }
    }
    said.failed.map_or(Ok(token), Err)
}

/// Asks the token endpoint with client credentials.
async fn granted(
    client: &Client,
    url: &Url,
    (id, secret): (&str, &str),
    scope: Option<&str>,
) -> Result<String, Refusal> {
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
    let asked = client
        .post(url.clone())
        .basic_auth(encoded(id), Some(encoded(secret)))
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await;
    let at = presentable(url);
    let refusal =
        |trouble, why: String| Refusal::new(trouble, format!("got no token from {at}: {why}"));
    let wrong = |why: String| refusal(Trouble::Denied, why + "; correct its `oauth`");
    let response: Response =
        asked.map_err(|error| refusal(Trouble::Unreachable, web::cause(&error)))?;
    let status = response.status();
    let body = whole(response, TOKEN_BYTES).await;
    if !status.is_success() {
        let said = serde_json::from_slice(&body.unwrap_or_default());
        let said = said.map(|problem: Problem| format!(" ({})", problem.error));
        let why = format!("HTTP {}{}", status.as_u16(), said.unwrap_or_default());
        return Err(match status.as_u16() {
            429 => refusal(Trouble::Limited, why + "; try again later"),
            500.. => refusal(Trouble::Unreachable, why),
            _ => wrong(why),
        });
    }
    let body = match body {
        Err(Partial::BrokenOff) => {
            let why = "its answer breaks off".to_owned();
            return Err(refusal(Trouble::Unreachable, why));
        }
        body => body.unwrap_or_default(),
    };
    let grant = serde_json::from_slice(&body).map(|grant: Grant| grant.access_token);
    grant.map_err(|_| wrong("its answer has no `access_token`".to_owned()))
}

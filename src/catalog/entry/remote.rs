//! The keys of a `[server.NAME]` with a `url`: a tool server that is reached over HTTP and not started.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::Deserialize;
use url::{Host, Url};

use super::common::check_variable;

/// OAuth client credentials.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OauthKeys {
    token_url: String,
    client_id: String,
    client_secret_env: String,
    scope: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RemoteKeys {
    url: String,
    allow_http: bool,
    headers: BTreeMap<String, String>,
    headers_env: BTreeMap<String, String>,
    bearer_env: Option<String>,
    bearer_file: Option<Utf8PathBuf>,
    bearer_command: Option<Vec<String>>,
    oauth: Option<OauthKeys>,
    ca_file: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    /// The names of headers, and of the variables with their values.
    pub(crate) headers_env: Vec<(String, String)>,
    pub(crate) bearer: Bearer,
    /// Relative to the root.
    pub(crate) ca_file: Option<Utf8PathBuf>,
}

/// Where the bearer token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bearer {
    None,
    Variable(String),
    /// Relative to the root.
    File(Utf8PathBuf),
    /// The argv, with `{self}` and `{root}` not yet replaced.
    Command(Vec<String>),
    Oauth(Oauth),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Oauth {
    pub(crate) token_url: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret_env: String,
    pub(crate) scope: Option<String>,
}

/// The headers that oneact itself sends.
const OWN: &str = "accept connection content-length content-type host last-event-id mcp-method mcp-name mcp-protocol-version \
                   mcp-session-id";

impl Remote {
    /// The names of the variables that it needs.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &String> {
        let bearer = match &self.bearer {
            Bearer::Variable(name) => Some(name),
            Bearer::Oauth(oauth) => Some(&oauth.client_secret_env),
            Bearer::None | Bearer::File(_) | Bearer::Command(_) => None,
        };
        self.headers_env.iter().map(|(_, name)| name).chain(bearer)
    }

    /// The words that name a program or a file which decides who is trusted.
    pub(crate) fn trusted(&self) -> Vec<String> {
        let mut words = match &self.bearer {
            Bearer::Command(argv) => argv.clone(),
            Bearer::File(path) => vec![path.to_string()],
            Bearer::None | Bearer::Variable(_) | Bearer::Oauth(_) => Vec::new(),
        };
        words.extend(self.ca_file.iter().map(ToString::to_string));
        words
    }

    /// Takes the values of its variables from a list.
    pub(crate) fn give(&mut self, values: &[(String, String)]) {
        let value = |name: &String| values.iter().find(|(of, _)| of == name);
        for (header, from) in std::mem::take(&mut self.headers_env) {
            self.headers
                .extend(value(&from).map(|(_, value)| (header, value.clone())));
        }
        if let Bearer::Variable(from) = &self.bearer
            && let Some((_, token)) = value(from)
        {
            self.headers
                .push(("Authorization".to_owned(), format!("Bearer {token}")));
            self.bearer = Bearer::None;
        }
    }
}

impl RemoteKeys {
    /// All of them except `url`.
    pub(crate) const OWN: [&str; 8] = [
        "allow_http",
        "headers",
        "headers_env",
        "bearer_env",
        "bearer_file",
        "bearer_command",
        "oauth",
        "ca_file",
    ];

    /// The server at the `url`, or what is wrong with its keys.
    pub(crate) fn checked(self) -> Result<Remote, String> {
        let allowed = self.allow_http;
        let bearer = match (
            self.bearer_env,
            self.bearer_file,
            self.bearer_command,
            self.oauth,
        ) {
            (None, None, None, None) => Bearer::None,
            (Some(name), None, None, None) => Bearer::Variable(name),
            (None, Some(path), None, None) => Bearer::File(path),
            (None, None, Some(argv), None) => Bearer::Command(argv),
            (None, None, None, Some(keys)) => Bearer::Oauth(Oauth {
                token_url: address("token_url", &keys.token_url, allowed)?,
                client_id: keys.client_id,
                client_secret_env: keys.client_secret_env,
                scope: keys.scope,
            }),
            _ => {
                let problem = "has several of `bearer_env`, `bearer_file`, `bearer_command` and `oauth`; keep one of them";
                return Err(problem.to_owned());
            }
        };
        if let Bearer::Command(argv) = &bearer
            && argv.first().is_none_or(String::is_empty)
        {
            return Err(
                "`bearer_command` must name a program, as an array of arguments".to_owned(),
            );
        }
        let remote = Remote {
            url: address("url", &self.url, allowed)?,
            headers: self.headers.into_iter().collect(),
            headers_env: self.headers_env.into_iter().collect(),
            bearer,
            ca_file: self.ca_file,
        };
        remote.check_headers()?;
        remote
            .variables()
            .try_for_each(|name| check_variable(name, &[]))?;
        Ok(remote)
    }
}

impl Remote {
    fn check_headers(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for (name, _) in self.headers.iter().chain(&self.headers_env) {
            let lower = name.to_ascii_lowercase();
            let token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let problem = if name.is_empty() || !name.bytes().all(token) {
                return Err(format!("no header can have the name `{name}`; rename it"));
            } else if OWN.split(' ').any(|own| own == lower) || lower.starts_with("mcp-param-") {
                return Err(format!(
                    "oneact itself sets the header `{name}`; take it out"
                ));
            } else if lower == "authorization" && self.bearer != Bearer::None {
                "set by its token, too"
            } else if !seen.insert(lower) {
                "set twice"
            } else {
                continue;
            };
            return Err(format!(
                "the header `{name}` is {problem}; keep one of them"
            ));
        }
        Ok(())
    }
}

/// An address that a secret may be sent to: over TLS, to this machine, or as the operator has decided.
fn address(key: &str, said: &str, allows_http: bool) -> Result<Url, String> {
    let url = Url::parse(said).map_err(|error| format!("`{key}` is no URL: {error}"))?;
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => v6.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => {}
        "http" if here || allows_http => {}
        "http" => {
            return Err(format!(
                "`{key}` sends tokens and data without encryption to another machine; use https://, or decide so with \
                 `allow_http = true`"
            ));
        }
        other => return Err(format!("`{key}` must begin with https://, not {other}:")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "`{key}` contains a user name or a password; put the header `Authorization` into `headers_env` instead"
        ));
    }
    Ok(url)
}

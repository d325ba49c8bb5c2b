//! The keys of a `[server.NAME]` with a `url`: a tool server that is reached over HTTP and not started.

use camino::Utf8PathBuf;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::{Host, Url};

use super::{KeepAlive, RawServer};

/// OAuth client credentials.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOauth {
    token_url: String,
    client_id: String,
    client_secret_env: String,
    scope: Option<String>,
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
const OWN: [&str; 10] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
];

impl Remote {
    /// The names of the variables that it needs.
    pub(super) fn variables(&self) -> impl Iterator<Item = &String> {
        let bearer = match &self.bearer {
            Bearer::Variable(name) => Some(name),
            Bearer::Oauth(oauth) => Some(&oauth.client_secret_env),
            Bearer::None | Bearer::File(_) | Bearer::Command(_) => None,
        };
        self.headers_env.iter().map(|(_, name)| name).chain(bearer)
    }

    /// The words that name a program or a file which decides who is trusted.
    pub(super) fn trusted(&self) -> Vec<String> {
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

    /// The names of all headers.
    fn names(&self) -> impl Iterator<Item = &String> {
        let all = self.headers.iter().chain(&self.headers_env);
        all.map(|(name, _)| name)
    }
}

/// Where the server is, if it is reached over HTTP; or why its keys do not belong together.
pub(super) fn reached(raw: &RawServer) -> Result<Option<Remote>, String> {
    let of_process = [
        ("cwd", raw.cwd.is_some()),
        ("env", !raw.env.is_empty()),
        ("env_pass", !raw.env_pass.is_empty()),
        ("shutdown_grace", raw.shutdown_grace.is_some()),
        (
            "keep_alive with a duration",
            matches!(raw.keep_alive, KeepAlive::Idle(_)),
        ),
    ];
    let of_remote = [
        ("allow_http", raw.allow_http),
        ("headers", !raw.headers.is_empty()),
        ("headers_env", !raw.headers_env.is_empty()),
        ("bearer_env", raw.bearer_env.is_some()),
        ("bearer_file", raw.bearer_file.is_some()),
        ("bearer_command", raw.bearer_command.is_some()),
        ("oauth", raw.oauth.is_some()),
        ("ca_file", raw.ca_file.is_some()),
    ];
    let first = |keys: &[(&'static str, bool)]| keys.iter().find(|(_, set)| *set).map(|key| key.0);
    match (&raw.command, &raw.url) {
        (None, None) => Err("it has neither `command` nor `url`; add one of them".to_owned()),
        (Some(_), Some(_)) => Err("it has both `command` and `url`; keep one of them".to_owned()),
        (Some(_), None) => match first(&of_remote) {
            Some(key) => Err(format!("`{key}` needs a `url`; remove it")),
            None => Ok(None),
        },
        (None, Some(url)) => match first(&of_process) {
            Some(key) => Err(format!(
                "`{key}` belongs to a `command`, and a `url` has none; remove it"
            )),
            None => check(raw, url).map(Some),
        },
    }
}

/// The server at the `url`, or what is wrong with its keys.
fn check(raw: &RawServer, url: &str) -> Result<Remote, String> {
    let allowed = raw.allow_http;
    let bearer = match (
        &raw.bearer_env,
        &raw.bearer_file,
        &raw.bearer_command,
        &raw.oauth,
    ) {
        (None, None, None, None) => Bearer::None,
        (Some(name), None, None, None) => Bearer::Variable(name.clone()),
        (None, Some(path), None, None) => Bearer::File(path.into()),
        (None, None, Some(argv), None) => Bearer::Command(argv.clone()),
        (None, None, None, Some(raw)) => Bearer::Oauth(Oauth {
            token_url: address("token_url", &raw.token_url, allowed)?,
            client_id: raw.client_id.clone(),
            client_secret_env: raw.client_secret_env.clone(),
            scope: raw.scope.clone(),
        }),
        _ => {
            let problem = "has several of `bearer_env`, `bearer_file`, `bearer_command` and `oauth`; keep one of them";
            return Err(problem.to_owned());
        }
    };
    if let Bearer::Command(argv) = &bearer
        && argv.first().is_none_or(String::is_empty)
    {
        return Err("`bearer_command` must name a program, as an array of arguments".to_owned());
    }
    let remote = Remote {
        url: address("url", url, allowed)?,
        headers: texts("headers", &raw.headers)?,
        headers_env: texts("headers_env", &raw.headers_env)?,
        bearer,
        ca_file: raw.ca_file.as_ref().map(Utf8PathBuf::from),
    };
    let mut seen = Vec::new();
    for name in remote.names() {
        let lower = name.to_ascii_lowercase();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(format!("no header can have the name `{name}`; rename it"));
        }
        if OWN.contains(&lower.as_str()) || lower.starts_with("mcp-param-") {
            return Err(format!(
                "oneact itself sets the header `{name}`; take it out"
            ));
        }
        if lower == "authorization" && remote.bearer != Bearer::None {
            return Err(format!(
                "the header `{name}` is set by its token, too; keep one of them"
            ));
        }
        if seen.contains(&lower) {
            return Err(format!(
                "the header `{name}` is set twice; keep one of them"
            ));
        }
        seen.push(lower);
    }
    if let Some(name) = remote
        .variables()
        .find(|name| name.is_empty() || name.contains(['=', '\0']))
    {
        return Err(format!(
            "no variable can have the name `{name}`; correct it"
        ));
    }
    Ok(remote)
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

/// The texts of the table `key`.
pub(super) fn texts(
    key: &str,
    table: &Map<String, Value>,
) -> Result<Vec<(String, String)>, String> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        _ => Err(format!("`{key}.{name}` must be a string")),
    };
    table.iter().map(text).collect()
}

//! Where the database is, from its URI; as libpq documents them (PostgreSQL manual, 34.1.1 and 34.19).

use std::{path::PathBuf, time::Duration};

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Config, Host, SslMode, SslNegotiation};

use super::super::{StoreError, Trouble};

const CONNECT: Duration = Duration::from_secs(5);
/// Where PostgreSQL of Debian listens for those of this machine.
const SOCKETS: &str = "/var/run/postgresql";

/// A database and how to get there.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) trust: Trust,
    /// The URI without password, for people.
    pub(super) place: String,
}

/// Whose certificate is believed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) check: Check,
    pub(super) roots: Roots,
    /// Whether TLS begins without being asked for in PostgreSQL's own words.
    pub(super) direct: bool,
}

/// What is checked of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: what is said is hidden from those who only listen.
    Nothing,
    /// Who signed it.
    Signer,
    /// That, and that it is of the host.
    SignerAndName,
}

/// Who may sign it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Whom this machine believes.
    System,
    /// The certificates of a PEM file.
    File(PathBuf),
}

impl Target {
    /// Reads `postgres://user:password@host:port/name?key=value&…`.
    pub(super) fn parse(uri: &str) -> Result<Self, StoreError> {
        let place = place(uri);
        let wrong = |why: String| Trouble::Unreachable.with(&place, why);
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| uri.starts_with(scheme))
        {
            return Err(wrong(
                "it is no URI. Write postgres://user@host/name".to_owned(),
            ));
        }
        let (rest, ours) = split(uri);
        let mut config: Config = rest
            .parse()
            .map_err(|error| wrong(format!("its URI cannot be read: {}", words(&error))))?;
        let (mode, trust) =
            tls(&ours, config.get_ssl_negotiation()).map_err(|why| wrong(why.to_owned()))?;
        config.ssl_mode(mode);
        complete(&mut config);
        Ok(Self {
            config,
            trust,
            place,
        })
    }

    /// For each of its hosts: names looked up, connected, let in.
    pub(super) fn patience(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let each = self.config.get_connect_timeout().copied();
        each.unwrap_or(CONNECT) * hosts.clamp(1, 10)
    }

    pub(super) fn unreachable(&self, why: String) -> StoreError {
        Trouble::Unreachable.with(&self.place, why)
    }
}

/// What nobody wrote.
fn complete(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(35));
    }
    if config.get_keepalives_interval().is_none() && config.get_keepalives_retries().is_none() {
        config.keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(4);
    }
    if config.get_application_name().is_none() {
        config.application_name("oneact");
    }
    if config.get_hosts().is_empty() {
        let addresses = config.get_hostaddrs().to_vec();
        for address in &addresses {
            config.host(address.to_string());
        }
        if addresses.is_empty() {
            let here = PathBuf::from(SOCKETS);
            config.host(if here.is_dir() { SOCKETS } else { "localhost" });
        }
    }
    // There is no TLS over a socket of this machine, whatever is asked for.
    let here = |host: &Host| matches!(host, Host::Unix(_));
    if config.get_hosts().iter().all(here) {
        config.ssl_mode(SslMode::Disable);
    }
}

/// The keys that the library does not know, or knows less of.
#[derive(Debug, Default)]
struct Ours {
    mode: Option<String>,
    roots: Option<String>,
}

/// Takes our keys out of the URI.
fn split(uri: &str) -> (String, Ours) {
    let mut ours = Ours::default();
    // A password may hold a question mark.
    let from = uri.find('@').unwrap_or_default();
    let (head, tail) = uri.split_at_checked(from).unwrap_or((uri, ""));
    let Some((path, query)) = tail.split_once('?') else {
        return (uri.to_owned(), ours);
    };
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = || Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
        match key {
            "sslmode" => ours.mode = value(),
            "sslrootcert" => ours.roots = value(),
            _ => kept.push(pair),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    (format!("{head}{path}{mark}{}", kept.join("&")), ours)
}

/// What `sslmode` and `sslrootcert` mean together.
fn tls(ours: &Ours, negotiation: SslNegotiation) -> Result<(SslMode, Trust), &'static str> {
    let roots = match ours.roots.as_deref() {
        None | Some("" | "system") => Roots::System,
        Some(path) => Roots::File(path.into()),
    };
    let system = ours.roots.as_deref() == Some("system");
    let filed = matches!(roots, Roots::File(_));
    let (mode, check) = match ours.mode.as_deref() {
        None if system => (SslMode::Require, Check::SignerAndName),
        Some(mode) if system && mode != "verify-full" => {
            return Err("`sslrootcert=system` wants `sslmode=verify-full`");
        }
        Some("disable") => (SslMode::Disable, Check::Nothing),
        None | Some("allow" | "prefer") => (SslMode::Prefer, Check::Nothing),
        Some("require") if filed => (SslMode::Require, Check::Signer),
        Some("require") => (SslMode::Require, Check::Nothing),
        Some("verify-ca") => (SslMode::Require, Check::Signer),
        Some("verify-full") => (SslMode::Require, Check::SignerAndName),
        Some(_) => {
            return Err(
                "its `sslmode` is none of disable, allow, prefer, require, verify-ca and verify-full",
            );
        }
    };
    let direct = negotiation == SslNegotiation::Direct;
    Ok((
        mode,
        Trust {
            check,
            roots,
            direct,
        },
    ))
}

/// The URI without password and keys, but for those that say where it is. Rather too little than a
/// secret: nothing before the last `@` but the user's name.
fn place(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return "PostgreSQL".to_owned();
    };
    let named = matches!(scheme, "postgres" | "postgresql");
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (user.split([':', '@', '/', '?']).next(), rest),
        None => (None, rest),
    };
    let user = user.filter(|user| !user.is_empty());
    let (at, query) = rest.split_once('?').unwrap_or((rest, ""));
    let told: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            ["host=", "hostaddr=", "port=", "dbname=", "user="]
                .iter()
                .any(|key| pair.starts_with(key))
        })
        .collect();
    format!(
        "{}://{}{at}{}{}",
        if named { scheme } else { "postgres" },
        user.map(|user| format!("{user}@")).unwrap_or_default(),
        if told.is_empty() { "" } else { "?" },
        told.join("&")
    )
}

fn words(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

//! A tool server's entry, checked: how it is started.

use std::time::Duration;

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::task::{Failure, Fault, Protocol, duration};

use super::{
    document::{CatalogError, Tables, nearest},
    entry::Entry,
    raw::RawServer,
};

/// A `[server.NAME]` that can be started.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// argv; `{self}` and `{root}` still stand in it.
    pub(crate) command: Vec<String>,
    /// Relative to the root.
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) env: Vec<(String, String)>,
    /// Names handed on from oneact's own environment.
    pub(crate) env_pass: Vec<String>,
    pub(crate) startup_timeout: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) protocol: Protocol,
    pub(crate) private_network: PrivateNetwork,
    /// Directories whose files its tools may name as assets, beside the run's scratch directory and the
    /// store; relative to the root.
    pub(crate) files: Vec<Utf8PathBuf>,
}

/// Whether oneact itself (its downloader, its check of inputs) may reach private addresses for this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivateNetwork {
    Refused,
    Allowed,
}

/// Cold `npx` and `uvx` servers need long; a server that is ready sooner costs nothing.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
const SHUTDOWN_GRACE: Duration = Duration::from_millis(250);

/// Reads the server of that name, if there is one.
pub(super) fn named(tables: &Tables<'_>, name: &str) -> Result<Option<Server>, CatalogError> {
    let entry = tables.entry::<RawServer>("server", name)?;
    entry
        .map(|(at, raw)| check(tables, name, at, raw))
        .transpose()
}

/// Reads the server of this capability; there must be one (R-000-100).
pub(super) fn of(tables: &Tables<'_>, entry: &Entry) -> Result<Server, Failure> {
    if let Some(server) = named(tables, &entry.server)? {
        return Ok(server);
    }
    let missing = missing(tables, &entry.server)?;
    let message = format!("{}: {missing}", entry.names_server_at);
    Err(Failure::new(Fault::ServerNotFound, message))
}

fn check(
    tables: &Tables<'_>,
    name: &str,
    at: usize,
    raw: RawServer,
) -> Result<Server, CatalogError> {
    let wrong = |problem: String| {
        tables
            .catalog()
            .invalid(at, format!("server {name}: {problem}"))
    };
    if raw.command.first().is_none_or(String::is_empty) {
        return Err(wrong(
            "`command` must name a program, as an array of arguments".to_owned(),
        ));
    }
    if raw.files.iter().any(String::is_empty) {
        return Err(wrong(
            "`files` must name directories; write \".\" for the root itself".to_owned(),
        ));
    }
    let text = |(key, value): (&String, &Value)| match value {
        Value::String(text) => Ok((key.clone(), text.clone())),
        _ => Err(wrong(format!("`env.{key}` must be a string"))),
    };
    let time = |value: &Option<toml::Spanned<String>>, default| match value {
        Some(text) => duration(text.get_ref()).map_err(&wrong),
        None => Ok(default),
    };
    Ok(Server {
        name: name.to_owned(),
        cwd: Utf8PathBuf::from(raw.cwd.as_deref().unwrap_or(".")),
        env: raw.env.iter().map(text).collect::<Result<_, _>>()?,
        env_pass: raw.env_pass.clone(),
        startup_timeout: time(&raw.startup_timeout, STARTUP_TIMEOUT)?,
        shutdown_grace: time(&raw.shutdown_grace, SHUTDOWN_GRACE)?,
        protocol: raw.protocol,
        private_network: if raw.allow_private {
            PrivateNetwork::Allowed
        } else {
            PrivateNetwork::Refused
        },
        files: raw.files.into_iter().map(Utf8PathBuf::from).collect(),
        command: raw.command,
    })
}

/// The server names of the catalog, for a message about one that is not there.
fn missing(tables: &Tables<'_>, name: &str) -> Result<String, CatalogError> {
    let names = tables.names("server")?;
    Ok(match nearest(name, names.iter().copied()) {
        Some(near) => format!("the catalog has no [server.{name}]; did you mean `{near}`?"),
        None => format!("the catalog has no [server.{name}]; add one with its `command`"),
    })
}

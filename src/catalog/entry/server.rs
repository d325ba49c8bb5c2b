//! A checked `[server.NAME]`: how a tool server is started or reached.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::{
    common::{Time, check_variable},
    remote::{Remote, RemoteKeys},
    tool::Entry,
};
use crate::{
    catalog::file::{
        document::{CatalogError, Named, Tables},
        settings::approval_settings,
    },
    task::{
        ALLOW_PRIVATE, Argument, Failure, Fault, PROTECTED, Pipeline, Protocol, SCRATCH, duration,
        nearest,
    },
};

/// The keys of every server.
const OF_EVERY: [&str; 5] = [
    "startup_timeout",
    "protocol",
    "allow_private",
    "files",
    "keep_alive",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServerKeys {
    startup_timeout: Option<Time>,
    protocol: Protocol,
    allow_private: PrivateNetwork,
    files: Vec<Utf8PathBuf>,
    keep_alive: KeepAlive,
}

/// The keys of a server that is started.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProcessKeys {
    command: Vec<String>,
    cwd: Option<Utf8PathBuf>,
    env: BTreeMap<String, String>,
    env_pass: Vec<String>,
    shutdown_grace: Option<Time>,
    concurrency: Option<u32>,
}

/// `keep_alive = true`, or a duration.
#[derive(Debug, Default)]
enum KeepAlive {
    #[default]
    No,
    Session,
    Idle(Duration),
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Bool(false) => Ok(Self::No),
            Value::Bool(true) => Ok(Self::Session),
            Value::String(idle) => duration(&idle).map(Self::Idle).map_err(D::Error::custom),
            _ => Err(D::Error::custom(
                "`keep_alive` must be true, false, or a duration such as \"10m\"",
            )),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// Where it is, if it is reached over HTTP. Then it has no command, directory and environment.
    pub(crate) remote: Option<Remote>,
    /// The argv, with `{self}` and `{root}` not yet replaced.
    pub(crate) command: Vec<String>,
    /// Relative to the root.
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) env: Vec<(String, String)>,
    /// Names of variables that are passed on from oneact's own environment.
    pub(crate) env_pass: Vec<String>,
    pub(crate) startup_timeout: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) protocol: Protocol,
    pub(crate) private_network: PrivateNetwork,
    /// Directories, relative to the root, whose files the tools may name as assets, in addition to the run's
    /// scratch directory and the store.
    pub(crate) files: Vec<Utf8PathBuf>,
    pub(crate) lifetime: Lifetime,
}

impl Server {
    /// The variables of oneact's own environment that it needs.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &String> {
        let remote = self.remote.iter().flat_map(Remote::variables);
        self.env_pass.iter().chain(remote)
    }
}

/// How long a server lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    Call,
    /// It serves all calls of a session of `oneact serve catalog` (`keep_alive = true`). In any other run it ends with
    /// the run.
    Session,
    /// It serves several runs, until it was not called for the time `idle` (`keep_alive = "10m"`). At most `at_once`
    /// processes of it are kept, and each performs one call at a time.
    Idle {
        idle: Duration,
        at_once: u32,
    },
}

/// The largest number of warm processes of one server.
const MOST_AT_ONCE: u32 = 64;

/// Whether oneact itself (its downloader, its check of inputs) may reach private addresses for this server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum PrivateNetwork {
    #[default]
    Refused,
    Allowed,
}

impl From<bool> for PrivateNetwork {
    fn from(allowed: bool) -> Self {
        if allowed {
            Self::Allowed
        } else {
            Self::Refused
        }
    }
}

/// `npx` and `uvx` servers that are not cached yet start slowly. A fast server is not delayed by this limit.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
const SHUTDOWN_GRACE: Duration = Duration::from_millis(250);

pub(crate) fn named(tables: &Tables<'_>, name: &str) -> Result<Option<Server>, CatalogError> {
    let named = tables.named("server", name)?;
    named.map(|named| read(&named)).transpose()
}

/// The server of that name; there must be one.
pub(crate) fn existing(tables: &Tables<'_>, name: &str) -> Result<Server, Failure> {
    if let Some(server) = named(tables, name)? {
        return Ok(server);
    }
    let hint = match nearest(name, tables.names("server")?) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add one with its `command` or its `url`".to_owned(),
    };
    let message = format!("the catalog has no [server.{name}]; {hint}");
    Err(Failure::new(Fault::ServerNotFound, message))
}

/// The server of this capability; there must be one (R-000-100).
pub(crate) fn of(tables: &Tables<'_>, entry: &Entry) -> Result<Server, Failure> {
    existing(tables, &entry.server).map_err(|failure| match failure.fault {
        Fault::ServerNotFound => Failure {
            message: format!("{}: {}", entry.place, failure.message),
            ..failure
        },
        _ => failure,
    })
}

/// The names of the servers that live as long as a session.
pub(crate) fn kept_servers(tables: &Tables<'_>) -> Result<BTreeSet<String>, CatalogError> {
    let mut kept = BTreeSet::new();
    for name in tables.names("server")? {
        let server = named(tables, name)?;
        let server = server.filter(|server| server.lifetime == Lifetime::Session);
        kept.extend(server.map(|server| server.name));
    }
    Ok(kept)
}

/// The paths that the commands of the servers, of the pipelines and of `[approval] notify` name, and the files with tokens
/// and certificates, absolute or relative to the root.
pub(crate) fn programs(
    tables: &Tables<'_>,
    pipelines: &[Pipeline],
) -> Result<Vec<Utf8PathBuf>, CatalogError> {
    let mut programs: Vec<_> = paths(&approval_settings(tables)?.notify, "".into()).collect();
    for name in tables.names("server")? {
        // A server that cannot be read cannot be started.
        if let Ok(Some(server)) = named(tables, name) {
            programs.extend(paths(&server.command, &server.cwd));
            let trusted = server.remote.map(|remote| remote.trusted());
            programs.extend(paths(&trusted.unwrap_or_default(), "".into()));
        }
    }
    for pipeline in pipelines {
        let fixed = |argument: &Argument| match argument {
            Argument::Fixed(text) => Some(text.clone()),
            Argument::Parameter(_) => None,
        };
        let command: Vec<String> = pipeline.command.iter().filter_map(fixed).collect();
        programs.extend(paths(&command, "".into()));
    }
    Ok(programs)
}

/// What each argument can name: all of it, its parts between `=`, `:`, `,`, `@` and spaces, and what is behind an option
/// of one letter.
fn paths<'a>(
    command: &'a [String],
    cwd: &'a Utf8Path,
) -> impl Iterator<Item = Utf8PathBuf> + use<'a> {
    let parts = command.iter().flat_map(|argument| {
        let option = argument.strip_prefix('-').and_then(|rest| rest.get(1..));
        let parts = argument.split(['=', ':', ',', '@', ' ']).chain(option);
        // A word is a path only if it is the whole argument, or looks like a path.
        let paths = parts.filter(|part| part.contains(['/', '.']));
        paths.chain([argument.as_str()])
    });
    parts.map(|part| match part.strip_prefix("{root}") {
        Some(below) => Utf8PathBuf::from(below.trim_start_matches('/')),
        // Of `file:///path`, the part is `///path`.
        None => cwd.join(part),
    })
}

/// The keys that only a server with a `command` can have.
const OF_PROCESS: [&str; 5] = ["cwd", "env", "env_pass", "shutdown_grace", "concurrency"];

fn read(named: &Named<'_>) -> Result<Server, CatalogError> {
    let wrong = |problem: &str| named.wrong_in("", problem);
    let first = |keys: &[&'static str]| keys.iter().find(|key| named.has(key)).copied();
    match (named.has("command"), named.has("url")) {
        (false, false) => Err(wrong("it has neither `command` nor `url`; add one of them")),
        (true, true) => Err(wrong("it has both `command` and `url`; keep one of them")),
        (true, false) => {
            if let Some(key) = first(&RemoteKeys::OWN) {
                return Err(wrong(&format!("`{key}` needs a `url`; remove it")));
            }
            let (every, keys): (ServerKeys, ProcessKeys) = named.read_apart(&OF_EVERY)?;
            keys.check().map_err(|problem| wrong(&problem))?;
            every.server(None, keys, named)
        }
        (false, true) => {
            if let Some(key) = first(&OF_PROCESS) {
                return Err(wrong(&format!(
                    "`{key}` belongs to a `command`, and a `url` has none; remove it"
                )));
            }
            let (every, keys): (ServerKeys, RemoteKeys) = named.read_apart(&OF_EVERY)?;
            let remote = keys.checked().map_err(|problem| wrong(&problem))?;
            every.server(Some(remote), ProcessKeys::default(), named)
        }
    }
}

impl ProcessKeys {
    fn check(&self) -> Result<(), String> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err("`command` must name a program, as an array of arguments".to_owned());
        }
        let mut texts = self.command.iter().chain(self.env.values());
        let cwd = self.cwd.as_ref().map(|cwd| cwd.as_str());
        if texts.any(|text| text.contains('\0')) || cwd.is_some_and(|cwd| cwd.contains('\0')) {
            return Err("`command`, `cwd` and `env` cannot contain a NUL character".to_owned());
        }
        let own = [SCRATCH, PROTECTED, ALLOW_PRIVATE];
        let mut names = self.env.keys().chain(&self.env_pass);
        names.try_for_each(|name| check_variable(name, &own))
    }
}

impl ServerKeys {
    fn server(
        self,
        remote: Option<Remote>,
        process: ProcessKeys,
        named: &Named<'_>,
    ) -> Result<Server, CatalogError> {
        if self.files.iter().any(|dir| dir.as_str().is_empty()) {
            let problem = "`files` must name directories; write \".\" for the root itself";
            return Err(named.wrong_in("files", problem));
        }
        let lifetime = self.lifetime(&process);
        let lifetime = lifetime.map_err(|problem| named.wrong_in("keep_alive", &problem))?;
        let time = |said: Option<Time>, usual| said.map_or(usual, |time| time.0);
        Ok(Server {
            name: named.name.to_owned(),
            remote,
            cwd: process.cwd.unwrap_or_else(|| ".".into()),
            env: process.env.into_iter().collect(),
            env_pass: process.env_pass,
            startup_timeout: time(self.startup_timeout, STARTUP_TIMEOUT),
            shutdown_grace: time(process.shutdown_grace, SHUTDOWN_GRACE),
            protocol: self.protocol,
            private_network: self.allow_private,
            files: self.files,
            lifetime,
            command: process.command,
        })
    }

    fn lifetime(&self, process: &ProcessKeys) -> Result<Lifetime, String> {
        let at_once = process.concurrency;
        let idle = match self.keep_alive {
            KeepAlive::Idle(idle) => idle,
            KeepAlive::No | KeepAlive::Session if at_once.is_some() => {
                return Err(
                    "`concurrency` needs a `keep_alive` with a duration, such as \"10m\""
                        .to_owned(),
                );
            }
            KeepAlive::No => return Ok(Lifetime::Call),
            KeepAlive::Session => return Ok(Lifetime::Session),
        };
        match process.command.first().map(String::as_str) {
            None => Err("`keep_alive` with a duration needs a `command`".to_owned()),
            // They write only into the scratch directory of their run.
            Some("{self}") => {
                Err("the servers of oneact start at once; remove `keep_alive`".to_owned())
            }
            Some(_) => match at_once.unwrap_or(1) {
                at_once @ 1..=MOST_AT_ONCE => Ok(Lifetime::Idle { idle, at_once }),
                _ => Err(format!("`concurrency` must be from 1 to {MOST_AT_ONCE}")),
            },
        }
    }
}

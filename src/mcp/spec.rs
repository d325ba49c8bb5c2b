//! The parameters of a call: the server, the tool, the limits. The caller resolves all of them.

use std::{collections::BTreeMap, fmt, time::Duration};

use camino::Utf8PathBuf;
use serde_json::{Map, Value};

use super::endpoint::Endpoint;
use crate::host::Program;
use crate::task::{OutputSchema, Pinned, Protocol, RiskRule, Secrets, Trace};

/// How to reach a server. Its `Debug` shows no value of `env` or `secrets`, and only the program of `argv`.
#[derive(Clone)]
pub(crate) struct ServerSpec {
    /// Its name in the catalog, for error texts.
    pub(crate) name: String,
    pub(crate) place: ServerPlace,
    /// Values that are redacted in stderr, noise samples and errors before these leave this room.
    pub(crate) secrets: Secrets,
    pub(crate) protocol: Protocol,
    /// Where the eras of servers are remembered under [`Protocol::Auto`], if anywhere.
    pub(crate) memory: Option<Utf8PathBuf>,
    pub(crate) caller: Caller,
    /// The longest time from the spawn to the end of the handshake.
    pub(crate) startup_timeout: Duration,
    /// How long a server may take to end by itself once its stdin is closed.
    pub(crate) shutdown_grace: Duration,
    /// A longer line from the server ends the call. See [`ServerSpec::MAX_MESSAGE_BYTES`].
    pub(crate) max_message_bytes: usize,
    /// How the server is kept for other runs, if it is.
    pub(crate) warm: Option<Warm>,
}

/// Where a server is: a program that is started, or an address.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum ServerPlace {
    Process(Program),
    Http(Box<Endpoint>),
}

impl fmt::Debug for ServerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(program) => write!(f, "{:?} in {}", program.argv.first(), program.cwd),
            Self::Http(endpoint) => endpoint.fmt(f),
        }
    }
}

impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSpec")
            .field("name", &self.name)
            .field("place", &self.place)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl ServerSpec {
    /// Enough for an answer with a large base64 asset.
    pub(crate) const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

    /// The program, if the server is started.
    pub(crate) fn program(&self) -> Option<&Program> {
        match &self.place {
            ServerPlace::Process(program) => Some(program),
            ServerPlace::Http(_) => None,
        }
    }

    /// The address without what grants access, if the server is not started.
    pub(crate) fn url(&self) -> Option<String> {
        match &self.place {
            ServerPlace::Process(_) => None,
            ServerPlace::Http(endpoint) => Some(endpoint.shown()),
        }
    }

    /// Whether a server that was started with one spec can be used for the other. The secrets must be the same, because
    /// they are redacted in everything that the server says.
    pub(super) fn starts_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.place == other.place
            && self.secrets == other.secrets
            && self.protocol == other.protocol
            && self.caller == other.caller
            && self.max_message_bytes == other.max_message_bytes
    }
}

/// Where and how long a warm server is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warm {
    pub(crate) state_dir: Utf8PathBuf,
    /// Servers of the same name in other roots may share the state directory.
    pub(crate) root: Utf8PathBuf,
    /// The server ends when it was not called for this time.
    pub(crate) idle: Duration,
    /// The largest number of processes of this server. Each performs one call at a time.
    pub(crate) at_once: u32,
}

/// Whether the caller can answer questions of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It cannot. No capability is declared, and a server that follows the protocol does not ask.
    Silent,
    /// It can answer in a later call. `elicitation` is declared (2026-07-28, Elicitation), but not to a legacy server,
    /// which would expect the answer during the call.
    Answers,
}

/// What resumes a call that ended with questions (2026-07-28, Multi Round-Trip Requests).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Resumption {
    /// `inputResponses`, by the names of the questions; none if there was no question.
    pub(crate) responses: Option<BTreeMap<String, Value>>,
    /// `requestState` as it was received; none if there was none.
    pub(crate) state: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// The longest time without progress, or none.
    pub(crate) idle_timeout: Option<Duration>,
    /// The longest time from the end of the handshake to the answer.
    pub(crate) total_timeout: Duration,
    /// The longest time from the spawn to the answer, or none.
    pub(crate) budget: Option<Duration>,
    pub(crate) check_arguments: ArgumentCheck,
    /// The pin of the tool. It is checked against the list of tools.
    pub(crate) pinned: Option<Pinned>,
    pub(crate) output_schema: OutputSchema,
    /// It is compared with the hints of the server.
    pub(crate) risk: RiskRule,
    /// None if the call is new.
    pub(crate) resumption: Option<Resumption>,
    /// It is handed on in the `_meta` of the call (2026-07-28, SEP-414).
    pub(crate) trace: Option<Trace>,
}

/// Who checks the arguments before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentCheck {
    /// This room, against the `inputSchema` of `tools/list`.
    AgainstServer,
    /// The caller has checked them against a schema of the catalog.
    Done,
}

impl ToolCall {
    /// Whether the tool has to be listed before the call.
    pub(super) fn lists(&self) -> bool {
        self.check_arguments == ArgumentCheck::AgainstServer
            || self.output_schema == OutputSchema::Check
            || self.pinned.is_some()
            || self.risk.depends_on_hints()
    }
}

/// What is told while a tool is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    /// A server is started, borrowed or contacted.
    Starting,
    /// The call is sent.
    Calling,
    Progress(Progress),
}

/// A `notifications/progress` for the call. Some are skipped if they arrive faster than they are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    /// How much is done, in the server's own units.
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

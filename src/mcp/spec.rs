//! What a call needs to know: the server, the tool, the limits. All of it is resolved by the
//! caller; nothing here reads a file, an environment or a default.

use std::{collections::BTreeMap, fmt, time::Duration};

use camino::Utf8PathBuf;
use serde_json::{Map, Value};

use crate::task::{OutputSchema, Pinned, Protocol, Repeatable, Secrets};

/// How to start a server. Its `Debug` tells no value of `env` or `secrets`, nor of `argv`.
#[derive(Clone)]
pub(crate) struct ServerSpec {
    /// Its name in the catalog, for error texts.
    pub(crate) name: String,
    /// Program and arguments. A program without a slash is looked up in the `PATH` of `env`, one
    /// with a slash is taken relative to `cwd`.
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: Utf8PathBuf,
    /// The child's whole environment: nothing of ours is inherited.
    pub(crate) env: Vec<(String, String)>,
    /// Values that must never leave this room: cut out of stderr, noise samples and error texts.
    pub(crate) secrets: Secrets,
    pub(crate) protocol: Protocol,
    /// Where to keep what is learnt about servers, under [`Protocol::Auto`]; none: nowhere.
    pub(crate) memory: Option<Utf8PathBuf>,
    pub(crate) caller: Caller,
    /// From the spawn to the end of the handshake.
    pub(crate) startup_timeout: Duration,
    /// How long a server may take to end by itself once its stdin is closed.
    pub(crate) shutdown_grace: Duration,
    /// A longer line from the server ends the call. See [`ServerSpec::MAX_MESSAGE_BYTES`].
    pub(crate) max_message_bytes: usize,
}

impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSpec")
            .field("name", &self.name)
            .field("program", &self.argv.first())
            .field("cwd", &self.cwd)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl ServerSpec {
    /// Room for an answer with a large base64 asset.
    pub(crate) const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

    /// Whether a server of the one can stand in for one of the other. The secrets count: they are cut from all that it
    /// says.
    pub(super) fn starts_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.argv == other.argv
            && self.cwd == other.cwd
            && self.env == other.env
            && self.secrets == other.secrets
            && self.protocol == other.protocol
            && self.caller == other.caller
            && self.max_message_bytes == other.max_message_bytes
    }
}

/// Whether the caller can answer what a server asks before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It cannot: no capability is declared, and a server that keeps the protocol does not ask.
    Silent,
    /// It can, in a later call: `elicitation` is declared (2026-07-28, Elicitation). It is not declared to a server of
    /// the older era, which would expect the answer while the call runs.
    Answers,
}

/// What takes a call up again that ended with questions (2026-07-28, Multi Round-Trip Requests).
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
    /// Longest silence; progress for this call starts it anew. None: only the total counts.
    pub(crate) idle_timeout: Option<Duration>,
    /// From the end of the handshake to the answer, progress or not.
    pub(crate) total_timeout: Duration,
    /// From the spawn to the answer, handshake included. None: no such limit.
    pub(crate) budget: Option<Duration>,
    pub(crate) check_arguments: ArgumentCheck,
    /// What the tool must be; asks for a list of tools.
    pub(crate) pinned: Option<Pinned>,
    pub(crate) output_schema: OutputSchema,
    pub(crate) if_lost: Repeatable,
    /// None: a call of its own.
    pub(crate) resumption: Option<Resumption>,
}

/// Who checks the arguments before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentCheck {
    /// This room: `tools/list` first, then the tool's own `inputSchema`.
    AgainstServer,
    /// The caller did, from a schema it pinned: the call is the first request.
    Done,
}

impl ToolCall {
    /// Whether the tool has to be listed before the call.
    pub(super) fn lists(&self) -> bool {
        self.check_arguments == ArgumentCheck::AgainstServer
            || self.output_schema == OutputSchema::Check
            || self.pinned.is_some()
    }
}

/// A `notifications/progress` for our call. Some are left out when they come faster than we look.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    /// How much is done, in the server's own units.
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

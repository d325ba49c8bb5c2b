//! Why a call gave no answer.

use std::{io, time::Duration};

use super::{
    message::CALL, questions::Questions, refusal::Trouble, report::ExitDescription, spec::Caller,
    stderr::cause,
};
use crate::{
    host::Interrupt,
    task::{Drift, Protocol, Risk},
};

/// A place in a value that does not fit a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// JSON Pointer into the value; empty for the whole value.
    pub(crate) pointer: String,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Idle,
    Total,
}

/// The remedy if a server does not speak the era of the catalog.
fn other_protocol(server: &str, declared: Protocol) -> String {
    let other = match declared {
        Protocol::Auto => return "use a version of the server that shares one".to_owned(),
        Protocol::Modern => "legacy",
        Protocol::Legacy => "modern",
    };
    format!("set `protocol = \"{other}\"` in [server.{server}], or \"auto\"")
}

/// Every message names the server and a remedy. None contains a secret of the server's spec.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(
        "server `{server}`: cannot start `{program}`: {reason}; correct its `command` or `cwd` in the catalog"
    )]
    NotFound {
        server: String,
        program: String,
        reason: String,
    },

    #[error("server `{server}`: cannot {operation}: {source}; check the limits of this machine")]
    SpawnFailed {
        server: String,
        operation: &'static str,
        source: io::Error,
    },

    #[error(
        "server `{server}` was not ready after {}{}{astray}; raise its `startup_timeout`, or set its `protocol` to the era \
         that it speaks", seconds(*after), last_words(stderr_tail)
    )]
    StartupTimeout {
        server: String,
        after: Duration,
        stderr_tail: String,
        /// What was received in place of an answer, in parentheses; may be empty.
        astray: String,
    },

    #[error(
        "server `{server}` {} before it was ready{}; start it by hand to see why",
        ending(*ended), last_words(stderr_tail)
    )]
    ExitedBeforeReady {
        server: String,
        ended: Option<ExitDescription>,
        heard: bool,
        stderr_tail: String,
    },

    #[error(
        "server `{server}` and this client share no protocol version: {reason}; {}", other_protocol(server, *declared)
    )]
    ProtocolMismatch {
        server: String,
        reason: String,
        /// As in `CapabilityMissing`.
        words: Option<String>,
        declared: Protocol,
    },

    #[error(
        "server `{server}` has no tool `{tool}`{}; correct the capability's `tool` in the catalog",
        unless_empty(", but `", near.as_deref().unwrap_or_default(), "`")
    )]
    UnknownTool {
        server: String,
        tool: String,
        near: Option<String>,
        available: Vec<String>,
    },

    #[error(
        "tool `{tool}` of server `{server}` is not as the catalog pins it: {drift}; find out what has changed, then \
         put the new pin into the capability, or set its `on_drift = \"warn\"`"
    )]
    ToolChanged {
        server: String,
        tool: String,
        drift: Box<Drift>,
    },

    #[error(
        "tool `{tool}` of server `{server}` is riskier than the catalog says: {}; a call with a {risk} risk waits for an \
         approval, so nothing was sent; correct the `effects` of the capability",
        hinted(worse)
    )]
    Riskier {
        server: String,
        tool: String,
        risk: Risk,
        worse: Vec<(&'static str, bool)>,
    },

    #[error(
        "server `{server}`: the output schema of `{tool}` cannot be used: {reason}; take `output_schema = \"check\"` \
         out of the capability"
    )]
    OutputSchemaUnusable {
        server: String,
        tool: String,
        reason: String,
    },

    #[error(
        "arguments for `{tool}` of server `{server}` do not fit its input schema: {}",
        listed(problems)
    )]
    ArgumentsInvalid {
        server: String,
        tool: String,
        problems: Vec<Misfit>,
    },

    #[error(
        "server `{server}`: the input schema of `{tool}` cannot be used: {reason}; add a `parameter_schema_for_action` to \
         the capability, which is then checked in its place, and report it to the server's author"
    )]
    SchemaUnusable {
        server: String,
        tool: String,
        reason: String,
    },

    #[error(
        "`{method}` on server `{server}` took longer than its {} of {}{}{astray}; raise the limit or give it less to do",
        limit_name(*limit), seconds(*after), question(asked.as_deref())
    )]
    TimedOut {
        server: String,
        method: &'static str,
        limit: Limit,
        after: Duration,
        asked: Option<String>,
        /// As in `StartupTimeout`.
        astray: String,
    },

    #[error(
        "server `{server}` {} during `{method}`{}{}",
        ending(*ended), last_words(stderr_tail), performed(method)
    )]
    Died {
        server: String,
        method: &'static str,
        ended: Option<ExitDescription>,
        heard: bool,
        stderr_tail: String,
    },

    #[error("server `{server}` {why}")]
    Http {
        server: String,
        trouble: Trouble,
        /// What the server did, as a predicate, and what to do.
        why: String,
    },

    #[error("server `{server}` answered `{method}` with error {code}: {message}{}{}", question(asked.as_deref()), doubt(server, *declared))]
    Rpc {
        server: String,
        method: &'static str,
        code: i64,
        message: String,
        /// The whole message and the `data` as JSON; none if the error was too long to be read whole.
        words: Option<String>,
        asked: Option<String>,
        /// The era, if the catalog declares it and the server has not answered in it yet.
        declared: Option<Protocol>,
    },

    #[error(
        "server `{server}` broke the protocol in its answer to `{method}`: {reason}; report it to the server's author"
    )]
    Malformed {
        server: String,
        method: &'static str,
        reason: String,
    },

    #[error(
        "server `{server}` sent a line of more than {limit} bytes; let the tool write a file instead"
    )]
    TooBig { server: String, limit: usize },

    #[error("tool `{tool}` of server `{server}` wants {questions}")]
    InputRequired {
        server: String,
        tool: String,
        questions: Box<Questions>,
    },

    #[error("server `{server}` refused `{method}`: {}", lacking(required, *caller))]
    CapabilityMissing {
        server: String,
        method: &'static str,
        /// The client capabilities that the server requires; empty if it names none.
        required: Vec<String>,
        /// The words of the server, in which a cause is searched; none if they were too long to be read.
        words: Option<String>,
        caller: Caller,
    },

    #[error(
        "server `{server}` speaks {}, in which a call cannot be resumed; send the task without `input_responses` and \
         `request_state`, or, if the server also speaks 2026-07-28, set its `protocol` to `modern` in the catalog", version.as_deref().unwrap_or("an older version of MCP")
    )]
    NotResumable {
        server: String,
        version: Option<String>,
    },

    #[error("{} stopped the call to server `{server}`", signal.name())]
    Cancelled { server: String, signal: Interrupt },
}

impl CallError {
    /// Whether the server exited with an error before it printed a message. Its configuration is probably wrong, so
    /// another attempt does not help.
    pub(crate) fn is_a_wrong_start(&self) -> bool {
        let (Self::ExitedBeforeReady { ended, heard, .. } | Self::Died { ended, heard, .. }) = self
        else {
            return false;
        };
        !*heard && matches!(ended, Some(ExitDescription::Code(1..)))
    }

    /// The kind of a failure over HTTP.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Http { trouble, .. } => Some(*trouble),
            _ => None,
        }
    }

    /// Whether the server has answered the call with an error.
    pub(super) fn is_an_answer(&self) -> bool {
        matches!(
            self,
            Self::Rpc { .. } | Self::CapabilityMissing { .. } | Self::ProtocolMismatch { .. }
        )
    }

    /// Whether the server still follows the protocol, so that it can be given time to end.
    pub(super) fn leaves_server_sound(&self) -> bool {
        matches!(
            self,
            Self::UnknownTool { .. }
                | Self::ToolChanged { .. }
                | Self::Riskier { .. }
                | Self::OutputSchemaUnusable { .. }
                | Self::ArgumentsInvalid { .. }
                | Self::SchemaUnusable { .. }
                | Self::Rpc { .. }
                | Self::InputRequired { .. }
                | Self::CapabilityMissing { .. }
                | Self::NotResumable { .. }
        )
    }
}

fn doubt(server: &str, declared: Option<Protocol>) -> String {
    declared.map_or_else(String::new, |declared| {
        let remedy = other_protocol(server, declared);
        format!("; if it speaks another era, {remedy}")
    })
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn ending(ended: Option<ExitDescription>) -> String {
    ended.map_or_else(
        || "is gone, or has closed its pipes,".to_owned(),
        |ended| format!("ended with {ended}"),
    )
}

const fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Idle => "idle limit",
        Limit::Total => "time limit",
    }
}

pub(super) fn performed(method: &str) -> &'static str {
    match method {
        CALL => "; the request may have been performed",
        _ => "",
    }
}

fn last_words(stderr: &str) -> String {
    let line: String = cause(stderr)
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect();
    unless_empty(" (stderr: ", &line, ")")
}

/// The awaited answer may be in a framing that is not that of MCP.
pub(super) fn astray(noise: &str) -> String {
    let before = " (the first line on its stdout that is no MCP message: ";
    unless_empty(before, noise, ")")
}

fn question(asked: Option<&str>) -> String {
    asked.map_or_else(String::new, |asked| {
        format!(" (it asked for input, and was refused: {asked})")
    })
}

/// A text between two others, or an empty text if it is empty.
fn unless_empty(before: &str, text: &str, after: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{before}{text}{after}"),
    }
}

/// Why a capability that the server needs was not declared.
fn lacking(required: &[String], caller: Caller) -> String {
    match required {
        [] => "it needs a client capability, but does not name it; report it to the server's author".to_owned(),
        [only] if only == "elicitation" && caller == Caller::Silent => {
            "it needs answers to its questions (the client capability `elicitation`); if you can give them, send the task \
             with `accepts_input: true`"
                .to_owned()
        }
        required => format!(
            "it needs client capabilities that oneact does not have here: `{}`; use a tool or a mode of this server that \
             does not need them, or, if it also speaks 2026-07-28, set its `protocol` to `modern` in the catalog",
            required.join("`, `")
        ),
    }
}

/// The hints of a server that are worse than what the entry says.
fn hinted(worse: &[(&str, bool)]) -> String {
    let each = worse.iter().map(|(key, bad)| {
        format!(
            "the server says `{key} = {bad}`, the entry `{key} = {}`",
            !bad
        )
    });
    each.collect::<Vec<_>>().join(", ")
}

fn listed(problems: &[Misfit]) -> String {
    let listed = problems.iter().map(|problem| {
        let place = match problem.pointer.as_str() {
            "" => "the arguments",
            pointer => pointer,
        };
        format!("{place}: {}", problem.message)
    });
    listed.collect::<Vec<_>>().join("; ")
}

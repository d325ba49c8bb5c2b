//! What is known about a server once the call is over: the autopsy an envelope carries.

use std::fmt;

use nix::sys::signal::Signal;

use crate::task::Timings;

/// Everything here is free of the secrets named in the server's spec.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerReport {
    /// None while it still runs, or if its end could not be read.
    pub(crate) exit_status: Option<ExitDescription>,
    pub(crate) parting: Parting,
    /// The last 8 KiB it wrote to stderr, invalid UTF-8 replaced.
    pub(crate) stderr_tail: String,
    pub(crate) stderr_bytes: u64,
    pub(crate) stdout_noise: Noise,
    /// The negotiated version, such as `2025-11-25`.
    pub(crate) protocol: Option<String>,
    pub(crate) server_info: Option<(String, String)>,
    /// What it asked for while it was called (elicitation, sampling); we refused.
    pub(crate) asked: Option<String>,
    pub(crate) timings: Timings,
    pub(crate) killed: Vec<Killed>,
}

/// Whether a server ends when it is told to, by the end of its stdin (MCP, Lifecycle).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Parting {
    /// It has not been told yet.
    #[default]
    None,
    /// Within its grace, by itself.
    Itself,
    /// Only when it was signalled.
    Helped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitDescription {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for ExitDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "signal {number} ({signal})"),
                Err(_) => write!(f, "signal {number}"),
            },
        }
    }
}

/// Lines on stdout that were no messages of the protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Noise {
    pub(crate) lines: u64,
    /// The first 2 KiB of them.
    pub(crate) sample: String,
}

/// A process that outlived the server's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Killed {
    pub(crate) pid: i32,
    /// As in `/proc/PID/comm`: at most 15 bytes.
    pub(crate) name: String,
}

//! What is known about a server after the call, for the envelope.

use std::fmt;

use nix::sys::signal::Signal;

use crate::task::Timings;

/// The texts contain no secrets of the server's spec.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerReport {
    /// None while the server runs, or if its status could not be read.
    pub(crate) exit_status: Option<ExitDescription>,
    pub(crate) parting: Parting,
    /// The last 8 KiB of stderr. Invalid UTF-8 is replaced.
    pub(crate) stderr_tail: String,
    pub(crate) stderr_bytes: u64,
    pub(crate) stdout_noise: Noise,
    /// The negotiated version, such as `2025-11-25`.
    pub(crate) protocol: Option<String>,
    pub(crate) server_info: Option<(String, String)>,
    /// What it asked for during the call (elicitation, sampling). It was refused.
    pub(crate) asked: Option<String>,
    pub(crate) timings: Timings,
    pub(crate) killed: Vec<Killed>,
}

/// Whether a server ends when its stdin is closed (MCP, Lifecycle).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Parting {
    /// Its stdin is open.
    #[default]
    None,
    /// Within its grace, by itself.
    Itself,
    /// Only after a signal.
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

/// Lines on stdout that were no MCP messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Noise {
    pub(crate) lines: u64,
    /// Their first 2 KiB.
    pub(crate) sample: String,
}

/// A process that the server left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Killed {
    pub(crate) pid: i32,
    /// As in `/proc/PID/comm`: at most 15 bytes.
    pub(crate) name: String,
}

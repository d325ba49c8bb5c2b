//! Which era of the protocol a server speaks: the catalog says it, or oneact tries one era and then the other
//! (docs/catalog.md, `protocol = "auto"`). The era that a server spoke before is tried first.
//!
//! A process that was not met before is asked in the legacy era first, although the specification asks for
//! `server/discover` first: a modern server refuses `initialize` at once, but some legacy servers end at an unknown first
//! request, or do not answer. A server over HTTP does not end, so it is asked in the modern era first.

use std::fmt;

use tokio::time::Instant;

use crate::{host::Host, task::Protocol};

use super::{
    error::CallError,
    greeting::{discover, initialize},
    memory::Memory,
    message::{VERSIONS, is_modern},
    refusal::Trouble,
    session::{Session, millis},
    spec::ServerSpec,
    transport::Opened,
    wait::Limits,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) spec: &'a ServerSpec,
    pub(super) host: &'a Host,
    /// The end of `startup_timeout`, for all processes together.
    limits: Limits,
}

impl<'a> Setting<'a> {
    /// `end` is the end of the run's time.
    pub(super) fn new(spec: &'a ServerSpec, host: &'a Host, end: Option<Instant>) -> Self {
        let limits = Limits::within(spec.startup_timeout).ending(end);
        Self { spec, host, limits }
    }

    /// The end of the first of two tries: three quarters of the time.
    fn first_end(&self) -> Instant {
        let until = self.limits.until;
        until.checked_sub(self.limits.total / 4).unwrap_or(until)
    }
}

/// Makes the session ready for requests.
pub(super) async fn negotiate(session: &mut Session, at: &Setting<'_>) -> Result<(), CallError> {
    let memory = Memory::of(at.spec);
    let name = &at.spec.name;
    session.limits = at.limits;
    match at.spec.protocol {
        Protocol::Modern => {
            tracing::info!("Server {name} is spoken to in the modern era, as `protocol` says.");
            discover(session).await?;
        }
        Protocol::Legacy => {
            tracing::info!("Server {name} is greeted in the legacy era, as `protocol` says.");
            initialize(session).await?;
        }
        Protocol::Auto => {
            let found = determined(session, memory.recall(), at).await;
            if let Err(error) = &found
                && may_speak_otherwise(error)
            {
                memory.forget();
            }
            found?;
        }
    }
    session.timings.negotiate_ms = millis(session.started.elapsed());
    let version = version(session)?;
    tracing::info!("Server {name} speaks MCP {version}.");
    if at.spec.protocol == Protocol::Auto {
        memory.keep(version);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// Tries the era that the server spoke before, or the more likely one, and then the other.
async fn determined(
    session: &mut Session,
    known: Option<&str>,
    at: &Setting<'_>,
) -> Result<(), CallError> {
    let name = &at.spec.name;
    let (first, why) = match known {
        Some(known) if is_modern(known) => (Era::Modern, "it spoke that era before"),
        Some(_) => (Era::Legacy, "it spoke that era before"),
        None if at.spec.url().is_some() => (Era::Modern, "it is a server over HTTP"),
        None => (Era::Legacy, "it was not met before"),
    };
    tracing::info!("Server {name} is asked in the {first} era first: {why}.");
    // A server that does not know the first request may leave it without an answer.
    session.limits.until = at.first_end();
    let asked = greet(session, first).await;
    session.limits = at.limits;
    // Without its token, nothing was asked.
    let lacks_token = session
        .link
        .remote()
        .is_some_and(|remote| remote.lacks_token());
    let error = match asked {
        Err(error) if may_speak_otherwise(&error) && !lacks_token => error,
        settled => return settled,
    };
    tracing::info!("It does not speak that era: the other one is tried.");
    let second = match first {
        Era::Legacy => Era::Modern,
        Era::Modern => Era::Legacy,
    };
    let late = matches!(error, CallError::StartupTimeout { .. });
    let is_remote = session.link.is_remote();
    if is_remote {
        session.link.wire.end = None;
    }
    let is_same = is_remote || session.link.is_up() && !late;
    let mut asked = if is_same {
        greet(session, second).await
    } else {
        greet_afresh(session, second, at).await
    };
    // Some servers end when they have refused the first request.
    if is_same && matches!(asked, Err(CallError::ExitedBeforeReady { .. })) {
        asked = greet_afresh(session, second, at).await;
    }
    asked.map_err(|other| neither(session, error, other))
}

async fn greet(session: &mut Session, era: Era) -> Result<(), CallError> {
    match era {
        Era::Legacy => initialize(session).await,
        Era::Modern => discover(session).await,
    }
}

/// Greets a fresh process in the place of one that is silent or has ended.
async fn greet_afresh(session: &mut Session, era: Era, at: &Setting<'_>) -> Result<(), CallError> {
    tracing::info!("Server {} is started once more.", at.spec.name);
    session.stop().await;
    let mut fresh = Session::with(Opened::new(at.spec, at.host)?, at.spec, at.host)?;
    fresh.limits = at.limits;
    // The time of the first process counts.
    fresh.started = session.started;
    *session = fresh;
    greet(session, era).await
}

/// Whether a server that answers so to a first request may speak the other era.
fn may_speak_otherwise(error: &CallError) -> bool {
    use Trouble::{Denied, Limited, TooLarge, Unreachable};
    match error {
        CallError::Http { trouble, .. } => {
            !matches!(trouble, Denied | Limited | TooLarge | Unreachable)
        }
        CallError::Rpc { .. }
        | CallError::CapabilityMissing { .. }
        | CallError::Malformed { .. }
        | CallError::ProtocolMismatch { .. }
        | CallError::ExitedBeforeReady { .. }
        | CallError::StartupTimeout { .. } => true,
        _ => false,
    }
}

/// The error if neither era works: both refusals, or that of the era that the server seems to speak.
fn neither(session: &Session, first: CallError, mut second: CallError) -> CallError {
    match (&first, &second) {
        (
            CallError::Rpc { method: one, code, message, .. },
            CallError::Rpc { method: other, code: other_code, message: other_message, .. },
        ) => session.mismatch(
            &format!(
                "it refused `{one}` with error {code}: {message}, and `{other}` with error {other_code}: {other_message}"
            ),
            Some(String::new()),
        ),
        // Who refuses one era is likely to speak the other.
        (CallError::Rpc { .. } | CallError::Http { .. }, _) => {
            // The first process has answered, so that it was the right program.
            if let CallError::ExitedBeforeReady { heard, .. } = &mut second {
                *heard = true;
            }
            second
        }
        _ => first,
    }
}

/// The version that was agreed on, if oneact supports it.
fn version(session: &Session) -> Result<&'static str, CallError> {
    let version = session.version().unwrap_or_default();
    let known = VERSIONS.into_iter().find(|known| *known == version);
    known.ok_or_else(|| {
        session.mismatch(
            &format!(
                "it wants `{version}`, known here are {}",
                VERSIONS.join(", ")
            ),
            Some(String::new()),
        )
    })
}

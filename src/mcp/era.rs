//! Which era of the protocol a server speaks: the catalog says it, oneact remembers it, or oneact determines it
//! (docs/catalog.md, `protocol = "auto"`).
//!
//! `Auto` tries the legacy handshake first, although the specification asks for `server/discover` first: a modern
//! server refuses `initialize` at once, but some legacy servers end at an unknown first request, or do not answer.

use tokio::time::{Duration, Instant};

use crate::{host::Host, task::Protocol};

use super::{
    error::CallError,
    greeting::{assume, discover, initialize},
    memory::Memory,
    message::{VERSIONS, is_modern, is_not_understood},
    refusal::Trouble,
    session::{Session, Standing, millis},
    spec::{ServerSpec, ToolCall},
    tools::{self, ToolListing},
    transport::Begun,
    wait::{Limits, Raced, race},
};

/// How long a server that has refused the declared handshake may take to answer the other one.
const HINT: Duration = Duration::from_secs(2);

/// When a second process is started beside one that does not answer, in eighths of its time. This is late, because the
/// first one is most likely slow, and two processes may disturb each other (`npx` that installs).
const PATIENCE: u32 = 6;
/// The same for a server that has answered in an earlier run. If it is slow, it is slow each time.
const PATIENCE_KNOWN: u32 = 7;

/// The first request of a server that needs no handshake. It is never the call: only the first message of a server
/// shows that it is ready, and until then its `startup_timeout` counts, not the limits of the call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening<'a> {
    /// `tools/list`, to find that tool.
    List(&'a str),
    /// `server/discover`.
    Discover,
}

impl<'a> Opening<'a> {
    pub(super) fn of(call: &'a ToolCall, spec: &ServerSpec) -> Self {
        // A modern call over HTTP depends on the schema of the tool.
        if call.lists() || spec.url().is_some() {
            Self::List(&call.tool)
        } else {
            Self::Discover
        }
    }
}

/// The result of the search for the tool, if the search has shown the era.
pub(super) type Found = Option<Result<ToolListing, CallError>>;

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

    fn fresh(&self) -> Result<Session, CallError> {
        let begun = Begun::new(self.spec, self.host)?;
        let mut fresh = Session::with(begun, self.spec, self.host)?;
        fresh.limits = self.limits;
        Ok(fresh)
    }

    /// The moment when so many eighths of the time have passed.
    fn after(&self, eighths: u32) -> Instant {
        let left = self.limits.total / 8 * (8 - eighths);
        self.limits
            .until
            .checked_sub(left)
            .unwrap_or(self.limits.until)
    }
}

/// Makes the session ready for requests. Returns the result of an opening list.
pub(super) async fn negotiate(
    session: &mut Session,
    opening: Opening<'_>,
    at: &Setting<'_>,
) -> Result<Found, CallError> {
    let memory = Memory::of(at.spec);
    let name = &at.spec.name;
    session.limits = at.limits;
    let listed = match at.spec.protocol {
        Protocol::Modern => {
            tracing::info!("Server {name} is spoken to in the modern era, as `protocol` says.");
            declared_modern(session, opening).await?
        }
        Protocol::Legacy => {
            tracing::info!("Server {name} is greeted in the legacy era, as `protocol` says.");
            declared_legacy(session).await?;
            None
        }
        Protocol::Auto if at.spec.url().is_some() => {
            remotely(session, opening, memory.recall(), at).await?
        }
        Protocol::Auto => match memory.recall() {
            Some(known) if is_modern(known) => {
                tracing::info!(
                    "Server {name} is spoken to in the modern era: it spoke MCP {known} before."
                );
                trust(session, opening, at).await?
            }
            Some(known) => {
                tracing::info!(
                    "Server {name} is greeted in the legacy era: it spoke MCP {known} before."
                );
                learn(session, at, at.after(PATIENCE_KNOWN)).await?;
                None
            }
            None => {
                tracing::info!("Server {name} was not met before: the legacy era is tried first.");
                learn(session, at, at.after(PATIENCE)).await?;
                None
            }
        },
    };
    session.timings.negotiate_ms = millis(session.started.elapsed());
    let version = version(session)?;
    if session.standing == Standing::Agreed {
        tracing::info!("Server {name} speaks MCP {version}.");
    }
    if at.spec.protocol == Protocol::Auto {
        memory.keep(version);
    }
    Ok(listed)
}

/// The era of a server over HTTP, which does not end at an unknown request: the one that it spoke before, or the modern
/// one; if that is refused, the other.
async fn remotely(
    session: &mut Session,
    opening: Opening<'_>,
    known: Option<&str>,
    at: &Setting<'_>,
) -> Result<Found, CallError> {
    let name = &session.spec.name;
    let is_legacy = known.is_some_and(|known| !is_modern(known));
    let first = if is_legacy { "legacy" } else { "modern" };
    tracing::info!("Server {name} is asked in the {first} era first.");
    // A server that does not know the first request may leave it without an answer.
    session.limits.until = at.after(PATIENCE);
    let asked = match (known, opening) {
        _ if is_legacy => initialize(session).await.map(|()| None),
        (Some(_), Opening::List(tool)) => {
            assume(session, Standing::Agreed);
            listed(session, tool).await.map(Some)
        }
        _ => discover(session).await.map(|()| None),
    };
    session.limits = at.limits;
    let error = match asked {
        // Without its token, nothing was asked.
        Err(error) if may_speak_otherwise(&error) && !session.link.lacks_token() => error,
        settled => return settled,
    };
    tracing::info!("It refuses that era: the other one is tried.");
    session.peer = None;
    session.standing = Standing::Open;
    session.link.reopen();
    let other = if is_legacy {
        discover(session).await
    } else {
        initialize(session).await
    };
    match other {
        Ok(()) => Ok(None),
        Err(other @ CallError::Rpc { .. }) if is_legacy => {
            Err(neither(session, Some(&error), other, None))
        }
        Err(other @ CallError::Rpc { .. }) => Err(neither(session, Some(&other), error, None)),
        Err(other) => Err(other),
    }
}

/// Whether a server over HTTP that answers so may speak the other era.
fn may_speak_otherwise(error: &CallError) -> bool {
    use Trouble::{Denied, Limited, TooLarge, Unreachable};
    match error {
        CallError::Http { trouble, .. } => {
            !matches!(trouble, Denied | Limited | TooLarge | Unreachable)
        }
        CallError::Rpc { .. }
        | CallError::Malformed { .. }
        | CallError::ProtocolMismatch { .. }
        | CallError::StartupTimeout { .. } => true,
        _ => false,
    }
}

/// Uses the modern era, as remembered. A first request without effects shows whether that is still right. If it is
/// not, the era is determined again with a new process.
async fn trust(
    session: &mut Session,
    opening: Opening<'_>,
    at: &Setting<'_>,
) -> Result<Found, CallError> {
    let then = at.after(PATIENCE);
    match opening {
        Opening::Discover => {
            let asked = Box::pin(discover(session));
            let raced = race(asked, then, Box::pin(learnt_afresh(at)), shows_another_era).await;
            settle(session, raced, at).await?;
            Ok(None)
        }
        Opening::List(tool) => {
            assume(session, Standing::Agreed);
            let listed = Box::pin(listed(session, tool));
            let raced = race(listed, then, Box::pin(learnt_afresh(at)), shows_another_era).await;
            settle(session, raced, at).await
        }
    }
}

/// Searches the tool with the first request of a session.
async fn listed(
    session: &mut Session,
    tool: &str,
) -> Result<Result<ToolListing, CallError>, CallError> {
    match tools::find(session, tool).await {
        // The server has answered, so the era is right.
        Err(error @ CallError::UnknownTool { .. }) => Ok(Err(error)),
        found => found.map(Ok),
    }
}

/// Waits for the first answer of a server that is modern by declaration. A server that refuses `server/discover` is ready
/// as well.
async fn declared_modern(session: &mut Session, opening: Opening<'_>) -> Result<Found, CallError> {
    assume(session, Standing::Declared);
    match opening {
        Opening::List(tool) => Ok(Some(listed(session, tool).await?)),
        Opening::Discover => match discover(session).await {
            Ok(()) | Err(CallError::Rpc { .. }) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

/// Whether the answer to a first request may come from a server of the other era.
fn shows_another_era(error: &CallError) -> bool {
    match error {
        CallError::Rpc { code, .. } => is_not_understood(*code),
        CallError::ProtocolMismatch { .. }
        | CallError::ExitedBeforeReady { .. }
        | CallError::Died { .. } => true,
        _ => false,
    }
}

/// The result of the first, or none if a second process has replaced it.
async fn settle<T>(
    session: &mut Session,
    raced: Raced<T, Session, CallError>,
    at: &Setting<'_>,
) -> Result<Option<T>, CallError> {
    match raced {
        Raced::First(good) => Ok(Some(good)),
        Raced::Second(fresh) => {
            replace(session, fresh).await;
            Ok(None)
        }
        Raced::Neither(first, second) => {
            let late = matches!(
                first,
                CallError::StartupTimeout { .. } | CallError::TimedOut { .. }
            );
            if late || second.is_some() {
                Memory::of(at.spec).forget();
            }
            Err(second.unwrap_or(first))
        }
    }
}

async fn learnt_afresh(at: &Setting<'_>) -> Result<Session, CallError> {
    let mut fresh = at.fresh()?;
    learn(&mut fresh, at, at.limits.until).await?;
    Ok(fresh)
}

/// Tries legacy first, and modern if that is refused. If the server ends at `initialize`, or does not answer until
/// `then`, a second process is asked `server/discover`. The call is not used for this, because the process may end.
async fn learn(session: &mut Session, at: &Setting<'_>, then: Instant) -> Result<(), CallError> {
    let mut legacy = None;
    let greeted = Box::pin(async {
        match initialize(session).await {
            Err(error @ CallError::Rpc { .. }) => {
                tracing::info!("It refuses the legacy era: the modern one is tried.");
                legacy = Some(error);
                discover(session).await
            }
            other => other,
        }
    });
    let ended = |error: &CallError| matches!(error, CallError::ExitedBeforeReady { .. });
    let raced = race(greeted, then, Box::pin(discovered_afresh(at)), ended).await;
    match raced {
        Raced::First(()) => Ok(()),
        Raced::Second(fresh) => {
            replace(session, fresh).await;
            Ok(())
        }
        Raced::Neither(first, second) => {
            Err(neither(session, legacy.as_ref(), first, second.as_ref()))
        }
    }
}

async fn discovered_afresh(at: &Setting<'_>) -> Result<Session, CallError> {
    let mut fresh = at.fresh()?;
    discover(&mut fresh).await?;
    Ok(fresh)
}

/// The error if neither era works: that of the first process, unless both eras were refused.
fn neither(
    session: &Session,
    legacy: Option<&CallError>,
    first: CallError,
    second: Option<&CallError>,
) -> CallError {
    let refused = |error: &CallError| match error {
        CallError::Rpc { code, message, .. } => Some(format!("error {code}: {message}")),
        _ => None,
    };
    let modern = refused(&first).or(second.and_then(refused));
    match (legacy.and_then(refused), modern) {
        (Some(legacy), Some(modern)) => session.mismatch(
            &format!("it refused `initialize` with {legacy}, and `server/discover` with {modern}"),
            Some(String::new()),
        ),
        _ => first,
    }
}

async fn replace(session: &mut Session, mut fresh: Session) {
    tracing::info!(
        "A second process of server {} takes the place of the first.",
        session.spec.name
    );
    session.stop().await;
    // The time of the first process counts.
    fresh.started = session.started;
    *session = fresh;
}

/// The legacy handshake. If it is refused, the other handshake is tried, so that the error can say whether it works.
async fn declared_legacy(session: &mut Session) -> Result<(), CallError> {
    let Err(error) = initialize(session).await else {
        return Ok(());
    };
    let CallError::Rpc { code, message, .. } = &error else {
        return Err(error);
    };
    session.limits.until = session.limits.until.min(Instant::now() + HINT);
    if discover(session).await.is_err() {
        return Err(error);
    }
    session.peer = None;
    Err(session.mismatch(
        &format!(
            "it refused `initialize` with error {code}: {message}, and answers `server/discover`"
        ),
        Some(String::new()),
    ))
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

//! Which era of the protocol a server speaks: said by the catalog, found out, or remembered.
//!
//! `Auto` tries the legacy handshake first, although the specification asks for `server/discover` first. A modern server
//! answers `initialize` with an error at once, which costs one round trip. Most servers are legacy, and not all of them
//! answer an unknown first request: some end, some stay silent, and a silent one cannot be told from one that is slow to
//! start (`npx`). So a wrong guess of legacy is cheap, and a wrong guess of modern costs a timeout or the process. If
//! `initialize` ends a server or gets no answer, a fresh process is asked `server/discover`; a silent process goes on
//! beside it, since it may only be slow.
//!
//! The result is remembered ([`Memory`]). A server that is remembered as modern is not asked again: its first request
//! tells. A list of tools, or a call that may be repeated, is sent at once. A call that must not be lost waits for
//! `server/discover`: a server that has changed its era may end at the first message, and the call with it.

use tokio::time::{Duration, Instant};

use crate::{
    host::Host,
    task::{Protocol, Repeatable},
};

use super::{
    error::CallError,
    greeting::{assume, discover, initialize},
    memory::Memory,
    message::{VERSIONS, is_modern, is_not_understood},
    session::{Session, Standing, millis},
    spec::{ServerSpec, ToolCall},
    tools::{self, ToolListing},
    wait::{Limits, Raced, race},
};

/// How long a server that has refused the handshake of its entry is asked for the other one.
const HINT: Duration = Duration::from_secs(2);

/// When a silent process gets company, in eighths of its time. Late, for it is most likely slow, and
/// two at once may be in each other's way (`npx` that installs).
const PATIENCE: u32 = 6;
/// The same for one that has answered before: if it is slow, it is so each time.
const PATIENCE_KNOWN: u32 = 7;

/// What the first request will be, where no handshake is needed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening<'a> {
    /// `tools/list`, to find that tool: does no harm.
    List(&'a str),
    /// `tools/call`.
    Call(Repeatable),
}

impl<'a> Opening<'a> {
    pub(super) fn of(call: &'a ToolCall) -> Self {
        if call.lists() {
            Self::List(&call.tool)
        } else {
            Self::Call(call.if_lost)
        }
    }
}

/// What a search for the tool came to, if the era was found out by it.
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
        let mut limits = Limits::within(spec.startup_timeout);
        limits.until = end.map_or(limits.until, |end| end.min(limits.until));
        Self { spec, host, limits }
    }

    /// A process that nothing was said to yet.
    fn fresh(&self) -> Result<Session, CallError> {
        let mut fresh = Session::open(self.spec, self.host)?;
        fresh.limits = self.limits;
        Ok(fresh)
    }

    /// When so many eighths of the time are over.
    fn after(&self, eighths: u32) -> Instant {
        let left = self.limits.total / 8 * (8 - eighths);
        self.limits
            .until
            .checked_sub(left)
            .unwrap_or(self.limits.until)
    }
}

/// Brings the session to where requests can be sent. Gives what came of an opening list.
pub(super) async fn negotiate(
    session: &mut Session,
    opening: Opening<'_>,
    at: &Setting<'_>,
) -> Result<Found, CallError> {
    let memory = Memory::of(at.spec);
    let name = &at.spec.name;
    session.limits = at.limits;
    let mut noted = None;
    let listed = match at.spec.protocol {
        Protocol::Modern => {
            tracing::info!("Server {name} is spoken to in the modern era, as `protocol` says.");
            assume(session, Standing::Declared);
            None
        }
        Protocol::Legacy => {
            tracing::info!("Server {name} is greeted in the legacy era, as `protocol` says.");
            declared_legacy(session).await?;
            None
        }
        Protocol::Auto => match memory.recall() {
            Some(known) if is_modern(known) => {
                tracing::info!(
                    "Server {name} is spoken to in the modern era: it spoke MCP {known} before."
                );
                trust(session, opening, at).await?
            }
            Some(known) => {
                noted = Some(known);
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
        if noted != Some(version) {
            memory.keep(version);
        }
    }
    Ok(listed)
}

/// Modern, as remembered. A first request that does no harm shows whether it still is so; if it is
/// not, the era is found out anew, with a process that has heard nothing yet.
async fn trust(
    session: &mut Session,
    opening: Opening<'_>,
    at: &Setting<'_>,
) -> Result<Found, CallError> {
    let then = at.after(PATIENCE);
    match opening {
        Opening::Call(Repeatable::Yes) => {
            assume(session, Standing::Remembered);
            Ok(None)
        }
        Opening::Call(Repeatable::Once) => {
            let asked = Box::pin(discover(session));
            let raced = race(asked, then, Box::pin(learnt_afresh(at)), shows_another_era).await;
            settle(session, raced, at).await?;
            Ok(None)
        }
        Opening::List(tool) => {
            assume(session, Standing::Remembered);
            let listed = Box::pin(async {
                match tools::find(session, tool).await {
                    // A list without the tool is a list.
                    Err(error @ CallError::UnknownTool { .. }) => Ok(Err(error)),
                    found => found.map(Ok),
                }
            });
            let raced = race(listed, then, Box::pin(learnt_afresh(at)), shows_another_era).await;
            let listed = settle(session, raced, at).await?;
            session.standing = Standing::Agreed;
            Ok(listed)
        }
    }
}

/// Whether an answer to a first request may come from a server of another era than it was spoken to.
pub(super) fn shows_another_era(error: &CallError) -> bool {
    match error {
        CallError::Rpc { code, .. } => is_not_understood(*code),
        CallError::ProtocolMismatch { .. }
        | CallError::ExitedBeforeReady { .. }
        | CallError::Died { .. } => true,
        _ => false,
    }
}

/// Takes what was good in the end; none if that is a process that has taken the place of the first.
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

/// Whether a server that was remembered as modern is none, and is ready for requests again: found
/// out with a fresh process, since the old one has heard what it may not have expected.
pub(super) async fn turned_legacy(session: &mut Session, at: &Setting<'_>) -> bool {
    let memory = Memory::of(at.spec);
    memory.forget();
    let Ok(fresh) = Box::pin(learnt_afresh(at)).await else {
        return false;
    };
    let Ok(version) = version(&fresh) else {
        return false;
    };
    replace(session, fresh).await;
    memory.keep(version);
    !is_modern(version)
}

async fn learnt_afresh(at: &Setting<'_>) -> Result<Session, CallError> {
    let mut fresh = at.fresh()?;
    learn(&mut fresh, at, at.limits.until).await?;
    Ok(fresh)
}

/// Legacy first, and modern if that is refused. A server that ends at `initialize` is started once
/// more and asked in the modern way; so is one that is silent until `then`, beside the first, which
/// may only be slow. `server/discover` rather than the call itself: a process that is about to end
/// must not take the call with it.
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

/// Why neither era will do. What the first process did says most, unless both eras were refused.
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
        (Some(legacy), Some(modern)) => session.mismatch(&format!(
            "it refused `initialize` with {legacy}, and `server/discover` with {modern}"
        )),
        _ => first,
    }
}

/// Puts a fresh process in the place of one that is of no use any more.
async fn replace(session: &mut Session, mut fresh: Session) {
    tracing::info!(
        "A second process of server {} takes the place of the first.",
        session.spec.name
    );
    session.stop().await;
    // The time that the first took counts.
    fresh.started = session.started;
    *session = fresh;
}

/// The legacy handshake. If it is refused, the server is asked whether it speaks the other one, so
/// that the error can say so.
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
    Err(session.mismatch(&format!(
        "it refused `initialize` with error {code}: {message}, and answers `server/discover`"
    )))
}

/// The version that was agreed on, if it is one that is known here.
fn version(session: &Session) -> Result<&'static str, CallError> {
    let version = session.version().unwrap_or_default();
    let known = VERSIONS.into_iter().find(|known| *known == version);
    known.ok_or_else(|| {
        session.mismatch(&format!(
            "it wants `{version}`, known here are {}",
            VERSIONS.join(", ")
        ))
    })
}

//! Which era of the protocol a server speaks: said by the catalog, found out, or remembered.
//!
//! `Auto` tries the legacy handshake first, though the specification would have a client ask
//! `server/discover` first. A modern server answers `initialize` with an error at once, at the
//! price of one round trip. Legacy servers are the many, and not all of them answer a first
//! request they do not know: some end, some stay silent, and one that is slow to start (`npx`)
//! cannot be told from a silent one. Guessing legacy wrongly is cheap; guessing modern wrongly
//! costs a timeout or the process. Where `initialize` does end a server, or meets silence, a fresh
//! process is asked `server/discover`; a silent one goes on beside it, for it may only be slow.
//!
//! What was found out is remembered ([`Memory`]). A server remembered as modern is not asked again:
//! its first request tells. If that is a list of tools, or a call that may be repeated, it goes out
//! at once; a call that may not be lost waits for `server/discover`, since a server that has changed
//! its era may end at the first message, and take the call with it.

use rmcp::model::{ErrorData, ProtocolVersion};
use tokio::time::{Duration, Instant};

use crate::task::{Protocol, Repeatable};

use super::{
    alarm::Alarm,
    error::CallError,
    greeting::{Failure, agree, assume, discover, failed, initialize},
    memory::Memory,
    message::is_not_understood,
    race::{Raced, race},
    session::{Limits, Session, Standing, millis},
    spec::{ServerSpec, ToolCall},
    tools::{self, ToolListing},
};
use crate::host::Host;

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

/// What a handshake is made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) spec: &'a ServerSpec,
    pub(super) host: &'a Host,
    pub(super) alarm: &'a Alarm<'a>,
    /// The end of `startup_timeout`, for all processes together.
    pub(super) limits: Limits,
    /// The end of the run's time.
    pub(super) end: Option<Instant>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(
        spec: &'a ServerSpec,
        host: &'a Host,
        alarm: &'a Alarm<'a>,
        end: Option<Instant>,
    ) -> Self {
        let until = Instant::now() + spec.startup_timeout;
        let limits = Limits {
            idle: None,
            total: spec.startup_timeout,
            until: end.map_or(until, |end| end.min(until)),
        };
        Self {
            spec,
            host,
            alarm,
            limits,
            end,
        }
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
    let name = &session.server;
    let mut noted = None;
    let listed = match at.spec.protocol {
        Protocol::Modern => {
            tracing::info!("Server {name} is spoken to in the modern era, as `protocol` says.");
            assume(session, Standing::Declared);
            None
        }
        Protocol::Legacy => {
            tracing::info!("Server {name} is greeted in the legacy era, as `protocol` says.");
            declared_legacy(session, at).await?;
            None
        }
        Protocol::Auto => match memory.as_ref().and_then(Memory::recall) {
            Some(known) if !known.has_initialize() => {
                tracing::info!(
                    "Server {name} is spoken to in the modern era: it spoke MCP {known} before."
                );
                trust(session, opening, at).await?
            }
            Some(known) => {
                noted = Some(known.clone());
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
    if let Some(version) = &version
        && session.standing == Standing::Agreed
    {
        tracing::info!("Server {} speaks MCP {version}.", session.server);
    }
    if let (Some(memory), Standing::Agreed, Some(version)) = (memory, session.standing, version)
        && noted != Some(version.clone())
    {
        memory.keep(&version);
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
            let asked = async {
                let asked = discover(session, at.alarm, &at.limits).await;
                asked.map_err(|failure| failed(session, "server/discover", failure))
            };
            let raced = race(asked, then, Box::pin(learnt_afresh(at)), shows_another_era).await;
            let service = settle(session, raced, at).await?;
            if let Some(service) = service {
                agree(session, service);
            }
            Ok(None)
        }
        Opening::List(tool) => {
            assume(session, Standing::Remembered);
            let listed = Box::pin(async {
                match tools::find(session, tool, &at.limits, at.alarm).await {
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
    raced: Raced<T, Session, CallError, CallError>,
    at: &Setting<'_>,
) -> Result<Option<T>, CallError> {
    match raced {
        Raced::First(good) => Ok(Some(good)),
        Raced::Second(fresh) => {
            replace(session, fresh, at).await;
            Ok(None)
        }
        Raced::Neither(first, second) => {
            let late = matches!(
                first,
                CallError::StartupTimeout { .. } | CallError::TimedOut { .. }
            );
            if let Some(memory) = Memory::of(at.spec)
                && (late || second.is_some())
            {
                memory.forget();
            }
            Err(second.unwrap_or(first))
        }
    }
}

/// Whether a server that was remembered as modern is none, and is ready for requests again: found
/// out with a fresh process, since the old one has heard what it may not have expected.
pub(super) async fn turned_legacy(session: &mut Session, at: &Setting<'_>) -> bool {
    let memory = Memory::of(at.spec);
    if let Some(memory) = &memory {
        memory.forget();
    }
    let Ok(fresh) = Box::pin(learnt_afresh(at)).await else {
        return false;
    };
    let Ok(Some(version)) = version(&fresh) else {
        return false;
    };
    replace(session, fresh, at).await;
    if let Some(memory) = memory {
        memory.keep(&version);
    }
    version.has_initialize()
}

async fn learnt_afresh(at: &Setting<'_>) -> Result<Session, CallError> {
    let mut fresh = Session::open(at.spec, at.host)?;
    learn(&mut fresh, at, at.limits.until).await?;
    Ok(fresh)
}

/// Legacy first, and modern if that is refused. A server that ends at `initialize` is started once
/// more and asked in the modern way; so is one that is silent until `then`, beside the first, which
/// may only be slow. `server/discover` rather than the call itself: a process that is about to end
/// must not take the call with it.
async fn learn(session: &mut Session, at: &Setting<'_>, then: Instant) -> Result<(), CallError> {
    let mut legacy = None;
    let raced = {
        let session = &*session;
        let greeted = async {
            match initialize(session, at.alarm, &at.limits).await {
                Err(Failure::Refused(error)) => {
                    tracing::info!("It refuses the legacy era: the modern one is tried.");
                    legacy = Some(error);
                    discover(session, at.alarm, &at.limits).await
                }
                other => other,
            }
        };
        race(
            greeted,
            then,
            Box::pin(discovered_afresh(at)),
            Failure::is_its_end,
        )
        .await
    };
    match raced {
        Raced::First(service) => agree(session, service),
        Raced::Second(fresh) => replace(session, fresh, at).await,
        Raced::Neither(first, second) => {
            return Err(neither(session, legacy, first, second.as_ref()));
        }
    }
    Ok(())
}

async fn discovered_afresh(at: &Setting<'_>) -> Result<Session, CallError> {
    let mut fresh = Session::open(at.spec, at.host)?;
    match discover(&fresh, at.alarm, &at.limits).await {
        Ok(service) => agree(&mut fresh, service),
        Err(failure) => return Err(failed(&fresh, "server/discover", failure)),
    }
    Ok(fresh)
}

/// Why neither era will do. What the first process did says most, unless both eras were refused.
fn neither(
    session: &Session,
    legacy: Option<ErrorData>,
    first: Failure,
    second: Option<&CallError>,
) -> CallError {
    let modern = match (&first, second) {
        (Failure::Refused(error), _) => Some((i64::from(error.code.0), error.message.to_string())),
        (_, Some(CallError::Rpc { code, message, .. })) => Some((*code, message.clone())),
        _ => None,
    };
    match (legacy, modern) {
        (Some(legacy), Some((code, message))) => {
            let reason = format!(
                "it refused `initialize` with error {}: {}, and `server/discover` with error {code}: {message}",
                legacy.code.0, legacy.message
            );
            session.mismatch(&reason)
        }
        _ => failed(session, "initialize", first),
    }
}

/// Puts a fresh process in the place of one that is of no use any more.
async fn replace(session: &mut Session, mut fresh: Session, at: &Setting<'_>) {
    tracing::info!(
        "A second process of server {} takes the place of the first.",
        session.server
    );
    session.stop(at.spec.shutdown_grace).await;
    // The time that the first took counts.
    fresh.started = session.started;
    *session = fresh;
}

/// The legacy handshake. If it is refused, the server is asked whether it speaks the other one, so
/// that the error can say so.
async fn declared_legacy(session: &mut Session, at: &Setting<'_>) -> Result<(), CallError> {
    let error = match initialize(session, at.alarm, &at.limits).await {
        Ok(service) => {
            agree(session, service);
            return Ok(());
        }
        Err(Failure::Refused(error)) => error,
        Err(failure) => return Err(failed(session, "initialize", failure)),
    };
    let limits = Limits {
        until: at.limits.until.min(Instant::now() + HINT),
        ..at.limits
    };
    match discover(session, at.alarm, &limits).await {
        Ok(_) => {
            let reason = format!(
                "it refused `initialize` with error {}: {}, and answers `server/discover`",
                error.code.0, error.message
            );
            Err(session.mismatch(&reason))
        }
        Err(_) => Err(failed(session, "initialize", Failure::Refused(error))),
    }
}

/// The version that was agreed on. rmcp takes whatever version a server names.
fn version(session: &Session) -> Result<Option<ProtocolVersion>, CallError> {
    let Some(version) = session.version() else {
        return Ok(None);
    };
    if ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        return Ok(Some(version));
    }
    let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .map(ProtocolVersion::as_str)
        .collect();
    Err(session.mismatch(&format!(
        "it wants `{version}`, known here are {}",
        known.join(", ")
    )))
}

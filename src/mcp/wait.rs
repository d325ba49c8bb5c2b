//! What can end a wait for an answer: a limit, a signal, the end of the server, or a second process.

use std::{future::pending, io, pin::pin, time::Duration};

use tokio::{
    net::UnixStream,
    select,
    task::yield_now,
    time::{Instant, sleep_until, timeout_at},
};

use super::{error::Limit, wire::End};
use crate::host::{Host, Interrupt, Interrupts};

#[derive(Debug)]
pub(super) enum Halt {
    Signal(Interrupt),
    Late(Limit, Duration),
    End(End),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) idle: Option<Duration>,
    pub(super) total: Duration,
    pub(super) until: Instant,
}

impl Limits {
    /// A total limit that begins now.
    pub(super) fn within(total: Duration) -> Self {
        Self {
            idle: None,
            total,
            until: Instant::now() + total,
        }
    }

    /// The same, but not later than `end`, the end of the run's time.
    pub(super) fn ending(self, end: Option<Instant>) -> Self {
        Self {
            until: end.map_or(self.until, |end| end.min(self.until)),
            ..self
        }
    }
}

/// Waits for a signal that stops the run.
#[derive(Debug)]
pub(super) struct Alarm {
    wake: UnixStream,
    interrupts: Interrupts,
}

impl Alarm {
    pub(super) fn new(host: &Host) -> io::Result<Self> {
        let interrupts = host.interrupts().clone();
        let wake = UnixStream::from_std(interrupts.wake()?.try_clone()?)?;
        Ok(Self { wake, interrupts })
    }

    pub(super) async fn rung(&self) -> Interrupt {
        loop {
            // This fails only when the runtime shuts down.
            if self.wake.readable().await.is_err() {
                return pending().await;
            }
            // The byte is never read, so the socket stays readable after a signal.
            match self.interrupts.caught() {
                Some(interrupt) => return interrupt,
                None => yield_now().await,
            }
        }
    }

    /// Waits for `work`, a limit or a signal.
    pub(super) async fn unless_stopped<T>(
        &self,
        limits: Limits,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        select! {
            biased;
            signal = self.rung() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
            () = sleep_until(limits.until) => Err(Halt::Late(Limit::Total, limits.total)),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Raced<A, B, E> {
    First(A),
    Second(B),
    /// Why the first failed, and why the second failed, if it was started.
    Neither(E, Option<E>),
}

/// Waits for `first`. If it is not done at `then`, `second` runs beside it, because a server that does not answer may
/// only be slow to start. If `first` fails and `yields` is true of the error, `second` runs alone. The first success
/// counts, and the other one is dropped.
pub(super) async fn race<A, B, E>(
    first: impl Future<Output = Result<A, E>>,
    then: Instant,
    second: impl Future<Output = Result<B, E>>,
    yields: impl Fn(&E) -> bool,
) -> Raced<A, B, E> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let mut why_not_second = None;
    let first_done = if let Ok(done) = timeout_at(then, &mut first).await {
        done
    } else {
        select! {
            biased;
            done = &mut first => done,
            done = &mut second => match done {
                Ok(good) => return Raced::Second(good),
                Err(failed) => {
                    why_not_second = Some(failed);
                    first.await
                }
            },
        }
    };
    match first_done {
        Ok(good) => Raced::First(good),
        Err(failed) if why_not_second.is_some() || !yields(&failed) => {
            Raced::Neither(failed, why_not_second)
        }
        Err(failed) => match second.await {
            Ok(good) => Raced::Second(good),
            Err(why_not) => Raced::Neither(failed, Some(why_not)),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::{runtime::Builder, task::yield_now};

    use super::*;

    type End = Raced<&'static str, &'static str, &'static str>;

    const NEVER: Duration = Duration::from_hours(1);

    /// `first` says that it waits by being pending.
    fn run(
        first: Option<Result<&'static str, &'static str>>,
        patience: Duration,
        second: Option<Result<&'static str, &'static str>>,
        yields: fn(&&'static str) -> bool,
    ) -> End {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let told = async |said: Option<_>| match said {
                Some(said) => said,
                None => pending().await,
            };
            race(told(first), Instant::now() + patience, told(second), yields).await
        })
    }

    #[test]
    fn the_first_is_enough_if_it_is_good_in_time() {
        let end = run(Some(Ok("a")), NEVER, Some(Ok("b")), |_| true);
        assert_eq!(end, Raced::First("a"));
    }

    #[test]
    fn a_first_that_fails_yields_to_the_second_if_it_may() {
        let end = run(Some(Err("a")), NEVER, Some(Ok("b")), |_| true);
        assert_eq!(end, Raced::Second("b"));
        let end = run(Some(Err("a")), NEVER, Some(Ok("b")), |_| false);
        assert_eq!(end, Raced::Neither("a", None));
        let end = run(Some(Err("a")), NEVER, Some(Err("b")), |_| true);
        assert_eq!(end, Raced::Neither("a", Some("b")));
    }

    #[test]
    fn a_silent_first_is_overtaken() {
        let end = run(None, Duration::ZERO, Some(Ok("b")), |_| true);
        assert_eq!(end, Raced::Second("b"));
    }

    #[test]
    fn a_slow_first_is_still_heard_when_the_second_has_failed_or_is_silent() {
        for second in [Some(Err("b")), None] {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            let end: End = runtime.block_on(async {
                let first = async {
                    for _ in 0..100 {
                        yield_now().await;
                    }
                    Ok("a")
                };
                let second = async {
                    match second {
                        Some(said) => said,
                        None => pending().await,
                    }
                };
                race(first, Instant::now(), second, |_| true).await
            });
            assert_eq!(end, Raced::First("a"));
        }
    }
}

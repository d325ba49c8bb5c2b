//! The supervisors of the servers that live as long as the session: each performs all calls of its server, one after the
//! other (`oneact supervise`).

use std::{
    collections::BTreeMap,
    pin::{Pin, pin},
    process::Child,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::Signal;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::{Mutex as Turns, Semaphore, oneshot, watch},
    time::{Instant, sleep_until},
};

use crate::task::Failure;

use super::supervisor::{
    Answer, GRACE, Started, Tells, not_begun, reap, relay, signal, silent, spawn,
};

/// The supervisors, by the names of their servers.
#[derive(Default)]
pub(super) struct Keepers(Mutex<BTreeMap<String, Arc<Turns<Option<Keeper>>>>>);

/// A running supervisor.
struct Keeper {
    child: Child,
    stdin: Sender,
    stdout: BufReader<Receiver>,
    /// Where the progress of the current call goes.
    tells: Arc<Mutex<Option<Tells>>>,
}

impl Keepers {
    /// Performs a call of the server when it is its turn. When `stop` is ready, the call ends, and the server with it:
    /// the next call starts another one.
    pub(super) fn start(
        &self,
        server: &str,
        arguments: Vec<String>,
        task: Vec<u8>,
        calls: Arc<Semaphore>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Started {
        let mut keepers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = Arc::clone(keepers.entry(server.to_owned()).or_default());
        let (answers, answer) = oneshot::channel();
        let (tells, progress) = watch::channel(None);
        tokio::spawn(async move {
            let answer = call(turns, arguments, task, (calls, tells), pin!(stop)).await;
            // The client may be gone.
            let _ = answers.send(answer);
        });
        Started { answer, progress }
    }

    /// Ends all supervisors, each after its calls, at the same time.
    pub(super) async fn end(&self) {
        let keepers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let end = |turns: Arc<Turns<Option<Keeper>>>| async move {
            if let Some(keeper) = turns.lock().await.take() {
                keeper.leave().await;
            }
        };
        let ends: Vec<_> = keepers
            .into_values()
            .map(|turns| tokio::spawn(end(turns)))
            .collect();
        for end in ends {
            // A panic was reported by its task.
            let _ = end.await;
        }
    }
}

async fn call(
    turns: Arc<Turns<Option<Keeper>>>,
    arguments: Vec<String>,
    task: Vec<u8>,
    (calls, tells): (Arc<Semaphore>, Tells),
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Answer {
    let turn = async {
        let keeper = turns.lock_owned().await;
        (keeper, calls.acquire_owned().await)
    };
    let (mut seat, _permit) = tokio::select! {
        biased;
        () = &mut stop => return Err(not_begun()),
        turn = turn => turn,
    };
    let last = seat.take();
    let running =
        last.and_then(|mut keeper| matches!(keeper.child.try_wait(), Ok(None)).then_some(keeper));
    let mut keeper = running.map_or_else(|| Keeper::new(&arguments), Ok)?;
    match keeper.ask(task, tells, stop).await {
        (Some(line), Then::Stays) => {
            *seat = Some(keeper);
            Ok(line)
        }
        (line, _) => {
            let status = reap(&mut keeper.child).await;
            line.ok_or_else(|| silent(status))
        }
    }
}

/// What a supervisor does after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Stays,
    Ends,
}

impl Keeper {
    fn new(arguments: &[String]) -> Result<Self, Failure> {
        let (child, (stdin, stdout, stderr)) = spawn(arguments)?;
        let tells = Arc::new(Mutex::new(None::<Tells>));
        let current = Arc::clone(&tells);
        tokio::spawn(relay(stderr, move |progress| {
            let current = current.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(tells) = &*current {
                tells.send_replace(Some(progress));
            }
        }));
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            tells,
        })
    }

    /// The envelope of the task, if there is one.
    async fn ask(
        &mut self,
        mut task: Vec<u8>,
        tells: Tells,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> (Option<Vec<u8>>, Then) {
        *self.tells.lock().unwrap_or_else(PoisonError::into_inner) = Some(tells);
        task.push(b'\n');
        let (stdin, stdout, child) = (&mut self.stdin, &mut self.stdout, &mut self.child);
        let exchange = async move {
            let mut line = Vec::new();
            stdin.write_all(&task).await.ok()?;
            stdout.read_until(b'\n', &mut line).await.ok()?;
            line.ends_with(b"\n").then_some(line)
        };
        let mut exchange = pin!(exchange);
        let mut deadline = None;
        let line = loop {
            tokio::select! {
                line = &mut exchange => break line,
                () = &mut stop, if deadline.is_none() => {
                    signal(child, Signal::TERM);
                    deadline = Some(Instant::now() + GRACE);
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    signal(child, Signal::KILL);
                    break exchange.await;
                }
            }
        };
        *self.tells.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let then = if line.is_some() && deadline.is_none() {
            Then::Stays
        } else {
            Then::Ends
        };
        (line, then)
    }

    /// Closes its stdin, and waits for its end.
    async fn leave(self) {
        let Self {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        reap(&mut child).await;
    }
}

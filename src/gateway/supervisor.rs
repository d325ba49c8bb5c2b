//! The process that performs one call: `oneact run`, with the task on its stdin and the envelope on its stdout.

use std::{
    io::{self, Write as _},
    os::fd::OwnedFd,
    pin::{Pin, pin},
    process::{Child, ExitStatus},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, de::IgnoredAny};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::{Semaphore, oneshot, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    host::spawn_self,
    task::{Failure, Fault},
};

use super::order::Order;

/// How long a supervisor may take to end after SIGTERM, before it is killed. A run ends within 10 seconds.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// How often the end of a supervisor is looked for after it has closed its streams.
const LOOK: Duration = Duration::from_millis(2);

/// The progress of the tool of a call (`oneact run --progress jsonl`).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Progress {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

/// A line of the supervisor's stderr, if it is one of `--progress`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Progress(Progress),
    /// The client gets signs of life of its own.
    Heartbeat(IgnoredAny),
}

/// Where the progress of a call goes. Only the newest is kept, because a client may read more slowly than a tool tells.
pub(super) type Tells = watch::Sender<Option<Progress>>;

/// The envelope, or why there is none.
pub(super) type Answer = Result<Vec<u8>, Failure>;

/// A supervisor that was started. Nothing is lost if the receivers are dropped.
pub(super) struct Started {
    pub(super) answer: oneshot::Receiver<Answer>,
    pub(super) progress: watch::Receiver<Option<Progress>>,
}

/// Starts a supervisor when it is its turn: it holds a permit of `calls` until it was reaped. When `stop` is ready, it
/// gets SIGTERM. The calling thread must be the one that lives as long as this process.
pub(super) fn start(
    arguments: &[String],
    order: Order,
    calls: Arc<Semaphore>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Started {
    let arguments = [arguments, &order.flags].concat();
    let (answers, answer) = oneshot::channel();
    let (tells, progress) = watch::channel(None);
    tokio::spawn(async move {
        let mut stop = pin!(stop);
        let permit = tokio::select! {
            biased;
            () = &mut stop => None,
            permit = calls.acquire_owned() => permit.ok(),
        };
        // The client may be gone.
        let Some(_permit) = permit else {
            return drop(answers.send(Err(not_begun())));
        };
        let (mut child, pipes) = match spawn(&arguments) {
            Ok(spawned) => spawned,
            Err(failure) => return drop(answers.send(Err(failure))),
        };
        let unanswered = tend(&mut child, pipes, order.task, answers, tells, stop).await;
        let status = reap(&mut child).await;
        if let Some(answers) = unanswered {
            drop(answers.send(Err(silent(status))));
        }
    });
    Started { answer, progress }
}

/// The failure of a call that was cancelled while it waited for its turn.
pub(super) fn not_begun() -> Failure {
    let message = "the call was cancelled before it began; nothing was performed";
    Failure::new(Fault::Cancelled, message)
}

pub(super) type Pipes = (Sender, Receiver, Receiver);

/// Starts a process of oneact with these arguments.
pub(super) fn spawn(arguments: &[String]) -> Result<(Child, Pipes), Failure> {
    spawn_self(arguments).and_then(piped).map_err(|error| {
        let message = format!("the process of this call could not be started: {error}");
        Failure::new(Fault::ServerUnreachable, message)
    })
}

fn piped(mut child: Child) -> io::Result<(Child, Pipes)> {
    let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
    let stdin: OwnedFd = child.stdin.take().ok_or_else(missing)?.into();
    let stdout: OwnedFd = child.stdout.take().ok_or_else(missing)?.into();
    let stderr: OwnedFd = child.stderr.take().ok_or_else(missing)?.into();
    let pipes = Sender::from_owned_fd(stdin).and_then(|stdin| {
        Ok((
            stdin,
            Receiver::from_owned_fd(stdout)?,
            Receiver::from_owned_fd(stderr)?,
        ))
    });
    // Without its task, the run ends at once.
    pipes.map(|pipes| (child, pipes))
}

/// Hands over the task and the envelope, and ends the supervisor when `stop` is ready. The sender is returned if there
/// was no envelope.
async fn tend(
    child: &mut Child,
    (mut stdin, stdout, stderr): Pipes,
    task: Vec<u8>,
    answers: oneshot::Sender<Answer>,
    tells: Tells,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Option<oneshot::Sender<Answer>> {
    let feed = async move {
        // A run that refuses a task early does not read all of it.
        let _ = stdin.write_all(&task).await;
    };
    let hear = async {
        let (mut lines, mut line) = (BufReader::new(stdout), Vec::new());
        let read = lines.read_until(b'\n', &mut line).await;
        if read.is_ok() && line.ends_with(b"\n") {
            let _ = answers.send(Ok(line));
            return None;
        }
        Some(answers)
    };
    let tell = |progress| drop(tells.send_replace(Some(progress)));
    let streams = async { tokio::join!(feed, hear, relay(stderr, tell)).1 };
    tokio::pin!(streams);
    let mut deadline = None;
    loop {
        tokio::select! {
            answered = &mut streams => return answered,
            () = &mut stop, if deadline.is_none() => {
                signal(child, Signal::TERM);
                deadline = Some(Instant::now() + GRACE);
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                signal(child, Signal::KILL);
                // After its death, the streams end.
                return streams.await;
            }
        }
    }
}

/// Hands on the lines of the supervisor's stderr: progress to the client, anything else to the stderr of this process.
pub(super) async fn relay(stderr: Receiver, tell: impl Fn(Progress)) {
    let (mut lines, mut line) = (BufReader::new(stderr), Vec::new());
    while lines
        .read_until(b'\n', &mut line)
        .await
        .is_ok_and(|read| read > 0)
    {
        match serde_json::from_slice(&line) {
            Ok(Told::Progress(progress)) => tell(progress),
            Ok(Told::Heartbeat(IgnoredAny)) => {}
            // If stderr is gone, nothing can be done.
            Err(_) => {
                let _ = io::stderr().write_all(&line);
            }
        }
        line.clear();
    }
}

/// Waits until the supervisor has ended. None if its status is not known.
pub(super) async fn reap(child: &mut Child) -> Option<ExitStatus> {
    let ended = async |child: &mut Child| {
        loop {
            match child.try_wait() {
                Ok(None) => sleep(LOOK).await,
                Ok(status) => return status,
                // The caller of this process had SIGCHLD ignored, so the kernel has reaped it.
                Err(_) => return None,
            }
        }
    };
    if let Ok(status) = timeout(GRACE, ended(child)).await {
        return status;
    }
    signal(child, Signal::KILL);
    ended(child).await
}

/// Sends a signal to a supervisor that was not reaped.
pub(super) fn signal(child: &mut Child, signal: Signal) {
    if matches!(child.try_wait(), Ok(None)) {
        // It fails only if the process has ended.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

pub(super) fn silent(status: Option<ExitStatus>) -> Failure {
    let how = status.map_or_else(
        || "in an unknown way".to_owned(),
        |status| format!("with {status}"),
    );
    let message = format!(
        "the process of this call ended {how} and gave no answer; the effect is unknown. Call again with the same \
         `_meta[\"oneact/idempotency_key\"]`: a call that must not happen twice is not repeated, and an answer that was \
         recorded is returned"
    );
    Failure::new(Fault::OutcomeUnknown, message)
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        process::{Command, Stdio},
    };

    use super::*;

    #[tokio::test]
    async fn only_the_newest_progress_of_a_call_is_kept_until_it_is_read() {
        let script =
            r#"for i in $(seq 1000); do echo "{\"progress\":{\"done\":$i}}"; done >&2; echo {}"#;
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, pipes) = piped(command.spawn().unwrap()).unwrap();
        let (answers, answer) = oneshot::channel();
        let (tells, mut progress) = watch::channel(None);
        let stop = pin!(pending());
        let unanswered = tend(&mut child, pipes, Vec::new(), answers, tells, stop).await;
        assert!(unanswered.is_none());
        assert_eq!(answer.await.unwrap().unwrap(), b"{}\n");
        let mut read = Vec::new();
        while progress.changed().await.is_ok() {
            read.extend(progress.borrow_and_update().as_ref().map(|seen| seen.done));
        }
        assert_eq!(read, [1000.0]);
        reap(&mut child).await;
    }
}

//! The processes that perform calls, with the task on their stdin and the envelope on their stdout: `oneact run` performs one
//! call, `oneact supervise` all calls of a server that lives as long as the session, one after the other.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    os::fd::OwnedFd,
    pin::{Pin, pin},
    process::{Child, ExitStatus},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, de::IgnoredAny};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::{Mutex as Turns, Semaphore, oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    host::spawn_self,
    task::{Failure, Fault},
};

/// The largest number of calls that are performed at the same time. Others wait for their turn.
const AT_ONCE: u32 = 4;

/// How long a supervisor may take to end after SIGTERM, before it is killed. A run ends within 10 seconds.
const GRACE: Duration = Duration::from_secs(15);

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
enum ProgressLine {
    Progress(Progress),
    /// The client gets signs of life of its own.
    Heartbeat(IgnoredAny),
}

/// Where the progress of a call goes. Only the newest is kept, because a client may read more slowly than a tool tells.
type Tells = watch::Sender<Option<Progress>>;

/// The envelope, or why there is none.
type Envelope = Result<Vec<u8>, Failure>;

/// A call that was begun. Nothing is lost if the receivers are dropped.
pub(super) struct Begun {
    pub(super) answer: oneshot::Receiver<Envelope>,
    pub(super) progress: watch::Receiver<Option<Progress>>,
}

/// The seat of the supervisor that performs all calls of a server.
type Seat = Arc<Turns<Option<Supervisor>>>;

/// All supervisors.
pub(super) struct Supervisors {
    calls: Arc<Semaphore>,
    /// By the names of their servers.
    seats: Mutex<BTreeMap<String, Seat>>,
}

impl Default for Supervisors {
    fn default() -> Self {
        Self {
            calls: Arc::new(Semaphore::new(AT_ONCE as usize)),
            seats: Mutex::default(),
        }
    }
}

impl Supervisors {
    /// Performs a call when it is its turn: by the supervisor of its server, or by one of its own. When `stop` is ready, its
    /// supervisor gets SIGTERM. The calling thread must be the one that lives as long as this process.
    pub(super) fn start(
        &self,
        server: Option<&str>,
        arguments: Vec<String>,
        task: Vec<u8>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Begun {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let seat = server.map(|server| Arc::clone(seats.entry(server.to_owned()).or_default()));
        let (answers, answer) = oneshot::channel();
        let (tells, progress) = watch::channel(None);
        let call = Call {
            after: match seat {
                Some(_) => After::Stay,
                None => After::End,
            },
            seat: seat.unwrap_or_default(),
            calls: Arc::clone(&self.calls),
            arguments,
            task,
        };
        tokio::spawn(async move {
            call.perform(tells, pin!(stop), answers).await;
        });
        Begun { answer, progress }
    }

    /// Ends the supervisors of the servers, each after its calls, and waits for all others.
    pub(super) async fn end(&self) {
        let seats = std::mem::take(&mut *self.seats.lock().unwrap_or_else(PoisonError::into_inner));
        let end = |seat: Seat| async move {
            if let Some(supervisor) = seat.lock().await.take() {
                supervisor.end().await;
            }
        };
        let ends = seats.into_values().map(|seat| tokio::spawn(end(seat)));
        for end in ends.collect::<Vec<_>>() {
            // A panic was reported by its task.
            let _ = end.await;
        }
        // A call holds its permit until its supervisor was reaped.
        drop(self.calls.acquire_many(AT_ONCE).await);
    }
}

/// What a supervisor does after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Stay,
    End,
}

struct Call {
    seat: Seat,
    after: After,
    calls: Arc<Semaphore>,
    arguments: Vec<String>,
    task: Vec<u8>,
}

impl Call {
    async fn perform(
        self,
        tells: Tells,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        answers: oneshot::Sender<Envelope>,
    ) {
        let turn = async {
            (
                self.seat.lock_owned().await,
                self.calls.acquire_owned().await,
            )
        };
        // The client may be gone, so each answer may reach nobody.
        let (mut seat, _permit) = tokio::select! {
            biased;
            () = &mut stop => {
                let message = "the call was cancelled before it began; nothing was performed";
                return drop(answers.send(Err(Failure::new(Fault::Cancelled, message))));
            }
            turn = turn => turn,
        };
        let running = seat.take().and_then(Supervisor::running);
        let mut supervisor = match running.map_or_else(|| spawn(&self.arguments), Ok) {
            Ok(supervisor) => supervisor,
            Err(failure) => return drop(answers.send(Err(failure))),
        };
        let (line, after) = supervisor.ask(self.task, self.after, tells, stop).await;
        let unanswered = match line {
            Some(line) => {
                let _ = answers.send(Ok(line));
                None
            }
            None => Some(answers),
        };
        if after == After::Stay && unanswered.is_none() {
            *seat = Some(supervisor);
            return;
        }
        let status = supervisor.end().await;
        if let Some(answers) = unanswered {
            let _ = answers.send(Err(silent(status)));
        }
    }
}

/// A running process of oneact.
struct Supervisor {
    child: Child,
    stdin: Option<Sender>,
    stdout: BufReader<Receiver>,
    /// Where the progress of the current call goes.
    tells: Arc<Mutex<Option<Tells>>>,
    relay: JoinHandle<()>,
}

/// Starts a process of oneact with these arguments.
fn spawn(arguments: &[String]) -> Result<Supervisor, Failure> {
    spawn_self(arguments)
        .and_then(Supervisor::of)
        .map_err(|error| {
            let message = format!("the process of this call could not be started: {error}");
            Failure::new(Fault::ServerUnreachable, message)
        })
}

impl Supervisor {
    /// If it fails, the process ends at once, because it gets no task.
    fn of(mut child: Child) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let stdin: OwnedFd = child.stdin.take().ok_or_else(missing)?.into();
        let stdout: OwnedFd = child.stdout.take().ok_or_else(missing)?.into();
        let stderr: OwnedFd = child.stderr.take().ok_or_else(missing)?.into();
        let tells = Arc::new(Mutex::new(None));
        let stderr = Receiver::from_owned_fd(stderr)?;
        Ok(Self {
            child,
            stdin: Some(Sender::from_owned_fd(stdin)?),
            stdout: BufReader::new(Receiver::from_owned_fd(stdout)?),
            relay: tokio::spawn(relay(stderr, Arc::clone(&tells))),
            tells,
        })
    }

    fn running(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    /// The envelope of the task, if there is one. A supervisor of one call gets nothing else on its stdin.
    async fn ask(
        &mut self,
        mut task: Vec<u8>,
        after: After,
        tells: Tells,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> (Option<Vec<u8>>, After) {
        let current = Arc::clone(&self.tells);
        let tell = |tells| *current.lock().unwrap_or_else(PoisonError::into_inner) = tells;
        tell(Some(tells));
        let stdin = self.stdin.take();
        let (stdout, child) = (&mut self.stdout, &mut self.child);
        // A run that refuses a task early does not read all of it.
        let feed = async {
            let mut stdin = stdin?;
            if after == After::Stay {
                task.push(b'\n');
            }
            let _ = stdin.write_all(&task).await;
            (after == After::Stay).then_some(stdin)
        };
        let hear = async {
            let mut line = Vec::new();
            let read = stdout.read_until(b'\n', &mut line).await;
            (read.is_ok() && line.ends_with(b"\n")).then_some(line)
        };
        let exchange = async {
            let (mut feed, mut hear, mut fed) = (pin!(feed), pin!(hear), None);
            loop {
                tokio::select! {
                    line = &mut hear => return (line, fed.flatten()),
                    stdin = &mut feed, if fed.is_none() => fed = Some(stdin),
                }
            }
        };
        let mut exchange = pin!(exchange);
        let mut deadline = None;
        let (line, stdin) = loop {
            tokio::select! {
                answered = &mut exchange => break answered,
                () = &mut stop, if deadline.is_none() => {
                    signal(child, Signal::TERM);
                    deadline = Some(Instant::now() + GRACE);
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    signal(child, Signal::KILL);
                    // After its death, the streams end.
                    break exchange.await;
                }
            }
        };
        tell(None);
        self.stdin = stdin;
        let stays = self.stdin.is_some() && deadline.is_none();
        (line, if stays { After::Stay } else { After::End })
    }

    /// Closes its stdin, and waits until it has ended. None if its status is not known.
    async fn end(mut self) -> Option<ExitStatus> {
        drop(self.stdin.take());
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
        let status = if let Ok(status) = timeout(GRACE, ended(&mut self.child)).await {
            status
        } else {
            signal(&mut self.child, Signal::KILL);
            ended(&mut self.child).await
        };
        // A process that it left behind may hold its stderr.
        let _ = timeout(GRACE, self.relay).await;
        status
    }
}

/// Hands on the lines of the supervisor's stderr: progress to the client, anything else to the stderr of this process.
async fn relay(stderr: Receiver, tells: Arc<Mutex<Option<Tells>>>) {
    let (mut lines, mut line) = (BufReader::new(stderr), Vec::new());
    while lines
        .read_until(b'\n', &mut line)
        .await
        .is_ok_and(|read| read > 0)
    {
        match serde_json::from_slice(&line) {
            Ok(ProgressLine::Progress(progress)) => {
                let tells = tells.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(tells) = &*tells {
                    tells.send_replace(Some(progress));
                }
            }
            Ok(ProgressLine::Heartbeat(IgnoredAny)) => {}
            // If stderr is gone, nothing can be done.
            Err(_) => {
                let _ = io::stderr().write_all(&line);
            }
        }
        line.clear();
    }
}

/// Sends a signal to a supervisor that was not reaped.
fn signal(child: &mut Child, signal: Signal) {
    if matches!(child.try_wait(), Ok(None)) {
        // It fails only if the process has ended.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

fn silent(status: Option<ExitStatus>) -> Failure {
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
        let script = r#"for i in $(seq 1000); do echo "{\"progress\":{\"done\":$i}}"; done >&2; sleep 0.2; echo {}"#;
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut supervisor = Supervisor::of(command.spawn().unwrap()).unwrap();
        let (tells, mut progress) = watch::channel(None);
        let stop = pin!(pending());
        let (line, after) = supervisor.ask(Vec::new(), After::End, tells, stop).await;
        assert_eq!(
            (line.unwrap().as_slice(), after),
            (&b"{}\n"[..], After::End)
        );
        supervisor.end().await;
        let mut read = Vec::new();
        while progress.changed().await.is_ok() {
            read.extend(progress.borrow_and_update().as_ref().map(|seen| seen.done));
        }
        assert_eq!(read, [1000.0]);
    }
}

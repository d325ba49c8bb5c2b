//! `--progress`: signs of life and the progress of tools, for a program, as one JSON object in each line.
//!
//! A thread of its own writes them, so that a reader who takes nothing never holds up the run. Once the answer is printed,
//! nothing more is written.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd},
    str::FromStr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
};
use serde_json::json;

use crate::{
    host::{Moment, inherited},
    perform::ToolProgress,
    task::{Activity, visible_json},
};

use super::streams::ready;

/// The time between two signs of life.
const EVERY: Duration = Duration::from_secs(5);

/// The longest line, in bytes. A pipe takes it whole or not at all (`PIPE_BUF`), so that lines never mix.
const LONGEST: usize = 4096;

/// The lines that wait for the reader at most. Further progress is not reported.
const WAITING: usize = 64;

/// How often a writer that waits for its reader looks whether the run ends.
const LOOK: Duration = Duration::from_millis(50);

/// How long the end of the writer is awaited.
const PATIENCE: Duration = Duration::from_secs(1);

/// `jsonl`, or `jsonl:FD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Stderr,
    /// A descriptor that the caller opened.
    Descriptor(RawFd),
}

impl FromStr for Channel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse().ok().filter(|number| *number >= 3);
        match text.split_once(':') {
            None if text == "jsonl" => Ok(Self::Stderr),
            Some(("jsonl", digits)) => number(digits).map(Self::Descriptor).ok_or_else(|| {
                "FD is the number of a descriptor, 3 or higher, that is open for writing".to_owned()
            }),
            _ => Err("give `jsonl` for stderr, or `jsonl:FD`".to_owned()),
        }
    }
}

/// The writer of the lines of one run.
#[derive(Debug)]
pub(super) struct Signs {
    now: Arc<Now>,
    /// None once no more lines are wanted. The receiver fails when the thread has ended.
    thread: Mutex<Option<(SyncSender<String>, Receiver<()>)>>,
}

#[derive(Debug)]
struct Now {
    begun: Moment,
    activity: Mutex<(&'static str, Option<String>)>,
    ends: AtomicBool,
}

impl Now {
    fn heartbeat(&self) -> String {
        let (phase, waiting_for) = locked(&self.activity).clone();
        let elapsed = u64::try_from(self.begun.passed().as_millis()).unwrap_or(u64::MAX);
        line(
            &json!({"heartbeat": {"phase": phase, "waiting_for": waiting_for, "elapsed_ms": elapsed}}),
        )
    }
}

impl Signs {
    /// Writes the first sign of life of a run that began at `begun`. The error says why the channel cannot be used.
    pub(super) fn start(channel: Channel, begun: Moment) -> Result<Self, String> {
        let to = match channel {
            Channel::Stderr => To::Stderr,
            Channel::Descriptor(number) => To::Descriptor(inherited(number)?),
        };
        Self::start_to(to, begun)
    }

    fn start_to(to: To, begun: Moment) -> Result<Self, String> {
        let now = Arc::new(Now {
            begun,
            activity: Mutex::new(told(Activity::Reading)),
            ends: AtomicBool::new(false),
        });
        let (lines, told) = sync_channel(WAITING);
        // The first one, which finds room.
        let _ = lines.try_send(now.heartbeat());
        let (ending, ended) = channel();
        let writer = Writer {
            to,
            now: Arc::clone(&now),
        };
        let thread = thread::Builder::new().name("signs".to_owned());
        let write = move || {
            // It is dropped at the end.
            let _ending = ending;
            writer.write(&told);
        };
        thread
            .spawn(write)
            .map_err(|error| format!("the thread that writes the lines cannot start: {error}"))?;
        Ok(Self {
            now,
            thread: Mutex::new(Some((lines, ended))),
        })
    }

    pub(super) fn begins(&self, activity: Activity<'_>) {
        *locked(&self.now.activity) = told(activity);
    }

    pub(super) fn progress(&self, done: ToolProgress<'_>) {
        if let Some((lines, _)) = &*locked(&self.thread) {
            // If the reader is slow, some progress is skipped.
            let _ = lines.try_send(progress_line(done));
        }
    }

    /// Writes what is known so far, if the reader takes it. Nothing is written after that.
    pub(super) fn end(&self) {
        if let Some((lines, ended)) = locked(&self.thread).take() {
            self.now.ends.store(true, Ordering::Release);
            drop(lines);
            let _ = ended.recv_timeout(PATIENCE);
        }
    }
}

fn told(activity: Activity<'_>) -> (&'static str, Option<String>) {
    (activity.name(), activity.waits_for())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `{"progress": {"tool", "done", "total", "message"}}`, without the message if the line would be too long.
pub(super) fn progress_line(done: ToolProgress<'_>) -> String {
    let ToolProgress {
        tool,
        done,
        total,
        message,
    } = done;
    let line = |message: Option<&str>| {
        line(&json!({"progress": {"tool": tool, "done": done, "total": total, "message": message}}))
    };
    Some(line(message))
        .filter(|line| line.len() <= LONGEST)
        .unwrap_or_else(|| line(None))
}

fn line(value: &serde_json::Value) -> String {
    format!("{}\n", visible_json(&value.to_string()))
}

#[derive(Debug)]
enum To {
    Stderr,
    Descriptor(OwnedFd),
}

impl To {
    fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        // No message of this process comes between.
        let _alone = match self {
            Self::Stderr => Some(io::stderr().lock()),
            Self::Descriptor(_) => None,
        };
        rustix::io::write(self.file(), bytes)
    }

    fn file(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stderr => rustix::stdio::stderr(),
            Self::Descriptor(file) => file.as_fd(),
        }
    }
}

struct Writer {
    to: To,
    now: Arc<Now>,
}

impl Writer {
    /// Writes lines until nobody sends or reads any more.
    fn write(&self, lines: &Receiver<String>) {
        let mut next = EVERY;
        loop {
            let left = next.saturating_sub(self.now.begun.passed());
            let told = match left {
                // Much progress does not displace it.
                Duration::ZERO => Err(RecvTimeoutError::Timeout),
                left => lines.recv_timeout(left),
            };
            let line = match told {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    next = self.now.begun.passed() + EVERY;
                    self.now.heartbeat()
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.put(line.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Writes a line as soon as there is room for it. A line that finds no room before the run ends is left out.
    fn put(&self, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        while !rest.is_empty() {
            let ends = self.now.ends.load(Ordering::Acquire);
            let patience = if ends { Duration::ZERO } else { LOOK };
            let file = self.to.file();
            if !ready(&mut [PollFd::new(&file, PollFlags::OUT)], || Some(patience))? {
                if ends {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                continue;
            }
            match self.to.write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Read as _},
        os::unix::net::UnixStream,
    };

    use serde_json::Value;

    use super::*;
    use crate::host::{Host, Interrupts};

    fn signs(to: impl Into<OwnedFd>) -> Signs {
        let begun = Host::new(None, None, Interrupts::catch()).moment();
        Signs::start_to(To::Descriptor(to.into()), begun).unwrap()
    }

    fn done(message: &str) -> ToolProgress<'_> {
        ToolProgress {
            tool: "t",
            done: 1.0,
            total: None,
            message: Some(message),
        }
    }

    #[test]
    fn the_channel_is_stderr_or_a_descriptor_that_is_no_standard_stream() {
        assert_eq!("jsonl".parse(), Ok(Channel::Stderr));
        assert_eq!("jsonl:3".parse(), Ok(Channel::Descriptor(3)));
        for text in [
            "", "json", "jsonl:", "jsonl:2", "jsonl:-4", "jsonl:x", "JSONL",
        ] {
            assert!(text.parse::<Channel>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_line_is_a_sign_of_life_and_the_end_writes_all_progress() {
        let (reader, writer) = io::pipe().unwrap();
        let signs = signs(writer);
        let mut reader = BufReader::new(reader);
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(first["heartbeat"]["phase"], "reading");
        assert_eq!(first["heartbeat"]["waiting_for"], "the task");
        for _ in 0..10 {
            signs.progress(done("m"));
        }
        signs.end();
        signs.progress(done("too late"));
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, progress_line(done("m")).repeat(10));
    }

    #[test]
    fn a_reader_who_takes_nothing_or_is_gone_does_not_hold_up_the_end() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let stuck = signs(writer);
        let long = "x".repeat(4000);
        for _ in 0..1000 {
            stuck.progress(done(&long));
            thread::yield_now();
        }
        stuck.end();
        drop(stuck);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        let lines = read
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        assert!(
            lines
                .into_iter()
                .all(|line| serde_json::from_str::<Value>(line).is_ok())
        );

        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let gone = signs(writer);
        gone.progress(done("m"));
        gone.end();
    }

    #[test]
    fn a_line_is_never_longer_than_a_pipe_takes_whole() {
        let line = progress_line(done(&"\u{1b}".repeat(2000)));
        assert!(
            line.len() <= LONGEST && line.contains("\"message\":null"),
            "{line}"
        );
    }
}

//! `--progress`: signs of life and the progress of tools, for a program, as one JSON object in each line.
//!
//! A line for which the reader has no room is left out, so that a reader who takes nothing never holds up the run. Once
//! the answer is printed, nothing more is written.

use std::{
    os::fd::{OwnedFd, RawFd},
    str::FromStr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
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

/// `jsonl`, or `jsonl:FD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressChannel {
    Stderr,
    /// A descriptor that the caller opened.
    Descriptor(RawFd),
}

impl FromStr for ProgressChannel {
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

/// The lines of one run.
#[derive(Debug)]
pub(super) struct Signs(Arc<Lines>);

#[derive(Debug)]
struct Lines {
    to: OwnedFd,
    begun: Moment,
    activity: Mutex<(&'static str, Option<String>)>,
    /// Whether lines are still written.
    open: Mutex<bool>,
    closed: Condvar,
}

impl Signs {
    /// Writes the first sign of life of a run that began at `begun`. The error says why the channel cannot be used.
    pub(super) fn start(channel: ProgressChannel, begun: Moment) -> Result<Self, String> {
        let to = match channel {
            ProgressChannel::Stderr => rustix::stdio::stderr().try_clone_to_owned(),
            ProgressChannel::Descriptor(number) => Ok(inherited(number)?),
        };
        let to = to.map_err(|error| format!("stderr cannot be used: {error}"))?;
        Self::start_to(to, begun)
    }

    fn start_to(to: OwnedFd, begun: Moment) -> Result<Self, String> {
        let lines = Arc::new(Lines {
            to,
            begun,
            activity: Mutex::new(told(Activity::Reading)),
            open: Mutex::new(true),
            closed: Condvar::new(),
        });
        lines.write(&mut locked(&lines.open), &lines.heartbeat());
        let beating = Arc::clone(&lines);
        let thread = thread::Builder::new().name("signs".to_owned());
        thread
            .spawn(move || beating.beat())
            .map_err(|error| format!("the thread that writes the lines cannot start: {error}"))?;
        Ok(Self(lines))
    }

    pub(super) fn begins(&self, activity: Activity<'_>) {
        *locked(&self.0.activity) = told(activity);
    }

    pub(super) fn progress(&self, done: ToolProgress<'_>) {
        self.0
            .write(&mut locked(&self.0.open), &progress_line(done));
    }

    /// Nothing is written after that.
    pub(super) fn end(&self) {
        *locked(&self.0.open) = false;
        self.0.closed.notify_all();
    }
}

impl Lines {
    /// Writes signs of life until the end.
    fn beat(&self) {
        let mut open = locked(&self.open);
        while *open {
            let waited = self.closed.wait_timeout(open, EVERY);
            let (still, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            open = still;
            if waited.timed_out() {
                self.write(&mut open, &self.heartbeat());
            }
        }
    }

    fn heartbeat(&self) -> String {
        let (phase, waiting_for) = locked(&self.activity).clone();
        let elapsed = u64::try_from(self.begun.passed().as_millis()).unwrap_or(u64::MAX);
        line(
            &json!({"heartbeat": {"phase": phase, "waiting_for": waiting_for, "elapsed_ms": elapsed}}),
        )
    }

    /// Writes a line if there is room for it now. After a reader who is gone, or who took only a part of it, no line follows.
    fn write(&self, open: &mut bool, line: &str) {
        let mut rest = line.as_bytes();
        while *open && !rest.is_empty() {
            let file = PollFd::new(&self.to, PollFlags::OUT);
            let has_room = ready(&mut [file], || Some(Duration::ZERO));
            match has_room.map(|room| room.then(|| rustix::io::write(&self.to, rest))) {
                Ok(Some(Ok(written))) => rest = rest.get(written..).unwrap_or_default(),
                Ok(Some(Err(Errno::INTR))) => {}
                Ok(None | Some(Err(Errno::AGAIN))) if rest.len() == line.len() => return,
                _ => *open = false,
            }
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

#[cfg(test)]
mod tests {
    use std::{
        io::{self, BufRead as _, BufReader, Read as _},
        os::unix::net::UnixStream,
    };

    use serde_json::Value;

    use super::*;
    use crate::host::{Host, Interrupts};

    fn signs(to: impl Into<OwnedFd>) -> Signs {
        let begun = Host::new(None, None, Interrupts::catch()).moment();
        Signs::start_to(to.into(), begun).unwrap()
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
        assert_eq!("jsonl".parse(), Ok(ProgressChannel::Stderr));
        assert_eq!("jsonl:3".parse(), Ok(ProgressChannel::Descriptor(3)));
        for text in [
            "", "json", "jsonl:", "jsonl:2", "jsonl:-4", "jsonl:x", "JSONL",
        ] {
            assert!(text.parse::<ProgressChannel>().is_err(), "{text}");
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
        drop(signs);
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

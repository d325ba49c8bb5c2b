//! Runs a program until it ends, reaches a limit, or the caller cancels. No process remains.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Limits, size};
use crate::{
    host,
    servers::{
        files::read_block,
        tool::{Run, ToolError},
    },
};

/// The interval at which a running program is checked.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// The interval at which the size of its output is measured, which may be thousands of files.
const MEASURED_EVERY: Duration = Duration::from_millis(500);

/// The bytes of stdout, and of the end of stderr, that are kept. Both are read to their ends, so that the pipes
/// stay open.
const STDOUT_KEPT: usize = 4 << 20;
const STDERR_KEPT: usize = 16 << 10;

/// A longer line of stdout is treated as several lines.
const LINE: u64 = 64 << 10;

pub(super) struct Program<'a> {
    pub(super) name: &'static str,
    pub(super) arguments: &'a [OsString],
    /// The stdin of the program.
    pub(super) input: File,
    /// A file or directory whose size is limited.
    pub(super) output: Option<&'a Path>,
    pub(super) limits: Limits,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) succeeded: bool,
    /// The signal that ended the program.
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Program<'_> {
    /// Runs the program. `report` receives the seconds of output that ffmpeg reports.
    pub(super) fn run(
        self,
        run: &Run<'_>,
        report: &mut dyn FnMut(f64),
    ) -> Result<Ended, ToolError> {
        run.check_cancelled()?;
        let (name, output, limits) = (self.name, self.output, self.limits);
        let (mut running, stdout, stderr) = self.start()?;
        let begun = Instant::now();
        let mut measured = begun;
        let check_size = || match output {
            Some(output) if size(output) > limits.bytes => {
                let most = limits.bytes;
                Err(ToolError::Failed(format!(
                    "{name} was terminated: its output is larger than {most} bytes"
                )))
            }
            _ => Ok(()),
        };
        let mut check = || {
            if begun.elapsed() > limits.time {
                let longest = limits.time;
                return Err(ToolError::Failed(format!(
                    "{name} was terminated: it timed out after {longest:?}"
                )));
            }
            if measured.elapsed() < MEASURED_EVERY {
                return Ok(());
            }
            measured = Instant::now();
            check_size()
        };
        let (send, lines) = mpsc::channel();
        thread::scope(|scope| {
            let tail = scope.spawn(move || tail(stderr));
            scope.spawn(move || {
                let mut stdout = BufReader::new(stdout);
                while let Some(line) = next_line(&mut stdout) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
            let mut text = String::new();
            while !running.has_ended() {
                match lines.recv_timeout(HEARTBEAT) {
                    Ok(line) => take(&line, &mut text, report),
                    Err(RecvTimeoutError::Timeout) => {}
                    // The program has closed its stdout and is about to end.
                    Err(RecvTimeoutError::Disconnected) => thread::sleep(HEARTBEAT / 10),
                }
                let checked = run.check_cancelled().and_then(|()| check());
                if let Err(error) = checked {
                    // The error is more informative than the exit status.
                    drop(running);
                    return Err(error);
                }
            }
            let status = running.end();
            for line in lines {
                take(&line, &mut text, report);
            }
            check_size()?;
            let stderr = tail.join().unwrap_or_default();
            let status = status.map_err(|error| {
                ToolError::Failed(format!("cannot determine how {name} ended: {error}"))
            })?;
            Ok(Ended {
                succeeded: status.success(),
                signal: std::os::unix::process::ExitStatusExt::signal(&status),
                stdout: text,
                stderr,
            })
        })
    }

    fn start(self) -> Result<(Running, ChildStdout, ChildStderr), ToolError> {
        let Self {
            name, arguments, ..
        } = self;
        let mut command = Command::new(name);
        command
            .args(arguments)
            // This variable makes FFmpeg write a log into its working directory.
            .env_remove("FFREPORT")
            .stdin(self.input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        host::die_with_us(&mut command);
        let mut child = command.spawn().map_err(|error| not_started(name, &error))?;
        let pipes = (child.stdout.take(), child.stderr.take());
        // If something fails from here on, `Running` ends the program.
        let running = Running { child };
        match pipes {
            (Some(stdout), Some(stderr)) => Ok((running, stdout, stderr)),
            _ => Err(ToolError::Failed(format!("{name} has no pipes"))),
        }
    }
}

/// Handles one line of stdout: a progress report (`out_time_us=…`), or a line of the answer.
fn take(line: &str, text: &mut String, report: &mut dyn FnMut(f64)) {
    if let Some(time) = line.strip_prefix("out_time_us=") {
        // ffmpeg writes `N/A` before the first packet.
        if let Ok(micros) = time.trim().parse::<u32>() {
            report(f64::from(micros) / 1e6);
        } else if let Ok(long) = time.trim().parse::<f64>() {
            report(long / 1e6);
        }
        return;
    }
    if text.len() + line.len() < STDOUT_KEPT {
        text.push_str(line);
        text.push('\n');
    }
}

/// The next line of a stream without its line feed.
fn next_line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    match stream.take(LINE).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
    }
}

fn tail(mut stream: impl Read) -> String {
    let (mut kept, mut block) = (Vec::new(), [0; 4096]);
    loop {
        match read_block(&mut stream, &mut block) {
            Ok(0) | Err(_) => break,
            Ok(n) => kept.extend_from_slice(block.get(..n).unwrap_or_default()),
        }
        let spent = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..spent);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn not_started(name: &str, error: &io::Error) -> ToolError {
    ToolError::Failed(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the program {name} is not on the PATH; install FFmpeg (Debian: apt-get install ffmpeg)"
        ),
        _ => format!("cannot start the program {name}: {error}"),
    })
}

/// A running program. Dropping it ends the program and its process group.
struct Running {
    child: Child,
}

impl Running {
    fn has_ended(&self) -> bool {
        !matches!(host::end_of(self.pid()), Ok(None))
    }

    /// Kills the process group and reaps the program. Its output is temporary, so it need not end gracefully.
    fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        // This fails only if the group is empty.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.child.wait()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After reaping, the id may belong to another process.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_and_not_kept_and_other_text_is_kept_up_to_a_limit() {
        let line = "x".repeat(1000);
        let stdout =
            format!("frame=1\nout_time_us=2500000\nout_time_us=N/A\n{line}\n").repeat(10_000);
        let mut stream = stdout.as_bytes();
        let (mut text, mut reports) = (String::new(), Vec::new());
        while let Some(line) = next_line(&mut stream) {
            take(&line, &mut text, &mut |seconds| reports.push(seconds));
        }
        assert!(text.starts_with(&format!("frame=1\n{line}\nframe=1\n")));
        assert!(text.len() <= STDOUT_KEPT && text.len() > STDOUT_KEPT / 2);
        assert_eq!(reports, vec![2.5; 10_000]);
    }

    #[test]
    fn a_stream_without_lines_is_read_in_parts() {
        let long = vec![b'x'; 100_000];
        let mut stream = long.as_slice();
        let parts: Vec<usize> = std::iter::from_fn(|| next_line(&mut stream))
            .map(|part| part.len())
            .collect();
        assert_eq!(parts, [65_536, 34_464]);
    }
}

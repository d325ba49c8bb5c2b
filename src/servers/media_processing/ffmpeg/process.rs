//! Runs `ffmpeg` or `ffprobe` until it ends, reaches a limit, or the caller cancels. No process remains.
//!
//! The programs read the input from their stdin, as `file:/proc/self/fd/0`, so its name cannot be taken for an
//! option, a protocol or a pattern. They may read only local files, and only with the demuxers of [`opening`].
//! Playlists are excluded, because they refer to other files.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::{
        fs::FileExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    host,
    servers::{
        files::open_regular,
        tool::{Run, ToolError},
    },
    task::Format,
};

pub(in super::super) const PROGRAMS: &[&str] = &[FFMPEG, FFPROBE];
pub(super) const FFMPEG: &str = "ffmpeg";
pub(super) const FFPROBE: &str = "ffprobe";

/// The allowed demuxers besides those of [`Format::media`]: none of their containers refers to other files.
pub(super) const DEMUXERS: &str = "avi,mpegts,mpeg,flv,asf,mxf,ivf,dv,gif,aac";

/// The name of the input for the programs.
pub(super) const INPUT: &str = "file:/proc/self/fd/0";

/// The interval at which a running program is checked.
const HEARTBEAT: Duration = Duration::from_millis(10);

/// The interval at which the size of its output is measured, which may be thousands of files.
const MEASURED_EVERY: Duration = Duration::from_millis(500);

/// The bytes of stdout, and of the end of stderr, that are kept.
const STDOUT_KEPT: u64 = 4 << 20;
const STDERR_KEPT: u64 = 16 << 10;

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Limits {
    /// The time limit of each program.
    pub(in super::super) time: Duration,
    /// The limit of the output in bytes, with the messages of the program.
    pub(in super::super) bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_hours(6),
            bytes: 16 << 30,
        }
    }
}

pub(super) struct Program<'a> {
    pub(super) name: &'static str,
    pub(super) arguments: &'a [OsString],
    /// The stdin of the program.
    pub(super) input: &'a Path,
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
        &self,
        run: &Run<'_>,
        report: &mut dyn FnMut(f64),
    ) -> Result<Ended, ToolError> {
        run.check_cancelled()?;
        let failed = |error| ToolError::Failed(format!("cannot run {}: {error}", self.name));
        let (mut stdout, mut stderr) = files().map_err(failed)?;
        let mut running = self.start(&stdout, &stderr)?;
        let (begun, mut measured, mut told) = (Instant::now(), Instant::now(), 0);
        while !running.has_ended() {
            thread::sleep(HEARTBEAT);
            run.check_cancelled()?;
            let longest = self.limits.time;
            if begun.elapsed() > longest {
                return Err(self.terminated(&format!("it timed out after {longest:?}")));
            }
            if let Some(seconds) = progress(&stdout, &mut told) {
                report(seconds);
            }
            if measured.elapsed() > MEASURED_EVERY {
                measured = Instant::now();
                self.check_size(&stderr)?;
            }
        }
        let status = running.end().map_err(failed)?;
        self.check_size(&stderr)?;
        stdout.rewind().map_err(failed)?;
        let end = size(&stderr).saturating_sub(STDERR_KEPT);
        stderr.seek(SeekFrom::Start(end)).map_err(failed)?;
        Ok(Ended {
            succeeded: status.success(),
            signal: status.signal(),
            stdout: text(&mut stdout.take(STDOUT_KEPT)).map_err(failed)?,
            stderr: text(&mut stderr).map_err(failed)?,
        })
    }

    fn start(&self, stdout: &File, stderr: &File) -> Result<Running, ToolError> {
        let mut command = Command::new(self.name);
        let not_started = |error: io::Error| {
            let name = self.name;
            ToolError::Failed(match error.kind() {
                io::ErrorKind::NotFound => format!(
                    "the program {name} is not on the PATH; install FFmpeg (Debian: apt-get install ffmpeg)"
                ),
                _ => format!("cannot start the program {name}: {error}"),
            })
        };
        command
            .args(self.arguments)
            // This variable makes FFmpeg write a log into its working directory.
            .env_remove("FFREPORT")
            .stdin(open_regular("input_uri", self.input)?)
            .stdout(stdout.try_clone().map_err(not_started)?)
            .stderr(stderr.try_clone().map_err(not_started)?)
            .process_group(0);
        host::die_with_us(&mut command);
        Ok(Running(command.spawn().map_err(not_started)?))
    }

    fn check_size(&self, stderr: &File) -> Result<(), ToolError> {
        let output = self.output.map_or(0, size_of_all);
        let most = self.limits.bytes;
        if output.saturating_add(size(stderr)) > most {
            return Err(self.terminated(&format!("its output is larger than {most} bytes")));
        }
        Ok(())
    }

    fn terminated(&self, why: &str) -> ToolError {
        ToolError::Failed(format!("{} was terminated: {why}", self.name))
    }
}

/// Files for stdout and stderr. They have no names.
fn files() -> io::Result<(File, File)> {
    Ok((tempfile::tempfile()?, tempfile::tempfile()?))
}

fn text(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn size(file: &File) -> u64 {
    file.metadata().map_or(0, |about| about.len())
}

/// The size of a file, or of all files of a directory, in bytes.
fn size_of_all(path: &Path) -> u64 {
    let bytes = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes(&entry.path())).sum(),
        Err(_) => bytes(path),
    }
}

/// The last progress report (`out_time_us=…`) on stdout behind the byte `told`, in seconds.
fn progress(stdout: &File, told: &mut u64) -> Option<f64> {
    let mut block = [0; 4096];
    let read = stdout.read_at(&mut block, *told).ok()?;
    let text = String::from_utf8_lossy(block.get(..read)?);
    let whole = text.rfind('\n')? + 1;
    *told += whole as u64;
    // ffmpeg writes `N/A` before the first packet.
    let reports = text.get(..whole)?.lines().rev();
    let mut micros =
        reports.filter_map(|line| line.strip_prefix("out_time_us=")?.parse::<f64>().ok());
    Some(micros.next()? / 1e6)
}

/// These arguments and those by which both programs open the input. FFmpeg finds the demuxers of [`Format::media`] by
/// the names of the formats.
pub(super) fn opening(arguments: &str) -> Vec<OsString> {
    let names = |names: String, format: Format| names + "," + format.name();
    let demuxers = Format::media().fold(DEMUXERS.to_owned(), names);
    words(&format!(
        "{arguments} -hide_banner -v error -protocol_whitelist file -format_whitelist {demuxers} -i {INPUT}"
    ))
}

/// The URL of a local file for FFmpeg. With this prefix, no name has another meaning.
pub(in super::super) fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// The arguments of a command line in which no argument contains a space.
pub(in super::super) fn words(line: &str) -> Vec<OsString> {
    line.split_ascii_whitespace().map(OsString::from).collect()
}

/// A running program. Dropping it ends the program and its process group.
struct Running(Child);

impl Running {
    fn has_ended(&self) -> bool {
        !matches!(host::end_of(self.pid()), Ok(None))
    }

    /// Kills the process group and reaps the program. Its output is temporary, so it need not end gracefully.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // This fails only if the group is empty.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.0.wait()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After reaping, the id may belong to another process.
        if let Ok(None) = self.0.try_wait() {
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_last_whole_report_of_progress_is_told_once() {
        let mut stdout = tempfile::tempfile().expect("a file");
        let mut told = 0;
        for (more, expected) in [
            ("frame=1\nout_time_us=N/A\n", None),
            (
                "out_time_us=1500000\nout_time_us=2500000\nout_time",
                Some(2.5),
            ),
            ("_us=3000000\n", Some(3.0)),
            ("", None),
        ] {
            stdout.write_all(more.as_bytes()).expect("written");
            assert_eq!(progress(&stdout, &mut told), expected, "{more}");
        }
    }
}

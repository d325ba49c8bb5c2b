//! `ffmpeg` and `ffprobe`, as the tools here use them: one opened input file, one output, words for
//! every way it can go wrong.
//!
//! The input is never named. It is opened here and handed over as the program's stdin, read as
//! `file:/proc/self/fd/0`: no name can be taken for an option, a protocol or a pattern. Only local
//! files may be read, and only by the demuxers of [`DEMUXERS`]: playlists, which name other files,
//! are not among them.

mod film;
mod process;
mod words;

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use process::{Ended, Program};
use words::{Cause, cause, damage};

pub(super) use film::Film;

use crate::servers::{
    files::open_regular,
    tool::{Run, ToolError},
};

/// The programs that are started.
pub(super) const PROGRAMS: &[&str] = &[FFMPEG, FFPROBE];
const FFMPEG: &str = "ffmpeg";
const FFPROBE: &str = "ffprobe";

/// What may be read, by FFmpeg's names: containers of video that hold all they need themselves.
const DEMUXERS: &str = "mov,matroska,avi,mpegts,mpeg,flv,asf,ogg,mxf,ivf,dv,gif,wav,mp3,flac,aac";
/// The same, for people.
const FORMATS: &str =
    "MP4, MOV, MKV, WebM, AVI, MPEG, FLV, ASF, OGG, MXF, IVF, DV, GIF and plain audio";

/// The input, as the programs know it.
const INPUT: &str = "file:/proc/self/fd/0";

/// How far the work on one file may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For each program that is run.
    pub(super) time: Duration,
    /// All that is written.
    pub(super) bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_hours(6),
            bytes: 16 << 30,
        }
    }
}

/// A media file that has been opened and looked into.
pub(super) struct Input<'a> {
    path: PathBuf,
    pub(super) film: Film,
    pub(super) limits: Limits,
    run: &'a Run<'a>,
}

impl<'a> Input<'a> {
    /// Opens the file of `input_uri`, and asks what is in it.
    pub(super) fn open(path: &Path, limits: Limits, run: &'a Run<'a>) -> Result<Self, ToolError> {
        let film = Film::look(path, limits, run)?;
        Ok(Self {
            path: path.to_owned(),
            film,
            limits,
            run,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes `output` of the input: a file, or a directory that is filled. `arguments` stand between
    /// the input and the output's name.
    pub(super) fn make(&self, arguments: &[OsString], output: Output<'_>) -> Result<(), ToolError> {
        let mut words = reading();
        words.extend(arguments.iter().cloned());
        words.push(url(&output.target()));
        let mut report = |seconds| {
            let total = self.film.duration.map(|total| total.max(seconds));
            self.run.progress(seconds, total, "seconds of video");
        };
        let ended = Program {
            name: FFMPEG,
            arguments: &words,
            input: self.opened()?,
            output: Some(output.root()),
            limits: self.limits,
        }
        .run(self.run, &mut report)?;
        if !ended.succeeded {
            return Err(self.failure(&ended));
        }
        match damage(&ended.stderr) {
            Some(line) => Err(self.corrupt(&line)),
            None => Ok(()),
        }
    }

    /// Says why ffmpeg failed. Where its words do not tell, the input is read once more without
    /// making anything of it: what cannot be read is damaged.
    fn failure(&self, ended: &Ended) -> ToolError {
        let line = match cause(FFMPEG, ended) {
            Cause::Known(error) => return error,
            Cause::Input(line) => return self.corrupt(&line),
            Cause::Unclear(line) => line,
        };
        let mut words = reading();
        words.extend(["-map", "0:V:0?", "-map", "0:a?", "-f", "null", "-"].map(OsString::from));
        let read = self.opened().and_then(|input| {
            Program {
                name: FFMPEG,
                arguments: &words,
                input,
                output: None,
                limits: self.limits,
            }
            .run(self.run, &mut |_| {})
        });
        match read {
            Err(error) => error,
            Ok(read) if read.succeeded => ToolError::Failed(format!("ffmpeg failed: {line}")),
            Ok(_) => self.corrupt(&line),
        }
    }

    fn corrupt(&self, line: &str) -> ToolError {
        corrupt(&self.path, line)
    }

    fn opened(&self) -> Result<File, ToolError> {
        open_regular("input_uri", &self.path)
    }
}

/// What is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output<'a> {
    /// One file, which is there already and empty.
    File(&'a Path),
    /// Files of this directory, by a pattern of FFmpeg's.
    Series(&'a Path, &'a str),
}

impl Output<'_> {
    fn target(&self) -> PathBuf {
        match self {
            Self::File(path) => (*path).to_owned(),
            // A percent sign of the directory's is none of the pattern's.
            Self::Series(directory, pattern) => {
                let directory = directory.to_string_lossy().replace('%', "%%");
                Path::new(&directory).join(pattern)
            }
        }
    }

    /// Where all that is written can be measured.
    fn root(&self) -> &Path {
        match self {
            Self::File(path) | Self::Series(path, _) => path,
        }
    }
}

/// What every use of ffmpeg begins with. A damaged packet or frame ends it.
fn reading() -> Vec<OsString> {
    let words = [
        "-hide_banner",
        "-nostdin",
        "-nostats",
        "-v",
        "error",
        "-y",
        "-xerror",
        "-progress",
        "pipe:1",
        "-protocol_whitelist",
        "file",
        "-format_whitelist",
        DEMUXERS,
        "-i",
        INPUT,
    ];
    words.map(OsString::from).to_vec()
}

/// A local file as FFmpeg names it: whatever it is called, it is a file.
pub(super) fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// Arguments, of whatever kind of text.
pub(super) fn words<T: AsRef<OsStr>>(texts: impl IntoIterator<Item = T>) -> Vec<OsString> {
    let texts = texts.into_iter();
    texts.map(|text| text.as_ref().to_owned()).collect()
}

fn corrupt(path: &Path, line: &str) -> ToolError {
    ToolError::Corrupt(format!("{}: {line}", path.display()))
}

/// Bytes of a file, or of all files of a directory.
fn size(path: &Path) -> u64 {
    let bytes = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes(&entry.path())).sum(),
        Err(_) => bytes(path),
    }
}

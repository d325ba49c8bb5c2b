//! A media file that ffmpeg reads, and what it makes of it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    film::Film,
    process::{Ended, FFMPEG, Limits, Program, opening, url, words},
    reason::{corrupt, damage, unclear},
};
use crate::servers::{
    media_processing::{edits::edits, whole::check_whole},
    tool::{Run, ToolError},
};

/// A media file and what ffprobe found in it.
pub(in super::super) struct Input<'a> {
    pub(in super::super) path: PathBuf,
    pub(in super::super) film: Film,
    pub(in super::super) limits: Limits,
    run: &'a Run<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Output<'a> {
    /// One file, which exists and is empty.
    File(&'a Path),
    /// Files of this directory, named by a pattern of FFmpeg.
    Series(&'a Path, &'a str),
}

impl<'a> Input<'a> {
    /// Examines the file with ffprobe, and checks its container.
    pub(in super::super) fn open(
        path: &Path,
        limits: Limits,
        run: &'a Run<'a>,
    ) -> Result<Self, ToolError> {
        let format = check_whole(path, run)?;
        let mut film = Film::look(path, limits, run)?;
        let edits = edits(path, format)?;
        film.is_cut |= edits.iter().any(|edits| edits.hides_end);
        Ok(Self {
            path: path.to_owned(),
            film,
            limits,
            run,
        })
    }

    /// The error of an input without the required tracks.
    pub(in super::super) fn lacks(&self, what: &str) -> ToolError {
        let path = self.path.display();
        ToolError::argument("input_uri", format!("{path} has no {what}"))
    }

    /// Makes `output`, a file or the files of a directory. `arguments` are placed between the input and the
    /// output.
    pub(in super::super) fn make(
        &self,
        arguments: &[OsString],
        output: Output<'_>,
    ) -> Result<(), ToolError> {
        let mut words = reading();
        words.extend(arguments.iter().cloned());
        words.push(output.url());
        let mut report = |seconds| {
            let total = self.film.duration.map(|total| total.max(seconds));
            self.run.progress(seconds, total, "seconds of video");
        };
        let ended = self.ffmpeg(&words, Some(output.root()), &mut report)?;
        if !ended.succeeded {
            return Err(self.failure(&ended));
        }
        match damage(&ended.stderr) {
            Some(line) => Err(corrupt(&self.path, &line)),
            None => Ok(()),
        }
    }

    /// The reason why ffmpeg failed. If its messages do not tell, the input is read again without any output. If
    /// that fails, too, the input is damaged.
    fn failure(&self, ended: &Ended) -> ToolError {
        let line = match unclear(FFMPEG, &self.path, ended) {
            Ok(line) => line,
            Err(error) => return error,
        };
        let mut arguments = reading();
        arguments.extend(words("-map 0:V:0? -map 0:a? -f null -"));
        match self.ffmpeg(&arguments, None, &mut |_| {}) {
            Err(error) => error,
            Ok(read) if read.succeeded => ToolError::Failed(format!("ffmpeg failed: {line}")),
            Ok(_) => corrupt(&self.path, &line),
        }
    }

    fn ffmpeg(
        &self,
        arguments: &[OsString],
        output: Option<&Path>,
        report: &mut dyn FnMut(f64),
    ) -> Result<Ended, ToolError> {
        let program = Program {
            name: FFMPEG,
            arguments,
            input: &self.path,
            output,
            limits: self.limits,
        };
        program.run(self.run, report)
    }
}

impl Output<'_> {
    fn url(&self) -> OsString {
        match self {
            Self::File(path) => url(path),
            // A percent sign in the directory is not part of the pattern.
            Self::Series(directory, pattern) => {
                let directory = directory.to_string_lossy().replace('%', "%%");
                url(&Path::new(&directory).join(pattern))
            }
        }
    }

    /// The file or directory whose size is limited.
    fn root(&self) -> &Path {
        match self {
            Self::File(path) | Self::Series(path, _) => path,
        }
    }
}

/// The first arguments of ffmpeg. It stops at a damaged packet or frame.
fn reading() -> Vec<OsString> {
    opening("-nostdin -nostats -y -xerror -progress pipe:1")
}

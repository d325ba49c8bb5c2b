//! `ffmpeg` and `ffprobe`, as the tools here use them: one opened input file, one output, words for
//! every way it can go wrong. FFmpeg's messages come on stderr, line by line, with memory addresses in them.
//!
//! The input is never named. It is opened here and handed over as the program's stdin, read as
//! `file:/proc/self/fd/0`: no name can be taken for an option, a protocol or a pattern. Only local
//! files may be read, and only by the demuxers of [`DEMUXERS`]: playlists, which name other files,
//! are not among them.

mod film;
mod process;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use process::{Ended, Program};

pub(super) use film::Film;

use crate::servers::{
    files::open_regular,
    tool::{Run, ToolError},
};

pub(super) const PROGRAMS: &[&str] = &[FFMPEG, FFPROBE];
const FFMPEG: &str = "ffmpeg";
const FFPROBE: &str = "ffprobe";

/// The demuxers that may be used: those of containers that refer to no other file.
const DEMUXERS: &str = "mov,matroska,avi,mpegts,mpeg,flv,asf,ogg,mxf,ivf,dv,gif,wav,mp3,flac,aac";
/// The same formats, for messages.
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
    pub(super) path: PathBuf,
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

    /// Makes `output` of the input: a file, or a directory that is filled. `arguments` stand between
    /// the input and the output's name.
    pub(super) fn make(&self, arguments: &[OsString], output: Output<'_>) -> Result<(), ToolError> {
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

    /// Says why ffmpeg failed. Where its words do not tell, the input is read once more without
    /// making anything of it: what cannot be read is damaged.
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
            input: open_regular("input_uri", &self.path)?,
            output,
            limits: self.limits,
        };
        program.run(self.run, report)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Output<'a> {
    /// One file, which is there already and empty.
    File(&'a Path),
    /// Files of this directory, by a pattern of FFmpeg's.
    Series(&'a Path, &'a str),
}

impl Output<'_> {
    fn url(&self) -> OsString {
        match self {
            Self::File(path) => url(path),
            // A percent sign of the directory's is none of the pattern's.
            Self::Series(directory, pattern) => {
                let directory = directory.to_string_lossy().replace('%', "%%");
                url(&Path::new(&directory).join(pattern))
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
    words(&format!(
        "-hide_banner -nostdin -nostats -v error -y -xerror -progress pipe:1 -protocol_whitelist file \
         -format_whitelist {DEMUXERS} -i {INPUT}"
    ))
}

/// A local file as FFmpeg names it: whatever it is called, it is a file.
pub(super) fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// The arguments of a command line, none of which has a space in it.
pub(super) fn words(line: &str) -> Vec<OsString> {
    line.split_ascii_whitespace().map(OsString::from).collect()
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

/// Of a line of stderr, the characters that are shown, at most.
const SHOWN: usize = 300;

/// Texts of an input that is damaged, in whatever way the program ended: it goes on where it can.
const DAMAGE: &[&str] = &[
    "ended prematurely",
    "partial file",
    "corrupt",
    "truncat",
    "moov atom not found",
    "invalid data found when processing input",
    "error while decoding",
];

/// Lines that only say that it failed.
const EMPTY: &[&str] = &[
    "conversion failed",
    "invalid argument",
    "error while processing the decoded data",
    "error opening output file",
    "nothing was written into output file",
];

/// What the end of a program that failed means: an error, or a line of its own if it is not clear whether the input
/// is damaged.
fn unclear(program: &str, path: &Path, ended: &Ended) -> Result<String, ToolError> {
    let failed = |text: String| Err(ToolError::Failed(text));
    if let Some(signal) = ended.signal {
        let hint = match signal {
            9 => ": the machine may be out of memory",
            _ => "",
        };
        return failed(format!("{program} was ended by signal {signal}{hint}"));
    }
    let lines: Vec<String> = lines(&ended.stderr).collect();
    let with = |text: &str| lines.iter().find(|line| line.to_lowercase().contains(text));
    if let Some(line) = with("no space left") {
        return failed(format!("{program} cannot write: {line}"));
    }
    if with("cannot allocate memory").is_some() {
        return failed(format!("{program} ran out of memory"));
    }
    if let Some(line) = with("unknown encoder").or_else(|| with("unrecognized option")) {
        return failed(format!(
            "this {program} lacks what is needed ({line}); install a complete FFmpeg"
        ));
    }
    let is_empty = |line: &str| EMPTY.iter().any(|text| line.to_lowercase().contains(text));
    let telling = lines.iter().find(|line| !is_empty(line)).or(lines.first());
    let telling = telling.map_or("it does not say why", String::as_str);
    match damage(&ended.stderr) {
        Some(line) => Err(corrupt(path, &line)),
        None => Ok(telling.to_owned()),
    }
}

/// The first line that tells of a damaged input.
fn damage(stderr: &str) -> Option<String> {
    let tells = |line: &String| {
        let line = line.to_lowercase();
        DAMAGE.iter().any(|text| line.contains(text))
    };
    lines(stderr).find(tells)
}

/// The lines that say something, without the part of the program that says it and without the
/// input's name.
fn lines(stderr: &str) -> impl Iterator<Item = String> {
    let said = |line: &str| {
        let line = line.trim();
        let line = match line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        {
            Some((_, rest)) => rest,
            None => line,
        };
        let line = line.strip_prefix(INPUT).unwrap_or(line);
        let line = line.trim_start_matches([':', ' ']);
        line.chars().take(SHOWN).collect::<String>()
    };
    stderr.lines().map(said).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stderr: &str) -> Ended {
        Ended {
            succeeded: false,
            signal: None,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn addresses_and_the_inputs_name_are_left_out() {
        let said = "[mov,mp4 @ 0x56] moov atom not found\nfile:/proc/self/fd/0: Invalid data found when processing input\n";
        assert_eq!(
            lines(said).collect::<Vec<_>>(),
            [
                "moov atom not found",
                "Invalid data found when processing input"
            ]
        );
        assert_eq!(damage(said).as_deref(), Some("moov atom not found"));
    }

    #[test]
    fn a_full_disk_and_a_missing_encoder_are_not_the_inputs_fault() {
        for (said, shown) in [
            (
                "Error writing trailer of file:/x: No space left on device",
                "No space left on device",
            ),
            ("Unknown encoder 'libx265'", "install a complete FFmpeg"),
            ("x: Cannot allocate memory", "out of memory"),
        ] {
            let error = unclear("ffmpeg", Path::new("/x"), &ended(said)).expect_err(said);
            assert!(error.to_string().contains(shown), "{error}");
        }
    }

    #[test]
    fn the_line_that_tells_most_is_shown() {
        let said = "[aac @ 0x1] Number of bands (43) exceeds limit (35).\nConversion failed!";
        let line = unclear("ffmpeg", Path::new("/x"), &ended(said));
        let line = line.expect("nobody knows whose fault it is");
        assert_eq!(line, "Number of bands (43) exceeds limit (35).");
    }
}

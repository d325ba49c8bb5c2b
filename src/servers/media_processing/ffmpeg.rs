//! Runs `ffmpeg` and `ffprobe` with one opened input file and one output, reads what `ffprobe` finds, and translates
//! their errors.
//!
//! The programs read the input from their stdin, as `file:/proc/self/fd/0`, so its name cannot be taken for an
//! option, a protocol or a pattern. They may read only local files, and only with the demuxers of [`opening`].
//! Playlists are excluded, because they refer to other files.

mod process;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use process::{Ended, Program};
use serde::Serialize;
use serde_json::Value;

use super::container::{check_whole, hides_part};
use crate::{
    servers::{
        files::open_regular,
        tool::{Run, ToolError},
    },
    task::Format,
};

pub(super) const PROGRAMS: &[&str] = &[FFMPEG, FFPROBE];
const FFMPEG: &str = "ffmpeg";
const FFPROBE: &str = "ffprobe";

/// The allowed demuxers besides those of [`Format::media`]: none of their containers refers to other files.
const DEMUXERS: &str = "avi,mpegts,mpeg,flv,asf,mxf,ivf,dv,gif,aac";

/// The name of the input for the programs.
const INPUT: &str = "file:/proc/self/fd/0";

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The time limit of each program.
    pub(super) time: Duration,
    /// The limit of the output in bytes.
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

/// A media file and what ffprobe found in it.
pub(super) struct Input<'a> {
    pub(super) path: PathBuf,
    pub(super) film: Film,
    pub(super) limits: Limits,
    run: &'a Run<'a>,
}

impl<'a> Input<'a> {
    /// Examines the file with ffprobe, and checks its container.
    pub(super) fn open(path: &Path, limits: Limits, run: &'a Run<'a>) -> Result<Self, ToolError> {
        let mut film = Film::look(path, limits, run)?;
        check_whole(open_regular("input_uri", path)?, path, run)?;
        film.is_cut |= hides_part(open_regular("input_uri", path)?, path)?;
        Ok(Self {
            path: path.to_owned(),
            film,
            limits,
            run,
        })
    }

    /// Makes `output`, a file or the files of a directory. `arguments` are placed between the input and the
    /// output.
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
            input: open_regular("input_uri", &self.path)?,
            output,
            limits: self.limits,
        };
        program.run(self.run, report)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Output<'a> {
    /// One file, which exists and is empty.
    File(&'a Path),
    /// Files of this directory, named by a pattern of FFmpeg.
    Series(&'a Path, &'a str),
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

/// These arguments and those by which both programs open the input. FFmpeg finds the demuxers of [`Format::media`] by
/// the names of the formats.
fn opening(arguments: &str) -> Vec<OsString> {
    let names = |names: String, format: Format| names + "," + format.name();
    let demuxers = Format::media().fold(DEMUXERS.to_owned(), names);
    words(&format!(
        "{arguments} -hide_banner -v error -protocol_whitelist file -format_whitelist {demuxers} -i {INPUT}"
    ))
}

/// The URL of a local file for FFmpeg. With this prefix, no name has another meaning.
pub(super) fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// The arguments of a command line in which no argument contains a space.
pub(super) fn words(line: &str) -> Vec<OsString> {
    line.split_ascii_whitespace().map(OsString::from).collect()
}

fn corrupt(path: &Path, line: &str) -> ToolError {
    ToolError::Corrupt(format!("{}: {line}", path.display()))
}

/// The size of a file, or of all files of a directory, in bytes.
fn size(path: &Path) -> u64 {
    let bytes = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes(&entry.path())).sum(),
        Err(_) => bytes(path),
    }
}

/// The longest part of a line of stderr that is shown, in characters.
const SHOWN: usize = 300;

/// Texts that report a damaged input. ffmpeg may report damage and still succeed.
const DAMAGE: &[&str] = &[
    "ended prematurely",
    "partial file",
    "corrupt",
    "truncat",
    "moov atom not found",
    "invalid data found when processing input",
    "error while decoding",
    // Of FLV, of ASF and of GIF.
    "packet mismatch",
    "packet_obj_size",
    "invalid block label",
];

/// Texts that only report that ffmpeg failed.
const EMPTY: &[&str] = &[
    "conversion failed",
    "invalid argument",
    "error while processing the decoded data",
    "error opening output file",
    "nothing was written into output file",
];

/// Translates the failure of a program to an error. If it is not clear whether the input is damaged, the result is
/// the line of stderr that explains most.
fn unclear(program: &str, path: &Path, ended: &Ended) -> Result<String, ToolError> {
    let failed = |text: String| Err(ToolError::Failed(text));
    if let Some(signal) = ended.signal {
        let hint = match signal {
            9 => ": the machine may be out of memory",
            _ => "",
        };
        return failed(format!("{program} was terminated by signal {signal}{hint}"));
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
            "this {program} lacks a required part ({line}); install a complete FFmpeg"
        ));
    }
    let is_empty = |line: &str| EMPTY.iter().any(|text| line.to_lowercase().contains(text));
    let telling = lines.iter().find(|line| !is_empty(line)).or(lines.first());
    let telling = telling.map_or("it does not state a reason", String::as_str);
    match damage(&ended.stderr) {
        Some(line) => Err(corrupt(path, &line)),
        None => Ok(telling.to_owned()),
    }
}

/// The first line that reports a damaged input.
fn damage(stderr: &str) -> Option<String> {
    let tells = |line: &String| {
        let line = line.to_lowercase();
        DAMAGE.iter().any(|text| line.contains(text))
    };
    lines(stderr).find(tells)
}

/// The lines of stderr without the name of the component and without the name of the input.
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

/// The facts about a media file that `ffprobe` finds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Film {
    /// The duration in seconds, if it is known.
    pub(super) duration: Option<f64>,
    /// The first video track that is not a cover picture.
    pub(super) video: Option<Video>,
    /// FFmpeg's name of the codec of each audio track.
    pub(super) audio: Vec<String>,
    /// Whether the video is shown turned.
    pub(super) is_turned: bool,
    /// Whether an edit list hides a part of a track.
    pub(super) is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Video {
    /// FFmpeg's name of the codec.
    pub(super) codec: String,
    /// Pixels before rotation.
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Film {
    fn look(path: &Path, limits: Limits, run: &Run<'_>) -> Result<Self, ToolError> {
        let arguments = opening(
            "-of json -read_intervals %+#64 -show_entries \
             packet=stream_index,flags:format=duration:stream=index,codec_type,codec_name,width,height:\
             stream_disposition=attached_pic:stream_side_data=rotation",
        );
        let ended = Program {
            name: FFPROBE,
            arguments: &arguments,
            input: open_regular("input_uri", path)?,
            output: None,
            limits,
        }
        .run(run, &mut |_| {})?;
        if ended.succeeded {
            Self::parse(&ended.stdout).map_err(|error| {
                ToolError::Failed(format!("the answer of {FFPROBE} cannot be read: {error}"))
            })
        } else {
            Err(refused(path, &ended))
        }
    }

    fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let probed: Value = serde_json::from_str(json)?;
        let duration = probed.pointer("/format/duration").and_then(Value::as_str);
        let mut film = Self {
            duration: duration
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0),
            video: None,
            audio: Vec::new(),
            is_turned: false,
            is_cut: false,
        };
        let list = |name: &str| {
            probed
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        // The first packets of audio may be hidden because they only prepare the decoder: up to 4 of Opus, 3 of AAC.
        let is_hidden = |index: u64, number: usize| {
            let mut packets = list("packets").filter(|packet| packet["stream_index"] == index);
            let flags = packets
                .nth(number)
                .and_then(|packet| packet["flags"].as_str());
            flags.is_some_and(|flags| flags.contains('D'))
        };
        for stream in list("streams") {
            let text = |name: &str| stream.get(name).and_then(Value::as_str);
            let number = |pointer: &str| {
                let number = stream.pointer(pointer).and_then(Value::as_u64);
                number
                    .and_then(|number| number.try_into().ok())
                    .unwrap_or(0)
            };
            let codec = text("codec_name").unwrap_or("unknown").to_owned();
            let is_cover = number("/disposition/attached_pic") > 0;
            let index = number("/index").into();
            match text("codec_type") {
                Some("video") if !is_cover && film.video.is_none() => {
                    film.video = Some(Video {
                        codec,
                        width: number("/width"),
                        height: number("/height"),
                    });
                    let mut beside = stream["side_data_list"].as_array().into_iter().flatten();
                    let turned =
                        |data: &Value| data["rotation"].as_f64().is_some_and(|by| by != 0.0);
                    film.is_turned = beside.any(turned);
                    film.is_cut |= is_hidden(index, 0);
                }
                Some("audio") => {
                    film.audio.push(codec);
                    film.is_cut |= is_hidden(index, 4);
                }
                _ => {}
            }
        }
        Ok(film)
    }
}

/// The error of a file that ffprobe cannot read.
fn refused(path: &Path, ended: &Ended) -> ToolError {
    if ended.stderr.contains("not on whitelist") {
        let (path, media) = (path.display(), Format::readable());
        let others = DEMUXERS.to_uppercase().replace(',', ", ");
        let problem = format!(
            "{path} has a format that this tool does not read; it reads {media}, and also {others}"
        );
        return ToolError::argument("input_uri", problem);
    }
    unclear(FFPROBE, path, ended).map_or_else(|error| error, |line| corrupt(path, &line))
}

#[cfg(test)]
mod tests;

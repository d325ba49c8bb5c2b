//! `oneact serve media-processing`, spoken to as any MCP client would, against ffmpeg.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{ONEACT, told_on_failure};

/// Input, and the most a sample may differ at the source's rate: nothing where the source is integers or FFmpeg decodes
/// it (Opus), one unit where it is floats. At another rate the samples agree within a millisecond and 60 dB.
const MEDIA: &[(&str, u16)] = &[
    ("fox.mp4", 1),
    ("fox-44100.mov", 1),
    ("fox.mkv", 1),
    ("fox-vorbis.mkv", 1),
    ("fox.webm", 0),
    ("fox.mp3", 1),
    ("fox.flac", 0),
    ("fox.ogg", 1),
    ("fox.wav", 0),
];

struct Server {
    child: Child,
    write: ChildStdin,
    read: BufReader<ChildStdout>,
}

impl Server {
    /// A server after its handshake, which keeps its files in `temporary`.
    fn start(temporary: &TempDir) -> Self {
        let mut child = Command::new(ONEACT)
            .args(["serve", "media-processing"])
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        told_on_failure(child.stderr.take().expect("piped"));
        let write = child.stdin.take().expect("piped");
        let read = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self { child, write, read };
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        server.tell(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}));
        assert_eq!(server.hear()["result"]["protocolVersion"], "2025-11-25");
        server.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.write, "{message}").expect("the server reads");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn tell_to_extract(&mut self, arguments: &Value) {
        let params = json!({"name": "audio_extractor", "arguments": arguments});
        self.tell(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    }

    /// The structured answer to a call.
    fn extract(&mut self, arguments: &Value) -> Value {
        self.tell_to_extract(arguments);
        let answer = self.hear();
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Closes its stdin, and gives whether it then ended well.
    fn leave(mut self) -> bool {
        drop(self.write);
        self.child.wait().expect("the server ends").success()
    }
}

fn medium(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/media")
        .join(name)
}

fn samples(bytes: &[u8]) -> Vec<i16> {
    bytes
        .chunks_exact(2)
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

fn reference(input: &Path, rate: &[&str]) -> Vec<i16> {
    let run = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .arg(input)
        .args(["-vn", "-ac", "1"])
        .args(rate)
        .args(["-c:a", "pcm_s16le", "-f", "s16le", "-"])
        .output()
        .expect("ffmpeg is needed to compare with; install it (Debian: apt-get install ffmpeg)");
    assert!(
        run.status.success(),
        "ffmpeg: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    samples(&run.stdout)
}

/// How far the difference is below the signal.
fn decibels(ours: &[i16], theirs: &[i16]) -> f64 {
    let energy = |sample: f64| sample * sample;
    let signal: f64 = theirs.iter().map(|sample| energy((*sample).into())).sum();
    let both = ours.iter().zip(theirs);
    let noise: f64 = both
        .map(|(ours, theirs)| energy(f64::from(*ours) - f64::from(*theirs)))
        .sum();
    10.0 * (signal / noise).log10()
}

#[test]
fn every_input_format_gives_the_samples_of_ffmpeg() {
    let temporary = TempDir::new().expect("a directory");
    let mut server = Server::start(&temporary);
    for &(name, tolerance) in MEDIA {
        let input = medium(name);
        for (rate, option) in [(Some(16_000), &["-ar", "16000"][..]), (None, &[])] {
            let mut arguments = json!({"input_uri": input});
            if let Some(rate) = rate {
                arguments["sample_rate"] = rate.into();
            }
            let answer = server.extract(&arguments);
            let path = answer["output_uri"]
                .as_str()
                .and_then(|uri| uri.strip_prefix("file://"))
                .expect("a file");
            assert!(Path::new(path).starts_with(temporary.path()), "{path}");
            let ours = samples(&fs::read(path).expect("the output")[44..]);
            let theirs = reference(&input, option);
            if let Some(rate) = rate {
                let aside = ours.len().abs_diff(theirs.len());
                assert!(
                    aside <= rate / 1000,
                    "{name} is {aside} samples longer or shorter"
                );
                let agreement = decibels(&ours, &theirs);
                assert!(agreement > 60.0, "{name} agrees within {agreement} dB");
                continue;
            }
            assert_eq!(ours.len(), theirs.len(), "samples of {name}");
            let worst = ours
                .iter()
                .zip(&theirs)
                .map(|(ours, theirs)| ours.abs_diff(*theirs))
                .max();
            assert!(
                worst <= Some(tolerance),
                "a sample of {name} is off by {worst:?}"
            );
        }
    }
    assert!(server.leave());
}

#[test]
fn a_client_that_leaves_ends_the_server_and_no_file_is_left_half_written() {
    let temporary = TempDir::new().expect("a directory");
    let mut server = Server::start(&temporary);
    server.tell_to_extract(&json!({"input_uri": medium("fox.mp4"), "sample_rate": 192_000}));
    assert!(server.leave());
    for entry in fs::read_dir(&temporary).expect("readable") {
        let path = entry.expect("an entry").path();
        let is_finished = path.extension().is_some_and(|extension| extension == "wav");
        assert!(is_finished, "{} was finished", path.display());
    }
}

//! What the tools that use FFmpeg refuse, give up or are told to give up: nothing is left of it.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::servers::media_processing::{
    ffmpeg::{Input, Limits, Output, words},
    whole::check_whole,
};

const TOOLS: [(&str, &str, &str); 4] = [
    ("format_converter", "target_format", "webm"),
    ("frame_extractor", "output_format", "png"),
    ("video_segmenter", "method", "exact"),
    ("resolution_normalizer", "target_resolution", "240p"),
];

fn never(_: crate::servers::tool::Progress) {}

/// What each tool says of an input that it refuses, having left nothing behind.
fn refusals(input: &Path) -> Vec<String> {
    let refusal = |(tool, argument, value): (&str, &str, &str)| {
        let scratch = TempDir::new().expect("a directory");
        let output = scratch.path().join("out");
        let arguments = json!({"input_uri": input, argument: value, "output_path": output});
        let refused = call_tool(tool, &arguments).expect_err(tool).to_string();
        assert_eq!(fs::read_dir(&scratch).expect("readable").count(), 0);
        refused
    };
    TOOLS.map(refusal).to_vec()
}

fn written(scratch: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch.path().join(name);
    fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn a_film_cut_in_half_is_corrupt_or_incomplete() {
    let scratch = TempDir::new().expect("a directory");
    let fast = made(
        &scratch,
        "fast.mp4",
        "fox.mp4",
        &["-c", "copy", "-movflags", "+faststart"],
    );
    for whole in [
        medium("fox.mp4"),
        fast,
        medium("fox.mkv"),
        medium("fox.webm"),
    ] {
        let bytes = fs::read(&whole).expect("readable");
        let half = written(&scratch, "half", &bytes[..bytes.len() * 2 / 3]);
        for refused in refusals(&half) {
            assert!(
                refused.starts_with("input is corrupt or incomplete: "),
                "{}: {refused}",
                whole.display()
            );
            assert!(
                !refused.contains('\n') && !refused.contains("/proc/"),
                "{refused}"
            );
        }
    }
}

#[test]
fn a_check_of_the_container_that_is_cancelled_ends() {
    let run = Run {
        cancelled: &AtomicBool::new(true),
        report: &never,
    };
    for name in ["fox.mkv", "fox.ogg", "fox.mp4"] {
        let error = check_whole(&medium(name), &run).expect_err(name);
        assert!(matches!(error, ToolError::Cancelled), "{error}");
    }
}

#[test]
fn what_is_no_film_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    for bytes in [&b""[..], b"no film\n"] {
        for refused in refusals(&written(&scratch, "text.mp4", bytes)) {
            assert!(
                refused.starts_with("input is corrupt or incomplete: "),
                "{refused}"
            );
        }
    }
    for refused in refusals(&scratch.path().join("none.mp4")) {
        assert!(refused.contains("`input_uri`: cannot open"), "{refused}");
    }
}

#[test]
fn a_playlist_that_names_other_files_is_not_followed() {
    let scratch = TempDir::new().expect("a directory");
    let fox = medium("fox.mp4");
    let hls = format!(
        "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\nfile://{}\n#EXT-X-ENDLIST\n",
        fox.display()
    );
    let concat = format!("ffconcat version 1.0\nfile '{}'\n", fox.display());
    for text in [hls, concat] {
        for refused in refusals(&written(&scratch, "list.mp4", text.as_bytes())) {
            assert!(
                refused.contains("has a format that this tool does not read; it reads MP4, MOV"),
                "{refused}"
            );
        }
    }
}

#[test]
fn a_name_is_no_option_protocol_or_pattern() {
    let scratch = TempDir::new().expect("a directory");
    let fox = fs::read(medium("fox.mp4")).expect("readable");
    for name in [
        "-i",
        "http:x.mp4",
        "concat:a|b.mp4",
        "%03d.png",
        "a b\n'\".mp4",
    ] {
        let input = written(&scratch, name, &fox);
        let output = scratch.path().join(format!("{name} out.zip"));
        let arguments = json!({"input_uri": input, "output_path": output});
        let answer = call_tool("frame_extractor", &arguments).expect(name);
        assert_eq!((&answer["frames"], output.exists()), (&json!(3), true));
    }
}

#[test]
fn sound_alone_has_no_frames() {
    for (tool, argument, value) in &TOOLS[1..] {
        let arguments = json!({"input_uri": medium("fox.mp3"), *argument: value});
        let refused = call_tool(tool, &arguments).expect_err(tool).to_string();
        assert!(refused.ends_with("fox.mp3 has no video"), "{refused}");
    }
}

#[test]
fn a_codec_that_does_not_fit_is_refused_with_those_that_do() {
    let arguments =
        json!({"input_uri": medium("fox.mp4"), "target_format": "webm", "target_codec": "h264"});
    let refused = call_tool("format_converter", &arguments).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "invalid argument `target_codec`: h264 is not supported by webm, which supports vp9, vp8, av1"
    );
}

#[test]
fn too_many_files_are_refused_before_they_are_made() {
    for (tool, argument) in [
        ("frame_extractor", "interval_seconds"),
        ("video_segmenter", "segment_duration"),
    ] {
        let arguments = json!({"input_uri": medium("fox.mp4"), argument: 0.0001});
        let refused = call_tool(tool, &arguments).expect_err(tool).to_string();
        assert!(
            refused.contains(argument) && refused.contains("more than 10000 files"),
            "{refused}"
        );
    }
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let scratch = TempDir::new().expect("a directory");
    let output = written(&scratch, "mine", b"mine");
    for (tool, argument, value) in TOOLS {
        let arguments =
            json!({"input_uri": medium("fox.mp4"), argument: value, "output_path": output});
        let refused = call_tool(tool, &arguments).expect_err(tool).to_string();
        assert!(refused.contains("exists already"), "{refused}");
    }
    assert_eq!(fs::read(&output).expect("readable"), b"mine");
}

/// A film that takes far longer to make than any test waits: its source has no end.
fn endless(input: &Input<'_>, output: &Path) -> Result<(), ToolError> {
    let how = "-filter_complex testsrc=size=640x480:rate=25[v] -map [v] -c:v libx264 -f matroska";
    input.make(&words(how), Output::File(output))
}

#[test]
fn what_is_cancelled_ends_and_tells_how_far_it_was() {
    let scratch = TempDir::new().expect("a directory");
    let (cancelled, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let report = |progress: crate::servers::tool::Progress| {
        seen.lock().expect("whole").push(progress.done);
        cancelled.store(progress.done > 0.0, Ordering::Relaxed);
    };
    let run = Run {
        cancelled: &cancelled,
        report: &report,
    };
    let input = Input::open(&medium("fox.mp4"), Limits::default(), &run).expect("opened");
    let error = endless(&input, &scratch.path().join("out")).expect_err("cancelled");
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    assert!(
        seen.lock()
            .expect("whole")
            .iter()
            .any(|&seconds| seconds > 0.0)
    );
}

#[test]
fn what_is_cancelled_before_it_begins_starts_nothing() {
    let run = Run {
        cancelled: &AtomicBool::new(true),
        report: &never,
    };
    for (tool, argument, value) in TOOLS {
        let arguments = json!({"input_uri": medium("fox.mp4"), argument: value});
        let error = call_tool_as(tool, &arguments, &run).expect_err(tool);
        assert!(matches!(error, ToolError::Cancelled), "{error}");
    }
}

#[test]
fn what_takes_too_long_or_grows_too_large_is_ended() {
    let scratch = TempDir::new().expect("a directory");
    let run = Run {
        cancelled: &AtomicBool::new(false),
        report: &never,
    };
    let limits = Limits::default();
    for (limits, says) in [
        (
            Limits {
                time: Duration::from_secs(1),
                ..limits
            },
            "timed out after 1s",
        ),
        (
            Limits {
                bytes: 10_000,
                ..limits
            },
            "larger than 10000 bytes",
        ),
    ] {
        let whole = Limits::default();
        let mut input = Input::open(&medium("fox.mp4"), whole, &run).expect("opened");
        input.limits = limits;
        let error = endless(&input, &scratch.path().join("out")).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    }
}

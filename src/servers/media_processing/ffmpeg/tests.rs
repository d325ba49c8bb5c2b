//! What ffmpeg's messages mean.

use std::path::Path;

use serde_json::json;

use super::{
    film::Film,
    process::{DEMUXERS, Ended},
    reason::{damage, lines, unclear},
};
use crate::task::Format;

fn ended(stderr: &str) -> Ended {
    Ended {
        succeeded: false,
        signal: None,
        stdout: String::new(),
        stderr: stderr.to_owned(),
    }
}

#[test]
fn a_format_in_the_table_of_formats_is_not_listed_again() {
    let mut names = DEMUXERS.split(',');
    assert!(names.all(|name| Format::named(name).is_none()));
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

#[test]
fn a_cover_picture_is_no_video() {
    let film = Film::of(&json!({"streams": [
        {"codec_type": "video", "codec_name": "mjpeg", "width": 9, "height": 9, "disposition": {"attached_pic": 1}},
        {"codec_type": "audio", "codec_name": "mp3", "sample_rate": "44100", "channels": 2}
    ], "format": {"format_name": "mov,mp4", "duration": "2.5"}}));
    let [sound] = &film.audio[..] else {
        panic!("{film:?}")
    };
    assert_eq!((film.video, sound.codec.as_str()), (None, "mp3"));
    assert_eq!((sound.rate, sound.channels), (44_100, 2));
    assert_eq!(film.container, "mp4");
    assert_eq!(film.duration, Some(2.5));
}

#[test]
fn an_unknown_duration_is_none() {
    for duration in ["N/A", "0.000000", "-1", "inf"] {
        let probed = json!({"streams": [], "format": {"duration": duration}});
        assert_eq!(Film::of(&probed).duration, None);
    }
}

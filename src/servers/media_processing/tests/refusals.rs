//! What cannot be extracted is refused in words that say why, and leaves nothing behind.

use std::sync::atomic::Ordering;

use super::*;

/// Why `input` is refused; checks that nothing is left of the attempt.
fn refusal(input: &Path) -> String {
    let scratch = TempDir::new().expect("a directory");
    let error = call(&json!({"input_uri": input, "output_path": scratch.path().join("out.wav")}))
        .expect_err(&format!("{} is refused", input.display()));
    assert_eq!(
        fs::read_dir(&scratch).expect("readable").count(),
        0,
        "nothing is left"
    );
    error.to_string()
}

fn written(scratch: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch.path().join(name);
    fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let scratch = TempDir::new().expect("a directory");
    let pipe = scratch.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("run").success());
    assert!(refusal(&pipe).contains("is not a regular file"));
}

#[test]
fn files_cut_in_half_are_corrupt_or_incomplete() {
    let scratch = TempDir::new().expect("a directory");
    let faststart = made(
        &scratch,
        "faststart.mp4",
        "fox.mp4",
        &["-c", "copy", "-movflags", "+faststart"],
    );
    let mut whole = vec![faststart];
    whole.extend(
        [
            "fox.mp4",
            "fox-44100.mov",
            "fox.mkv",
            "fox-vorbis.mkv",
            "fox.webm",
            "fox.mp3",
            "fox.flac",
            "fox.ogg",
        ]
        .map(medium),
    );
    whole.extend(["fox-opus.ogg", "fox.wav"].map(medium));
    for path in whole {
        let bytes = fs::read(&path).expect("readable");
        let name = format!(
            "half-{}",
            path.file_name().expect("a name").to_string_lossy()
        );
        let refused = refusal(&written(&scratch, &name, &bytes[..bytes.len() / 2]));
        assert!(
            refused.contains("corrupt or incomplete"),
            "{name}: {refused}"
        );
    }
}

#[test]
fn a_missing_file_is_named() {
    let refused = refusal(Path::new("/nowhere/fox.mp4"));
    assert!(
        refused.starts_with("invalid argument `input_uri`: cannot open /nowhere/fox.mp4: "),
        "{refused}"
    );
}

#[test]
fn a_directory_is_no_medium() {
    assert!(refusal(&medium("")).contains("is not a regular file"));
}

#[test]
fn an_empty_file_is_corrupt_and_a_text_is_of_no_known_format() {
    let scratch = TempDir::new().expect("a directory");
    assert!(refusal(&written(&scratch, "empty.mp3", b"")).contains("corrupt or incomplete"));
    let refused = refusal(&written(
        &scratch,
        "text.mp4",
        "not a film\n".repeat(500).as_bytes(),
    ));
    assert!(refused.contains("corrupt or incomplete"), "{refused}");
}

/// symphonia refuses the header of HEVC, FFmpeg reads it.
#[test]
fn sound_beside_video_that_is_unknown_here_is_extracted() {
    let scratch = TempDir::new().expect("a directory");
    let hevc = [
        "-c:v",
        "libx265",
        "-x265-params",
        "log-level=error",
        "-c:a",
        "copy",
    ];
    let film = made(&scratch, "hevc.mp4", "fox.mp4", &hevc);
    let expected = extracted(&medium("fox.mp4"), None, 1);
    let aside = extracted(&film, None, 1).len().abs_diff(expected.len());
    assert!(aside < 1024, "{aside}");
}

#[test]
fn a_film_without_sound_has_no_audio_track() {
    let scratch = TempDir::new().expect("a directory");
    let silent = made(&scratch, "silent.mp4", "fox.mp4", &["-an", "-c", "copy"]);
    assert!(refusal(&silent).contains("has no audio track"));
}

/// A tar, or a download with its headers: a reader that searches would find the container.
#[test]
fn a_container_behind_something_else_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    for name in ["fox.wav", "fox.flac", "fox.ogg", "fox.mkv"] {
        let bytes = fs::read(medium(name)).expect("the file");
        let behind = written(&scratch, name, &[vec![b' '; 600], bytes].concat());
        let refused = refusal(&behind);
        assert!(
            refused.contains("corrupt or incomplete"),
            "{name}: {refused}"
        );
    }
}

#[test]
fn a_track_without_samples_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let empty = made(&scratch, "empty.wav", "fox.wav", &["-t", "0"]);
    assert!(refusal(&empty).contains("holds no audio samples"));
}

/// A WAV of 16 bits that holds a second of nothing.
fn wav(rate: u32, channels: u16) -> Vec<u8> {
    let frame = channels.wrapping_mul(2);
    let format = [
        &1_u16.to_le_bytes()[..],
        &channels.to_le_bytes(),
        &rate.to_le_bytes(),
        &rate.wrapping_mul(frame.into()).to_le_bytes(),
        &frame.to_le_bytes(),
        &16_u16.to_le_bytes(),
    ]
    .concat();
    let data = vec![0; 16_000];
    [
        &b"RIFF\x00\x40\x00\x00WAVEfmt \x10\0\0\0"[..],
        &format,
        b"data",
        &16_000_u32.to_le_bytes(),
        &data,
    ]
    .concat()
}

#[test]
fn a_wav_of_a_rate_no_audio_has_is_refused_by_its_rate() {
    let scratch = TempDir::new().expect("a directory");
    for rate in [1, 2, 7, 10, 999, 768_001, 1 << 31, u32::MAX] {
        let input = written(&scratch, "odd.wav", &wav(rate, 1));
        for wanted in [8000, 192_000] {
            let error = call(&json!({"input_uri": input, "sample_rate": wanted}))
                .expect_err("no audio has it");
            assert!(matches!(error, ToolError::Corrupt(_)), "{rate}: {error}");
            assert!(
                error
                    .to_string()
                    .contains(&format!("a sample rate of {rate} Hz")),
                "{error}"
            );
        }
    }
    for rate in [1000, 768_000] {
        assert!(!extracted(&written(&scratch, "even.wav", &wav(rate, 1)), None, 2).is_empty());
    }
}

#[test]
fn a_wav_of_channels_no_audio_has_is_corrupt() {
    let scratch = TempDir::new().expect("a directory");
    for channels in [0, 65, 1000, u16::MAX] {
        let refused = refusal(&written(&scratch, "odd.wav", &wav(8000, channels)));
        assert!(
            refused.contains("corrupt or incomplete"),
            "{channels}: {refused}"
        );
    }
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let scratch = TempDir::new().expect("a directory");
    let taken = written(&scratch, "taken.wav", b"mine");
    let error =
        call(&json!({"input_uri": medium("fox.wav"), "output_path": taken})).expect_err("refused");
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(fs::read(&taken).expect("readable"), b"mine");
}

#[test]
fn a_directory_that_does_not_exist_is_named() {
    let error = call(&json!({"input_uri": medium("fox.wav"), "output_path": "/nowhere/out.wav"}))
        .expect_err("refused");
    assert!(
        error
            .to_string()
            .starts_with("cannot create a file in /nowhere: "),
        "{error}"
    );
}

#[test]
fn a_cancelled_extraction_leaves_nothing() {
    let scratch = TempDir::new().expect("a directory");
    let cancelled = AtomicBool::new(false);
    let half_way = |_| {
        assert_eq!(
            fs::read_dir(&scratch).expect("readable").count(),
            1,
            "it writes"
        );
        cancelled.store(true, Ordering::Relaxed);
    };
    let run = Run {
        cancelled: &cancelled,
        report: &half_way,
    };
    let arguments =
        json!({"input_uri": medium("fox.mp4"), "output_path": scratch.path().join("out.wav")});
    let error = call_as(&arguments, &run).expect_err("cancelled");
    assert!(matches!(error, ToolError::Cancelled));
    assert_eq!(
        fs::read_dir(&scratch).expect("readable").count(),
        0,
        "nothing is left"
    );
}

#[test]
fn a_cancellation_is_seen_before_the_first_sound() {
    let scratch = TempDir::new().expect("a directory");
    let run = Run {
        cancelled: &AtomicBool::new(true),
        report: &|_| {},
    };
    let arguments =
        json!({"input_uri": medium("fox.mp4"), "output_path": scratch.path().join("out.wav")});
    let error = call_as(&arguments, &run).expect_err("cancelled");
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    assert_eq!(fs::read_dir(&scratch).expect("readable").count(), 0);
}

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

/// symphonia leaves such pages out, also where it reads the length of the track.
#[test]
fn a_damaged_or_missing_page_of_ogg_is_found_wherever_it_is() {
    let scratch = TempDir::new().expect("a directory");
    for name in ["fox-opus.ogg", "fox.ogg"] {
        let bytes = fs::read(medium(name)).expect("readable");
        let found = bytes.windows(5).enumerate();
        let pages = found.filter_map(|(at, start)| (start == b"OggS\0").then_some(at));
        let pages: Vec<usize> = pages.collect();
        assert!(pages.len() > 2, "{name}");
        for (number, &start) in pages.iter().enumerate() {
            let end = pages.get(number + 1).copied().unwrap_or(bytes.len());
            let mut changed = bytes.clone();
            changed[end - 1] ^= 1;
            refusal(&written(&scratch, name, &changed));
            let without = [&bytes[..start], &bytes[end..]].concat();
            refusal(&written(&scratch, name, &without));
        }
    }
}

/// symphonia leaves such frames out. A FLAC file that was written to a pipe does not state its length.
#[test]
fn a_damaged_or_missing_frame_of_flac_is_found_wherever_it_is() {
    let scratch = TempDir::new().expect("a directory");
    let wav = medium("fox.wav");
    let piped = ffmpeg(&["-i", wav.to_str().expect("Unicode"), "-f", "flac", "-"]);
    let stated = fs::read(medium("fox.flac")).expect("readable");
    for (name, bytes) in [("piped", piped), ("stated", stated)] {
        let found = bytes.windows(2).enumerate();
        let frames = found.filter_map(|(at, start)| (start == [0xFF, 0xF8]).then_some(at));
        let frames: Vec<usize> = frames.collect();
        assert!(frames.len() > 4, "{name}");
        for pair in frames.windows(2) {
            let without = [&bytes[..pair[0]], &bytes[pair[1]..]].concat();
            refusal(&written(&scratch, name, &without));
            let mut changed = bytes.clone();
            changed[pair[1] - 1] ^= 1;
            refusal(&written(&scratch, name, &changed));
        }
        refusal(&written(&scratch, name, &bytes[..bytes.len() - 1]));
    }
}

#[test]
fn flac_with_more_or_fewer_samples_than_it_states_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let bytes = fs::read(medium("fox.flac")).expect("readable");
    // The last byte of the number in STREAMINFO.
    assert_eq!(bytes[25], 0xC5);
    for (last, why) in [
        (0xC4, "samples instead of"),
        (0xC6, "ends in the middle of its audio"),
    ] {
        let mut changed = bytes.clone();
        changed[25] = last;
        let refused = refusal(&written(&scratch, "fox.flac", &changed));
        assert!(refused.contains(why), "{refused}");
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
    assert!(
        refused.contains("has a format that this tool does not read; it reads MP4, MOV"),
        "{refused}"
    );
}

#[test]
fn an_edit_list_that_plays_several_parts_or_none_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let how = ["-vn", "-c", "copy", "-output_ts_offset", "0.5"];
    let late = made(&scratch, "late.mp4", "fox.mp4", &how);
    let mut bytes = fs::read(&late).expect("readable");
    let list = bytes.windows(4).position(|at| at == b"elst");
    let starts = [16, 28].map(|at| list.expect("an edit list") + at);
    for start in [0_i32, -1, -2] {
        for at in starts {
            bytes[at..at + 4].copy_from_slice(&start.to_be_bytes());
        }
        let refused = refusal(&written(&scratch, "edited.mp4", &bytes));
        assert!(
            refused.contains(
                "the edit list of its audio track does not name exactly one part of the track"
            ),
            "{refused}"
        );
    }
}

#[test]
fn a_film_without_sound_has_no_audio_track() {
    let scratch = TempDir::new().expect("a directory");
    let silent = made(&scratch, "silent.mp4", "fox.mp4", &["-an", "-c", "copy"]);
    assert!(refusal(&silent).contains("has no audio track"));
}

#[test]
fn a_codec_that_is_not_supported_is_named_along_with_those_that_are() {
    let scratch = TempDir::new().expect("a directory");
    for name in ["film.mp4", "film.mkv"] {
        let refused = refusal(&made(&scratch, name, "fox.mp4", &["-vn", "-c:a", "ac3"]));
        assert!(
            refused.contains("AC-3") && refused.contains("AAC-LC"),
            "{refused}"
        );
    }
}

#[test]
fn a_whole_ogg_file_of_another_codec_is_not_called_corrupt() {
    let scratch = TempDir::new().expect("a directory");
    let how = ["-vn", "-c:a", "libspeex", "-ar", "16000"];
    let speex = made(&scratch, "speex.ogg", "fox.mp4", &how);
    let refused = refusal(&speex);
    assert!(
        refused.contains("does not read") && !refused.contains("corrupt"),
        "{refused}"
    );
    let bytes = fs::read(speex).expect("the file");
    let cut = written(&scratch, "cut.ogg", &bytes[..bytes.len() / 2]);
    assert!(refusal(&cut).contains("corrupt"));
}

/// A tar, or a download with its headers: the reader searches for the container.
#[test]
fn a_container_behind_something_else_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    for name in ["fox.wav", "fox.flac", "fox.ogg", "fox.mkv", "fox.webm"] {
        for before in [vec![b' '; 600], vec![0; 512]] {
            let bytes = fs::read(medium(name)).expect("the file");
            let behind = written(&scratch, name, &[before, bytes].concat());
            let refused = refusal(&behind);
            let why = "something stands before the beginning of its audio container";
            assert!(refused.contains(why), "{name}: {refused}");
        }
    }
}

#[test]
fn a_track_without_samples_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let empty = made(&scratch, "empty.wav", "fox.wav", &["-t", "0"]);
    assert!(refusal(&empty).contains("without samples"));
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
    for rate in [0, 1, 2, 7, 10, 999, 768_001, 1 << 31, u32::MAX] {
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

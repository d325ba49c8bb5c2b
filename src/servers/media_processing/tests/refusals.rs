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
    assert!(
        refused.contains("is in no format this tool reads; it reads MP4, MOV"),
        "{refused}"
    );
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
fn a_track_without_samples_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let empty = made(&scratch, "empty.wav", "fox.wav", &["-t", "0"]);
    assert!(refusal(&empty).contains("without a single sample"));
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

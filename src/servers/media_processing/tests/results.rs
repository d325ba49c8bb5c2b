//! What a successful call says and leaves.

use std::sync::Mutex;

use url::Url;

use super::*;
use crate::servers::tool::Progress;

#[test]
fn the_answer_fits_its_schema_and_tells_what_was_read_and_written() {
    let scratch = TempDir::new().expect("a directory");
    let input = Url::from_file_path(medium("fox.mp4")).expect("absolute");
    let output = scratch.path().join("spoken words.wav");
    let answer =
        call(&json!({"input_uri": input.as_str(), "sample_rate": 16_000, "output_path": output}))
            .expect("extracted");
    let tool = &super::super::tools()[0];
    assert!(
        jsonschema::validator_for(&tool.output)
            .expect("compiles")
            .is_valid(&answer),
        "{answer}"
    );
    let uri = answer["output_uri"].as_str().expect("a URI");
    assert!(
        uri.starts_with("file:///") && uri.ends_with("/spoken%20words.wav"),
        "{uri}"
    );
    assert_eq!(
        Url::parse(uri)
            .expect("a URI")
            .to_file_path()
            .expect("a path"),
        output
    );
    assert_eq!(answer["samples"], 47_445);
    assert_eq!(answer["duration_seconds"], 47_445.0 / 16_000.0);
    assert_eq!(answer["bytes"], 44 + 2 * 47_445);
    let source = json!({"container": "mp4", "codec": "aac", "sample_rate": 48_000, "channels": 2});
    assert_eq!(answer["source"], source);
}

#[test]
fn flac_holds_the_samples_of_wav_and_ffmpeg_accepts_it() {
    let scratch = TempDir::new().expect("a directory");
    let output = scratch.path().join("out.flac");
    for (name, channels) in [("fox.mp4", 1), ("fox.wav", 2)] {
        let arguments = json!({"input_uri": medium(name), "output_format": "flac", "channels": channels,
            "output_path": output});
        let answer = call(&arguments).expect("extracted");
        assert_eq!(answer["output_format"], "flac");
        let path = output.to_str().expect("Unicode");
        let decoded = samples(&ffmpeg(&[
            "-xerror",
            "-i",
            path,
            "-f",
            "s16le",
            "-c:a",
            "pcm_s16le",
            "-",
        ]));
        let expected = extracted(&medium(name), None, channels);
        assert_eq!(decoded.len(), expected.len());
        let mut both = decoded.iter().zip(&expected);
        assert!(both.all(|(ours, theirs)| ours.abs_diff(*theirs) <= 1));
        fs::remove_file(&output).expect("removed");
    }
}

#[test]
fn progress_counts_the_seconds_of_audio() {
    let scratch = TempDir::new().expect("a directory");
    let told = Mutex::new(Vec::new());
    let tell = |progress: Progress| told.lock().expect("unpoisoned").push(progress);
    let run = Run {
        cancelled: &AtomicBool::new(false),
        report: &tell,
    };
    let arguments =
        json!({"input_uri": medium("fox.mp4"), "output_path": scratch.path().join("out.wav")});
    call_as(&arguments, &run).expect("extracted");
    let told = told.into_inner().expect("unpoisoned");
    assert_eq!(
        told.iter()
            .map(|progress| progress.done.floor())
            .collect::<Vec<_>>(),
        [1.0, 2.0]
    );
    assert!(told.iter().all(|progress| {
        progress
            .total
            .is_some_and(|total| (2.9..3.1).contains(&total))
    }));
}

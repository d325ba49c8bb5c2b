//! Files are whole at their place, or not there.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::servers::files::local_path;

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn a_file_appears_at_its_place_only_when_finished() {
    let scratch = TempDir::new().expect("a directory");
    let place = Place::At(scratch.path().join("out.wav"));
    let mut output = Output::create(&place, Format::Wav, 8000, Width::Mono).expect("created");
    output.write(&[1, -2, 3]).expect("written");
    assert!(
        names(&scratch)
            .iter()
            .all(|name| name.starts_with('.') && name.ends_with(".partial"))
    );
    let written = output.finish().expect("finished");
    assert_eq!(
        (names(&scratch), written.bytes),
        (vec!["out.wav".to_owned()], 50)
    );
    let bytes = fs::read(scratch.path().join("out.wav")).expect("readable");
    assert_eq!(bytes[..12], *b"RIFF\x2a\0\0\0WAVE");
    assert_eq!(bytes[36..], *b"data\x06\0\0\0\x01\0\xfe\xff\x03\0");
}

#[test]
fn an_unfinished_file_leaves_nothing() {
    let scratch = TempDir::new().expect("a directory");
    let place = Place::At(scratch.path().join("out.flac"));
    let mut output = Output::create(&place, Format::Flac, 8000, Width::Mono).expect("created");
    output.write(&vec![0; 10_000]).expect("written");
    drop(output);
    assert!(names(&scratch).is_empty());
}

#[test]
fn a_file_that_came_into_being_meanwhile_is_not_overwritten() {
    let scratch = TempDir::new().expect("a directory");
    let path = scratch.path().join("out.wav");
    let output =
        Output::create(&Place::At(path.clone()), Format::Wav, 8000, Width::Mono).expect("created");
    fs::write(&path, "theirs").expect("written");
    let refused = output.finish().expect_err("taken").to_string();
    assert!(
        refused.contains("exists already and is not overwritten"),
        "{refused}"
    );
    assert_eq!(fs::read(&path).expect("readable"), b"theirs");
    assert_eq!(names(&scratch), ["out.wav"]);
}

#[test]
fn new_files_in_a_directory_have_names_of_their_own() {
    let scratch = TempDir::new().expect("a directory");
    let place = Place::In {
        directory: scratch.path().to_owned(),
        stem: "fox".to_owned(),
    };
    let finished = || {
        let output = Output::create(&place, Format::Flac, 8000, Width::Stereo).expect("created");
        let uri = output.finish().expect("finished").uri;
        local_path("output_uri", &uri).expect("a file")
    };
    let (first, second) = (finished(), finished());
    assert_ne!(first, second);
    for path in [first, second] {
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(
            name.starts_with("fox-") && name.ends_with(".flac") && path.exists(),
            "{name}"
        );
    }
}

#[test]
fn flac_of_any_length_begins_with_the_length() {
    let scratch = TempDir::new().expect("a directory");
    for length in [1_u16, 15, 4096, 4097, 9000] {
        let path = scratch.path().join(format!("{length}.flac"));
        let mut output = Output::create(&Place::At(path.clone()), Format::Flac, 8000, Width::Mono)
            .expect("created");
        output
            .write(&(0..length).map(u16::cast_signed).collect::<Vec<_>>())
            .expect("written");
        output.finish().expect("finished");
        let bytes = fs::read(path).expect("readable");
        assert_eq!(bytes[24..26], length.to_be_bytes());
    }
}

#[test]
fn a_rate_no_header_can_hold_is_refused() {
    let scratch = TempDir::new().expect("a directory");
    let place = Place::At(scratch.path().join("out.wav"));
    let refused = Output::create(&place, Format::Wav, u32::MAX, Width::Stereo);
    let refused = refused.err().expect("refused").to_string();
    assert!(
        refused.contains("cannot contain 4294967295 samples per second"),
        "{refused}"
    );
    assert!(names(&scratch).is_empty());
}

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
        assert_eq!(decoded, extracted(&medium(name), None, channels));
        // The digest in the header is of these samples: ffmpeg's encoder writes the same.
        let flac = fs::read(&output).expect("the output");
        let again = scratch.path().join("again.flac");
        ffmpeg(&["-i", path, again.to_str().expect("Unicode")]);
        let again = fs::read(again).expect("what ffmpeg wrote");
        assert_eq!(flac[..4], *b"fLaC");
        assert_eq!(
            flac[18..42],
            again[18..42],
            "rate, channels, width, length and digest"
        );
        fs::remove_file(&output).expect("removed");
    }
}

#[test]
fn flac_before_tags_or_between_them_is_read_whole() {
    let scratch = TempDir::new().expect("a directory");
    let whole = medium("fox.flac");
    let tagged = scratch.path().join("tagged.flac");
    let expected = extracted(&whole, None, 1);
    let stated = fs::read(&whole).expect("readable");
    let mut open = stated.clone();
    open[21] &= 0xF0;
    open[22..26].fill(0);
    let last = [b"TAG".as_slice(), &[b' '; 125]].concat();
    let ape = |flags: u8| {
        let fields = [0xD0, 7, 0, 0, 48, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, flags];
        [b"APETAGEX".as_slice(), &fields, &[0; 8]].concat()
    };
    let footer = [&[b' '; 16], &*ape(0)].concat();
    let header = [&*ape(0xA0), &[b' '; 16], &*ape(0x80)].concat();
    let first = b"ID3\x04\0\0\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0".as_slice();
    let both = [&*header, &last].concat();
    for behind in [&last, &footer, &header, &both] {
        for before in [&[], first] {
            for flac in [&stated, &open] {
                fs::write(&tagged, [before, flac, behind].concat()).expect("written");
                assert!(extracted(&tagged, None, 1) == expected);
            }
        }
    }
}

#[test]
fn an_mp4_whose_last_box_extends_to_the_end_is_read_whole() {
    let scratch = TempDir::new().expect("a directory");
    let how = ["-vn", "-c:a", "copy", "-movflags", "faststart"];
    let path = made(&scratch, "fox.m4a", "fox.mp4", &how);
    let expected = extracted(&path, None, 1);
    let mut bytes = fs::read(&path).expect("the file");
    let mdat = bytes.windows(4).position(|name| name == b"mdat");
    let size = mdat.expect("a box of media") - 4;
    bytes[size..size + 4].fill(0);
    fs::write(&path, bytes).expect("written");
    assert_eq!(extracted(&path, None, 1), expected);
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
